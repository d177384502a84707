// Extracts from received frames as they pass: whether the rules of the filter hold, and the signature (version
// 0xb, see stamper.sv). A signature counts only if its version and its check are right.
//
// A signature of nine halfwords starts in any lane. The lanes are rotated, so that lane 0 always has its first,
// fifth and ninth halfword, and so on. Lanes before the start of the signature get their halfwords one beat
// later.
//
//   beat ──► rotated ──► held
//               └─────► sums of pairs ──► sum of the beat ──► sum of the signature ──► folded ──► 0x5aa5?
//
// `valid_o` is high for one cycle per frame, six cycles after its last beat. The next frame may start before
// that if its signature comes at least five beats later.
//
// Rules (simulated):
//   1 exactly one arrival for each last beat.
module listen
  import tare_pkg::*;
  import receive_pkg::*;
  import registers_pkg::*;
(
    input  logic      clk_i,
    input  logic      rst_ni,
    input  listen_t   config_i,
    input  logic      valid_i,
    input  received_t received_i,
    output logic      valid_o,
    output arrival_t  arrival_o
);
  localparam int unsigned Delay = 5;
  wire heard_t beat = received_i.beat;

  // Of the next beat.
  logic [10:0] beats_q;
  logic [Rules-1:0] held_q;

  wire [10:0] beats = beat.first ? '0 : beats_q;
  // 64 and above: beyond all places.
  wire [6:0] index = {beats[10:6] != 0, beats[5:0]};

  logic [3:0][15:0] lanes;
  always_comb for (int unsigned l = 0; l < 4; l++) lanes[l] = swap16(beat.data[16*l+:16]);

  // Number of valid halfwords in this beat.
  wire [2:0] whole = 3'((4'(beat.final_byte) + 4'd1) >> 1);

  // A rule takes three cycles: select its halfword, compare it, and update the rule's result.
  logic [Rules-1:0] here_q, equal_q, held;
  logic [Rules-1:0][1:0][15:0] picked_q;  // from the lower and the upper two lanes; one of them is 0
  logic [6:0] index1_q;
  logic [2:0] whole1_q;
  logic first1_q, first2_q;
  always_comb begin
    for (int unsigned i = 0; i < Rules; i++) begin
      held[i] = !first2_q && held_q[i];
      if (!config_i.rule_place[i].enable) held[i] = 1'b1;
      else if (here_q[i]) held[i] = equal_q[i];
    end
  end

  // Position of the signature: this is its first, second or third beat.
  wire [1:0] turn = config_i.signature_at[1:0];
  logic [2:1] in_before_q;
  logic [2:0] in;
  assign in[0] = index == {1'b0, config_i.signature_at[7:2]};
  assign in[1] = !beat.first && in_before_q[1];
  assign in[2] = !beat.first && in_before_q[2];
  wire ends_here = in[2] && {1'b0, turn} < whole;
  logic found_q;
  wire found = !beat.first && found_q || ends_here;

  logic [3:0][15:0] turned_q;
  logic [2:0] in_q;
  logic [3:0] early;  // lanes whose halfword is in the beat itself and not in the next
  always_comb for (int unsigned l = 0; l < 4; l++) early[l] = {1'b0, turn} + 3'(l) < 3'd4;

  logic [3:0] counts;
  always_comb for (int unsigned l = 0; l < 4; l++) counts[l] = early[l] ? in_q[0] || in_q[1] || l == 0 && in_q[2] : in_q[1] || in_q[2];
  logic [16:0] pair0_q, pair1_q;
  logic [17:0] beat_sum_q;
  logic [19:0] sum_q;
  logic [16:0] folded_q;
  logic [3:0] in0_q;  // first beat of a signature, at each stage
  logic [2:0] moved_q;
  logic [Delay:0] last_q, last_found_q;
  logic [2:0][15:0] head_q;
  logic [3:0][15:0] tail_q;

  always_ff @(posedge clk_i) begin
    moved_q      <= {moved_q[1:0], valid_i};
    last_q       <= {last_q[Delay-1:0], valid_i && beat.last};
    last_found_q <= {last_found_q[Delay-1:0], found};
    in0_q        <= {in0_q[2:0], in[0]};
    if (valid_i) begin
      beats_q     <= beats + 1'b1;
      found_q     <= found;
      in_before_q <= in[1:0];
    end
    if (valid_i && beat.last) begin
      arrival_o.bad   <= beat.bad;
      arrival_o.bytes <= {beats, beat.final_byte} + 14'd1;
      arrival_o.stamp <= received_i.stamp;
      arrival_o.time_ <= received_i.time_;
    end

    // First stage: halfwords of the rules selected, all rotated.
    first1_q <= beat.first;
    index1_q <= index;
    whole1_q <= whole;
    first2_q <= first1_q;
    for (int unsigned i = 0; i < Rules; i++) begin
      automatic rule_place_t place = config_i.rule_place[i];
      automatic rule_value_t rule = config_i.rule_value[i];
      picked_q[i][0] <= place.at[1] ? '0 : lanes[{1'b0, place.at[0]}];
      picked_q[i][1] <= place.at[1] ? lanes[{1'b1, place.at[0]}] : '0;
      here_q[i]      <= {1'b0, place.at[7:2]} == index1_q && {1'b0, place.at[1:0]} < whole1_q;
      equal_q[i]     <= (((picked_q[i][0] | picked_q[i][1]) ^ rule.value) & rule.mask) == 0;
    end
    if (moved_q[1]) held_q <= held;
    if (last_q[2]) arrival_o.pass <= !arrival_o.bad && held_q == '1;
    in_q <= in;
    for (int unsigned l = 0; l < 4; l++) begin
      turned_q[l] <= lanes[2'(l)+turn];
    end

    // Second stage: held, and summed in pairs.
    if (moved_q[0]) begin
      for (int unsigned l = 0; l < 3; l++) if (early[l] ? in_q[0] : in_q[1]) head_q[l] <= turned_q[l];
      for (int unsigned l = 0; l < 4; l++) if (early[l] ? in_q[1] : in_q[2]) tail_q[l] <= turned_q[l];
    end
    pair0_q <= 17'(counts[0] ? turned_q[0] : '0) + 17'(counts[1] ? turned_q[1] : '0);
    pair1_q <= 17'(counts[2] ? turned_q[2] : '0) + 17'(counts[3] ? turned_q[3] : '0);

    beat_sum_q <= 18'(pair0_q) + 18'(pair1_q);
    if (moved_q[2]) sum_q <= (in0_q[2] ? '0 : sum_q) + 20'(beat_sum_q);
    folded_q <= 17'(sum_q[15:0]) + 17'(sum_q[19:16]);
    if (!rst_ni) last_q <= '0;
  end

  // The last carry adds one.
  wire sum_right = folded_q == {1'b0, SignatureSum} || folded_q == {1'b1, SignatureSum - 16'd1};

  assign valid_o = last_q[Delay];
  assign arrival_o.has_signature = config_i.signed_ && last_found_q[Delay] && tail_q[0][15:12] == SignatureVersion && sum_right;
  assign arrival_o.sequence_ = {head_q[0], head_q[1], head_q[2][15:8]};
  assign arrival_o.stream = head_q[2][4:0];
  assign arrival_o.sent = {tail_q[0][11:0], tail_q[1], tail_q[2], tail_q[3]};
endmodule
