// Text and FIN of a segment: what is in order is announced, and one interval ahead of a hole is kept. As text.rs in the
// crate, where it is drawn.
module session_text
  import tcp_spec_pkg::*;
  import session_pkg::*;
(
    input  logic      clk_i,
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
  wire [3:0] own_shift = !w_i.r.flags.scaled ? '0 : path_i.shift > GreatestShift[3:0] ? GreatestShift[3:0] : path_i.shift;
  wire [29:0] rcv_wnd = 30'(FullWindow) << own_shift;
  // Two full segments.
  wire [16:0] two_full = {less(path_i.mss, w_i.r.flags.stamped ? StampBytes : '0), 1'b0};
  wire [15:0] acked_at_once = two_full[16] ? '1 : two_full[15:0];

  // Text and interval, counted from rcv_nxt (Place), and how they lie (Span).
  distance_t start_q, full_q, kept_start_q, kept_end_q, end_q;
  logic [29:0] text_wnd_q;
  logic fin_q, reaches_q, apart_q, beyond_q;

  // The end of the text, cut at the window's.
  wire distance_t window = counted(32'(text_wnd_q));
  wire distance_t cut = full_q > window ? window : full_q;
  // A SYN here is that of the handshake, and its number comes first.
  wire [31:0] first = event_i.seq + 32'(event_i.control.syn);

  always_comb begin
    w_o = w_i;
    owes_o = '0;

    unique case (w_i.stage)
      Place: w_o.stage = Span;
      Span: w_o.stage = Take;

      Take: begin
        w_o.stage = Output;
        if (receiving) begin
          if (w_i.r.flags.shut && event_i.len == 16'd1 && start_q == 0) begin
            owes_o.now = 1'b1;
            w_o.n.dropped = DroppedProbe;
          end else if (event_i.len != '0 && end_q > 0) begin
            if (start_q <= 0) begin
              // deliver()
              if (reaches_q) begin
                w_o.n.data = '{skip: 16'(-start_q), len: kept_start_q > 0 ? kept_start_q[15:0] : '0};
                w_o.n.filled = 1'b1;
                w_o.n.filled_len = w_i.r.ooo_len;
                w_o.r.rcv_nxt = w_i.r.rcv_nxt + (kept_start_q > 0 ? kept_end_q[31:0] : 32'(w_i.r.ooo_len));
                if (!w_i.r.flags.ooo_fin && beyond_q) begin
                  w_o.n.data_after = '{skip: 16'(kept_end_q - start_q), len: 16'(end_q - kept_end_q)};
                  w_o.r.rcv_nxt = w_i.r.rcv_nxt + (kept_start_q > 0 ? end_q[31:0] : 32'(end_q - kept_end_q) + 32'(w_i.r.ooo_len));
                end
                w_o.r.ooo_start = '0;
                w_o.r.ooo_len = '0;
                w_o.r.flags.ooo_fin = 1'b0;
                if (w_i.r.flags.ooo_fin || (fin_q && end_q >= kept_end_q)) w_o.stage = Fin;
              end else begin
                w_o.n.data = '{skip: 16'(-start_q), len: end_q[15:0]};
                w_o.r.rcv_nxt = w_i.r.rcv_nxt + end_q[31:0];
                if (fin_q) w_o.stage = Fin;
              end
              // A gap that gets smaller, and every second full segment, are acknowledged at once.
              w_o.r.unacked = saturated(w_i.r.unacked, w_o.r.rcv_nxt - w_i.r.rcv_nxt);
              owes_o.now = w_i.r.ooo_len != '0 || w_i.r.flags.quick || w_o.r.unacked >= acked_at_once;
              owes_o.later = !owes_o.now;
            end else begin
              // keep()
              owes_o.now = 1'b1;
              if (w_i.r.ooo_len != '0 && apart_q) w_o.n.dropped = DroppedHole;
              else begin
                distance_t tail;
                logic [31:0] left, right;
                // Nothing follows a FIN.
                tail = w_i.r.flags.ooo_fin && w_i.r.ooo_len != '0 && beyond_q ? kept_end_q : end_q;
                left = w_i.r.ooo_len != '0 && kept_start_q < start_q ? kept_start_q[31:0] : start_q[31:0];
                right = w_i.r.ooo_len != '0 && kept_end_q > tail ? kept_end_q[31:0] : tail[31:0];
                if (w_i.r.ooo_len == '0) w_o.n.early = '{skip: '0, len: 16'(end_q - start_q)};
                else begin
                  if (kept_start_q > start_q) w_o.n.early = '{skip: '0, len: 16'(kept_start_q - start_q)};
                  if (tail > kept_end_q) w_o.n.early_after = '{skip: 16'(kept_end_q - start_q), len: 16'(tail - kept_end_q)};
                end
                w_o.r.ooo_start = w_i.r.rcv_nxt + left;
                w_o.r.ooo_len = 30'(right - left);
                if (fin_q && !(w_i.r.flags.ooo_fin && w_i.r.ooo_len != '0 && beyond_q) && tail[31:0] == right) w_o.r.flags.ooo_fin = 1'b1;
              end
            end
          end else if (event_i.len == '0 && event_i.control.fin && start_q > 0) begin
            owes_o.now = 1'b1;
            if (w_i.r.ooo_len != '0 && start_q == kept_end_q) w_o.r.flags.ooo_fin = 1'b1;
            else w_o.n.dropped = DroppedEarlyFin;
          end else if (fin_q && end_q == 0) w_o.stage = Fin;
        end else if (event_i.len != '0) w_o.n.dropped = DroppedLate;
      end

      Fin: begin
        w_o.stage = Output;
        w_o.r.rcv_nxt = w_i.r.rcv_nxt + 32'd1;
        w_o.r.unacked = saturated(w_i.r.unacked, 32'd1);
        // Nothing follows a FIN: a peer that sent more contradicts itself.
        w_o.r.ooo_start = '0;
        w_o.r.ooo_len = '0;
        w_o.r.flags.ooo_fin = 1'b0;
        w_o.n.ended = 1'b1;
        owes_o.now = 1'b1;
        unique case (w_i.r.state)
          Established: begin
            w_o.r.flags.fin_due = 1'b1;
            w_o.r.state = LastAck;
            owes_o.linger = 1'b1;
          end
          FinWait1: w_o.r.state = Closing;
          default: begin
            w_o.r.state = TimeWait;
            w_o.r.flags.persist = 1'b0;
            w_o.p.deadline = Waiting;
            w_o.p.limit = 1'b1;
            w_o.p.patience = '0;
          end
        endcase
      end

      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    // Place.
    start_q      <= ahead(first, w_i.r.rcv_nxt);
    full_q       <= ahead(first, w_i.r.rcv_nxt) + counted(32'(event_i.len));
    kept_start_q <= ahead(w_i.r.ooo_start, w_i.r.rcv_nxt);
    kept_end_q   <= ahead(w_i.r.ooo_start, w_i.r.rcv_nxt) + counted(32'(w_i.r.ooo_len));
    text_wnd_q   <= rcv_wnd;
    // Span.
    end_q        <= cut;
    fin_q        <= event_i.control.fin && cut == full_q;
    reaches_q    <= w_i.r.ooo_len != '0 && cut >= kept_start_q;
    apart_q      <= cut < kept_start_q || start_q > kept_end_q;
    beyond_q     <= cut > kept_end_q;
  end
endmodule
