// TCP's clock: microseconds and milliseconds, from cycles.
module session_clock
  import session_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic [7:0] micro_i,  // cycles in a microsecond, 1 or more
    output time_t      now_o
);
  logic [7:0] cycle_q;
  logic [9:0] part_q;

  logic micro_q, last_q;  // part_q is 999
  wire micro = cycle_q + 8'd1 >= micro_i;
  wire milli = micro_q && last_q;

  assign now_o.part = part_q != '0;

  always_ff @(posedge clk_i) begin
    cycle_q <= micro ? '0 : cycle_q + 8'd1;
    micro_q <= micro;
    if (micro_q) begin
      now_o.micros <= now_o.micros + 32'd1;
      last_q       <= part_q == 10'd998;
      part_q       <= milli ? '0 : part_q + 10'd1;
    end
    if (milli) now_o.millis <= now_o.millis + 32'd1;
    if (!rst_ni) begin
      cycle_q      <= '0;
      micro_q      <= 1'b0;
      last_q       <= 1'b0;
      part_q       <= '0;
      now_o.micros <= '0;
      now_o.millis <= '0;
    end
  end
endmodule
