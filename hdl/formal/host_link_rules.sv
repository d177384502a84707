// Rules of host_link: which frames reach the queue, that their credits were taken, and that a refused request
// changes nothing. The request is decoded here a second time, from its words.
module host_link_rules
  import tare_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned CreditWidth = 12
) (
    input logic        clk_i,
    input logic        rst_ni,
    input logic        word_valid_i,
    input logic        word_ready_o,
    input logic [63:0] word_i,
    input logic        valid_o,
    input logic        ready_i,
    input beat_t       beat_o,
    input logic        write_o,
    input logic        read_o,
    input logic        live_i,
    input logic        live_valid_o,
    input logic        live_ready_i,
    input departure_t  live_departure_o,
    input beat_t       live_beat_o,
    input logic        use_valid_o,
    input logic [CreditWidth-1:0] use_o,
    input logic        use_refused_i,
    input logic        grant_valid_i,
    input logic        grant_ready_o,
    input logic [CreditWidth-1:0] grant_i,
    input logic        mark_valid_o,
    input logic [15:0] mark_o,
    input logic        hello,
    input logic        revoke_o,
    // Internal state, for the induction.
    input logic [5:0]  state,
    input logic [2:0]  then_,
    input logic [2:0]  value_from_,
    input logic [7:0]  kind,
    input logic [3:0]  why,
    input logic [2:0]  told,
    input logic        right_q,
    input logic        none_left_q,
    input logic [63:0] value_q,
    input logic [31:0] detail_q,
    input logic [15:0] length_q,
    input logic [7:0]  version_q,
    input logic [11:0] came_q,
    input logic [8:0]  left_q,
    input logic [8:0]  body_q,
    input logic [CreditWidth-1:0] beats_q,
    input logic [2:0]  own_parts_q,
    input logic [2:0]  all_parts_q,
    input logic        mine_q,
    input logic        typed_q,
    input logic        longer_q,
    input logic        frame_length_q,
    input logic        words_length_q,
    input logic        bare_q,
    input logic        place_q,
    input logic        eager_q,
    input logic        body_last_q,
    input logic        body_none_q,
    input logic [2:0]  final_byte_q,
    input logic        writes_q,
    input logic        reads_q,
    input logic        waited_q,
    input logic        is_hello_q,
    input logic        is_read_q,
    input logic        is_write_q,
    input logic        is_frame_q,
    input logic        is_mark_q,
    input logic        refused_q,
    input logic [8:0]  reach_q,
    input logic [CreditWidth-1:0] granted_q,
    input logic [47:0] total_q
);
  // The states by number.
  localparam logic [5:0] Size = 6'h01, Head0 = 6'h02, Head1 = 6'h03, Head2 = 6'h04, Head3 = 6'h05, Measure = 6'h06, Judge = 6'h07, Act = 6'h08,
      UseCredits = 6'h09, Push = 6'h0a, WriteWord = 6'h0b, Writing = 6'h0c, Wrote = 6'h0d, ReadWord = 6'h0e, Reading = 6'h0f,
      Rest = 6'h00, Drain = 6'h10, Finish = 6'h11, Tell = 6'h12, TakeSize = 6'h13, DropFcs = 6'h14, Used = 6'h15, PutHost = 6'h20,
      PutKind = 6'h21, PutHeader = 6'h22, PutHello = 6'h23, PutSmall = 6'h24,
      PutTotal = 6'h25, PutNow = 6'h26, PutRead = 6'h27, PutDeparted = 6'h28, PutStamp = 6'h2a, PutReceived = 6'h2b;

  localparam logic [2:0] TellWire = 3'd1, TellReceived = 3'd6;

  // What may follow the header of a frame to the host.
  logic [5:0] after, value_from;
  always_comb begin
    unique case (then_)
      3'd1: after = Drain;
      3'd2: after = Finish;
      3'd3: after = ReadWord;
      3'd4: after = PutDeparted;
      3'd5: after = PutReceived;
      default: after = Rest;
    endcase
    unique case (value_from_)
      3'd0: value_from = PutHello;
      3'd1: value_from = PutSmall;
      3'd2: value_from = PutTotal;
      3'd3: value_from = PutNow;
      default: value_from = PutStamp;
    endcase
  end

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width(64)) words_in (
      .clk_i, .rst_ni, .valid_i(word_valid_i), .ready_i(word_ready_o), .data_i(word_i));
  stream_rules #(.Assume(1'b0), .Width($bits(beat_t))) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(beat_o));
  stream_rules #(.Assume(1'b0), .Width($bits(departure_t) + $bits(beat_t)), .FreeReady(1'b0)) live_out (
      .clk_i, .rst_ni, .valid_i(live_valid_o), .ready_i(live_ready_i), .data_i({live_departure_o, live_beat_o}));

  logic begun_q = 1'b0;

  // A link frame, from its words: words still to come, words that came, its size, and its header.
  wire word = word_valid_i && word_ready_o;
  logic [8:0] to_come;
  logic [2:0] place;  // of the next word: 0 size, 1 … 4 header, 5 body
  logic [11:0] bytes;
  logic [3:0][63:0] head;
  wire [15:0] type_ = head[1][47:32];
  wire [7:0] version = head[1][55:48];
  wire [7:0] asked = head[1][63:56];
  wire [15:0] length = head[2][31:16];
  wire [31:0] detail = head[2][63:32];
  wire [63:0] value = head[3];
  wire ours = (head[0][47:0] == ModuleAddress || head[0][47:0] == '1) && type_ == LinkType;
  // docs/fpga-reference.md, errors 1, 2, 3, 4, 11.
  wire frame_right = ours && version == 8'd1 && asked == Frame
      && length >= 16'd60 && length <= 16'd1518 && length <= 16'(bytes) - 16'd36
      && !(detail[1:0] != 0 && value >= 64'd1 << 62)
      && !(detail[8] && detail[31:16] < 16'd4)
      && !(detail[8] && 32'(detail[31:16]) * 2 + 18 > 32'(length));
  wire words_right = ours && version == 8'd1 && length != 0 && length[2:0] == 0 && length <= 16'd1440 && length <= 16'(bytes) - 16'd36;

  // Credits taken for beats that are not yet in the queue, and credits granted since hello.
  logic [CreditWidth-1:0] paid;
  logic [47:0] granted;
  wire used = use_valid_o && !use_refused_i;
  wire pushed = live_valid_o && live_ready_i;
  logic taken_q;
  wire grants = grant_valid_i && grant_ready_o;

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    taken_q <= word;
    if (word) begin
      if (to_come == 0) begin
        to_come <= word_i[24:16];
        bytes   <= word_i[11:0];
        place   <= 3'd1;
      end else begin
        to_come <= to_come - 1'b1;
        if (place != 3'd5) begin
          head[2'(place-3'd1)] <= word_i;
          place                <= place + 1'b1;
        end
      end
    end
    paid    <= paid + (used ? use_o : '0) - CreditWidth'(pushed);
    granted <= (revoke_o ? '0 : granted) + (grants ? 48'(grant_i) : '0);
    if (!rst_ni) begin
      to_come <= '0;
      paid    <= '0;
      granted <= '0;
    end
  end

  wire [8:0] in_all = 9'((12'(came_q) + 12'd43) >> 3);
  wire judged_right = !longer_q && !frame_length_q && !(value_q[63:62] != 0 && detail_q[1:0] != 0) && !place_q;
  wire in_header = state inside {Measure, Judge, Act, UseCredits, Used};

  always_comb begin
    // What host_store gives: at most one word every other cycle, the size of a frame that fits, and as many
    // words as it has.
    if (taken_q) assume (!word_valid_i);
    if (word && to_come == 0) begin
      assume (word_i[11:0] >= 12'd36 && word_i[11:0] <= 12'd2052);
      assume (word_i[24:16] == 9'((word_i[11:0] + 12'd7) >> 3));
    end
    // What credits gives (its rule 1): never more than the capacity.
    assume (32'(granted_q) + 32'(grant_i) < 2 ** CreditWidth);
    if (use_refused_i) assume (use_valid_o);

    if (begun_q) begin
      if (use_valid_o) begin
        rule_3_right : assert (frame_right);
        rule_3_beats : assert (16'(use_o) == (length + 16'd7) >> 3);
        rule_3_one_at_a_time : assert (paid == 0);
        rule_3_no_grant_at_the_time : assert (!grant_ready_o);
      end
      if (live_valid_o) begin
        rule_3_paid : assert (paid != 0 && live_beat_o.last == (paid == 1));
        rule_3_as_asked : assert (live_departure_o.from == detail[1:0] && live_departure_o.value == value);
        rule_3_stamp : assert (live_departure_o.stamp.enable == detail[8] && (!detail[8] || live_departure_o.stamp.place == detail[23:16]));
        rule_3_data : assert (live_beat_o.data == word_i && place == 5 && to_come != 0);
        rule_3_end : assert (live_beat_o.final_byte == (live_beat_o.last ? 3'(length - 1'b1) : 3'd7));
      end
      if (write_o) rule_5_writes_asked : assert (words_right && asked == Write);
      if (read_o) rule_5_reads_asked : assert (words_right && asked == Read);
      if (hello) rule_5_hello_asked : assert (ours && version == 1 && asked == Hello);
      if (mark_valid_o) rule_5_marks_asked : assert (ours && version == 1 && asked == Mark && mark_o == value[15:0]);
      rule_6_no_grant_lost : assert (total_q + 48'(granted_q) == granted);

      // Meaning of the registers.
      assert (state <= Used || (state >= PutHost && state <= PutDeparted) || state == PutStamp || state == PutReceived);
      assert (left_q == to_come && none_left_q == (to_come == 0));
      assert (eager_q == (state inside {Size, Head0, Head1, Head2, Head3, WriteWord, ReadWord}));
      assert ((paid != 0) == (state == Push || (state == Used && !refused_q)));
      if (state == Used && !refused_q) assert (paid == beats_q);
      if (state == Size) assert (to_come == 0);
      if (state inside {Head0, Head1, Head2, Head3}) begin
        assert (place == 3'(state - Head0) + 3'd1 && came_q == bytes - 12'd36 && came_q <= 12'd2016);
        assert (left_q == in_all - 9'(state - Head0));
      end
      if (state inside {Head1, Head2, Head3} || in_header) begin
        for (int unsigned i = 0; i < 3; i++) begin
          assert (own_parts_q[i] == (head[0][16*i+:16] == ModuleAddress[16*i+:16]));
          assert (all_parts_q[i] == (head[0][16*i+:16] == '1));
        end
      end
      if (state inside {Head2, Head3} || in_header) assert (mine_q == (head[0][47:0] == ModuleAddress || head[0][47:0] == '1));
      if (state inside {Head2, Head3, Push} || in_header) begin
        assert (kind == asked && version_q == version && typed_q == (type_ == LinkType));
      end
      if (bare_q) assert (state inside {Rest, Finish, PutHost, PutKind, WriteWord});
      if (state == Head3 || in_header) assert (detail_q == detail && length_q == length);
      if (in_header) begin
        assert (value_q == value && place == 5 && came_q == bytes - 12'd36 && came_q <= 12'd2016 && left_q == in_all - 9'd4);
      end
      if (state == Measure) assert (reach_q == 9'(detail[23:16]) + 9'd9);
      if (state == Head3 || in_header) begin
        assert (is_hello_q == (kind == Hello) && is_read_q == (kind == Read) && is_write_q == (kind == Write));
        assert (is_frame_q == (kind == Frame) && is_mark_q == (kind == Mark));
      end
      if (state inside {Judge, Act, UseCredits, Used}) begin
        assert (mine_q && typed_q);
        assert (longer_q == (length > 16'(came_q)));
        assert (frame_length_q == (length < 16'd60 || length > 16'd1518));
        assert (words_length_q == (length == 0 || length[2:0] != 0 || length > 16'd1440));
        assert (16'(beats_q) == 16'(CreditWidth'((length + 16'd7) >> 3)));
        assert (place_q == (detail[8] && (detail[31:24] != 0 || detail[23:18] == 0 || {2'b0, detail[23:16]} + 10'd9 > length[10:1])));
      end
      if (state inside {Act, UseCredits, Used}) assert (body_q == 9'(beats_q));
      if (state inside {UseCredits, Used, Reading, PutRead}) assert (body_last_q == (body_q == 1));
      if (state == Wrote || (state == Writing && waited_q)) assert (body_none_q == (body_q == 0));
      if (in_header && state != Measure) assert (final_byte_q == 3'(length_q - 1'b1));
      if (state == Act) assert (right_q == (why == Nothing));
      if (state == Act && why == Nothing) begin
        assert (version_q == LinkVersion && kind inside {Hello, Read, Write, Frame, Mark});
        if (kind == Frame) assert (judged_right);
        if (kind inside {Read, Write}) assert (!longer_q && !words_length_q);
      end
      if (state inside {UseCredits, Used}) assert (kind == Frame && version_q == LinkVersion && judged_right);
      if (state == Push) begin
        assert (frame_right && kind == Frame && place == 5);
        assert (paid == CreditWidth'(body_q) && to_come >= body_q && body_q != 0);
        assert ((taken_q || body_last_q == (body_q == 1)) && final_byte_q == 3'(length - 1'b1));
        assert (length_q == length && detail_q == detail && value_q == value);
      end
      if (state inside {WriteWord, Writing, Wrote}) begin
        assert (words_right && asked == Write && to_come >= body_q && place == 5);
        if (state == WriteWord) assert (body_q != 0);
      end
      if (state inside {ReadWord, Reading, PutRead} || (state[5] && after == ReadWord)) begin
        assert (words_right && asked == Read && body_q != 0 && place == 5);
        assert (to_come + 9'(state == Reading || state == PutRead) >= body_q);
      end
      if (state == PutDeparted) assert (after == PutDeparted);
      if (state inside {PutReceived, DropFcs}) assert (after == PutReceived);
      // Nothing of a link frame is left when the next may come.
      if (state inside {Rest, Finish, Tell, TakeSize, DropFcs, PutDeparted, PutReceived}) assert (to_come == 0);
      if (state[5] && state != PutRead && !(after inside {Drain, ReadWord})) assert (to_come == 0);
      // The state after the header of a frame to the host.
      if (state[5] && !(state inside {PutRead, PutDeparted, PutReceived}))
        assert (after inside {Rest, Drain, Finish, ReadWord, PutDeparted, PutReceived});
      if (state inside {PutHost, PutKind, PutHeader}) assert (value_from inside {PutHello, PutSmall, PutTotal, PutNow, PutStamp});
      if (state inside {UseCredits, Used, WriteWord, Writing, Wrote}) assert (value_from == PutSmall && after == Drain);
      if (state == Tell) assert (told >= TellWire && told <= TellReceived);
      if (state == TakeSize) assert (value_from == PutStamp && after == PutReceived);
      if (writes_q) assert (state == Writing && !waited_q);
      if (write_o) assert (state == Writing && waited_q);
      if (waited_q) assert (state == Writing);
      if (reads_q) assert (state == Reading);

      cover (pushed && live_beat_o.last);
      cover (use_valid_o && use_refused_i);
      cover (valid_o && beat_o.last);
    end
  end
endmodule

bind host_link host_link_rules #(
    .CreditWidth(CreditWidth)
) rules (
    .state     (state_q),
    .then_     (then_q),
    .value_from_(value_from_q),
    .kind      (kind_q),
    .why       (why_q),
    .told      (tell_q),
    .*
);
