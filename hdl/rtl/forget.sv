// Discards everything that is queued: stops the sources, makes the gate swallow every frame not yet offered to
// the MAC, and counts these frames. The frame on the wire is completed.
//
// `busy_o` is high from `forget_i` until everything is gone; then `done_o` is high for one cycle, with the
// count.
//
// Rules (simulated):
//   1 `done_o` comes only when the sources are empty;
//   2 the count is the number of frames that the gate reported.
module forget (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        forget_i,
    input  logic        sources_empty_i,
    input  logic        forgotten_i,      // the gate swallowed a frame
    output logic        busy_o,
    output logic        done_o,
    output logic [31:0] count_o
);
  logic [11:0] count_q;  // at most as many as can be queued
  assign count_o = 32'(count_q);
  logic [3:0] empty_q;  // the last cycles' `sources_empty_i`, as the gate sees frames later than the sources

  always_ff @(posedge clk_i) begin
    done_o  <= 1'b0;
    empty_q <= sources_empty_i ? {empty_q[2:0], 1'b1} : '0;
    if (busy_o && forgotten_i) count_q <= count_q + 1'b1;
    if (busy_o && empty_q == '1 && !forgotten_i) begin
      busy_o <= 1'b0;
      done_o <= 1'b1;
    end
    if (forget_i && !busy_o) begin
      busy_o  <= 1'b1;
      count_q <= '0;
      empty_q <= '0;
    end
    if (!rst_ni) begin
      busy_o  <= 1'b0;
      done_o  <= 1'b0;
      empty_q <= '0;
    end
  end
endmodule
