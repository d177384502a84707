// One step of a TCP client: what `tcp::step` is in Rust (crates/tcp), in hardware. spec/tcp.toml is the
// specification of both, and both are held against its vectors, and against each other in random events.
//
//   record, event, path, time ──► session_step ──► record, at most one segment, notices
//
// The record comes from the memory of sessions and goes back there, so that one instance serves all sessions,
// an event at a time. What a step reads is taken in the cycle of `valid_i`, so segments of other sessions, and
// whatever arrives meanwhile, change no bit of it. The number of cycles depends on the event alone:
//
//   Measure, Compare, Accept   distances between sequence numbers
//   Decide                     what the owner, time or ICMP asks; which segments are used at all
//   Acked, Settle              what a segment acknowledges
//   Window                     its timestamp and window
//   Place, Take, Fin           its text and FIN, in order or ahead of a hole
//   Room, Allow, Probe         how much may be sent
//   Output, Shape, Emit        what is sent
//   Late, Timers               deadlines; the end of a connection
//   More                       whether another segment may leave at the end of the batch
//
// A stage has one long sum or comparison. What needs two is found in parts, each a cycle ahead (compared_t).
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

  // What a stage asked of the acknowledgment is done in the next one.
  owes_t owes_q;
  logic done_q;

  // Measure.
  logic [31:0] announced_q, oldest_q, last_ack_q, seg_end_q, now_up_q, quoted_ahead_q, challenge_age_q;
  logic [29:0] rcv_wnd_q, below_q;
  logic [17:0] quoted_most_q;
  logic [16:0] seg_len_q;
  logic [15:0] mss_q;
  distance_t first_q;
  // Compare.
  distance_t last_q;
  logic starts_inside_q;

  wire established = w_q.r.state == Established;
  wire sending = established || w_q.r.state == FinWait1 || w_q.r.state == Closing || w_q.r.state == LastAck;
  wire blocks = w_q.r.flags.sack && w_q.r.ooo_len != '0;
  wire [17:0] out = 18'(w_q.r.in_flight) + 18'(w_q.r.flags.fin_out) + 18'(w_q.r.state == SynSent);
  // The window is half as large as it ever was.
  wire [31:0] largest = 32'd1 << (w_q.r.wnd_log > 5'd30 ? 5'd30 : w_q.r.wnd_log);
  wire [3:0] own_shift = !w_q.r.flags.scaled ? '0 : path_q.shift > GreatestShift[3:0] ? GreatestShift[3:0] : path_q.shift;
  wire [29:0] rcv_wnd = 30'(FullWindow) << own_shift;
  wire [3:0] peer_shift = w_q.r.shift > GreatestShift[3:0] ? GreatestShift[3:0] : w_q.r.shift;
  wire [15:0] window_field = w_q.r.snd_wnd == '0 ? 16'd1
    : |w_q.r.snd_wnd[29:16] ? FullWindow : w_q.r.snd_wnd[15:0];

  // The segment size that a message or the peer's SYN leaves.
  wire is_mtu = event_q.kind == EventMtu;
  wire stamps_go = is_mtu ? w_q.r.flags.stamped : path_q.stamps && event_q.stamps.valid;
  wire [15:0] most_mss = least(event_q.has_mss ? event_q.mss : path_q.default_mss, path_q.send_mss);
  wire [15:0] least_mss = event_q.len < LeastPathMss[15:0] ? LeastPathMss[15:0] : event_q.len;

  // A segment may leave behind what is in flight, but never behind what is sent again or probes the window.
  // Room in a segment, what is left, the bytes that fit, and whether they may leave are each found in a cycle
  // of their own.
  logic [15:0] left_q, behind_q;
  logic [31:0] most_q;
  logic [16:0] reach_q, flight_q;
  logic nothing_behind_q, fin_follows_q, in_flight_q;
  wire stops = w_q.r.flags.persist || w_q.r.flags.retransmitted || w_q.r.flags.fin_out;
  wire follows = sending && c_q.burst && in_flight_q && !stops;
  wire text_follows = 30'(flight_q) <= w_q.r.snd_wnd && 32'(flight_q) <= most_q;
  logic text_follows_q;
  wire more = follows && (nothing_behind_q ? fin_follows_q && w_q.r.flags.fin_due : text_follows_q);

  // The retransmission timeout, doubled, but at most RtoMostMs.
  logic [16:0] rto_q;
  wire [16:0] first_rto = w_q.p.send != SendSyn && w_q.r.flags.syn_repeated
    ? RtoAfterSynMs[16:0] : RtoFirstMs[16:0];
  wire [3:0] doublings = w_q.r.backoff > BackoffMost[3:0] ? BackoffMost[3:0] : w_q.r.backoff;
  wire [16:0] rto_most = RtoMostMs[16:0] >> doublings;

  assign ready_o   = w_q.stage == Idle;
  assign valid_o   = done_q;
  assign record_o  = w_q.r;
  assign segment_o = w_q.out;
  assign notices_o = w_q.n;

  wire owes_now = owes_q.now || owes_q.challenge && !c_q.challenge_soon;
  always_comb begin
    w = w_q;
    owes = '0;

    unique case (w_q.stage)
      Idle: if (valid_i) w.stage = Measure;
      Measure: w.stage = Compare;

      Compare: begin
        w.stage = event_q.kind == EventSegment ? Accept : Decide;
        if (!is_mtu && mss_q < LeastPeerMss[15:0]) w.p.len = LeastPeerMss[15:0] - (stamps_go ? StampBytes : '0);
        else w.p.len = stamps_go ? mss_q - StampBytes : mss_q;
      end

      Accept: w.stage = Decide;

      Decide: begin
        w = decided;
        owes = decided_owes;
      end
      Acked, Settle, Window: begin
        w = acked;
        owes = acked_owes;
      end
      Place, Take, Fin: begin
        w = placed;
        owes = text_owes;
      end
      Room, Allow, Probe, Output, Shape, Emit, Late, Timers: begin
        w = sent;
        owes = sent_owes;
      end

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

    // No stage behind one that owes an acknowledgment needs to know of it, or sends one.
    if (owes_q.challenge) begin
      if (c_q.challenge_soon) w.n.challenge_limited = 1'b1;
      else begin
        w.r.flags.challenge = 1'b1;
        w.r.challenged = now_q.millis;
        w.n.challenged = 1'b1;
      end
    end
    if (owes_now || owes_q.later) begin
      if (!w_q.r.flags.ack_due) begin
        w.r.flags.ack_due = 1'b1;
        w.r.ack_by = c_q.now_delayed;
      end
      if (owes_now) w.r.flags.ack_now = 1'b1;
    end
    // Patience for the peer's part of closing, unless that for the response runs.
    if (owes_q.linger && !(w_q.r.flags.asked && w_q.r.flags.limited)) begin
      w.p.limit = 1'b1;
      w.p.patience = FinTimeoutMs;
    end
  end

  wire distance_t window = counted(32'(rcv_wnd_q));

  always_ff @(posedge clk_i) begin
    w_q    <= w;
    owes_q <= owes;
    done_q <= w.stage == Done;
    if (w_q.stage == Idle) begin
      w_q.r   <= record_i;
      w_q.p   <= '0;
      w_q.n   <= '0;
      w_q.out <= '0;
      event_q <= event_i;
      path_q  <= path_i;
      now_q   <= now_i;
    end

    // Measure. Whole milliseconds are rounded up: a deadline does not come too early.
    now_up_q        <= now_q.millis + 32'(now_q.part);
    quoted_ahead_q  <= event_q.seq - w_q.r.snd_una;
    quoted_most_q   <= out;
    challenge_age_q <= now_q.millis - w_q.r.challenged;
    mss_q           <= is_mtu ? least_mss : most_mss;
    announced_q   <= 32'(event_q.window) << peer_shift;
    oldest_q      <= w_q.r.snd_una - largest;
    last_ack_q    <= w_q.r.rcv_nxt - 32'(w_q.r.unacked);
    seg_len_q     <= 17'(event_q.len) + 17'(event_q.control.syn) + 17'(event_q.control.fin);
    seg_end_q     <= event_q.seq + 32'(event_q.len) + 32'(event_q.control.syn) + 32'(event_q.control.fin);
    rcv_wnd_q     <= rcv_wnd;
    first_q       <= ahead(event_q.seq, w_q.r.rcv_nxt);

    // Compare.
    last_q          <= first_q + counted(32'(seg_len_q)) - 34'sd1;
    starts_inside_q <= first_q >= 0 && first_q < window;
    below_q         <= announced_q[29:0] == '0 ? '0 : announced_q[29:0] - 30'd1;
    // These hold until the step is over, whatever becomes of the record.
    if (w_q.stage == Compare) begin
      c_q.has_length   <= seg_len_q != '0;
      c_q.seq_ahead      <= first_q > 0;
      c_q.in_flight_sack <= 17'(w_q.r.in_flight) + (blocks ? 17'(SackBytes) : '0);
      c_q.acked_nxt      <= event_q.ack == c_q.snd_nxt;
      c_q.after_nxt      <= succeeds(event_q.ack, c_q.snd_nxt);
      c_q.before_oldest  <= precedes(event_q.ack, oldest_q);
      c_q.after_una      <= succeeds(event_q.ack, w_q.r.snd_una);
      c_q.before_una     <= precedes(event_q.ack, w_q.r.snd_una);
      c_q.at_una         <= event_q.ack == w_q.r.snd_una;
      c_q.octets         <= ahead(event_q.ack, w_q.r.snd_una);
      c_q.stamp_old      <= precedes(event_q.stamps.value, w_q.r.ts_recent);
      c_q.quoted         <= quoted_ahead_q < 32'(quoted_most_q);
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
      c_q.now_up       <= now_up_q;
      c_q.now_soon     <= now_up_q + AckAnsweredMs;
      c_q.now_delayed  <= now_up_q + AckDelayMs;
      c_q.challenge_soon <= w_q.r.flags.challenge && challenge_age_q < ChallengeGapMs;
    end
    if (w_q.stage == Accept) begin
      c_q.acceptable <= starts_inside_q || (seg_len_q != '0 && last_q >= 0 && last_q < window);
      c_q.octets     <= c_q.octets - distance_t'({33'd0, w_q.r.flags.fin_out && c_q.acked_nxt});
    end
    c_q.log <= log_of(below_q);
    if (w_q.stage == Decide) begin
      c_q.text <= c_q.octets[15:0];
      if (c_q.octets < 0 || c_q.octets > counted(32'(w_q.r.in_flight))) c_q.text <= w_q.r.in_flight;
    end

    // What follows the record, whatever the stage.
    c_q.snd_nxt    <= w_q.r.snd_una + 32'(out);
    c_q.edge_      <= w_q.r.snd_una + 32'(w_q.r.snd_wnd);
    c_q.beyond     <= 30'(out) > w_q.r.snd_wnd;
    c_q.room       <= blocks ? less(w_q.r.mss, SackBytes) : w_q.r.mss;
    c_q.allowed    <= least(w_q.r.left, c_q.room);
    c_q.again      <= least(w_q.r.in_flight, c_q.room);
    c_q.probe      <= least(c_q.allowed, window_field);
    c_q.half       <= {1'b0, w_q.r.snd_wnd, 1'b0} >= largest;
    c_q.burst      <= path_q.burst > 16'd1;
    c_q.stamp      <= now_q.millis + path_q.stamp_offset;
    c_q.sack_right <= w_q.r.ooo_start + 32'(w_q.r.ooo_len) + 32'(w_q.r.flags.ooo_fin);
    c_q.patience   <= w_q.p.patience > PatienceMost ? PatienceMost : w_q.p.patience;
    rto_q          <= w_q.p.send != SendSyn && path_q.sampled ? path_q.rto : first_rto;
    c_q.rto        <= rto_q > rto_most ? RtoMostMs[16:0] : 17'(rto_q << doublings);
    // More.
    left_q           <= less(w_q.r.left, w_q.r.in_flight);
    behind_q         <= least(left_q, c_q.room);
    nothing_behind_q <= behind_q == '0;
    reach_q          <= 17'(w_q.r.in_flight) + 17'(c_q.room);
    flight_q         <= 17'(w_q.r.left) < reach_q ? 17'(w_q.r.left) : reach_q;
    most_q           <= path_q.burst * w_q.r.mss;
    text_follows_q   <= text_follows;
    in_flight_q      <= w_q.r.in_flight != '0;
    fin_follows_q    <= w_q.r.in_flight == w_q.r.left && 30'(w_q.r.in_flight) < w_q.r.snd_wnd;

    if (!rst_ni) begin
      w_q    <= '0;
      owes_q <= '0;
      done_q <= 1'b0;
    end
  end
endmodule
