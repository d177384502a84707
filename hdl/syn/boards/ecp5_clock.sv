// 125 MHz from the board's oscillator, and a reset that ends when the PLL has locked. The oscillator is divided to 25 MHz, and the VCO runs at 625 MHz.
module ecp5_clock #(
    parameter int unsigned OscillatorMhz = 25  // a multiple of 25
) (
    input  logic oscillator_i,
    output logic clk_o,
    output logic rst_no
);
  logic locked;

  (* ICP_CURRENT = "12", LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
  EHXPLLL #(
      .PLLRST_ENA      ("DISABLED"),
      .INTFB_WAKE      ("DISABLED"),
      .STDBY_ENABLE    ("DISABLED"),
      .DPHASE_SOURCE   ("DISABLED"),
      .OUTDIVIDER_MUXA ("DIVA"),
      .CLKI_DIV        (OscillatorMhz / 25),
      .CLKFB_DIV       (5),
      .CLKOP_ENABLE    ("ENABLED"),
      .CLKOP_DIV       (5),
      .CLKOP_CPHASE    (4),
      .CLKOP_FPHASE    (0),
      .FEEDBK_PATH     ("CLKOP")
  ) pll (
      .CLKI        (oscillator_i),
      .CLKFB       (clk_o),
      .CLKOP       (clk_o),
      .LOCK        (locked),
      .RST         (1'b0),
      .STDBY       (1'b0),
      .PHASESEL0   (1'b0),
      .PHASESEL1   (1'b0),
      .PHASEDIR    (1'b1),
      .PHASESTEP   (1'b1),
      .PHASELOADREG(1'b1),
      .PLLWAKESYNC (1'b0),
      .ENCLKOP     (1'b0)
  );

  // Waits for 16 384 cycles with the lock, which may be lost again at first. Registers are 0 after configuration.
  logic [1:0] locked_q;
  logic [14:0] count_q = '0;
  always_ff @(posedge clk_o) begin
    locked_q <= {locked_q[0], locked};
    if (!locked_q[1]) count_q <= '0;
    else if (!count_q[14]) count_q <= count_q + 1'b1;
    rst_no <= count_q[14];
  end
endmodule
