// Makes frames of segments: Ethernet, IPv4 and TCP headers, options, and the part of the request that the
// segment carries. Answers ARP and ping as well.
//
// A departure's first beat is here in the cycle in which its segment is: it holds addresses alone. All else
// is made while that beat and the preamble are on the wire, a byte each cycle, and sums meanwhile, a halfword
// each cycle. Of a whole request the sum of its template is known; a part of one is summed before its frame
// starts.
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
    output logic [7:0]  echo_place_o,   // read in the next cycle
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
  localparam logic [15:0] Patience = 16'd8192;
  localparam logic [15:0] MostEcho = 16'd256;
  // Preamble, FCS and gap; and what a departure needs before its own frame.
  localparam logic [15:0] Around = 16'd24 + 16'd8;

  state_e state_q;
  what_e what_q;
  sending_t s_q;
  question_t question_q;
  logic [15:0] waited_q;
  logic [11:0] at_q, last_q;     // of the byte that is made, and of the frame's last
  logic [Slots-1:0] slots_q;     // those still to come
  logic [11:0] text_q;           // of the first byte of text
  logic [15:0] packet_q;         // length of the IP packet
  logic told_q;

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

  // Which one is next.
  wire part = s_q.segment.len != '0 && s_q.segment.len != 16'(s_q.entry.len);
  wire [15:0] other_cycles = Around + 16'd60 + other_i.segment.len;
  wire no_room = wait_i < other_cycles;
  wire overdue = waited_q >= Patience || hurry_i;
  wire take_departure = state_q == Free && departure_valid_i;
  // Not before the wire is free, which is when its time is known.
  wire take_other = state_q == Free && ready_i && !departure_valid_i && other_valid_i && (!no_room || overdue);
  wire question_room = wait_i >= Around + 16'd60 + MostEcho;
  wire take_question = state_q == Free && ready_i && !departure_valid_i && !take_other
    && question_valid_i && question_room;

  wire sending_t chosen = departure_valid_i ? departure_i : other_i;
  wire chosen_part = chosen.segment.len != '0 && chosen.segment.len != 16'(chosen.entry.len);
  // The first beat leaves at once, unless something is to be prepared.
  wire at_once = (take_departure || take_other) && !chosen_part;
  wire starts = (at_once || state_q == Start) && ready_i;

  assign departure_ready_o = state_q == Free;
  assign other_ready_o     = take_other;

  // Sums: the constant part of each, what changes with the segment, and the text.
  logic [19:0] pseudo_q, ip_q;
  logic [26:0] sum_q;
  logic [26:0] ip_sum_q;
  logic [5:0] step_q;  // of the sum
  logic summed_q;
  logic [10:0] prepare_q;
  logic prepare_read_q, prepare_odd_q;
  logic [15:0] checksum_q, ip_checksum_q;
  logic [2:0] digit_q;

  wire [15:0] tcp_len = packet_q - 16'd20;
  wire [2:0] words = words_of(s_q.segment);
  wire [15:0] port = load_i.port + 16'(s_q.index);
  wire [15:0] offset_control = {4'd5 + 4'(words), 4'd0, s_q.segment.control};
  wire has_field = s_q.entry.field != FieldNone;
  wire [10:0] first_byte = s_q.entry.len - 11'(s_q.segment.before_end);  // of the request, in this segment

  always_ff @(posedge clk_i) begin
    pseudo_q <= 20'(load_i.address[31:16]) + 20'(load_i.address[15:0]) + 20'(load_i.peer_address[31:16]) +
        20'(load_i.peer_address[15:0]) + 20'd6 + 20'(load_i.peer_port);
    ip_q <= 20'h4500 + 20'h4000 + 20'h4006 + 20'(load_i.address[31:16]) + 20'(load_i.address[15:0]) +
        20'(load_i.peer_address[31:16]) + 20'(load_i.peer_address[15:0]);
  end

  // The byte that is made.
  logic [7:0] header, made;
  logic [10:0] text_at_q;  // index in the request, or in the echo's message
  wire in_options = what_q == Tcp && at_q >= 12'd54 && at_q < text_q;
  wire in_text = what_q == Tcp && at_q >= text_q;
  wire in_echo = what_q == Echo && at_q >= 12'd34;
  wire [10:0] in_field = text_at_q - s_q.entry.place;
  wire field_here = has_field && in_field < 11'd8;
  wire [47:0] to_mac = what_q == Tcp ? load_i.peer_mac : question_q.mac;
  wire [31:0] to_address = what_q == Tcp ? load_i.peer_address : question_q.address;
  wire [15:0] type_ = what_q == Arp ? 16'h0806 : 16'h0800;

  // Sums are over before the first byte of options or text is made, so both use the same selections.
  wire summing = !summed_q;
  wire preparing = state_q == Prepare && what_q == Tcp;
  wire [10:0] prepare_field = prepare_q - 11'd1 - s_q.entry.place;
  wire [2:0] field_index = preparing ? prepare_field[2:0] : summing ? digit_q : in_field[2:0];
  wire [7:0] field_digit = digit(s_q.digits[4*(3'd7-field_index)+:4]);
  logic [3:0] slot;
  logic [31:0] option;
  always_comb begin
    slot = step_q[3:0] - 4'd8;
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
    unique case (at_q)
      12'd8:   header = load_i.mac[31:24];
      12'd9:   header = load_i.mac[23:16];
      12'd10:  header = load_i.mac[15:8];
      12'd11:  header = load_i.mac[7:0];
      12'd12:  header = type_[15:8];
      12'd13:  header = type_[7:0];
      12'd14:  header = what_q == Arp ? 8'h00 : 8'h45;
      12'd15:  header = what_q == Arp ? 8'h01 : 8'h00;
      12'd16:  header = what_q == Arp ? 8'h08 : packet_q[15:8];
      12'd17:  header = what_q == Arp ? 8'h00 : packet_q[7:0];
      12'd18:  header = what_q == Arp ? 8'h06 : 8'h00;
      12'd19:  header = what_q == Arp ? 8'h04 : 8'h00;
      12'd20:  header = what_q == Arp ? 8'h00 : 8'h40;
      12'd21:  header = what_q == Arp ? 8'h02 : 8'h00;
      12'd22:  header = what_q == Arp ? load_i.mac[47:40] : 8'h40;
      12'd23:  header = what_q == Arp ? load_i.mac[39:32] : what_q == Echo ? 8'h01 : 8'h06;
      12'd24:  header = what_q == Arp ? load_i.mac[31:24] : ip_checksum_q[15:8];
      12'd25:  header = what_q == Arp ? load_i.mac[23:16] : ip_checksum_q[7:0];
      12'd26:  header = what_q == Arp ? load_i.mac[15:8] : load_i.address[31:24];
      12'd27:  header = what_q == Arp ? load_i.mac[7:0] : load_i.address[23:16];
      12'd28:  header = what_q == Arp ? load_i.address[31:24] : load_i.address[15:8];
      12'd29:  header = what_q == Arp ? load_i.address[23:16] : load_i.address[7:0];
      12'd30:  header = what_q == Arp ? load_i.address[15:8] : to_address[31:24];
      12'd31:  header = what_q == Arp ? load_i.address[7:0] : to_address[23:16];
      12'd32:  header = what_q == Arp ? to_mac[47:40] : to_address[15:8];
      12'd33:  header = what_q == Arp ? to_mac[39:32] : to_address[7:0];
      12'd34:  header = what_q == Arp ? to_mac[31:24] : port[15:8];
      12'd35:  header = what_q == Arp ? to_mac[23:16] : port[7:0];
      12'd36:  header = what_q == Arp ? to_mac[15:8] : load_i.peer_port[15:8];
      12'd37:  header = what_q == Arp ? to_mac[7:0] : load_i.peer_port[7:0];
      12'd38:  header = what_q == Arp ? to_address[31:24] : s_q.segment.seq[31:24];
      12'd39:  header = what_q == Arp ? to_address[23:16] : s_q.segment.seq[23:16];
      12'd40:  header = what_q == Arp ? to_address[15:8] : s_q.segment.seq[15:8];
      12'd41:  header = what_q == Arp ? to_address[7:0] : s_q.segment.seq[7:0];
      12'd42:  header = s_q.segment.ack[31:24];
      12'd43:  header = s_q.segment.ack[23:16];
      12'd44:  header = s_q.segment.ack[15:8];
      12'd45:  header = s_q.segment.ack[7:0];
      12'd46:  header = offset_control[15:8];
      12'd47:  header = offset_control[7:0];
      12'd48:  header = s_q.segment.window[15:8];
      12'd49:  header = s_q.segment.window[7:0];
      12'd50:  header = checksum_q[15:8];
      12'd51:  header = checksum_q[7:0];
      default: header = 8'h00;
    endcase
    made = header;
    if (in_options) begin
      made = at_q[1] ? (at_q[0] ? option[23:16] : option[31:24]) : at_q[0] ? option[7:0] : option[15:8];
    end
    if (in_text) made = field_here ? field_digit : template_byte_i;
    // Type 0, and a checksum that is 0x0800 larger in ones' complement.
    if (in_echo) begin
      made = at_q == 12'd34 ? 8'h00
        : at_q == 12'd36 ? checksum_q[15:8] : at_q == 12'd37 ? checksum_q[7:0] : echo_byte_i;
    end
  end

  // Bytes become beats.
  logic [63:0] bytes_q;
  logic [2:0] byte_q;
  logic full_q;
  beat_t out_q;
  logic out_valid_q;
  wire ends = state_q == Bytes && out_valid_q && ready_i && out_q.last;  // the last beat is taken
  // Until then nothing changes the bytes of a question.
  assign question_ready_o = ends && what_q != Tcp;
  wire out_free = !out_valid_q || ready_i;
  wire making = state_q == Bytes && at_q <= last_q;
  wire sum_late = what_q == Tcp && at_q == 12'd50 && !summed_q;
  wire [2:0] byte_place = full_q ? 3'd0 : byte_q;
  wire make = making && !sum_late && (!full_q || out_free);

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

  // Memories are read a cycle ahead.
  wire [10:0] text_next = make && (in_text || in_echo) ? text_at_q + 11'd1 : text_at_q;
  wire [7:0] prepared = has_field && prepare_field < 11'd8 ? field_digit : template_byte_i;
  wire [10:0] prepare_next = preparing ? prepare_q + 11'd1 : prepare_q;
  assign template_place_o = s_q.entry.start + 12'(preparing ? prepare_q : text_next);
  assign echo_place_o = text_next[7:0];

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
    waited_q  <= !other_valid_i || take_other ? '0 : overdue ? waited_q : waited_q + 16'd1;

    unique case (state_q)
      Free: begin
        if (take_departure || take_other) begin
          s_q       <= chosen;
          what_q    <= Tcp;
          slots_q   <= slots_of(chosen.segment);
          text_q    <= 12'd54 + {7'd0, words_of(chosen.segment), 2'b00};
          packet_q  <= 16'd40 + {11'd0, words_of(chosen.segment), 2'b00} + chosen.segment.len;
          delayed_o <= take_other && no_room && !other_i.departure;
          state_q   <= chosen_part ? Prepare : ready_i ? Bytes : Start;
          sum_q     <= 27'(pseudo_q) + (chosen.segment.len != '0 && !chosen_part ? 27'(chosen.entry.sum) : '0);
          prepare_q <= chosen.entry.len - 11'(chosen.segment.before_end);
          told_q    <= chosen.departure;
        end else if (take_question) begin
          question_q <= question_i;
          what_q     <= question_i.echo ? Echo : Arp;
          packet_q   <= 16'd20 + 16'(question_i.len);
          state_q    <= Prepare;
        end
        prepare_read_q <= 1'b0;
        prepare_odd_q  <= 1'b0;
        step_q         <= '0;
        summed_q       <= 1'b0;
        digit_q        <= '0;
        at_q           <= 12'd8;
        byte_q         <= '0;
        full_q         <= 1'b0;
        out_valid_q    <= 1'b0;
      end

      Prepare: begin
        if (what_q == Tcp) begin
          // The bytes of a part, without its field. `prepare_q` is the byte that is asked for.
          prepare_q      <= prepare_next;
          prepare_read_q <= 1'b1;
          if (prepare_read_q) begin
            prepare_odd_q <= !prepare_odd_q;
            sum_q <= sum_q + (prepare_odd_q ? 27'(prepared) : 27'({prepared, 8'h00}));
            if (prepare_q - first_byte == 11'(s_q.segment.len)) state_q <= Start;
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

    if (state_q == Free || state_q == Start || state_q == Prepare) begin
      text_at_q <= state_q == Free ? chosen.entry.len - 11'(chosen.segment.before_end)
        : what_q == Echo ? '0 : first_byte;
    end
    if (state_q == Start) last_q <= what_q == Arp ? 12'd41 : 12'd13 + packet_q[11:0];
    if (state_q == Free) last_q <= 12'd53 + {7'd0, words_of(chosen.segment), 2'b00} + chosen.segment.len[11:0];

    if (state_q == Bytes) begin
      // Sums.
      if (what_q == Tcp && !summed_q) begin
        step_q <= step_q + 6'd1;
        unique case (step_q)
          6'd0: begin
            sum_q    <= sum_q + 27'(tcp_len);
            ip_sum_q <= 27'(ip_q) + 27'(packet_q);
          end
          6'd1: begin
            sum_q    <= sum_q + 27'(port);
            ip_sum_q <= 27'(ip_fold);
          end
          6'd2: begin
            sum_q    <= sum_q + 27'(s_q.segment.seq[31:16]);
            ip_sum_q <= 27'(ip_fold);
          end
          6'd3: begin
            sum_q         <= sum_q + 27'(s_q.segment.seq[15:0]);
            ip_checksum_q <= ~ip_sum_q[15:0];
          end
          6'd4: sum_q <= sum_q + 27'(s_q.segment.ack[31:16]);
          6'd5: sum_q <= sum_q + 27'(s_q.segment.ack[15:0]);
          6'd6: sum_q <= sum_q + 27'(offset_control);
          6'd7: sum_q <= sum_q + 27'(s_q.segment.window);
          6'd8, 6'd9, 6'd10, 6'd11, 6'd12, 6'd13, 6'd14, 6'd15, 6'd16: begin
            if (slots_q[slot]) sum_q <= sum_q + 27'(option[31:16]) + 27'(option[15:0]);
          end
          // The digits of the field in a whole request.
          6'd17, 6'd18, 6'd19, 6'd20, 6'd21, 6'd22, 6'd23, 6'd24: begin
            digit_q <= digit_q + 3'd1;
            if (has_field && s_q.segment.len != '0 && !part) begin
              sum_q <= sum_q + (s_q.entry.place[0] ^ digit_q[0] ? 27'(field_digit) : 27'({field_digit, 8'h00}));
            end
          end
          6'd25, 6'd26: sum_q <= 27'(fold);
          default: begin
            checksum_q <= ~sum_q[15:0];
            summed_q   <= 1'b1;
          end
        endcase
      end

      // Bytes.
      if (out_valid_q && ready_i) out_valid_q <= 1'b0;
      if (full_q && out_free) begin
        out_valid_q      <= 1'b1;
        out_q.last       <= at_q > last_q;
        out_q.final_byte <= byte_q - 3'd1;
        out_q.data       <= bytes_q;
        full_q           <= 1'b0;
        byte_q           <= '0;
      end
      if (make) begin
        bytes_q[8*byte_place+:8] <= made;
        byte_q <= byte_place + 3'd1;
        full_q <= byte_place == 3'd7 || at_q == last_q;
        at_q   <= at_q + 12'd1;
        text_at_q <= text_next;
        // The last byte of a word: its slot is over.
        if (in_options && at_q[1:0] == 2'b01) slots_q <= slots_q & (slots_q - 9'd1);
      end
      if (ends) state_q <= Free;
    end

    if (!rst_ni) begin
      state_q  <= Free;
      waited_q <= '0;
    end
  end
endmodule
