// Rules of the generator: which frames it makes, in which order, how many, and when they are due. Runs may
// start and end. Settings are constant during a run, and memories are written only between runs.
//
// What the n-th frame of a run must be is computed here when its plan starts, from the list, its number and the
// accumulator's formula, and travels beside the plan to the output. The beats are proved elsewhere
// (generator_beats_rules), so that module is cut out and replaced by one that takes plans at any time.
module generator_rules
  import tare_pkg::*;
  import generator_pkg::*;
  import registers_pkg::*;
(
    input logic        clk_i,
    input logic        rst_ni,
    input logic        run_i,
    input generator_t  settings_i,
    input logic        gap_set_i,
    input memory_t     memory_i,
    input logic        departure_valid_o,
    input logic        departure_ready_i,
    input departure_t  departure_o,
    // Signals between the generator's parts.
    input logic        plan_valid,
    input logic        plan_taken,
    input logic        begins,      // the plan of a frame starts
    input logic [4:0]  number,      // of its template
    input logic [LengthBits-1:0] length,
    // The list at the generator's position.
    input logic [31:0] listed_gap,
    input size_t       listed_low,
    input size_t       listed_high,
    // Internal state, for the induction.
    input logic        early_q,
    input logic        late_q,
    input logic        at_end,
    input logic [2:0]  cycle_q,
    input logic        ran_q,
    input logic        first_q,
    input logic        endless_q,
    input logic        more_q,
    input logic [31:0] left_q,
    input logic [11:0] entry_q,
    input logic [31:0] gap_read_q,
    input logic [31:0] gap_list_q,
    input ticks_t      upcoming_q,
    input size_t [1:0] size_read_q,
    input size_t [1:0] size_list_q,
    input from_e       from_q,
    input ticks_t      value_q,
    input from_e       late_from_q,
    input ticks_t      late_value_q,
    input logic        gap_first,
    input logic        gap_step,
    input logic [31:0] acc_whole,
    input logic [31:0] acc_longer,
    input logic [31:0] acc_numerator,
    input logic [31:0] acc_rest,
    input logic [31:0] acc_remainder
);
  reset_rules reset (.*);
  stream_rules #(.Assume(1'b0), .Width($bits(departure_t))) departures (
      .clk_i, .rst_ni, .valid_i(departure_valid_o), .ready_i(departure_ready_i), .data_i(departure_o));

  typedef struct packed {
    from_e  from;
    ticks_t value;
  } due_t;

  // The next frame of the run: the number of frames before it, its position in the list, and the remainder of
  // the gaps so far.
  logic [31:0] nth;
  logic first;
  logic [11:0] entry;
  logic [31:0] remainder;

  wire [31:0] rest = settings_i.gap_denominator - settings_i.gap_numerator;
  wire carry = remainder >= rest;
  wire size_t listed = entry[11] ? listed_high : listed_low;
  due_t due;
  always_comb begin
    due = '{from: settings_i.from, value: {32'b0, carry ? settings_i.gap_whole + 1'b1 : settings_i.gap_whole}};
    if (settings_i.gaps_from_list) due.value = {32'b0, listed_gap};
    if (first) due = '{from: settings_i.first_from, value: settings_i.first_time};
  end

  // Expected values of the plans in progress.
  due_t due_early, due_late, due_out;
  logic [31:0] nth_early, nth_late, nth_out;
  size_t size_early;
  logic [31:0] begun, gone;
  logic [4:0] still;  // cycles of a run without a new plan, up to 31
  wire taken = departure_valid_o && departure_ready_i;

  logic begun_q = 1'b0;
  logic run_q, loads_q, stays_q;
  generator_t settings_q;

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    settings_q <= settings_i;
    run_q   <= run_i;
    loads_q <= plan_taken;
    stays_q <= departure_valid_o && !departure_ready_i;
    still   <= !run_i || early_q || late_q ? '0 : still + 5'(still != '1);
    if (taken) gone <= gone + 1'b1;
    if (begins) begin
      begun      <= begun + 1'b1;
      nth     <= nth + 1'b1;
      first      <= 1'b0;
      entry      <= entry == settings_i.last_entry ? '0 : entry + 1'b1;
      if (!first) remainder <= carry ? remainder - rest : remainder + settings_i.gap_numerator;
      due_early  <= due;
      nth_early  <= nth;
      size_early <= listed;
    end
    if (at_end) begin
      due_late <= due_early;
      nth_late <= nth_early;
    end
    if (plan_taken) begin
      due_out <= due_late;
      nth_out <= nth_late;
    end
    if (!run_i) begin
      nth    <= '0;
      first     <= 1'b1;
      entry     <= '0;
      remainder <= '0;
    end
    if (!rst_ni) begin
      begun   <= '0;
      gone    <= '0;
      still   <= '0;
      loads_q <= 1'b0;
      stays_q <= 1'b0;
    end
  end

  always_comb begin
    assume (!memory_i.data_write && !gap_set_i);
    // Initial values of the registers: not running, as after reset.
    if (!rst_ni) assume (!run_i);
    if (begun_q && run_i) assume (settings_i == settings_q);

    if (begun_q) begin
      if (departure_valid_o) rule_1_when : assert ({departure_o.from, departure_o.value} == due_out);
      if (early_q) rule_2_by_the_list : assert ({number, length} == size_early);
      if (run_i) rule_2_inside_the_list : assert (entry_q <= settings_i.last_entry);
      if (begins) rule_3_no_more : assert (settings_i.frames == 0 || nth != settings_i.frames);
      if (run_i && !early_q && still >= 17) rule_3_no_fewer : assert (settings_i.frames != 0 && nth == settings_i.frames);
      rule_4_none_lost : assert (begun - gone == 32'(early_q) + 32'(late_q) + 32'(departure_valid_o));
      // A departure comes with the plan that its beats are made from.
      rule_4_with_its_beats : assert (departure_valid_o == (loads_q || stays_q));

      // Meaning of the registers.
      if (run_i) begin
        assert (first_q == first && entry_q == entry && left_q == settings_i.frames - nth && endless_q == (settings_i.frames == 0));
        assert (first == (nth == 0) || endless_q);
        if (!endless_q) assert (nth <= settings_i.frames);
        if (first) assert (remainder == 0);
      end
      if (ran_q && run_i) begin
        assert (run_q);
        if (cycle_q >= 1) assert (more_q == (endless_q || left_q != 0));
        if (cycle_q >= 1) assert (gap_read_q == listed_gap && size_read_q == {listed_high, listed_low});
        if (cycle_q >= 3) assert (upcoming_q == due.value);
        if (cycle_q >= 2) assert (gap_list_q == listed_gap && size_list_q == {listed_high, listed_low});
      end
      if (gap_first || gap_step) assert (cycle_q == 0);
      assert (!(gap_first && gap_step));
      if (run_i && !first) begin
        if (gap_first) assert (remainder == 0);
        else begin
          assert (acc_whole == settings_i.gap_whole && acc_longer == settings_i.gap_whole + 1'b1);
          assert (acc_numerator == settings_i.gap_numerator && acc_rest == rest);
          assert (remainder == (!gap_step ? acc_remainder : acc_remainder >= rest ? acc_remainder - rest : acc_remainder + settings_i.gap_numerator));
        end
      end
      if (late_q) assert (cycle_q <= 4 && {late_from_q, late_value_q} == due_late);
      if (early_q) assert ({from_q, value_q} == due_early);
      if (run_i && 32'(still) > 32'(cycle_q)) assert (ran_q);
      if (run_i && !early_q && 32'(still) > 32'(cycle_q) + 8) assert (!endless_q && left_q == 0);
    end

    // The last of three frames, with a gap that is longer because of the remainder.
    cover (begun_q && taken && nth_out == 2 && settings_i.frames == 3 && !settings_i.gaps_from_list
           && departure_o.value == {32'b0, settings_i.gap_whole + 1'b1}
           && settings_i.gap_numerator == 1 && settings_i.gap_denominator == 2 && departure_o.from == AfterDue);
  end
endmodule

bind generator generator_rules rules (
    .plan_taken   (plan_valid && beats_ready && departure_ready),
    .begins       (plans.begin_plan),
    .number       (plans.template_q),
    .length       (plans.asked_length_q),
    .listed_gap   (plans.gaps[plans.entry_q]),
    .listed_low   (plans.sizes_low[plans.entry_q[10:0]]),
    .listed_high  (plans.sizes_high[plans.entry_q[10:0]]),
    .early_q      (plans.early_q),
    .late_q       (plans.late_q),
    .at_end       (plans.at_end),
    .cycle_q      (plans.cycle_q),
    .ran_q        (plans.ran_q),
    .first_q      (plans.first_q),
    .endless_q    (plans.endless_q),
    .more_q       (plans.more_q),
    .left_q       (plans.left_q),
    .entry_q      (plans.entry_q),
    .gap_read_q   (plans.gap_read_q),
    .gap_list_q   (plans.gap_list_q),
    .upcoming_q   (plans.upcoming_q),
    .size_read_q  (plans.size_read_q),
    .size_list_q  (plans.size_list_q),
    .from_q       (plans.from_q),
    .value_q      (plans.value_q),
    .late_from_q  (plans.late_from_q),
    .late_value_q (plans.late_value_q),
    .acc_whole    (gaps.whole_q),
    .acc_longer   (gaps.longer_q),
    .acc_numerator(gaps.numerator_q),
    .acc_rest     (gaps.rest_q),
    .acc_remainder(gaps.remainder_q),
    .*
);
