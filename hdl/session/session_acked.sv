// What a segment acknowledges, its timestamp and its window. As the second half of arrive.rs in the crate.
module session_acked
  import tcp_spec_pkg::*;
  import session_pkg::*;
(
    input  work_t     w_i,
    input  event_t    event_i,
    input  path_t     path_i,
    input  time_t     now_i,
    input  compared_t c_i,
    output work_t     w_o,
    output owes_t     owes_o
);
  wire established = w_i.r.state == Established;
  wire quiet = w_i.r.in_flight == '0 && !w_i.r.flags.fin_out;
  // It acknowledges nothing new and brings nothing, not even a window (RFC 5681 section 2); with SACK, it names
  // what came behind a hole instead (RFC 6675 section 2). It shows a loss only where more than one segment is
  // out and nothing was sent twice.
  wire is_duplicate = path_i.burst > 16'd1 && w_i.r.in_flight > w_i.r.mss && !w_i.r.flags.retransmitted && !w_i.r.flags.persist &&
      event_i.len == '0 && !event_i.control.fin && c_i.at_una && (w_i.r.flags.sack ? c_i.sack_behind : c_i.same_window);

  always_comb begin
    w_o = w_i;
    owes_o = '0;

    unique case (w_i.stage)
      // New numbers are acknowledged, or the handshake is.
      Acked: begin
        w_o.stage = Settle;
        if (w_i.r.state == SynSent) begin
          w_o.r = '0;
          w_o.r.snd_una = w_i.r.snd_una + 32'd1;
          w_o.r.snd_wnd = 30'(event_i.window);
          w_o.r.snd_wl1 = event_i.seq;
          w_o.r.rcv_nxt = event_i.seq + 32'd1;
          w_o.r.sent = w_i.r.sent;
          w_o.r.mss = w_i.p.len;
          // The SYN's number is not acknowledged yet.
          w_o.r.unacked = 16'd1;
          w_o.r.flags.lived = 1'b1;
          w_o.r.flags.quick = path_i.quick;
          w_o.r.flags.syn_repeated = w_i.r.flags.retransmitted;
          w_o.r.flags.stamped = path_i.stamps && event_i.stamps.valid;
          w_o.r.flags.sack = path_i.sack && event_i.sack_permitted;
          w_o.r.flags.scaled = event_i.has_shift;
          w_o.r.ts_recent = w_o.r.flags.stamped ? event_i.stamps.value : '0;
          w_o.r.state = Established;
          w_o.r.incarnation = w_i.r.incarnation;
          if (event_i.has_shift) w_o.r.shift = 32'(event_i.shift) > GreatestShift ? GreatestShift[3:0] : event_i.shift[3:0];
          w_o.r.wnd_log = c_i.log;
          w_o.n.rtt = !w_i.r.flags.retransmitted;
          w_o.n.micros = w_i.r.flags.retransmitted ? '0 : now_i.micros - w_i.r.sent;
          w_o.n.connected = 1'b1;
          w_o.n.mss = w_o.r.mss;
          w_o.r.flags.ack_due = 1'b1;
          w_o.r.flags.ack_now = 1'b1;
          w_o.r.ack_by = c_i.now_delayed;
          w_o.stage = Place;
        end else if (c_i.after_una) begin
          // advance()
          logic fin;
          fin = w_i.r.flags.fin_out && c_i.acked_nxt;
          w_o.r.snd_una = event_i.ack;
          w_o.r.in_flight = w_i.r.in_flight - c_i.text;
          w_o.r.left = less(w_i.r.left, c_i.text);
          if (fin) begin
            w_o.r.flags.fin_out = 1'b0;
            w_o.r.flags.fin_due = 1'b0;
            unique case (w_i.r.state)
              FinWait1: w_o.r.state = FinWait2;
              Closing: begin
                w_o.r.state = TimeWait;
                w_o.p.deadline = Waiting;
                w_o.p.limit = 1'b1;
              end
              LastAck: w_o.p.shut = CauseFinished;
              default: ;
            endcase
          end
          // Karn: no round-trip time from what was sent twice, and the doubled timeout stays until something is
          // acknowledged that was not.
          if (!w_i.r.flags.retransmitted) begin
            if (!w_i.r.flags.untimed) begin
              w_o.n.rtt = 1'b1;
              w_o.n.micros = now_i.micros - w_i.r.sent;
              w_o.r.flags.syn_repeated = 1'b0;
            end
            w_o.r.backoff = '0;
          end
          w_o.r.retries = '0;
          w_o.n.acked = c_i.text != '0 && w_i.r.left <= c_i.text;
        end else if (is_duplicate) begin
          // Three of them mean that the first segment was lost (RFC 5681 section 3.2).
          w_o.r.retries = &w_i.r.retries ? w_i.r.retries : w_i.r.retries + 8'd1;
          if (32'(w_o.r.retries) >= Duplicates) begin
            w_o.r.retries = 8'd1;
            w_o.p.send = SendAgain;
            w_o.p.wait_out = 1'b1;
            w_o.p.echo = w_i.r.ts_recent;
          end
          w_o.stage = Window;
        end else w_o.stage = Window;
      end

      // rearm(): the timer stops when all is acknowledged, and starts again when a part is (RFC 6298 section 5).
      Settle: begin
        w_o.stage = w_i.p.shut != CauseNone ? Late : Window;
        w_o.r.flags.untimed = path_i.burst > 16'd1 && !quiet;
        if (quiet && !(w_i.r.flags.persist && w_i.r.left != '0)) begin
          w_o.r.flags.timed = 1'b0;
          w_o.r.flags.persist = 1'b0;
          w_o.r.flags.retransmitted = 1'b0;
          if (w_i.p.deadline == KeepDeadline) w_o.p.deadline = NoDeadline;
        end else begin
          w_o.p.lost = !w_i.r.flags.persist && w_i.r.flags.retransmitted;
          if (w_i.p.deadline == KeepDeadline) w_o.p.deadline = Retransmission;
        end
        // TIME_WAIT: nothing is sent again, so nothing waits for a window.
        if (w_i.p.deadline == Waiting) w_o.r.flags.persist = 1'b0;
        if (established && w_i.r.left == '0 && !w_i.r.flags.asked) begin
          w_o.p.limit = 1'b1;
          w_o.p.patience = '0;
        end
      end

      Window: begin
        w_o.stage = Take;
        // Only a segment that covers Last.ACK.sent (RFC 7323 section 4.3).
        if (w_i.r.flags.stamped && event_i.stamps.valid && !c_i.stamp_old &&
            !(w_i.p.wait_out ? c_i.seq_ahead : c_i.after_last_ack)) begin
          w_o.r.ts_recent = event_i.stamps.value;
        end
        if (w_i.r.state != FinWait2 && w_i.r.state != TimeWait && !c_i.before_una && !c_i.before_wl1) begin
          w_o.r.snd_wnd = c_i.announced[29:0];
          w_o.r.snd_wl1 = event_i.seq;
          if (c_i.log > w_i.r.wnd_log) w_o.r.wnd_log = c_i.log;
        end
      end

      default: ;
    endcase
  end
endmodule
