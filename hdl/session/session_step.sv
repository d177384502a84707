// One step of a TCP client: what `tcp::step` is in Rust (crates/tcp), in hardware. spec/tcp.toml is the
// specification of both, and both are held against its vectors, and against each other in random events.
//
//   record, event, path, time ──► session_step ──► record, at most one segment, notices
//
// The record comes from the memory of sessions and goes back there, so that one instance serves all sessions,
// an event at a time. What a step reads is taken in the cycle of `valid_i`, so segments of other sessions, and
// whatever arrives meanwhile, change no bit of it. The number of cycles depends on the event alone:
//
//   Measure, Compare       distances between sequence numbers
//   Decide                 what the owner, time or ICMP asks; which segments are used at all
//   Acked, Settle          what a segment acknowledges
//   Window                 its timestamp and window
//   Place, Span, Take, Fin its text and FIN, in order or ahead of a hole
//   Output, Shape, Emit    what is sent
//   Timers                 deadlines; the end of a connection
//   Most, More             whether another segment may leave at the end of the batch
//
// Names, comments and order follow the crate's files step.rs, arrive.rs, text.rs and send.rs.
module session_step
  import tcp_spec_pkg::*;
  import session_pkg::*;
(
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     valid_i,
    output logic     ready_o,
    input  session_t record_i,
    input  event_t   event_i,
    input  path_t    path_i,
    input  time_t    now_i,
    // In the last cycle of a step.
    output logic     valid_o,
    output session_t record_o,
    output segment_t segment_o,
    output notices_t notices_o
);
  work_t w_q, w, decided, acked, placed, sent;
  owes_t owes, decided_owes, acked_owes, text_owes, sent_owes;
  event_t event_q;
  path_t path_q;
  time_t now_q;
  compared_t c_q;

  session_decide decide (.w_i(w_q), .event_i(event_q), .path_i(path_q), .now_i(now_q), .c_i(c_q), .w_o(decided), .owes_o(decided_owes));
  session_acked acknowledge (.w_i(w_q), .event_i(event_q), .path_i(path_q), .now_i(now_q), .c_i(c_q), .w_o(acked), .owes_o(acked_owes));
  session_text text (.clk_i, .w_i(w_q), .event_i(event_q), .path_i(path_q), .now_i(now_q), .c_i(c_q), .w_o(placed), .owes_o(text_owes));
  session_send send (.w_i(w_q), .event_i(event_q), .path_i(path_q), .now_i(now_q), .c_i(c_q), .w_o(sent), .owes_o(sent_owes));

  // Measure.
  logic [31:0] snd_nxt_q, announced_q, oldest_q, last_ack_q, seg_end_q;
  logic [29:0] rcv_wnd_q;
  logic [16:0] seg_len_q;
  distance_t first_q;
  // Most: the bytes behind what is in flight that fit a segment, and the most that may be in flight.
  logic [15:0] behind_q;
  logic [31:0] most_q;

  wire established = w_q.r.state == Established;
  wire sending = established || w_q.r.state == FinWait1 || w_q.r.state == Closing || w_q.r.state == LastAck;
  wire blocks = w_q.r.flags.sack && w_q.r.ooo_len != '0;
  wire [15:0] room = blocks ? less(w_q.r.mss, SackBytes) : w_q.r.mss;
  wire [31:0] snd_nxt = w_q.r.snd_una + 32'(w_q.r.in_flight) + 32'(w_q.r.flags.fin_out) + 32'(w_q.r.state == SynSent);
  // The window is half as large as it ever was.
  wire [31:0] largest = 32'd1 << (w_q.r.wnd_log > 5'd30 ? 5'd30 : w_q.r.wnd_log);
  wire [3:0] own_shift = !w_q.r.flags.scaled ? '0 : path_q.shift > GreatestShift[3:0] ? GreatestShift[3:0] : path_q.shift;
  wire [29:0] rcv_wnd = 30'(FullWindow) << own_shift;
  wire [3:0] peer_shift = w_q.r.shift > GreatestShift[3:0] ? GreatestShift[3:0] : w_q.r.shift;

  // A segment may leave behind what is in flight, but never behind what is sent again or probes the window.
  wire stops = w_q.r.flags.persist || w_q.r.flags.retransmitted || w_q.r.flags.fin_out;
  wire follows = sending && path_q.burst > 16'd1 && w_q.r.in_flight != '0 && !stops;
  wire fin_follows = w_q.r.in_flight == w_q.r.left && w_q.r.flags.fin_due && 30'(w_q.r.in_flight) < w_q.r.snd_wnd;
  wire [16:0] flight = 17'(w_q.r.in_flight) + 17'(behind_q);
  wire text_follows = 30'(flight) <= w_q.r.snd_wnd && 32'(flight) <= most_q;
  wire more = follows && (behind_q == '0 ? fin_follows : text_follows);

  assign ready_o   = w_q.stage == Idle;
  assign valid_o   = w_q.stage == Done;
  assign record_o  = w_q.r;
  assign segment_o = w_q.out;
  assign notices_o = w_q.n;

  always_comb begin
    w = w_q;
    owes = '0;

    unique case (w_q.stage)
      Idle: if (valid_i) w.stage = Measure;
      Measure: w.stage = Compare;

      Compare: begin
        w.stage = Decide;
        // The segment size that a message or the peer's SYN leaves.
        if (event_q.kind == EventMtu) begin
          w.p.len = less(event_q.len < LeastPathMss[15:0] ? LeastPathMss[15:0] : event_q.len, w_q.r.flags.stamped ? StampBytes : '0);
        end else begin
          w.p.len = least(event_q.has_mss ? event_q.mss : path_q.default_mss, path_q.send_mss);
          w.p.len = less(w.p.len < LeastPeerMss[15:0] ? LeastPeerMss[15:0] : w.p.len, path_q.stamps && event_q.stamps.valid ? StampBytes : '0);
        end
      end

      Decide: begin
        w = decided;
        owes = decided_owes;
      end
      Acked, Settle, Window: begin
        w = acked;
        owes = acked_owes;
      end
      Place, Span, Take, Fin: begin
        w = placed;
        owes = text_owes;
      end
      Output, Shape, Emit, Timers: begin
        w = sent;
        owes = sent_owes;
      end

      Most: w.stage = More;

      More: begin
        w.stage = Done;
        w.r.flags.more = more;
        if (w_q.p.flush) begin
          w.p.flush = 1'b0;
          if (more) begin
            w.p.send = SendNext;
            w.p.len = behind_q;
            w.stage = Shape;
          end else if (w_q.r.flags.ack_now || c_q.late_ack) begin
            w.p.send = SendAck;
            w.stage = Emit;
          end
        end
      end

      default: w.stage = Idle;
    endcase

    // What several stages do.
    if (owes.challenge) begin
      if (c_q.challenge_soon) w.n.challenge_limited = 1'b1;
      else begin
        w.r.flags.challenge = 1'b1;
        w.r.challenged = now_q.millis;
        w.n.challenged = 1'b1;
        owes.now = 1'b1;
      end
    end
    if ((owes.now || owes.later) && !w_q.r.flags.ack_due) begin
      w.r.flags.ack_due = 1'b1;
      w.r.ack_by = c_q.now_delayed;
    end
    if (owes.now) w.r.flags.ack_now = 1'b1;
    // Patience for the peer's part of closing, unless that for the response runs.
    if (owes.linger && !(w.r.flags.asked && w_q.r.flags.limited)) begin
      w.p.limit = 1'b1;
      w.p.patience = FinTimeoutMs;
    end
  end

  // Whole milliseconds, rounded up: a deadline does not come too early.
  wire [31:0] now_up = now_q.millis + 32'(now_q.part);
  wire [31:0] quoted_ahead = event_q.seq - w_q.r.snd_una;
  wire [31:0] quoted_most = snd_nxt_q - w_q.r.snd_una;
  wire distance_t last = first_q + counted(32'(seg_len_q)) - 34'sd1;
  wire distance_t window = counted(32'(rcv_wnd_q));

  always_ff @(posedge clk_i) begin
    w_q <= w;
    if (w_q.stage == Idle) begin
      w_q.r   <= record_i;
      w_q.p   <= '0;
      w_q.n   <= '0;
      w_q.out <= '0;
      event_q <= event_i;
      path_q  <= path_i;
      now_q   <= now_i;
    end

    // Measure.
    snd_nxt_q     <= snd_nxt;
    announced_q   <= 32'(event_q.window) << peer_shift;
    oldest_q      <= w_q.r.snd_una - largest;
    last_ack_q    <= w_q.r.rcv_nxt - 32'(w_q.r.unacked);
    seg_len_q     <= 17'(event_q.len) + 17'(event_q.control.syn) + 17'(event_q.control.fin);
    seg_end_q     <= event_q.seq + 32'(event_q.len) + 32'(event_q.control.syn) + 32'(event_q.control.fin);
    rcv_wnd_q     <= rcv_wnd;
    first_q       <= ahead(event_q.seq, w_q.r.rcv_nxt);

    // Compare. These hold until the step is over, whatever becomes of the record.
    if (w_q.stage == Compare) begin
      c_q.acceptable     <= (first_q >= 0 && first_q < window) || (seg_len_q != '0 && last >= 0 && last < window);
      c_q.has_length   <= seg_len_q != '0;
      c_q.acked_nxt      <= event_q.ack == snd_nxt_q;
      c_q.after_nxt      <= succeeds(event_q.ack, snd_nxt_q);
      c_q.before_oldest  <= precedes(event_q.ack, oldest_q);
      c_q.after_una      <= succeeds(event_q.ack, w_q.r.snd_una);
      c_q.before_una     <= precedes(event_q.ack, w_q.r.snd_una);
      c_q.at_una         <= event_q.ack == w_q.r.snd_una;
      c_q.octets         <= ahead(event_q.ack, w_q.r.snd_una) - distance_t'({33'd0, w_q.r.flags.fin_out && event_q.ack == snd_nxt_q});
      c_q.stamp_old      <= precedes(event_q.stamps.value, w_q.r.ts_recent);
      c_q.quoted         <= !quoted_ahead[31] && signed'(quoted_ahead) < signed'(quoted_most);
      c_q.same_window    <= announced_q == 32'(w_q.r.snd_wnd);
      c_q.sack_behind    <= event_q.has_sack && succeeds(event_q.sack_right, event_q.ack);
      c_q.late_ack       <= w_q.r.flags.ack_due && !precedes(now_q.millis, w_q.r.ack_by);
      c_q.limit_come     <= w_q.r.flags.limited && !precedes(now_q.millis, w_q.r.limit);
      c_q.deadline_come  <= w_q.r.flags.timed && !precedes(now_q.millis, w_q.r.deadline);
      c_q.fin_again      <= seg_end_q == w_q.r.rcv_nxt;
      c_q.next_in_order  <= event_q.seq == w_q.r.rcv_nxt;
      c_q.after_last_ack <= succeeds(event_q.seq, last_ack_q);
      c_q.before_wl1     <= precedes(event_q.seq, w_q.r.snd_wl1);
      c_q.isn_low        <= w_q.r.flags.lived && !succeeds(event_q.seq, w_q.r.snd_una);
      c_q.announced    <= announced_q;
      c_q.seg_end      <= seg_end_q;
      c_q.now_up       <= now_up;
      c_q.now_soon     <= now_up + AckAnsweredMs;
      c_q.now_delayed  <= now_up + AckDelayMs;
      c_q.challenge_soon <= w_q.r.flags.challenge && now_q.millis - w_q.r.challenged < ChallengeGapMs;
    end

    // Most.
    behind_q     <= least(less(w_q.r.left, w_q.r.in_flight), room);
    most_q       <= path_q.burst * w_q.r.mss;

    if (!rst_ni) w_q <= '0;
  end
endmodule
