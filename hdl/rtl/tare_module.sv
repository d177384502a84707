// The module as a board sees it: registers, live frames, and the pins of one gigabit port. What is behind the registers is core.
module tare_module
  import tare_pkg::*;
  import generator_pkg::*;
  import receive_pkg::*;
#(
    parameter logic [31:0] Build = '0,
    parameter int unsigned StoredBeats = 4096,
    parameter int unsigned QueueBeats = 2048,
    parameter int unsigned QueueFrames = 512,
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
    // Registers.
    input  logic        write_i,
    input  logic        read_i,
    input  logic [12:0] address_i,
    input  logic [31:0] data_i,
    output logic        read_valid_o,
    output logic [31:0] data_o,
    // Live frames.
    input  logic        live_valid_i,
    output logic        live_ready_o,
    input  departure_t  live_departure_i,
    input  beat_t       live_beat_i,
    input  logic        use_valid_i,
    input  logic [CreditWidth-1:0] use_i,
    output logic        use_refused_o,
    output logic        grant_valid_o,
    input  logic        grant_ready_i,
    output logic [CreditWidth-1:0] grant_o,
    input  logic        mark_valid_i,
    output logic        mark_ready_o,
    input  logic [15:0] mark_i,
    output logic        marked_valid_o,
    input  logic        marked_ready_i,
    output logic [15:0] marked_o,
    output logic        forget_done_o,
    output logic        release_valid_o,
    output release_t    release_o
);
  typedef logic [47:0] counter_t;

  logic control_live, control_run, control_gaps_from_list;
  logic [1:0] control_from, control_first_from;
  logic forget, gap_set, clear, revoke, ns_set, ns_step, capture, idle, forgetting;
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
  counter_t sent, late, late_ticks, underruns, good, bad, passed, bytes, noise, missing, stale, uncounted;

  registers regs (
      .clk_i,
      .rst_ni,
      .write_i,
      .read_i,
      .address_i,
      .data_i,
      .read_valid_o,
      .data_o,
      .build_i                 (Build),
      .control_live_o          (control_live),
      .control_run_o           (control_run),
      .control_gaps_from_list_o(control_gaps_from_list),
      .control_from_o          (control_from),
      .control_first_from_o    (control_first_from),
      .command_forget_o        (forget),
      .command_gap_set_o       (gap_set),
      .command_clear_o         (clear),
      .command_revoke_o        (revoke),
      .command_ns_set_o        (ns_set),
      .command_ns_step_o       (ns_step),
      .command_capture_o       (capture),
      .status_idle_i           (idle),
      .status_forgetting_i     (forgetting),
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
      .sent_i                  (sent),
      .late_i                  (late),
      .late_ticks_i            (late_ticks),
      .latest_i                (latest),
      .underruns_i             (underruns),
      .good_i                  (good),
      .bad_i                   (bad),
      .passed_i                (passed),
      .bytes_i                 (bytes),
      .noise_i                 (noise),
      .missing_i               (missing),
      .stale_i                 (stale),
      .uncounted_i             (uncounted)
  );

  // Memories of the generator: the address grows with each word.
  always_ff @(posedge clk_i) begin
    if (memory_data_write) next_address_q <= next_address_q + 1'b1;
    if (memory_address_write) next_address_q <= memory_address;
  end

  // One read of what was received, until it is answered.
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
      .tx_en_o,
      .tx_er_o,
      .rxd_i,
      .rx_dv_i,
      .rx_er_i,
      .live_i           (control_live),
      .forget_i         (forget),
      .forget_busy_o    (forgetting),
      .forget_done_o,
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
      .live_valid_i,
      .live_ready_o,
      .live_departure_i,
      .live_beat_i,
      .use_valid_i,
      .use_i,
      .use_refused_o,
      .revoke_i         (revoke),
      .grant_valid_o,
      .grant_ready_i,
      .grant_o,
      .mark_valid_i,
      .mark_ready_o,
      .mark_i,
      .marked_valid_o,
      .marked_ready_i,
      .marked_o,
      .release_valid_o,
      .release_o,
      .clear_i          (clear),
      .sent_o           (sent),
      .late_o           (late),
      .late_ticks_o     (late_ticks),
      .latest_o         (latest),
      .underruns_o      (underruns),
      .listen_i         (listen),
      .good_o           (good),
      .bad_o            (bad),
      .passed_o         (passed),
      .bytes_o          (bytes),
      .noise_o          (noise),
      .missing_o        (missing),
      .stale_o          (stale),
      .uncounted_o      (uncounted),
      .read_i           (reading_q),
      .read_what_i      (read_what),
      .read_at_i        (read_at),
      .read_valid_o     (read_valid),
      .read_o           (read_data),
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
