// The sessions of a load, without a processor: opens connections, sends requests when they are due, reads the
// responses, and tells what became of each departure. Frames go to mac_tx_gmii and come from mac_rx_gmii.
//
//   schedule ──────┐                                                    ┌──► transmit ──► frames
//   receive ─ queue┤                                                    │
//   sweep (timers) ┼──► one event ──► memory ──► session_step ──► memory┤
//   ramp (openings)┤    at a time                                       │
//   results ───────┘                                                    └──► queue ──► results
//
// One event is under way at a time, from reading the record to writing it back, so none reads a record that is
// about to change.
//
// A departure's cycle is its own. From `Guard` cycles before it is due, no other event starts; a free session
// is fetched, and waits in `Hold` for the tick. So from the due tick to the first beat of the frame, always
// the same number of cycles passes, whatever arrives. The transmitter keeps the wire free for it in the same
// way. A session is free if its connection is established and no response is awaited, with a connection for
// each request: if it has none. If there is no such session at the due time, the departure is missed. The
// schedule does not wait.
//
// Connections open on a ramp, one each `open_gap` cycles, also those that the server closed; with a
// connection for each request the departures are the openings. Nothing is ever sent at once after a time-out.
module session_engine
  import tare_pkg::*;
  import tcp_spec_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
#(
    parameter int unsigned Sessions = 8192
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    // The host: a load is set, then templates and pieces are written, then it starts. It ends with a reset.
    input  load_t           load_i,
    input  logic            start_i,
    input  logic            template_write_i,
    input  place_t          template_place_i,
    input  logic [7:0]      template_byte_i,
    input  logic            entry_write_i,
    input  template_t       entry_place_i,
    input  template_entry_t entry_i,
    input  logic            sum_write_i,   // of the body of a template's response
    input  template_t       sum_place_i,
    input  logic [31:0]     sum_i,
    input  logic            piece_write_i,
    input  logic [8:0]      piece_place_i,
    input  logic [31:0]     piece_word_i,
    // Due times, where the load has no pieces.
    input  logic            due_valid_i,
    output logic            due_ready_o,
    input  tick_t           due_i,
    output logic            result_valid_o,
    input  logic            result_ready_i,
    output result_t         result_o,
    output logic            connected_valid_o,
    output connected_t      connected_o,
    output counted_t        counted_o,
    output logic            round_o,     // of the sweep of timers
    // Histograms. While they are read, nothing is counted in them (from the cycle behind the first of `hold_i`
    // on).
    input  logic            hold_i,
    input  logic            read_i,
    input  figure_e         read_figure_i,
    input  logic [9:0]      read_bin_i,
    output logic            read_valid_o,
    output logic [31:0]     read_o,
    // Rows: what ended in each interval.
    input  logic            row_read_i,
    input  row_t            row_read_row_i,
    input  logic [4:0]      row_read_word_i,
    output logic            row_read_valid_o,
    output logic [47:0]     row_read_o,
    output row_t            row_o,
    // The wire.
    output tick_t           now_o,
    input  logic            heard_valid_i,
    input  received_t       heard_i,
    output logic            beat_valid_o,
    input  logic            beat_ready_i,
    output beat_t           beat_o
);
  localparam int unsigned Width = $clog2(Sessions);
  localparam int unsigned Guard = 40;

  // The highest bit is that of Run alone.
  typedef enum logic [3:0] {
    Off,
    Clear,
    Pick,
    Picked,
    Fetch,
    Fetched,
    Look,
    Hold,
    Run
  } state_e;
  typedef enum logic [2:0] {
    Departure,
    Further,   // what follows an event of the same session
    Asked,
    Heard,
    Opening,
    Timer
  } source_e;

  state_e state_q;
  source_e source_q;
  index_t index_q;

  // Time.
  tick_t now_q;
  time_t time_;
  assign now_o = now_q;
  always_ff @(posedge clk_i) now_q <= !rst_ni ? '0 : now_q + 48'd1;
  session_clock clock (.clk_i, .rst_ni, .micro_i(load_i.micro), .now_o(time_));

  // The step.
  wire clears = state_q == Off || state_q == Clear;
  logic step_valid, step_ready, step_done;
  session_t record, stepped;
  event_t step_event;
  path_t path;
  segment_t segment;
  notices_t notices;
  // While records are cleared, it makes empty ones.
  session_step step (
      .clk_i,
      .rst_ni   (rst_ni && !clears),
      .valid_i  (step_valid),
      .ready_o  (step_ready),
      .record_i (record),
      .event_i  (step_event),
      .path_i   (path),
      .now_i    (time_),
      .valid_o  (step_done),
      .record_o (stepped),
      .segment_o(segment),
      .notices_o(notices)
  );
  logic sampled;
  logic [16:0] rto;
  session_rto timeout (
    .clk_i,
    .rst_ni,
    .valid_i  (step_done && notices.rtt),
    .micros_i (notices.micros),
    .sampled_o(sampled),
    .rto_o    (rto)
  );
  always_comb begin
    path = load_i.path;
    path.sampled = sampled;
    path.rto = rto;
  end

  // The records, and what requests were made of.
  index_t clear_q;
  wire clearing = state_q == Clear;
  wire finished = state_q[3] && step_done;
  request_t request, request_next;
  index_t sweep_place, read_place;
  wire engine_reads = state_q == Fetch || state_q == Fetched || state_q == Look || state_q == Hold;
  assign read_place = engine_reads ? index_q : sweep_place;
  session_memory #(
      .T    (session_t),
      .Depth(Sessions)
  ) records (
      .clk_i,
      .write_i(clearing || finished),
      .place_i(clearing ? clear_q[Width-1:0] : index_q[Width-1:0]),
      .data_i (stepped),
      .read_i (read_place[Width-1:0]),
      .data_o (record)
  );
  logic unqueue;
  session_memory #(
      .T    (request_t),
      .Depth(Sessions)
  ) requests (
      .clk_i,
      .write_i(clearing || finished || unqueue),
      .place_i(clearing ? clear_q[Width-1:0] : index_q[Width-1:0]),
      .data_i (clearing ? '0 : request_next),
      .read_i (read_place[Width-1:0]),
      .data_o (request)
  );

  // Sessions without a connection, and free ones. A session is in a queue once at most.
  logic closed_push, closed_valid, closed_pop, ready_push, ready_valid, ready_pop;
  index_t closed_place, ready_place;
  stream_fifo #(
      .T    (index_t),
      .Depth(Sessions)
  ) closed_queue (
      .clk_i,
      .rst_ni,
      .valid_i(closed_push),
      .ready_o(),
      .data_i (clearing ? clear_q : index_q),
      .valid_o(closed_valid),
      .ready_i(closed_pop),
      .data_o (closed_place),
      .empty_o()
  );
  stream_fifo #(
      .T    (index_t),
      .Depth(Sessions)
  ) ready_queue (
      .clk_i,
      .rst_ni,
      .valid_i(ready_push),
      .ready_o(),
      .data_i (index_q),
      .valid_o(ready_valid),
      .ready_i(ready_pop),
      .data_o (ready_place),
      .empty_o()
  );

  // What requests are made of.
  logic [7:0] template_byte_q;
  logic text_read;
  place_t template_read;
  template_t next_template;
  template_entry_t entry, entry_q;
  logic [7:0][3:0] digits;
  logic makes;
  session_templates templates (
      .clk_i,
      .rst_ni,
      .load_i,
      .start_i,
      .byte_write_i (template_write_i),
      .byte_place_i (template_place_i),
      .byte_i       (template_byte_i),
      .entry_write_i,
      .entry_place_i,
      .entry_i,
      .read_i       (text_read),
      .place_i      (template_read),
      .byte_o       (template_byte_q),
      .template_i   (source_q == Departure ? next_template : request.template_),
      .entry_o      (entry),
      .digits_o     (digits),
      .next_o       (next_template),
      .made_i       (makes)
  );

  // What arrived.
  logic [7:0] ring[8192];
  logic [7:0] ring_fetched_q, ring_byte_q, ring_byte;
  ring_t ring_write_place, ring_read, ring_free;
  logic ring_write;
  logic [7:0] echo_bytes[256];
  logic [7:0] echo_fetched_q, echo_byte_q, echo_byte, echo_write_place, echo_read;
  logic echo_write;
  always_ff @(posedge clk_i) begin
    if (ring_write) ring[ring_write_place] <= ring_byte;
    ring_fetched_q <= ring[ring_read];
    ring_byte_q    <= ring_fetched_q;
    if (echo_write) echo_bytes[echo_write_place] <= echo_byte;
    if (text_read) begin
      echo_fetched_q <= echo_bytes[echo_read];
      echo_byte_q    <= echo_fetched_q;
    end
  end
  logic arrived_valid, arrived_ready, heard_valid, heard_pop;
  heard_segment_t arrived, heard;
  logic question_valid, question_ready;
  question_t question;
  session_receive receive (
      .clk_i,
      .rst_ni,
      .load_i,
      .valid_i         (heard_valid_i && state_q != Off && !clearing),
      .received_i      (heard_i),
      .valid_o         (arrived_valid),
      .ready_i         (arrived_ready),
      .segment_o       (arrived),
      .ring_write_o    (ring_write),
      .ring_place_o    (ring_write_place),
      .ring_byte_o     (ring_byte),
      .ring_free_i     (ring_free),
      .question_valid_o(question_valid),
      .question_ready_i(question_ready),
      .question_o      (question),
      .echo_write_o    (echo_write),
      .echo_place_o    (echo_write_place),
      .echo_byte_o     (echo_byte),
      .foreign_o       (counted_o.foreign),
      .stray_o         (counted_o.stray),
      .bad_o           (counted_o.bad),
      .full_o          (counted_o.full)
  );
  stream_fifo #(
      .T    (heard_segment_t),
      .Depth(512)
  ) heard_queue (
      .clk_i,
      .rst_ni,
      .valid_i(arrived_valid),
      .ready_o(arrived_ready),
      .data_i (arrived),
      .valid_o(heard_valid),
      .ready_i(heard_pop),
      .data_o (heard),
      .empty_o()
  );

  // The schedule, and the ramp of openings.
  logic schedule_known, schedule_valid, schedule_over, schedule_next, due_soon, due_here;
  tick_t due;
  logic [15:0] wait_cycles;
  session_schedule #(
      .Guard(Guard)
  ) schedule (
      .clk_i,
      .rst_ni,
      .now_i        (now_q),
      .piece_write_i,
      .piece_place_i,
      .piece_word_i,
      .set_i        (start_i),
      .first_i      (load_i.first),
      .number_i     (load_i.departures),
      .pieces_i     (load_i.pieces),
      .due_valid_i,
      .due_ready_o,
      .due_i,
      .known_o      (schedule_known),
      .valid_o      (schedule_valid),
      .over_o       (schedule_over),
      .due_o        (due),
      .wait_o       (wait_cycles),
      .near_o       (due_soon),
      .now_o        (due_here),
      .next_i       (schedule_next)
  );
  logic [31:0] open_count_q;
  logic open_reached_q, open_due_q;

  // Timers.
  logic late_valid, late_pop;
  index_t late_place;
  session_sweep sweep (
      .clk_i,
      .rst_ni,
      .enable_i  (state_q != Off && !clearing),
      .sessions_i(load_i.sessions),
      .millis_i  (time_.millis),
      .free_i    (!engine_reads),
      .place_o   (sweep_place),
      .record_i  (record),
      .valid_o   (late_valid),
      .ready_i   (late_pop),
      .late_o    (late_place),
      .round_o
  );

  // What leaves, a cycle after the step.
  sending_t sending, leaving_q, other;
  logic leaves_q, departing_ready, other_room, other_valid, other_ready, started;
  always_ff @(posedge clk_i) begin
    leaves_q  <= finished && segment.valid && rst_ni;
    leaving_q <= sending;
  end
  assign sending.part      = segment.len != '0 && segment.len != 16'(entry_q.len);
  assign sending.departure = source_q == Departure;
  assign sending.opening   = source_q == Opening;
  assign sending.index     = index_q;
  assign sending.entry     = entry_q;
  assign sending.digits    = request_next.digits;
  assign sending.segment   = segment;
  logic [9:0] late_departures_q;
  wire late_departures = late_departures_q != '0;
  wire departs = leaves_q && leaving_q.departure;
  wire departs_now = departs && departing_ready && !late_departures;
  stream_fifo #(
      .T    (sending_t),
      .Depth(512)
  ) other_queue (
      .clk_i,
      .rst_ni,
      .valid_i(leaves_q && !departs_now),
      .ready_o(other_room),
      .data_i (leaving_q),
      .valid_o(other_valid),
      .ready_i(other_ready),
      .data_o (other),
      .empty_o()
  );
  index_t started_index;
  logic [15:0] wire_wait;
  always_comb begin
    wire_wait = wait_cycles;
    if (!schedule_known) wire_wait = '0;
    if (!load_i.open_loop || schedule_over) wire_wait = '1;
    if (state_q == Run && source_q == Departure && load_i.open_loop) wire_wait = '0;
  end
  session_transmit transmit (
      .clk_i,
      .rst_ni,
      .load_i,
      .departure_valid_i(departs),
      .departure_ready_o(departing_ready),
      .departure_i      (leaving_q),
      .other_valid_i    (other_valid),
      .other_ready_o    (other_ready),
      .other_i          (other),
      .hurry_i          (late_departures),
      .question_valid_i (question_valid),
      .question_ready_o (question_ready),
      .question_i       (question),
      .read_o           (text_read),
      .echo_place_o     (echo_read),
      .echo_byte_i      (echo_byte_q),
      .template_place_o (template_read),
      .template_byte_i  (template_byte_q),
      .wait_i           (wire_wait),
      .valid_o          (beat_valid_o),
      .ready_i          (beat_ready_i),
      .beat_o,
      .started_o        (started),
      .started_index_o  (started_index),
      .arp_o            (counted_o.arp),
      .echo_o           (counted_o.echo),
      .delayed_o        (counted_o.delayed)
  );

  // What is told to the reader of responses. The start of a frame is told behind its departure.
  told_t telling;
  logic tell, told_room, sent_waits_q;
  index_t sent_index_q;
  tick_t sent_stamp_q;
  heard_segment_t heard_q;
  ask_t ask, ask_q;
  logic ask_valid, ask_pop, miss;
  tick_t due_q;
  always_comb begin
    telling = '0;
    telling.index = index_q;
    telling.template_ = request_next.template_;
    telling.incarnation = stepped.incarnation;
    telling.stamp = now_q;
    if (finished) begin
      telling.departed = source_q == Departure;
      telling.connected = notices.connected;
      telling.ended = notices.ended;
      telling.closed = notices.closed;
      if (source_q == Departure) telling.stamp = due_q;
      if (source_q == Heard) begin
        telling.stamp = heard_q.stamp;
        telling.bytes = heard_q.bytes;
        telling.text = heard_q.event_.len != '0;
        telling.start = heard_q.start;
        telling.after = heard_q.after;
        telling.data = notices.data;
        telling.filled_len = notices.filled ? notices.filled_len : '0;
        telling.data_after = notices.data_after;
      end
    end else if (miss) begin
      telling.missed = 1'b1;
      telling.stamp  = due;
    end else begin
      telling.sent  = sent_waits_q;
      telling.index = sent_index_q;
      telling.stamp = sent_stamp_q;
    end
    tell = sent_waits_q || miss;
    if (finished) begin
      tell = telling.departed || telling.connected || telling.ended || telling.closed != CauseNone
        || telling.text;
    end
  end
  session_results #(
      .Sessions(Sessions)
  ) results (
      .clk_i,
      .rst_ni,
      .load_i,
      .clear_i       (clears),
      .clear_place_i (clear_q),
      .sum_write_i,
      .sum_place_i,
      .sum_i,
      .tell_i        (tell),
      .telling_i     (telling),
      .room_o        (told_room),
      .ring_place_o  (ring_read),
      .ring_byte_i   (ring_byte_q),
      .ring_free_o   (ring_free),
      .ask_valid_o   (ask_valid),
      .ask_ready_i   (ask_pop),
      .ask_o         (ask),
      .result_valid_o,
      .result_ready_i,
      .result_o,
      .connected_valid_o,
      .connected_o,
      .hold_i,
      .read_i,
      .read_figure_i,
      .read_bin_i,
      .read_valid_o,
      .read_o,
      .now_i         (now_q),
      .start_i,
      .row_read_i,
      .row_read_row_i,
      .row_read_word_i,
      .row_read_valid_o,
      .row_read_o,
      .row_o,
      .late_o        (counted_o.late),
      .uncounted_o   (counted_o.uncounted),
      .result_lost_o (counted_o.result_lost),
      .excess_o      (counted_o.excess)
  );

  // Which event is next.
  event_e further_q;
  logic further_valid_q;
  index_t further_index_q;
  logic [31:0] loop_left_q;  // departures of a closed loop
  wire pool_valid = load_i.each ? closed_valid : ready_valid;
  wire guarded = load_i.open_loop && !schedule_over && (!schedule_known || due_soon);
  wire loop_due = !load_i.open_loop && loop_left_q != '0 && pool_valid && (!load_i.each || open_due_q);
  wire room = other_room && !leaves_q && told_room;
  // Chosen in Pick, and taken in the cycle after it.
  typedef struct packed {
    logic departure;
    logic further;
    logic ask;
    logic heard;
    logic open;
    logic late;
    logic miss;
  } choice_t;
  choice_t choice, choice_q;
  always_comb begin
    choice = '0;
    if (guarded) begin
      choice.departure = schedule_valid && pool_valid && room;
      choice.miss = schedule_valid && !pool_valid && due_here && told_room;
    end else if (further_valid_q) choice.further = room;
    else if (room && ask_valid) choice.ask = 1'b1;
    else if (room && heard_valid) choice.heard = 1'b1;
    else if (room && !load_i.each && open_due_q && closed_valid) choice.open = 1'b1;
    else if (room && late_valid) choice.late = 1'b1;
    else choice.departure = loop_due && room;
  end
  wire pick_departure = choice_q.departure;
  wire pick_further = choice_q.further;
  wire pick_ask = choice_q.ask;
  wire pick_heard = choice_q.heard;
  wire pick_open = choice_q.open;
  wire pick_late = choice_q.late;
  assign miss = choice_q.miss;
  assign ask_pop     = pick_ask;
  assign heard_pop   = pick_heard;
  assign late_pop    = pick_late;
  assign closed_pop  = pick_open || pick_departure && load_i.each;
  assign ready_pop   = pick_departure && !load_i.each;

  // A session that is no longer what the queue took it for is left out.
  wire free_now = load_i.each
    ? record.state == Closed
    : record.state == Established && !record.flags.asked && record.left == '0;
  wire asked_of_this = source_q != Asked || record.incarnation == ask_q.incarnation;
  assign unqueue = state_q == Look && source_q == Departure && !free_now;
  wire due_now = !load_i.open_loop || schedule_valid && due_here;
  wire goes = state_q == Hold ? due_now : state_q == Look && source_q != Departure && asked_of_this;
  assign makes = state_q == Hold && due_now;
  assign step_valid = goes;
  assign schedule_next = miss || goes && source_q == Departure && load_i.open_loop;

  // Where sequence numbers start: a clock of 4 us, and for each port another offset (RFC 6528, with a hash
  // that hides the secret from nobody who sees several numbers).
  logic [31:0] offset_q, offset2_q;
  always_ff @(posedge clk_i) begin
    offset_q  <= load_i.secret ^ {index_q, 19'd0} ^ {19'd0, index_q};
    offset2_q <= (offset_q ^ (offset_q << 13) ^ (offset_q >> 7)) + {load_i.secret[15:0], load_i.secret[31:16]};
  end

  event_t made_event;
  wire opens = source_q == Opening || source_q == Departure && load_i.each;
  wire sends = source_q == Departure && !load_i.each || source_q == Further && further_q == EventSend;
  always_comb begin
    made_event = '0;
    unique case (source_q)
      Departure: made_event.kind = load_i.each ? EventOpen : EventSend;
      Further:   made_event.kind = further_q;
      Asked:     made_event.kind = ask_q.give_up ? EventAbort : EventAnswered;
      Opening:   made_event.kind = EventOpen;
      default:   made_event.kind = EventTimer;
    endcase
    if (opens) begin
      made_event.seq = {2'b00, time_.micros[31:2]} + offset2_q;
      made_event.patience = load_i.open_patience;
    end
    if (sends) begin
      made_event.len = 16'(state_q == Hold ? entry_q.len : entry.len);
      made_event.patience = load_i.patience;
    end
    step_event = source_q == Heard ? heard_q.event_ : made_event;
  end

  // What the record of requests says behind the step.
  logic queued_q;
  request_t request_q;
  wire established = stepped.state == Established;
  wire becomes_free = !load_i.each && established
    && (notices.connected || notices.done && ask_q.keep && source_q == Asked);
  assign ready_push  = finished && becomes_free && !queued_q;
  assign closed_push = clearing ? 14'(clear_q) < load_i.sessions : finished && notices.closed != CauseNone;
  always_comb begin
    request_next = request_q;
    request_next.queued = queued_q || becomes_free;
    if (unqueue) begin
      request_next = request;
      request_next.queued = 1'b0;
    end
  end

  // What follows in the same session: the request behind the handshake, our FIN, or an acknowledgment that
  // does not wait.
  wire asks_now = load_i.each && established && notices.connected;
  wire closes_now = load_i.each && load_i.fin && established && notices.done;
  wire follows = asks_now || closes_now || stepped.flags.ack_now && stepped.state != Closed;

  assign counted_o.retransmitted = finished && notices.retransmitted;
  assign counted_o.opened = finished && notices.connected;

  always_ff @(posedge clk_i) begin
    choice_q <= '0;
    unique case (state_q)
      Off: if (start_i) state_q <= Clear;
      Clear: begin
        clear_q <= clear_q + 13'd1;
        if (clear_q == 13'(Sessions - 1)) state_q <= Pick;
      end

      Pick: begin
        choice_q <= choice;
        if (choice != '0) state_q <= Picked;
      end
      Picked: begin
        state_q <= miss ? Pick : Fetch;
        if (pick_departure) begin
          source_q <= Departure;
          index_q  <= load_i.each ? closed_place : ready_place;
        end
        if (pick_further) begin
          source_q        <= Further;
          index_q         <= further_index_q;
          further_valid_q <= 1'b0;
        end
        if (pick_ask) begin
          source_q <= Asked;
          ask_q    <= ask;
          index_q  <= ask.index;
        end
        if (pick_heard) begin
          source_q <= Heard;
          heard_q  <= heard;
          index_q  <= heard.index;
        end
        if (pick_open) begin
          source_q <= Opening;
          index_q  <= closed_place;
        end
        if (pick_late) begin
          source_q <= Timer;
          index_q  <= late_place;
        end
      end
      Fetch: state_q <= Fetched;
      Fetched: state_q <= Look;

      Look: begin
        queued_q  <= request.queued && source_q != Departure;
        request_q <= request;
        entry_q   <= entry;
        if (source_q == Departure) begin
          request_q.template_ <= next_template;
          request_q.digits    <= digits;
          state_q             <= free_now ? Hold : Pick;
        end else state_q <= asked_of_this ? Run : Pick;
      end

      Hold:
      if (due_now) begin
        state_q <= Run;
        due_q   <= load_i.open_loop ? due : now_q;
        if (!load_i.open_loop) loop_left_q <= loop_left_q - 32'd1;
      end

      default:  // Run
      if (step_done) begin
        state_q <= Pick;
        // A departure may come between an event and what follows it, and has nothing that follows.
        if (source_q != Departure && follows) begin
          further_valid_q <= 1'b1;
          further_index_q <= index_q;
          further_q       <= EventFlush;
          if (asks_now) further_q <= EventSend;
          else if (closes_now) further_q <= EventClose;
        end
      end
    endcase

    // Departures that the transmitter could not take at once.
    late_departures_q <= late_departures_q + 10'(departs && !departs_now)
      - 10'(other_valid && other_ready && other.departure);

    if (sent_waits_q && !finished && !miss) sent_waits_q <= 1'b0;
    if (started) begin
      sent_waits_q <= 1'b1;
      sent_index_q <= started_index;
      sent_stamp_q <= now_q;
    end

    open_count_q   <= open_count_q + 32'd1;
    open_reached_q <= open_count_q + 32'd2 >= load_i.open_gap && !open_reached_q || load_i.open_gap[31:1] == '0;
    if (pick_open || pick_departure && !load_i.open_loop && load_i.each) open_due_q <= 1'b0;
    if (open_reached_q) begin
      open_count_q <= '0;
      open_due_q   <= 1'b1;
    end

    if (start_i) loop_left_q <= load_i.open_loop ? '0 : load_i.departures;
    if (!rst_ni) begin
      state_q           <= Off;
      clear_q           <= '0;
      further_valid_q   <= 1'b0;
      choice_q          <= '0;
      late_departures_q <= '0;
      open_reached_q    <= 1'b0;
      sent_waits_q      <= 1'b0;
      open_due_q        <= 1'b0;
      open_count_q      <= '0;
      loop_left_q       <= '0;
    end
  end
endmodule
