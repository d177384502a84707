// Converts the bytes of GMII into frames with their FCS, and stamps each with the tick of its arrival.
//
// The stamp is taken at the delimiter (0xd5), which every frame has; preambles may be shortened on their way.
// It is the delimiter's tick minus 7, the start of a whole preamble. On a wire of no length that is the
// transmitter's start plus StartDelay (1).
//
// A frame is bad if its FCS is wrong, the PHY saw an error in it, or it has fewer than 64 or more than MaxBytes
// bytes. Bytes without a delimiter before them are no frame; `noise_o` reports them.
//
// A received frame cannot wait, so there is no ready.
//
// Rules (simulated):
//   1 each frame has one first and one last beat, alternately;
//   2 the stamp does not change inside a frame.
module mac_rx_gmii
  import tare_pkg::*;
#(
    parameter int unsigned MaxBytes = 1522
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  ticks_t      now_i,
    input  logic [59:0] time_i,  // ns, as of two cycles ago (see clock_ns)
    input  logic [7:0]  rxd_i,
    input  logic        rx_dv_i,
    input  logic        rx_er_i,
    output logic        valid_o,
    output received_t   received_o,
    output logic        noise_o
);
  logic [7:0] rxd_q;
  logic rx_dv_q, rx_er_q;
  logic preamble_q, delimiter_q;  // the value of rxd_q

  logic inside_q, ignore_q;
  logic [63:0] data_q;
  logic [2:0] byte_q;  // bytes in data_q; 0 = none or eight
  logic some_q;  // data_q has bytes that were not passed on
  logic first_q, wrong_q;
  logic [31:0] crc_q;
  logic [13:0] bytes_q;

  wire delimiter = rx_dv_q && !inside_q && !ignore_q && delimiter_q;
  wire odd = rx_dv_q && !inside_q && !ignore_q && !preamble_q && !delimiter_q;
  wire byte_in = rx_dv_q && inside_q;
  wire frame_end = !rx_dv_q && inside_q;
  // A beat is passed on when the next byte comes, or the frame ends. Only then is it known whether it is the
  // last beat.
  wire full = some_q && byte_q == 0;

  always_ff @(posedge clk_i) begin
    rxd_q   <= rxd_i;
    rx_dv_q <= rx_dv_i;
    rx_er_q <= rx_er_i;
    preamble_q  <= rxd_i == 8'h55 && !rx_er_i;
    delimiter_q <= rxd_i == 8'hd5 && !rx_er_i;

    valid_o <= 1'b0;
    noise_o <= odd || frame_end && !some_q;

    if (delimiter) begin
      inside_q <= 1'b1;
      some_q   <= 1'b0;
      byte_q   <= '0;
      first_q  <= 1'b1;
      wrong_q  <= 1'b0;
      crc_q    <= '1;
      bytes_q  <= '0;
    end
    if (odd) ignore_q <= 1'b1;
    if (!rx_dv_q) ignore_q <= 1'b0;

    if (byte_in) begin
      data_q[8*byte_q+:8] <= rxd_q;
      byte_q  <= byte_q + 1'b1;
      some_q  <= 1'b1;
      crc_q   <= crc_byte(crc_q, rxd_q);
      wrong_q <= wrong_q || rx_er_q;
      // Stops at 12 288, which is too long for any frame.
      if (bytes_q[13:12] != '1) bytes_q <= bytes_q + 1'b1;
    end
    if (byte_in && full || frame_end && some_q) begin
      valid_o                    <= 1'b1;
      received_o.beat.first      <= first_q;
      received_o.beat.last       <= frame_end;
      received_o.beat.final_byte <= byte_q - 1'b1;
      received_o.beat.bad        <= frame_end && (crc_q != CrcResidue || wrong_q || below(16'(bytes_q), 64) || !below(16'(bytes_q), MaxBytes + 1));
      received_o.beat.data       <= data_q;
      first_q                    <= 1'b0;
    end
    if (frame_end) inside_q <= 1'b0;

    if (!rst_ni) begin
      inside_q <= 1'b0;
      // A frame in progress when the reset ends is ignored.
      ignore_q <= 1'b1;
      rx_dv_q  <= 1'b1;
      rxd_q    <= 8'h55;
      preamble_q  <= 1'b1;
      delimiter_q <= 1'b0;
      rx_er_q  <= 1'b0;
      valid_o  <= 1'b0;
      noise_o  <= 1'b0;
    end
  end

  // The stamp of a frame may be taken while the previous frame's last beat is passed on.
  ticks_t stamp_q;
  ticks_t [7:0] ticks_q;  // of the last cycles
  logic [59:0] stamp_time_q;
  // Of the last cycles, as the time's step may vary and old times cannot be computed.
  logic [5:0][59:0] times_q;
  always_ff @(posedge clk_i) begin
    ticks_q <= {ticks_q[6:0], now_i};
    times_q <= {times_q[4:0], time_i};
    if (delimiter) begin
      stamp_q      <= ticks_q[7];
      stamp_time_q <= times_q[5];
    end
    // A beat is passed on a cycle later, and at least eight bytes after a delimiter.
    received_o.stamp <= stamp_q;
    received_o.time_ <= stamp_time_q;
  end
  assign received_o.half = 1'b0;
endmodule
