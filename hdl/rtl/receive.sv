// The receiving side: what came, what was wrong with it, what is missing, and how gaps and latencies are spread. It only listens: nothing here
// leads to the transmitting side (`make formal` shows that, see immunity).
//
//   frames ──► listen ──► counters
//                 ├─────► sequence_check ──► missing, stale, by stream
//                 ├─────► gap to the frame before ──► histogram of |gap - reference|, in ticks
//                 └─────► time - sent ──────────────► histogram of latencies, in nanoseconds; a negative one is in the last bin
//
// Frames that are bad or do not pass the filter are counted, and are in nothing else. Counters have 48 bits: frames wrap after 6 years at
// 1 488 095/s, bytes after 26 days at 125 MB/s.
module receive
  import tare_pkg::*;
  import receive_pkg::*;
#(
    parameter type Counter = logic [47:0]
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  listen_t     config_i,
    input  logic        clear_i,
    input  logic        valid_i,
    input  heard_t      beat_i,
    input  ticks_t      stamp_i,
    input  logic [59:0] time_i,
    input  logic        noise_i,
    output logic        arrival_valid_o,
    output arrival_t    arrival_o,
    output Counter      good_o,
    output Counter      bad_o,
    output Counter      passed_o,
    output Counter      bytes_o,     // of good frames
    output Counter      noise_o,
    output Counter      missing_o,
    output Counter      stale_o,
    output Counter      uncounted_o, // values that are in no bin
    // Reading: 0 gaps, 1 latencies, 2 missing by stream.
    input  logic        read_i,
    input  logic [1:0]  read_what_i,
    input  logic [9:0]  read_at_i,
    output logic        read_valid_o,
    output logic [31:0] read_o
);
  logic valid;
  arrival_t arrival;

  assign arrival_valid_o = valid;
  assign arrival_o = arrival;

  listen ears (
      .clk_i,
      .rst_ni,
      .config_i,
      .valid_i,
      .beat_i,
      .stamp_i,
      .time_i,
      .valid_o  (valid),
      .arrival_o(arrival)
  );

  // Gaps and latencies, one cycle each for difference and magnitude.
  logic before_q, gap_q, gap2_q, latency_q;
  ticks_t before_stamp_q, gap_value_q, gap_error_q;
  logic [59:0] latency_value_q;
  wire pass = valid && arrival.pass;

  always_ff @(posedge clk_i) begin
    gap_q  <= pass && before_q;
    gap2_q <= gap_q;
    latency_q <= pass && arrival.has_signature;
    if (pass) begin
      before_q       <= 1'b1;
      before_stamp_q <= arrival.stamp;
    end
    gap_value_q     <= arrival.stamp - before_stamp_q - ticks_t'(config_i.gap_reference);
    gap_error_q     <= gap_value_q[63] ? -gap_value_q : gap_value_q;
    latency_value_q <= arrival.time_ - arrival.sent;
    if (clear_i || !rst_ni) before_q <= 1'b0;
    if (!rst_ni) begin
      gap_q     <= 1'b0;
      gap2_q    <= 1'b0;
      latency_q <= 1'b0;
    end
  end

  logic gaps_missed, latencies_missed, gaps_read_valid, latencies_read_valid;
  logic [31:0] gaps_read, latencies_read;

  histogram gaps (
      .clk_i,
      .rst_ni,
      .valid_i     (gap2_q),
      .value_i     (gap_error_q),
      .missed_o    (gaps_missed),
      .clear_i,
      .read_i      (read_i && read_what_i == 2'd0),
      .read_bin_i  (read_at_i),
      .read_valid_o(gaps_read_valid),
      .read_o      (gaps_read)
  );

  histogram latencies (
      .clk_i,
      .rst_ni,
      .valid_i     (latency_q),
      .value_i     ({4'b0, latency_value_q}),
      .missed_o    (latencies_missed),
      .clear_i,
      .read_i      (read_i && read_what_i == 2'd1),
      .read_bin_i  (read_at_i),
      .read_valid_o(latencies_read_valid),
      .read_o      (latencies_read)
  );

  logic checked, stale;
  logic [4:0] checked_stream;
  logic [39:0] missing;

  sequence_check sequences (
      .clk_i,
      .rst_ni,
      .clear_i,
      .valid_i   (pass && arrival.has_signature),
      .stream_i  (arrival.stream),
      .sequence_i(arrival.sequence_),
      .valid_o   (checked),
      .stream_o  (checked_stream),
      .stale_o   (stale),
      .missing_o (missing)
  );

  // Missing by stream, 32 bits each, with a sweep that clears.
  logic [31:0] missing_by[32];
  logic [5:0] sweep_q;
  logic stream_read_q;
  logic [31:0] stream_value_q;
  wire sweeping = !sweep_q[5];
  wire [4:0] place = sweeping ? sweep_q[4:0] : checked_stream;
  wire [31:0] sum = missing_by[checked_stream] + missing[31:0];
  always_ff @(posedge clk_i) begin
    if (sweeping || checked) missing_by[place] <= sweeping ? '0 : sum;
    stream_read_q  <= read_i && read_what_i == 2'd2;
    stream_value_q <= missing_by[read_at_i[4:0]];
    if (sweeping) sweep_q <= sweep_q + 1'b1;
    if (clear_i || !rst_ni) sweep_q <= '0;
  end

  assign read_valid_o = gaps_read_valid || latencies_read_valid || stream_read_q;
  assign read_o = gaps_read_valid ? gaps_read : latencies_read_valid ? latencies_read : stream_value_q;

  always_ff @(posedge clk_i) begin
    good_o      <= good_o + Counter'(valid && !arrival.bad);
    bad_o       <= bad_o + Counter'(valid && arrival.bad);
    passed_o    <= passed_o + Counter'(pass);
    bytes_o     <= bytes_o + (valid && !arrival.bad ? Counter'(arrival.bytes) : '0);
    noise_o     <= noise_o + Counter'(noise_i);
    missing_o   <= missing_o + (checked ? Counter'(missing) : '0);
    stale_o     <= stale_o + Counter'(checked && stale);
    uncounted_o <= uncounted_o + Counter'(gaps_missed) + Counter'(latencies_missed);
    if (clear_i || !rst_ni) begin
      good_o      <= '0;
      bad_o       <= '0;
      passed_o    <= '0;
      bytes_o     <= '0;
      noise_o     <= '0;
      missing_o   <= '0;
      stale_o     <= '0;
      uncounted_o <= '0;
    end
  end
endmodule
