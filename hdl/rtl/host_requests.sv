// Handles the host's requests and answers them, one at a time and in order. So a write has taken effect before
// the next frame is looked at, and a frame that waits for its turn needs no memory besides the store in front of
// this module. The protocol is in docs/fpga-reference.md.
//
//   store ──► header ──► judge ──┬─► registers ──────────► answer ──► host_link
//                                ├─► credits, paced queue
//                                └─► marks
//
// A link frame arrives here whole. It is judged before any of it takes effect, so a refused frame changes
// nothing. Nothing here waits for long: frames have credits, and a mark without a free place is refused. Only
// while the queue is being forgotten does a frame wait, so that it is not forgotten with the frames before it.
//
// Rules (formal/host_requests_rules.sv, but for 2: simulated):
//   1 what is pushed into the queue is a whole frame whose credits were taken before;
//   2 a request is answered at most once;
//   3 nothing is written, read, marked or restarted without a request.
module host_requests
  import tare_pkg::*;
  import registers_pkg::*;
  import host_pkg::*;
(
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [31:0]      build_i,
    // From the store: for each frame a word with its bytes (with FCS) and its number of beats, then the beats.
    input  logic             word_valid_i,
    output logic             word_ready_o,
    input  logic [63:0]      word_i,
    // The next request may begin. There is none while `rest_o` is high.
    input  logic             go_i,
    output logic             rest_o,
    // Answers.
    output message_t         message_o,
    input  logic             payload_ready_i,
    output logic [47:0]      host_o,  // address of the host
    // Registers. The data of an answer holds until the next.
    output register_ask_t    registers_o,
    input  register_answer_t registers_i,
    // Live frames, credits, marks.
    input  logic             live_i,
    input  logic             forgetting_i,
    output logic             live_valid_o,
    input  logic             live_ready_i,
    output live_t            live_o,
    output credit_ask_t      credits_o,
    input  credit_answer_t   credits_i,
    output logic             using_o,  // no credits may be granted in this cycle
    output logic             mark_valid_o,
    input  logic             mark_ready_i,
    output logic [15:0]      mark_o,
    // Events.
    output logic             hello_o,
    output logic             heard_o,  // a frame for the module
    output logic [15:0]      count_o,  // an error, for the counter of its kind
    input  logic             calm_i  // all errors were counted, two cycles ago
);
  // One-hot in synthesis: decoding a number would be a third of the longest paths. Therefore every next state
  // is a named constant.
  typedef enum logic [4:0] {
    Rest,
    Size,
    Head0,
    Head1,
    Head2,
    Head3,
    Measure,
    Judge,
    Act,
    UseCredits,
    Used,       // whether credits were enough is known a cycle after the question, as the sum takes half a cycle
    Push,
    WriteWord,
    Writing,
    Wrote,
    ReadWord,
    Reading,
    Drain,
    Finish,
    // An answer: one of two values, and the words that were read.
    PutHello,
    PutSmall,
    PutRead
  } state_e;

  (* fsm_encoding = "one-hot" *)
  state_e state_q;

  // The state after the value of an answer.
  typedef enum logic [1:0] {
    ThenDrain,
    ThenFinish,
    ThenRead
  } then_e;

  // The source of the detail of an answer: unchanged, an error, or the build.
  typedef enum logic [1:0] {
    DetailKept,
    DetailError,
    DetailBuild
  } detail_e;

  // The header: first the request's, then that of the answer.
  logic [63:0] value_q;
  logic [47:0] source_q, host_q;
  logic [31:0] detail_q;
  logic [15:0] number_q, length_q, expected_q, was_expected_q;
  logic [7:0] version_q;
  kind_e kind_q, out_kind_q;
  logic [11:0] came_q;
  logic [8:0] left_q;   // words of the frame still in the store
  logic [8:0] body_q;   // remaining beats of the body
  // As of the previous cycle. Beats are at least two cycles apart, because the store rests after each.
  logic body_last_q, body_none_q;
  credits_t beats_q;
  logic [2:0] own_parts_q, all_parts_q;  // halfwords of the address equal to the module's, or to broadcast
  logic mine_q, typed_q, longer_q, frame_length_q, words_length_q, place_q, jump_q, right_q, none_left_q;
  logic is_hello_q, is_read_q, is_write_q, is_frame_q, is_mark_q;
  logic [8:0] reach_q;  // end of the signature, in halfwords
  logic [31:0] address_q;
  logic [31:0] small_q;  // the value of an answer other than hello's
  logic outside_q;  // not an address of registers
  // Errors sent after the answer: missing numbers, and the first address without a register.
  logic known_q, lost_q, astray_q;
  logic [31:0] astray_at_q;
  why_e why_q, code_q;
  detail_e detail_from_q;
  then_e then_q;

  // High in Size, the heads, WriteWord and ReadWord. A register of its own, as it starts a long path.
  logic eager_q;
  wire take_word = eager_q || (state_q == Push && live_ready_i) || (state_q == Drain && !none_left_q);
  assign word_ready_o = take_word;
  wire word = word_valid_i && take_word;

  assign rest_o = state_q == Rest;

  // The body of a frame is passed straight on.
  assign live_valid_o = state_q == Push && word_valid_i;
  logic [2:0] final_byte_q;  // of a live frame's last beat
  always_ff @(posedge clk_i) begin
    body_last_q  <= body_q == 9'd1;
    body_none_q  <= body_q == 0;
    final_byte_q <= 3'(length_q - 1'b1);
  end
  wire stamp_t stamp = '{enable: detail_q[8], place: detail_q[23:16]};
  assign live_o.departure = '{from: from_e'(detail_q[1:0]), value: value_q, stamp: stamp};
  assign live_o.beat = '{last: body_last_q, final_byte: body_last_q ? final_byte_q : 3'd7, data: word_i};
  logic revoke_q;  // one cycle after hello: a new session
  assign credits_o = '{revoke: revoke_q, use_: state_q == UseCredits && !forgetting_i, beats: beats_q};
  assign using_o = state_q == UseCredits;
  assign mark_valid_o = state_q == Act && is_mark_q && right_q && mark_ready_i;
  assign mark_o = value_q[15:0];
  assign hello_o = state_q == Act && is_hello_q && right_q;
  assign heard_o = state_q == Finish && mine_q && typed_q;
  assign host_o = host_q;

  // Answers.
  wire is_value = state_q == PutHello || state_q == PutSmall;
  assign message_o.begins = is_value;
  assign message_o.header = '{kind: out_kind_q, number: number_q, length: length_q, detail: detail_q};
  assign message_o.valid = is_value || state_q == PutRead;
  // The value is the frame's last word if no body follows.
  assign message_o.payload.last = (is_value && then_q != ThenRead) || (state_q == PutRead && body_last_q);
  assign message_o.payload.final_byte = 3'd7;
  always_comb begin
    unique case (state_q)
      PutHello: message_o.payload.data = {Magic, Layout};
      PutRead: message_o.payload.data = {outside_q ? '0 : registers_i.data, address_q};
      default: message_o.payload.data = {32'b0, small_q};
    endcase
  end

  // An address that belongs to no register, or to none that can be read or written. `registers` decides that,
  // as words arrive late in a cycle.
  wire outside = address_q[31:13] != 0 || address_q[1:0] != 0;
  logic [31:0] data_q;
  logic write_q, writes_q, reads_q, waited_q;
  // An address without a register is read like any other and its value replaced by 0, so that a read does not
  // wait for the address to be decoded.
  assign registers_o = '{write: write_q, read: reads_q, address: address_q[12:0], data: data_q};
  wire asked = state_q == Wrote || (state_q == Reading && registers_i.valid);

  // What is wrong with a request, from the measurements above.
  why_e judged;
  always_comb begin
    judged = Nothing;
    if (version_q != LinkVersion) judged = WrongVersion;
    else
      unique case (1'b1)
        is_hello_q: ;
        is_mark_q: if (!mark_ready_i) judged = WrongState;
        is_read_q, is_write_q: if (longer_q || words_length_q) judged = WrongLength;
        is_frame_q:
          if (longer_q || frame_length_q) judged = WrongLength;
          else if (value_q[63:62] != 0 && detail_q[1:0] != AtOnce) judged = WrongTime;
          else if (place_q) judged = WrongPlace;
          else if (!live_i) judged = WrongState;
        default: judged = WrongKind;
      endcase
  end

  // The value of an error. It is known three cycles after Act began. Its sources are registers, all but one of
  // which are 0, as a flip-flop's reset costs less than selecting the source.
  logic [15:0] says_length_q, says_place_q, says_time_q, says_state_q, said_q;
  logic [7:0] says_version_q, says_kind_q;
  logic acted1_q, acted_q;
  always_ff @(posedge clk_i) begin
    says_version_q <= why_q == WrongVersion ? version_q : '0;
    says_kind_q    <= why_q == WrongKind ? kind_q : '0;
    says_length_q  <= why_q == WrongLength ? length_q : '0;
    says_place_q   <= why_q == WrongPlace ? detail_q[31:16] : '0;
    says_time_q    <= why_q == WrongTime ? value_q[63:48] : '0;
    says_state_q   <= why_q == WrongState ? value_q[15:0] : '0;
    said_q <= says_length_q | says_place_q | says_time_q | says_state_q | {8'b0, says_version_q | says_kind_q};
  end

  wire wrong = state_q == Act && !right_q && acted_q;
  logic refused_q;
  wire refused = state_q == Used && refused_q;
  // Errors that are sent after the answer of the request that caused them.
  wire tell_lost = state_q == Finish && lost_q;
  wire tell_astray = state_q == Finish && !lost_q && astray_q;

  // An error waits until the counter has taken those before it. Errors are more than three cycles apart, so
  // `calm_i` may be two cycles old.
  always_comb begin
    count_o = '0;
    if (wrong && calm_i) count_o[why_q] = 1'b1;
    if (refused) count_o[NoCredit] = 1'b1;
    if (tell_lost && calm_i) count_o[Lost] = 1'b1;
    if (tell_astray && calm_i) count_o[WrongAddress] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    writes_q <= 1'b0;
    reads_q  <= 1'b0;
    write_q  <= writes_q && !outside;
    waited_q <= state_q == Writing && !waited_q;
    eager_q  <= 1'b0;
    if (word) begin
      left_q      <= left_q - 1'b1;
      none_left_q <= left_q == 9'd1;
    end

    unique case (state_q)
      Rest: begin
        eager_q <= go_i;
        if (go_i) state_q <= Size;
      end

      // The header: two addresses of 48 bits, then type, version and kind, number, length, detail and value.
      Size: begin
        eager_q <= 1'b1;
        if (word) begin
          came_q      <= word_i[11:0] - 12'(HeaderBytes + FcsBytes);
          left_q      <= word_i[24:16];
          none_left_q <= 1'b0;
          state_q     <= Head0;
        end
      end
      // The registers load in every cycle of a waiting state; the last load is the right one.
      Head0: begin
        for (int unsigned i = 0; i < 3; i++) begin
          own_parts_q[i] <= word_i[16*i+:16] == ModuleAddress[16*i+:16];
          all_parts_q[i] <= word_i[16*i+:16] == '1;
        end
        source_q[15:0] <= word_i[63:48];
        eager_q        <= 1'b1;
        if (word) state_q <= Head1;
      end
      Head1: begin
        source_q[47:16] <= word_i[31:0];
        eager_q         <= 1'b1;
        typed_q         <= word_i[47:32] == LinkType;
        version_q       <= word_i[55:48];
        kind_q          <= kind_e'(word_i[63:56]);
        if (word) state_q <= Head2;
      end
      Head2: begin
        {detail_q, length_q, number_q} <= word_i;
        eager_q <= 1'b1;
        if (word) state_q <= Head3;
      end
      Head3: begin
        value_q <= word_i;
        eager_q <= !word;
        if (word) state_q <= Measure;
      end

      Measure: begin
        longer_q       <= length_q > 16'(came_q);
        frame_length_q <= below(length_q, MinFrameBytes) || !below(length_q, MaxFrameBytes + 1);
        words_length_q <= length_q == 0 || !below(length_q, 8 * MaxBodyBeats + 1) || length_q[2:0] != 0;
        // The signature has nine halfwords. A length above 2 047 is refused as wrong anyway.
        place_q        <= detail_q[8] && (detail_q[31:24] != 0 || detail_q[23:18] == 0 || {1'b0, reach_q} > length_q[10:1]);
        jump_q         <= number_q != expected_q;
        beats_q        <= CreditWidth'((length_q + 16'd7) >> 3);
        state_q        <= mine_q && typed_q ? Judge : Drain;
        lost_q         <= 1'b0;
      end

      Judge: begin
        why_q          <= judged;
        right_q        <= judged == Nothing;
        body_q         <= 9'(beats_q);
        was_expected_q <= expected_q;
        // Frames of another version do not count for the numbers, and hello restarts them.
        if (version_q == LinkVersion) expected_q <= number_q + 1'b1;
        lost_q         <= jump_q && known_q && version_q == LinkVersion && !is_hello_q;
        state_q        <= Act;
      end

      Act:
        if (!right_q) begin
          small_q <= 32'(said_q);
          if (calm_i && acted_q) state_q <= PutSmall;
        end else begin
          small_q <= '0;
          unique case (1'b1)
            is_hello_q: begin
              host_q  <= source_q;
              known_q <= 1'b1;
              state_q <= PutHello;
            end
            is_read_q: begin
              detail_q <= 32'(body_q);
              state_q  <= PutSmall;
            end
            is_write_q: begin
              eager_q  <= 1'b1;
              detail_q <= 32'(body_q);
              state_q  <= WriteWord;
            end
            is_frame_q: state_q <= UseCredits;
            default: state_q <= Drain;
          endcase
        end

      UseCredits:
        if (!forgetting_i) begin
          refused_q <= credits_i.refused;
          state_q   <= Used;
        end
      Used: begin
        state_q <= Push;
        small_q <= 32'(credits_i.outstanding);
        if (refused_q) state_q <= PutSmall;
      end
      Push:
        if (word) begin
          body_q <= body_q - 1'b1;
          if (body_last_q) state_q <= Drain;
        end

      WriteWord: begin
        {data_q, address_q} <= word_i;
        eager_q <= !word;
        if (word) begin
          writes_q <= 1'b1;
          body_q   <= body_q - 1'b1;
          state_q  <= Writing;
        end
      end
      Writing: if (waited_q) state_q <= Wrote;
      Wrote: begin
        eager_q <= !body_none_q;
        state_q <= body_none_q ? PutSmall : WriteWord;
      end

      ReadWord: begin
        address_q <= word_i[31:0];
        eager_q   <= !word;
        if (word) begin
          reads_q <= 1'b1;
          state_q <= Reading;
        end
      end
      Reading: if (registers_i.valid) state_q <= PutRead;
      PutRead:
        if (payload_ready_i) begin
          body_q  <= body_q - 1'b1;
          eager_q <= !body_last_q;
          state_q <= body_last_q ? Drain : ReadWord;
        end

      // Padding, FCS, and everything not addressed to the module.
      Drain: if (none_left_q) state_q <= Finish;
      Finish: begin
        state_q <= tell_lost || tell_astray ? (calm_i ? PutSmall : Finish) : Rest;
        small_q <= lost_q ? 32'(was_expected_q) : astray_at_q;
        if (lost_q) lost_q <= !calm_i;
      end

      // Detail and length have their values in the second cycle, before the header is used.
      PutHello, PutSmall: begin
        if (detail_from_q == DetailError) detail_q <= {16'b0, kind_q, 4'b0, code_q};
        if (detail_from_q == DetailBuild) detail_q <= build_i;
        if (payload_ready_i) begin
          unique case (then_q)
            ThenFinish: state_q <= Finish;
            ThenRead: begin
              eager_q <= 1'b1;
              state_q <= ReadWord;
            end
            default: state_q <= Drain;
          endcase
        end
      end
      default: state_q <= Rest;
    endcase

    if (is_value && then_q != ThenRead) length_q <= '0;

    revoke_q <= hello_o;
    if (!rst_ni) begin
      state_q     <= Rest;
      host_q      <= '1;
      left_q      <= '0;
      none_left_q <= 1'b1;
      eager_q     <= 1'b0;
      writes_q    <= 1'b0;
      reads_q     <= 1'b0;
      write_q     <= 1'b0;
      waited_q    <= 1'b0;
      known_q     <= 1'b0;
      revoke_q    <= 1'b0;
    end
  end

  // Decoded once here because it is used often. The header is stable for more than a cycle before it is needed.
  always_ff @(posedge clk_i) begin
    is_hello_q <= kind_q == Hello;
    is_read_q  <= kind_q == Read;
    is_write_q <= kind_q == Write;
    is_frame_q <= kind_q == Frame;
    is_mark_q  <= kind_q == Mark;
    mine_q     <= own_parts_q == '1 || all_parts_q == '1;
    acted1_q   <= state_q == Act;
    acted_q    <= acted1_q && state_q == Act;
    outside_q  <= outside;
    reach_q    <= 9'(detail_q[23:16]) + 9'd9;
  end

  // The first address of a request without a register. Registered a cycle later, while the address is still
  // stable.
  logic stray_q;
  always_ff @(posedge clk_i) begin
    stray_q <= asked && (outside_q || registers_i.unknown);
    if (stray_q && !astray_q) astray_at_q <= address_q;
    astray_q <= (astray_q || stray_q) && !(state_q == Measure || (tell_astray && calm_i));
    if (!rst_ni) stray_q <= 1'b0;
  end

  // Kind and body of an answer. They depend on the state alone, as the conditions inside the states would make
  // the longest path; if no answer follows, they are not used.
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Act: begin
        out_kind_q    <= right_q ? kind_e'(8'h80 | kind_q) : Error;
        then_q        <= right_q && is_read_q ? ThenRead : ThenDrain;
        detail_from_q <= !right_q ? DetailError : is_hello_q ? DetailBuild : DetailKept;
        code_q        <= why_q;
      end
      UseCredits: out_kind_q <= Error;
      Used: begin
        detail_from_q <= DetailError;
        code_q        <= NoCredit;
      end
      Finish: begin
        out_kind_q    <= Error;
        then_q        <= ThenFinish;
        detail_from_q <= DetailError;
        code_q        <= lost_q ? Lost : WrongAddress;
      end
      default: ;
    endcase
  end
endmodule
