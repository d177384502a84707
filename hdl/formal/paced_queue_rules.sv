// Rules of paced_queue, for the first cycles after reset (bounded): that the queues inside keep what they are given is proved of
// stream_fifo without a bound; here it is that a frame has no hole.
//
// What frames and departures hold makes no difference here, so it is zeros; the queues' own proof follows the data.
//
// The sink is a gate: it takes beats of a frame only after its departure.
module paced_queue_rules
  import tare_pkg::*;
(
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
    input logic       empty_o
);
  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width($bits(departure_t) + $bits(beat_t))) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i({departure_i, beat_i}));
  stream_rules #(.Assume(1'b0), .Width($bits(departure_t))) departures_out (
      .clk_i, .rst_ni, .valid_i(departure_valid_o), .ready_i(departure_ready_i), .data_i(departure_o));
  stream_rules #(.Assume(1'b0), .Width($bits(beat_t))) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(beat_o));

  logic past_q = 1'b0;
  // Frames whole at the input; departures and frames that left; departures taken whose frames have not ended.
  logic [4:0] whole, departures, ended, open;
  wire leaves = valid_o && ready_i;
  wire taken = departure_valid_o && departure_ready_i;

  always_ff @(posedge clk_i) begin
    past_q     <= rst_ni;
    whole      <= whole + 5'(valid_i && ready_o && beat_i.last);
    departures <= departures + 5'(taken);
    ended      <= ended + 5'(leaves && beat_o.last);
    open       <= open + 5'(taken) - 5'(leaves && beat_o.last);
    if (!rst_ni) begin
      whole <= '0;
      departures <= '0;
      ended <= '0;
      open <= '0;
    end
  end

  always_comb begin
    // Reset at the start alone.
    if (past_q) assume (rst_ni);
    assume (departure_i == '0 && beat_i.data == '0 && beat_i.final_byte == '0);
    if (ready_i) assume (open != 0);
    if (departure_ready_i) assume (open < 2);
    if (past_q) begin
      if (open != 0) rule_2_no_hole : assert (valid_o);
      if (departure_valid_o) rule_3_whole : assert (departures < whole);
      rule_4 : assert (departures <= whole && ended <= departures);
      if (whole == ended && departures == whole && empty_o) assert (!departure_valid_o && !valid_o);
      cover (ended == 2 && departures == 3 && open == 1 && leaves && !beat_o.last);
      cover (!ready_o);
    end
  end
endmodule

bind paced_queue paced_queue_rules rules (.*);
