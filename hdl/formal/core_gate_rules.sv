// Rules for what stands in core between the sources and the MAC: a register for the next departure, a register
// for beats, the gate, and forgetting. The sources are cut out and replaced by anything that satisfies what is
// proved of the queue (paced_queue_rules) and of the generator (generator_beats_rules). The MAC is cut out and
// replaced by one that takes beats at any time. The solver chooses one departure and one beat, which are
// followed from the sources to the gate.
module core_gate_rules
  import tare_pkg::*;
#(
    parameter bit Xgmii = 1'b0,
    parameter int unsigned OwedWidth = 11
) (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       live_q,
    input logic       queue_empty,
    input logic       made_idle,
    input ticks_t     now,
    input ticks_t     next,
    // Sources.
    input logic       queued_departure_valid,
    input logic       queued_departure_ready,
    input departure_t queued_departure,
    input logic       queued_valid,
    input logic       queued_ready,
    input beat_t      queued_beat,
    input logic       made_departure_valid,
    input logic       made_departure_ready,
    input departure_t made_departure,
    input logic       made_valid,
    input logic       made_ready,
    input beat_t      made_beat,
    // The gate's output.
    input logic       gate_valid,
    input logic       gate_ready,
    input beat_t      gate_beat,
    input logic       start,
    // Internal state, for the induction.
    input logic       departure_valid,
    input departure_t departure,
    // The gate's inputs, at the gate itself.
    input logic       gate_departure_valid,
    input logic       gate_departure_ready,
    input departure_t gate_departure,
    input logic       gate_in_valid,
    input logic       gate_in_ready,
    input beat_t      gate_in_beat,
    input logic       midway_q,
    input logic       source_valid,
    input beat_t      source_beat,
    input logic       spare_valid,
    input beat_t      spare_beat,
    input logic       held_q,
    input logic       checked_q,
    input logic       reached_q,
    input logic       untimed_q,
    input ticks_t     due_q,
    input logic       inside_q,
    input logic       swallowing_q,
    input logic       positive_q,
    input logic       negative_q,
    input logic       settled_q,
    input logic signed [OwedWidth-1:0] owed_q
);
  localparam int unsigned W = OwedWidth + 2;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width($bits(departure_t))) queued_departures (
      .clk_i, .rst_ni, .valid_i(queued_departure_valid), .ready_i(queued_departure_ready), .data_i(queued_departure));
  stream_rules #(.Assume(1'b1), .Width($bits(beat_t))) queued (
      .clk_i, .rst_ni, .valid_i(queued_valid), .ready_i(queued_ready), .data_i(queued_beat));
  stream_rules #(.Assume(1'b1), .Width($bits(departure_t))) made_departures (
      .clk_i, .rst_ni, .valid_i(made_departure_valid), .ready_i(made_departure_ready), .data_i(made_departure));
  stream_rules #(.Assume(1'b1), .Width($bits(beat_t))) made (
      .clk_i, .rst_ni, .valid_i(made_valid), .ready_i(made_ready), .data_i(made_beat));
  stream_rules #(.Assume(1'b0), .Width($bits(beat_t))) out (
      .clk_i, .rst_ni, .valid_i(gate_valid), .ready_i(gate_ready), .data_i(gate_beat));

  logic begun_q = 1'b0;
  // Departures taken from the queue minus frames that have ended there; negative if frames ended before their
  // departure. The same for the generator.
  logic signed [W-1:0] open, made_open;
  logic made_between, queued_between;  // inside a frame of the generator; of the queue
  logic between;       // the same at the gate's output
  logic took;          // a beat left the gate one cycle ago
  logic [1:0] frames;
  logic was_made_q;    // a frame of the generator has left before

  always_ff @(posedge clk_i) begin
    begun_q     <= 1'b1;
    open        <= open + W'(queued_departure_valid && queued_departure_ready) - W'(queued_valid && queued_ready && queued_beat.last);
    made_open   <= made_open + W'(made_departure_valid && made_departure_ready) - W'(made_valid && made_ready && made_beat.last);
    took        <= gate_valid && gate_ready;
    if (made_valid && made_ready) made_between <= !made_beat.last;
    if (queued_valid && queued_ready) queued_between <= !queued_beat.last;
    if (gate_valid && gate_ready) between <= !gate_beat.last;
    if (gate_valid && gate_ready && !live_q) was_made_q <= 1'b1;
    if (gate_valid && gate_ready && gate_beat.last && frames != '1) frames <= frames + 1'b1;
    if (!rst_ni) begin
      open         <= '0;
      made_open    <= '0;
      made_between <= 1'b0;
      queued_between <= 1'b0;
      between      <= 1'b0;
      took         <= 1'b0;
      frames       <= '0;
      was_made_q   <= 1'b0;
    end
  end

  // Last beats in the register for beats.
  wire [W-1:0] lasts = W'(source_valid && source_beat.last) + W'(Xgmii && spare_valid && spare_beat.last);

  // Departures and beats given by the sources and taken by the gate, modulo 2^W. One of each is followed by its
  // number.
  wire queued_departs = queued_departure_valid && queued_departure_ready;
  wire made_departs = made_departure_valid && made_departure_ready;
  wire queued_comes = queued_valid && queued_ready;
  wire made_comes = made_valid && made_ready;
  wire gate_departs = gate_departure_valid && gate_departure_ready;
  wire gate_comes = gate_in_valid && gate_in_ready;
  (* anyseq *) logic follow_departure_any, follow_beat_any;
  logic departure_followed, beat_followed;
  wire follow_departure = follow_departure_any && (queued_departs || made_departs) && !departure_followed;
  wire follow_beat = follow_beat_any && (queued_comes || made_comes) && !beat_followed;
  logic [W-1:0] departures_given, departures_taken, beats_given, beats_taken, followed_departure_n, followed_beat_n;
  departure_t followed_departure;
  beat_t followed_beat;

  always_ff @(posedge clk_i) begin
    departures_given <= departures_given + W'(queued_departs) + W'(made_departs);
    departures_taken <= departures_taken + W'(gate_departs);
    beats_given      <= beats_given + W'(queued_comes) + W'(made_comes);
    beats_taken      <= beats_taken + W'(gate_comes);
    if (follow_departure) begin
      departure_followed   <= 1'b1;
      followed_departure_n <= departures_given;
      followed_departure   <= queued_departs ? queued_departure : made_departure;
    end else if (gate_departs && departures_taken == followed_departure_n) begin
      departure_followed <= 1'b0;
    end
    if (follow_beat) begin
      beat_followed   <= 1'b1;
      followed_beat_n <= beats_given;
      followed_beat   <= queued_comes ? queued_beat : made_beat;
    end else if (gate_comes && beats_taken == followed_beat_n) begin
      beat_followed <= 1'b0;
    end
    if (!rst_ni) begin
      departures_given   <= '0;
      departures_taken   <= '0;
      beats_given        <= '0;
      beats_taken        <= '0;
      departure_followed <= 1'b0;
      beat_followed      <= 1'b0;
    end
  end

  always_comb begin
    // What is proved of the sources: a frame that has begun has no hole, and an empty source has given as many
    // departures as frames.
    if (queue_empty) assume (!queued_valid && !queued_departure_valid && open == 0);
    if (made_idle) assume (!made_valid && !made_departure_valid && made_open == 0);
    if (open > 0) assume (queued_valid);
    if (made_between) assume (made_valid);
    // As in the gate's own rules: no more frames fit into what precedes the gate.
    assume (owed_q > -(OwedWidth'(1) << (OwedWidth - 2)) && owed_q < (OwedWidth'(1) << (OwedWidth - 2)));

    // The clock has run for less than 2 339 years.
    assume (!now[63]);

    if (begun_q) begin
      // GMII's MAC takes a beat every eight cycles, and its register passes one on every other cycle.
      if (between && (Xgmii || !took)) rule_1_no_hole : assert (gate_valid);
      if (start) rule_2_its_departure : assert (held_q && !between);

      // The n-th departure and the n-th beat given by the sources are the n-th that the gate takes, unchanged.
      // Beats leave the gate as they enter it.
      if (gate_departs) rule_3_each_once : assert (departures_taken != departures_given);
      if (departure_followed && gate_departs && departures_taken == followed_departure_n)
        rule_3_its_departure : assert (gate_departure == followed_departure);
      if (gate_comes) rule_4_each_once : assert (beats_taken != beats_given);
      if (beat_followed && gate_comes && beats_taken == followed_beat_n) begin
        rule_4_its_beats : assert (gate_in_beat == followed_beat);
        if (gate_valid && gate_ready) rule_4_leaves : assert (gate_beat == followed_beat);
      end
      if (gate_valid && gate_ready) rule_4_none_between : assert (gate_comes);
      // A source gives only while the other one has given as many departures as frames, all of them whole. So
      // the n-th departure and the n-th frame of both sources together come from the same source, and from the
      // same position in it.
      if (queued_departs || queued_comes) rule_5_in_turns : assert (!made_departs && !made_comes && made_open == 0 && !made_between);
      if (made_departs || made_comes) rule_5_in_turns_made : assert (!queued_departs && !queued_comes && open == 0 && !queued_between);

      // Meaning of the registers.
      assert (departures_given == departures_taken + W'(departure_valid));
      assert (beats_given == beats_taken + W'(source_valid) + W'(Xgmii && spare_valid));
      if (departure_followed) assert (departure_valid && departures_taken == followed_departure_n && departure == followed_departure);
      if (beat_followed && beats_taken == followed_beat_n) assert (source_valid && source_beat == followed_beat);
      if (beat_followed && beats_taken != followed_beat_n)
        assert (Xgmii && spare_valid && beats_taken + 1'b1 == followed_beat_n && spare_beat == followed_beat);
      assert (between == inside_q && !(inside_q && swallowing_q));
      assert (midway_q == (live_q ? queued_between : made_between));
      if (held_q || inside_q) assert (owed_q >= 0);
      assert (next == now + 64'd1);
      if (checked_q) assert (held_q && reached_q == (untimed_q || now >= due_q));
      assert (!positive_q || owed_q > 0);
      assert (!negative_q || owed_q < 0);
      assert (!settled_q || owed_q == 0);
      assert (Xgmii ? source_valid || !spare_valid : !spare_valid);
      if (live_q) begin
        assert (made_open == 0 && !made_between);
        if (Xgmii && spare_valid) assert (queued_between == !spare_beat.last);
        else if (source_valid) assert (queued_between == !source_beat.last);
        else assert (queued_between == (inside_q || swallowing_q));
        assert (open == W'(held_q) + W'(owed_q) + W'(departure_valid) + W'(inside_q) + W'(swallowing_q) - lasts);
      end else begin
        assert (open == 0 && !queued_between);
        assert (made_open == W'(held_q) + W'(owed_q) + W'(departure_valid) + W'(inside_q) + W'(swallowing_q) - lasts);
        // The youngest beat inside says whether its frame continues.
        if (Xgmii && spare_valid) assert (made_between == !spare_beat.last);
        else if (source_valid) assert (made_between == !source_beat.last);
        else assert (made_between == (inside_q || swallowing_q));
      end
    end

    // A followed departure or beat of the queue, after a frame of the generator.
    cover (begun_q && live_q && was_made_q && departure_followed && gate_departs);
    cover (begun_q && live_q && was_made_q && beat_followed && beats_taken == followed_beat_n && gate_comes && gate_valid);
    cover (begun_q && live_q && frames == 2 && between);
    cover (begun_q && !live_q && frames == 2 && between);
    cover (begun_q && live_q && frames == 2 && between && was_made_q);
  end
endmodule

bind core core_gate_rules #(.Xgmii(Xgmii), .OwedWidth($clog2(QueueFrames) + 2)) rules (
    .gate_departure_valid(gate.departure_valid_i),
    .gate_departure_ready(gate.departure_ready_o),
    .gate_departure(gate.departure_i),
    .gate_in_valid(gate.valid_i),
    .gate_in_ready(gate.ready_o),
    .gate_in_beat(gate.beat_i),
    .spare_valid (chosen.spare_valid_q),
    .spare_beat  (chosen.spare_q),
    .held_q      (gate.held_q),
    .checked_q   (gate.checked_q),
    .reached_q   (gate.reached_q),
    .untimed_q   (gate.untimed_q),
    .due_q       (gate.due_q),
    .inside_q    (gate.inside_q),
    .swallowing_q(gate.swallowing_q),
    .positive_q  (gate.positive_q),
    .negative_q  (gate.negative_q),
    .settled_q   (gate.settled_q),
    .owed_q      (gate.owed_q),
    .*
);
