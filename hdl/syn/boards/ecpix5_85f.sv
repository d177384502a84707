// LambdaConcept ECPIX-5 with the LFE5UM5G-85F-8. Its only gigabit PHY (KSZ9031) is the host's port, so the wire is looped inside: the module receives what it
// transmits. Generator, live frames, gaps and histograms can be tried, but other machines cannot be reached.
module ecpix5_85f #(
    parameter logic [31:0] Build = '0
) (
    input  logic       clk100_i,
    output logic       phy_rst_no,
    output logic       host_txc_o,
    output logic       host_tx_ctl_o,
    output logic [3:0] host_txd_o,
    input  logic       host_rxc_i,
    input  logic       host_rx_ctl_i,
    input  logic [3:0] host_rxd_i
);
  logic clk, rst_n;
  logic [7:0] host_txd, host_rxd, wire_txd, wire_rxd_q;
  logic host_tx_en, host_tx_er, host_rx_dv, host_rx_er, wire_tx_en, wire_tx_er, wire_rx_dv_q, wire_rx_er_q;

  assign phy_rst_no = rst_n;

  ecp5_clock #(
      .OscillatorMhz(100)
  ) clock (
      .oscillator_i(clk100_i),
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

  always_ff @(posedge clk) begin
    wire_rxd_q   <= wire_txd;
    wire_rx_dv_q <= wire_tx_en;
    wire_rx_er_q <= wire_tx_er;
  end

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
      .wire_rxd_i   (wire_rxd_q),
      .wire_rx_dv_i (wire_rx_dv_q),
      .wire_rx_er_i (wire_rx_er_q),
      .wire_up_i    (1'b1)
  );
endmodule
