// Rules of generator_beats. The solver chooses one plan, which is followed. When the plans before it have left,
// its frame must come beat by beat, without a hole, each halfword as the plan and the memory of beats define
// it. Memories are written only while nothing is generated, so they are constant here.
module generator_beats_rules
  import tare_pkg::*;
  import generator_pkg::*;
  import registers_pkg::*;
#(
    parameter int unsigned StoredBeats = 4,
    localparam int unsigned Width = $clog2(StoredBeats)
) (
    input logic               clk_i,
    input logic               rst_ni,
    input memory_t            memory_i,
    input logic               plan_valid_i,
    input logic               plan_ready_o,
    input plan_t              plan_i,
    input logic               idle_o,
    input logic               valid_o,
    input logic               ready_i,
    input beat_t              beat_o,
    input logic [31:0]        low[StoredBeats],
    input logic [31:0]        high[StoredBeats],
    // Internal state, for the induction.
    input logic               go,
    input logic               load,
    input plan_t              plan_q,
    input logic               plan_valid_q,
    input logic               begun_plan,
    input logic               busy0_q,
    input logic               first0_q,
    input logic [Width-1:0]   address0_q,
    input logic [10:0]        left0_q,
    input logic               last0_q,
    input logic [7:0]         stored0_q,
    input logic [6:0]         index0_q,
    input logic [2:0]         final0_q,
    input logic               valid1_q,
    input logic               first1_q,
    input logic               last1_q,
    input logic               zero1_q,
    input logic [6:0]         index1_q,
    input logic [2:0]         final1_q,
    input patch_t [Patches-1:0] places_q,
    input logic [Patches-1:0] spill_q,
    input logic               valid2_q,
    input logic               last2_q,
    input logic               zero2_q,
    input logic [2:0]         final2_q,
    input logic [3:0][Patches-1:0] hit_q,
    input logic [Patches-1:0][15:0] even_q,
    input logic [Patches-1:0][15:0] odd_q,
    input logic [63:0]        read1_q,
    input logic [63:0]        read2_q
);
  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width($bits(plan_t))) plans (
      .clk_i, .rst_ni, .valid_i(plan_valid_i), .ready_i(plan_ready_o), .data_i(plan_i));
  stream_rules #(.Assume(1'b0), .Width($bits(beat_t))) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(beat_o));

  (* anyseq *) logic follow_any;
  logic followed;
  plan_t plan;
  logic [2:0] held, ahead;  // frames that have not left; those before the followed frame
  logic [10:0] count;         // beats of the followed frame that have left
  logic between;              // a frame is between its first and last beat at the output
  wire taken = plan_valid_i && plan_ready_o;
  wire follow = follow_any && taken && !followed;
  wire left = valid_o && ready_i;
  wire ended = left && beat_o.last;
  wire its = followed && ahead == 0;

  // The halfwords of a beat that a patch replaces with its first or only halfword, or with its second. The
  // third halfword of a signature has the place of its first.
  function automatic logic [3:0] replaced(patch_t patch, logic third, logic [10:0] beat);
    for (int unsigned lane = 0; lane < 4; lane++) begin
      automatic logic [12:0] at = {beat, 2'b0} + 13'(lane);
      replaced[lane] = patch.enable && (third ? at == 13'(patch.at) + 13'd2
                                              : at == 13'(patch.at) || patch.wide && at == 13'(patch.at) + 13'd1);
    end
  endfunction

  // A beat of the followed frame. The values of all patches for a halfword are combined; a plan has at most
  // one.
  function automatic logic [63:0] beat_of(plan_t of_, logic [Patches-1:0][3:0] with_, logic in_memory, logic [63:0] stored);
    for (int unsigned lane = 0; lane < 4; lane++) begin
      automatic logic [15:0] value = '0;
      automatic logic some = 1'b0;
      for (int unsigned i = 0; i < Patches; i++) begin
        if (with_[i][lane]) begin
          some  = 1'b1;
          value = value | (lane % 2 == 0 ? of_.patches[i].even : of_.patches[i].odd);
        end
      end
      beat_of[16*lane+:16] = some ? {value[7:0], value[15:8]} : in_memory ? stored[16*lane+:16] : 16'h0;
    end
  endfunction

  // Its beats in the pipeline, each with its number and expected contents.
  logic in_plan, in0, in1, in2, in3;
  logic [10:0] number0, number1, number2, number3;
  logic first2, first3;
  logic [Patches-1:0][3:0] with1, with2;
  logic [63:0] must;
  wire [Width-1:0] place1 = Width'(plan.first_beat) + Width'(number1);
  wire [Width-1:0] place2 = Width'(plan.first_beat) + Width'(number2);
  always_comb for (int unsigned i = 0; i < Patches; i++) with1[i] = replaced(plan.patches[i], i == ThirdHalfword, number1);
  logic begun_q = 1'b0;

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    held    <= held + 3'(taken) - 3'(ended);
    if (left) between <= !beat_o.last;
    if (followed && !its && ended) ahead <= ahead - 1'b1;
    if (its && left) count <= count + 1'b1;
    if (its && ended) followed <= 1'b0;
    if (load) in_plan <= 1'b0;
    if (taken) in_plan <= follow;
    if (follow) begin
      followed <= 1'b1;
      plan     <= plan_i;
      ahead    <= held - 3'(ended);
      count    <= '0;
    end
    if (go) begin
      in0     <= load ? in_plan : in0 && left0_q != 1;
      number0 <= load ? '0 : number0 + 1'b1;
      in1     <= in0 && busy0_q;
      number1 <= number0;
      in2     <= in1;
      number2 <= number1;
      first2  <= first1_q;
      in3     <= in2;
      number3 <= number2;
      with2   <= with1;
      must    <= beat_of(plan, with2, number2 < 11'(plan.stored), {high[place2], low[place2]});
      first3  <= first2;
    end
    if (!rst_ni) begin
      held     <= '0;
      between  <= 1'b0;
      followed <= 1'b0;
      in_plan  <= 1'b0;
      in0      <= 1'b0;
      in1      <= 1'b0;
      in2      <= 1'b0;
      in3      <= 1'b0;
    end
  end

  // Last beats in the stages.
  wire last1 = valid1_q && last1_q;
  wire last2 = valid2_q && last2_q;
  wire last3 = valid_o && beat_o.last;

  logic places_right, values_right, spills_right;
  always_comb begin
    places_right = 1'b1;
    values_right = 1'b1;
    spills_right = 1'b1;
    for (int unsigned i = 0; i < Patches; i++) begin
      if (places_q[i].enable != plan.patches[i].enable || places_q[i].wide != plan.patches[i].wide || places_q[i].at != plan.patches[i].at)
        places_right = 1'b0;
      if (even_q[i] != plan.patches[i].even || odd_q[i] != plan.patches[i].odd) values_right = 1'b0;
      // What continues from the previous beat.
      if (spill_q[i] != (number1 != 0 && plan.patches[i].enable && number1 - 1'b1 == 11'(plan.patches[i].at[7:2])
                         && (i == ThirdHalfword ? plan.patches[i].at[1] : plan.patches[i].wide && plan.patches[i].at[1:0] == 2'd3)))
        spills_right = 1'b0;
    end
  end

  always_comb begin
    assume (!memory_i.data_write);
    // A frame has at least one byte.
    if (plan_valid_i) assume (plan_i.beats != 0);

    if (begun_q) begin
      if (valid_o) rule_1_of_a_plan : assert (held != 0);
      if (its && valid_o) begin
        rule_1_last : assert (beat_o.last == (count + 1'b1 == plan.beats));
        rule_1_bytes : assert (beat_o.final_byte == (beat_o.last ? plan.final_byte : 3'd7));
        rule_3_halfwords : assert (beat_o.data == must && number3 == count);
      end
      if (between) rule_2_no_hole : assert (valid_o);
      rule_4_idle : assert (idle_o == (held == 0));

      // Meaning of the registers.
      assert (3'(plan_valid_q && !begun_plan) + 3'(busy0_q) + 3'(last1) + 3'(last2) + 3'(last3) == held);
      if (begun_plan) assert (plan_valid_q && (busy0_q && first0_q || valid1_q && first1_q));
      if (busy0_q) assert (last0_q == (left0_q == 1));
      if (busy0_q) assert (left0_q != 0 && (first0_q == !(valid1_q && !last1_q)) && (!first0_q || begun_plan));
      if (valid1_q) assert (last1_q || busy0_q && !first0_q);
      if (valid1_q && first1_q) assert (begun_plan);
      if (busy0_q && first0_q) assert (!(valid1_q && first1_q));
      if (valid2_q) assert (last2_q || valid1_q && !first1_q);
      if (valid1_q) assert (first1_q == !(valid2_q && !last2_q));
      if (valid_o) assert (beat_o.last || valid2_q && !first2);
      if (valid2_q) assert (first2 == !(valid_o && !beat_o.last));
      if (valid_o) assert (between == !first3);
      if (plan_valid_q) assert (plan_q.beats != 0);

      // The position of the followed frame.
      if (followed) begin
        assert (plan.beats != 0 && (in_plan || in0 || in1 || in2 || in3));
        assert (ahead == (in3 ? 3'd0 : 3'(last3) + (in2 ? 3'd0 : 3'(last2) + (in1 ? 3'd0 : 3'(last1) + (in0 ? 3'd0 : 3'(busy0_q))))));
        assert (in3 || count == 0);
      end else assert (!in_plan && !in0 && !in1 && !in2 && !in3);
      if (in_plan) assert (plan_valid_q && !begun_plan && plan_q == plan && !in0 && !in1 && !in2 && !in3);
      if (in0) begin
        assert (busy0_q && first0_q == (number0 == 0) && left0_q == plan.beats - number0 && number0 < plan.beats && final0_q == plan.final_byte);
        assert (address0_q == Width'(plan.first_beat) + Width'(number0));
        assert (index0_q == (number0 > 64 ? 7'd64 : 7'(number0)));
        assert (stored0_q == (11'(plan.stored) > number0 ? plan.stored - 8'(number0) : 8'd0));
        assert (in1 == (number0 != 0) && (!in1 || number1 + 1'b1 == number0));
        if (first0_q) assert (plan_q == plan && !in2 && !in3);
      end
      if (in1) begin
        assert (valid1_q && first1_q == (number1 == 0) && last1_q == (number1 + 1'b1 == plan.beats) && final1_q == plan.final_byte);
        assert (index1_q == (number1 > 64 ? 7'd64 : 7'(number1)) && zero1_q == (number1 >= 11'(plan.stored)) && number1 < plan.beats);
        assert (places_right && spills_right && read1_q == {high[place1], low[place1]});
        assert (in2 == (number1 != 0) && (!in2 || number2 + 1'b1 == number1));
        assert (last1_q != in0);
        if (first1_q) assert (plan_q == plan && !in3);
      end
      if (valid1_q && first1_q) assert (spill_q == 0);
      if (in2) begin
        assert (valid2_q && last2_q == (number2 + 1'b1 == plan.beats) && final2_q == plan.final_byte && first2 == (number2 == 0));
        for (int unsigned i = 0; i < Patches; i++)
          for (int unsigned lane = 0; lane < 4; lane++) assert (hit_q[lane][i] == with2[i][lane]);
        assert (values_right && zero2_q == (number2 >= 11'(plan.stored)) && number2 < plan.beats);
        assert (read2_q == {high[place2], low[place2]});
        assert (in3 == (number2 != 0) && (!in3 || number3 + 1'b1 == number2));
        assert (last2_q != in1);
      end
      if (in3) begin
        assert (valid_o && number3 == count && first3 == (count == 0) && count < plan.beats && followed && last3 != in2);
        assert (beat_o.last == (count + 1'b1 == plan.beats) && beat_o.final_byte == (beat_o.last ? plan.final_byte : 3'd7));
        assert (beat_o.data == must);
      end
    end

    // A followed frame ends in its third beat, with the next frame behind it.
    cover (begun_q && its && ended && count == 2 && plan.final_byte != 7 && held == 3);
    // Two halfwords across the boundary of two beats.
    cover (begun_q && its && left && count == 1 && plan.patches[0].enable && plan.patches[0].wide && plan.patches[0].at == 8'd3);
  end
endmodule

bind generator_beats generator_beats_rules #(.StoredBeats(StoredBeats)) rules (.begun_plan(begun_q), .*);
