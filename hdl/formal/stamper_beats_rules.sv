// Rules of stamper_beats. The solver chooses one frame, which is followed from its start until the next one
// starts. Its halfwords are counted as they come. What leaves four cycles later is computed from them, from the
// stamp, and from the lateness and time given two cycles after the start. The check is not computed here. The
// rule is that all nine halfwords add up as stamper.sv says; two values do that, of which only one is allowed.
module stamper_beats_rules
  import tare_pkg::*;
#(
    localparam int unsigned Turn = 4
) (
    input logic        clk_i,
    input logic        rst_ni,
    input logic        start_i,
    input stamp_t      stamp_i,
    input logic [59:0] time_i,
    input ticks_t      late_i,
    input logic        step_i,
    input logic [63:0] data_i,
    input logic [63:0] data_o,
    // Internal state, for the induction.
    input stamp_t      stamp_q,
    input logic        start_q,
    input logic [6:0]  index_q,
    input logic [2:1]  before_q,
    input logic [2:0]  part1,
    input logic [2:0]  part2,
    input logic [2:0]  part3,
    input logic [1:0]  turn1,
    input logic [1:0]  turn2,
    input logic [1:0]  turn3,
    input logic [63:0] data1_q,
    input logic [63:0] data2_q,
    input logic [63:0] data3_q,
    input logic [17:0] head2_q,
    input logic [17:0] head_q,
    input logic [4:0][15:0] written_q,
    input logic [2:1]  started_q,
    input logic [16:0] sum0_q,
    input logic [16:0] sum1_q,
    input logic [16:0] sum2_q,
    input logic [18:0] sum_q,
    input logic [19:0] all_q
);
  localparam int unsigned Parts = 3, First = 3, Check = 8;

  reset_rules reset (.*);

  // The followed frame.
  (* anyseq *) logic follow_any;
  wire follow = start_i && follow_any;
  logic followed;           // the current frame is the followed one
  stamp_t stamp;
  logic [6:0] beat;         // index of its next beat; 127 = that or more
  logic [2:0] age;          // cycles since its start, up to 7
  logic [4:0][15:0] words;  // lateness and time
  logic [17:0] head;        // sum of its sequence and stream so far

  // A halfword of beat n, as an index into the signature.
  function automatic logic signed [11:0] place(logic [6:0] n, int unsigned lane, stamp_t at);
    return 12'({3'b0, n, 2'b0}) + 12'(lane) - 12'({4'b0, at.place});
  endfunction
  function automatic logic [17:0] head_of(logic [6:0] n, logic [63:0] data, stamp_t at);
    logic [17:0] sum;
    sum = '0;
    for (int unsigned lane = 0; lane < 4; lane++)
      if (place(n, lane, at) >= 0 && place(n, lane, at) < 12'(First)) sum += 18'(swap16(data[16*lane+:16]));
    return sum;
  endfunction
  // The part of the signature in this beat, one-hot.
  function automatic logic [Parts-1:0] part(logic [6:0] n, stamp_t at);
    for (int unsigned i = 0; i < Parts; i++) part[i] = at.enable && n == 7'(at.place[7:2]) + 7'(i);
  endfunction

  // Its beats in the pipeline, and the sum some cycles ago.
  typedef struct packed {
    logic        is;
    logic [6:0]  beat;
    logic [63:0] data;
  } beat_in_t;
  beat_in_t now;
  beat_in_t [Turn:1] past;
  logic [4:1][17:0] heads;
  logic [3:1] parted;       // whether the first beat of its signature had come, by cycles ago
  assign now = '{is: followed && step_i, beat: beat, data: data_i};

  wire has_part = beat > 7'(stamp.place[7:2]);

  logic begun_q = 1'b0, ever, start_before;
  always_ff @(posedge clk_i) begin
    begun_q      <= 1'b1;
    start_before <= start_i;
    if (start_i) ever <= 1'b1;
    past  <= {past[Turn-1:1], now};
    heads <= {heads[3:1], head};
    parted <= {parted[2:1], has_part};
    if (age != 7) age <= age + 1'b1;
    if (age == 2) begin
      words[0] <= late_i > 64'hffff ? 16'hffff : late_i[15:0];
      words[1] <= {SignatureVersion, time_i[59:48]};
      for (int unsigned i = 2; i < 5; i++) words[i] <= 16'(time_i >> (16 * (4 - i)));
    end
    if (now.is) begin
      if (beat != '1) beat <= beat + 1'b1;
      head <= head + head_of(beat, data_i, stamp);
    end
    if (start_i) followed <= 1'b0;
    if (follow) begin
      followed <= 1'b1;
      stamp    <= stamp_i;
      beat     <= '0;
      head     <= '0;
      age      <= 3'd1;
      parted   <= '0;
      heads    <= '0;
    end
    if (!rst_ni) begin
      followed     <= 1'b0;
      start_before <= 1'b0;
      past         <= '0;
      parted       <= '0;
      ever         <= 1'b0;
    end
  end

  // The part of the frame in the pipeline or arriving.
  logic [Turn:1] is;
  logic [Turn:1][2:0] younger;
  always_comb begin
    for (int unsigned i = 1; i <= Turn; i++) begin
      is[i] = past[i].is;
      younger[i] = i == 1 ? '0 : younger[i-1] + 3'(past[i-1].is);
    end
  end
  wire any = followed || is != 0;
  wire beat_in_t out = past[Turn];

  // All nine, added up as a reader does (RFC 1071).
  function automatic logic [15:0] folded(logic [19:0] sum);
    return ones_add(ones_add(sum[15:0], {12'b0, sum[19:16]}), 16'h0);
  endfunction
  wire [18:0] told_sum = 19'(words[0]) + 19'(words[1]) + 19'(words[2]) + 19'(words[3]) + 19'(words[4]);
  wire [18:0] five = told_sum + {3'b0, ~SignatureSum};
  wire [19:0] eight = 20'(heads[4]) + 20'(told_sum);
  // The sum from which the check was made.
  logic [19:0] all_before;
  always_ff @(posedge clk_i) all_before <= all_q;

  // The beat that leaves: bytes outside the ten and the check are unchanged, the ten are as given, and the
  // check is right.
  logic same, told, sums_up, never_ones, checked, has_lateness;
  logic [15:0] check;
  always_comb begin
    same         = 1'b1;
    told         = 1'b1;
    sums_up      = 1'b1;
    never_ones   = 1'b1;
    checked      = 1'b0;
    check        = '0;
    has_lateness = 1'b0;
    for (int unsigned lane = 0; lane < 4; lane++) begin
      automatic logic signed [11:0] at = place(out.beat, lane, stamp);
      automatic logic [15:0] is_ = swap16(data_o[16*lane+:16]);
      if (!stamp.enable || at < 12'(First) || at > 12'(Check)) begin
        if (data_o[16*lane+:16] != out.data[16*lane+:16]) same = 1'b0;
      end else if (at == 12'(Check)) begin
        checked    = 1'b1;
        check      = is_;
        sums_up    = folded(eight + 20'(is_)) == SignatureSum;
        never_ones = is_ != '1;
      end else begin
        if (at == 12'(First)) has_lateness = 1'b1;
        if (is_ != words[3'(at - 12'(First))]) told = 1'b0;
      end
    end
  end

  always_comb begin
    // As mac_tx_xgmii ensures (its rule 4): the first beat comes a cycle after the start, and no beat of
    // another frame with it.
    if (start_i) assume (!step_i && rst_ni);
    if (start_before) assume (step_i);
    if (!ever) assume (!step_i);
    if (!rst_ni) assume (!step_i);
    // No second frame is followed while the first is in the pipeline.
    if (follow_any) assume (is == 0);

    if (begun_q) begin
      if (out.is) begin
        rule_1_as_it_came : assert (same);
        rule_2_written : assert (told);
        rule_2_sum : assert (sums_up);
        rule_2_one_of_two : assert (never_ones);
      end

      // Meaning of the registers.
      assert (start_q == start_before && started_q[1] == start_before);
      if (!ever) assert (!stamp_q.enable && !any);
      if (any) begin
        assert (age >= 1);
        if (age == 1) assert (followed && start_q && beat == 0 && is == 0);
        for (int unsigned i = 1; i <= Turn; i++)
          if (is[i]) assert (past[i].beat + 7'(younger[i]) + 1'b1 == beat || beat == '1 && past[i].beat >= 7'd120);
      end
      if (followed) begin
        assert (stamp_q == stamp && start_q == (age == 1));
        if (age != 1) assert (index_q == (beat > 64 ? 7'd64 : beat) && beat != 0);
        if (age != 1) assert (before_q == 2'(part(beat - 1'b1, stamp)));
      end
      if (is[1]) begin
        assert (data1_q == past[1].data && part1 == part(past[1].beat, stamp) && turn1 == stamp.place[1:0]);
      end else if (followed) assert (part1 == 0);
      if (is[2]) begin
        assert (data2_q == past[2].data && part2 == part(past[2].beat, stamp) && turn2 == stamp.place[1:0]);
        if (stamp.enable) assert (head2_q == head_of(past[2].beat, past[2].data, stamp));
      end else if (followed && age > 1) assert (part2 == 0);
      for (int unsigned i = 1; i <= Turn; i++) if (is[i]) assert (32'(age) > i + 32'(past[i].beat) || age == 7);
      if (any) assert (age > beat || age == 7);
      if (followed) assert (started_q == {age == 2, age == 1});
      else begin
        assert (!is[1]);
        if (started_q[2]) assert (!is[2]);
      end
      if (followed || is[3:1] != 0) begin
        for (int unsigned i = 1; i <= 3; i++) begin
          assert (parted[i] == (is[i] ? past[i].beat > 7'(stamp.place[7:2]) : i == 1 ? has_part : parted[i-1]));
          assert ((i == 1 ? head : heads[i-1]) == heads[i] + (is[i] ? head_of(past[i].beat, past[i].data, stamp) : '0));
          if (!parted[i]) assert (heads[i] == 0);
        end
        if (age >= 3) assert (written_q == words);
        if (age >= 4) assert (sum0_q == 17'(words[0]) + 17'(words[1]) && sum1_q == 17'(words[2]) + 17'(words[3])
                              && sum2_q == 17'(words[4]) + {1'b0, ~SignatureSum});
        if (age >= 5) assert (sum_q == five);
        if (stamp.enable && parted[2]) assert (head_q == heads[2]);
        if (stamp.enable && parted[3] && age >= 6) assert (all_q == 20'(five) + 20'(heads[3]));
      end
      if (out.is && checked) assert (all_before == eight + 20'h0a55a && check == ~folded(all_before));
      if (is[3]) begin
        assert (data3_q == past[3].data && part3 == part(past[3].beat, stamp) && turn3 == stamp.place[1:0]);
      end
    end

    cover (begun_q && out.is && checked && heads[4] != 0 && stamp.place == 8'd9);
    cover (begun_q && out.is && has_lateness && words[0] == '1);
  end
endmodule

bind stamper_beats stamper_beats_rules rules (
    .part1(where1_q.part),
    .part2(where2_q.part),
    .part3(where3_q.part),
    .turn1(where1_q.turn),
    .turn2(where2_q.turn),
    .turn3(where3_q.turn),
    .*
);
