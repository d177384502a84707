// The module as a board sees it: two streams of whole frames, from and to the host, and the pins of one gigabit
// port.
//
//   host ◄──► host_side ◄──► registers ◄──► core ◄──► wire
//                 ▲                          ▲
//                 └── live frames, reports ──┘
module tare_module
  import tare_pkg::*;
  import generator_pkg::*;
  import receive_pkg::*;
#(
    parameter logic [31:0] Build = '0,
    parameter int unsigned StoredBeats = 4096,
    parameter int unsigned QueueBeats = 2048,
    parameter int unsigned QueueFrames = 256,  // a frame has at least 8 beats
    localparam int unsigned CreditWidth = $clog2(QueueBeats + 1)
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
  logic control_live, control_run, control_gaps_from_list;
  logic [1:0] control_from, control_first_from;
  logic forget, gap_set, clear, ns_set, ns_step, capture, idle, forgetting;
  logic [31:0] forgotten, frames, gap_whole, gap_numerator, gap_denominator, memory_data, ns_fraction, gap_reference;
  logic [63:0] first_time, ns_value, captured_time, captured_tick, latest;
  logic [11:0] last_entry;
  logic [2:0] memory_which;
  logic [15:0] memory_address;
  logic memory_address_write, memory_data_write;
  logic [7:0] ns_whole, signature_at;
  logic signed_;
  logic [3:0][7:0] rule_at;
  logic [3:0] rule_enable;
  logic [3:0][15:0] rule_value, rule_mask;
  logic [9:0] read_at;
  logic [1:0] read_what;
  logic read_ask;
  logic reading_q, read_done_q, read_valid;
  logic [31:0] read_data, read_data_q;
  logic [15:0] next_address_q;
  logic register_write, register_read, register_valid, register_unknown, link_departures, link_received;
  logic [12:0] register_address;
  logic [31:0] register_data, register_answer, magic, layout, link_patience;
  logic wire_up_q;
  logic [47:0] counted;
  // The counters of the core except the greatest lateness. Reading the low half latches the high half for the
  // next read.
  wire of_counters = register_address[12:7] == 6'h02 && register_address[6:3] != 4'(CountedLatest);
  logic of_counters_q;  // the address is stable until the answer
  always_ff @(posedge clk_i) of_counters_q <= of_counters;

  registers regs (
      .clk_i,
      .rst_ni,
      .write_i                 (register_write),
      .read_i                  (register_read),
      .address_i               (register_address),
      .data_i                  (register_data),
      .read_valid_o            (register_valid),
      .data_o                  (register_answer),
      .unknown_o               (register_unknown),
      .magic_o                 (magic),
      .layout_o                (layout),
      .build_i                 (Build),
      .control_live_o          (control_live),
      .control_run_o           (control_run),
      .control_gaps_from_list_o(control_gaps_from_list),
      .control_from_o          (control_from),
      .control_first_from_o    (control_first_from),
      .command_forget_o        (forget),
      .command_gap_set_o       (gap_set),
      .command_clear_o         (clear),
      .command_ns_set_o        (ns_set),
      .command_ns_step_o       (ns_step),
      .command_capture_o       (capture),
      .status_idle_i           (idle),
      .status_forgetting_i     (forgetting),
      .status_wire_i           (wire_up_q),
      .forgotten_i             (forgotten),
      .first_time_o            (first_time),
      .last_entry_o            (last_entry),
      .frames_o                (frames),
      .gap_whole_o             (gap_whole),
      .gap_numerator_o         (gap_numerator),
      .gap_denominator_o       (gap_denominator),
      .memory_which_o          (memory_which),
      .memory_address_o        (memory_address),
      .memory_address_write_o  (memory_address_write),
      .memory_data_o           (memory_data),
      .memory_data_write_o     (memory_data_write),
      .ns_whole_o              (ns_whole),
      .ns_fraction_o           (ns_fraction),
      .ns_value_o              (ns_value),
      .captured_time_i         (captured_time),
      .captured_tick_i         (captured_tick),
      .listen_signed_o         (signed_),
      .listen_signature_at_o   (signature_at),
      .gap_reference_o         (gap_reference),
      .rule_place0_at_o        (rule_at[0]),
      .rule_place0_enable_o    (rule_enable[0]),
      .rule_value0_o           (rule_value[0]),
      .rule_value0_mask_o      (rule_mask[0]),
      .rule_place1_at_o        (rule_at[1]),
      .rule_place1_enable_o    (rule_enable[1]),
      .rule_value1_o           (rule_value[1]),
      .rule_value1_mask_o      (rule_mask[1]),
      .rule_place2_at_o        (rule_at[2]),
      .rule_place2_enable_o    (rule_enable[2]),
      .rule_value2_o           (rule_value[2]),
      .rule_value2_mask_o      (rule_mask[2]),
      .rule_place3_at_o        (rule_at[3]),
      .rule_place3_enable_o    (rule_enable[3]),
      .rule_value3_o           (rule_value[3]),
      .rule_value3_mask_o      (rule_mask[3]),
      .read_at_o               (read_at),
      .read_what_o             (read_what),
      .read_ask_o              (read_ask),
      .read_data_i             (read_data_q),
      .read_state_done_i       (read_done_q),
      .link_departures_o       (link_departures),
      .link_received_o         (link_received),
      .link_patience_o         (link_patience),
      .latest_i                (latest)
  );

  always_ff @(posedge clk_i) wire_up_q <= wire_up_i;

  logic live_valid, live_ready, use_valid, use_refused, revoke, grant_valid, grant_ready, mark_valid, mark_ready, marked_valid, marked_ready;
  logic release_valid, heard_valid, side_quiet;
  departure_t live_departure;
  beat_t live_beat;
  logic [CreditWidth-1:0] use_, outstanding, grant;
  logic [15:0] mark, marked;
  release_t released;
  heard_t heard;
  ticks_t heard_stamp, now;

  host_side #(
      .CreditWidth(CreditWidth)
  ) side (
      .clk_i,
      .rst_ni,
      .host_valid_i,
      .host_ready_o,
      .host_beat_i,
      .host_valid_o,
      .host_ready_i,
      .host_beat_o,
      .build_i          (Build),
      .layout_i         (layout),
      .magic_i          (magic),
      .write_o          (register_write),
      .read_o           (register_read),
      .address_o        (register_address),
      .data_o           (register_data),
      .read_valid_i     (register_valid),
      .data_i           (register_answer | (!of_counters_q ? '0 : register_address[2] ? 32'(counted[47:32]) : counted[31:0])),
      // Counters can be read but not written.
      .unknown_i        (register_unknown && !(of_counters_q && register_valid)),
      .clear_i          (clear),
      .live_i           (control_live),
      .forgetting_i     (forgetting),
      .live_valid_o     (live_valid),
      .live_ready_i     (live_ready),
      .live_departure_o (live_departure),
      .live_beat_o      (live_beat),
      .use_valid_o      (use_valid),
      .use_o            (use_),
      .use_refused_i    (use_refused),
      .outstanding_i    (outstanding),
      .revoke_o         (revoke),
      .grant_valid_i    (grant_valid),
      .grant_ready_o    (grant_ready),
      .grant_i          (grant),
      .mark_valid_o     (mark_valid),
      .mark_ready_i     (mark_ready),
      .mark_o           (mark),
      .marked_valid_i   (marked_valid),
      .marked_ready_o   (marked_ready),
      .marked_i         (marked),
      .now_i            (now),
      .wire_up_i        (wire_up_q),
      .patience_i       (link_patience),
      .tell_departures_i(link_departures),
      .release_valid_i  (release_valid),
      .release_i        (released),
      .tell_received_i  (link_received),
      .heard_valid_i    (heard_valid),
      .heard_i          (heard),
      .heard_stamp_i    (heard_stamp),
      .quiet_o          (side_quiet)
  );
  // Receiving continues for some cycles after the pins.
  always_ff @(posedge clk_i) quiet_o <= side_quiet && idle && !forgetting && !reading_q && !rx_dv_i && !tx_en_o;

  // Memories of the generator: each word increments the address.
  always_ff @(posedge clk_i) begin
    if (memory_data_write) next_address_q <= next_address_q + 1'b1;
    if (memory_address_write) next_address_q <= memory_address;
  end

  // One read of a receive figure, until it is answered.
  always_ff @(posedge clk_i) begin
    if (read_valid) begin
      reading_q   <= 1'b0;
      read_done_q <= 1'b1;
      read_data_q <= read_data;
    end
    if (read_ask) begin
      reading_q   <= 1'b1;
      read_done_q <= 1'b0;
    end
    if (!rst_ni) begin
      reading_q   <= 1'b0;
      read_done_q <= 1'b0;
    end
  end

  listen_t listen;
  always_comb begin
    listen.signed_       = signed_;
    listen.signature_at  = signature_at;
    listen.gap_reference = gap_reference;
    for (int unsigned i = 0; i < Rules; i++)
      listen.rules[i] = '{enable: rule_enable[i], at: rule_at[i], mask: rule_mask[i], value: rule_value[i]};
  end

  core #(
      .StoredBeats(StoredBeats),
      .QueueBeats (QueueBeats),
      .QueueFrames(QueueFrames)
  ) inner (
      .clk_i,
      .rst_ni,
      .txd_o,
      .txc_o            (),
      .tx_en_o,
      .tx_er_o,
      .rxd_i,
      .rxc_i            (1'b0),
      .rx_dv_i,
      .rx_er_i,
      .live_i           (control_live),
      .forget_i         (forget),
      .forget_busy_o    (forgetting),
      .forget_done_o    (),
      .forgotten_o      (forgotten),
      .run_i            (control_run),
      .idle_o           (idle),
      .gaps_from_list_i (control_gaps_from_list),
      .from_i           (from_e'(control_from)),
      .first_from_i     (from_e'(control_first_from)),
      .first_time_i     (first_time),
      .last_entry_i     (last_entry),
      .frames_i         (frames),
      .gap_set_i        (gap_set),
      .gap_whole_i      (gap_whole),
      .gap_numerator_i  (gap_numerator),
      .gap_denominator_i(gap_denominator),
      .write_i          (memory_data_write),
      .memory_i         (memory_e'(memory_which)),
      .address_i        (next_address_q),
      .data_i           (memory_data),
      .live_valid_i     (live_valid),
      .live_ready_o     (live_ready),
      .live_departure_i (live_departure),
      .live_beat_i      (live_beat),
      .use_valid_i      (use_valid),
      .use_i            (use_),
      .use_refused_o    (use_refused),
      .outstanding_o    (outstanding),
      .revoke_i         (revoke),
      .grant_valid_o    (grant_valid),
      .grant_ready_i    (grant_ready),
      .grant_o          (grant),
      .mark_valid_i     (mark_valid),
      .mark_ready_o     (mark_ready),
      .mark_i           (mark),
      .marked_valid_o   (marked_valid),
      .marked_ready_i   (marked_ready),
      .marked_o         (marked),
      .release_valid_o  (release_valid),
      .release_o        (released),
      .clear_i          (clear),
      .latest_o         (latest),
      .count_read_i     (register_read && of_counters && !register_address[2]),
      .count_at_i       (register_address[6:3]),
      .count_o          (counted),
      .listen_i         (listen),
      .read_i           (reading_q),
      .read_what_i      (read_what),
      .read_at_i        (read_at),
      .read_valid_o     (read_valid),
      .read_o           (read_data),
      .heard_valid_o    (heard_valid),
      .heard_o          (heard),
      .heard_stamp_o    (heard_stamp),
      .heard_half_o     (),
      .now_o            (now),
      .ns_whole_i       (ns_whole),
      .ns_fraction_i    (ns_fraction),
      .ns_set_i         (ns_set),
      .ns_step_i        (ns_step),
      .ns_value_i       (ns_value),
      .capture_i        (capture),
      .captured_time_o  (captured_time),
      .captured_tick_o  (captured_tick)
  );
endmodule
