// A reset of what is queued: stops the sources, has the gate swallow what has not been offered to the MAC, and says how many frames that
// were. What is on the wire is finished.
//
// `busy_o` is high from `forget_i` until all is gone; then `done_o` for one cycle, with the number beside it.
//
// Rules (simulated): 1 done comes only when the sources are empty; 2 the number is that of frames the gate told.
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
  logic [11:0] count_q;  // not more than can be queued
  assign count_o = 32'(count_q);
  logic [3:0] empty_q;  // for how many cycles: what a source hands over is not yet seen by the gate

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
