// Rules of paced_queue: a frame has no hole, and departures and frames stay together. The solver chooses one
// beat of one frame. It and the frame's departure are followed to the output. If the frame was the n-th to
// come, it leaves as the n-th, and its departure as the n-th departure, both unchanged.
//
// Departures are assumed to satisfy the link's rules: values are below 2^62, except for frames that are due at
// no time, whose values have no meaning and lose their two upper bits; and no signature is at place 0. The
// departure of a frame is the one beside its last beat.
//
// The sink is arbitrary: it may take beats before their departure, as the gate does while it forgets, and
// departures any distance ahead.
module paced_queue_rules
  import tare_pkg::*;
#(
    parameter int unsigned Beats      = 4,
    parameter int unsigned Departures = 2,
    localparam int unsigned BeatWidth = $clog2(Beats),
    localparam int unsigned DepartureWidth = $clog2(Departures)
) (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       valid_i,
    input logic       ready_o,
    input departure_t departure_i,
    input beat_t      beat_i,
    input logic       departure_valid_o,
    input logic       departure_ready_i,
    input departure_t departure_o,
    input logic       valid_o,
    input logic       ready_i,
    input beat_t      beat_o,
    input logic       empty_o,
    // Internal state, for the induction.
    input beat_t      beats_memory[Beats],
    input logic [BeatWidth-1:0] beats_write,
    input logic [BeatWidth-1:0] beats_read,
    input logic [BeatWidth:0] beats_stored,
    input beat_t      beats_fetched,
    input logic       beats_fetched_valid,
    input logic       beats_some,
    input logic       beats_full,
    input logic [DepartureWidth-1:0] departures_write,
    input logic [DepartureWidth-1:0] departures_read,
    input logic [DepartureWidth:0] departures_stored,
    input logic [71:0] departures_memory[Departures],  // in their stored form
    input logic [71:0] departures_fetched,
    input logic       departures_fetched_valid,
    input logic       departures_some,
    input logic       departures_full
);
  localparam int unsigned W = BeatWidth + 2;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width($bits(departure_t) + $bits(beat_t))) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i({departure_i, beat_i}));
  stream_rules #(.Assume(1'b0), .Width($bits(departure_t))) departures_out (
      .clk_i, .rst_ni, .valid_i(departure_valid_o), .ready_i(departure_ready_i), .data_i(departure_o));
  stream_rules #(.Assume(1'b0), .Width($bits(beat_t)), .FreeReady(1'b0)) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(beat_o));

  logic begun_q = 1'b0;
  // Whole frames whose departure was not taken; and departures taken minus frames that have ended, which is
  // negative if frames ended before their departure was taken, as the gate takes everything while it forgets.
  logic [W-1:0] unseen;
  logic signed [W:0] open;
  logic [1:0] ended;
  wire comes = valid_i && ready_o;
  wire leaves = valid_o && ready_i;
  wire taken = departure_valid_o && departure_ready_i;

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    unseen  <= unseen + W'(comes && beat_i.last) - W'(taken);
    open    <= open + (W + 1)'(taken) - (W + 1)'(leaves && beat_o.last);
    if (leaves && beat_o.last && ended != '1) ended <= ended + 1'b1;
    if (!rst_ni) begin
      unseen <= '0;
      open   <= '0;
      ended  <= '0;
    end
  end

  // Frames that came whole, departures taken, and frames that left whole, modulo 2^W: the number of the next
  // one at each boundary.
  logic [W-1:0] frame_in_n, departure_n, frame_out_n;
  // The followed beat: the beats before it, the number of its frame, and the frame's departure once its last
  // beat came.
  (* anyseq *) logic follow_any;
  logic beat_followed, departure_followed, departure_known;
  logic [W-1:0] ahead, followed_n;
  beat_t followed_beat;
  departure_t followed_departure;
  wire follow = follow_any && comes && !beat_followed && !departure_followed;
  wire [W-1:0] held = W'(beats_stored) + W'(beats_fetched_valid) + W'(valid_o);

  always_ff @(posedge clk_i) begin
    frame_in_n  <= frame_in_n + W'(comes && beat_i.last);
    departure_n <= departure_n + W'(taken);
    frame_out_n <= frame_out_n + W'(leaves && beat_o.last);
    if (follow) begin
      beat_followed      <= 1'b1;
      departure_followed <= 1'b1;
      departure_known    <= beat_i.last;
      ahead              <= held - W'(leaves);
      followed_n         <= frame_in_n;
      followed_beat      <= beat_i;
    end else begin
      if (leaves) begin
        ahead <= ahead - 1'b1;
        if (ahead == 0) beat_followed <= 1'b0;
      end
      if (departure_followed && comes && beat_i.last) departure_known <= 1'b1;
      if (taken && departure_n == followed_n) departure_followed <= 1'b0;
    end
    if ((follow || departure_followed && !departure_known) && comes && beat_i.last) begin
      followed_departure <= departure_i;
      followed_departure.value[63:62] <= '0;
      if (!departure_i.stamp.enable) followed_departure.stamp.place <= '0;
    end
    if (!rst_ni) begin
      frame_in_n         <= '0;
      departure_n        <= '0;
      frame_out_n        <= '0;
      beat_followed      <= 1'b0;
      departure_followed <= 1'b0;
    end
  end

  // What is inside, oldest first, with the number of last beats: all, and those before the followed beat.
  beat_t nth_beat[Beats + 2];
  logic [W-1:0] lasts, lasts_ahead;
  always_comb begin
    automatic logic [W-1:0] before_memory = W'(valid_o) + W'(beats_fetched_valid);
    lasts       = '0;
    lasts_ahead = '0;
    for (int unsigned i = 0; i < Beats + 2; i++) begin
      nth_beat[i] = beats_memory[BeatWidth'(beats_read + BeatWidth'(W'(i) - before_memory))];
      if (W'(i) < before_memory) nth_beat[i] = i == 0 && valid_o ? beat_o : beats_fetched;
      if (W'(i) < held && nth_beat[i].last) begin
        lasts = lasts + 1'b1;
        if (W'(i) < ahead) lasts_ahead = lasts_ahead + 1'b1;
      end
    end
  end

  // The position of the followed departure.
  wire [W-1:0] departure_at = followed_n - departure_n;
  wire [71:0] followed_kept = {followed_departure.from, followed_departure.value[61:0], followed_departure.stamp.place};
  wire [W-1:0] before_departures = W'(departure_valid_o) + W'(departures_fetched_valid);
  wire [DepartureWidth-1:0] departure_slot = departures_read + DepartureWidth'(departure_at - before_departures);

  always_comb begin
    if (valid_i) begin
      assume (departure_i.value[63:62] == 0 || departure_i.from == AtOnce);
      assume (!departure_i.stamp.enable || departure_i.stamp.place != 0);
    end
    if (begun_q) begin
      if (open > 0) rule_2_no_hole : assert (valid_o);
      if (departure_valid_o) rule_3_whole : assert (unseen != 0);
      rule_4_together : assert ((W + 1)'(lasts) == (W + 1)'(unseen) + open);
      rule_5_empty : assert (empty_o == (!departure_valid_o && !valid_o && !beats_fetched_valid && beats_stored == 0 && unseen == 0));

      if (departure_followed && taken && departure_n == followed_n)
        rule_6_its_departure : assert (departure_known && departure_o == followed_departure);
      if (beat_followed && leaves && ahead == 0) begin
        rule_7_unchanged : assert (beat_o == followed_beat);
        rule_7_its_frame : assert (frame_out_n == followed_n);
      end

      // Meaning of the registers.
      assert (frame_in_n == departure_n + unseen && (W + 1)'(lasts) == (W + 1)'(W'(frame_in_n - frame_out_n)));
      if (beat_followed) begin
        assert (ahead < held && nth_beat[$clog2(Beats + 2)'(ahead)] == followed_beat);
        assert (followed_n == frame_out_n + lasts_ahead);
      end
      if (departure_followed) begin
        assert (departure_known ? departure_at < unseen : departure_at == unseen);
        if (departure_known) begin
          assert (followed_departure.value[63:62] == 0 && followed_departure.stamp.enable == (followed_departure.stamp.place != 0));
          if (departure_at == 0 && departure_valid_o) assert (departure_o == followed_departure);
          else if (departure_at < before_departures) assert (departures_fetched == followed_kept);
          else assert (departures_memory[departure_slot] == followed_kept);
        end
      end
      assert (unseen <= W'(Departures + 2));
      assert (W'(departures_stored) + W'(departures_fetched_valid) + W'(departure_valid_o) == unseen);
      assert (beats_stored <= (BeatWidth + 1)'(Beats) && departures_stored <= (DepartureWidth + 1)'(Departures));
      assert (beats_some == (beats_stored != 0) && beats_full == (beats_stored == (BeatWidth + 1)'(Beats)));
      assert (departures_some == (departures_stored != 0) && departures_full == (departures_stored == (DepartureWidth + 1)'(Departures)));
      assert (beats_write == beats_read + BeatWidth'(beats_stored));
      assert (departures_write == departures_read + DepartureWidth'(departures_stored));

      // A followed departure and beat leave, of a frame that came after another.
      cover (departure_followed && taken && departure_n == followed_n && followed_n == 1);
      cover (beat_followed && leaves && ahead == 0 && followed_n == 1);
      // The third frame has begun to leave, and the departure of the fourth is taken.
      cover (ended == 2 && open == 2 && leaves && !beat_o.last);
      cover (beats_stored == (BeatWidth + 1)'(Beats / 2) && departures_some);
    end
  end
endmodule

bind paced_queue paced_queue_rules #(
    .Beats(Beats),
    .Departures(Departures)
) rules (
    .beats_memory            (beats.memory),
    .beats_write             (beats.write_q),
    .beats_read              (beats.read_q),
    .beats_stored            (beats.stored_q),
    .beats_fetched           (beats.fetched_q),
    .beats_fetched_valid     (beats.fetched_valid_q),
    .beats_some              (beats.some_q),
    .beats_full              (beats.full_q),
    .departures_write        (departures.write_q),
    .departures_read         (departures.read_q),
    .departures_stored       (departures.stored_q),
    .departures_memory       (departures.memory),
    .departures_fetched      (departures.fetched_q),
    .departures_fetched_valid(departures.fetched_valid_q),
    .departures_some         (departures.some_q),
    .departures_full         (departures.full_q),
    .*
);
