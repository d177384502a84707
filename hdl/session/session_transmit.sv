// Makes frames of segments: Ethernet, IPv4 and TCP headers, options, and the part of the request that the
// segment carries. Answers ARP and ping as well.
//
// A departure's first beat is here in the cycle in which its segment is: it holds addresses alone. All else
// is made while that beat and the preamble are on the wire, a byte each cycle, in two stages, and sums
// meanwhile, a halfword each cycle. Of a whole request the sum of its template is known; a part of one is
// summed before its frame starts. Bytes of text come from a memory with a register behind it: two are fetched
// before the first is needed, and each one that is used fetches another.
//
// Departures go first; one that the transmitter cannot take at once, since the wire is full, waits among the
// others, which do not wait then. Other segments wait in a queue for a time in which they delay no departure:
// the next one is due after they have left (`wait_i`). One that waited for 8 192 cycles goes all the same,
// and is counted.
module session_transmit
  import tare_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  load_t       load_i,
    input  logic        departure_valid_i,
    output logic        departure_ready_o,
    input  sending_t    departure_i,
    input  logic        other_valid_i,
    output logic        other_ready_o,
    input  sending_t    other_i,
    input  logic        hurry_i,        // a departure is among the others
    input  logic        question_valid_i,
    output logic        question_ready_o,
    input  question_t   question_i,
    output logic        read_o,         // the byte is that of the place two of these ago
    output logic [7:0]  echo_place_o,
    input  logic [7:0]  echo_byte_i,
    output place_t      template_place_o,
    input  logic [7:0]  template_byte_i,
    // Cycles until the next departure is due; all ones if none is known.
    input  logic [15:0] wait_i,
    output logic        valid_o,
    input  logic        ready_i,
    output beat_t       beat_o,
    // A departure's frame starts, or that of an opening.
    output logic        started_o,
    output index_t      started_index_o,
    output logic        arp_o,
    output logic        echo_o,
    output logic        delayed_o
);
  typedef enum logic [1:0] {
    Free,
    Prepare,  // a part of a request is summed; or an answer's header
    Start,
    Bytes
  } state_e;
  typedef enum logic [1:0] {
    Tcp,
    Arp,
    Echo
  } what_e;

  localparam int unsigned Slots = 9;  // for words of options
  localparam logic [15:0] MostEcho = 16'd256;
  // Preamble, FCS and gap; and what a departure needs before its own frame.
  localparam logic [15:0] Around = 16'd24 + 16'd8;

  state_e state_q;
  what_e what_q;
  sending_t s_q;
  question_t question_q;
  logic [13:0] waited_q;
  logic fresh_q;                 // `s_q` is new: what follows from it is found
  logic [11:0] at_q, last_q;     // of the byte that is made, and of the frame's last
  logic making_q, in_options_q, in_text_q, in_echo_q;  // where `at_q` is
  logic [Slots-1:0] slots_q;     // those still to come
  logic [11:0] before_text_q;    // of the last byte before the text
  logic [15:0] packet_q;         // length of the IP packet

  // Options have a slot for each word, in the order in which the crate writes them; words that a segment does
  // not have are skipped.
  function automatic logic [Slots-1:0] slots_of(input segment_t s);
    return {{3{s.has_sack}}, s.has_shift, {3{s.stamps.valid}}, s.sack_permitted, s.has_mss};
  endfunction

  function automatic logic [2:0] words_of(input segment_t s);
    return 3'(s.has_mss) + 3'(s.sack_permitted) + (s.stamps.valid ? 3'd3 : 3'd0) + 3'(s.has_shift)
      + (s.has_sack ? 3'd3 : 3'd0);
  endfunction

  function automatic logic [7:0] digit(input logic [3:0] value);
    return value < 4'd10 ? {4'h3, value} : 8'h57 + 8'(value);
  endfunction

  // Which one is next. Whether there is time is that of a cycle ago, in which one cycle more was left.
  wire [15:0] other_cycles = Around + 16'd60 + other_i.segment.len;
  wire no_room = wait_i <= other_cycles;
  wire overdue = waited_q[13] || hurry_i;
  logic other_go_q, no_room_q, question_go_q;
  wire take_departure = state_q == Free && departure_valid_i && !hurry_i;
  // Not before the wire is free, which is when its time is known.
  wire take_other = state_q == Free && ready_i && !departure_valid_i && other_go_q;
  wire question_room = wait_i > Around + 16'd60 + MostEcho;
  wire take_question = state_q == Free && ready_i && !departure_valid_i && !other_go_q && question_go_q;

  wire sending_t chosen = departure_valid_i ? departure_i : other_i;
  // The first beat leaves at once, unless something is to be prepared.
  wire at_once = (take_departure || take_other) && !chosen.part;
  wire starts = (at_once || state_q == Start) && ready_i;

  assign departure_ready_o = state_q == Free;
  assign other_ready_o     = take_other;

  // Sums: the constant part of each, what changes with the segment, and the text.
  logic [19:0] pseudo_q, ip_q;
  logic [26:0] sum_q;
  logic [26:0] ip_sum_q;
  logic [16:0] addend_q;
  logic [5:0] step_q;  // of the sum
  logic summed_q;
  logic [15:0] prepare_left_q;
  logic prepare_odd_q;
  logic [15:0] checksum_q, ip_checksum_q;
  logic [2:0] digit_q;

  wire [15:0] tcp_len = packet_q - 16'd20;
  wire [2:0] words = words_of(s_q.segment);
  wire [15:0] port = load_i.port + 16'(s_q.index);
  wire [15:0] offset_control = {4'd5 + 4'(words), 4'd0, s_q.segment.control};
  wire has_field = s_q.entry.field != FieldNone;
  logic [10:0] first_byte_q;  // of the request, in this segment

  always_ff @(posedge clk_i) begin
    pseudo_q <= 20'(load_i.address[31:16]) + 20'(load_i.address[15:0]) + 20'(load_i.peer_address[31:16]) +
        20'(load_i.peer_address[15:0]) + 20'd6 + 20'(load_i.peer_port);
    ip_q <= 20'h4500 + 20'h4000 + 20'h4006 + 20'(load_i.address[31:16]) + 20'(load_i.address[15:0]) +
        20'(load_i.peer_address[31:16]) + 20'(load_i.peer_address[15:0]);
  end

  // The byte that is made.
  logic [7:0] header;
  logic [10:0] in_field_q;  // index of the next byte of text in the field
  wire field_here = has_field && in_field_q < 11'd8;
  wire [47:0] to_mac = what_q == Tcp ? load_i.peer_mac : question_q.mac;
  wire [31:0] to_address = what_q == Tcp ? load_i.peer_address : question_q.address;
  wire [15:0] type_ = what_q == Arp ? 16'h0806 : 16'h0800;

  // Sums are over before the first byte of options or text is made, so both use the same selections. An option
  // is selected a cycle ahead.
  wire summing = !summed_q;
  wire preparing = state_q == Prepare && what_q == Tcp;
  wire [2:0] field_index = state_q == Bytes && summing ? digit_q : in_field_q[2:0];
  wire [7:0] field_digit = digit(s_q.digits[4*(3'd7-field_index)+:4]);
  logic [3:0] slot;
  logic [31:0] option, option_q;
  logic slot_used_q;
  always_comb begin
    slot = step_q[3:0] - 4'd9;
    if (!summing) begin
      slot = '0;
      for (int unsigned i = Slots; i > 0; i--) if (slots_q[i-1]) slot = 4'(i - 1);
    end
    unique case (slot)
      4'd0:    option = {16'h0204, s_q.segment.mss};
      4'd1:    option = 32'h0101_0402;
      4'd2:    option = 32'h0101_080a;
      4'd3:    option = s_q.segment.stamps.value;
      4'd4:    option = s_q.segment.stamps.echo;
      4'd5:    option = {24'h010303, 4'd0, s_q.segment.shift};
      4'd6:    option = 32'h0101_050a;
      4'd7:    option = s_q.segment.sack_left;
      default: option = s_q.segment.sack_right;
    endcase
  end

  always_comb begin
    unique case (at_q[5:0])
      6'd8:   header = load_i.mac[31:24];
      6'd9:   header = load_i.mac[23:16];
      6'd10:  header = load_i.mac[15:8];
      6'd11:  header = load_i.mac[7:0];
      6'd12:  header = type_[15:8];
      6'd13:  header = type_[7:0];
      6'd14:  header = what_q == Arp ? 8'h00 : 8'h45;
      6'd15:  header = what_q == Arp ? 8'h01 : 8'h00;
      6'd16:  header = what_q == Arp ? 8'h08 : packet_q[15:8];
      6'd17:  header = what_q == Arp ? 8'h00 : packet_q[7:0];
      6'd18:  header = what_q == Arp ? 8'h06 : 8'h00;
      6'd19:  header = what_q == Arp ? 8'h04 : 8'h00;
      6'd20:  header = what_q == Arp ? 8'h00 : 8'h40;
      6'd21:  header = what_q == Arp ? 8'h02 : 8'h00;
      6'd22:  header = what_q == Arp ? load_i.mac[47:40] : 8'h40;
      6'd23:  header = what_q == Arp ? load_i.mac[39:32] : what_q == Echo ? 8'h01 : 8'h06;
      6'd24:  header = what_q == Arp ? load_i.mac[31:24] : ip_checksum_q[15:8];
      6'd25:  header = what_q == Arp ? load_i.mac[23:16] : ip_checksum_q[7:0];
      6'd26:  header = what_q == Arp ? load_i.mac[15:8] : load_i.address[31:24];
      6'd27:  header = what_q == Arp ? load_i.mac[7:0] : load_i.address[23:16];
      6'd28:  header = what_q == Arp ? load_i.address[31:24] : load_i.address[15:8];
      6'd29:  header = what_q == Arp ? load_i.address[23:16] : load_i.address[7:0];
      6'd30:  header = what_q == Arp ? load_i.address[15:8] : to_address[31:24];
      6'd31:  header = what_q == Arp ? load_i.address[7:0] : to_address[23:16];
      6'd32:  header = what_q == Arp ? to_mac[47:40] : to_address[15:8];
      6'd33:  header = what_q == Arp ? to_mac[39:32] : to_address[7:0];
      6'd34:  header = what_q == Arp ? to_mac[31:24] : what_q == Echo ? 8'h00 : port[15:8];
      6'd35:  header = what_q == Arp ? to_mac[23:16] : port[7:0];
      6'd36:
      header = what_q == Arp ? to_mac[15:8] : what_q == Echo ? checksum_q[15:8] : load_i.peer_port[15:8];
      6'd37:  header = what_q == Arp ? to_mac[7:0] : what_q == Echo ? checksum_q[7:0] : load_i.peer_port[7:0];
      6'd38:  header = what_q == Arp ? to_address[31:24] : s_q.segment.seq[31:24];
      6'd39:  header = what_q == Arp ? to_address[23:16] : s_q.segment.seq[23:16];
      6'd40:  header = what_q == Arp ? to_address[15:8] : s_q.segment.seq[15:8];
      6'd41:  header = what_q == Arp ? to_address[7:0] : s_q.segment.seq[7:0];
      6'd42:  header = s_q.segment.ack[31:24];
      6'd43:  header = s_q.segment.ack[23:16];
      6'd44:  header = s_q.segment.ack[15:8];
      6'd45:  header = s_q.segment.ack[7:0];
      6'd46:  header = offset_control[15:8];
      6'd47:  header = offset_control[7:0];
      6'd48:  header = s_q.segment.window[15:8];
      6'd49:  header = s_q.segment.window[7:0];
      6'd50:  header = checksum_q[15:8];
      6'd51:  header = checksum_q[7:0];
      default: header = 8'h00;
    endcase
  end
  // Made of it a cycle later. Type 0 of an echo, and its checksum, which is 0x0800 larger in ones' complement,
  // are a header's.
  logic [7:0] header_q, option_byte_q, digit_byte_q;
  logic made_q, made_last_q, of_options_q, of_text_q, of_echo_q, of_field_q, of_memory_q;
  logic [7:0] made;
  always_comb begin
    made = header_q;
    if (of_options_q) made = option_byte_q;
    if (of_text_q) made = of_field_q ? digit_byte_q : template_byte_i;
    if (of_echo_q) made = echo_byte_i;
  end

  // Bytes become beats.
  logic [63:0] bytes_q;
  logic [2:0] byte_q;
  logic full_q, full_last_q;
  beat_t out_q;
  logic out_valid_q;
  wire ends = state_q == Bytes && out_valid_q && ready_i && out_q.last;  // the last beat is taken
  // Until then nothing changes the bytes of a question.
  assign question_ready_o = ends && what_q != Tcp;
  wire out_free = !out_valid_q || ready_i;
  wire moves = state_q == Bytes && (!full_q || out_free);
  wire sum_late = what_q == Tcp && at_q == 12'd50 && !summed_q;
  wire [2:0] byte_place = full_q ? 3'd0 : byte_q;
  wire make = making_q && !sum_late && moves;

  assign valid_o = state_q == Bytes ? out_valid_q : at_once || state_q == Start;
  wire [47:0] first_mac = state_q == Start && what_q != Tcp ? question_q.mac : load_i.peer_mac;
  beat_t first_beat;
  assign first_beat.last = 1'b0;
  assign first_beat.final_byte = 3'd7;
  assign first_beat.data = {
    load_i.mac[39:32], load_i.mac[47:40],
    first_mac[7:0], first_mac[15:8], first_mac[23:16], first_mac[31:24], first_mac[39:32], first_mac[47:40]
  };
  assign beat_o = state_q == Bytes ? out_q : first_beat;

  // What is fetched: from the first byte of text on, in the last two cycles of `prime_q`, and then with each
  // byte that is used.
  logic [2:0] prime_q;
  place_t fetch_q;
  wire prepare = preparing && prime_q == '0;
  assign read_o = prime_q == 3'd2 || prime_q == 3'd1 || prepare || moves && made_q && of_memory_q;
  assign template_place_o = fetch_q;
  assign echo_place_o = fetch_q[7:0];
  wire [7:0] prepared = field_here ? field_digit : template_byte_i;

  assign started_o = starts && (state_q == Start ? s_q.departure || s_q.opening : chosen.departure || chosen.opening)
    && (state_q != Start || what_q == Tcp);
  assign started_index_o = state_q == Start ? s_q.index : chosen.index;
  assign arp_o = state_q == Start && ready_i && what_q == Arp;
  assign echo_o = state_q == Start && ready_i && what_q == Echo;

  wire [16:0] echo_sum = {1'b0, question_q.echo_sum} + 17'h0800;
  wire [16:0] fold = {1'b0, sum_q[15:0]} + 17'(sum_q[26:16]);
  wire [16:0] ip_fold = {1'b0, ip_sum_q[15:0]} + 17'(ip_sum_q[26:16]);

  always_ff @(posedge clk_i) begin
    delayed_o <= 1'b0;
    waited_q  <= !other_valid_i || take_other ? '0 : waited_q[13] ? waited_q : waited_q + 14'd1;

    no_room_q     <= no_room;
    other_go_q    <= other_valid_i && !take_other && (!no_room || overdue);
    question_go_q <= question_valid_i && !question_ready_o && question_room;

    fresh_q      <= 1'b0;
    first_byte_q <= s_q.entry.len - 11'(s_q.segment.before_end);
    addend_q     <= '0;
    if (fresh_q) begin
      slots_q        <= slots_of(s_q.segment);
      before_text_q  <= 12'd53 + {7'd0, words, 2'b00};
      packet_q       <= 16'd40 + {11'd0, words, 2'b00} + s_q.segment.len;
      last_q         <= 12'd53 + {7'd0, words, 2'b00} + s_q.segment.len[11:0];
      prepare_left_q <= s_q.segment.len;
    end
    if (prime_q != '0) prime_q <= prime_q - 3'd1;
    if (read_o) fetch_q <= fetch_q + place_t'(1);
    if (prime_q == 3'd3) begin
      fetch_q    <= what_q == Tcp ? s_q.entry.start + place_t'(first_byte_q) : '0;
      in_field_q <= first_byte_q - s_q.entry.place;
    end
    option_q    <= option;
    slot_used_q <= slots_q[slot];
    if (state_q != Free) sum_q <= sum_q + 27'(addend_q);

    unique case (state_q)
      Free: begin
        if (take_departure || take_other) begin
          s_q       <= chosen;
          fresh_q   <= 1'b1;
          prime_q   <= 3'd4;
          what_q    <= Tcp;
          delayed_o <= take_other && no_room_q && !other_i.departure;
          state_q   <= chosen.part ? Prepare : ready_i ? Bytes : Start;
        end else if (take_question) begin
          question_q <= question_i;
          what_q     <= question_i.echo ? Echo : Arp;
          packet_q   <= 16'd20 + 16'(question_i.len);
          prime_q    <= 3'd4;
          state_q    <= Prepare;
        end
        sum_q         <= 27'(pseudo_q);
        prepare_odd_q <= 1'b0;
        step_q        <= '0;
        summed_q      <= 1'b0;
        digit_q       <= '0;
        at_q          <= 12'd8;
        making_q      <= 1'b1;
        in_options_q  <= 1'b0;
        in_text_q     <= 1'b0;
        in_echo_q     <= 1'b0;
        made_q        <= 1'b0;
        byte_q        <= '0;
        full_q        <= 1'b0;
        out_valid_q   <= 1'b0;
      end

      Prepare: begin
        if (what_q == Tcp) begin
          // The bytes of a part, without its field.
          if (prepare) begin
            prepare_odd_q  <= !prepare_odd_q;
            prepare_left_q <= prepare_left_q - 16'd1;
            in_field_q     <= in_field_q + 11'd1;
            addend_q       <= prepare_odd_q ? 17'(prepared) : 17'({prepared, 8'h00});
            if (prepare_left_q == 16'd1) begin
              prime_q <= 3'd3;
              state_q <= Start;
            end
          end
        end else begin
          // IPv4 header of an answer.
          step_q <= step_q + 6'd1;
          unique case (step_q)
            6'd0: ip_sum_q <= 27'h4500 + 27'h4000 + 27'h4001 + 27'(packet_q) + 27'(load_i.address[31:16]);
            6'd1: begin
              ip_sum_q <= ip_sum_q + 27'(load_i.address[15:0])
                + 27'(question_q.address[31:16]) + 27'(question_q.address[15:0]);
            end
            6'd2, 6'd3: ip_sum_q <= 27'(ip_fold);
            default: begin
              ip_checksum_q <= ~ip_sum_q[15:0];
              checksum_q    <= echo_sum[15:0] + 16'(echo_sum[16]);
              last_q        <= what_q == Arp ? 12'd41 : 12'd13 + packet_q[11:0];
              state_q       <= Start;
            end
          endcase
        end
      end

      Start: begin
        step_q <= '0;
        if (ready_i) state_q <= Bytes;
      end

      default: ;
    endcase

    if (state_q == Bytes) begin
      // Sums.
      if (what_q == Tcp && !summed_q) begin
        step_q <= step_q + 6'd1;
        unique case (step_q)
          6'd0: if (s_q.segment.len != '0 && !s_q.part) addend_q <= 17'(s_q.entry.sum);
          6'd1: begin
            addend_q <= 17'(tcp_len);
            ip_sum_q <= 27'(ip_q) + 27'(packet_q);
          end
          6'd2: begin
            addend_q <= 17'(port);
            ip_sum_q <= 27'(ip_fold);
          end
          6'd3: begin
            addend_q <= 17'(s_q.segment.seq[31:16]);
            ip_sum_q <= 27'(ip_fold);
          end
          6'd4: begin
            addend_q      <= 17'(s_q.segment.seq[15:0]);
            ip_checksum_q <= ~ip_sum_q[15:0];
          end
          6'd5: addend_q <= 17'(s_q.segment.ack[31:16]);
          6'd6: addend_q <= 17'(s_q.segment.ack[15:0]);
          6'd7: addend_q <= 17'(offset_control);
          6'd8: addend_q <= 17'(s_q.segment.window);
          // Each is selected in the step before.
          6'd10, 6'd11, 6'd12, 6'd13, 6'd14, 6'd15, 6'd16, 6'd17, 6'd18: begin
            if (slot_used_q) addend_q <= 17'(option_q[31:16]) + 17'(option_q[15:0]);
          end
          // The digits of the field in a whole request.
          6'd19, 6'd20, 6'd21, 6'd22, 6'd23, 6'd24, 6'd25, 6'd26: begin
            digit_q <= digit_q + 3'd1;
            if (has_field && s_q.segment.len != '0 && !s_q.part) begin
              addend_q <= s_q.entry.place[0] ^ digit_q[0] ? 17'(field_digit) : 17'({field_digit, 8'h00});
            end
          end
          6'd28, 6'd29: sum_q <= 27'(fold);
          6'd30: begin
            checksum_q <= ~sum_q[15:0];
            summed_q   <= 1'b1;
          end
          default: ;
        endcase
      end

      // Bytes.
      if (out_valid_q && ready_i) out_valid_q <= 1'b0;
      if (full_q && out_free) begin
        out_valid_q      <= 1'b1;
        out_q.last       <= full_last_q;
        out_q.final_byte <= byte_q - 3'd1;
        out_q.data       <= bytes_q;
        full_q           <= 1'b0;
        byte_q           <= '0;
      end
      if (moves) begin
        made_q <= make;
        if (made_q) begin
          bytes_q[8*byte_place+:8] <= made;
          byte_q      <= byte_place + 3'd1;
          full_q      <= byte_place == 3'd7 || made_last_q;
          full_last_q <= made_last_q;
        end
      end
      if (make) begin
        header_q      <= header;
        option_byte_q <= at_q[1]
          ? (at_q[0] ? option_q[23:16] : option_q[31:24])
          : at_q[0] ? option_q[7:0] : option_q[15:8];
        digit_byte_q  <= field_digit;
        of_options_q  <= in_options_q;
        of_text_q     <= in_text_q;
        of_echo_q     <= in_echo_q && at_q != 12'd34 && at_q != 12'd36 && at_q != 12'd37;
        of_field_q    <= field_here;
        of_memory_q   <= in_text_q || in_echo_q;
        made_last_q   <= at_q == last_q;
        at_q <= at_q + 12'd1;
        if (at_q == last_q) making_q <= 1'b0;
        if (what_q == Tcp && at_q == before_text_q) {in_options_q, in_text_q} <= 2'b01;
        else if (what_q == Tcp && at_q == 12'd53) in_options_q <= 1'b1;
        if (what_q == Echo && at_q == 12'd33) in_echo_q <= 1'b1;
        if (in_text_q) in_field_q <= in_field_q + 11'd1;
        // The last byte but one of a word: its slot is over.
        if (in_options_q && at_q[1:0] == 2'b00) slots_q <= slots_q & (slots_q - 9'd1);
      end else if (summed_q) option_q <= option_q;
      if (ends) state_q <= Free;
    end

    if (!rst_ni) begin
      state_q  <= Free;
      waited_q <= '0;
      prime_q  <= '0;
      last_q   <= '1;
    end
  end
endmodule
