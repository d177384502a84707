// The counters of the core, 48 bits each, in one small memory with one adder: a register and an adder for each would be a sixth of all its LUTs.
//
//   events ──► pending, a few bits each ─┐
//   amounts ──► kept until their turn ───┴─► adder ◄──► memory ──► host
//
// Counters have their turns one after the other, in 16 cycles; those of amounts have two, eight cycles apart. So an event may come in each
// cycle, if there are not more than 15 in 16 cycles, and an amount in every ninth. Reading takes one cycle, in which the turns wait.
//
// 48 bits: frames wrap after 6 years at 1 488 095/s, bytes after 26 days at 125 MB/s.
//
// Rules: 1 what happened since `clear_i` is in the memory 18 cycles later (simulated).
module counters
  import tare_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        clear_i,
    input  events_t     events_i,
    // `value_o` is the counter `at_i` (see count_e) one cycle after `read_i`, and stays.
    input  logic        read_i,
    input  logic [3:0]  at_i,
    output logic [47:0] value_o
);
  logic [47:0] counts[16];

  // Whose turn it is.
  logic [3:0] turn_q;
  count_e whose;
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

  // What waits for its turn.
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
  logic [15:0][3:0] pending_q;
  logic late_q, good_q, missing_q;
  logic [47:0] late_ticks_q;
  logic [13:0] bytes_q;
  logic [39:0] missing_frames_q;

  logic [4:0] sweep_q;  // sets all to 0, one in each cycle
  wire sweeping = !sweep_q[4];
  wire go = !read_i && !sweeping;

  count_e place_q;
  logic [47:0] amount_q;
  wire [3:0] place = sweeping ? sweep_q[3:0] : read_i ? at_i : place_q;
  wire [47:0] value = counts[place];

  always_ff @(posedge clk_i) begin
    if (!read_i || sweeping) counts[place] <= sweeping ? '0 : value + amount_q;
  end

  always_ff @(posedge clk_i) begin
    if (read_i) value_o <= sweeping ? '0 : value;

    for (int unsigned i = 0; i < 16; i++) pending_q[i] <= (go && whose == 4'(i) ? '0 : pending_q[i]) + 4'(happens[i]);
    if (go) begin
      turn_q   <= turn_q + 1'b1;
      place_q  <= whose;
      amount_q <= 48'(pending_q[whose]);
      if (whose == CountedLateTicks) begin
        amount_q <= late_q ? late_ticks_q : '0;
        late_q   <= 1'b0;
      end
      if (whose == CountedBytes) begin
        amount_q <= good_q ? 48'(bytes_q) : '0;
        good_q   <= 1'b0;
      end
      if (whose == CountedMissing) begin
        amount_q  <= missing_q ? 48'(missing_frames_q) : '0;
        missing_q <= 1'b0;
      end
    end
    if (clear_i) begin
      pending_q <= '0;
      late_q    <= 1'b0;
      good_q    <= 1'b0;
      missing_q <= 1'b0;
      amount_q  <= '0;
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
      place_q   <= CountedNothing;
      amount_q  <= '0;
      pending_q <= '0;
      late_q    <= 1'b0;
      good_q    <= 1'b0;
      missing_q <= 1'b0;
      sweep_q   <= '0;
    end
  end
endmodule
