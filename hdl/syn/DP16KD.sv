// Model of a block RAM of the ECP5 (Lattice FPGA-TN-02204, "ECP5 and ECP5-5G Memory Usage Guide"), as far as this design uses it: both ports have the same
// width and clock, outputs have no reset, and there are no initial values. A write also reads the previous contents. With words of 36 bits, port A writes
// and port B reads; the word is at the outputs of both, the upper half at those of B.
//
// The output registers must be enabled only in cycles in which the memory is, as the guide does not define what they would take otherwise. This is checked.
module DP16KD #(
    parameter integer DATA_WIDTH_A = 18,
    parameter integer DATA_WIDTH_B = 18,
    parameter string REGMODE_A = "NOREG",
    parameter string REGMODE_B = "NOREG",
    parameter string OCEAMUX = "OCEA",
    parameter string OCEBMUX = "OCEB"
) (
    input  logic CLKA, CLKB, CEA, CEB, OCEA, OCEB, WEA, WEB,
    input  logic [13:0] ADA, ADB,
    input  logic [17:0] DIA, DIB,
    output logic [17:0] DOA, DOB
);
  localparam int unsigned Width = DATA_WIDTH_A;
  localparam bit Wide = Width == 36;
  localparam int unsigned AddressLow = Width == 4 ? 2 : Width == 9 ? 3 : Width == 18 ? 4 : 5;
  localparam int unsigned Words = 1 << (14 - AddressLow);
  initial if (DATA_WIDTH_A != DATA_WIDTH_B || !(Width inside {4, 9, 18, 36})) $fatal(1, "DP16KD: widths %0d, %0d", DATA_WIDTH_A, DATA_WIDTH_B);

  logic [Width-1:0] memory[Words];
  logic [13-AddressLow:0] at_a, at_b;
  assign at_a = ADA[13:AddressLow];
  assign at_b = ADB[13:AddressLow];

  wire [35:0] write_a = Wide ? {DIB, DIA} : 36'(DIA);
  wire [35:0] write_b = 36'(DIB);
  // With byte enables, these are in place of the lowest address bits.
  wire [3:0] bytes_a = Width < 18 ? 4'b0001 : Width == 18 ? {2'b0, ADA[1:0]} : ADA[3:0];
  wire [3:0] bytes_b = Width < 18 ? 4'b0001 : {2'b0, ADB[1:0]};

  logic [35:0] latch_a, latch_b;
  always_ff @(posedge CLKA) begin
    for (int unsigned b = 0; b < Width; b++) begin
      if (CEA && WEA && bytes_a[b/9]) memory[at_a][b] <= write_a[b];
      if (CEB && WEB && !Wide && bytes_b[b/9]) memory[at_b][b] <= write_b[b];
    end
    if (CEA && !Wide) latch_a <= 36'(memory[at_a]);
    if (CEB) latch_b <= 36'(memory[at_b]);
  end

  wire oce_a = OCEAMUX == "INV" ? !OCEA : OCEA;
  wire oce_b = OCEBMUX == "INV" ? !OCEB : OCEB;
  wire [17:0] read_a = Wide ? latch_b[17:0] : latch_a[17:0];
  wire [17:0] read_b = Wide ? latch_b[35:18] : latch_b[17:0];
  logic [17:0] out_a, out_b;
  always_ff @(posedge CLKA) begin
    if (oce_a) out_a <= read_a;
    if (oce_b) out_b <= read_b;
    if (REGMODE_A == "OUTREG" && oce_a && !(Wide ? CEB : CEA)) $fatal(1, "DP16KD: the register of port A is enabled, and its memory is not");
    if (REGMODE_B == "OUTREG" && oce_b && !CEB) $fatal(1, "DP16KD: the register of port B is enabled, and its memory is not");
  end
  assign DOA = REGMODE_A == "OUTREG" ? out_a : read_a;
  assign DOB = REGMODE_B == "OUTREG" ? out_b : read_b;

  logic unused;
  assign unused = CLKB;
endmodule
