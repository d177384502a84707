// Writes into a frame that is leaving when it left, and how late that was. It stands behind the gate, where the bytes leave the MAC, so what it
// writes is true, also of a frame that was late, and it moves no departure.
//
// A signature of version 0xb, 18 bytes, big-endian, at an even place:
//
//   bytes 0–4    sequence number           as they come; the sum takes them as they pass
//         5      stream
//         6–7    lateness in ticks; 65 535 = that or more
//         8–15   4 bits 0xb, 60 bits nanoseconds since 2020-01-01 UTC, as the module's clock counts them
//         16–17  check: the inverted sum of ones' complement (RFC 1071) of the eight halfwords before and of 0xa55a
//
// So the sum of all nine is 0x5aa5, whatever is written: a UDP or TCP checksum that counts 0x5aa5 for the signature holds, and nobody corrects
// it. That sum is never 0, so a check of 0xffff is never written; 0 is.
//
//   start ──► two cycles: time and lateness are there ──► ten cycles: their bytes are added ──► bytes pass, or are replaced
//
// The sum is made of bytes, by one adder of eight bits: the upper and the lower half in turns, each with the carry of the other. Ten bytes
// after the last one that counts no carry is on its way any more.
//
// Rules: 1 bytes outside of the ten and the two pass as they are; 2 the signature is as above for every place of 4 halfwords or more. Both
// are simulated.
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
  // Of the byte that comes next, counted from the signature: negative before it; stays at End.
  logic [9:0] position_q;
  logic first_next_q, check_next_q, end_next_q;  // the byte behind it is at First, Check, End
  logic summed_q, replaced_q, check_q;  // what is done with that byte
  logic [9:0][7:0] written_q;           // bytes 6 … 15
  logic [15:0] late_q;
  logic more_late_q;  // than that can say
  logic written_now_q;
  logic adding_q;                       // they are being added
  logic [3:0] next_q;                   // which of them is picked next
  logic [7:0] sum_q, other_q;
  logic carry_q;

  logic [7:0] picked_q;
  logic ended_q;
  // What is loaded at the start is two short, which the cycles after make good: so no sum is needed to negate.
  wire move = (started_q[2] || started_q[3] || step_i) && !ended_q;
  // What is added, a cycle later: so the half that is complete when a byte of the check passes is the one that was added last.
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
      // The first byte at the lowest place.
      {written_q[2], written_q[3], written_q[4], written_q[5], written_q[6], written_q[7], written_q[8], written_q[9]} <=
          {SignatureVersion, time_i};
    end
    if (started_q[3]) {written_q[0], written_q[1]} <= more_late_q ? '1 : late_q;
    more_late_q   <= late_i[63:16] != 0;
    late_q        <= late_i[15:0];
    written_now_q <= started_q[3];
    // After the tenth the first is picked again.
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
