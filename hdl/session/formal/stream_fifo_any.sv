// In place of stream_fifo: its outputs have no driver, so they give anything at any time.
module stream_fifo #(
    parameter type         T     = logic [7:0],
    parameter int unsigned Depth = 512,
    parameter bit          Rests = 1'b0
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic valid_i,
    output logic ready_o,
    input  T     data_i,
    output logic valid_o,
    input  logic ready_i,
    output T     data_o,
    output logic empty_o
);
endmodule
