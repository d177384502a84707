// Collects the results of departures, so that one report covers many. A report for each would be one link frame
// for every frame that leaves.
//
//   departure ──► word: tick of its start                             ┐
//                 word: 63:40 its number since hello, 39:0 lateness   ┘ ──► memory ──► the link
//
// A report is due when 32 departures wait, or the oldest has waited 4 096 cycles. `waiting_o.count` is the
// number that a report made now would hold, at most 32. A departure without room is counted there as left out
// (32 bits), and reported by `left_out_o`.
//
// Rules:
//   1 each departure is reported once, in order, or counted as left out;
//   2 the rules of streams at the output.
module host_departures
  import tare_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned Words = 512  // a power of two
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        enable_i,
    // A new session: discards what waits, and restarts the numbers and the count of those left out at 0.
    input  logic        hello_i,
    input  logic        valid_i,  // at least 4 cycles apart; release_i holds until the next
    input  release_t    release_i,
    output departures_t waiting_o,
    output logic        left_out_o,  // one cycle
    output logic        valid_o,
    input  logic        ready_i,
    output logic [63:0] word_o
);
  localparam int unsigned Width = $clog2(Words);

  logic first_q, second_q, fits_q, odd_q, told_q, ready, empty;
  release_t release_q;
  logic [23:0] number_q, next_q;
  logic [Width-1:0] waiting_q;  // departures
  logic [12:0] age_q;

  logic [39:0] late_q;
  wire told = valid_o && ready_i && odd_q;
  wire enough = waiting_q[Width-1:5] != 0;

  logic due_q;
  logic [31:0] left_out_q;
  assign waiting_o = '{due: due_q, count: enough ? 6'd32 : waiting_q[5:0], left_out: left_out_q};

  stream_fifo #(
      .T(logic [63:0]),
      .Depth(Words),
      .Rests(1'b1)  // the link takes words at the pace of the host's MAC
  ) words (
      .clk_i,
      .rst_ni (rst_ni && !hello_i),
      .valid_i(first_q && fits_q || second_q),
      .ready_o(ready),
      .data_i (second_q ? {number_q, late_q} : release_q.start),
      .valid_o,
      .ready_i,
      .data_o (word_o),
      .empty_o(empty)
  );

  always_ff @(posedge clk_i) begin
    first_q  <= valid_i && enable_i;
    second_q <= first_q && fits_q;
    late_q   <= release_q.late[63:40] != 0 ? '1 : release_q.late[39:0];
    // The queue holds Words plus its output registers. Two words fit if at most half as many departures wait.
    fits_q   <= below(16'(waiting_q), Words / 2 - 2);
    left_out_o <= first_q && !fits_q;
    release_q <= release_i;
    if (valid_i) begin
      number_q  <= next_q;
      next_q    <= next_q + 1'b1;
    end
    left_out_q <= left_out_q + 32'(left_out_o);
    waiting_q  <= waiting_q + Width'(second_q) - Width'(told_q);
    if (valid_o && ready_i) odd_q <= !odd_q;
    told_q <= told;
    age_q <= waiting_q == 0 || told_q ? '0 : age_q[12] ? age_q : age_q + 1'b1;
    // Not while a report is made and not yet subtracted: its last departure would be requested again.
    due_q <= waiting_q != 0 && !told && !told_q && (enough || age_q[12]);
    if (hello_i || !rst_ni) begin
      first_q    <= 1'b0;
      second_q   <= 1'b0;
      next_q     <= '0;
      left_out_q <= '0;
      left_out_o <= 1'b0;
      waiting_q  <= '0;
      odd_q      <= 1'b0;
      told_q     <= 1'b0;
      due_q      <= 1'b0;
      age_q      <= '0;
    end
  end

  // Waiting departures are counted, so the queue always has room for another one.
  logic unused;
  assign unused = ready & empty;
endmodule
