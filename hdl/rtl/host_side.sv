// The host's side of the module: the link and what it needs. Frames from the host are stored until they are
// whole, received frames until the link has time for them, and departures until they are reported.
//
//   host ──► host_store ──► host_link ◄──► registers, live frames, credits, marks
//                           │   ▲  ▲
//   host ◄──────────────────┘   │  └── host_store ◄── received frames
//                               └───── host_departures
module host_side
  import tare_pkg::*;
  import registers_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned StoreWords  = 512,
    parameter int unsigned HeardWords  = 512,
    parameter int unsigned ReportWords = 512
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // The host. Input comes from a MAC, with FCS; `host_ready_o` is for a sender that can wait.
    input  logic             host_valid_i,
    output logic             host_ready_o,
    input  heard_t           host_beat_i,
    output logic             host_valid_o,
    input  logic             host_ready_i,
    output beat_t            host_beat_o,
    // Registers.
    input  logic [31:0]      build_i,
    output register_ask_t    registers_o,
    input  register_answer_t registers_i,
    input  link_t            link_i,
    input  logic             clear_i,
    // Live frames, and the credits for their beats.
    input  logic             live_i,
    input  logic             forgetting_i,
    output logic             live_valid_o,
    input  logic             live_ready_i,
    output live_t            live_o,
    output credit_ask_t      credits_o,
    input  credit_answer_t   credits_i,
    input  logic             grant_valid_i,
    output logic             grant_ready_o,
    input  credits_t         grant_i,
    output logic             mark_valid_o,
    input  logic             mark_ready_i,
    output logic [15:0]      mark_o,
    input  logic             marked_valid_i,
    output logic             marked_ready_o,
    input  logic [15:0]      marked_i,
    // Sources of other reports.
    input  ticks_t           now_i,
    input  logic             wire_up_i,
    input  logic             release_valid_i,
    input  release_t         release_i,
    input  logic             received_valid_i,
    input  received_t        received_i,
    output logic             quiet_o
);
  logic word_valid, word_ready, store_empty, bad, full;
  logic [63:0] word;
  logic [15:0] count, counting;

  host_store #(
      .Words   (StoreWords),
      .MinBytes(HeaderBytes + FcsBytes),
      .MaxBytes(MaxLinkBytes + FcsBytes)
  ) requests (
      .clk_i,
      .rst_ni,
      .valid_i(host_valid_i),
      .ready_o(host_ready_o),
      .beat_i (host_beat_i),
      .tag_i  ('0),
      .bad_o  (bad),
      .full_o (full),
      .valid_o(word_valid),
      .ready_i(word_ready),
      .word_o (word),
      .empty_o(store_empty)
  );

  logic departed_valid, departed_ready, departed_left_out;
  departures_t waiting;
  logic [63:0] departed;

  host_departures #(
      .Words(ReportWords)
  ) departures (
      .clk_i,
      .rst_ni,
      .enable_i        (link_i.departures),
      .hello_i         (credits_o.revoke),
      .valid_i         (release_valid_i),
      .release_i,
      .waiting_o       (waiting),
      .left_out_o      (departed_left_out),
      .valid_o         (departed_valid),
      .ready_i         (departed_ready),
      .word_o          (departed)
  );

  // A frame is stored from its first beat on, or not at all.
  logic tells_q, store_valid_q, report_valid, report_ready, reports_empty, received_full, received_bad;
  logic [63:0] report;
  received_t received_q;
  wire tells = received_i.beat.first ? link_i.received : tells_q;
  always_ff @(posedge clk_i) begin
    if (received_valid_i) tells_q <= tells;
    store_valid_q <= received_valid_i && tells;
    received_q    <= received_i;
    if (!rst_ni) begin
      tells_q       <= 1'b0;
      store_valid_q <= 1'b0;
    end
  end

  host_store #(
      .Words   (HeardWords),
      .MinBytes(14 + FcsBytes),
      .MaxBytes(MaxLinkBytes - HeaderBytes + FcsBytes),
      .Tagged  (1'b1),
      .KeepBad (1'b1)
  ) received (
      .clk_i,
      .rst_ni,
      .valid_i(store_valid_q),
      .ready_o(),
      .beat_i (received_q.beat),
      .tag_i  (received_q.stamp),
      .bad_o  (received_bad),  // a length that no link frame can carry; frames with a wrong FCS are reported
      .full_o (received_full),
      .valid_o(report_valid),
      .ready_i(report_ready),
      .word_o (report),
      .empty_o(reports_empty)
  );

  // Registers, except the counters of the link at 0x200 … 0x23f.
  logic [15:0] happened, happened_q;
  logic [31:0] counted;
  logic of_link_q, read_q;  // the address is stable until the answer
  always_ff @(posedge clk_i) begin
    of_link_q <= registers_o.address[12:6] == 7'h08;
    read_q    <= registers_o.read;
    if (!rst_ni) read_q <= 1'b0;
  end
  always_comb begin
    happened = count;
    happened[CountBad] = bad;
    happened[CountFull] = full;
    happened[CountDeparturesLeftOut] = departed_left_out;
    happened[CountReceivedLeftOut] = received_full;
    happened[CountReceivedLength] = received_bad;
  end
  always_ff @(posedge clk_i) begin
    happened_q <= happened;
    if (!rst_ni) happened_q <= '0;
  end
  host_counters counters (
      .clk_i,
      .rst_ni,
      .clear_i,
      .count_i  (happened_q),
      .waiting_o(counting),
      .read_i   (read_q && of_link_q),
      .at_i     (registers_o.address[5:2]),
      .value_o  (counted)
  );

  // Answers come two cycles after the registers have them, so that they are selected away from the link.
  logic [2:1] answered_q;
  logic [31:0] counted_q;
  logic unknown1_q, unknown2_q;
  register_answer_t answer;
  logic [31:0] answer_q;
  always_ff @(posedge clk_i) begin
    answered_q <= {answered_q[1], registers_i.valid};
    // The source that was not asked gives 0.
    counted_q  <= of_link_q ? counted : '0;
    answer_q   <= counted_q | registers_i.data;
    // Counters can be read but not written.
    unknown1_q <= registers_i.unknown && !of_link_q;
    unknown2_q <= unknown1_q;
    if (!rst_ni) answered_q <= '0;
  end
  assign answer = '{valid: answered_q[2], unknown: answered_q[2] ? unknown2_q : registers_i.unknown, data: answer_q};

  logic link_quiet;
  assign quiet_o = link_quiet && store_empty && reports_empty && !store_valid_q;

  host_link link (
      .clk_i,
      .rst_ni,
      .build_i,
      .word_valid_i    (word_valid),
      .word_ready_o    (word_ready),
      .word_i          (word),
      .valid_o         (host_valid_o),
      .ready_i         (host_ready_i),
      .beat_o          (host_beat_o),
      .registers_o,
      .registers_i     (answer),
      .live_i,
      .forgetting_i,
      .live_valid_o,
      .live_ready_i,
      .live_o,
      .credits_o,
      .credits_i,
      .grant_valid_i,
      .grant_ready_o,
      .grant_i,
      .mark_valid_o,
      .mark_ready_i,
      .mark_o,
      .marked_valid_i,
      .marked_ready_o,
      .marked_i,
      .now_i,
      .wire_up_i,
      .patience_i      (link_i.patience),
      .departures_i    (waiting),
      .departed_valid_i(departed_valid),
      .departed_ready_o(departed_ready),
      .departed_i      (departed),
      .received_valid_i(report_valid),
      .received_ready_o(report_ready),
      .received_i      (report),
      .count_o         (count),
      .counting_i      (counting),
      .quiet_o         (link_quiet)
  );
endmodule
