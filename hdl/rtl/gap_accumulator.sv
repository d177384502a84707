// Gaps of a fractional number of ticks, without drift. At 1 Gb/s, 1518-byte frames have a gap of 1538 ticks,
// but 333 333 frames a second have a gap of 375 and 125/333 333.
//
// A gap is whole + numerator/denominator ticks. The remainder is carried from each gap to the next, so the sum
// of the first n gaps is
//
//   floor(n * (whole * denominator + numerator) / denominator)
//
// for every n: less than one tick below the exact sum, and never above it.
//
// `gap_o` is the gap for the next departure. It is valid from the second cycle after `set_i`, and from the
// cycle after `step_i`.
//
// Rules (formal/gap_accumulator_rules.sv):
//   1 the remainder is below the denominator;
//   2 sum * denominator + remainder = n * (whole * denominator + numerator), which is the formula above;
//   3 the gap is whole or whole + 1.
module gap_accumulator #(
    parameter int unsigned Width = 32
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // Sets a new gap and the remainder to 0. The numerator must be below the denominator.
    input  logic             set_i,
    input  logic [Width-1:0] whole_i,
    input  logic [Width-1:0] numerator_i,
    input  logic [Width-1:0] denominator_i,
    input  logic             step_i,
    output logic [Width-1:0] gap_o
);
  logic [Width-1:0] whole_q, longer_q;    // longer = whole + 1
  logic [Width-1:0] numerator_q, rest_q;  // rest = denominator - numerator
  logic [Width-1:0] remainder_q;

  // remainder + numerator >= denominator, written so that the comparison and both sums run in parallel.
  wire carry = remainder_q >= rest_q;

  assign gap_o = carry ? longer_q : whole_q;

  always_ff @(posedge clk_i) begin
    if (step_i) remainder_q <= carry ? remainder_q - rest_q : remainder_q + numerator_q;
    if (set_i) begin
      whole_q     <= whole_i;
      longer_q    <= whole_i + 1'b1;
      numerator_q <= numerator_i;
      rest_q      <= denominator_i - numerator_i;
      remainder_q <= '0;
    end
    if (!rst_ni) begin
      whole_q     <= '0;
      longer_q    <= Width'(1);
      numerator_q <= '0;
      rest_q      <= Width'(1);
      remainder_q <= '0;
    end
  end
endmodule
