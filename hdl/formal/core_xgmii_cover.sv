// Covers without which the immunity proof could hold vacuously, at 10 Gb/s: a frame starts to leave while one
// is received, and a received frame is counted while one leaves.
module core_xgmii_cover
  import tare_pkg::*;
(
    input logic       clk_i,
    input logic       rst_ni,
    input logic [7:0] txc_o,
    input logic       noise_counted,
    input logic       receiving_frame
);
  reset_rules reset (.*);
  always_comb begin
    if (rst_ni) cover (txc_o == 8'h01 && receiving_frame);
    if (rst_ni) cover (txc_o == 8'h00 && noise_counted);
  end
endmodule

bind core core_xgmii_cover rules (.receiving_frame(gen_xgmii.mac_rx.inside_q), .noise_counted(heard_events.noise), .*);
