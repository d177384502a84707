// Rules of release_gate. The meaning of a departure is computed here a second time, only from signals at the
// gate's boundary.
module release_gate_rules
  import tare_pkg::*;
#(
    parameter int unsigned OwedWidth = 12
) (
    input logic       clk_i,
    input logic       rst_ni,
    input ticks_t     now_i,
    input ticks_t     next_i,
    input logic       forget_i,
    input logic       departure_valid_i,
    input logic       departure_ready_o,
    input departure_t departure_i,
    input logic       valid_i,
    input logic       ready_o,
    input beat_t      beat_i,
    input logic       valid_o,
    input logic       ready_i,
    input beat_t      beat_o,
    input logic       start_o,
    input stamp_t     stamp_o,
    input logic       release_valid_o,
    input release_t   release_o,
    input logic       forgotten_o,
    // Internal state, for the induction.
    input logic       held_q,
    input logic       checked_q,
    input logic       reached_q,
    input logic       untimed_q,
    input ticks_t     due_q,
    input stamp_t     stamp_q,
    input logic       inside_q,
    input logic       swallowing_q,
    input logic       previous_q,
    input ticks_t     previous_start_q,
    input ticks_t     previous_due_q,
    input logic       open,
    input logic signed [OwedWidth-1:0] owed_q,
    input logic       positive_q,
    input logic       negative_q,
    input logic       settled_q
);
  localparam int unsigned CountWidth = OwedWidth;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width($bits(departure_t))) departures (
      .clk_i, .rst_ni, .valid_i(departure_valid_i), .ready_i(departure_ready_o), .data_i(departure_i));
  stream_rules #(.Assume(1'b1), .Width($bits(beat_t))) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i(beat_i));
  stream_rules #(.Assume(1'b0), .Width($bits(beat_t))) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(beat_o));

  // The clock, as tick_counter gives it; it has run for less than 2 339 years.
  logic past_q = 1'b0;
  ticks_t next_q;
  always_ff @(posedge clk_i) begin
    past_q <= rst_ni;
    next_q <= next_i;
  end
  always_comb begin
    assume (next_i == now_i + 64'd1);
    if (past_q) assume (now_i == next_q);
    assume (!now_i[63]);
    if (departure_valid_i && departure_i.from != AtTime) assume (!departure_i.value[63]);
  end

  // The specification.
  wire taken = departure_valid_i && departure_ready_o;
  wire comes = valid_i && ready_o;
  wire leaves = valid_o && ready_i;

  // The departure taken last, and when it is due.
  logic   waiting;            // its frame has not left
  logic [1:0] age;            // cycles since it was taken, 3 = more
  logic   timed;
  ticks_t due;
  stamp_t stamp;
  logic   earlier, between;    // a frame left since reset or forget; inside a frame at the output
  ticks_t earlier_start, earlier_due;
  logic   eaten_q;            // inside a frame that does not go to the output
  wire    first_out = leaves && !between;

  // The number of departures taken and of frames begun at the input, modulo 2^CountWidth, and the number of the
  // held departure.
  logic [CountWidth-1:0] departures_n, frames_n, held_n;
  logic [CountWidth-1:0] started_n, forgotten_n;

  always_ff @(posedge clk_i) begin
    if (age != 3) age <= age + 1'b1;
    if (first_out) begin
      waiting      <= 1'b0;
      earlier       <= 1'b1;
      earlier_start <= now_i;
      earlier_due   <= timed ? due : now_i;
      started_n    <= started_n + 1'b1;
    end
    if (forget_i && !(valid_o && !between)) waiting <= 1'b0;
    if (forget_i) earlier <= 1'b0;
    if (taken) begin
      departures_n <= departures_n + 1'b1;
      if (!forget_i && owed_q == 0) begin
        waiting <= 1'b1;
        age     <= 2'd1;
        stamp   <= departure_i.stamp;
        held_n  <= departures_n;
        timed   <= departure_i.from == AtTime || (departure_i.from != AtOnce && earlier);
        case (departure_i.from)
          AtTime: due <= departure_i.value;
          AfterStart: due <= earlier ? earlier_start + departure_i.value : now_i;
          AfterDue: due <= earlier ? earlier_due + departure_i.value : now_i;
          default: due <= now_i;
        endcase
      end
    end
    if (leaves) between <= !beat_o.last;
    if (comes && !leaves) eaten_q <= !beat_i.last;
    if (comes && !between && !eaten_q) frames_n <= frames_n + 1'b1;
    if (forgotten_o) forgotten_n <= forgotten_n + 1'b1;
    if (!rst_ni) begin
      waiting      <= 1'b0;
      earlier       <= 1'b0;
      between      <= 1'b0;
      eaten_q      <= 1'b0;
      departures_n <= '0;
      frames_n     <= '0;
      started_n    <= '0;
      forgotten_n  <= '0;
    end
  end

  // The previous cycle, for the rules about reports.
  logic   first_out_q, timed_q;
  ticks_t now_q, ghost_due_q;
  always_ff @(posedge clk_i) begin
    first_out_q <= first_out;
    timed_q     <= timed;
    now_q       <= now_i;
    ghost_due_q <= due;
  end

  always_comb begin
    // owed_q does not overflow: no more frames fit into what precedes the gate.
    assume (owed_q > -(OwedWidth'(1) << (OwedWidth - 2)) && owed_q < (OwedWidth'(1) << (OwedWidth - 2)));

    if (past_q) begin
      if (first_out) begin
        rule_1_never_early : assert (!timed || now_i >= due);
        rule_3_by_its_departure : assert (waiting && held_n == frames_n);
        rule_4_stamp : assert (start_o && stamp_o == stamp);
      end
      rule_4_start : assert (start_o == first_out);
      if (waiting && age >= 2 && valid_i && !between && now_i >= due)
        rule_2_exact : assert (valid_o || eaten_q);
      if (valid_o) rule_3_unchanged : assert (beat_o == beat_i);
      rule_3_none_lost : assert (!leaves || comes);
      rule_3_none_eaten : assert (!(comes && !leaves) || !between);
      rule_4_told : assert (release_valid_o == first_out_q);
      if (first_out_q) begin
        rule_4_told_start : assert (release_o.start == now_q);
        rule_4_told_late : assert (release_o.late == (timed_q ? now_q - ghost_due_q : 64'd0));
      end
      rule_6_all_told : assert (frames_n == started_n + forgotten_n);

      // Meaning of the registers.
      assert (waiting == held_q);
      assert (between == inside_q && eaten_q == swallowing_q && earlier == previous_q);
      assert (!(between && eaten_q));
      if (held_q) begin
        assert ((untimed_q || due == due_q) && stamp == stamp_q && timed == !untimed_q);
        assert (age >= 1 && checked_q == (age >= 2));
        assert (!untimed_q || due <= now_i);
        assert (!checked_q || reached_q == (untimed_q || now_i >= due_q));
        assert (owed_q >= 0);
        assert (held_n == frames_n);
      end
      if (inside_q) assert (owed_q >= 0);
      assert (!positive_q || owed_q > 0);
      assert (!negative_q || owed_q < 0);
      assert (!settled_q || owed_q == 0);
      if (earlier) begin
        assert (earlier_start == previous_start_q && earlier_due == previous_due_q);
        assert (earlier_start < now_i && earlier_due <= earlier_start);
      end
      assert (departures_n == frames_n + CountWidth'(held_q) + CountWidth'(owed_q));

      // A frame that waited for its tick, a late one, and a forgotten one.
      cover (first_out && timed && now_i == due && age == 3);
      cover (release_valid_o && release_o.late == 2);
      cover (forgotten_o && started_n == 1 && !forget_i);
    end
  end
endmodule

bind release_gate release_gate_rules #(.OwedWidth(OwedWidth)) rules (.*);
