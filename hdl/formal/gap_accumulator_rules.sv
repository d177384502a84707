// Rules of gap_accumulator. The sums are kept as they are defined, in numbers wide enough never to wrap within
// the horizon that matters. The proof is by induction over one step, so it holds for any number of steps, 10^9
// or more.
//
// sum * denominator + remainder = n * (whole * denominator + numerator). Both sides grow with each step. Their
// difference is kept: debt = n * (whole * denominator + numerator) - sum * denominator. It must always equal
// the remainder. Each step adds whole * denominator + numerator - gap * denominator to it, modulo 2^(2 * Width
// + 1). That is wide enough not to hide a difference, as the remainder is below 2^Width.
//
// Multiplications are hard for a solver. With Multiply = 1 they are made as written, at a small width. With 0
// the distributive law is applied first, at the width that is built: a gap is whole + c with c = 0 or 1, so
// each step adds numerator - c * denominator.
module gap_accumulator_rules #(
    parameter int unsigned Width = 32,
    localparam bit Multiply = Width < 8
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             set_i,
    input logic [Width-1:0] whole_i,
    input logic [Width-1:0] numerator_i,
    input logic [Width-1:0] denominator_i,
    input logic             step_i,
    input logic [Width-1:0] gap_o,
    input logic [Width-1:0] remainder_q,
    input logic [Width-1:0] whole_q,
    input logic [Width-1:0] longer_q,
    input logic [Width-1:0] numerator_q,
    input logic [Width-1:0] rest_q
);
  localparam int unsigned W = 2 * Width + 1;

  reset_rules reset (.*);

  // The requested gap.
  logic [Width-1:0] whole, numerator, denominator;
  logic [W-1:0] debt;
  logic [3:0] carried, plain;

  always_comb begin
    if (set_i) begin
      assume (denominator_i != 0);
      assume (numerator_i < denominator_i);
      assume (whole_i != '1);  // whole + 1 must fit
    end
  end

  always_ff @(posedge clk_i) begin
    if (step_i) begin
      if (Multiply) debt <= debt + W'(whole) * W'(denominator) + W'(numerator) - W'(gap_o) * W'(denominator);
      else debt <= debt + W'(numerator) - (gap_o == whole ? '0 : W'(denominator));
      if (gap_o == whole) plain <= plain + 4'(plain != '1);
      else carried <= carried + 4'(carried != '1);
    end
    if (set_i) begin
      whole       <= whole_i;
      numerator   <= numerator_i;
      denominator <= denominator_i;
      debt        <= '0;
      carried     <= '0;
      plain       <= '0;
    end
    if (!rst_ni) begin
      whole       <= '0;
      numerator   <= '0;
      denominator <= Width'(1);
      debt        <= '0;
      carried     <= '0;
      plain       <= '0;
    end
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= rst_ni;

  always_comb begin
    if (past_q) begin
      rule_1 : assert (remainder_q < denominator);
      rule_2 : assert (debt == W'(remainder_q));
      rule_3 : assert (gap_o == whole || (gap_o == whole + 1'b1 && numerator != 0));
      // Meaning of the registers; without it the induction would start from impossible states.
      assert (whole_q == whole && longer_q == whole + 1'b1 && whole != '1);
      assert (numerator_q == numerator && numerator < denominator && rest_q == denominator - numerator);
      // Three gaps out of seven have one tick more.
      cover (denominator == 7 && numerator == 3 && carried == 3 && plain == 4 && remainder_q == 0);
    end
  end
endmodule

bind gap_accumulator gap_accumulator_rules #(.Width(Width)) rules (.*);
