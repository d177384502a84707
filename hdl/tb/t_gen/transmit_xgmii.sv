// In place of the transmitter: a MAC that never says no, so that what is measured is the core's own time from one frame to the next. A hole in a frame is
// told as the real one tells it.
module transmit_xgmii
  import tare_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    output logic        ready_o,
    input  beat_t       beat_i,
    input  stamp_t      stamp_i,
    input  logic [59:0] time_i,
    input  ticks_t      late_i,
    output logic [63:0] txd_o,
    output logic [7:0]  txc_o,
    output logic        sent_o,
    output logic        underrun_o
);
  logic inside_q;
  assign ready_o = 1'b1;
  assign txd_o   = '0;
  assign txc_o   = '1;
  assign sent_o  = valid_i && beat_i.last;
  always_ff @(posedge clk_i) begin
    underrun_o <= inside_q && !valid_i;
    if (valid_i) inside_q <= !beat_i.last;
    if (!rst_ni) begin
      inside_q   <= 1'b0;
      underrun_o <= 1'b0;
    end
  end
endmodule
