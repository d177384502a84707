// Rules of the parts of a step, which together say that nothing is acknowledged that did not come. Records, events and
// what earlier stages left may be anything.
//
// Text and FIN (session_text), from Place, five cycles into the step, until it is left:
//   1 rcv_nxt moves by no more than what the segment, and what was kept ahead of a hole, bring in order, and never back;
//     and by one for a FIN, which only one that is in order, or was kept, leads to;
//   2 text ahead of a hole moves it by nothing.
// The other parts, each in any stage:
//   3 session_acked sets rcv_nxt behind the number of the peer's SYN in a handshake, and else leaves it alone;
//   4 session_decide and session_send leave it alone, but where a connection opens or ends;
//   5 what session_send acknowledges is rcv_nxt, but for a refusal (RST).
module session_parts_rules
  import tcp_spec_pkg::*;
  import session_pkg::*;
(
    input logic      clk_i,
    input logic      rst_ni,
    // Of the parts without a clock.
    input work_t     w_i,
    input event_t    event_i,
    input path_t     path_i,
    input time_t     now_i,
    input compared_t c_i
);
  work_t acked, decided, sent;
  owes_t acked_owes, decided_owes, sent_owes;
  session_acked acknowledge (.w_i, .event_i, .path_i, .now_i, .c_i, .w_o(acked), .owes_o(acked_owes));
  session_decide decide (.w_i, .event_i, .path_i, .now_i, .c_i, .w_o(decided), .owes_o(decided_owes));
  session_send send (.w_i, .event_i, .path_i, .now_i, .c_i, .w_o(sent), .owes_o(sent_owes));

  wire handshake = w_i.stage == Acked && w_i.r.state == SynSent;
  wire ends = w_i.stage == Timers && w_i.p.shut != CauseNone;
  always_comb begin
    rule_3 : assert (acked.r.rcv_nxt == (handshake ? event_i.seq + 32'd1 : w_i.r.rcv_nxt));
    rule_4 : assert (decided.r.rcv_nxt == w_i.r.rcv_nxt || event_i.kind == EventOpen);
    rule_4b : assert (sent.r.rcv_nxt == w_i.r.rcv_nxt || ends);
    if (w_i.stage == Emit && sent.out.valid && !sent.out.control.rst && sent.out.control.ack && !w_i.out.valid && w_i.out == '0) begin
      rule_5 : assert (sent.out.ack == w_i.r.rcv_nxt);
    end
  end

  // The text of one segment, from anything on.
  work_t first_q, w_q, taken;
  event_t event_q;
  path_t path_q;
  owes_t text_owes;
  logic [2:0] cycle_q;
  session_text text (.clk_i, .w_i(w_q), .event_i(event_q), .path_i(path_q), .now_i, .c_i, .w_o(taken), .owes_o(text_owes));
  always_ff @(posedge clk_i) begin
    event_q <= event_q;
    path_q  <= path_q;
    first_q <= first_q;
    w_q     <= cycle_q < 3'd6 ? first_q : taken;
    cycle_q <= cycle_q == '1 ? cycle_q : cycle_q + 3'd1;
    if (!rst_ni) cycle_q <= '0;
  end
  reset_rules reset (.clk_i, .rst_ni);
  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= rst_ni;
  always_comb if (begun_q) assume (rst_ni);

  // Counted from rcv_nxt.
  wire distance_t start = ahead(event_q.seq + 32'(event_q.control.syn), first_q.r.rcv_nxt);
  wire distance_t behind = start + counted(32'(event_q.len));
  wire distance_t kept = ahead(first_q.r.ooo_start, first_q.r.rcv_nxt);
  wire distance_t kept_behind = kept + counted(32'(first_q.r.ooo_len));
  wire keeps = first_q.r.ooo_len != '0;
  wire fin = event_q.control.fin || first_q.r.flags.ooo_fin;
  distance_t in_order;
  always_comb begin
    in_order = '0;
    if (start <= 0 && behind > 0) in_order = behind;
    if (start <= 0 && behind > 0 && keeps && behind >= kept && kept_behind > in_order) in_order = kept_behind;
  end
  wire distance_t moved = ahead(taken.r.rcv_nxt, first_q.r.rcv_nxt);

  // What was kept lies ahead of a hole, and in a window.
  always_comb begin
    assume (first_q.stage == Place);
    assume (!keeps || (kept > 0 && kept < 34'sh2000_0000));
    assume (keeps || !first_q.r.flags.ooo_fin);
    assume (first_q.r.ooo_len < 30'h1000_0000);
  end
  always_comb begin
    if (begun_q && cycle_q != '0) begin
      if (w_q.stage == Take) begin
        rule_1 : assert (moved >= 0 && moved <= in_order);
        rule_1b : assert (taken.stage != Fin || (fin && start <= 0 && behind >= 0));
        if (start > 0) begin
          rule_2 : assert (taken.r.rcv_nxt == w_q.r.rcv_nxt);
        end
      end else begin
        rule_1c : assert (taken.r.rcv_nxt == (w_q.stage == Fin ? w_q.r.rcv_nxt + 32'd1 : w_q.r.rcv_nxt));
        rule_1d : assert (taken.stage != Fin);
      end
      cover_filled : cover (taken.n.filled && moved > 1000 && event_q.len < 100);
      cover_fin : cover (w_q.stage == Fin && taken.n.ended);
    end
  end
endmodule
