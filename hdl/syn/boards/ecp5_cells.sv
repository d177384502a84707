// Declarations of ECP5 cells that are instantiated by name, with the ports used here (Lattice FPGA-TN-02200 for the PLL, FPGA-TN-02035 for DDR). Synthesis
// uses its own declarations; these are for linters.
(* blackbox *)
module ODDRX1F (
    input  logic SCLK,
    input  logic RST,
    input  logic D0,
    input  logic D1,
    output logic Q
);
endmodule

(* blackbox *)
module IDDRX1F (
    input  logic SCLK,
    input  logic RST,
    input  logic D,
    output logic Q0,
    output logic Q1
);
endmodule

(* blackbox *)
module DELAYG #(
    parameter DEL_MODE  = "USER_DEFINED",
    parameter DEL_VALUE = 0
) (
    input  logic A,
    output logic Z
);
endmodule

(* blackbox *)
module EHXPLLL #(
    parameter PLLRST_ENA      = "DISABLED",
    parameter INTFB_WAKE      = "DISABLED",
    parameter STDBY_ENABLE    = "DISABLED",
    parameter DPHASE_SOURCE   = "DISABLED",
    parameter OUTDIVIDER_MUXA = "DIVA",
    parameter CLKI_DIV        = 1,
    parameter CLKFB_DIV       = 1,
    parameter CLKOP_ENABLE    = "ENABLED",
    parameter CLKOP_DIV       = 1,
    parameter CLKOP_CPHASE    = 0,
    parameter CLKOP_FPHASE    = 0,
    parameter FEEDBK_PATH     = "CLKOP"
) (
    input  logic CLKI,
    input  logic CLKFB,
    output logic CLKOP,
    output logic LOCK,
    input  logic RST,
    input  logic STDBY,
    input  logic PHASESEL0,
    input  logic PHASESEL1,
    input  logic PHASEDIR,
    input  logic PHASESTEP,
    input  logic PHASELOADREG,
    input  logic PLLWAKESYNC,
    input  logic ENCLKOP
);
endmodule
