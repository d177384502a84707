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

  // Whole in one place: a simulator may not see the parts of a struct that are driven in two ways.
  logic [31:0] micros_q, millis_q;
  assign now_o = '{micros: micros_q, millis: millis_q, part: part_q != '0};

  always_ff @(posedge clk_i) begin
    cycle_q <= micro ? '0 : cycle_q + 8'd1;
    micro_q <= micro;
    if (micro_q) begin
      micros_q <= micros_q + 32'd1;
      last_q   <= part_q == 10'd998;
      part_q   <= milli ? '0 : part_q + 10'd1;
    end
    if (milli) millis_q <= millis_q + 32'd1;
    if (!rst_ni) begin
      cycle_q  <= '0;
      micro_q  <= 1'b0;
      last_q   <= 1'b0;
      part_q   <= '0;
      micros_q <= '0;
      millis_q <= '0;
    end
  end
endmodule
