// What is sent: acknowledgments, the request, FIN, probes of the window, and all that again; and the deadlines that follow.
// As send.rs in the crate.
module session_send
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
  wire sending = established || w_i.r.state == FinWait1 || w_i.r.state == Closing || w_i.r.state == LastAck;
  wire quiet = w_i.r.in_flight == '0 && !w_i.r.flags.fin_out;
  wire blocks = w_i.r.flags.sack && w_i.r.ooo_len != '0;
  wire [15:0] allowed = c_i.allowed;

  always_comb begin
    w_o = w_i;
    owes_o = '0;

    unique case (w_i.stage)
      // What is allowed follows the record.
      Room: w_o.stage = Allow;
      Allow: w_o.stage = event_i.kind == EventTimer || event_i.kind == EventMtu ? Probe : Output;
      Probe: w_o.stage = w_i.p.send == SendNothing ? Late : Shape;

      // Sends what may be sent, or waits for the window.
      Output: begin
        w_o.stage = w_i.p.send == SendNothing ? Late : Shape;
        if (sending) begin
          if (quiet || w_i.r.flags.persist) begin
            if (allowed != '0 || (w_i.r.flags.fin_due && !w_i.r.flags.fin_out)) begin
              if (w_i.r.snd_wnd >= (allowed == '0 ? 30'd1 : 30'(allowed))) begin
                w_o.p.send = SendFirst;
                w_o.p.len = allowed;
                w_o.stage = Shape;
              end else if (c_i.half) begin
                w_o.p.send = SendFirst;
                w_o.p.len = w_i.r.snd_wnd[15:0];
                w_o.stage = Shape;
              end else if (!w_i.r.flags.persist) begin
                w_o.r.flags.persist = 1'b1;
                w_o.p.deadline = Retransmission;
                w_o.n.blocked = 1'b1;
              end
            end
          end else if (w_i.r.snd_wnd == '0 && w_i.r.left != '0) begin
            // The window shrank while the segment was on its way (MUST-35).
            w_o.r.flags.persist = 1'b1;
            w_o.p.deadline = Retransmission;
            w_o.n.blocked = 1'b1;
          end else if (w_i.p.lost) begin
            w_o.p.send = SendAgain;
            w_o.stage = Shape;
          end
        end
      end

      // How much of the request goes, and what that changes.
      Shape: begin
        w_o.stage = Emit;
        unique case (w_i.p.send)
          SendFirst: begin
            if (w_i.r.flags.persist) begin
              w_o.r.flags.persist = 1'b0;
              w_o.r.backoff = '0;
              w_o.n.unblocked = 1'b1;
            end
            // What a probe sent, or what was in flight when the window closed, goes again.
            w_o.r.flags.retransmitted = w_i.r.in_flight != '0;
            w_o.n.retransmitted = w_i.r.in_flight != '0;
            if (w_i.r.in_flight == '0) begin
              w_o.r.sent = now_i.micros;
              w_o.r.retries = '0;
              w_o.r.flags.untimed = 1'b0;
            end
            if (w_i.p.len > w_i.r.in_flight) w_o.r.in_flight = w_i.p.len;
          end
          SendNext: begin
            w_o.p.skip = w_i.r.in_flight;
            w_o.r.in_flight = saturated(w_i.r.in_flight, 32'(w_i.p.len));
          end
          SendAgain: begin
            w_o.p.len = c_i.again;
            // A window that closed since the third duplicate starts the timer of probes behind the segment.
            w_o.r.flags.retransmitted = 1'b1;
            if (!w_i.p.wait_out || !w_i.n.blocked) w_o.r.flags.persist = 1'b0;
            w_o.n.retransmitted = 1'b1;
          end
          default: begin  // SendProbe
            w_o.p.len = c_i.probe;
            if (c_i.probe > w_i.r.in_flight) w_o.r.in_flight = c_i.probe;
            w_o.r.flags.retransmitted = 1'b1;
            w_o.n.probed = 1'b1;
            if (w_i.r.left == '0) w_o.r.flags.persist = 1'b0;
          end
        endcase
        if (w_i.p.send != SendNext) begin
          w_o.r.flags.timed = 1'b1;
          w_o.p.deadline = Retransmission;
        end
      end

      Emit: begin
        w_o.stage = Late;
        if (w_i.p.send != SendNothing) begin
          w_o.out.valid = 1'b1;
          w_o.out.window = FullWindow;
          unique case (w_i.p.send)
            SendSyn: begin
              w_o.out.seq = w_i.r.snd_una;
              w_o.out.control.syn = 1'b1;
              w_o.out.has_mss = 1'b1;
              w_o.out.mss = path_i.mss;
              w_o.out.has_shift = 1'b1;
              w_o.out.shift = path_i.shift;
              w_o.out.sack_permitted = path_i.sack;
              w_o.out.stamps.valid = path_i.stamps;
              if (path_i.stamps) w_o.out.stamps.value = c_i.stamp;
              w_o.r.flags.timed = 1'b1;
              w_o.p.deadline = Retransmission;
            end
            SendRefusal: begin
              w_o.out.window = '0;
              w_o.out.control.rst = 1'b1;
              // Without an ACK there is no number that the peer expects (RFC 9293 section 3.10.7.1).
              if (event_i.control.ack) w_o.out.seq = event_i.ack;
              else begin
                w_o.out.ack = c_i.seg_end;
                w_o.out.control.ack = 1'b1;
              end
            end
            default: begin
              w_o.out.seq = w_i.r.snd_una;
              w_o.out.ack = w_i.r.rcv_nxt;
              w_o.out.control.ack = 1'b1;
              w_o.out.stamps.valid = w_i.r.flags.stamped;
              if (w_i.r.flags.stamped) begin
                w_o.out.stamps.value = c_i.stamp;
                w_o.out.stamps.echo = w_i.p.wait_out ? w_i.p.echo : w_i.r.ts_recent;
              end
              if (w_i.p.send == SendReset || w_i.r.flags.shut) w_o.out.window = '0;
              if (blocks && w_i.p.send != SendReset) begin
                w_o.out.has_sack = 1'b1;
                w_o.out.sack_left = w_i.r.ooo_start;
                w_o.out.sack_right = c_i.sack_right;
              end
              w_o.r.flags.ack_due = 1'b0;
              w_o.r.flags.ack_now = 1'b0;
              w_o.r.unacked = '0;
              if (w_i.p.send == SendAck || w_i.p.send == SendReset) begin
                // A peer whose window shrank takes nothing that starts beyond it.
                w_o.out.control.rst = w_i.p.send == SendReset;
                w_o.out.seq = c_i.beyond ? c_i.edge_ : c_i.snd_nxt;
              end else begin
                w_o.out.seq = w_i.r.snd_una + 32'(w_i.p.skip);
                if (w_i.p.len != '0) begin
                  w_o.out.len = w_i.p.len;
                  w_o.out.before_end = less(w_i.r.left, w_i.p.skip);
                  w_o.out.control.psh = (w_i.p.send == SendNext ? w_i.r.in_flight : w_i.p.len) == w_i.r.left;
                end
                unique case (w_i.p.send)
                  SendAgain: w_o.out.control.fin = w_i.r.flags.fin_out && w_i.p.len == w_i.r.in_flight;
                  SendProbe: w_o.out.control.fin = w_i.r.left == '0;
                  SendNext:
                  w_o.out.control.fin = w_i.r.flags.fin_due && w_i.r.in_flight == w_i.r.left && w_i.r.snd_wnd > 30'(w_i.r.in_flight);
                  default:
                  w_o.out.control.fin = w_i.r.flags.fin_due && w_i.p.len == w_i.r.left && (w_i.r.flags.fin_out || w_i.r.snd_wnd > 30'(w_i.p.len));
                endcase
                if (w_o.out.control.fin && w_i.p.send != SendAgain) w_o.r.flags.fin_out = 1'b1;
              end
            end
          endcase
        end
      end

      Late: w_o.stage = Timers;

      Timers: begin
        w_o.stage = More;
        unique case (w_i.p.deadline)
          NoDeadline: w_o.r.deadline = '0;
          Retransmission: begin
            w_o.r.flags.timed = 1'b1;
            w_o.r.deadline = c_i.now_up + 32'(c_i.rto);
          end
          Waiting: begin
            w_o.r.flags.timed = 1'b1;
            w_o.r.deadline = c_i.now_up + TimeWaitMs;
          end
          default: ;
        endcase
        if (w_i.p.limit) begin
          w_o.r.flags.limited = w_i.p.patience != '0;
          w_o.r.limit = w_i.p.patience == '0 ? '0 : c_i.now_up + c_i.patience;
        end
        if (w_i.p.shut != CauseNone) begin
          w_o.r = '0;
          w_o.r.snd_una = c_i.snd_nxt;
          w_o.r.incarnation = w_i.r.incarnation;
          w_o.r.flags.lived = 1'b1;
          w_o.n.closed = w_i.p.shut;
          w_o.n.quarantine = w_i.p.quarantine;
          if (w_i.r.flags.asked) begin
            w_o.n.cut_off = w_i.p.shut == CauseAborted;
            w_o.n.failed = w_i.p.shut == CauseAborted ? CauseNone : w_i.p.shut;
          end
        end
      end

      default: ;
    endcase
  end
endmodule
