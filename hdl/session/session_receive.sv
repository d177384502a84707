// Frames from the wire: a segment of one of our sessions is passed on with its options, and its text is kept in the ring;
// ARP questions for our address and echo requests (ping) are passed on to be answered. All else is counted.
//
// A frame is used only when all of it is here and its checksums are right: FCS, IPv4 header, TCP or ICMP. Fragments and
// IPv4 options are not read. Lengths that contradict each other, and options that do, make a frame bad, as in the crate.
module session_receive
  import tare_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
(
    input  logic           clk_i,
    input  logic           rst_ni,
    input  load_t          load_i,
    // From mac_rx_gmii: beats come eight cycles apart, but for the last.
    input  logic           valid_i,
    input  received_t      received_i,
    output logic           valid_o,
    input  logic           ready_i,
    output heard_segment_t segment_o,
    // The ring, and the place up to which it is free again.
    output logic           ring_write_o,
    output ring_t          ring_place_o,
    output logic [7:0]     ring_byte_o,
    input  ring_t          ring_free_i,
    output logic           question_valid_o,
    input  logic           question_ready_i,
    output question_t      question_o,
    output logic           echo_write_o,
    output logic [7:0]     echo_place_o,
    output logic [7:0]     echo_byte_o,
    output logic           foreign_o,
    output logic           stray_o,
    output logic           bad_o,
    output logic           full_o
);
  localparam logic [15:0] TypeArp = 16'h0806;
  localparam logic [15:0] TypeIp = 16'h0800;
  localparam int unsigned MostEcho = 256;

  // Bytes of the beat, and the beat behind it.
  heard_t beat_q, next_q;
  logic [3:0] left_q;  // bytes of beat_q
  logic next_valid_q;
  tick_t stamp_q;

  wire byte_valid = left_q != '0;
  wire [7:0] b = beat_q.data[7:0];
  wire last_byte = left_q == 4'd1;
  wire end_of_frame = byte_valid && last_byte && beat_q.last;

  always_ff @(posedge clk_i) begin
    beat_q.data <= beat_q.data >> 8;
    if (byte_valid) left_q <= left_q - 4'd1;
    if (valid_i) begin
      next_q       <= received_i.beat;
      next_valid_q <= 1'b1;
      if (received_i.beat.first) stamp_q <= received_i.stamp[47:0];
    end
    if (next_valid_q && (!byte_valid || last_byte)) begin
      beat_q       <= next_q;
      left_q       <= 4'(next_q.final_byte) + 4'd1;
      next_valid_q <= valid_i;
    end
    if (!rst_ni) begin
      left_q       <= '0;
      next_valid_q <= 1'b0;
    end
  end

  // The frame. `wide` ends with this byte.
  logic [63:0] before_q;
  wire [63:0] wide = {before_q[55:0], b};
  wire [15:0] half = wide[15:0];
  wire [31:0] word = wide[31:0];
  logic [11:0] at_q;  // of this byte
  logic ours_q, all_q, arp_q, ip_q, tcp_q, echo_q, wrong_q, foreign_q, stray_q, overrun_q;
  logic [11:0] end_q;     // of the last byte of the IP packet
  logic [11:0] text_q;    // of the first byte of text
  logic [15:0] tcp_len_q;
  logic [26:0] ip_sum_q, sum_q;
  index_t index_q;
  event_t event_q;  // kind, len, on and patience are not used
  logic [47:0] from_mac_q;
  logic [31:0] from_q;
  logic [15:0] echo_sum_q;
  ring_t write_q, start_q;

  // An option: its kind, and how many of its bytes come (its length counts kind and length).
  logic option_len_q, option_body_q;
  logic [7:0] option_kind_q, option_size_q, option_left_q;
  logic options_over_q, had_mss_q, had_shift_q, had_stamps_q, had_sack_q;

  wire in_options = byte_valid && tcp_q && at_q >= 12'd54 && at_q < text_q;
  wire in_text = byte_valid && tcp_q && at_q >= text_q && at_q <= end_q && at_q >= 12'd54;
  wire in_packet = byte_valid && at_q <= end_q && at_q > 12'd33;
  wire ring_full = write_q + ring_t'(1) == ring_free_i;
  wire [11:0] header_end = 12'd34 + {6'd0, b[7:4], 2'b00};
  wire [15:0] offset = half - load_i.port;

  assign ring_write_o = in_text && !ring_full;
  assign ring_place_o = write_q;
  assign ring_byte_o  = b;
  assign echo_write_o = byte_valid && echo_q && !overrun_q && at_q >= 12'd34 && at_q <= end_q && at_q < 12'(34 + MostEcho);
  assign echo_place_o = 8'(at_q - 12'd34);
  assign echo_byte_o  = b;

  // What follows the last byte.
  typedef enum logic [2:0] {
    Reading,
    Fold,
    Fold2,
    Judge
  } state_e;
  state_e state_q;
  logic [11:0] bytes_q;
  logic cut_q;  // fewer bytes than the packet has, or the FCS is wrong
  wire [16:0] ip_fold = {1'b0, ip_sum_q[15:0]} + 17'(ip_sum_q[26:16]);
  wire [16:0] fold = {1'b0, sum_q[15:0]} + 17'(sum_q[26:16]);
  wire ip_right = ip_sum_q[15:0] == 16'hffff;
  wire right = sum_q[15:0] == 16'hffff;
  wire [11:0] text_len = end_q + 12'd1 - text_q;
  wire option_cut = option_len_q || option_body_q;

  always_ff @(posedge clk_i) begin
    foreign_o <= 1'b0;
    stray_o   <= 1'b0;
    bad_o     <= 1'b0;
    full_o    <= 1'b0;
    if (valid_o && ready_i) valid_o <= 1'b0;
    if (question_valid_o && question_ready_i) question_valid_o <= 1'b0;

    if (byte_valid) begin
      before_q <= wide;
      if (at_q != '1) at_q <= at_q + 12'd1;

      unique case (at_q)
        12'd5: begin
          ours_q <= wide[47:0] == load_i.mac;
          all_q  <= wide[47:0] == '1;
        end
        12'd11: from_mac_q <= wide[47:0];
        12'd13: begin
          arp_q <= half == TypeArp;
          ip_q  <= half == TypeIp && ours_q;
          if (half != TypeArp && half != TypeIp || !ours_q && !all_q) foreign_q <= 1'b1;
        end
        12'd14: if (ip_q && b != 8'h45) foreign_q <= 1'b1;
        12'd17:
        if (ip_q) begin
          end_q     <= half > 16'd2000 ? 12'd2014 : half[11:0] + 12'd13;
          tcp_len_q <= half - 16'd20;
          if (half > 16'd2000 || half < 16'd28) wrong_q <= 1'b1;
        end
        12'd20: if (ip_q && (b[5:0] != '0)) foreign_q <= 1'b1;
        12'd21: begin
          if (ip_q && b != '0) foreign_q <= 1'b1;
          if (arp_q && {before_q[55:0], b} != 64'h0001_0800_0604_0001) foreign_q <= 1'b1;
        end
        12'd23:
        if (ip_q) begin
          tcp_q  <= b == 8'd6;
          echo_q <= b == 8'd1;
          if (b != 8'd6 && b != 8'd1) foreign_q <= 1'b1;
          // The bytes of an earlier question are needed until it is answered.
          if (b == 8'd1 && question_valid_o) overrun_q <= 1'b1;
        end
        12'd29: if (ip_q) from_q <= word;
        12'd31: if (arp_q) from_q <= word;
        12'd33: if (ip_q && word != load_i.address) foreign_q <= 1'b1;
        12'd35: begin
          if (tcp_q && (half != load_i.peer_port || from_q != load_i.peer_address)) stray_q <= 1'b1;
          if (echo_q && half != 16'h0800) foreign_q <= 1'b1;
        end
        12'd37: begin
          if (tcp_q && offset >= 16'(load_i.sessions)) stray_q <= 1'b1;
          index_q  <= offset[12:0];
          echo_sum_q <= half;
        end
        12'd41: begin
          event_q.seq <= word;
          if (arp_q && word != load_i.address) foreign_q <= 1'b1;
        end
        12'd45: event_q.ack <= word;
        12'd46: begin
          text_q <= header_end;
          if (tcp_q && (b[7:4] < 4'd5 || header_end > end_q + 12'd1)) wrong_q <= 1'b1;
        end
        12'd47: event_q.control <= b;
        12'd49: event_q.window <= half;
        default: ;
      endcase

      // The IPv4 header's sum; the other sum has addresses, protocol and length as well if it is TCP's.
      if (at_q[0] && at_q >= 12'd15 && at_q <= 12'd33) ip_sum_q <= ip_sum_q + 27'(half);
      if (at_q[0] && tcp_q && at_q >= 12'd27 && at_q <= 12'd33) sum_q <= sum_q + 27'(half);
      if (at_q == 12'd25 && tcp_q) sum_q <= 27'(tcp_len_q) + 27'd6;
      if (in_packet && at_q[0]) sum_q <= sum_q + 27'(half);
      if (in_packet && !at_q[0] && at_q == end_q) sum_q <= sum_q + 27'({b, 8'h00});

      if (in_options && !options_over_q) begin
        if (option_body_q) begin
          option_left_q <= option_left_q - 8'd1;
          if (option_left_q == 8'd1) option_body_q <= 1'b0;
          // The first of several of a kind counts.
          unique case (option_kind_q)
            8'd2:
            if (option_left_q == 8'd1 && !had_mss_q) begin
              event_q.has_mss <= 1'b1;
              event_q.mss <= half;
              had_mss_q <= 1'b1;
            end
            8'd3:
            if (!had_shift_q) begin
              event_q.has_shift <= 1'b1;
              event_q.shift <= b;
              had_shift_q <= 1'b1;
            end
            8'd8:
            if (option_left_q == 8'd1 && !had_stamps_q) begin
              event_q.stamps <= {1'b1, wide};
              had_stamps_q <= 1'b1;
            end
            8'd5:
            if (option_size_q - option_left_q == 8'd9 && !had_sack_q) begin
              event_q.has_sack <= 1'b1;
              event_q.sack_right <= word;
              had_sack_q <= 1'b1;
            end
            default: ;
          endcase
        end else if (option_len_q) begin
          option_len_q  <= 1'b0;
          option_size_q <= b;
          option_left_q <= b - 8'd2;
          option_body_q <= b > 8'd2;
          if (b < 8'd2 || 12'(b) > text_q - at_q + 12'd1) wrong_q <= 1'b1;
          unique case (option_kind_q)
            8'd2: if (b != 8'd4) wrong_q <= 1'b1;
            8'd3: if (b != 8'd3) wrong_q <= 1'b1;
            8'd4: begin
              if (b != 8'd2) wrong_q <= 1'b1;
              event_q.sack_permitted <= 1'b1;
            end
            8'd5: if (b < 8'd10 || b[2:0] != 3'd2) wrong_q <= 1'b1;
            8'd8: if (b != 8'd10) wrong_q <= 1'b1;
            default: ;
          endcase
        end else begin
          option_kind_q <= b;
          options_over_q <= b == 8'd0;
          option_len_q   <= b > 8'd1;
        end
      end

      if (in_text) begin
        if (ring_full) overrun_q <= 1'b1;
        else write_q <= write_q + ring_t'(1);
      end
    end

    if (end_of_frame) begin
      state_q <= Fold;
      bytes_q <= at_q + 12'd1;
      cut_q   <= beat_q.bad || at_q < end_q + 12'd4;
    end

    unique case (state_q)
      Fold, Fold2: begin
        ip_sum_q <= 27'(ip_fold);
        sum_q    <= 27'(fold);
        state_q  <= state_q == Fold ? Fold2 : Judge;
      end
      Judge: begin
        state_q <= Reading;
        write_q <= start_q;
        if (cut_q || (ip_q && !foreign_q && (!ip_right || !right || wrong_q || option_cut))) bad_o <= 1'b1;
        else if (foreign_q) foreign_o <= 1'b1;
        else if (tcp_q) begin
          if (stray_q) stray_o <= 1'b1;
          else if (overrun_q || valid_o && !ready_i) full_o <= 1'b1;
          else begin
            valid_o   <= 1'b1;
            segment_o.index  <= index_q;
            segment_o.event_ <= event_q;
            segment_o.event_.kind     <= EventSegment;
            segment_o.event_.len      <= 16'(text_len);
            segment_o.event_.on       <= 1'b0;
            segment_o.event_.patience <= '0;
            segment_o.stamp           <= stamp_q;
            segment_o.bytes           <= bytes_q;
            segment_o.start           <= start_q;
            segment_o.after           <= write_q;
            write_q <= write_q;
            start_q <= write_q;
          end
        end else if (echo_q && tcp_len_q > 16'(MostEcho)) foreign_o <= 1'b1;
        else if (!question_valid_o && !overrun_q) begin
          question_valid_o <= 1'b1;
          question_o.echo    <= echo_q;
          question_o.mac     <= from_mac_q;
          question_o.address <= from_q;
          question_o.echo_sum     <= echo_sum_q;
          question_o.len     <= tcp_len_q[8:0];
        end else full_o <= 1'b1;
      end
      default: ;
    endcase

    // Nothing of the frame before is left.
    if (state_q == Judge || !rst_ni) begin
      at_q           <= '0;
      {ours_q, all_q, arp_q, ip_q, tcp_q, echo_q, wrong_q, foreign_q, stray_q, overrun_q} <= '0;
      {option_len_q, option_body_q, options_over_q} <= '0;
      {had_mss_q, had_shift_q, had_stamps_q, had_sack_q} <= '0;
      end_q          <= 12'd59;
      text_q         <= '1;
      ip_sum_q       <= '0;
      sum_q          <= '0;
      event_q <= '0;
    end
    if (!rst_ni) begin
      state_q          <= Reading;
      valid_o          <= 1'b0;
      question_valid_o <= 1'b0;
      write_q          <= '0;
      start_q          <= '0;
    end
  end
endmodule
