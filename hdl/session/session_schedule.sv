// The due times of departures, evenly spaced. The n-th, from 0, is due at
//
//   first + floor(n * (whole + numerator / denominator))
//
// as `schedule` has it for a constant rate: gap_accumulator carries the remainder, so there is no drift.
//
// `wait_o` is the number of cycles until then, 0 from the cycle in which it is due, and at most 65 535. It is valid with
// `valid_o`, which is low for two cycles after `next_i`, and for ever when all are over.
module session_schedule
  import session_engine_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  tick_t       now_i,
    input  logic        set_i,
    input  tick_t       first_i,
    input  logic [31:0] whole_i,
    input  logic [31:0] numerator_i,
    input  logic [31:0] denominator_i,
    input  logic [31:0] number_i,
    output logic        valid_o,
    output logic        over_o,
    output tick_t       due_o,
    output logic [15:0] wait_o,
    input  logic        next_i
);
  logic [31:0] gap;
  logic [31:0] left_q;
  logic [1:0] settle_q;
  tick_t ahead_q;  // due - now, in the next cycle

  gap_accumulator #(
      .Width(32)
  ) gaps (
      .clk_i,
      .rst_ni,
      .set_i,
      .whole_i,
      .numerator_i,
      .denominator_i,
      .step_i(next_i),
      .gap_o (gap)
  );

  assign over_o  = left_q == '0;
  assign valid_o = settle_q == '0 && left_q != '0;

  always_ff @(posedge clk_i) begin
    // Of the cycle after the next: it passes two registers.
    ahead_q <= due_o - now_i - 48'd2;
    wait_o  <= ahead_q[47] ? '0 : |ahead_q[46:16] ? '1 : ahead_q[15:0];
    if (settle_q != '0) settle_q <= settle_q - 2'd1;
    if (next_i) begin
      due_o    <= due_o + 48'(gap);
      left_q   <= left_q - 32'd1;
      settle_q <= 2'd2;
    end
    if (set_i) begin
      due_o    <= first_i;
      left_q   <= number_i;
      settle_q <= 2'd2;
    end
    if (!rst_ni) begin
      left_q   <= '0;
      settle_q <= '0;
    end
  end
endmodule
