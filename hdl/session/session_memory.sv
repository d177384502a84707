// A record for each session, in block RAM. What is read at `read_i` is at `data_o` two cycles later: a block RAM's
// output is slow, so it goes into a register.
//
// A place that is read in the cycle in which it is written gives either value. The engine never does that; the sweep of
// timers may, and takes what it reads for a hint only.
module session_memory #(
    parameter type         T     = logic [7:0],
    parameter int unsigned Depth = 8192
) (
    input  logic                     clk_i,
    input  logic                     write_i,
    input  logic [$clog2(Depth)-1:0] place_i,
    input  T                         data_i,
    input  logic [$clog2(Depth)-1:0] read_i,
    output T                         data_o
);
  (* no_rw_check *)
  T memory[Depth];
  T fetched_q;

  always_ff @(posedge clk_i) begin
    if (write_i) memory[place_i] <= data_i;
    fetched_q <= memory[read_i];
    data_o    <= fetched_q;
  end
endmodule
