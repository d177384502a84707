// Handles the host's requests and answers them, and sends reports that no request asked for. The protocol is in
// docs/fpga-reference.md. It does one thing at a time, in order. So a write has taken effect before the next
// frame is looked at, and a frame that waits for its turn needs no memory besides the store in front of this
// module.
//
//   store ──► header ──► judge ──┬─► registers ──────────► answer ──► host
//                                ├─► credits, paced queue    ▲
//                                └─► marks                   │
//   credits, marks, departures, received frames, the wire ───┘
//
// A link frame arrives here whole. It is judged before any of it takes effect, so a refused frame changes
// nothing. Nothing here waits for long: frames have credits, and a mark without a free place is refused. Only
// while the queue is being forgotten does a frame wait, so that it is not forgotten with the frames before it.
//
// Rules (1 and 3: formal/host_link_rules.sv; 2 and 4: simulated):
//   1 the rules of streams at the output;
//   2 a request is answered at most once;
//   3 what is pushed into the queue is a whole frame whose credits were taken before;
//   4 while `ready_i` is high, the beats of an answer are at most 8 cycles apart, so that a MAC at 1 Gb/s has
//     no hole.
module host_link
  import tare_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned CreditWidth = 12,
    // A credit message is sent for at least 2^CreditBatchLog2 beats; fewer wait until 1 024 cycles after the
    // last message.
    parameter int unsigned CreditBatchLog2 = 7
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // From the store: for each frame a word with its bytes (with FCS) and its number of beats, then the beats.
    input  logic        word_valid_i,
    output logic        word_ready_o,
    input  logic [63:0] word_i,
    // To the host, without FCS.
    output logic        valid_o,
    input  logic        ready_i,
    output beat_t       beat_o,
    // Registers.
    input  logic [31:0] build_i,
    input  logic [31:0] layout_i,
    input  logic [31:0] magic_i,
    output logic        write_o,
    output logic        read_o,
    output logic [12:0] address_o,
    output logic [31:0] data_o,
    input  logic        read_valid_i,
    input  logic [31:0] data_i,     // holds until the next
    input  logic        unknown_i,  // one cycle after a write, and when a read is answered
    // Live frames, credits, marks.
    input  logic        live_i,
    input  logic        forgetting_i,
    output logic        live_valid_o,
    input  logic        live_ready_i,
    output departure_t  live_departure_o,
    output beat_t       live_beat_o,
    output logic        use_valid_o,
    output logic [CreditWidth-1:0] use_o,
    input  logic        use_refused_i,
    input  logic [CreditWidth-1:0] outstanding_i,
    output logic        revoke_o,  // one cycle after hello: a new session
    input  logic        grant_valid_i,
    output logic        grant_ready_o,
    input  logic [CreditWidth-1:0] grant_i,
    output logic        mark_valid_o,
    input  logic        mark_ready_i,
    output logic [15:0] mark_o,
    input  logic        marked_valid_i,
    output logic        marked_ready_o,
    input  logic [15:0] marked_i,
    // Sources of unsolicited reports.
    input  ticks_t      now_i,
    input  logic        wire_up_i,
    input  logic [31:0] patience_i,
    input  logic        departed_due_i,
    input  logic [5:0]  departed_count_i,
    input  logic [31:0] departed_left_out_i,
    input  logic        departed_valid_i,
    output logic        departed_ready_o,
    input  logic [63:0] departed_i,
    input  logic        received_valid_i,
    output logic        received_ready_o,
    input  logic [63:0] received_i,
    // Events: an error, for the counter of its kind. An event waits while `counting_i` says that one is
    // pending.
    output logic [15:0] count_o,
    input  logic [15:0] counting_i,
    output logic        quiet_o  // idle, and nothing to report
);
  // One-hot in synthesis: decoding a number would be a third of the longest paths. Therefore every next state
  // is a named constant.
  typedef enum logic [5:0] {
    Rest       = 6'h00,
    // A request.
    Size       = 6'h01,
    Head0      = 6'h02,
    Head1      = 6'h03,
    Head2      = 6'h04,
    Head3      = 6'h05,
    Measure    = 6'h06,
    Judge      = 6'h07,
    Act        = 6'h08,
    UseCredits = 6'h09,
    Push       = 6'h0a,
    WriteWord  = 6'h0b,
    Writing    = 6'h0c,
    Wrote      = 6'h0d,
    ReadWord   = 6'h0e,
    Reading    = 6'h0f,
    Drain      = 6'h10,
    Finish     = 6'h11,
    // Unsolicited reports.
    Tell       = 6'h12,
    TakeSize   = 6'h13,
    DropFcs    = 6'h14,
    // Whether credits were enough is known a cycle after the question, as the sum takes half a cycle.
    Used       = 6'h15,
    // A frame to the host: three header words, one of five values, and one of three bodies.
    PutHost    = 6'h20,
    PutKind    = 6'h21,
    PutHeader  = 6'h22,
    PutHello   = 6'h23,
    PutSmall   = 6'h24,
    PutTotal   = 6'h25,
    PutNow     = 6'h26,
    PutRead    = 6'h27,
    PutDeparted = 6'h28,
    PutStamp   = 6'h2a,
    PutReceived = 6'h2b
  } state_e;

  (* fsm_encoding = "one-hot" *)
  state_e state_q;

  // The value of a frame to the host, and what follows it.
  typedef enum logic [2:0] {
    ValueHello,
    ValueSmall,
    ValueTotal,
    ValueNow,
    ValueStamp
  } value_e;

  typedef enum logic [2:0] {
    ThenRest,
    ThenDrain,
    ThenFinish,
    ThenRead,
    ThenDeparted,
    ThenReceived
  } then_e;

  // The header: first the request's, then that of the answer or report.
  logic [63:0] value_q;
  logic [47:0] source_q;
  logic [31:0] detail_q;
  logic [15:0] number_q, length_q, expected_q, was_expected_q;
  logic [7:0] version_q;
  kind_e kind_q;
  logic [11:0] came_q;
  logic [8:0] left_q;   // words of the frame still in the store
  logic [8:0] body_q;   // remaining beats of the body
  // As of the previous cycle. Beats are at least two cycles apart, because the store rests after each.
  logic body_last_q, body_none_q;
  logic length_none_q;
  logic [CreditWidth-1:0] beats_q;
  logic [2:0] own_parts_q, all_parts_q;  // halfwords of the address equal to the module's, or to broadcast
  logic mine_q, typed_q, longer_q, frame_length_q, words_length_q, place_q, jump_q, right_q, none_left_q;
  logic is_hello_q, is_read_q, is_write_q, is_frame_q, is_mark_q;
  logic [8:0] reach_q;  // end of the signature, in halfwords
  logic [31:0] address_q;
  logic [31:0] small_q;  // 32-bit value of a frame to the host
  logic outside_q;  // not an address of registers
  // Errors sent after the answer: missing numbers, and the first address without a register.
  logic lost_q, astray_q;
  logic [31:0] astray_at_q;
  why_e why_q;

  // The source of the detail of a frame to the host: unchanged, an error, or the build.
  typedef enum logic [1:0] {
    DetailKept,
    DetailError,
    DetailBuild
  } detail_e;

  // The frame to the host.
  detail_e detail_from_q;
  logic bare_q;  // the frame has no body, so its length becomes 0
  why_e code_q;
  value_e value_from_q;
  then_e then_q;
  kind_e out_kind_q;
  logic [47:0] host_q;
  logic [15:0] own_q;
  logic valid_q;
  beat_t beat_q;

  // Pending reports.
  logic known_q, turn_q, silent_q, silent_due_q, wire_q, wire_told_q, credit_due_q, retell_q;
  logic [CreditWidth-1:0] granted_q;
  logic [47:0] total_q;
  logic [16:0] since_q;
  logic since_new_q;
  logic [15:0] unit_q;
  logic [16:0] patience_q;  // counts up to 0 in units of 65 536 ticks
  logic patient_q;
  logic unit_ends_q;
  logic short_received_q;

  typedef enum logic [2:0] {
    TellNothing,
    TellWire,
    TellSilent,
    TellMark,
    TellCredit,
    TellDeparted,
    TellReceived
  } tell_e;
  tell_e tell, tell_q;

  wire move = !valid_q || ready_i;

  // The next report. None before the first hello; after the host fell silent, only the report of that.
  always_comb begin
    tell = TellNothing;
    if (silent_due_q) tell = TellSilent;
    else if (known_q && !silent_q) begin
      if (wire_q != wire_told_q) tell = TellWire;
      else if (marked_valid_i) tell = TellMark;
      else if (credit_due_q) tell = TellCredit;
      else if (departed_due_i) tell = TellDeparted;
      else if (received_valid_i) tell = TellReceived;
    end
  end

  // High in Size, the heads, WriteWord and ReadWord. A register of its own, as it starts a long path.
  logic eager_q;
  wire take_word = eager_q || (state_q == Push && live_ready_i) || (state_q == Drain && !none_left_q);
  assign word_ready_o = take_word;
  wire word = word_valid_i && take_word;

  // The body of a frame is passed straight on.
  assign live_valid_o = state_q == Push && word_valid_i;
  logic [2:0] final_byte_q;  // of a live frame's last beat
  assign live_beat_o = '{last: body_last_q, final_byte: body_last_q ? final_byte_q : 3'd7, data: word_i};
  always_ff @(posedge clk_i) begin
    body_last_q   <= body_q == 9'd1;
    body_none_q   <= body_q == 0;
    length_none_q <= length_q == 0;
    final_byte_q  <= 3'(length_q - 1'b1);
  end
  always_comb begin
    live_departure_o              = '0;
    live_departure_o.from         = from_e'(detail_q[1:0]);
    live_departure_o.value        = value_q;
    live_departure_o.stamp.enable = detail_q[8];
    live_departure_o.stamp.place  = detail_q[23:16];
  end
  assign use_valid_o = state_q == UseCredits && !forgetting_i;
  assign use_o = beats_q;
  assign mark_valid_o = state_q == Act && is_mark_q && right_q && mark_ready_i;
  assign mark_o = value_q[15:0];
  wire hello = state_q == Act && is_hello_q && right_q;
  // Written like this so that yosys keeps the state one-hot.
  assign grant_ready_o = known_q && !(state_q == UseCredits);
  assign marked_ready_o = state_q == Tell && tell_q == TellMark;
  assign departed_ready_o = state_q == PutDeparted && move;
  assign address_o = address_q[12:0];
  assign received_ready_o = state_q == TakeSize || ((state_q == PutStamp || state_q == PutReceived) && move) || state_q == DropFcs;

  assign valid_o = valid_q;
  assign beat_o = beat_q;

  assign quiet_o = state_q == Rest && !word_valid_i && !valid_q && tell == TellNothing
      && (granted_q == 0 || silent_q) && departed_count_i == 0;

  // Header words of the frame to the host, and its body.
  logic [63:0] out_word;
  logic putting;
  always_comb begin
    putting  = 1'b1;
    out_word = received_i;
    unique case (state_q)
      PutHost: out_word = {ModuleAddress[15:0], host_q};
      PutKind: out_word = {out_kind_q, LinkVersion, LinkType, ModuleAddress[47:16]};
      PutHeader: out_word = {detail_q, length_q, number_q};
      PutHello: out_word = {magic_i, layout_i};
      PutSmall: out_word = {32'b0, small_q};
      PutTotal: out_word = {16'b0, total_q};
      PutNow: out_word = now_i;
      PutRead: out_word = {outside_q ? '0 : data_i, address_q};
      PutDeparted: out_word = departed_i;
      PutStamp, PutReceived: ;
      default: putting = 1'b0;
    endcase
  end
  // Words from a memory may come a cycle later.
  wire there = state_q == PutDeparted ? departed_valid_i : !(state_q == PutStamp || state_q == PutReceived) || received_valid_i;
  wire put = putting && there;
  // The value is the frame's last word if no body follows.
  wire is_value = state_q == PutHello || state_q == PutSmall || state_q == PutTotal || state_q == PutNow || state_q == PutStamp;
  wire is_body = state_q == PutRead || state_q == PutDeparted || state_q == PutReceived;
  wire out_last = (is_value && length_none_q) || (is_body && body_last_q);

  always_ff @(posedge clk_i) begin
    if (move) begin
      beat_q.data       <= out_word;
      beat_q.last       <= out_last;
      beat_q.final_byte <= state_q == PutReceived && out_last ? 3'(length_q - 1'b1) : 3'd7;
      valid_q           <= put;
    end
    if (!rst_ni) valid_q <= 1'b0;
  end

  // An address that belongs to no register, or to none that can be read or written. `registers` decides that,
  // as words arrive late in a cycle.
  wire outside = address_q[31:13] != 0 || address_q[1:0] != 0;
  logic writes_q, reads_q, waited_q;
  // An address without a register is read like any other and its value replaced by 0, so that a read does not
  // wait for the address to be decoded.
  assign read_o = reads_q;
  wire asked = state_q == Wrote || (state_q == Reading && read_valid_i);

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

  // The value of an error. It is known three cycles after Act began; choosing the error and its value in one
  // cycle would be a long path.
  typedef enum logic [2:0] {
    SaysLength,
    SaysVersion,
    SaysKind,
    SaysPlace,
    SaysTime,
    SaysState
  } says_e;
  says_e says_q;
  logic [15:0] said, said_q;
  logic acted1_q, acted_q;
  always_ff @(posedge clk_i) begin
    unique case (why_q)
      WrongVersion: says_q <= SaysVersion;
      WrongKind: says_q <= SaysKind;
      WrongPlace: says_q <= SaysPlace;
      WrongTime: says_q <= SaysTime;
      WrongState: says_q <= SaysState;
      default: says_q <= SaysLength;
    endcase
  end
  always_comb begin
    unique case (says_q)
      SaysVersion: said = {8'b0, version_q};
      SaysKind: said = {8'b0, kind_q};
      SaysPlace: said = detail_q[31:16];
      SaysTime: said = value_q[63:48];
      SaysState: said = value_q[15:0];
      default: said = length_q;
    endcase
  end

  wire wrong = state_q == Act && !right_q && acted_q;
  logic refused_q;
  wire refused = state_q == Used && refused_q;
  // Errors that are sent after the answer of the request that caused them.
  wire tell_lost = state_q == Finish && lost_q;
  wire tell_astray = state_q == Finish && !lost_q && astray_q;
  logic calm_q;

  always_comb begin
    count_o = '0;
    if (wrong && calm_q) count_o[why_q] = 1'b1;
    if (refused) count_o[NoCredit] = 1'b1;
    if (tell_lost && calm_q) count_o[Lost] = 1'b1;
    if (tell_astray && calm_q) count_o[WrongAddress] = 1'b1;
    if (state_q == Tell && tell_q == TellSilent) count_o[Silent] = 1'b1;
    if (state_q == Tell && tell_q == TellWire) count_o[WireChanged] = 1'b1;
  end

  // An error waits until the counter has taken those before it. Errors are more than three cycles apart, so
  // this value may be two cycles old.
  always_ff @(posedge clk_i) calm_q <= counting_i[WrongPlace:WrongVersion] == 0;

  always_ff @(posedge clk_i) begin
    writes_q <= 1'b0;
    reads_q  <= 1'b0;
    write_o  <= writes_q && !outside;
    waited_q <= state_q == Writing && !waited_q;
    eager_q  <= 1'b0;
    if (word) begin
      left_q      <= left_q - 1'b1;
      none_left_q <= left_q == 9'd1;
    end

    unique case (state_q)
      Rest: begin
        turn_q <= !turn_q;
        tell_q <= tell;
        eager_q <= word_valid_i && (!turn_q || tell == TellNothing);
        if (word_valid_i && (!turn_q || tell == TellNothing)) state_q <= Size;
        else if (tell != TellNothing) state_q <= Tell;
      end

      // The header: two addresses of 48 bits, then type, version and kind, number, length, detail and value.
      Size: begin
        eager_q <= 1'b1;
        if (word) begin
          came_q  <= word_i[11:0] - 12'(HeaderBytes + FcsBytes);
          left_q  <= word_i[24:16];
          none_left_q <= 1'b0;
          state_q <= Head0;
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
          if (calm_q && acted_q) state_q <= PutHost;
        end else begin
          small_q <= '0;
          unique case (1'b1)
            is_hello_q: begin
              host_q  <= source_q;
              state_q <= PutHost;
            end
            is_read_q: begin
              detail_q <= 32'(body_q);
              state_q <= PutHost;
            end
            is_write_q: begin
              eager_q  <= 1'b1;
              detail_q <= 32'(body_q);
              state_q <= WriteWord;
            end
            is_frame_q: state_q <= UseCredits;
            default: state_q <= Drain;
          endcase
        end

      UseCredits:
        if (!forgetting_i) begin
          refused_q <= use_refused_i;
          state_q   <= Used;
        end
      Used: begin
        state_q <= Push;
        small_q <= 32'(outstanding_i);
        if (refused_q) state_q <= PutHost;
      end
      Push:
        if (word) begin
          body_q <= body_q - 1'b1;
          if (body_last_q) state_q <= Drain;
        end

      WriteWord: begin
        {data_o, address_q} <= word_i;
        eager_q <= !word;
        if (word) begin
          writes_q <= 1'b1;
          body_q <= body_q - 1'b1;
          state_q <= Writing;
        end
      end
      Writing: if (waited_q) state_q <= Wrote;
      Wrote: begin
        eager_q <= !body_none_q;
        state_q <= body_none_q ? PutHost : WriteWord;
      end

      ReadWord: begin
        address_q <= word_i[31:0];
        eager_q <= !word;
        if (word) begin
          reads_q <= 1'b1;
          state_q <= Reading;
        end
      end
      Reading:
        if (read_valid_i) state_q <= PutRead;
      PutRead:
        if (move) begin
          body_q  <= body_q - 1'b1;
          eager_q <= !body_last_q;
          state_q <= body_last_q ? Drain : ReadWord;
        end

      // Padding, FCS, and everything not addressed to the module.
      Drain: if (none_left_q) state_q <= Finish;
      Finish: begin
        state_q <= tell_lost || tell_astray ? (calm_q ? PutHost : Finish) : Rest;
        small_q <= lost_q ? 32'(was_expected_q) : astray_at_q;
        if (lost_q) lost_q <= !calm_q;
      end

      // Unsolicited reports.
      Tell: begin
        number_q <= own_q;
        own_q <= own_q + 1'b1;
        detail_q <= '0;
        small_q <= '0;
        state_q <= PutHost;
        unique case (tell_q)
          TellSilent: detail_q <= {28'b0, Silent};
          TellWire: begin
            detail_q <= {28'b0, WireChanged};
            small_q[0] <= wire_q;
          end
          TellMark: detail_q <= {16'b0, marked_i};
          TellCredit: detail_q <= 32'(granted_q);
          TellDeparted: begin
            detail_q <= 32'(departed_count_i);
            length_q <= {6'b0, departed_count_i, 4'b0};
            body_q <= {2'b0, departed_count_i, 1'b0};
            small_q <= departed_left_out_i;
          end
          default: state_q <= TakeSize;
        endcase
      end
      PutDeparted:
        if (move && departed_valid_i) begin
          body_q <= body_q - 1'b1;
          if (body_last_q) state_q <= Rest;
        end

      // A received frame: its size with FCS, its stamp, its beats. The FCS is dropped here; it may fill a beat
      // of its own.
      TakeSize:
        if (received_valid_i) begin
          detail_q[0]  <= received_i[12];
          length_q     <= {4'b0, received_i[11:0]} - 16'(FcsBytes);
          body_q           <= 9'((received_i[11:0] + 12'(7 - FcsBytes)) >> 3);
          short_received_q <= 3'(received_i[2:0] - 3'd1) < 3'd4;
          state_q          <= PutHost;
        end
      PutReceived:
        if (move && received_valid_i) begin
          body_q <= body_q - 1'b1;
          if (body_last_q) state_q <= short_received_q ? DropFcs : Rest;
        end
      DropFcs: if (received_valid_i) state_q <= Rest;

      PutHost: begin
        unique case (detail_from_q)
          DetailError: detail_q <= {16'b0, kind_q, 4'b0, code_q};
          DetailBuild: detail_q <= build_i;
          default: ;
        endcase
        if (move) state_q <= PutKind;
      end
      PutKind: if (move) state_q <= PutHeader;
      PutHeader:
        if (move) begin
          unique case (value_from_q)
            ValueHello: state_q <= PutHello;
            ValueSmall: state_q <= PutSmall;
            ValueTotal: state_q <= PutTotal;
            ValueNow: state_q <= PutNow;
            default: state_q <= PutStamp;
          endcase
        end
      PutHello, PutSmall, PutTotal, PutNow, PutStamp:
        if (move && there) begin
          unique case (then_q)
            ThenDrain: state_q <= Drain;
            ThenFinish: state_q <= Finish;
            ThenRead: begin
              eager_q <= 1'b1;
              state_q <= ReadWord;
            end
            ThenDeparted: state_q <= PutDeparted;
            ThenReceived: state_q <= PutReceived;
            default: state_q <= Rest;
          endcase
        end
      default: state_q <= Rest;
    endcase
    if (bare_q) length_q <= '0;

    if (!rst_ni) begin
      state_q     <= Rest;
      turn_q      <= 1'b0;
      own_q       <= '0;
      host_q      <= '1;
      left_q      <= '0;
      none_left_q <= 1'b1;
      eager_q     <= 1'b0;
      writes_q    <= 1'b0;
      reads_q     <= 1'b0;
      write_o     <= 1'b0;
      waited_q    <= 1'b0;
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
    said_q     <= said;
    acted1_q   <= state_q == Act;
    acted_q    <= acted1_q && state_q == Act;
    outside_q  <= outside;
    reach_q    <= 9'(detail_q[23:16]) + 9'd9;
  end

  // The first address of a request without a register. Registered a cycle later, while the address is still
  // stable.
  logic stray_q;
  always_ff @(posedge clk_i) begin
    stray_q <= asked && (outside_q || unknown_i);
    if (stray_q && !astray_q) astray_at_q <= address_q;
    astray_q <= (astray_q || stray_q) && !(state_q == Measure || (tell_astray && calm_q));
    if (!rst_ni) stray_q <= 1'b0;
  end

  // Kind, value and body of a frame to the host. They depend on the state alone, as the conditions inside the
  // states would make the longest path; if no frame follows, they are not used.
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Act: begin
        out_kind_q    <= right_q ? kind_e'(8'h80 | kind_q) : Error;
        value_from_q  <= right_q && is_hello_q ? ValueHello : ValueSmall;
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
        value_from_q  <= ValueSmall;
        then_q        <= ThenFinish;
        detail_from_q <= DetailError;
        code_q        <= lost_q ? Lost : WrongAddress;
      end
      Tell: begin
        out_kind_q    <= Error;
        value_from_q  <= ValueSmall;
        then_q        <= ThenRest;
        detail_from_q <= DetailKept;
        unique case (tell_q)
          TellMark: begin
            out_kind_q   <= Marked;
            value_from_q <= ValueNow;
          end
          TellCredit: begin
            out_kind_q   <= Credit;
            value_from_q <= ValueTotal;
          end
          TellDeparted: begin
            out_kind_q <= Departed;
            then_q     <= ThenDeparted;
          end
          TellReceived: begin
            out_kind_q   <= Received;
            value_from_q <= ValueStamp;
            then_q       <= ThenReceived;
          end
          default: ;
        endcase
      end
      default: ;
    endcase
    // A frame to the host without a body, unless it is a report or the answer to a read. Its length becomes 0
    // two cycles later, in time for its use in the third.
    bare_q <= (state_q == Act && is_write_q && right_q) || state_q == Finish || (state_q == Tell && tell_q != TellDeparted && tell_q != TellReceived)
        || (state_q == PutHost && detail_from_q != DetailKept);
  end

  // Credits are taken as they come and reported in batches. Hello revokes them a cycle later, as it is known
  // late in its own cycle.
  wire granted = grant_valid_i && grant_ready_o;
  wire credit_told = state_q == Tell && tell_q == TellCredit;
  always_ff @(posedge clk_i) begin
    revoke_o    <= hello;
    granted_q   <= (revoke_o || credit_told ? '0 : granted_q) + (granted ? grant_i : '0);
    since_new_q <= revoke_o || credit_told || !rst_ni;
    if (since_q != '1) since_q <= since_q + 1'b1;
    if (since_new_q) since_q <= '0;
    credit_due_q <= granted_q[CreditWidth-1:CreditBatchLog2] != 0 || (granted_q != 0 && since_q[16:10] != 0) || since_q[16];
    if (credit_told) total_q <= total_q + 48'(granted_q);
    if (revoke_o) total_q <= '0;
    if (!rst_ni) begin
      revoke_o     <= 1'b0;
      granted_q    <= '0;
      total_q      <= '0;
      credit_due_q <= 1'b0;
    end
  end

  // Presence of the host (since hello, until it was silent for too long) and of the wire's link.
  wire heard = state_q == Finish && mine_q && typed_q;
  always_ff @(posedge clk_i) begin
    unit_q      <= unit_q + 1'b1;
    unit_ends_q <= unit_q == '1;
    if (unit_ends_q && patient_q) begin
      patience_q <= patience_q + 1'b1;
      if (patience_q == 0) begin
        silent_due_q <= known_q;
        patient_q    <= 1'b0;
      end
    end
    if (state_q == Tell && tell_q == TellSilent) begin
      silent_q     <= 1'b1;
      silent_due_q <= 1'b0;
    end
    if (heard) begin
      // Never too early: the current unit does not count, and the last one counts only when complete.
      patience_q   <= {1'b1, ~patience_i[31:16]};
      patient_q    <= patience_i != 0;
      silent_q     <= 1'b0;
      silent_due_q <= 1'b0;
    end
    wire_q <= wire_up_i;
    if (state_q == Tell && tell_q == TellWire) wire_told_q <= wire_q;
    if (hello) begin
      known_q     <= 1'b1;
      wire_told_q <= wire_q;
    end
    if (!rst_ni) begin
      known_q         <= 1'b0;
      silent_q        <= 1'b0;
      silent_due_q    <= 1'b0;
      patient_q       <= 1'b0;
      unit_q          <= '0;
      unit_ends_q     <= 1'b0;
    end
  end
endmodule
