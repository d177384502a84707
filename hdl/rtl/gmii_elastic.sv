// From the clock of the PHY to the core's: both are 125 MHz, and neither knows of the other. Bytes of a frame are kept back until some are there; then
// they leave one in each cycle, so that a frame has no hole although the PHY's clock is slower, and none is lost although it is faster.
//
//   PHY ──► memory of 16 ──► core
//        its clock        core's clock
//
// A frame of 1 530 bytes slips by 0.3 bytes at most if the clocks differ by 200 in a million (IEEE 802.3 allows 100 for each); it may slip by Fill. A frame
// comes out Fill + 3 to Fill + 5 cycles after it went in, and its stamp is by so much later than the frame.
//
// Rules: 1 a frame that slips less comes out whole and without a hole; 2 one that slips more has an error; 3 between frames at least 8 cycles are silent.
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
    logic       last;  // nothing: the frame has ended
    logic       error;
    logic [7:0] data;
  } item_t;

  item_t memory[16];
  // Places, modulo 32, as Gray code where they cross: one bit changes at a time.
  logic [4:0] write_q, write_gray_q, read_q;
  logic inside_q;
  logic [2:0][4:0] crossing_q;

  function automatic logic [4:0] from_gray(logic [4:0] gray);
    logic [4:0] value;
    value[4] = gray[4];
    for (int i = 3; i >= 0; i--) value[i] = value[i+1] ^ gray[i];
    return value;
  endfunction

  // The PHY's clock. Each frame is followed by one item that says so. It stands still until the PHY has one, so nothing here needs a reset: the places may
  // begin anywhere, as the reader begins where the writer is.
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
  logic [2:0] kept_q;  // for how many cycles something has been there
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
      // Nothing there: the clocks are further apart than they may be.
      rx_er_o   <= !some || item.error;
    end else begin
      // By time, not by how many are there: a frame may have one byte.
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
