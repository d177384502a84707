// A run starts with one cycle of reset and may have more later.
module reset_rules (
    input logic clk_i,
    input logic rst_ni
);
  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);
endmodule
