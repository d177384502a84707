// A queue in block RAM. The output of an ECP5 block RAM is slow (5.8 ns of an 8 ns cycle at grade -6), so it
// goes straight into registers. Three stages follow the memory, each of which moves on when the next is free.
// At full rate nothing waits; written data can be read three cycles later.
//
// `Rests` is for a sink whose ready is late in the cycle, and which never takes twice within two cycles. The
// output is then filled only after it was seen empty, which keeps that path short; an empty cycle follows each
// transfer.
//
//   write ──► memory ──► memory's own register ──► output register ──► sink
//
// Rules (formal/stream_fifo_rules.sv):
//   1 the rules of streams at the output;
//   2 what goes in comes out, once, in order;
//   3 `empty_o` is high if and only if nothing is inside.
module stream_fifo #(
    parameter type         T     = logic [7:0],
    parameter int unsigned Depth = 512,          // a power of two
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
  localparam int unsigned Width = $clog2(Depth);

  (* no_rw_check *)
  T memory[Depth];
  logic [Width-1:0] write_q, read_q;
  logic [Width:0] stored_q;  // written and not yet read
  T fetched_q, out_q;
  logic fetched_valid_q, out_valid_q, full_q, some_q;

  wire write = valid_i && ready_o;
  wire move_out = !out_valid_q || (ready_i && !Rests);
  wire move_fetched = !fetched_valid_q || move_out;
  // Only data written in an earlier cycle is read, so a read never meets a write of the same place.
  wire read = some_q && move_fetched;

  assign ready_o = !full_q;
  assign valid_o = out_valid_q;
  assign data_o  = out_q;
  assign empty_o = !some_q && !fetched_valid_q && !out_valid_q;

  always_ff @(posedge clk_i) begin
    if (write) memory[write_q] <= data_i;
    if (move_fetched) fetched_q <= memory[read_q];
    if (move_out) out_q <= fetched_q;
  end

  always_ff @(posedge clk_i) begin
    if (write) write_q <= write_q + 1'b1;
    if (read) read_q <= read_q + 1'b1;
    // Plus one, or minus one (all ones).
    if (read != write) stored_q <= stored_q + {{Width{!write}}, 1'b1};
    // Equivalent to testing the sum, but `read` arrives late.
    some_q   <= write || (stored_q != 0 && !(stored_q == (Width + 1)'(1) && read));
    full_q   <= !read && (stored_q[Width] || (stored_q == (Width + 1)'(Depth - 1) && write));
    if (move_fetched) fetched_valid_q <= read;
    if (move_out) out_valid_q <= fetched_valid_q;
    else if (ready_i) out_valid_q <= 1'b0;  // with Rests
    if (!rst_ni) begin
      write_q         <= '0;
      read_q          <= '0;
      stored_q        <= '0;
      some_q          <= 1'b0;
      full_q          <= 1'b0;
      fetched_valid_q <= 1'b0;
      out_valid_q     <= 1'b0;
    end
  end
endmodule
