// Colorlight 5A-75B, versions 7.0 and 8.0: LFE5U-25F-6, two gigabit PHYs. Port 0 is the host's, port 1 is the wire.
//
// On version 8.0 the 25 MHz come from a PHY, so the PHYs are never reset. mdc and mdio are not used; straps configure the PHYs.
module colorlight_5a_75b #(
    parameter logic [31:0] Build = '0
) (
    input  logic       clk25_i,
    output logic       phy_rst_no,
    output logic       led_no,
    output logic       host_txc_o,
    output logic       host_tx_ctl_o,
    output logic [3:0] host_txd_o,
    input  logic       host_rxc_i,
    input  logic       host_rx_ctl_i,
    input  logic [3:0] host_rxd_i,
    output logic       wire_txc_o,
    output logic       wire_tx_ctl_o,
    output logic [3:0] wire_txd_o,
    input  logic       wire_rxc_i,
    input  logic       wire_rx_ctl_i,
    input  logic [3:0] wire_rxd_i
);
  logic clk, rst_n, wire_up;
  logic [7:0] host_txd, host_rxd, wire_txd, wire_rxd;
  logic host_tx_en, host_tx_er, host_rx_dv, host_rx_er, wire_tx_en, wire_tx_er, wire_rx_dv, wire_rx_er;

  assign phy_rst_no = 1'b1;
  assign led_no     = !wire_up;

  ecp5_clock #(
      .OscillatorMhz(25)
  ) clock (
      .oscillator_i(clk25_i),
      .clk_o       (clk),
      .rst_no      (rst_n)
  );

  rgmii_ecp5 host_port (
      .clk_i         (clk),
      .rst_ni        (rst_n),
      .rgmii_txc_o   (host_txc_o),
      .rgmii_tx_ctl_o(host_tx_ctl_o),
      .rgmii_txd_o   (host_txd_o),
      .rgmii_rxc_i   (host_rxc_i),
      .rgmii_rx_ctl_i(host_rx_ctl_i),
      .rgmii_rxd_i   (host_rxd_i),
      .txd_i         (host_txd),
      .tx_en_i       (host_tx_en),
      .tx_er_i       (host_tx_er),
      .rxd_o         (host_rxd),
      .rx_dv_o       (host_rx_dv),
      .rx_er_o       (host_rx_er),
      .up_o          ()
  );

  rgmii_ecp5 wire_port (
      .clk_i         (clk),
      .rst_ni        (rst_n),
      .rgmii_txc_o   (wire_txc_o),
      .rgmii_tx_ctl_o(wire_tx_ctl_o),
      .rgmii_txd_o   (wire_txd_o),
      .rgmii_rxc_i   (wire_rxc_i),
      .rgmii_rx_ctl_i(wire_rx_ctl_i),
      .rgmii_rxd_i   (wire_rxd_i),
      .txd_i         (wire_txd),
      .tx_en_i       (wire_tx_en),
      .tx_er_i       (wire_tx_er),
      .rxd_o         (wire_rxd),
      .rx_dv_o       (wire_rx_dv),
      .rx_er_o       (wire_rx_er),
      .up_o          (wire_up)
  );

  board #(
      .Build(Build)
  ) all (
      .clk_i        (clk),
      .rst_ni       (rst_n),
      .host_txd_o   (host_txd),
      .host_tx_en_o (host_tx_en),
      .host_tx_er_o (host_tx_er),
      .host_rxd_i   (host_rxd),
      .host_rx_dv_i (host_rx_dv),
      .host_rx_er_i (host_rx_er),
      .wire_txd_o   (wire_txd),
      .wire_tx_en_o (wire_tx_en),
      .wire_tx_er_o (wire_tx_er),
      .wire_rxd_i   (wire_rxd),
      .wire_rx_dv_i (wire_rx_dv),
      .wire_rx_er_i (wire_rx_er),
      .wire_up_i    (wire_up)
  );
endmodule
