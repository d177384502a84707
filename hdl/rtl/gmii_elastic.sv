// Moves bytes from the PHY's clock to the core's. Both are 125 MHz and independent. The bytes of a frame are
// held back until a few are stored; then one leaves in each cycle. A frame therefore has no hole if the PHY's
// clock is slower, and loses no byte if it is faster.
//
//   PHY ──► memory of 16 ──► core
//        its clock        core's clock
//
// If the clocks differ by 200 ppm (IEEE 802.3 allows 100 for each), a frame of 1 530 bytes slips by at most 0.3
// bytes; it may slip by Fill. A frame comes out Fill + 3 to Fill + 5 cycles after it went in, and its stamp is
// late by that.
//
// Rules:
//   1 a frame that slips less comes out whole and without a hole;
//   2 one that slips more has an error;
//   3 at least 8 cycles between frames are silent.
module gmii_elastic #(
    parameter int unsigned Fill = 4  // at most 8
) (
    input  logic       rx_clk_i,
    input  logic [7:0] rxd_i,
    input  logic       rx_dv_i,
    input  logic       rx_er_i,
    input  logic       clk_i,
    input  logic       rst_ni,
    output logic [7:0] rxd_o,
    output logic       rx_dv_o,
    output logic       rx_er_o
);
  typedef struct packed {
    logic       last;  // no byte: the frame has ended
    logic       error;
    logic [7:0] data;
  } item_t;

  item_t memory[16];
  // Positions, modulo 32. They cross as Gray code, so only one bit changes at a time.
  logic [4:0] write_q, write_gray_q, read_q;
  logic inside_q;
  logic [2:0][4:0] crossing_q;

  function automatic logic [4:0] from_gray(logic [4:0] gray);
    logic [4:0] value;
    value[4] = gray[4];
    for (int i = 3; i >= 0; i--) value[i] = value[i+1] ^ gray[i];
    return value;
  endfunction

  // The PHY's clock. Each frame is followed by one item that marks its end. The clock stands still until the
  // PHY provides it. No reset is needed: positions may start anywhere, as the reader starts where the writer
  // is.
  wire put = rx_dv_i || inside_q;
  wire [4:0] write_d = write_q + 5'(put);
  always_ff @(posedge rx_clk_i) begin
    inside_q     <= rx_dv_i;
    write_q      <= write_d;
    write_gray_q <= write_d ^ (write_d >> 1);
    if (put) memory[write_q[3:0]] <= '{last: !rx_dv_i, error: rx_er_i, data: rxd_i};
  end

  // The core's clock.
  logic [4:0] there_q;
  logic running_q;
  logic [2:0] kept_q;  // cycles since the memory became non-empty
  item_t item;
  assign item = memory[read_q[3:0]];
  wire some = there_q != read_q;

  always_ff @(posedge clk_i) begin
    crossing_q <= {crossing_q[1:0], write_gray_q};
    there_q    <= from_gray(crossing_q[2]);
    rx_dv_o    <= 1'b0;
    rx_er_o    <= 1'b0;
    rxd_o      <= item.data;
    if (running_q) begin
      if (some) read_q <= read_q + 1'b1;
      running_q <= !(some && item.last);
      rx_dv_o   <= !(some && item.last);
      // Empty inside a frame: the clocks differ by more than they may.
      rx_er_o   <= !some || item.error;
    end else begin
      // Decided by time and not by the number of stored bytes, as a frame may have a single byte.
      running_q <= some && kept_q == 3'(Fill - 1);
    end
    kept_q <= some && !running_q ? kept_q + 1'b1 : '0;
    if (!rst_ni) begin
      kept_q    <= '0;
      running_q <= 1'b0;
      read_q    <= there_q;
      rx_dv_o   <= 1'b0;
      rx_er_o   <= 1'b0;
    end
  end
endmodule
