// What the owner asks, time and ICMP; and which segments are used at all (RFC 9293 section 3.10.7): sequence number, RST,
// SYN, and whether the ACK can be. As step.rs and the first half of arrive.rs in the crate.
module session_decide
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
  wire receiving = established || w_i.r.state == FinWait1 || w_i.r.state == FinWait2;

  always_comb begin
    w_o = w_i;
    owes_o = '0;

    // Without another word, the step is over.
    w_o.stage = Timers;
    unique case (event_i.kind)
      EventOpen: begin
        if (w_i.r.state != Closed) w_o.n.refused = RefusedInUse;
        else begin
          w_o.r = '0;
          w_o.r.snd_una = c_i.isn_low ? w_i.r.snd_una + IsnStep : event_i.seq;
          w_o.r.incarnation = w_i.r.incarnation + 8'd1;
          w_o.r.flags.lived = 1'b1;
          w_o.r.state = SynSent;
          w_o.r.sent = now_i.micros;
          w_o.p.limit = 1'b1;
          w_o.p.patience = event_i.patience;
          w_o.p.send = SendSyn;
          w_o.stage = Emit;
        end
      end

      EventSend: begin
        if (!established) w_o.n.refused = RefusedNotOpen;
        else if (event_i.len == '0) w_o.n.refused = RefusedEmpty;
        else if (w_i.r.flags.asked || w_i.r.left != '0) w_o.n.refused = RefusedBusy;
        else begin
          w_o.r.flags.asked = 1'b1;
          w_o.r.left = event_i.len;
          w_o.p.limit = 1'b1;
          w_o.p.patience = event_i.patience;
          if (event_i.on) begin
            w_o.r.flags.fin_due = 1'b1;
            w_o.r.state = FinWait1;
          end
          w_o.stage = Allow;
        end
      end

      EventAnswered: begin
        if (!w_i.r.flags.asked) w_o.n.refused = RefusedNothingAsked;
        else begin
          w_o.r.flags.asked = 1'b0;
          w_o.r.flags.quick = 1'b0;
          w_o.n.done = 1'b1;
          if (w_i.r.flags.ack_due && precedes(c_i.now_soon, w_i.r.ack_by)) w_o.r.ack_by = c_i.now_soon;
          if (w_i.r.state != TimeWait && !(established && w_i.r.left != '0)) begin
            w_o.p.limit = 1'b1;
            w_o.p.patience = established ? '0 : FinTimeoutMs;
          end
          w_o.stage = Late;
        end
      end

      EventFlush: begin
        w_o.p.flush = 1'b1;
      end

      EventWindow: begin
        if (w_i.r.state == Closed || w_i.r.state == SynSent) w_o.n.refused = RefusedNotOpen;
        else if (receiving && event_i.on == w_i.r.flags.shut) begin
          w_o.r.flags.shut = !event_i.on;
          if (event_i.on) begin
            w_o.p.send = SendAck;
            w_o.stage = Emit;
          end else owes_o.now = 1'b1;
        end
      end

      EventClose: begin
        if (established) begin
          w_o.n.cut_off = w_i.r.flags.asked;
          w_o.r.flags.asked = 1'b0;
          w_o.r.flags.fin_due = 1'b1;
          w_o.r.state = FinWait1;
          owes_o.linger = 1'b1;
          w_o.stage = Allow;
        end else if (w_i.r.state == SynSent) begin
          w_o.p.shut = CauseAborted;
          w_o.stage = Late;
        end else w_o.n.refused = RefusedNotOpen;
      end

      EventAbort: begin
        if (w_i.r.state == Closed) w_o.n.refused = RefusedNotOpen;
        else begin
          w_o.p.shut = CauseAborted;
          w_o.p.quarantine = w_i.r.state == TimeWait;
          // After the peer's FIN as well: our own may be lost, or not have left.
          if (w_i.r.state != TimeWait && w_i.r.state != SynSent) w_o.p.send = SendReset;
          w_o.stage = Emit;
        end
      end

      EventTimer: begin
        w_o.stage = Emit;
        if (c_i.limit_come) begin
          w_o.p.shut = CauseTimedOut;
          if (receiving) w_o.p.send = SendReset;
        end else if (c_i.deadline_come) begin
          if (w_i.r.state == SynSent || (w_i.r.state != TimeWait && !w_i.r.flags.persist)) begin
            w_o.r.retries = &w_i.r.retries ? w_i.r.retries : w_i.r.retries + 8'd1;
            w_o.n.slow = w_o.r.retries == SlowRetries[7:0];
          end
          if (w_i.r.state != TimeWait && 32'(w_i.r.backoff) < BackoffMost) w_o.r.backoff = w_i.r.backoff + 4'd1;
          else if (w_i.r.state != TimeWait) w_o.r.backoff = BackoffMost[3:0];
          if (w_i.r.state == SynSent) begin
            w_o.r.flags.retransmitted = 1'b1;
            w_o.n.retransmitted = 1'b1;
            w_o.p.send = SendSyn;
          end else if (w_i.r.state == TimeWait) begin
            w_o.p.shut = CauseFinished;
            w_o.p.quarantine = 1'b1;
          end else begin
            w_o.p.send = w_i.r.flags.persist ? SendProbe : SendAgain;
            w_o.stage = Allow;
          end
        end else if (c_i.late_ack) w_o.p.send = SendAck;
      end

      // Hard errors end the handshake only: an open connection has its own time-outs (RFC 5927 section 5.2).
      EventUnreachable: begin
        if (!c_i.quoted) w_o.n.dropped = DroppedIcmp;
        else if (event_i.on && w_i.r.state == SynSent) begin
          w_o.p.shut = CauseUnreachable;
          w_o.stage = Late;
        end else w_o.n.soft_error = 1'b1;
      end

      EventMtu: begin
        if (!c_i.quoted) w_o.n.dropped = DroppedIcmp;
        // The size was computed in Compare.
        else if (w_i.p.len < w_i.r.mss) begin
          w_o.r.mss = w_i.p.len;
          w_o.n.mss_lowered = 1'b1;
          w_o.n.mss = w_i.p.len;
          if (c_i.in_flight_sack > 17'(w_i.p.len)) w_o.p.send = SendAgain;
          w_o.stage = Room;
        end
      end

      default: begin  // EventSegment
        if (w_i.r.state == Closed) begin
          w_o.n.dropped = DroppedStray;
          if (!event_i.control.rst) w_o.p.send = SendRefusal;
          w_o.stage = Emit;
        end else if (w_i.r.state == SynSent) begin
          if (event_i.control.ack && !c_i.acked_nxt) begin
            // What answers an old connection of this port ends it: the next SYN connects.
            w_o.n.dropped = DroppedHandshake;
            if (!event_i.control.rst) w_o.p.send = SendRefusal;
            w_o.stage = Emit;
          end else if (event_i.control.ack && event_i.control.rst) begin
            w_o.p.shut = CauseRefused;
            w_o.stage = Late;
          end else if (event_i.control.ack && event_i.control.syn) begin
            w_o.stage = Acked;
          end else w_o.n.dropped = DroppedHandshake;
        end else if (w_i.r.flags.stamped && !event_i.control.rst && event_i.stamps.valid && c_i.stamp_old) begin
          w_o.n.dropped = DroppedPaws;
          owes_o.now = c_i.has_length && !event_i.control.syn;
          owes_o.challenge = !owes_o.now;
        end else if (w_i.r.flags.stamped && !event_i.control.rst && !event_i.stamps.valid && !event_i.control.syn) begin
          w_o.n.dropped = DroppedUnstamped;
        end else if (!c_i.acceptable) begin
          w_o.n.dropped = DroppedOutside;
          if (!event_i.control.rst) begin
            // Repeated data tells that our ACK was lost. Anything else could be the other end of a loop.
            owes_o.now = c_i.has_length && !event_i.control.syn;
            owes_o.challenge = !owes_o.now;
            if (w_i.r.state == TimeWait && event_i.control.fin && !event_i.control.syn && c_i.fin_again) begin
              w_o.r.flags.persist = 1'b0;
              w_o.p.deadline = Waiting;
              w_o.p.limit = 1'b1;
              w_o.p.patience = '0;
              w_o.stage = Late;
            end
          end
        end else if (event_i.control.rst) begin
          if (!c_i.next_in_order) begin
            owes_o.challenge = 1'b1;
            w_o.n.dropped = DroppedReset;
          end else begin
            w_o.p.shut = w_i.r.state == TimeWait ? CauseFinished : CauseReset;
            w_o.p.quarantine = w_i.r.state == TimeWait;
            w_o.stage = Late;
          end
        end else if (event_i.control.syn) begin
          owes_o.challenge = 1'b1;
          w_o.n.dropped = DroppedSyn;
        end else if (!event_i.control.ack) begin
          w_o.n.dropped = DroppedNoAck;
        end else if (c_i.after_nxt) begin
          owes_o.challenge = 1'b1;
          w_o.n.dropped = DroppedUnsentAck;
        end else if (c_i.before_oldest) begin
          owes_o.challenge = 1'b1;
          w_o.n.dropped = DroppedOldAck;
        end else w_o.stage = Acked;
      end
    endcase
  end
endmodule
