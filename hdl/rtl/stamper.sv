// Writes the departure time and the lateness into a frame as it leaves. It works on the bytes inside the MAC,
// after the gate, so what it writes is true also for a late frame, and it moves no departure.
//
// A signature of version 0xb, 18 bytes, big-endian, at an even place:
//
//   bytes 0–4    sequence number           unchanged, and summed as they pass
//         5      stream
//         6–7    lateness in ticks; 65 535 = that or more
//         8–15   4 bits 0xb, 60 bits nanoseconds of the module's clock since 2020-01-01 UTC
//         16–17  check: the inverted ones' complement sum (RFC 1071) of the eight halfwords before and 0xa55a
//
// So the sum of all nine is 0x5aa5, whatever is written. A UDP or TCP checksum that counts 0x5aa5 for the
// signature therefore stays valid. The check's sum is never 0, so 0xffff is never written, but 0 is.
//
//   start ──► 2 cycles: time, lateness known ──► 10 cycles: their bytes are added ──► bytes pass or change
//
// One 8-bit adder sums bytes. It alternates between the lower and the upper half, each with the carry of the
// other. Ten bytes after the last summed byte no carry is left.
//
// Rules (simulated):
//   1 bytes other than the ten and the check pass unchanged;
//   2 the signature is as above for every place of 4 halfwords or more.
module stamper
  import tare_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        start_i,  // a frame begins
    input  stamp_t      stamp_i,  // of that frame
    // Of the start two cycles ago.
    input  logic [59:0] time_i,
    input  ticks_t      late_i,
    // The bytes of the frame: the first with start_i, the others in cycles with step_i.
    input  logic        step_i,
    input  logic [7:0]  byte_i,
    output logic [7:0]  byte_o
);
  localparam int unsigned First = 6, Check = 16, End = 18;

  logic [3:1] started_q;
  stamp_t stamp_q;
  // Position of the next byte relative to the signature: negative before it, stops at End.
  logic [9:0] position_q;
  logic first_next_q, check_next_q, end_next_q;  // the byte after it is at First, Check, End
  logic summed_q, replaced_q, check_q;  // what happens to that byte
  logic [9:0][7:0] written_q;           // bytes 6 … 15
  logic [15:0] late_q;
  logic more_late_q;  // lateness exceeds its field
  logic written_now_q;
  logic adding_q;                       // these bytes are being added
  logic [3:0] next_q;                   // the one to select next
  logic [7:0] sum_q, other_q;
  logic carry_q;

  logic [7:0] picked_q;
  logic ended_q;
  // The value loaded at the start is two too small. The following two cycles correct that, which saves the sum
  // of a negation.
  wire move = (started_q[2] || started_q[3] || step_i) && !ended_q;
  // Added a cycle later. When a byte of the check passes, the half that is complete is therefore the one added
  // last.
  logic add_q;
  logic [7:0] addend_q;

  wire pick = written_now_q || adding_q || step_i && replaced_q;

  assign byte_o = !replaced_q ? byte_i : check_q ? ~other_q : picked_q;

  always_ff @(posedge clk_i) begin
    started_q  <= {started_q[2:1], start_i};
    stamp_q    <= stamp_i;
    if (move) begin
      position_q <= position_q + 1'b1;
      if (position_q == '1) summed_q <= 1'b1;
      first_next_q <= position_q == 10'(First - 2);
      check_next_q <= position_q == 10'(Check - 2);
      end_next_q   <= position_q == 10'(End - 2);
      if (first_next_q) begin
        summed_q   <= 1'b0;
        replaced_q <= 1'b1;
      end
      if (check_next_q) check_q <= 1'b1;
      if (end_next_q) begin
        replaced_q <= 1'b0;
        ended_q    <= 1'b1;
      end
    end
    if (started_q[1]) begin
      position_q <= ~{1'b0, stamp_q.place, 1'b0};
      ended_q    <= !stamp_q.enable;
      {first_next_q, check_next_q, end_next_q} <= '0;
      summed_q   <= 1'b0;
      replaced_q <= 1'b0;
      check_q    <= 1'b0;
    end
    if (started_q[2]) begin
      // The first byte is the lowest.
      {written_q[2], written_q[3], written_q[4], written_q[5], written_q[6], written_q[7], written_q[8], written_q[9]} <=
          {SignatureVersion, time_i};
    end
    if (started_q[3]) {written_q[0], written_q[1]} <= more_late_q ? '1 : late_q;
    more_late_q   <= late_i[63:16] != 0;
    late_q        <= late_i[15:0];
    written_now_q <= started_q[3];
    // After the tenth byte, the first is selected again.
    adding_q <= written_now_q || adding_q && next_q != 0;
    if (pick) begin
      next_q   <= next_q == 4'd9 ? '0 : next_q + 1'b1;
      picked_q <= written_q[next_q];
    end
    if (started_q[3]) next_q <= '0;
    add_q    <= adding_q || step_i && !position_q[9];
    addend_q <= adding_q ? picked_q : summed_q ? byte_i : 8'h00;
    if (add_q) begin
      {carry_q, other_q} <= {1'b0, sum_q} + {1'b0, addend_q} + {8'b0, carry_q};
      sum_q              <= other_q;
    end
    if (started_q[1]) {carry_q, sum_q, other_q} <= {1'b0, ~SignatureSum};
    if (!rst_ni) begin
      started_q  <= '0;
      written_now_q <= 1'b0;
      adding_q   <= 1'b0;
      add_q      <= 1'b0;
      ended_q    <= 1'b1;
      replaced_q <= 1'b0;
    end
  end
endmodule
