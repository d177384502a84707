// Rules of host_requests: which frames reach the queue, that their credits were taken, and that a refused request
// changes nothing. The request is decoded here a second time, from its words.
module host_requests_rules
  import tare_pkg::*;
  import registers_pkg::*;
  import host_pkg::*;
(
    input logic          clk_i,
    input logic          rst_ni,
    input logic          word_valid_i,
    input logic          word_ready_o,
    input logic [63:0]   word_i,
    input message_t      message_o,
    input register_ask_t registers_o,
    input logic          live_valid_o,
    input logic          live_ready_i,
    input live_t         live_o,
    input credit_ask_t   credits_o,
    input credit_answer_t credits_i,
    input logic          using_o,
    input logic          mark_valid_o,
    input logic [15:0]   mark_o,
    input logic          hello_o,
    // Internal state, for the induction.
    input logic [4:0]    state,
    input logic [1:0]    then_,
    input logic [7:0]    kind,
    input logic [3:0]    why,
    input logic          right_q,
    input logic          none_left_q,
    input logic [63:0]   value_q,
    input logic [31:0]   detail_q,
    input logic [15:0]   length_q,
    input logic [7:0]    version_q,
    input logic [11:0]   came_q,
    input logic [8:0]    left_q,
    input logic [8:0]    body_q,
    input credits_t      beats_q,
    input logic [2:0]    own_parts_q,
    input logic [2:0]    all_parts_q,
    input logic          mine_q,
    input logic          typed_q,
    input logic          longer_q,
    input logic          frame_length_q,
    input logic          words_length_q,
    input logic          place_q,
    input logic          eager_q,
    input logic          body_last_q,
    input logic          body_none_q,
    input logic [2:0]    final_byte_q,
    input logic          writes_q,
    input logic          waited_q,
    input logic          is_hello_q,
    input logic          is_read_q,
    input logic          is_write_q,
    input logic          is_frame_q,
    input logic          is_mark_q,
    input logic          refused_q,
    input logic [8:0]    reach_q
);
  // The states by number.
  localparam logic [4:0] Rest = 0, Size = 1, Head0 = 2, Head1 = 3, Head2 = 4, Head3 = 5, Measure = 6, Judge = 7, Act = 8, UseCredits = 9,
      Used = 10, Push = 11, WriteWord = 12, Writing = 13, Wrote = 14, ReadWord = 15, Reading = 16, Finish = 18, PutHello = 19,
      PutSmall = 20, PutRead = 21;
  localparam logic [1:0] ThenDrain = 0, ThenFinish = 1, ThenRead = 2;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width(64)) words_in (
      .clk_i, .rst_ni, .valid_i(word_valid_i), .ready_i(word_ready_o), .data_i(word_i));
  stream_rules #(.Assume(1'b0), .Width($bits(live_t)), .FreeReady(1'b0)) live_out (
      .clk_i, .rst_ni, .valid_i(live_valid_o), .ready_i(live_ready_i), .data_i(live_o));

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

  // Credits taken for beats that are not yet in the queue.
  credits_t paid;
  wire used = credits_o.use_ && !credits_i.refused;
  wire pushed = live_valid_o && live_ready_i;
  logic taken_q;

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
    paid <= paid + (used ? credits_o.beats : '0) - CreditWidth'(pushed);
    if (!rst_ni) begin
      to_come <= '0;
      paid    <= '0;
    end
  end

  wire [8:0] in_all = 9'((12'(came_q) + 12'd43) >> 3);
  wire judged_right = !longer_q && !frame_length_q && !(value_q[63:62] != 0 && detail_q[1:0] != 0) && !place_q;
  wire is_value = state inside {PutHello, PutSmall};
  wire in_header = state inside {Measure, Judge, Act, UseCredits, Used};

  always_comb begin
    // What host_store gives: at most one word every other cycle, the size of a frame that fits, and as many
    // words as it has.
    if (taken_q) assume (!word_valid_i);
    if (word && to_come == 0) begin
      assume (word_i[11:0] >= 12'd36 && word_i[11:0] <= 12'd2052);
      assume (word_i[24:16] == 9'((word_i[11:0] + 12'd7) >> 3));
    end
    if (credits_i.refused) assume (credits_o.use_);

    if (begun_q) begin
      if (credits_o.use_) begin
        rule_1_right : assert (frame_right);
        rule_1_beats : assert (16'(credits_o.beats) == (length + 16'd7) >> 3);
        rule_1_one_at_a_time : assert (paid == 0);
        rule_1_no_grant_at_the_time : assert (using_o);
      end
      if (live_valid_o) begin
        rule_1_paid : assert (paid != 0 && live_o.beat.last == (paid == 1));
        rule_1_as_asked : assert (live_o.departure.from == detail[1:0] && live_o.departure.value == value);
        rule_1_stamp : assert (live_o.departure.stamp.enable == detail[8] && (!detail[8] || live_o.departure.stamp.place == detail[23:16]));
        rule_1_data : assert (live_o.beat.data == word_i && place == 5 && to_come != 0);
        rule_1_end : assert (live_o.beat.final_byte == (live_o.beat.last ? 3'(length - 1'b1) : 3'd7));
      end
      if (registers_o.write) rule_3_writes_asked : assert (words_right && asked == Write);
      if (registers_o.read) rule_3_reads_asked : assert (words_right && asked == Read);
      if (hello_o) rule_3_hello_asked : assert (ours && version == 1 && asked == Hello);
      if (mark_valid_o) rule_3_marks_asked : assert (ours && version == 1 && asked == Mark && mark_o == value[15:0]);

      // Meaning of the registers.
      assert (state <= PutRead);
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
      if (state inside {ReadWord, Reading, PutRead} || (is_value && then_ == ThenRead)) begin
        assert (words_right && asked == Read && body_q != 0 && place == 5);
        assert (to_come + 9'(state == Reading || state == PutRead) >= body_q);
      end
      // Nothing of a link frame is left when the next may come.
      if (state inside {Rest, Finish} || (is_value && then_ == ThenFinish)) assert (to_come == 0);
      if (is_value) assert (then_ inside {ThenDrain, ThenFinish, ThenRead});
      if (state inside {UseCredits, Used, WriteWord, Writing, Wrote}) assert (then_ == ThenDrain);
      if (writes_q) assert (state == Writing && !waited_q);
      if (registers_o.write) assert (state == Writing && waited_q);
      if (waited_q) assert (state == Writing);
      if (registers_o.read) assert (state == Reading);

      cover (pushed && live_o.beat.last);
      cover (credits_o.use_ && credits_i.refused);
      cover (state == PutRead && message_o.payload.last);
    end
  end
endmodule

bind host_requests host_requests_rules rules (
    .state(state_q),
    .then_(then_q),
    .kind (kind_q),
    .why  (why_q),
    .*
);
