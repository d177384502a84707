// Tells a sender when everything that it sent before a certain point has left. A mark is a number chosen by the
// sender. It is reported when all frames accepted before it are gone: sent, or forgotten.
//
// Frames are counted modulo 2^16. Older and newer are not confused as long as fewer than 2^14 frames are
// inside, and a report is taken within 2^14 frames (11 ms at 1 488 095 frames a second).
//
// Rules (formal/marks_rules.sv):
//   1 no mark is reported before all frames accepted before it are gone;
//   2 it is reported at most two cycles after that, unless older marks wait;
//   3 each is reported once, in order;
//   4 the rules of streams at the output.
module marks #(
    parameter type         Id    = logic [15:0],
    parameter int unsigned Depth = 16,            // a power of two; a 17th mark waits
    parameter int unsigned CountWidth = 16
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic accepted_i,  // a frame came in
    input  logic gone_i,      // a frame left, or was forgotten
    input  logic valid_i,
    output logic ready_o,
    input  Id    id_i,
    output logic valid_o,
    input  logic ready_i,
    output Id    id_o
);
  localparam int unsigned Width = $clog2(Depth);

  Id ids[Depth];
  logic [CountWidth-1:0] until_[Depth];
  logic [Width:0] write_q, read_q;
  logic [CountWidth-1:0] accepted_q, gone_q;
  logic due_q, valid_q;
  Id id_q;

  wire full = write_q == {~read_q[Width], read_q[Width-1:0]};
  wire some = write_q != read_q;
  // Number of frames to wait for, minus one; negative if there are none.
  wire [CountWidth-1:0] less = until_[read_q[Width-1:0]] + ~gone_q;
  wire due = some && less[CountWidth-1];
  // Compared in one cycle and reported in the next. A mark that is due remains due until then.
  wire move = due_q && (!valid_q || ready_i);

  assign ready_o = !full;
  assign valid_o = valid_q;
  assign id_o    = id_q;

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) begin
      ids[write_q[Width-1:0]]    <= id_i;
      until_[write_q[Width-1:0]] <= accepted_q;
    end
  end

  always_ff @(posedge clk_i) begin
    accepted_q <= accepted_q + CountWidth'(accepted_i);
    gone_q     <= gone_q + CountWidth'(gone_i);
    write_q    <= write_q + (Width + 1)'(valid_i && ready_o);
    due_q      <= due && !move;
    if (valid_q && ready_i) valid_q <= 1'b0;
    if (move) begin
      valid_q <= 1'b1;
      id_q    <= ids[read_q[Width-1:0]];
      read_q  <= read_q + 1'b1;
    end
    if (!rst_ni) begin
      accepted_q <= '0;
      gone_q     <= '0;
      write_q    <= '0;
      read_q     <= '0;
      valid_q    <= 1'b0;
      due_q      <= 1'b0;
    end
  end
endmodule
