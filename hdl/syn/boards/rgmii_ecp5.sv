// RGMII (version 1.3) between the pins of an ECP5 and GMII in the core's clock, at 1 Gb/s only.
//
// The lower half of a byte is on the wires from the rising edge of the clock on, the upper half from the falling edge on; the control signal is `dv` first, then
// `dv` xor `er`. At its receiver, the clock must be at least 1.5 ns behind the data. Towards the PHY, the PHY itself delays the clock
// (TXDLY; TxDelay adds to it). From the PHY, our pins delay it (RxDelay). A unit is 25 ps.
//
// Between frames, the PHY reports its link in place of data: bit 0 is 1 if it is up, bits 2:1 are the speed, 2 for 1 Gb/s.
module rgmii_ecp5 #(
    parameter int unsigned TxDelay = 0,
    parameter int unsigned RxDelay = 80
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    // Pins.
    output logic       rgmii_txc_o,
    output logic       rgmii_tx_ctl_o,
    output logic [3:0] rgmii_txd_o,
    input  logic       rgmii_rxc_i,
    input  logic       rgmii_rx_ctl_i,
    input  logic [3:0] rgmii_rxd_i,
    // GMII.
    input  logic [7:0] txd_i,
    input  logic       tx_en_i,
    input  logic       tx_er_i,
    output logic [7:0] rxd_o,
    output logic       rx_dv_o,
    output logic       rx_er_o,
    output logic       up_o
);
  // Out: clock, control and data leave from the same kind of cell.
  logic [5:0] rise, fall, out;
  assign rise = {1'b1, tx_en_i, txd_i[3:0]};
  assign fall = {1'b0, tx_en_i ^ tx_er_i, txd_i[7:4]};
  for (genvar i = 0; i < 6; i++) begin : gen_out
    logic plain;
    ODDRX1F cell_ (
        .SCLK(clk_i),
        .RST (1'b0),
        .D0  (rise[i]),
        .D1  (fall[i]),
        .Q   (plain)
    );
    DELAYG #(
        .DEL_MODE ("USER_DEFINED"),
        .DEL_VALUE(i == 5 ? TxDelay : 0)
    ) delay (
        .A(plain),
        .Z(out[i])
    );
  end
  assign {rgmii_txc_o, rgmii_tx_ctl_o, rgmii_txd_o} = out;

  // In, in the PHY's clock.
  logic [4:0] pins, early, late;
  assign pins = {rgmii_rx_ctl_i, rgmii_rxd_i};
  for (genvar i = 0; i < 5; i++) begin : gen_in
    logic delayed;
    DELAYG #(
        .DEL_MODE ("USER_DEFINED"),
        .DEL_VALUE(RxDelay)
    ) delay (
        .A(pins[i]),
        .Z(delayed)
    );
    IDDRX1F cell_ (
        .SCLK(rgmii_rxc_i),
        .RST (1'b0),
        .D   (delayed),
        .Q0  (early[i]),
        .Q1  (late[i])
    );
  end

  logic [7:0] rxd_q;
  logic rx_dv_q, rx_er_q, up_q;
  logic [1:0] up_crossing_q;
  always_ff @(posedge rgmii_rxc_i) begin
    rxd_q   <= {late[3:0], early[3:0]};
    rx_dv_q <= early[4];
    rx_er_q <= early[4] ^ late[4];
    if (!early[4] && !late[4]) up_q <= early[2:0] == 3'b101;
  end
  always_ff @(posedge clk_i) up_crossing_q <= {up_crossing_q[0], up_q};
  assign up_o = up_crossing_q[1];

  gmii_elastic elastic (
      .rx_clk_i(rgmii_rxc_i),
      .rxd_i   (rxd_q),
      .rx_dv_i (rx_dv_q),
      .rx_er_i (rx_er_q),
      .clk_i,
      .rst_ni,
      .rxd_o,
      .rx_dv_o,
      .rx_er_o
  );
endmodule
