// The receive side: counts what arrives, what is wrong with it and what is missing, and collects histograms of
// gaps and latencies. It only listens: no path leads from here to the transmit side (proved by `make formal`,
// see immunity).
//
//   frames ──► listen ──► counters
//                 ├─────► sequence_check ──► missing, stale, by stream
//                 ├─────► gap to the previous frame ──► histogram of |gap - reference|, in ticks
//                 └─────► time - sent ────────────────► histogram of latencies, in ns; negative: last bin
//
// Frames that are bad or do not pass the filter are counted and otherwise ignored.
module receive
  import tare_pkg::*;
  import receive_pkg::*;
  import registers_pkg::*;
#(
    // Number of `listen` units, which take frames in turn: one needs six cycles after a frame's last beat.
    parameter int unsigned Ears = 1
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  listen_t     config_i,
    input  logic        clear_i,
    input  logic        valid_i,
    input  received_t   received_i,
    input  logic        noise_i,
    output logic        arrival_valid_o,
    output arrival_t    arrival_o,
    output events_t     events_o,  // of the receive side; the others are 0
    // One figure, for as long as `ask` is high.
    input  figure_t     figure_i,
    output logic        figure_valid_o,
    output logic [31:0] figure_o
);
  logic valid;
  arrival_t arrival;

  assign arrival_valid_o = valid;
  assign arrival_o = arrival;

  localparam int unsigned TurnWidth = Ears > 1 ? $clog2(Ears) : 1;
  logic [TurnWidth-1:0] turn_q;
  wire [TurnWidth-1:0] turn = Ears > 1 ? turn_q : '0;  // a single unit takes all frames
  logic [Ears-1:0] ear_valid;
  arrival_t [Ears-1:0] ear_arrival;

  always_ff @(posedge clk_i) begin
    if (valid_i && received_i.beat.last) turn_q <= turn_q == TurnWidth'(Ears - 1) ? '0 : turn_q + 1'b1;
    if (!rst_ni) turn_q <= '0;
  end

  for (genvar i = 0; i < Ears; i++) begin : gen_ears
    listen ear (
        .clk_i,
        .rst_ni,
        .config_i,
        .valid_i  (valid_i && turn == TurnWidth'(i)),
        .received_i,
        .valid_o  (ear_valid[i]),
        .arrival_o(ear_arrival[i])
    );
  end

  // All have the same delay, so no two arrivals are in the same cycle.
  always_comb begin
    valid   = ear_valid != 0;
    arrival = ear_arrival[0];
    for (int unsigned i = 1; i < Ears; i++) if (ear_valid[i]) arrival = ear_arrival[i];
  end

  // Gaps and latencies. The latency comes one cycle after the frame and the gap's error five, as the histogram
  // accepts a value every four cycles. Values are limited to 2^32 - 1.
  logic before_q;
  logic [5:1] gap_q;
  logic [1:1] latency_q;
  ticks_t before_stamp_q, gap_value_q;
  logic [59:0] latency_value_q;
  logic [33:0] gap_error_q;
  logic [31:0] gap_size_q;
  logic long_q;
  wire pass = valid && arrival.pass;
  wire [32:0] gap_size = gap_error_q[33] ? 33'(-gap_error_q) : gap_error_q[32:0];

  always_ff @(posedge clk_i) begin
    gap_q     <= {gap_q[4:1], pass && before_q};
    latency_q <= pass && arrival.has_signature;
    if (pass) begin
      before_q       <= 1'b1;
      before_stamp_q <= arrival.stamp;
    end
    gap_value_q <= arrival.stamp - before_stamp_q;
    gap_error_q <= {1'b0, gap_value_q[32:0]} - {2'b0, config_i.gap_reference};
    long_q      <= gap_value_q[63:33] != 0;
    if (gap_q[2]) gap_size_q <= long_q || gap_size[32] ? '1 : gap_size[31:0];
    latency_value_q <= arrival.time_ - arrival.sent;
    if (clear_i || !rst_ni) before_q <= 1'b0;
    if (!rst_ni) begin
      gap_q     <= '0;
      latency_q <= '0;
    end
  end

  logic value_missed, value_read_valid;
  logic [31:0] value_read;

  histogram values (
      .clk_i,
      .rst_ni,
      .valid_i     (latency_q[1] || gap_q[5]),
      .set_i       (latency_q[1]),
      .value_i     (!latency_q[1] ? gap_size_q : latency_value_q[59:32] != 0 ? '1 : latency_value_q[31:0]),
      .missed_o    (value_missed),
      .clear_i,
      .read_i      (figure_i.ask && !figure_i.what[1]),
      .read_set_i  (figure_i.what[0]),
      .read_bin_i  (figure_i.at),
      .read_valid_o(value_read_valid),
      .read_o      (value_read)
  );

  logic checked, stale;
  logic [4:0] checked_stream;
  logic [39:0] missing;
  logic [5:0] sweep;

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
      .missing_o (missing),
      .sweep_o   (sweep)
  );

  // Missing frames by stream, 32 bits each, cleared by a sweep.
  logic [31:0] missing_by[32];
  logic stream_read_q;
  logic checked_q, sweep1_q;
  logic [4:0] stream_q;  // the place to write
  logic [31:0] by_q, frames_q;
  wire sweeping = !sweep[5];
  always_ff @(posedge clk_i) begin
    // Read, add and write take three cycles; frames are further apart.
    checked_q  <= checked;
    by_q       <= missing_by[checked ? checked_stream : figure_i.at[4:0]];
    sweep1_q   <= sweeping;
    stream_q   <= sweeping ? sweep[4:0] : checked_stream;
    frames_q   <= missing[31:0];
    if (sweeping) {by_q, frames_q} <= '0;
    if (sweep1_q || checked_q) missing_by[stream_q] <= by_q + frames_q;
    // The host reads when no frame does. It repeats the request until it has an answer.
    stream_read_q <= figure_i.ask && figure_i.what == 2'd2 && !checked;
  end

  assign figure_valid_o = value_read_valid || stream_read_q;
  assign figure_o = value_read_valid ? value_read : by_q;

  always_ff @(posedge clk_i) begin
    events_o                <= '0;
    events_o.good           <= valid && !arrival.bad;
    events_o.bad            <= valid && arrival.bad;
    events_o.passed         <= pass;
    events_o.bytes          <= arrival.bytes;
    events_o.noise          <= noise_i;
    events_o.missing        <= checked;
    events_o.missing_frames <= missing;
    events_o.stale          <= checked && stale;
    events_o.uncounted      <= value_missed;
    if (!rst_ni) events_o <= '0;
  end
endmodule
