// Rules of paced_queue. That the queues inside keep what they are given, in order, is proved of stream_fifo; here it is that a frame has no hole,
// and that departures and frames stay together.
//
// What frames and departures hold makes no difference here, so it is zeros; the queues' own proof follows the data.
//
// The sink is any: it may take beats before their departure, as the gate does while it forgets, and departures however far ahead.
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
    // Inside, for the induction.
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
  // Whole frames whose departure was not taken; departures taken whose frames have not ended, or, negative, frames that ended before their departure
  // was taken: while the gate forgets it takes what comes.
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

  // Last beats that are inside.
  logic [W-1:0] lasts;
  always_comb begin
    lasts = W'(valid_o && beat_o.last) + W'(beats_fetched_valid && beats_fetched.last);
    for (int unsigned i = 0; i < Beats; i++) begin
      automatic logic [BeatWidth-1:0] nth = BeatWidth'(i) - beats_read;
      if ((BeatWidth + 1)'(nth) < beats_stored) lasts = lasts + W'(beats_memory[i].last);
    end
  end

  always_comb begin
    assume (departure_i == '0 && beat_i.data == '0 && beat_i.final_byte == '0);
    if (begun_q) begin
      if (open > 0) rule_2_no_hole : assert (valid_o);
      if (departure_valid_o) rule_3_whole : assert (unseen != 0);
      rule_4_together : assert ((W + 1)'(lasts) == (W + 1)'(unseen) + open);
      rule_5_empty : assert (empty_o == (!departure_valid_o && !valid_o && !beats_fetched_valid && beats_stored == 0 && unseen == 0));

      // What the registers mean.
      assert (unseen <= W'(Departures + 2));
      assert (W'(departures_stored) + W'(departures_fetched_valid) + W'(departure_valid_o) == unseen);
      assert (beats_stored <= (BeatWidth + 1)'(Beats) && departures_stored <= (DepartureWidth + 1)'(Departures));
      assert (beats_some == (beats_stored != 0) && beats_full == (beats_stored == (BeatWidth + 1)'(Beats)));
      assert (departures_some == (departures_stored != 0) && departures_full == (departures_stored == (DepartureWidth + 1)'(Departures)));
      assert (beats_write == beats_read + BeatWidth'(beats_stored));
      assert (departures_write == departures_read + DepartureWidth'(departures_stored));

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
    .departures_fetched_valid(departures.fetched_valid_q),
    .departures_some         (departures.some_q),
    .departures_full         (departures.full_q),
    .*
);
