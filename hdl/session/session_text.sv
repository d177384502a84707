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
  wire handshake = w_i.r.state == SynSent;
  wire scaled = handshake ? event_i.has_shift : w_i.r.flags.scaled;
  wire [3:0] own_shift = !scaled ? '0 : path_i.shift > GreatestShift[3:0] ? GreatestShift[3:0] : path_i.shift;
  wire [29:0] rcv_wnd = 30'(FullWindow) << own_shift;
  // Two full segments.
  wire [16:0] two_full = {less(path_i.mss, w_i.r.flags.stamped ? StampBytes : '0), 1'b0};
  wire [15:0] acked_at_once = two_full[16] ? '1 : two_full[15:0];

  // Text and interval, counted from rcv_nxt; the text, cut at the window's end; how they lie; by how much
  // rcv_nxt moves if the text is in order, and what is kept if it is not. Each needs what was found a cycle
  // before, so it takes six cycles, the first of which is the step's. Nothing of it changes until Take, but in
  // a handshake, in which it is known what rcv_nxt will be; what else the record has then follows in Place.
  distance_t start_q, full_q, kept_start_q, kept_end_q, end_q;
  logic [29:0] text_wnd_q;
  logic fin_q, reaches_q, apart_q, beyond_q, keeps_q;
  // start > 0, start = 0, end > 0, end = 0, kept_start > 0
  logic ahead_q, at_next_q, new_q, up_to_next_q, hole_q;
  logic kept_first_q, kept_last_q, right_is_tail_q, stays_q;
  distance_t behind_q, tail_q;
  logic [31:0] moves_q, left_q, right_q;
  logic [15:0] unacked_q, acked_at_once_q;

  wire distance_t window = counted(32'(text_wnd_q));
  wire outside = full_q > window;
  // A SYN here is that of the handshake, and its number comes first.
  wire [31:0] first = event_i.seq + 32'(event_i.control.syn);

  always_comb begin
    w_o = w_i;
    owes_o = '0;

    unique case (w_i.stage)
      Place: w_o.stage = Take;

      Take: begin
        w_o.stage = Room;
        if (receiving) begin
          if (w_i.r.flags.shut && event_i.len == 16'd1 && at_next_q) begin
            owes_o.now = 1'b1;
            w_o.n.dropped = DroppedProbe;
          end else if (event_i.len != '0 && new_q) begin
            if (!ahead_q) begin
              // deliver()
              if (reaches_q) begin
                w_o.n.data = '{skip: 16'(-start_q), len: hole_q ? kept_start_q[15:0] : '0};
                w_o.n.filled = 1'b1;
                w_o.n.filled_len = w_i.r.ooo_len;
                if (!w_i.r.flags.ooo_fin && beyond_q)
                  w_o.n.data_after = '{skip: 16'(kept_end_q - start_q), len: behind_q[15:0]};
                w_o.r.ooo_start = '0;
                w_o.r.ooo_len = '0;
                w_o.r.flags.ooo_fin = 1'b0;
                if (w_i.r.flags.ooo_fin || (fin_q && !stays_q)) w_o.stage = Fin;
              end else begin
                w_o.n.data = '{skip: 16'(-start_q), len: end_q[15:0]};
                if (fin_q) w_o.stage = Fin;
              end
              w_o.r.rcv_nxt = w_i.r.rcv_nxt + moves_q;
              // A gap that gets smaller, and every second full segment, are acknowledged at once.
              w_o.r.unacked = unacked_q;
              owes_o.now = keeps_q || w_i.r.flags.quick || unacked_q >= acked_at_once_q;
              owes_o.later = !owes_o.now;
            end else begin
              // keep()
              owes_o.now = 1'b1;
              if (keeps_q && apart_q) w_o.n.dropped = DroppedHole;
              else begin
                if (!keeps_q) w_o.n.early = '{skip: '0, len: 16'(end_q - start_q)};
                else begin
                  if (!kept_first_q) w_o.n.early = '{skip: '0, len: 16'(kept_start_q - start_q)};
                  if (!kept_last_q) w_o.n.early_after = '{skip: 16'(kept_end_q - start_q), len: behind_q[15:0]};
                end
                w_o.r.ooo_start = w_i.r.rcv_nxt + left_q;
                w_o.r.ooo_len = 30'(right_q - left_q);
                if (fin_q && !(w_i.r.flags.ooo_fin && keeps_q && beyond_q) && right_is_tail_q)
                  w_o.r.flags.ooo_fin = 1'b1;
              end
            end
          end else if (event_i.len == '0 && event_i.control.fin && ahead_q) begin
            owes_o.now = 1'b1;
            if (keeps_q && start_q == kept_end_q) w_o.r.flags.ooo_fin = 1'b1;
            else w_o.n.dropped = DroppedEarlyFin;
          end else if (fin_q && up_to_next_q) w_o.stage = Fin;
        end else if (event_i.len != '0) w_o.n.dropped = DroppedLate;
      end

      Fin: begin
        w_o.stage = Room;
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
    // 1.
    start_q         <= handshake ? '0 : ahead(first, w_i.r.rcv_nxt);
    kept_start_q    <= ahead(w_i.r.ooo_start, w_i.r.rcv_nxt);
    text_wnd_q      <= rcv_wnd;
    keeps_q         <= w_i.r.ooo_len != '0 && !handshake;
    acked_at_once_q <= acked_at_once;
    // 2.
    full_q          <= start_q + counted(32'(event_i.len));
    kept_end_q      <= kept_start_q + counted(32'(w_i.r.ooo_len));
    ahead_q         <= start_q > 0;
    at_next_q       <= start_q == 0;
    hole_q          <= kept_start_q > 0;
    // Where the text starts with the interval, no early text is ahead of it.
    kept_first_q    <= kept_start_q <= start_q;
    // 3.
    end_q           <= outside ? window : full_q;
    fin_q           <= event_i.control.fin && !outside;
    // 4.
    reaches_q       <= keeps_q && end_q >= kept_start_q;
    apart_q         <= end_q < kept_start_q || start_q > kept_end_q;
    beyond_q        <= end_q > kept_end_q;
    stays_q         <= end_q < kept_end_q;
    behind_q        <= end_q - kept_end_q;
    new_q           <= end_q > 0;
    up_to_next_q    <= end_q == 0;
    // 5. Nothing follows a FIN.
    if (!reaches_q) moves_q <= end_q[31:0];
    else if (!w_i.r.flags.ooo_fin && beyond_q)
      moves_q <= hole_q ? end_q[31:0] : behind_q[31:0] + 32'(w_i.r.ooo_len);
    else moves_q <= hole_q ? kept_end_q[31:0] : 32'(w_i.r.ooo_len);
    tail_q          <= w_i.r.flags.ooo_fin && keeps_q && beyond_q ? kept_end_q : end_q;
    left_q          <= keeps_q && kept_first_q ? kept_start_q[31:0] : start_q[31:0];
    kept_last_q     <= !beyond_q || w_i.r.flags.ooo_fin;
    // 6.
    unacked_q       <= saturated(w_i.r.unacked, moves_q);
    right_q         <= keeps_q && stays_q ? kept_end_q[31:0] : tail_q[31:0];
    right_is_tail_q <= !(keeps_q && stays_q);
  end
endmodule
