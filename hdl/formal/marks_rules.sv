// Rules of marks. The solver chooses one mark, which is followed: the marks and the frames before it are
// counted here.
module marks_rules #(
    parameter int unsigned Bits  = 16,
    localparam type        Id    = logic [Bits-1:0],
    parameter int unsigned Depth = 16,
    parameter int unsigned CountWidth = 32,
    localparam int unsigned Width = $clog2(Depth)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic accepted_i,
    input logic gone_i,
    input logic valid_i,
    input logic ready_o,
    input Id    id_i,
    input logic valid_o,
    input logic ready_i,
    input Id    id_o,
    input Id    ids[Depth],
    input logic [CountWidth-1:0] until_[Depth],
    input logic [Width:0] write_q,
    input logic [Width:0] read_q,
    input logic [CountWidth-1:0] accepted_q,
    input logic [CountWidth-1:0] gone_q,
    input logic due_q,
    input logic valid_q,
    input Id    id_q
);
  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width(Bits)) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i(id_i));
  stream_rules #(.Assume(1'b0), .Width(Bits)) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(id_o));

  wire entered = valid_i && ready_o;
  wire left = valid_o && ready_i;

  logic following_q, reported_q;
  logic [Width+1:0] marks_inside, before_q;  // marks inside; those before the followed mark
  logic [CountWidth-1:0] frames_inside, frames_before_q;  // frames inside; those before the followed mark
  logic [2:0] free_q;  // cycles since nothing is before it
  Id watched_q;
  (* anyseq *) logic follow_any;
  wire follow = follow_any && entered && !following_q;

  always_ff @(posedge clk_i) begin
    frames_inside <= frames_inside + CountWidth'(accepted_i) - CountWidth'(gone_i);
    marks_inside  <= marks_inside + (Width + 2)'(entered) - (Width + 2)'(left);
    if (following_q && gone_i && frames_before_q != 0) frames_before_q <= frames_before_q - 1'b1;
    free_q <= following_q && frames_before_q == 0 && before_q == 0 && !left ? free_q + 3'(free_q != '1) : '0;
    if (follow) begin
      following_q     <= 1'b1;
      watched_q       <= id_i;
      before_q        <= marks_inside - (Width + 2)'(left);
      frames_before_q <= frames_inside - CountWidth'(gone_i && frames_inside != 0);
    end else if (following_q && left) begin
      if (before_q == 0) following_q <= 1'b0;
      else before_q <= before_q - 1'b1;
    end
    if (!rst_ni) begin
      frames_inside <= '0;
      marks_inside  <= '0;
      following_q   <= 1'b0;
      frames_before_q <= '0;
      before_q      <= '0;
      free_q        <= '0;
    end
  end

  wire [Width:0] stored = write_q - read_q;
  // Of the oldest mark; at least -2^(CountWidth - 2).
  wire [CountWidth-1:0] stale = until_[read_q[Width-1:0]] - gone_q;
  // The place of the followed mark, and the number of frames to go before its turn; negative if it only waits
  // for older marks.
  wire [Width:0] place = read_q + (Width + 1)'(before_q) - (Width + 1)'(valid_q);
  wire [CountWidth-1:0] to_go = until_[place[Width-1:0]] - gone_q;

  // The state after one cycle of reset satisfies all invariants, so one step of induction is enough.
  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;

  always_comb begin
    if (begun_q) begin
      // Assumed of the user: no frame leaves that did not come, and fewer than a quarter of the counter's range
      // are inside.
      if (gone_i) assume (frames_inside != 0);
      assume (frames_inside[CountWidth-1-:2] == 0);
      if (stored != 0) assume (stale[CountWidth-1-:2] inside {2'b00, 2'b11});
      if (following_q && left && before_q == 0) begin
        rule_1_not_before : assert (frames_before_q == 0);
        rule_3_order : assert (id_o == watched_q);
      end
      rule_2_then : assert (free_q < 2 || valid_o);
      assert (!due_q || (stored != 0 && (stale == 0 || stale[CountWidth-1])));
      if (following_q && before_q == 0 && frames_before_q == 0 && !valid_q) assert (free_q < 1 || due_q);
      assert (frames_inside == accepted_q - gone_q);
      assert (stored <= (Width + 1)'(Depth));
      assert (marks_inside == (Width + 2)'(stored) + (Width + 2)'(valid_q));
      // Meaning of the registers. Marks are stored in the order of their frames: at least as many frames came
      // after a mark as after the next one. For the oldest mark that number is small enough for the counter to
      // tell it from 0.
      for (int unsigned i = 0; i < Depth; i++) begin
        automatic logic [Width-1:0] nth = Width'(i) - read_q[Width-1:0];
        automatic logic [CountWidth-1:0] newer = accepted_q - until_[i];
        if ((Width + 1)'(nth) < stored) assert (!newer[CountWidth-1]);
        if ((Width + 1)'(nth) + 1'b1 < stored) assert (newer >= accepted_q - until_[(i+1)%Depth]);
      end
      if (free_q != 0) assert (following_q && before_q == 0 && frames_before_q == 0);
      if (following_q) begin
        assert (before_q < marks_inside);
        assert (frames_before_q <= frames_inside);
        if (before_q == 0 && valid_q) begin
          assert (id_q == watched_q && frames_before_q == 0);
        end else begin
          assert (ids[place[Width-1:0]] == watched_q);
          assert (frames_before_q == (to_go[CountWidth-1] ? '0 : to_go));
        end
      end
      cover (following_q && left && before_q == 1 && frames_inside == 1);
      cover (stored == (Width + 1)'(Depth));
    end
  end
endmodule

bind marks marks_rules #(.Bits($bits(Id)), .Depth(Depth), .CountWidth(CountWidth)) rules (.*);
