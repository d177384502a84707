// The counters of the core: 48 bits each, in one small memory with one adder. A register and an adder per
// counter would take a sixth of all the core's LUTs.
//
//   events ──► pending, a few bits each ─┐
//   amounts ──► held until their turn ───┴─► whose turn ──► its pending value ──► added to memory ──► host
//
// The counters take turns in a round of 16 cycles. Counters of amounts have two turns, eight cycles apart. So
// an event may occur in every cycle, with at most 15 in 16 cycles, and an amount in every ninth cycle. A cycle
// in which the host reads is nobody's turn.
//
// 48 bits wrap after 6 years for frames at 1 488 095/s, and after 26 days for bytes at 125 MB/s.
//
// Rules:
//   1 every event since `clear_i` is in the memory 20 cycles later (simulated);
//   2 the transmit side's counters read the same whatever else is counted (formal/counters_apart.sv).
module counters
  import tare_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        clear_i,
    input  events_t     events_i,
    // `value_o` shows counter `at_i` (see count_e) three cycles after `read_i`, and holds it.
    input  logic        read_i,
    input  logic [3:0]  at_i,
    output logic [47:0] value_o
);
  logic [47:0] counts[16];

  // Whose turn it is.
  logic [3:0] turn_q;
  count_e whose, whose_q;
  logic [15:0] is_q;  // the same, one-hot
  always_comb begin
    unique case (turn_q)
      4'd0: whose = CountedSent;
      4'd1: whose = CountedLate;
      4'd2, 4'd10: whose = CountedLateTicks;
      4'd3, 4'd11: whose = CountedBytes;
      4'd4: whose = CountedUnderruns;
      4'd5: whose = CountedGood;
      4'd6: whose = CountedBad;
      4'd7, 4'd15: whose = CountedMissing;
      4'd8: whose = CountedPassed;
      4'd9: whose = CountedNoise;
      4'd12: whose = CountedUncounted;
      4'd13: whose = CountedStale;
      default: whose = CountedNothing;
    endcase
  end

  // What waits for its turn. The counters named here count events, the others amounts.
  localparam logic [15:0] OfEvents = 16'd1 << CountedSent | 16'd1 << CountedLate | 16'd1 << CountedUnderruns | 16'd1 << CountedGood
      | 16'd1 << CountedBad | 16'd1 << CountedPassed | 16'd1 << CountedNoise | 16'd1 << CountedStale | 16'd1 << CountedUncounted;
  logic [15:0] happens;
  always_comb begin
    happens = '0;
    happens[CountedSent]      = events_i.sent;
    happens[CountedLate]      = events_i.late;
    happens[CountedUnderruns] = events_i.underrun;
    happens[CountedGood]      = events_i.good;
    happens[CountedBad]       = events_i.bad;
    happens[CountedPassed]    = events_i.passed;
    happens[CountedNoise]     = events_i.noise;
    happens[CountedStale]     = events_i.stale;
    happens[CountedUncounted] = events_i.uncounted;
  end
  logic [3:0] pending_q[16];
  logic late_q, good_q, missing_q;
  logic [47:0] late_ticks_q;
  logic [13:0] bytes_q;
  logic [39:0] missing_frames_q;

  logic [47:0] amount;
  logic [3:0] events;
  always_comb begin
    amount = (is_q[CountedLateTicks] && late_q ? late_ticks_q : '0)
           | (is_q[CountedBytes] && good_q ? 48'(bytes_q) : '0)
           | (is_q[CountedMissing] && missing_q ? 48'(missing_frames_q) : '0);
    events = '0;
    for (int unsigned i = 0; i < 16; i++) if (OfEvents[i]) events |= is_q[i] ? pending_q[i] : '0;
  end

  logic [4:0] sweep_q;  // clears one counter per cycle
  wire sweeping = !sweep_q[4];

  // A host's read, then the three cycles of a turn. The same counter's next turn is at least eight cycles
  // later.
  logic read1_q, read2_q, write2_q, write3_q, zero2_q;
  logic [3:0] at1_q, place2_q, place3_q;
  logic [47:0] amount2_q, amount3_q, value3_q;
  logic [3:0] events2_q;
  wire go = !read1_q && !sweeping;

  always_ff @(posedge clk_i) begin
    if (write3_q) counts[place3_q] <= value3_q + amount3_q;
  end

  always_ff @(posedge clk_i) begin
    read1_q <= read_i;
    at1_q   <= at_i;

    read2_q   <= read1_q;
    write2_q  <= go || sweeping;
    zero2_q   <= sweeping;
    place2_q  <= sweeping ? sweep_q[3:0] : read1_q ? at1_q : whose_q;
    amount2_q <= amount;
    events2_q <= events;

    write3_q  <= write2_q;
    place3_q  <= place2_q;
    amount3_q <= zero2_q ? '0 : amount2_q | 48'(events2_q);
    value3_q  <= zero2_q ? '0 : counts[place2_q];
    if (read2_q) value_o <= zero2_q ? '0 : counts[place2_q];

    for (int unsigned i = 0; i < 16; i++) if (OfEvents[i]) pending_q[i] <= (go && is_q[i] ? '0 : pending_q[i]) + 4'(happens[i]);
    if (go) begin
      turn_q  <= turn_q + 1'b1;
      whose_q <= whose;
      is_q    <= 16'd1 << whose;
      if (is_q[CountedLateTicks]) late_q <= 1'b0;
      if (is_q[CountedBytes]) good_q <= 1'b0;
      if (is_q[CountedMissing]) missing_q <= 1'b0;
    end
    if (clear_i) begin
      pending_q <= '{default: '0};
      late_q    <= 1'b0;
      good_q    <= 1'b0;
      missing_q <= 1'b0;
      sweep_q   <= '0;
    end else if (sweeping) begin
      sweep_q <= sweep_q + 1'b1;
    end
    if (events_i.late) begin
      late_q       <= 1'b1;
      late_ticks_q <= events_i.late_ticks;
    end
    if (events_i.good) begin
      good_q  <= 1'b1;
      bytes_q <= events_i.bytes;
    end
    if (events_i.missing) begin
      missing_q        <= 1'b1;
      missing_frames_q <= events_i.missing_frames;
    end
    if (!rst_ni) begin
      turn_q    <= '0;
      whose_q   <= CountedNothing;
      is_q      <= '0;
      read1_q   <= 1'b0;
      read2_q   <= 1'b0;
      write2_q  <= 1'b0;
      write3_q  <= 1'b0;
      pending_q <= '{default: '0};
      late_q    <= 1'b0;
      good_q    <= 1'b0;
      missing_q <= 1'b0;
      sweep_q   <= '0;
    end
  end
endmodule
