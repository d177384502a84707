// Everything between the registers and the pins of GMII, or of XGMII. One clock: 125 MHz, or 156.25.
//
//   generator ───┐                 tick_counter
//                ├─► release_gate ──► transmit_gmii ──► wire
//   live frames ─┘      ▲   │
//   paced_queue         │   └──► sent, late, by how much
//   credits, marks    forget
//
//   wire ──► mac_rx_gmii ──► receive
//
// `control_i.live` selects the source. A change takes effect when everything that the previous source produced
// has gone. `forget` ends the generator's run; the next rising edge of `run` starts a new one.
module core
  import tare_pkg::*;
  import generator_pkg::*;
  import receive_pkg::*;
  import registers_pkg::*;
#(
    parameter int unsigned StoredBeats = 4096,
    parameter int unsigned QueueFrames = 512,
    parameter bit          Xgmii       = 1'b0,  // 10 Gb/s
    localparam int unsigned Lanes = Xgmii ? 8 : 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    // Wire. txc and rxc belong to XGMII; enable, valid and error belong to GMII.
    output logic [8*Lanes-1:0] txd_o,
    output logic [Lanes-1:0]   txc_o,
    output logic               tx_en_o,
    output logic               tx_er_o,
    input  logic [8*Lanes-1:0] rxd_i,
    input  logic [Lanes-1:0]   rxc_i,
    input  logic               rx_dv_i,
    input  logic               rx_er_i,
    // What the host commands, and settings. `figure_i.ask` stays high until the answer.
    input  control_t           control_i,
    input  generator_t         generator_i,
    input  memory_t            memory_i,
    input  clock_t             clock_i,
    input  listen_t            listen_i,
    input  figure_t            figure_i,
    output logic               figure_valid_o,
    output logic [31:0]        figure_o,
    output status_t            status_o,
    output captured_t          captured_o,
    output logic               forget_done_o,  // one cycle, when `forgotten` is valid
    // Live frames, and the credits for their beats.
    input  logic               live_valid_i,
    output logic               live_ready_o,
    input  live_t              live_i,
    input  credit_ask_t        credits_i,
    output credit_answer_t     credits_o,
    output logic               grant_valid_o,
    input  logic               grant_ready_i,
    output credits_t           grant_o,
    input  logic               mark_valid_i,
    output logic               mark_ready_o,
    input  logic [15:0]        mark_i,
    output logic               marked_valid_o,
    input  logic               marked_ready_i,
    output logic [15:0]        marked_o,
    // Results of departures, and received frames.
    output ticks_t             now_o,
    output logic               release_valid_o,
    output release_t           release_o,
    output logic               received_valid_o,
    output received_t          received_o,
    // Counters, see counters.sv.
    input  logic               count_read_i,
    input  logic [3:0]         count_at_i,
    output logic [47:0]        count_o
);
  ticks_t now, next;
  logic [63:0] time_ns;  // of the cycle before the last

  tick_counter ticks (
      .clk_i,
      .rst_ni,
      .now_o (now),
      .next_o(next)
  );

  clock_ns clock (
      .clk_i,
      .rst_ni,
      .now_i          (now),
      .clock_i,
      .time_o         (time_ns),
      .time_fraction_o(),
      .captured_o
  );

  assign now_o = now;

  // Sources.
  logic live_q, ended_q, run_q, forgetting;
  logic made_departure_valid, made_departure_ready, made_valid, made_ready, made_idle;
  departure_t made_departure;
  beat_t made_beat;

  generator #(
      .StoredBeats(StoredBeats)
  ) made (
      .clk_i,
      .rst_ni,
      .run_i            (run_q),
      .idle_o           (made_idle),
      .settings_i       (generator_i),
      .gap_set_i        (control_i.gap_set),
      .memory_i,
      .departure_valid_o(made_departure_valid),
      .departure_ready_i(made_departure_ready),
      .departure_o      (made_departure),
      .valid_o          (made_valid),
      .ready_i          (made_ready),
      .beat_o           (made_beat)
  );

  logic queued_departure_valid, queued_departure_ready, queued_valid, queued_ready, queue_empty;
  departure_t queued_departure;
  beat_t queued_beat;

  paced_queue #(
      .Beats     (QueueBeats),
      .Departures(QueueFrames)
  ) queue (
      .clk_i,
      .rst_ni,
      .valid_i          (live_valid_i),
      .ready_o          (live_ready_o),
      .departure_i      (live_i.departure),
      .beat_i           (live_i.beat),
      .departure_valid_o(queued_departure_valid),
      .departure_ready_i(queued_departure_ready),
      .departure_o      (queued_departure),
      .valid_o          (queued_valid),
      .ready_i          (queued_ready),
      .beat_o           (queued_beat),
      .empty_o          (queue_empty)
  );

  // Input of the gate.
  logic departure_valid, departure_ready, source_valid, source_ready;
  departure_t departure;
  beat_t source_beat;
  // The selected source, before its register.
  logic chosen_valid, chosen_ready;
  beat_t chosen_beat;

  logic midway_q;  // the source has begun a frame and not ended it
  wire left = !source_valid && !departure_valid && !midway_q && (live_q ? queue_empty : made_idle);
  always_ff @(posedge clk_i) begin
    if (chosen_valid && chosen_ready) midway_q <= !chosen_beat.last;
    // While forgetting, the two sources alternate, so that frames left over from the other one are discarded,
    // too.
    if (left) live_q <= forgetting ? !live_q : control_i.live;
    ended_q <= control_i.run && (ended_q || control_i.forget);
    run_q   <= control_i.run && !forgetting && !ended_q;
    if (!rst_ni) begin
      live_q  <= 1'b0;
      midway_q <= 1'b0;
      ended_q <= 1'b0;
      run_q   <= 1'b0;
    end
  end

  logic accepted_q, gone_q, beat_left_q;
  // A beat's room is free again once the gate has taken the beat.
  wire beat_left = live_q && source_valid && source_ready;

  credits #(
      .Capacity(QueueBeats)
  ) quota (
      .clk_i,
      .rst_ni,
      .revoke_i     (credits_i.revoke),
      .grant_valid_o,
      .grant_ready_i,
      .grant_o,
      .use_valid_i  (credits_i.use_),
      .use_i        (credits_i.beats),
      .refused_o    (credits_o.refused),
      .outstanding_o(credits_o.outstanding),
      .free_i       (beat_left_q)
  );

  // `ready` from the MAC is on the critical path, so these are registered.
  always_ff @(posedge clk_i) begin
    beat_left_q <= beat_left;
    accepted_q <= live_valid_i && live_ready_o && live_i.beat.last;
    gone_q     <= beat_left && source_beat.last;
    if (!rst_ni) begin
      accepted_q  <= 1'b0;
      gone_q      <= 1'b0;
      beat_left_q <= 1'b0;
    end
  end

  marks points (
      .clk_i,
      .rst_ni,
      .accepted_i(accepted_q),
      .gone_i    (gone_q),
      .valid_i   (mark_valid_i),
      .ready_o   (mark_ready_o),
      .id_i      (mark_i),
      .valid_o   (marked_valid_o),
      .ready_i   (marked_ready_i),
      .id_o      (marked_o)
  );

  // The selected source, at the gate.

  // One place for the next departure is enough: it arrives long before the gate needs it.
  assign queued_departure_ready = live_q && !departure_valid;
  assign made_departure_ready = !live_q && !departure_valid;
  always_ff @(posedge clk_i) begin
    if (!departure_valid) begin
      departure_valid <= live_q ? queued_departure_valid : made_departure_valid;
      departure       <= live_q ? queued_departure : made_departure;
    end else if (departure_ready) begin
      departure_valid <= 1'b0;
    end
    if (!rst_ni) departure_valid <= 1'b0;
  end
  assign chosen_valid = live_q ? queued_valid : made_valid;
  assign chosen_beat = live_q ? queued_beat : made_beat;
  assign queued_ready = live_q && chosen_ready;
  assign made_ready = !live_q && chosen_ready;

  // This register cuts the path of `ready`, from the MAC to the sources, which are placed far from it.
  stream_register #(
      .T   (beat_t),
      .Full(Xgmii)  // GMII takes one beat every eight cycles
  ) chosen (
      .clk_i,
      .rst_ni,
      .valid_i(chosen_valid),
      .ready_o(chosen_ready),
      .data_i (chosen_beat),
      .valid_o(source_valid),
      .ready_i(source_ready),
      .data_o (source_beat)
  );

  logic gate_valid, gate_ready, start, gate_forgot, underrun;
  beat_t gate_beat;
  stamp_t stamp;

  release_gate #(
      .OwedWidth($clog2(QueueFrames) + 2)
  ) gate (
      .clk_i,
      .rst_ni,
      .now_i            (now),
      .next_i           (next),
      .forget_i         (forgetting),
      .departure_valid_i(departure_valid),
      .departure_ready_o(departure_ready),
      .departure_i      (departure),
      .valid_i          (source_valid),
      .ready_o          (source_ready),
      .beat_i           (source_beat),
      .valid_o          (gate_valid),
      .ready_i          (gate_ready),
      .beat_o           (gate_beat),
      .start_o          (start),
      .stamp_o          (stamp),
      .release_valid_o,
      .release_o,
      .forgotten_o      (gate_forgot)
  );

  wire idle = made_idle && queue_empty && !source_valid;
  logic [31:0] forgotten;
  ticks_t latest_q;
  assign status_o = '{idle: idle, forgetting: forgetting, forgotten: forgotten, latest: latest_q};

  forget forgets (
      .clk_i,
      .rst_ni,
      .forget_i       (control_i.forget),
      .sources_empty_i(idle),
      .forgotten_i    (gate_forgot),
      .busy_o         (forgetting),
      .done_o         (forget_done_o),
      .count_o        (forgotten)
  );

  ticks_t lateness_q;

  // The wire. The receiver gets the clock and sends nothing back.
  logic noise;

  if (Xgmii) begin : gen_xgmii
    transmit_xgmii transmitting (
        .clk_i,
        .rst_ni,
        .valid_i   (gate_valid),
        .ready_o   (gate_ready),
        .beat_i    (gate_beat),
        .stamp_i   (stamp),
        .time_i    (time_ns[59:0]),
        .late_i    (lateness_q),
        .txd_o,
        .txc_o,
        .sent_o    (),
        .underrun_o(underrun)
    );

    mac_rx_xgmii mac_rx (
        .clk_i,
        .rst_ni,
        .now_i  (now),
        .time_i (time_ns[59:0]),
        .rxd_i,
        .rxc_i,
        .valid_o   (received_valid_o),
        .received_o(received_o),
        .noise_o   (noise)
    );

    assign tx_en_o = 1'b0;
    assign tx_er_o = 1'b0;
  end else begin : gen_gmii
    transmit_gmii transmitting (
        .clk_i,
        .rst_ni,
        .valid_i   (gate_valid),
        .ready_o   (gate_ready),
        .beat_i    (gate_beat),
        .stamp_i   (stamp),
        .time_i    (time_ns[59:0]),
        .late_i    (lateness_q),
        .txd_o,
        .tx_en_o,
        .tx_er_o,
        .sent_o    (),
        .underrun_o(underrun)
    );

    mac_rx_gmii mac_rx (
        .clk_i,
        .rst_ni,
        .now_i  (now),
        .time_i (time_ns[59:0]),
        .rxd_i,
        .rx_dv_i,
        .rx_er_i,
        .valid_o   (received_valid_o),
        .received_o(received_o),
        .noise_o   (noise)
    );

    assign txc_o = '0;
  end

  // Events of departures. Lateness follows the release by one cycle, the greatest lateness by three more.
  logic released_q, released2_q, more2_q, some2_q, late3_q, upper2_q, equal2_q, lower2_q, greater3_q;
  ticks_t lateness2_q;
  events_t sent_events, heard_events;
  always_comb begin
    sent_events            = '0;
    sent_events.sent       = released2_q;
    sent_events.late       = late3_q;
    sent_events.late_ticks = lateness2_q[47:0];
    sent_events.underrun   = underrun;
  end
  always_ff @(posedge clk_i) begin
    released_q  <= release_valid_o;
    lateness_q  <= release_o.late;
    released2_q <= released_q;
    // Compared in two parts, the lower of which the stamper needs, too. The next frame is at least eight cycles
    // away, so lateness2_q stays valid long enough.
    more2_q     <= lateness_q[63:16] != 0;
    some2_q     <= lateness_q[15:0] != 0;
    late3_q     <= released2_q && (more2_q || some2_q);
    lateness2_q <= lateness_q;
    // Compared in halves.
    upper2_q    <= lateness_q[63:32] > latest_q[63:32];
    equal2_q    <= lateness_q[63:32] == latest_q[63:32];
    lower2_q    <= lateness_q[31:0] > latest_q[31:0];
    greater3_q  <= released2_q && (upper2_q || (equal2_q && lower2_q));
    if (greater3_q) latest_q <= lateness2_q;
    if (control_i.clear || !rst_ni) latest_q <= '0;
    if (!rst_ni) begin
      released_q  <= 1'b0;
      released2_q <= 1'b0;
      late3_q     <= 1'b0;
      greater3_q  <= 1'b0;
    end
  end

  counters counting (
      .clk_i,
      .rst_ni,
      .clear_i (control_i.clear),
      .events_i(sent_events | heard_events),
      .read_i  (count_read_i),
      .at_i    (count_at_i),
      .value_o (count_o)
  );

  // Receiving.
  // On XGMII, frames may follow each other before one `listen` has finished with the previous frame.
  receive #(
      .Ears(Xgmii ? 4 : 1)
  ) receiving (
      .clk_i,
      .rst_ni,
      .config_i       (listen_i),
      .clear_i        (control_i.clear),
      .valid_i        (received_valid_o),
      .received_i     (received_o),
      .noise_i        (noise),
      .arrival_valid_o(),
      .arrival_o      (),
      .events_o       (heard_events),
      .figure_i,
      .figure_valid_o,
      .figure_o
  );
endmodule
