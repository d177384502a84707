// The time of day of the module: nanoseconds with 32 bits of fraction, which the host sets and holds against its own clock. It stamps what is
// told to the host and moves no departure: those go by ticks, which nobody sets.
//
// In each cycle the time grows by `increment`, 8.0 ns at 125 MHz; one unit of its fraction is 2^-32 ns a cycle, 29 in 10^12. `set` puts it to a
// value, `step` adds a signed number of nanoseconds once. `capture` keeps time and tick of one and the same cycle, so that the host can
// say what tick belongs to what time; it does that by asking twice and taking the middle of its own clock.
//
//   time (64.32) ◄── + increment (8.32)        low half, with the carry to the high half one cycle later
//
// The sum is made in two halves so that the clock of the core need not wait for 96 bits of carry: `time_o` is two
// cycles old, always, and a captured tick is as old as the time beside it. A step asked for in the cycle of a set, or in the one before, is lost.
//
// Rules (simulated): 1 time grows by exactly the increment in each cycle that has no set and no step; 2 what is captured is the time and
// the tick of one cycle.
module clock_ns
  import tare_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  ticks_t      now_i,
    input  logic [7:0]  whole_i,     // increment: nanoseconds
    input  logic [31:0] fraction_i,  // 2^-32 nanoseconds
    input  logic        set_i,
    input  logic        step_i,
    input  logic [63:0] value_i,     // what is set, or (signed) stepped by
    input  logic        capture_i,
    output logic [63:0] time_o,
    output logic [31:0] time_fraction_o,
    output logic [63:0] captured_time_o,
    output ticks_t      captured_tick_o
);
  // What is added: the increment, and a step in the cycle after it was asked for.
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
    {add_high_q, add_low_q} <= {56'b0, whole_i, fraction_i} + (step_i ? {value_i, 32'b0} : '0);
    // First cycle: the low half.
    low_q      <= low_d[63:0];
    carry_q    <= low_d[64];
    high_add_q <= add_high_q;
    set_q      <= set_i;
    set_high_q <= value_i[63:32];
    if (set_i) low_q <= {value_i[31:0], 32'b0};
    // Second cycle: the high half, and the low half waits for it.
    low_old_q <= low_q;
    high_q    <= set_q ? set_high_q : high_q + high_add_q + 32'(carry_q);
    now1_q    <= now_i;
    now2_q    <= now1_q;
    if (capture_i) begin
      captured_time_o <= time_o;
      captured_tick_o <= now2_q;
    end
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
