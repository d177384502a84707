// A queue in block RAM. The output of an ECP5 block RAM is slow (5.8 ns of an 8 ns cycle at grade -6), so it goes straight into
// registers: three places after the memory, each of which moves on when the next is free. At full rate nothing waits; what is written
// can be read three cycles later. Where who takes says so late in the cycle, and never takes twice in two cycles' time, `Rests` keeps that way short:
// the output is filled only when it was seen empty, so after each that is taken comes a cycle with nothing.
//
//   write ──► memory ──► memory's own register ──► output register ──► sink
//
// Rules (formal/stream_fifo_rules.sv): 1 the rules of streams at the output; 2 what goes in comes out, once, in order; 3 `empty_o` is high if
// and only if nothing is inside.
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
  logic [Width:0] stored_q;  // written, and not yet read
  T fetched_q, out_q;
  logic fetched_valid_q, out_valid_q, full_q, some_q;

  wire write = valid_i && ready_o;
  wire move_out = !out_valid_q || (ready_i && !Rests);
  wire move_fetched = !fetched_valid_q || move_out;
  // Only what was written in an earlier cycle is read, so no read meets a write of the same place.
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
    // One more, or one less (all ones).
    if (read != write) stored_q <= stored_q + {{Width{!write}}, 1'b1};
    // The same as asking the sum, but `read` comes late.
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
