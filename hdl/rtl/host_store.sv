// Stores a frame until it is whole, so that the reader never sees a bad or truncated frame and never waits
// inside one. Its source is a receiver that cannot wait: a frame that does not fit is dropped whole, and
// reported.
//
// In the memory, one word precedes the beats of each frame, or two with Tagged:
//
//   11:0 bytes, 12 bad, 24:16 beats   (with its FCS, if it has one)
//   tag                       (given with its first beat)
//   beats …
//
// These words are written after the last beat, into slots left free for them. Only then can the reader see the
// frame.
//
// `ready_o` is for a sender that can wait. Between frames, it is high if the longest frame fits. Inside a frame
// it is always high. It is low in the cycles after a last beat in which the slots are written. A frame that
// starts while it is low is dropped.
//
// Rules (formal/host_store_rules.sv):
//   1 the rules of streams at the output;
//   2 each frame is read whole, reported as bad, or reported as not fitting;
//   3 order is kept;
//   4 a cycle without a word follows each word that is read.
module host_store
  import tare_pkg::*;
#(
    parameter int unsigned Words    = 512,   // a power of two
    parameter int unsigned MinBytes = 36,
    parameter int unsigned MaxBytes = 2052,
    parameter bit          Tagged   = 1'b0,
    parameter bit          KeepBad  = 1'b0
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    output logic        ready_o,
    input  heard_t      beat_i,
    input  ticks_t      tag_i,
    output logic        bad_o,    // a frame was bad, too short or too long
    output logic        full_o,   // a frame did not fit
    output logic        valid_o,
    input  logic        ready_i,
    output logic [63:0] word_o,
    output logic        empty_o
);
  localparam int unsigned Width = $clog2(Words);
  localparam int unsigned Slots = Tagged ? 2 : 1;
  localparam int unsigned MostBeats = (MaxBytes + 7) / 8;

  (* no_rw_check *) logic [63:0] memory[Words];

  // Writing. `count_q` counts the beats of a frame. It stops at a frame that is too long, and so does the
  // writing.
  logic [Width:0] start_q, write_q, read_q, used_q;
  logic [Width:0] frame_q;        // start of a frame's beats, after its slots
  logic [Width-1:0] tag_place_q;  // start_q + 1
  logic [8:0] count_q;
  logic most_q;  // count_q has reached its limit
  logic inside_q, room_q, can_q, fits_q, broken_q, long_q, ended_q, measured_q, finish_q, tag_q, wrong_q;
  logic [2:0] final_q;
  logic [11:0] bytes_q;
  ticks_t first_tag_q;

  wire last = valid_i && beat_i.last;
  wire begins = valid_i && !inside_q;
  // After the last beat there is a cycle each to count the bytes, to judge them, and to write each slot. Beats
  // cannot be written in these cycles; a sender that cannot wait is silent between frames.
  wire busy = ended_q || measured_q || finish_q || tag_q;
  // Whether a beat can be written is known a cycle ahead, as beats arrive late in a cycle.
  wire write = valid_i && can_q;

  wire keep = finish_q && fits_q && !wrong_q;

  assign ready_o = inside_q || can_q;

  logic [Width-1:0] place;
  logic [63:0] word;
  always_comb begin
    place = write_q[Width-1:0];
    word  = beat_i.data;
    if (finish_q) begin
      place = start_q[Width-1:0];
      word[12:0]  = {broken_q, bytes_q};
      word[24:16] = count_q;
    end
    if (Tagged && tag_q) begin
      place = tag_place_q;
      word  = first_tag_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write || finish_q || tag_q) memory[place] <= word;
  end

  // The reader sees the words before `start_q`.
  logic [Width:0] next_q;  // read_q + 1
  logic some_q, fetched_valid_q, out_valid_q;
  logic [63:0] fetched_q, out_q;

  wire commit = Tagged ? tag_q : keep;
  // `ready` of the reader is late in the cycle. So the output is refilled only after it was seen empty, and a
  // cycle without a word follows each word.
  wire move_out = !out_valid_q;
  wire move_fetched = !fetched_valid_q || move_out;
  wire read = some_q && move_fetched;

  assign valid_o = out_valid_q;
  assign word_o  = out_q;
  assign empty_o = !some_q && !fetched_valid_q && !out_valid_q && !inside_q && !busy;

  always_ff @(posedge clk_i) begin
    if (move_fetched) fetched_q <= memory[read_q[Width-1:0]];
    if (move_out) out_q <= fetched_q;
    if (begins) first_tag_q <= tag_i;
    if (last) begin
      final_q  <= beat_i.final_byte;
      broken_q <= beat_i.bad;
    end
  end

  always_ff @(posedge clk_i) begin
    bad_o    <= 1'b0;
    full_o   <= 1'b0;
    ended_q    <= last;
    measured_q <= ended_q;
    finish_q   <= measured_q;
    tag_q      <= 1'b0;
    bytes_q    <= {count_q, final_q} - 12'd7;
    if (measured_q) wrong_q <= below(16'(bytes_q), MinBytes) || !below(16'(bytes_q), MaxBytes + 1) || long_q || (broken_q && !KeepBad);
    used_q   <= write_q - read_q;
    // Three cycles old when `can_q` uses it: the eight words are the slots, and what may have been written
    // since.
    room_q   <= below(16'(used_q), Words - MostBeats - 8);
    if (valid_i) can_q <= can_q && !beat_i.last && (begins || count_q != 9'(MostBeats - 1));
    else if (!inside_q) can_q <= room_q && !(ended_q || measured_q || (finish_q && Tagged));
    if (valid_i) begin
      inside_q <= !beat_i.last;
      if (begins) fits_q <= can_q;
      long_q   <= !begins && (long_q || most_q);
      if (write) begin
        write_q <= write_q + 1'b1;
        count_q <= begins ? 9'd1 : count_q + 1'b1;
        most_q  <= !begins && count_q == 9'(MostBeats - 1);
      end
    end
    if (finish_q) begin
      full_o <= !fits_q;
      bad_o  <= fits_q && wrong_q;
      if (!keep) write_q <= frame_q;
      else if (Tagged) tag_q <= 1'b1;
    end
    if (commit) begin
      start_q     <= write_q;
      write_q     <= write_q + (Width + 1)'(Slots);
      frame_q     <= write_q + (Width + 1)'(Slots);
      tag_place_q <= write_q[Width-1:0] + 1'b1;
    end
    if (read) begin
      read_q <= next_q;
      next_q <= next_q + 1'b1;
    end
    some_q <= read ? start_q != next_q : start_q != read_q;
    if (move_fetched) fetched_valid_q <= read;
    if (move_out) out_valid_q <= fetched_valid_q;
    else if (ready_i) out_valid_q <= 1'b0;
    if (!rst_ni) begin
      start_q         <= '0;
      tag_place_q     <= Width'(1);
      write_q         <= (Width + 1)'(Slots);
      frame_q         <= (Width + 1)'(Slots);
      read_q          <= '0;
      next_q          <= (Width + 1)'(1);
      used_q          <= '0;
      inside_q        <= 1'b0;
      room_q          <= 1'b0;
      can_q           <= 1'b0;
      ended_q         <= 1'b0;
      measured_q      <= 1'b0;
      finish_q        <= 1'b0;
      tag_q           <= 1'b0;
      some_q          <= 1'b0;
      fetched_valid_q <= 1'b0;
      out_valid_q     <= 1'b0;
      bad_o           <= 1'b0;
      full_o          <= 1'b0;
    end
  end
endmodule
