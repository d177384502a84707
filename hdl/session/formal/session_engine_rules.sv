// Rules of the engine around its step, which is replaced by one that takes any time and makes anything; queues, schedule,
// sweep and the wire's sides give anything, too. The solver chooses one session and follows its record.
//
//   1 a step reads the record as the last step of the same session wrote it: never an older one, never another's;
//   2 a step writes the record of the session whose event it had, so an event of one session changes no bit of another;
//   3 what arrived goes to the step of its own session;
//   4 each departure is told once, as missed or as departed, and nothing else is.
module session_engine_rules
  import tcp_spec_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
#(
    parameter int unsigned Sessions = 4
) (
    input logic           clk_i,
    input logic           rst_ni,
    input load_t          load_i,
    input logic           clearing,
    input index_t         clear_q,
    input index_t         index_q,
    input logic           from_departure,
    input logic           from_heard,
    input logic           pick_departure,
    input logic           pick_further,
    input logic           pick_ask,
    input logic           pick_heard,
    input logic           pick_open,
    input logic           pick_late,
    input index_t         closed_place,
    input index_t         ready_place,
    input index_t         late_place,
    input ask_t           ask,
    input heard_segment_t heard,
    input logic           step_valid,
    input event_t         step_event,
    input session_t       record,
    input logic           finished,
    input session_t       stepped,
    input notices_t       notices,
    input logic           schedule_next,
    input logic           miss,
    input logic           tell,
    input told_t          telling
);
  reset_rules reset (.clk_i, .rst_ni);

  index_t followed;
  always_ff @(posedge clk_i) followed <= followed;
  always_comb assume (followed < 13'(Sessions));
  always_comb begin
    assume (closed_place < 13'(Sessions));
    assume (ready_place < 13'(Sessions));
    assume (late_place < 13'(Sessions));
    assume (ask.index < 13'(Sessions));
    assume (heard.index < 13'(Sessions));
  end
  // The load does not change.
  logic each_q, open_loop_q, begun_q;
  always_ff @(posedge clk_i) begin
    each_q      <= load_i.each;
    open_loop_q <= load_i.open_loop;
    begun_q     <= rst_ni;
  end
  always_comb if (begun_q) assume (each_q == load_i.each && open_loop_q == load_i.open_loop);

  // The session of the event under way, and of the one whose step asks for a further event.
  index_t own_q, before_q;
  heard_segment_t heard_q;
  session_t last_q;
  logic known_q;
  always_ff @(posedge clk_i) begin
    if (pick_departure) own_q <= load_i.each ? closed_place : ready_place;
    if (pick_ask) own_q <= ask.index;
    if (pick_heard) {own_q, heard_q} <= {heard.index, heard};
    if (pick_open) own_q <= closed_place;
    if (pick_late) own_q <= late_place;
    if (pick_further) own_q <= before_q;
    if (finished && !from_departure) before_q <= own_q;
    if (clearing && clear_q == followed) begin
      last_q  <= stepped;
      known_q <= 1'b1;
    end
    if (finished && own_q == followed) last_q <= stepped;
    if (!rst_ni) known_q <= 1'b0;
  end

  // Departures that are under way.
  logic under_way_q;
  wire goes = step_valid && from_departure;
  always_ff @(posedge clk_i) begin
    if (goes) under_way_q <= 1'b1;
    else if (finished) under_way_q <= 1'b0;
    if (!rst_ni) under_way_q <= 1'b0;
  end

  always_comb begin
    if (rst_ni && begun_q) begin
      if (step_valid && own_q == followed && known_q) begin
        rule_1 : assert (record == last_q);
      end
      if (finished) begin
        rule_2 : assert (index_q == own_q);
      end
      if (step_valid && from_heard) begin
        rule_3 : assert (step_event == heard_q.event_ && index_q == heard_q.index);
      end
      rule_4a : assert (!(tell && telling.departed) || (finished && under_way_q && !telling.missed));
      rule_4b : assert (!(finished && under_way_q) || (tell && telling.departed));
      rule_4c : assert (!(tell && telling.missed) || schedule_next);
      rule_4d : assert (!schedule_next || (goes != (tell && telling.missed)));
    end
  end

  logic [1:0] steps_q;
  always_ff @(posedge clk_i) begin
    if (finished && own_q == followed && steps_q != '1) steps_q <= steps_q + 2'd1;
    if (!rst_ni) steps_q <= '0;
  end
  always_comb begin
    if (rst_ni && begun_q) begin
      cover_twice : cover (step_valid && own_q == followed && steps_q == 2'd2 && record != '0);
      cover_further : cover (pick_further && own_q != before_q);
      cover_departed : cover (finished && from_departure);
      cover_missed : cover (miss);
    end
  end
endmodule

bind session_engine session_engine_rules #(.Sessions(Sessions)) rules (.from_departure(source_q == Departure), .from_heard(source_q == Heard), .*);
