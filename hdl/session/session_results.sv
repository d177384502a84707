// What became of each departure: the queue of what the reader of responses is told, the reader, and what is
// counted of its results.
module session_results
  import session_pkg::*;
  import session_engine_pkg::*;
#(
    parameter int unsigned Sessions = 8192
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  load_t       load_i,
    input  logic        clear_i,
    input  index_t      clear_place_i,
    input  logic        sum_write_i,
    input  template_t   sum_place_i,
    input  logic [31:0] sum_i,
    // What is told always has room; with `room_o` low, what leads to more must wait.
    input  logic        tell_i,
    input  told_t       telling_i,
    output logic        room_o,
    output ring_t       ring_place_o,
    input  logic [7:0]  ring_byte_i,
    output ring_t       ring_free_o,
    output logic        ask_valid_o,
    input  logic        ask_ready_i,
    output ask_t        ask_o,
    output logic        result_valid_o,
    input  logic        result_ready_i,
    output result_t     result_o,
    output logic        connected_valid_o,
    output connected_t  connected_o,
    input  logic        hold_i,
    input  logic        read_i,
    input  figure_e     read_figure_i,
    input  logic [9:0]  read_bin_i,
    output logic        read_valid_o,
    output logic [31:0] read_o,
    input  tick_t       now_i,
    input  logic        start_i,
    input  logic        row_read_i,
    input  row_t        row_read_row_i,
    input  logic [4:0]  row_read_word_i,
    output logic        row_read_valid_o,
    output logic [47:0] row_read_o,
    output row_t        row_o,
    output logic        late_o,
    output logic        uncounted_o,
    output logic        result_lost_o,
    output logic        excess_o
);
  localparam int unsigned Depth = 512;
  localparam int unsigned ToldMost = 480;

  logic tell_q, told_valid, told_ready;
  told_t telling_q, told;
  logic [9:0] told_count_q;
  assign room_o = told_count_q < 10'(ToldMost);
  always_ff @(posedge clk_i) begin
    tell_q       <= tell_i && rst_ni;
    telling_q    <= telling_i;
    told_count_q <= !rst_ni ? '0 : told_count_q + 10'(tell_q) - 10'(told_valid && told_ready);
  end
  stream_fifo #(
      .T    (told_t),
      .Depth(Depth)
  ) queue (
      .clk_i,
      .rst_ni,
      .valid_i(tell_q),
      .ready_o(),
      .data_i (telling_q),
      .valid_o(told_valid),
      .ready_i(told_ready),
      .data_o (told),
      .empty_o()
  );

  template_t template_;
  logic sum_known, sum_learn;
  logic [31:0] sum_wanted;
  session_response #(
      .Sessions(Sessions)
  ) response (
      .clk_i,
      .rst_ni,
      .load_i,
      .clear_i,
      .clear_place_i,
      .told_valid_i (told_valid),
      .told_ready_o (told_ready),
      .told_i       (told),
      .ring_place_o,
      .ring_byte_i,
      .ring_free_o,
      .template_o   (template_),
      .sum_known_i  (sum_known),
      .sum_i        (sum_wanted),
      .sum_learn_o  (sum_learn),
      .ask_valid_o,
      .ask_ready_i,
      .ask_o,
      .result_valid_o,
      .result_ready_i,
      .result_o,
      .connected_valid_o,
      .connected_o,
      .result_lost_o,
      .excess_o
  );
  session_sums known_sums (
      .clk_i,
      .rst_ni,
      .write_i      (sum_write_i),
      .write_place_i(sum_place_i),
      .write_sum_i  (sum_i),
      .template_i   (template_),
      .known_o      (sum_known),
      .sum_o        (sum_wanted),
      .learn_i      (sum_learn),
      .learn_sum_i  (result_o.crc)
  );
  session_histograms histograms (
      .clk_i,
      .rst_ni,
      .each_i           (load_i.each),
      .result_valid_i   (result_valid_o),
      .result_i         (result_o),
      .connected_valid_i(connected_valid_o),
      .connected_i      (connected_o),
      .hold_i,
      .read_i,
      .read_figure_i,
      .read_bin_i,
      .read_valid_o,
      .read_o,
      .uncounted_o
  );
  session_rows rows (
      .clk_i,
      .rst_ni,
      .load_i,
      .start_i,
      .now_i,
      .clear_i,
      .clear_place_i,
      .result_valid_i(result_valid_o),
      .result_i      (result_o),
      .hold_i,
      .read_i        (row_read_i),
      .read_row_i    (row_read_row_i),
      .read_word_i   (row_read_word_i),
      .read_valid_o  (row_read_valid_o),
      .read_o        (row_read_o),
      .row_o,
      .late_o
  );
endmodule
