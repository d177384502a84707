// Two copies of the counters with equal events of the transmit side and arbitrary ones of the receive side. The
// host reads the same values of the transmit side's counters from both, although all counters share one memory
// and one adder.
//
// Both start with the same memory and an empty pipeline, as after power-on.
module counters_apart
  import tare_pkg::*;
(
    input logic       clk_i,
    input logic       rst_ni,
    input logic       clear_i,
    input events_t    sent_i,
    input events_t    heard_i,
    input events_t    other_heard_i,
    input logic       read_i,
    input logic [3:0] at_i
);
  // The side of each event.
  function automatic events_t events(events_t sent, events_t heard);
    events_t all;
    all            = heard;
    all.sent       = sent.sent;
    all.late       = sent.late;
    all.late_ticks = sent.late_ticks;
    all.underrun   = sent.underrun;
    return all;
  endfunction

  // The counters of the transmit side.
  function automatic logic own(logic [3:0] place);
    return place inside {CountedSent, CountedLate, CountedLateTicks, CountedUnderruns};
  endfunction

  logic [47:0] value, other_value;

  counters one (
      .clk_i,
      .rst_ni,
      .clear_i,
      .events_i(events(sent_i, heard_i)),
      .read_i,
      .at_i,
      .value_o (value)
  );

  counters other (
      .clk_i,
      .rst_ni,
      .clear_i,
      .events_i(events(sent_i, other_heard_i)),
      .read_i,
      .at_i,
      .value_o (other_value)
  );

  reset_rules reset (.*);

  // The last read was of a transmit counter.
  logic begun_q = 1'b0, own_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    if (one.read2_q) own_q <= own(one.place2_q);
    if (!begun_q) own_q <= 1'b0;
  end

  logic counts_same, pending_same;
  always_comb begin
    counts_same  = 1'b1;
    pending_same = 1'b1;
    for (int unsigned i = 0; i < 16; i++) begin
      if (own(4'(i)) && one.counts[i] != other.counts[i]) counts_same = 1'b0;
      if (own(4'(i)) && one.pending_q[i] != other.pending_q[i]) pending_same = 1'b0;
    end
  end

  always_comb begin
    if (!begun_q) assume (counts_same && !one.write3_q && !other.write3_q);
    if (begun_q) rule_1_counts : assert (counts_same);
    if (begun_q) rule_1_pending : assert (pending_same);
    if (begun_q && own_q) rule_1_value : assert (value == other_value);

    // Meaning of the registers.
    if (begun_q) begin
      assert (one.turn_q == other.turn_q && one.whose_q == other.whose_q && one.is_q == other.is_q && one.sweep_q == other.sweep_q);
      assert (one.is_q == 0 || one.is_q == 16'd1 << one.whose_q);
      assert (one.late_q == other.late_q);
      if (one.late_q) assert (one.late_ticks_q == other.late_ticks_q);
      assert (one.read1_q == other.read1_q && one.read2_q == other.read2_q && one.write2_q == other.write2_q && one.write3_q == other.write3_q);
      if (one.read1_q) assert (one.at1_q == other.at1_q);
      if (one.read2_q || one.write2_q) assert (one.place2_q == other.place2_q && one.zero2_q == other.zero2_q);
      if (one.write2_q && own(one.place2_q) && !one.zero2_q) assert (one.amount2_q == other.amount2_q);
      if (one.write3_q) assert (one.place3_q == other.place3_q);
      if (one.write3_q && own(one.place3_q)) assert (one.value3_q == other.value3_q && one.amount3_q == other.amount3_q);
      // The copies differ in what the receive side counts, and a frame that left is counted.
      cover (one.pending_q[CountedGood] != other.pending_q[CountedGood] && one.pending_q[CountedSent] != 0);
    end
  end
endmodule
