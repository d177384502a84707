// The part that all boards have in common: the module with the MAC of the host's port. Both ports are GMII.
module board
  import tare_pkg::*;
  import host_pkg::*;
#(
    parameter logic [31:0] Build = '0
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    output logic [7:0] host_txd_o,
    output logic       host_tx_en_o,
    output logic       host_tx_er_o,
    input  logic [7:0] host_rxd_i,
    input  logic       host_rx_dv_i,
    input  logic       host_rx_er_i,
    output logic [7:0] wire_txd_o,
    output logic       wire_tx_en_o,
    output logic       wire_tx_er_o,
    input  logic [7:0] wire_rxd_i,
    input  logic       wire_rx_dv_i,
    input  logic       wire_rx_er_i,
    input  logic       wire_up_i
);
  logic from_valid, to_valid, to_ready, out_valid, out_ready;
  received_t from_host;
  beat_t to_host, out;

  mac_rx_gmii #(
      .MaxBytes(MaxLinkBytes + FcsBytes)
  ) host_rx (
      .clk_i,
      .rst_ni,
      .now_i  ('0),
      .time_i ('0),
      .rxd_i  (host_rxd_i),
      .rx_dv_i(host_rx_dv_i),
      .rx_er_i(host_rx_er_i),
      .valid_o(from_valid),
      .received_o(from_host),
      .noise_o()
  );

  tare_module #(
      .Build(Build)
  ) dut (
      .clk_i,
      .rst_ni,
      .txd_o       (wire_txd_o),
      .tx_en_o     (wire_tx_en_o),
      .tx_er_o     (wire_tx_er_o),
      .rxd_i       (wire_rxd_i),
      .rx_dv_i     (wire_rx_dv_i),
      .rx_er_i     (wire_rx_er_i),
      .host_valid_i(from_valid),
      .host_ready_o(),
      .host_beat_i (from_host.beat),
      .host_valid_o(to_valid),
      .host_ready_i(to_ready),
      .host_beat_o (to_host),
      .wire_up_i,
      .quiet_o     ()
  );

  stream_register #(
      .T(beat_t)
  ) between (
      .clk_i,
      .rst_ni,
      .valid_i(to_valid),
      .ready_o(to_ready),
      .data_i (to_host),
      .valid_o(out_valid),
      .ready_i(out_ready),
      .data_o (out)
  );

  transmit_gmii host_tx (
      .clk_i,
      .rst_ni,
      .valid_i   (out_valid),
      .ready_o   (out_ready),
      .beat_i    (out),
      .stamp_i   ('0),
      .time_i    ('0),
      .late_i    ('0),
      .txd_o     (host_txd_o),
      .tx_en_o   (host_tx_en_o),
      .tx_er_o   (host_tx_er_o),
      .sent_o    (),
      .underrun_o()
  );
endmodule
