// Rules of mac_rx_xgmii. The solver chooses one frame, which is followed octet by octet from a start with a
// whole preamble to the first control octet that is not an error. What must come out, and when, is computed
// from these octets. The value of the CRC does not matter here (crc_beats has its own rules), but it must
// include the octets of the frame, and its result must be used.
//
// The frame may be any frame in any stream of octets, so the rules hold for all frames; and whatever comes out
// belongs to such a start.
module mac_rx_xgmii_rules
  import tare_pkg::*;
#(
    parameter int unsigned MaxBytes = 1522
) (
    input logic        clk_i,
    input logic        rst_ni,
    input ticks_t      now_i,
    input logic [59:0] time_i,
    input logic [63:0] rxd_i,
    input logic [7:0]  rxc_i,
    input logic        valid_o,
    input received_t   received_o,
    input logic [31:0] crc,
    input logic        counted,
    input logic        counted_first,
    input logic [2:0]  counted_final,
    input logic [63:0] counted_data,
    // Internal state, for the induction.
    input logic [63:0] young_data,
    input logic [7:0]  young_control,
    input logic [63:0] old_data,
    input logic [7:0]  old_control,
    input ticks_t      now1_q,
    input ticks_t      now2_q,
    input logic        inside_q,
    input logic        half_q,
    input logic        some_q,
    input logic        first_q,
    input logic        final_q,
    input logic        wrong_q,
    input heard_t      held_q,
    input logic [13:0] length_q,
    input logic [13:0] held_length_q,
    input logic        handed_q,
    input heard_t      beat_q,
    input logic [13:0] handed_length_q,
    input logic [124:0] when_q,
    input logic [124:0] held_when_q,
    input logic [124:0] beat_when_q
);
  localparam logic [7:0] Start = 8'hfb, Terminate = 8'hfd, Error = 8'hfe;

  reset_rules reset (.*);

  // An octet with its control bit; the octets of two columns, the older first.
  typedef logic [8:0] octet_t;
  octet_t [15:0] octets;
  logic [63:0] in1, in2;
  logic [7:0] control1, control2;
  ticks_t tick1, tick2;
  always_comb for (int unsigned i = 0; i < 8; i++) begin
    octets[i]     = {control2[i], in2[8*i+:8]};
    octets[i + 8] = {control1[i], in1[8*i+:8]};
  end

  // A start with a whole preamble after it, in lane 0 or 4 of the older column.
  function automatic logic whole(octet_t [15:0] from, int unsigned lane);
    whole = from[lane] == {1'b1, Start} && from[lane + 7] == {1'b0, 8'hd5};
    for (int unsigned i = 1; i < 7; i++) if (from[lane + i] != {1'b0, 8'h55}) whole = 1'b0;
  endfunction
  logic whole0, whole4;
  assign whole0 = whole(octets, 0);
  assign whole4 = whole(octets, 4);

  // The followed frame.
  (* anyseq *) logic follow_any;
  logic going;           // its octets are arriving
  logic ended, well;     // it has ended; with terminate
  logic lane4, none, spoilt;
  logic [15:0] length;   // modulo 2^16
  logic above, enough;   // more than MaxBytes; at least 64
  logic [124:0] when_;

  octet_t [7:0] column;
  assign column = lane4 ? octets[11:4] : octets[7:0];
  logic [3:0] bytes;     // bytes of it in this column
  logic wrong;
  always_comb begin
    bytes = 4'd8;
    for (int i = 7; i >= 0; i--) if (column[i][8] && column[i][7:0] != Error) bytes = 4'(i);
    wrong = 1'b0;
    for (int unsigned i = 0; i < 8; i++) if (i < 32'(bytes) && column[i][8]) wrong = 1'b1;
  end
  wire end_well = column[3'(bytes)] == {1'b1, Terminate};
  wire ends = bytes != 8;
  wire [15:0] to = length + 16'(bytes);

  // Its beats in the pipeline.
  typedef struct packed {
    logic        is;
    logic        first;
    logic        ends;
    logic [2:0]  final_byte;
    logic [15:0] to;
    logic        above;
    logic        enough;
    logic        spoilt;
    logic [63:0] data;
  } part_t;
  part_t now;
  part_t [3:1] past;
  always_comb begin
    now            = '0;
    now.is         = going && bytes != 0;
    now.first      = none;
    now.ends       = ends;
    now.final_byte = 3'(bytes - 4'd1);
    now.to         = to;
    now.above      = above || to > 16'(MaxBytes);
    now.enough     = enough || to >= 64;
    now.spoilt     = spoilt || wrong || ends && !end_well;
    for (int unsigned i = 0; i < 8; i++) now.data[8*i+:8] = column[i][7:0];
  end

  wire part_t out = past[3];
  wire last = ended && out.to == length;
  wire follow = follow_any && (whole0 || whole4);

  logic begun_q = 1'b0, begun2_q = 1'b0;
  logic valid_before, last_before;
  logic [4:1] whole_past;
  logic [31:0] crc_before;
  always_ff @(posedge clk_i) begin
    begun_q      <= 1'b1;
    begun2_q     <= begun_q;
    {in2, control2, in1, control1} <= {in1, control1, rxd_i, rxc_i};
    {tick2, tick1} <= {tick1, now_i};
    past         <= {past[2:1], now};
    crc_before   <= crc;
    valid_before <= valid_o;
    last_before  <= received_o.beat.last;
    whole_past   <= {whole_past[3:1], whole0 || whole4};
    if (going) begin
      if (bytes != 0) none <= 1'b0;
      spoilt <= spoilt || wrong;
      length <= to;
      above  <= now.above;
      enough <= now.enough;
      if (ends) begin
        going <= 1'b0;
        ended <= 1'b1;
        well  <= end_well;
      end
    end
    if (follow) begin
      going  <= 1'b1;
      ended  <= 1'b0;
      lane4  <= whole4;
      none   <= 1'b1;
      spoilt <= 1'b0;
      length <= '0;
      above  <= 1'b0;
      enough <= 1'b0;
      when_  <= {tick2, whole4, time_i};
    end
    if (!rst_ni) begin
      {in2, control2, in1, control1} <= '0;
      past         <= '0;
      going        <= 1'b0;
      ended        <= 1'b0;
      whole_past   <= '0;
      valid_before <= 1'b0;
    end
  end

  // The part of the older column that a frame in lane 4 has already used: an end there does not end what
  // follows.
  logic early_end;
  always_comb begin
    early_end = 1'b0;
    for (int unsigned i = 0; i < 4; i++) if (octets[i][8] && octets[i][7:0] != Error) early_end = 1'b1;
  end

  // A frame that is longer than a frame can be, or whose end is not known, has no valid length.
  function automatic logic counts(logic [13:0] is_, logic [15:0] must, logic more, logic least);
    return more ? is_ > 14'(MaxBytes) && least : 16'(is_) == must && least == (is_ >= 64);
  endfunction

  always_comb begin
    // No second frame is followed while the first is in the pipeline.
    if (follow_any) assume (!going && !now.is && !past[1].is && !past[2].is && !past[3].is);

    if (begun_q) begin
      if (out.is) begin
        rule_1_comes_out : assert (valid_o);
        rule_1_first : assert (received_o.beat.first == out.first);
        rule_1_last : assert (received_o.beat.last == last);
        rule_1_whole : assert (received_o.beat.data == out.data && received_o.beat.final_byte == out.final_byte);
        rule_2_stamp : assert ({received_o.stamp, received_o.half, received_o.time_} == when_);
        rule_3_bad : assert (received_o.beat.bad == (last && (spoilt || !well || above || !enough || crc_before != CrcResidue)));
      end
      if (going) begin
        rule_3_counted : assert (counted == (bytes != 0));
        if (counted) rule_3_counted_right : assert (counted_first == none && counted_final == 3'(bytes - 4'd1) && counted_data == now.data);
      end
      // Nothing else comes out: each first beat belongs to a start with a whole preamble, each other beat to
      // the one before.
      if (valid_o && received_o.beat.first) rule_4_by_a_start : assert (whole_past[4] && (!valid_before || last_before));
      if (valid_o && !received_o.beat.first) rule_4_in_line : assert (valid_before && !last_before);
      if (valid_before && !last_before) rule_4_to_the_last : assert (valid_o && !received_o.beat.first);

      // Meaning of the registers, for any frame in the pipeline.
      assert ({in1, control1, in2, control2} == {young_data, young_control, old_data, old_control});
      assert (tick1 == now1_q && (tick2 == now2_q || !begun2_q));
      if (!begun2_q) assert ({in2, control2} == '0);
      if (inside_q && half_q) assert (!early_end);
      assert (!some_q || inside_q || final_q);
      if (some_q) assert (held_q.last == final_q);
      if (inside_q) assert (first_q == (!some_q || final_q));
      if (some_q) assert (held_q.first == (!handed_q || beat_q.last));
      if (handed_q) assert (beat_q.last || some_q);
      if (handed_q) assert (beat_q.first == (!valid_o || received_o.beat.last));
      if (valid_o) assert (received_o.beat.last || handed_q);
      if (inside_q && first_q) assert (whole_past[1]);
      if (some_q && held_q.first) assert (whole_past[2]);
      if (handed_q && beat_q.first) assert (whole_past[3]);
      if (valid_o && received_o.beat.first) assert (whole_past[4]);

      // The same for the followed frame.
      assert (!going || !ended);
      if (going || past[1].is || past[2].is || past[3].is) begin
        assert (above || length <= 16'(MaxBytes));
        assert (above ? enough : enough == (length >= 64));
      end
      if (going) begin
        assert (inside_q && half_q == lane4 && first_q == none && wrong_q == spoilt && when_q == when_);
        assert (counts(length_q, length, above, enough));
        assert (none == !past[1].is);
      end
      for (int unsigned i = 1; i <= 3; i++) begin
        if (past[i].is) begin
          assert (going || ended);
          assert (past[i].above ? above : past[i].to <= 16'(MaxBytes));
          assert (!past[i].enough || enough);
          assert (!past[i].spoilt || spoilt || ended && !well);
          if (past[i].ends) assert (ended);
        end
      end
      if (past[1].is) begin
        assert (past[1].to == length && past[1].above == above && past[1].enough == enough);
        assert (past[1].ends == ended && past[1].spoilt == (spoilt || ended && !well));
        assert (some_q && final_q == past[1].ends && held_q.bad == past[1].spoilt && held_when_q == when_);
        assert (held_q.first == past[1].first && held_q.final_byte == past[1].final_byte && held_q.data == past[1].data);
        assert (counts(held_length_q, past[1].to, past[1].above, past[1].enough));
      end
      if (past[2].is) begin
        assert (handed_q && beat_when_q == when_);
        assert (beat_q.last == (ended && past[2].to == length));
        assert (beat_q.first == past[2].first && beat_q.final_byte == past[2].final_byte && beat_q.data == past[2].data);
        assert (counts(handed_length_q, past[2].to, past[2].above, past[2].enough));
        if (beat_q.last) assert (beat_q.bad == (spoilt || !well) && !past[1].is);
        else assert (past[1].is);
        if (beat_q.last) assert (past[2].above == above && past[2].enough == enough);
      end
      for (int unsigned i = 1; i <= 2; i++) if (past[i].is) assert (past[i].first == !past[i+1].is);
      for (int unsigned i = 1; i <= 2; i++)
        if (past[i].is && past[i+1].is) assert (past[i].to - past[i+1].to == 16'(past[i].final_byte) + 16'd1);
      if (past[3].is) assert (last == (!past[2].is) && (!last || past[3].above == above && past[3].enough == enough));
    end

    cover (begun_q && out.is && last && lane4 && !received_o.beat.bad && out.first == 0 && enough);
    cover (begun_q && out.is && last && !lane4 && received_o.beat.bad && well && enough && !spoilt);
  end
endmodule

bind mac_rx_xgmii mac_rx_xgmii_rules #(.MaxBytes(MaxBytes)) rules (
    .counted      (check.step_i),
    .counted_first(check.first_i),
    .counted_final(check.final_byte_i),
    .counted_data (check.data_i),
    .young_data   (young_q.data),
    .young_control(young_q.control),
    .old_data     (old_q.data),
    .old_control  (old_q.control),
    .*
);
