// The module as a board sees it: two streams of whole frames, from and to the host, and the pins of one gigabit
// port.
//
//   host ◄──► host_side ◄──► registers ◄──► core ◄──► wire
//                 ▲                          ▲
//                 └── live frames, reports ──┘
module tare_module
  import tare_pkg::*;
  import generator_pkg::*;
  import registers_pkg::*;
#(
    parameter logic [31:0] Build = '0,
    parameter int unsigned StoredBeats = 4096,
    parameter int unsigned QueueFrames = 256  // a frame has at least 8 beats
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic [7:0]  txd_o,
    output logic        tx_en_o,
    output logic        tx_er_o,
    input  logic [7:0]  rxd_i,
    input  logic        rx_dv_i,
    input  logic        rx_er_i,
    // The host's side. Input comes from a MAC, with FCS; output has none. `host_ready_o` is for a sender that
    // can wait.
    input  logic        host_valid_i,
    output logic        host_ready_o,
    input  heard_t      host_beat_i,
    output logic        host_valid_o,
    input  logic        host_ready_i,
    output beat_t       host_beat_o,
    // The wire's link is up.
    input  logic        wire_up_i,
    // Nothing moved in the last cycle, and nothing will until an input changes, so a simulation may stop its
    // clock.
    output logic        quiet_o
);
  register_ask_t ask;
  register_answer_t register_answer, answer;
  settings_t settings;
  values_t values;
  status_t status;
  captured_t captured;
  logic reading_q, read_done_q, figure_valid, wire_up_q;
  logic [31:0] read_data_q, figure_data;
  logic [47:0] counted;
  always_ff @(posedge clk_i) wire_up_q <= wire_up_i;

  assign values = '{
          build: Build,
          status_wire: wire_up_q,
          read_data: read_data_q,
          read_state_done: read_done_q,
          status: status,
          captured: captured
      };

  registers regs (
      .clk_i,
      .rst_ni,
      .ask_i     (ask),
      .answer_o  (register_answer),
      .settings_o(settings),
      .values_i  (values)
  );

  // The counters of the core except the greatest lateness. Reading the low half latches the high half for the
  // next read. They can be read but not written.
  wire of_counters = ask.address[12:7] == 6'h02 && ask.address[6:3] != 4'(CountedLatest);
  logic of_counters_q;  // the address is stable until the answer
  // A cycle later than the registers' data. `host_side` takes the answer after that.
  logic [31:0] half_q;
  always_ff @(posedge clk_i) begin
    of_counters_q <= of_counters;
    half_q        <= ask.address[2] ? 32'(counted[47:32]) : counted[31:0];
    if (!of_counters_q) half_q <= '0;
  end
  assign answer = '{
          valid: register_answer.valid,
          unknown: register_answer.unknown && !(of_counters_q && register_answer.valid),
          data: register_answer.data | half_q
      };

  logic live_valid, live_ready, grant_valid, grant_ready, mark_valid, mark_ready, marked_valid, marked_ready;
  logic release_valid, received_valid, side_quiet;
  live_t live;
  credit_ask_t credit_ask;
  credit_answer_t credit_answer;
  credits_t grant;
  logic [15:0] mark, marked;
  release_t released;
  received_t received;
  ticks_t now;

  host_side side (
      .clk_i,
      .rst_ni,
      .host_valid_i,
      .host_ready_o,
      .host_beat_i,
      .host_valid_o,
      .host_ready_i,
      .host_beat_o,
      .build_i         (Build),
      .registers_o     (ask),
      .registers_i     (answer),
      .link_i          (settings.link),
      .clear_i         (settings.control.clear),
      .live_i          (settings.control.live),
      .forgetting_i    (status.forgetting),
      .live_valid_o    (live_valid),
      .live_ready_i    (live_ready),
      .live_o          (live),
      .credits_o       (credit_ask),
      .credits_i       (credit_answer),
      .grant_valid_i   (grant_valid),
      .grant_ready_o   (grant_ready),
      .grant_i         (grant),
      .mark_valid_o    (mark_valid),
      .mark_ready_i    (mark_ready),
      .mark_o          (mark),
      .marked_valid_i  (marked_valid),
      .marked_ready_o  (marked_ready),
      .marked_i        (marked),
      .now_i           (now),
      .wire_up_i       (wire_up_q),
      .release_valid_i (release_valid),
      .release_i       (released),
      .received_valid_i(received_valid),
      .received_i      (received),
      .quiet_o         (side_quiet)
  );
  // Receiving continues for some cycles after the pins.
  wire quiet = side_quiet && status.idle && !status.forgetting && !reading_q && !rx_dv_i && !tx_en_o;
  always_ff @(posedge clk_i) quiet_o <= quiet;

  // Memories of the generator: each word increments the address.
  logic [15:0] next_address_q;
  memory_t memory;
  always_ff @(posedge clk_i) begin
    if (settings.memory.data_write) next_address_q <= next_address_q + 1'b1;
    if (settings.memory.address_write) next_address_q <= settings.memory.address;
  end
  always_comb begin
    memory         = settings.memory;
    memory.address = next_address_q;
  end

  // One read of a receive figure, until it is answered.
  figure_t figure;
  always_ff @(posedge clk_i) begin
    if (figure_valid) begin
      reading_q   <= 1'b0;
      read_done_q <= 1'b1;
      read_data_q <= figure_data;
    end
    if (settings.figure.ask) begin
      reading_q   <= 1'b1;
      read_done_q <= 1'b0;
    end
    if (!rst_ni) begin
      reading_q   <= 1'b0;
      read_done_q <= 1'b0;
    end
  end
  always_comb begin
    figure     = settings.figure;
    figure.ask = reading_q;
  end

  core #(
      .StoredBeats(StoredBeats),
      .QueueFrames(QueueFrames)
  ) inner (
      .clk_i,
      .rst_ni,
      .txd_o,
      .txc_o           (),
      .tx_en_o,
      .tx_er_o,
      .rxd_i,
      .rxc_i           (1'b0),
      .rx_dv_i,
      .rx_er_i,
      .control_i       (settings.control),
      .generator_i     (settings.generator),
      .memory_i        (memory),
      .clock_i         (settings.clock),
      .listen_i        (settings.listen),
      .figure_i        (figure),
      .figure_valid_o  (figure_valid),
      .figure_o        (figure_data),
      .status_o        (status),
      .captured_o      (captured),
      .forget_done_o   (),
      .live_valid_i    (live_valid),
      .live_ready_o    (live_ready),
      .live_i          (live),
      .credits_i       (credit_ask),
      .credits_o       (credit_answer),
      .grant_valid_o   (grant_valid),
      .grant_ready_i   (grant_ready),
      .grant_o         (grant),
      .mark_valid_i    (mark_valid),
      .mark_ready_o    (mark_ready),
      .mark_i          (mark),
      .marked_valid_o  (marked_valid),
      .marked_ready_i  (marked_ready),
      .marked_o        (marked),
      .now_o           (now),
      .release_valid_o (release_valid),
      .release_o       (released),
      .received_valid_o(received_valid),
      .received_o      (received),
      .count_read_i    (ask.read && of_counters && !ask.address[2]),
      .count_at_i      (ask.address[6:3]),
      .count_o         (counted)
  );
endmodule
