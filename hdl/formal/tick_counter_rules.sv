// Rules of tick_counter.
module tick_counter_rules
  import tare_pkg::*;
(
    input logic   clk_i,
    input logic   rst_ni,
    input ticks_t now_o,
    input ticks_t next_o
);
  reset_rules reset (.*);
  logic past_q = 1'b0;
  ticks_t now_q;
  always_ff @(posedge clk_i) begin
    past_q <= rst_ni;
    now_q  <= now_o;
  end
  logic past2_q = 1'b0;
  always_ff @(posedge clk_i) past2_q <= past_q && rst_ni;
  always_comb begin
    if (past_q) rule_1 : assert (next_o == now_o + 64'd1);
    if (past2_q) rule_2 : assert (now_o == now_q + 64'd1);
    cover (now_o == 5);
  end
endmodule

bind tick_counter tick_counter_rules rules (.*);
