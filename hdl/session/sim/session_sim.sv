// session_engine between its MACs, for simulation, and session_redis between those of the other port. The
// latter has a clock of its own, so that it costs nothing where it is not used.
module session_sim
  import tare_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
  import session_redis_pkg::*;
#(
    parameter int unsigned Sessions = 8192
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  load_t       load_i,
    input  logic        start_i,
    input  logic        template_write_i,
    input  logic [11:0] template_place_i,
    input  logic [7:0]  template_byte_i,
    input  logic        entry_write_i,
    input  logic [5:0]  entry_place_i,
    input  logic [10:0] entry_len_i,
    input  logic [11:0] entry_start_i,
    input  logic [15:0] entry_sum_i,
    input  logic [1:0]  entry_field_i,
    input  logic [10:0] entry_field_place_i,
    input  logic        sum_write_i,
    input  logic [5:0]  sum_place_i,
    input  logic [31:0] sum_i,
    input  logic        piece_write_i,
    input  logic [8:0]  piece_place_i,
    input  logic [31:0] piece_word_i,
    input  logic        due_valid_i,
    output logic        due_ready_o,
    input  logic [47:0] due_i,
    output logic        result_valid_o,
    output logic [3:0]  outcome_o,
    output logic [12:0] index_o,
    output logic [9:0]  status_o,
    output logic [47:0] due_o,
    output logic [31:0] sent_o,
    output logic [31:0] connected_o,
    output logic [31:0] first_o,
    output logic [31:0] done_o,
    output logic [27:0] size_o,
    output logic [31:0] sum_o,
    output logic        connected_valid_o,
    output logic [12:0] connected_index_o,
    output logic [31:0] connected_ticks_o,
    output logic [12:0] counted_o,
    input  logic        hold_i,
    input  logic        read_i,
    input  logic [1:0]  read_figure_i,
    input  logic [9:0]  read_bin_i,
    output logic        read_valid_o,
    output logic [31:0] read_o,
    input  logic        row_read_i,
    input  logic [27:0] row_read_row_i,
    input  logic [4:0]  row_read_word_i,
    output logic        row_read_valid_o,
    output logic [47:0] row_read_o,
    output logic [27:0] row_o,
    output logic        round_o,
    output logic [47:0] now_o,
    // GMII.
    output logic [7:0]  txd_o,
    output logic        tx_en_o,
    output logic        tx_er_o,
    input  logic [7:0]  rxd_i,
    input  logic        rx_dv_i,
    // Redis, with another GMII.
    input  logic        redis_clk_i,
    input  logic        redis_alone_i,  // the load's clock stands
    input  redis_t      redis_i,
    input  logic        head_write_i,
    input  logic [8:0]  head_place_i,
    input  logic [7:0]  head_byte_i,
    output logic [11:0] redis_counted_o,
    output logic [5:0]  redis_events_o,
    output logic [7:0]  redis_txd_o,
    output logic        redis_tx_en_o,
    output logic        redis_tx_er_o,
    input  logic [7:0]  redis_rxd_i,
    input  logic        redis_rx_dv_i
);
  tick_t now;
  logic heard_valid, beat_valid, beat_ready;
  received_t heard;
  beat_t beat;
  logic [7:0] byte_;
  result_t result;
  connected_t connected;
  template_entry_t entry;

  assign entry = '{
          start: entry_start_i,
          len: entry_len_i,
          sum: entry_sum_i,
          field: field_e'(entry_field_i),
          place: entry_field_place_i
      };
  assign now_o = now;
  assign outcome_o = result.outcome;
  assign index_o = result.index;
  assign status_o = result.status;
  assign due_o = result.due;
  assign sent_o = result.sent;
  assign connected_o = result.connected;
  assign first_o = result.first;
  assign done_o = result.done;
  assign size_o = result.size;
  assign sum_o = result.crc;
  assign connected_index_o = connected.index;
  assign connected_ticks_o = connected.ticks;

  session_engine #(
      .Sessions(Sessions)
  ) engine (
      .clk_i,
      .rst_ni,
      .load_i,
      .start_i,
      .template_write_i,
      .template_place_i,
      .template_byte_i,
      .entry_write_i,
      .entry_place_i,
      .entry_i       (entry),
      .sum_write_i,
      .sum_place_i,
      .sum_i,
      .piece_write_i,
      .piece_place_i,
      .piece_word_i,
      .due_valid_i,
      .due_ready_o,
      .due_i,
      .result_valid_o,
      .result_ready_i(1'b1),
      .result_o      (result),
      .connected_valid_o,
      .connected_o   (connected),
      .counted_o,
      .round_o,
      .hold_i,
      .read_i,
      .read_figure_i (figure_e'(read_figure_i)),
      .read_bin_i,
      .read_valid_o,
      .read_o,
      .row_read_i,
      .row_read_row_i,
      .row_read_word_i,
      .row_read_valid_o,
      .row_read_o,
      .row_o,
      .now_o         (now),
      .heard_valid_i (heard_valid),
      .heard_i       (heard),
      .beat_valid_o  (beat_valid),
      .beat_ready_i  (beat_ready),
      .beat_o        (beat)
  );
  mac_tx_gmii mac_tx (
      .clk_i,
      .rst_ni,
      .valid_i   (beat_valid),
      .ready_o   (beat_ready),
      .beat_i    (beat),
      .step_o    (),
      .byte_o    (byte_),
      .byte_i    (byte_),
      .txd_o,
      .tx_en_o,
      .tx_er_o,
      .sent_o    (),
      .underrun_o()
  );
  mac_rx_gmii mac_rx (
      .clk_i,
      .rst_ni,
      .now_i     (64'(now)),
      .time_i    ('0),
      .rxd_i,
      .rx_dv_i,
      .rx_er_i   (1'b0),
      .valid_o   (heard_valid),
      .received_o(heard),
      .noise_o   ()
  );

  logic redis_heard_valid, redis_beat_valid, redis_beat_ready;
  received_t redis_heard;
  beat_t redis_beat;
  logic [7:0] redis_byte;
  session_redis redis (
      .clk_i         (redis_clk_i),
      .rst_ni,
      .redis_i,
      .head_write_i,
      .head_place_i,
      .head_byte_i,
      .result_valid_i(result_valid_o && !redis_alone_i),
      .result_i      (result),
      .counted_o     (redis_counted_o),
      .events_o      (redis_events_o),
      .heard_valid_i (redis_heard_valid),
      .heard_i       (redis_heard),
      .beat_valid_o  (redis_beat_valid),
      .beat_ready_i  (redis_beat_ready),
      .beat_o        (redis_beat)
  );
  mac_tx_gmii redis_mac_tx (
      .clk_i     (redis_clk_i),
      .rst_ni,
      .valid_i   (redis_beat_valid),
      .ready_o   (redis_beat_ready),
      .beat_i    (redis_beat),
      .step_o    (),
      .byte_o    (redis_byte),
      .byte_i    (redis_byte),
      .txd_o     (redis_txd_o),
      .tx_en_o   (redis_tx_en_o),
      .tx_er_o   (redis_tx_er_o),
      .sent_o    (),
      .underrun_o()
  );
  mac_rx_gmii redis_mac_rx (
      .clk_i     (redis_clk_i),
      .rst_ni,
      .now_i     (64'(now)),
      .time_i    ('0),
      .rxd_i     (redis_rxd_i),
      .rx_dv_i   (redis_rx_dv_i),
      .rx_er_i   (1'b0),
      .valid_o   (redis_heard_valid),
      .received_o(redis_heard),
      .noise_o   ()
  );
endmodule
