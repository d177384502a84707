// Covers without which the immunity proof could hold vacuously: a frame starts to leave while one is received,
// and a received frame is counted while one leaves.
module core_cover
  import tare_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic tx_en_o,
    input logic noise_counted,
    input logic receiving_frame
);
  reset_rules reset (.*);
  logic tx_en_q = 1'b0;
  always_ff @(posedge clk_i) tx_en_q <= tx_en_o;
  always_comb begin
    if (rst_ni) cover (tx_en_o && !tx_en_q && receiving_frame);
    if (rst_ni) cover (tx_en_o && tx_en_q && noise_counted);
  end
endmodule

bind core core_cover rules (.receiving_frame(gen_gmii.mac_rx.inside_q), .noise_counted(heard_events.noise), .*);
