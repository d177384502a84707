// The host's side of the module: the link and what it needs. Frames from the host are stored until they are
// whole, received frames until the link has time for them, and departures until they are reported.
//
//   host ──► host_store ──► host_link ◄──► registers, live frames, credits, marks
//                           │   ▲  ▲
//   host ◄──────────────────┘   │  └── host_store ◄── received frames
//                               └───── host_departures
module host_side
  import tare_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned CreditWidth = 12,
    parameter int unsigned StoreWords  = 512,
    parameter int unsigned HeardWords  = 512,
    parameter int unsigned ReportWords = 512
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // The host. Input comes from a MAC, with FCS; `host_ready_o` is for a sender that can wait.
    input  logic        host_valid_i,
    output logic        host_ready_o,
    input  heard_t      host_beat_i,
    output logic        host_valid_o,
    input  logic        host_ready_i,
    output beat_t       host_beat_o,
    // Registers.
    input  logic [31:0] build_i,
    input  logic [31:0] layout_i,
    input  logic [31:0] magic_i,
    output logic        write_o,
    output logic        read_o,
    output logic [12:0] address_o,
    output logic [31:0] data_o,
    input  logic        read_valid_i,
    input  logic [31:0] data_i,
    input  logic        unknown_i,
    input  logic        clear_i,
    // Live frames.
    input  logic        live_i,
    input  logic        forgetting_i,
    output logic        live_valid_o,
    input  logic        live_ready_i,
    output departure_t  live_departure_o,
    output beat_t       live_beat_o,
    output logic        use_valid_o,
    output logic [CreditWidth-1:0] use_o,
    input  logic        use_refused_i,
    input  logic [CreditWidth-1:0] outstanding_i,
    output logic        revoke_o,
    input  logic        grant_valid_i,
    output logic        grant_ready_o,
    input  logic [CreditWidth-1:0] grant_i,
    output logic        mark_valid_o,
    input  logic        mark_ready_i,
    output logic [15:0] mark_o,
    input  logic        marked_valid_i,
    output logic        marked_ready_o,
    input  logic [15:0] marked_i,
    // Sources of unsolicited reports.
    input  ticks_t      now_i,
    input  logic        wire_up_i,
    input  logic [31:0] patience_i,
    input  logic        tell_departures_i,
    input  logic        release_valid_i,
    input  release_t    release_i,
    input  logic        tell_received_i,
    input  logic        heard_valid_i,
    input  heard_t      heard_i,
    input  ticks_t      heard_stamp_i,
    output logic        quiet_o
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

  logic departed_due, departed_valid, departed_ready, departed_left_out;
  logic [5:0] departed_count;
  logic [31:0] departures_left_out;
  logic [63:0] departed;

  host_departures #(
      .Words(ReportWords)
  ) departures (
      .clk_i,
      .rst_ni,
      .enable_i        (tell_departures_i),
      .hello_i         (revoke_o),
      .valid_i         (release_valid_i),
      .release_i,
      .due_o           (departed_due),
      .count_o         (departed_count),
      .left_out_o      (departures_left_out),
      .left_out_pulse_o(departed_left_out),
      .valid_o         (departed_valid),
      .ready_i         (departed_ready),
      .word_o          (departed)
  );

  // A frame is stored from its first beat on, or not at all.
  logic tells_q, received_valid, received_ready, received_empty, received_full, received_bad;
  logic [63:0] received;
  logic heard_valid_q;
  heard_t heard_q;
  ticks_t heard_stamp_q;
  wire tells = heard_i.first ? tell_received_i : tells_q;
  always_ff @(posedge clk_i) begin
    if (heard_valid_i) tells_q <= tells;
    heard_valid_q <= heard_valid_i && tells;
    heard_q       <= heard_i;
    heard_stamp_q <= heard_stamp_i;
    if (!rst_ni) begin
      tells_q       <= 1'b0;
      heard_valid_q <= 1'b0;
    end
  end

  host_store #(
      .Words   (HeardWords),
      .MinBytes(14 + FcsBytes),
      .MaxBytes(MaxLinkBytes - HeaderBytes + FcsBytes),
      .Tagged  (1'b1),
      .KeepBad (1'b1)
  ) heard (
      .clk_i,
      .rst_ni,
      .valid_i(heard_valid_q),
      .ready_o(),
      .beat_i (heard_q),
      .tag_i  (heard_stamp_q),
      .bad_o  (received_bad),  // a length that no link frame can carry; frames with a wrong FCS are reported
      .full_o (received_full),
      .valid_o(received_valid),
      .ready_i(received_ready),
      .word_o (received),
      .empty_o(received_empty)
  );

  // Registers, except the counters of the link at 0x200 … 0x23f.
  logic [15:0] happened, happened_q;
  logic [31:0] counted;
  logic of_link_q, read_q;  // the address is stable until the answer
  always_ff @(posedge clk_i) begin
    of_link_q <= address_o[12:6] == 7'h08;
    read_q    <= read_o;
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
      .at_i     (address_o[5:2]),
      .value_o  (counted)
  );

  // Answers come two cycles after the registers have them, so that they are selected away from the link.
  logic [2:1] answered_q;
  logic [31:0] counted_q, answer_q;
  logic unknown1_q, unknown2_q;
  always_ff @(posedge clk_i) begin
    answered_q <= {answered_q[1], read_valid_i};
    // The source that was not asked gives 0.
    counted_q  <= of_link_q ? counted : '0;
    answer_q   <= counted_q | data_i;
    // Counters can be read but not written.
    unknown1_q <= unknown_i && !of_link_q;
    unknown2_q <= unknown1_q;
    if (!rst_ni) answered_q <= '0;
  end

  logic link_quiet;
  assign quiet_o = link_quiet && store_empty && received_empty && !heard_valid_q;

  host_link #(
      .CreditWidth(CreditWidth)
  ) link (
      .clk_i,
      .rst_ni,
      .word_valid_i       (word_valid),
      .word_ready_o       (word_ready),
      .word_i             (word),
      .valid_o            (host_valid_o),
      .ready_i            (host_ready_i),
      .beat_o             (host_beat_o),
      .build_i,
      .layout_i,
      .magic_i,
      .write_o,
      .read_o,
      .address_o,
      .data_o,
      .read_valid_i       (answered_q[2]),
      .data_i             (answer_q),
      .unknown_i          (answered_q[2] ? unknown2_q : unknown_i),
      .live_i,
      .forgetting_i,
      .live_valid_o,
      .live_ready_i,
      .live_departure_o,
      .live_beat_o,
      .use_valid_o,
      .use_o,
      .use_refused_i,
      .outstanding_i,
      .revoke_o,
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
      .patience_i,
      .departed_due_i     (departed_due),
      .departed_count_i   (departed_count),
      .departed_left_out_i(departures_left_out),
      .departed_valid_i   (departed_valid),
      .departed_ready_o   (departed_ready),
      .departed_i         (departed),
      .received_valid_i   (received_valid),
      .received_ready_o   (received_ready),
      .received_i         (received),
      .count_o            (count),
      .counting_i         (counting),
      .quiet_o            (link_quiet)
  );
endmodule
