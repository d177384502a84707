// Rules of host_store. The solver chooses one word of one frame, which is followed from input to output:
// `ahead_q` words are read before it.
module host_store_rules
  import tare_pkg::*;
#(
    parameter int unsigned Words    = 16,
    parameter int unsigned MinBytes = 10,
    parameter int unsigned MaxBytes = 20,
    parameter bit          Tagged   = 1'b0,
    parameter bit          KeepBad  = 1'b0,
    localparam int unsigned Width = $clog2(Words),
    localparam int unsigned Slots = Tagged ? 2 : 1,
    localparam int unsigned MostBeats = (MaxBytes + 7) / 8
) (
    input logic   clk_i,
    input logic   rst_ni,
    input logic   valid_i,
    input logic   ready_o,
    input heard_t beat_i,
    input ticks_t tag_i,
    input logic   bad_o,
    input logic   full_o,
    input logic   valid_o,
    input logic   ready_i,
    input logic [63:0] word_o,
    input logic   empty_o,
    // Internal state, for the induction.
    input logic [Width:0] start_q,
    input logic [Width:0] write_q,
    input logic [Width:0] read_q,
    input logic [Width:0] used_q,
    input logic [Width:0] frame_q,
    input logic [Width:0] next_q,
    input logic [Width-1:0] tag_place_q,
    input logic [8:0] count_q,
    input logic [11:0] bytes_q,
    input logic [2:0] final_q,
    input logic most_q,
    input logic inside_q,
    input logic room_q,
    input logic can_q,
    input logic fits_q,
    input logic broken_q,
    input logic long_q,
    input logic ended_q,
    input logic measured_q,
    input logic finish_q,
    input logic tag_q,
    input logic wrong_q,
    input ticks_t first_tag_q,
    input logic commit,
    input logic some_q,
    input logic fetched_valid_q,
    input logic out_valid_q,
    input logic [63:0] fetched_q,
    input logic [63:0] out_q,
    input logic [63:0] memory[Words]
);
  typedef logic [Width+2:0] words_t;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b0), .Width(64)) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(word_o));

  wire begins = valid_i && !inside_q;
  wire left = valid_o && ready_i;

  // The frame that is arriving or arrived last, from external signals only.
  logic taken_q, bad_q, ended1_q, ended2_q, ended3_q;
  logic [3:0] beats_q;
  logic [2:0] end_q;
  ticks_t tag0_q;
  wire [11:0] bytes = 12'(beats_q) * 12'd8 + 12'(end_q) - 12'd7;
  wire wrong = bytes < MinBytes || bytes > MaxBytes || (bad_q && !KeepBad);
  wire kept = ended3_q && taken_q && !wrong;

  // Whole frames stored and not yet read, in words. `adding` is this model's own commit.
  words_t held, adding_q;
  logic kept_q, committed_q, left_q;
  wire words_t adds = words_t'(beats_q) + words_t'(Slots);
  wire adding = Tagged ? kept_q : kept;
  wire words_t added = Tagged ? adding_q : adds;

  // The followed word.
  (* anyseq *) logic [3:0] nth_any;
  logic [3:0] nth_q;  // its index in the frame, whose header is first
  (* anyseq *) logic follow_any;
  logic coming_q, pending_q, following_q;
  words_t ahead_q;
  logic [63:0] watched_q, header;
  wire follow = follow_any && begins && !coming_q && !pending_q && !following_q;
  wire [3:0] nth = follow ? nth_any : nth_q;
  wire [3:0] beat = nth - 4'(Slots);
  wire is_beat = nth >= 4'(Slots);
  wire [63:0] mask = nth == 0 ? 64'h1ff1fff : '1;
  wire watch = (kept && coming_q || pending_q) && adding && words_t'(nth) < added;
  always_comb begin
    header = '0;
    header[12:0] = {bad_q, bytes};
    header[24:16] = 9'(beats_q);
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q   <= rst_ni;
    ended1_q <= valid_i && beat_i.last;
    ended2_q <= ended1_q;
    ended3_q <= ended2_q;
    kept_q   <= kept;
    adding_q <= adds;
    committed_q <= adding;
    left_q   <= left;
    if (valid_i) begin
      if (begins) taken_q <= ready_o;
      if (begins) tag0_q <= tag_i;
      if (begins) beats_q <= 4'd1;
      else if (beats_q <= 4'(MostBeats)) beats_q <= beats_q + 1'b1;
      if (beat_i.last) {bad_q, end_q} <= {beat_i.bad, beat_i.final_byte};
    end
    held <= held + (adding ? added : '0) - words_t'(left);

    if (follow) begin
      coming_q <= 1'b1;
      nth_q    <= nth_any;
      if (Tagged && nth == 1) watched_q <= tag_i;
      if (is_beat && beat == 0) watched_q <= beat_i.data;
    end else if (coming_q) begin
      if (valid_i && is_beat && beats_q == beat) watched_q <= beat_i.data;
      if (ended3_q) coming_q <= 1'b0;
      if (kept && nth == 0) watched_q <= header;
    end
    pending_q <= Tagged && coming_q && kept;
    if (watch) begin
      following_q <= 1'b1;
      ahead_q     <= held - words_t'(left) + words_t'(nth);
    end else if (following_q && left) begin
      if (ahead_q == 0) following_q <= 1'b0;
      else ahead_q <= ahead_q - 1'b1;
    end
    if (!rst_ni) begin
      {ended1_q, ended2_q, ended3_q, kept_q, committed_q, left_q} <= '0;
      {coming_q, pending_q, following_q} <= '0;
      held <= '0;
    end
  end

  // Position of the followed word.
  wire words_t in_front = words_t'(fetched_valid_q) + words_t'(out_valid_q);
  wire [Width-1:0] slot = read_q[Width-1:0] + Width'(ahead_q - in_front);
  wire [Width:0] filled = write_q - read_q;
  wire [Width:0] shown = start_q - read_q;
  logic told_bad_q, told_full_q;
  logic [Width:0] filled1_q, filled2_q;
  logic wrapped_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (read_q[Width]) wrapped_q <= 1'b1;
    told_bad_q  <= rst_ni && ended3_q && taken_q && wrong;
    told_full_q <= rst_ni && ended3_q && !taken_q;
    filled1_q   <= rst_ni ? filled : '0;
    filled2_q   <= rst_ni ? filled1_q : '0;
  end
  // A frame is arriving or not yet judged.
  wire open = inside_q || ended1_q || ended2_q || ended3_q;

  always_comb begin
    assume (nth_any < 4'(Slots + MostBeats));
    // A sender that waits for `ready_o` satisfies this. One that cannot wait leaves at least sixteen byte times
    // between frames.
    if (ended1_q || ended2_q || (Tagged && ended3_q)) assume (!valid_i);

    if (past_q) begin
      if (following_q && left && ahead_q == 0) rule_2_whole : assert ((word_o & mask) == (watched_q & mask));
      rule_2_bad : assert (bad_o == told_bad_q);
      rule_2_full : assert (full_o == told_full_q);
      if (valid_o) rule_3_only_kept : assert (held != 0);
      if (empty_o && !committed_q) rule_3_empty : assert (held == 0);
      if (left_q) rule_4_rests : assert (!valid_o);

      // Meaning of the registers.
      assert (ended_q == ended1_q && measured_q == ended2_q && finish_q == ended3_q && commit == adding && tag_q == (Tagged && kept_q));
      assert (4'(ended_q) + 4'(measured_q) + 4'(finish_q) <= 4'd1 && !(inside_q && (ended_q || measured_q)));
      assert (!(Tagged && inside_q && finish_q) && !(tag_q && (ended_q || measured_q || finish_q || inside_q)));
      assert (held == words_t'(shown) + in_front);
      assert (filled <= (Width + 1)'(Words) && shown <= filled && next_q == read_q + 1'b1);
      assert (used_q == filled1_q && room_q == (filled2_q + (Width + 1)'(MostBeats + 8) < (Width + 1)'(Words)));
      if (some_q) assert (shown != 0);
      assert (tag_place_q == Width'(start_q + 1'b1));
      assert (frame_q == start_q + (Width + 1)'(Slots));
      if (can_q && !inside_q) assert (32'(filled) + MostBeats + Slots <= Words);
      if (can_q && !inside_q) assert (!ended_q && !measured_q && !tag_q && !(finish_q && Tagged));
      if (open && !inside_q) assert (!can_q);
      if (open) begin
        assert (fits_q == taken_q && beats_q != 0);
        if (taken_q) begin
          assert (count_q == (beats_q > 4'(MostBeats) ? 9'(MostBeats) : 9'(beats_q)) && most_q == (count_q == 9'(MostBeats)));
          assert (long_q == (beats_q > 4'(MostBeats)) && write_q == frame_q + (Width + 1)'(count_q));
          assert (32'(filled) + MostBeats - 32'(count_q) + Slots <= Words);
          if (inside_q) assert (can_q == (count_q != 9'(MostBeats)));
        end else assert (write_q == frame_q && (!inside_q || !can_q));
      end else if (tag_q) begin
        assert (32'(filled) + Slots <= Words);
        assert (write_q == frame_q + (Width + 1)'(adding_q) - (Width + 1)'(Slots) && adding_q <= words_t'(Slots + MostBeats));
      end else assert (write_q == frame_q);
      if (ended1_q || ended2_q || ended3_q) assert (final_q == end_q && broken_q == bad_q);
      if ((ended2_q || ended3_q) && taken_q) assert (bytes_q == {count_q, final_q} - 12'd7);
      if (ended3_q && taken_q) assert (wrong_q == wrong);
      if (inside_q || ended1_q || ended2_q || ended3_q) assert (first_tag_q == tag0_q);

      assert (nth_q < 4'(Slots + MostBeats) || !(coming_q || pending_q || following_q));
      assert (2'(coming_q) + 2'(pending_q) + 2'(following_q) <= 2'd1 && pending_q == (pending_q && tag_q));
      if (coming_q) begin
        assert (open);
        if (Tagged && nth == 1) assert (watched_q == first_tag_q);
        if (taken_q && is_beat && beats_q > beat) assert (memory[frame_q[Width-1:0]+Width'(beat)] == watched_q);
      end
      if (pending_q) begin
        if (Tagged && nth == 1) assert (watched_q == first_tag_q);
        else if (words_t'(nth) < adding_q) assert (((memory[start_q[Width-1:0]+Width'(nth)] ^ watched_q) & mask) == 0);
      end
      if (following_q) begin
        assert (ahead_q < held);
        if (ahead_q == 0 && out_valid_q) assert (((out_q ^ watched_q) & mask) == 0);
        else if (ahead_q < in_front) assert (((fetched_q ^ watched_q) & mask) == 0);
        else assert (((memory[slot] ^ watched_q) & mask) == 0);
      end
      // The last word of the longest frame, after another frame; and each outcome.
      cover (following_q && left && ahead_q == 0 && nth == 4'(Slots + MostBeats - 1) && wrapped_q);
      cover (bad_o && held != 0);
      cover (full_o && held != 0);
    end
  end

endmodule

bind host_store host_store_rules #(
    .Words(Words), .MinBytes(MinBytes), .MaxBytes(MaxBytes), .Tagged(Tagged), .KeepBad(KeepBad)) rules (.*);
