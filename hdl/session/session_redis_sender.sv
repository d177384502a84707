// The TCP connection to Redis, one at a time, and what is sent over it: commands of one length, one after
// another. A small sender, as session_step is for a request that waits for its response: it has no pipeline.
//
// Three places in the row of commands matter, each as a number of commands after the oldest one in the buffer:
//
//   oldest       acknowledged            next             reached            complete
//     │ sent, reply not yet here │ on its way │ (sent once, to be sent again) │ not yet sent │
//
// Bytes are sent again from the first one that is not acknowledged: when the retransmission timeout (RFC 6298)
// is over, or with the third duplicate acknowledgment, then once until all is acknowledged that was sent. The
// number of commands on their way starts at ten, at one behind a timeout, and grows with each acknowledgment;
// three duplicates halve it. A command is no longer than a segment unless the peer's MSS is small. Only
// text in order is taken.
//
// A connection may begin with a greeting: commands of the host (AUTH, SELECT), a segment at a time. Nothing else
// is sent before each of them has its +OK; an error ends the connection.
//
// If no reply comes for `patience`, if Redis takes nothing for now, or if the peer ends the connection, it is
// over, and `pause` later there is another, from the next port. All commands without a reply are sent again
// over it. Each has a number, and Redis refuses those that it has: none is stored twice.
module session_redis_sender
  import tcp_spec_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
  import session_redis_pkg::*;
(
    input  logic           clk_i,
    input  logic           rst_ni,
    input  redis_t         redis_i,
    output logic [15:0]    port_o,
    // The way there: whether it is known, and is to be found.
    input  logic           known_i,
    output logic           wants_o,
    output logic           forget_o,
    // The buffer.
    input  ahead_t         complete_i,
    output logic           settle_o,
    // What is heard, and its text.
    input  logic           heard_valid_i,
    output logic           heard_ready_o,
    input  heard_segment_t heard_i,
    output ring_t          text_place_o,  // read in the next cycle
    input  logic [7:0]     text_byte_i,
    output ring_t          text_free_o,
    // What leaves, and the first row of its events.
    output logic           sending_valid_o,
    input  logic           sending_ready_i,
    output sending_t       sending_o,
    output event_row_t     row_o,
    output time_t          now_o,
    output redis_counted_t counted_o
);
  localparam logic [15:0] Mss = 16'd1460;
  localparam logic [15:0] DefaultMss = 16'd536;
  localparam logic [15:0] OurWindow = 16'd1460;
  localparam int unsigned TextBytes = 2048;
  localparam ahead_t FirstBurst = 4'd10;
  localparam ahead_t MostBurst = ahead_t'(MostCommands);

  typedef enum logic [1:0] {
    Down,
    SynOut,
    Greet,
    Up
  } link_e;
  typedef enum logic [2:0] {
    Pick,
    Judge,     // the segment
    Advance,   // what it acknowledges, a command each cycle
    Text,
    Rewind,    // to what is not acknowledged, a command each cycle
    Offer
  } state_e;
  typedef enum logic [2:0] {
    OutSyn,
    OutBare,  // an acknowledgment
    OutGreeting,
    OutData,
    OutFin,
    OutReset,
    OutStray  // a reset of what the peer still has of an earlier connection (RFC 9293 section 3.10.7.3)
  } what_e;

  link_e link_q;
  state_e state_q;
  what_e what_q;

  // Time.
  time_t now;
  logic sampled, rtt_valid_q;
  logic [16:0] rto;
  logic [31:0] rtt_q;
  assign now_o = now;
  session_clock clock (.clk_i, .rst_ni, .micro_i(redis_i.micro), .now_o(now));
  session_rto timeout (
      .clk_i,
      .rst_ni,
      .valid_i  (rtt_valid_q),
      .micros_i (rtt_q),
      .sampled_o(sampled),
      .rto_o    (rto)
  );

  // Each connection has another port.
  logic [11:0] opened_q;
  logic [31:0] isn_q;
  assign port_o = redis_i.port + 16'(opened_q);
  always_ff @(posedge clk_i) isn_q <= {now.micros[31:2], 2'b00} + (redis_i.secret ^ {port_o, 16'd0});

  // Sequence numbers.
  logic [31:0] una_q, nxt_q, max_q, recover_q, rcv_nxt_q, wl1_q;
  logic [15:0] window_q, mss_q;
  logic ack_due_q, recovering_q;
  logic [1:0] duplicates_q;

  // Places.
  typedef logic [10:0] offset_t;
  ahead_t acked_q, next_q, reached_q, again_q, burst_q;
  offset_t acked_offset_q, next_offset_q;
  logic [31:0] oldest_digits_q, next_digits_q;
  event_row_t oldest_row_q, next_row_q;
  wire offset_t length = offset_t'(redis_i.head) + offset_t'(EventsBytes) + 11'd2;
  logic [15:0] advance_q;  // bytes from the start of the command at `acked_q`

  // Timers, in ms.
  logic [31:0] deadline_q, limit_q, open_at_q;
  logic timing_q, limited_q, timed_q;
  logic [31:0] timed_seq_q, timed_from_q;
  logic [3:0] backoff_q;
  wire [16:0] base = sampled ? rto : RtoFirstMs[16:0];
  wire [31:0] wait_ms = backoff_q >= 4'd7 ? RtoMostMs : 32'(base) << backoff_q;
  wire deadline_come = timing_q && !precedes(now.millis, deadline_q);
  wire limit_come = limited_q && !precedes(now.millis, limit_q);
  assign wants_o = link_q == Down && redis_i.head != '0;
  wire open_come = wants_o && known_i && !precedes(now.millis, open_at_q);
  wire is_up = link_q == Up || link_q == Greet;

  // What can be sent.
  wire [31:0] flight = nxt_q - una_q;
  wire has_data = next_q < complete_i;
  wire offset_t rest = length - next_offset_q;
  wire offset_t whole_len = 16'(rest) < mss_q ? rest : offset_t'(mss_q);
  wire [31:0] room = flight < 32'(window_q) ? 32'(window_q) - flight : '0;
  wire fits = 32'(whole_len) <= room;
  // With nothing on its way, what the window has room for; a byte when the time has come.
  wire squeezes = flight == '0 && room != '0;
  wire may_send = link_q == Up && has_data && next_q - acked_q < burst_q && (fits || squeezes);
  wire is_blocked = link_q == Up && has_data && flight == '0 && room == '0;
  logic [10:0] len_q;
  // Of the greeting: its first number, what is next of it, and replies that are to come.
  logic [31:0] greeting_q;
  logic [1:0] greetings_q;
  wire [31:0] greeted = nxt_q - greeting_q;
  wire offset_t greeting_rest = offset_t'(redis_i.greeting) - offset_t'(greeted);
  wire offset_t greeting_room = 32'(greeting_rest) < room ? greeting_rest : offset_t'(room);
  wire offset_t greeting_len = 16'(greeting_room) < mss_q ? greeting_room : offset_t'(mss_q);
  wire may_greet = link_q == Greet && flight == '0 && greeted < 32'(redis_i.greeting) && room != '0;
  wire is_greeted = link_q == Greet && greetings_q == '0 && greeted == 32'(redis_i.greeting) && flight == '0;

  // The segment under way.
  heard_segment_t heard_q;
  wire event_t e = heard_q.event_;
  wire [31:0] acked = e.ack - una_q;
  wire [31:0] unacked = max_q - una_q;
  wire ack_right = acked <= unacked;
  wire [31:0] behind = rcv_nxt_q - e.seq;
  wire in_order = behind == '0;
  wire has_fresh = in_order ? e.len != '0 : behind < 32'(e.len);
  wire fin_here = e.control.fin && e.seq + 32'(e.len) == rcv_nxt_q;
  wire duplicate = acked == '0 && e.len == '0 && !e.control.fin && flight != '0 && e.window == window_q;
  logic fin_q;
  logic [12:0] text_left_q;
  ring_t text_q, text_free_q;
  logic text_here_q;
  // The ring has room for 2 KiB; what was read of it is free.
  assign text_free_o = text_free_q + ring_t'(TextBytes);

  // Replies.
  logic stored, refused, busy, wrong, welcome, restart;
  wire parses = state_q == Text && text_here_q;
  wire greets = link_q == Greet && greetings_q != '0;
  session_redis_replies replies (
      .clk_i,
      .rst_ni,
      .restart_i(restart),
      .valid_i  (parses),
      .byte_i   (text_byte_i),
      .again_i  (again_q != '0),
      .greets_i (greets),
      .welcome_o(welcome),
      .stored_o (stored),
      .refused_o(refused),
      .busy_o   (busy),
      .wrong_o  (wrong)
  );
  wire settles = (stored || refused) && link_q == Up && acked_q != '0;
  wire denied = refused && greets;
  wire unasked = (stored || refused) && !settles && !denied;
  assign settle_o = settles;
  assign text_place_o = text_q;
  assign heard_ready_o = state_q == Pick;

  // A connection is over: without a reply, refused, reset, by what came as a reply, or by the peer.
  wire answers = state_q == Judge && link_q == SynOut && e.control.ack && e.ack == nxt_q;  // our SYN
  wire end_late = state_q == Pick && !heard_valid_i && limit_come;
  wire end_refused = answers && e.control.rst;
  // Only the next number ends the connection (RFC 5961 section 3).
  wire end_reset = state_q == Judge && is_up && e.control.rst && in_order;
  wire end_reply = busy || wrong || unasked || denied;
  wire text_over = state_q == Text && text_left_q == '0 && !text_here_q;
  wire end_fin = text_over && fin_q && fin_here;
  wire ends = end_late || end_refused || end_reset || end_reply || end_fin;
  assign forget_o = ends;

  // Sending starts again: with a connection, behind a timeout, for a lost segment, or since more is
  // acknowledged than was sent again.
  wire opens = answers && e.control.syn && !e.control.rst;
  wire rewind_late = state_q == Pick && !heard_valid_i && !limit_come && deadline_come
    && is_up && flight != '0;
  wire rewind_lost = text_over && !end_fin && duplicates_q == Duplicates[1:0];
  wire rewind_ahead = text_over && !end_fin && precedes(nxt_q, una_q);
  wire rewinds = opens || rewind_late || rewind_lost || rewind_ahead;

  // What is offered to the transmitter.
  always_comb begin
    sending_o = '0;
    sending_o.entry.start = place_t'(0) - place_t'(redis_i.head);
    // One more than there is: so no segment is a whole one, whose sum would have to be known.
    sending_o.entry.len = length + 11'd1;
    sending_o.entry.field = FieldSequence;
    sending_o.entry.place = 11'(redis_i.number_place);
    sending_o.digits = next_digits_q;
    sending_o.segment.valid = 1'b1;
    sending_o.segment.seq = nxt_q;
    sending_o.segment.ack = rcv_nxt_q;
    sending_o.segment.window = OurWindow;
    sending_o.segment.control.ack = 1'b1;
    unique case (what_q)
      OutSyn: begin
        sending_o.segment.ack = '0;
        sending_o.segment.control.ack = 1'b0;
        sending_o.segment.control.syn = 1'b1;
        sending_o.segment.has_mss = 1'b1;
        sending_o.segment.mss = Mss;
      end
      OutGreeting: begin
        sending_o.entry.start = place_t'(GreetingPlace);
        sending_o.entry.len = 11'(redis_i.greeting) + 11'd1;
        sending_o.entry.field = FieldNone;
        sending_o.segment.control.psh = 1'b1;
        sending_o.segment.len = 16'(len_q);
        sending_o.part = 1'b1;
        sending_o.segment.before_end = 16'(greeting_rest) + 16'd1;
      end
      OutData: begin
        sending_o.segment.control.psh = 1'b1;
        sending_o.segment.len = 16'(len_q);
        sending_o.part = 16'(len_q) != 16'(length) + 16'd1;
        sending_o.segment.before_end = 16'(length) + 16'd1 - 16'(next_offset_q);
      end
      OutFin:   sending_o.segment.control.fin = 1'b1;
      OutReset: sending_o.segment.control.rst = 1'b1;
      OutStray: begin
        sending_o.segment.seq = e.ack;
        sending_o.segment.ack = '0;
        sending_o.segment.control.ack = 1'b0;
        sending_o.segment.control.rst = 1'b1;
      end
      default: ;
    endcase
  end
  assign sending_valid_o = state_q == Offer;
  assign row_o = next_row_q;
  wire [31:0] sent_to = nxt_q + (what_q == OutSyn ? 32'd1 : 32'(len_q));
  wire command_over = next_offset_q + len_q == length;

  always_ff @(posedge clk_i) begin
    counted_o         <= '0;
    counted_o.stored  <= stored && settles;
    counted_o.refused <= refused && settles;
    counted_o.opened  <= opens;
    counted_o.ended   <= ends;
    counted_o.late    <= end_late;
    counted_o.busy    <= busy;
    counted_o.wrong   <= wrong || unasked;
    counted_o.denied  <= denied;
    restart           <= opens;
    rtt_valid_q       <= 1'b0;

    unique case (state_q)
      Pick: begin
        if (heard_valid_i) begin
          heard_q     <= heard_i;
          text_free_q <= heard_q.after;
          state_q     <= Judge;
        end else if (open_come) begin
          link_q    <= SynOut;
          opened_q  <= opened_q + 12'd1;
          what_q    <= OutSyn;
          una_q     <= isn_q;
          nxt_q     <= isn_q;
          max_q     <= isn_q;
          backoff_q <= '0;
          limited_q <= 1'b1;
          limit_q   <= now.millis + 32'(redis_i.patience);
          state_q   <= Offer;
        end else if (is_greeted) begin
          link_q <= Up;
        end else if (deadline_come) begin
          timing_q  <= 1'b0;
          timed_q   <= 1'b0;
          backoff_q <= backoff_q + 4'(backoff_q != '1);
          if (link_q == SynOut) begin
            nxt_q   <= una_q;
            what_q  <= OutSyn;
            state_q <= Offer;
          end else if (is_blocked) begin
            what_q  <= OutData;
            len_q   <= 11'd1;
            state_q <= Offer;
          end
        end else if (may_greet) begin
          what_q  <= OutGreeting;
          len_q   <= greeting_len;
          state_q <= Offer;
        end else if (may_send) begin
          what_q  <= OutData;
          len_q   <= fits ? whole_len : room[10:0];
          state_q <= Offer;
        end else if (ack_due_q && is_up) begin
          what_q  <= OutBare;
          state_q <= Offer;
        end
        if (is_blocked && !timing_q) begin
          timing_q   <= 1'b1;
          deadline_q <= now.millis + wait_ms;
        end
        // Nothing waits for a reply.
        if (link_q == Up && next_q == '0 && next_offset_q == '0) limited_q <= 1'b0;
      end

      Judge: begin
        state_q   <= Pick;
        fin_q     <= e.control.fin;
        advance_q <= 16'(acked_offset_q) + (ack_right && link_q == Up ? acked[15:0] : '0);
        if (opens) begin
          link_q    <= redis_i.greeting != '0 ? Greet : Up;
          greeting_q  <= nxt_q;
          greetings_q <= redis_i.greetings;
          una_q     <= nxt_q;
          rcv_nxt_q <= e.seq + 32'd1;
          wl1_q     <= e.seq;
          window_q  <= e.window;
          mss_q     <= DefaultMss;
          if (e.has_mss) mss_q <= least(Mss, e.mss < 16'(LeastPeerMss) ? 16'(LeastPeerMss) : e.mss);
          ack_due_q <= 1'b1;
          burst_q   <= FirstBurst;
          again_q   <= reached_q;
          acked_q   <= '0;
          timing_q  <= 1'b0;
          backoff_q <= '0;
          recovering_q   <= 1'b0;
          duplicates_q   <= '0;
        end else if (link_q == SynOut && e.control.ack && !e.control.rst && e.ack != nxt_q) begin
          what_q  <= OutStray;
          state_q <= Offer;
        end else if (is_up) begin
          if (e.control.rst || e.control.syn || !e.control.ack || !ack_right && !acked[31]) ack_due_q <= 1'b1;
          else begin
            state_q <= Advance;
            if (e.len != '0 || e.control.fin) ack_due_q <= 1'b1;
            if (ack_right && !precedes(e.seq, wl1_q)) begin
              window_q <= e.window;
              wl1_q    <= e.seq;
            end
            if (ack_right && acked != '0) begin
              una_q        <= e.ack;
              backoff_q    <= '0;
              duplicates_q <= '0;
              timing_q     <= e.ack != max_q;
              deadline_q   <= now.millis + 32'(base);
              if (burst_q < MostBurst) burst_q <= burst_q + 4'd1;
              if (!precedes(e.ack, recover_q)) recovering_q <= 1'b0;
              if (timed_q && !precedes(e.ack, timed_seq_q)) begin
                timed_q     <= 1'b0;
                rtt_valid_q <= 1'b1;
                rtt_q       <= now.micros - timed_from_q;
              end
            end else if (ack_right && duplicate && !recovering_q) duplicates_q <= duplicates_q + 2'd1;
          end
        end
      end

      Advance: begin
        if (advance_q >= 16'(length)) begin
          advance_q <= advance_q - 16'(length);
          acked_q   <= acked_q + 4'd1;
        end else begin
          state_q        <= Text;
          acked_offset_q <= advance_q[10:0];
          text_q         <= heard_q.start + behind[12:0];
          text_left_q    <= has_fresh ? e.len[12:0] - behind[12:0] : '0;
          text_here_q    <= 1'b0;
          if (has_fresh) rcv_nxt_q <= e.seq + 32'(e.len);
        end
      end

      Text: begin
        // A byte is here in the cycle behind its place.
        text_here_q <= text_left_q != '0;
        if (text_left_q != '0) begin
          text_q      <= text_q + 13'd1;
          text_left_q <= text_left_q - 13'd1;
        end
        if (text_over) begin
          state_q      <= Pick;
          duplicates_q <= rewind_lost ? '0 : duplicates_q;
        end
        if (end_fin) rcv_nxt_q <= rcv_nxt_q + 32'd1;
        if (welcome) greetings_q <= greetings_q - 2'd1;
      end

      Rewind:
      if (next_q == acked_q) state_q <= Pick;
      else begin
        next_q        <= next_q + 4'd1;
        next_digits_q <= digits_after(next_digits_q);
        next_row_q    <= next_row_q + 9'(EventsOfCommand);
      end

      default:  // Offer
      if (sending_ready_i) begin
        state_q <= Pick;
        if (what_q != OutSyn) ack_due_q <= 1'b0;
        if (what_q == OutSyn || what_q == OutGreeting || what_q == OutData) begin
          nxt_q <= sent_to;
          if (precedes(max_q, sent_to)) max_q <= sent_to;
          if (!timing_q || flight == '0) begin
            timing_q   <= 1'b1;
            deadline_q <= now.millis + wait_ms;
          end
        end
        if (what_q == OutData) begin
          next_offset_q <= command_over ? '0 : next_offset_q + len_q;
          if (command_over) begin
            next_q        <= next_q + 4'd1;
            next_digits_q <= digits_after(next_digits_q);
            next_row_q    <= next_row_q + 9'(EventsOfCommand);
          end
          if (next_q >= reached_q) reached_q <= next_q + 4'd1;
          counted_o.resent <= nxt_q != max_q;
          // A time is taken only of what is sent once (Karn).
          if (!timed_q && nxt_q == max_q) begin
            timed_q      <= 1'b1;
            timed_seq_q  <= sent_to;
            timed_from_q <= now.micros;
          end
          if (!limited_q) begin
            limited_q <= 1'b1;
            limit_q   <= now.millis + 32'(redis_i.patience);
          end
        end
      end
    endcase

    // The oldest command has its reply.
    if (settles) begin
      oldest_digits_q <= digits_after(oldest_digits_q);
      oldest_row_q    <= oldest_row_q + 9'(EventsOfCommand);
      acked_q         <= acked_q - 4'd1;
      next_q          <= next_q - 4'd1;
      reached_q       <= reached_q - 4'd1;
      if (again_q != '0) again_q <= again_q - 4'd1;
      limit_q <= now.millis + 32'(redis_i.patience);
    end

    if (rewinds) begin
      state_q       <= Rewind;
      nxt_q         <= opens ? nxt_q : una_q;
      next_q        <= '0;
      next_digits_q <= oldest_digits_q;
      next_row_q    <= oldest_row_q;
      next_offset_q <= opens ? '0 : acked_offset_q;
    end
    if (opens) acked_offset_q <= '0;
    if (rewind_late || rewind_lost) begin
      burst_q      <= rewind_late || burst_q < 4'd4 ? 4'd1 : burst_q >> 1;
      recovering_q <= 1'b1;
      recover_q    <= max_q;
      duplicates_q <= '0;
      timed_q      <= 1'b0;
    end

    if (ends) begin
      link_q    <= Down;
      open_at_q <= now.millis + 32'(redis_i.pause);
      timing_q  <= 1'b0;
      timed_q   <= 1'b0;
      limited_q <= 1'b0;
      ack_due_q <= 1'b0;
      what_q    <= end_fin && una_q == max_q ? OutFin : OutReset;
      state_q   <= is_up && !end_reset ? Offer : Pick;
    end

    if (!rst_ni) begin
      link_q          <= Down;
      state_q         <= Pick;
      opened_q        <= '0;
      open_at_q       <= '0;
      heard_q.after   <= '0;
      text_free_q     <= '0;
      reached_q       <= '0;
      again_q         <= '0;
      acked_q         <= '0;
      acked_offset_q  <= '0;
      next_q          <= '0;
      oldest_digits_q <= 32'd1;
      oldest_row_q    <= '0;
      duplicates_q    <= '0;
      ack_due_q       <= 1'b0;
      recovering_q    <= 1'b0;
      timing_q        <= 1'b0;
      timed_q         <= 1'b0;
      limited_q       <= 1'b0;
      backoff_q       <= '0;
    end
  end
endmodule
