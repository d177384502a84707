// Rules of host_link: requests and reports take turns, and each frame to the host is whole. What is in the frames is
// proved and simulated elsewhere.
module host_link_rules
  import tare_pkg::*;
  import host_pkg::*;
(
    input logic        clk_i,
    input logic        rst_ni,
    input logic        valid_o,
    input logic        ready_i,
    input beat_t       beat_o,
    input credit_ask_t credits_o,
    input logic        grant_ready_o,
    input logic        requests_rest,
    input logic        reports_rest,
    input message_t    answer,
    input message_t    report,
    // Internal state, for the induction.
    input logic [1:0]  state,
    input logic        reporting_q,
    input logic [4:0]  request_state,
    input logic [3:0]  report_state
);
  // The states by number.
  localparam logic [1:0] PutHost = 0, PutPayload = 3;
  localparam logic [4:0] ReadWord = 15, Reading = 16, PutRead = 21;
  localparam logic [3:0] PutDeparted = 8, PutReceived = 9;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b0), .Width($bits(beat_t))) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(beat_o));

  // Beats of the frame that was begun, up to 4.
  logic [2:0] beats;
  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    if (valid_o && ready_i) beats <= beat_o.last ? '0 : beats == 3'd4 ? beats : beats + 1'b1;
    if (!rst_ni) beats <= '0;
  end

  wire answer_body = request_state inside {ReadWord, Reading, PutRead};
  wire report_body = report_state inside {PutDeparted, PutReceived};
  // Of the frame that is being put together, these were put.
  wire [2:0] put = beats + 3'(valid_o && beats != 3'd4);

  always_comb begin
    if (begun_q) begin
      rule_2_one_at_a_time : assert (requests_rest || reports_rest);
      if (credits_o.use_) rule_2_no_grant_at_the_time : assert (!grant_ready_o);
      // A frame has its header and a value at least, and is over before anything else begins.
      if (valid_o) rule_4_whole : assert (beats >= 3'd3 || !beat_o.last);
      if (requests_rest && reports_rest) rule_4_over : assert (state == PutHost && (!valid_o || beat_o.last));

      // Each frame is from the part that is at work.
      if (!requests_rest) rule_5_answer : assert (!reporting_q);
      if (!reports_rest) rule_5_report : assert (reporting_q);

      // Meaning of the registers.
      if (answer_body || report_body) assert (state == PutPayload);
      if (state != PutHost) assert (answer.begins || report.begins || answer_body || report_body);
      assert (beats <= 3'd4);
      if (state == PutHost) assert (valid_o ? beat_o.last : beats == 0);
      else if (state != PutPayload) assert (valid_o && beat_o.last ? 1'b0 : put == 3'(state));
      else assert (!(valid_o && beat_o.last) && put >= 3'd3);

      cover (valid_o && beat_o.last && requests_rest && reports_rest);
    end
  end
endmodule

bind host_link host_link_rules rules (
    .state        (state_q),
    .request_state(requests.state_q),
    .report_state (reports.state_q),
    .*
);
