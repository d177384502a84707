// The time that departures refer to. `next_o` is known one cycle ahead, so that a comparison with it can take a
// whole cycle.
//
// Rules (formal/release_gate_rules.sv assumes them at its inputs, formal/tick_counter_rules.sv proves them):
//   1 next = now + 1;
//   2 now increments in each cycle.
module tick_counter
  import tare_pkg::*;
(
    input  logic   clk_i,
    input  logic   rst_ni,
    output ticks_t now_o,
    output ticks_t next_o
);
  always_ff @(posedge clk_i) begin
    now_o  <= next_o;
    next_o <= next_o + 64'd1;
    if (!rst_ni) begin
      now_o  <= '0;
      next_o <= 64'd1;
    end
  end
endmodule
