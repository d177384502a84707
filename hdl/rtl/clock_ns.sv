// The module's time of day: nanoseconds with a 32-bit fraction. The host sets and adjusts it against its own
// clock. It stamps what is reported to the host. It moves no departure, as departures use ticks, which cannot
// be set.
//
// Each cycle adds an increment (`ns_whole`, `ns_fraction`), which is 8.0 ns at 125 MHz; one unit of its
// fraction is 2^-32 ns per cycle, or 29 in 10^12. `ns_set` sets the time to `ns_value`; `ns_step` adds that
// value, signed, once. `capture` latches time and tick of the same cycle. The host reads its own clock before and after a capture and takes
// the middle, which tells it which tick belongs to which time.
//
//   time (64.32) ◄── + increment (8.32)        low half; the carry reaches the high half one cycle later
//
// The sum is computed in two halves, so that no cycle has to propagate a 96-bit carry. Therefore `time_o` is
// always two cycles old, and so is a captured tick. A step requested in the cycle of a set, or in the one
// before, is lost.
//
// Rules (simulated):
//   1 time grows by exactly the increment in each cycle without a set or a step;
//   2 a capture latches time and tick of one cycle.
module clock_ns
  import tare_pkg::*;
  import registers_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  ticks_t      now_i,
    input  clock_t      clock_i,
    output logic [63:0] time_o,
    output logic [31:0] time_fraction_o,
    output captured_t   captured_o
);
  // The amount to add: the increment, plus a step in the cycle after it was requested.
  logic [63:0] add_low_q;
  logic [31:0] add_high_q;
  // The low half: 32 bits of nanoseconds and 32 of fraction.
  logic [63:0] low_q, low_old_q;
  logic carry_q;
  logic [31:0] high_add_q, high_q;
  logic set_q;
  logic [31:0] set_high_q;
  ticks_t now1_q, now2_q;

  wire [64:0] low_d = {1'b0, low_q} + {1'b0, add_low_q};

  always_ff @(posedge clk_i) begin
    {add_high_q, add_low_q} <= {56'b0, clock_i.ns_whole, clock_i.ns_fraction}
        + (clock_i.ns_step ? {clock_i.ns_value, 32'b0} : '0);
    // First cycle: the low half.
    low_q      <= low_d[63:0];
    carry_q    <= low_d[64];
    high_add_q <= add_high_q;
    set_q      <= clock_i.ns_set;
    set_high_q <= clock_i.ns_value[63:32];
    if (clock_i.ns_set) low_q <= {clock_i.ns_value[31:0], 32'b0};
    // Second cycle: the high half. The low half is delayed to match it.
    low_old_q <= low_q;
    high_q    <= set_q ? set_high_q : high_q + high_add_q + 32'(carry_q);
    now1_q    <= now_i;
    now2_q    <= now1_q;
    if (clock_i.capture) captured_o <= '{time_: time_o, tick: now2_q};
    if (!rst_ni) begin
      add_low_q  <= '0;
      add_high_q <= '0;
      low_q      <= '0;
      carry_q    <= '0;
      high_add_q <= '0;
      set_q      <= 1'b1;
      set_high_q <= '0;
      high_q     <= '0;
    end
  end

  assign time_o = {high_q, low_old_q[63:32]};
  assign time_fraction_o = low_old_q[31:0];
endmodule
