// Replaces crc_beats where the value of a CRC does not matter, only which beats it includes and where it goes:
// any value in each cycle.
module crc_beats (
    input  logic        clk_i,
    input  logic        step_i,
    input  logic        first_i,
    input  logic [2:0]  final_byte_i,
    input  logic [63:0] data_i,
    output logic [31:0] crc_o
);
  (* anyseq *) logic [31:0] any;
  assign crc_o = any;
endmodule
