// Rules of session_redis_buffer. The solver chooses a row of a command; what has to be there is remembered
// here, by counting all rows from the first: of results that were not dropped, and of those that fill up.
//
//   1 a result that is not reported as dropped is the next row, and none is dropped while there is room;
//   2 the row of a command is what it was made of, from when the command is complete until it is settled;
//   3 the number of events that is told of the oldest command is that of its results;
//   4 a command is complete with its last row.
//
// What is assumed is that no command is settled before it is complete. Results differ in a few bits.
module session_redis_buffer_rules
  import session_engine_pkg::*;
  import session_redis_pkg::*;
#(
    parameter int unsigned Events   = 2,
    parameter int unsigned Commands = 2,
    parameter int unsigned Rows     = 4
) (
    input logic    clk_i,
    input logic    rst_ni,
    input logic    result_valid_i,
    input result_t result_i,
    input logic    flush_i,
    input logic    settle_i
);
  logic open, dropped;
  ahead_t complete;
  held_t events;
  event_bits_t read;
  logic [3:0] watched;  // a row, counted from the first
  logic [2:0] command;  // its command
  session_redis_buffer #(
      .Events  (Events),
      .Commands(Commands),
      .Rows    (Rows)
  ) one (
      .clk_i,
      .rst_ni,
      .result_valid_i,
      .result_i,
      .flush_i,
      .open_o    (open),
      .complete_o(complete),
      .settle_i,
      .events_o  (events),
      .dropped_o (dropped),
      .read_i    (event_row_t'(watched)),
      .read_o    (read)
  );
  assign command = watched[3:1];

  logic begun_q = 1'b0;
  logic [3:0] rows_q;     // so far
  logic [2:0] settled_q;
  event_bits_t expected_q;
  held_t results_q;       // of the watched row's command
  logic there_q;          // the command was complete, and not settled, when the row was read
  wire taken = result_valid_i && !dropped;
  wire filled = !result_valid_i && one.fills;
  wire is_complete = rows_q[3:1] > command && settled_q <= command;
  always_ff @(posedge clk_i) begin
    watched <= watched;
    begun_q <= 1'b1;
    rows_q  <= rows_q + 4'(taken || filled);
    if (settle_i) settled_q <= settled_q + 3'd1;
    if ((taken || filled) && rows_q == watched) expected_q <= taken ? event_of(result_i) : NoEvent;
    if (taken && rows_q[3:1] == command) results_q <= results_q + 6'd1;
    there_q <= is_complete;
  end

  always_comb begin
    assume (rst_ni);
    assume (!settle_i || complete != '0);
    assume (result_i == {result_i.outcome, 13'd0, 10'd0, 44'd0, result_i.due[3:0], 188'd0});
    // The count of rows does not wrap.
    assume (rows_q != 4'd15);
    if (!begun_q) begin
      assume (one.row_q == '0 && one.place_q == '0 && one.count_q == '0 && !one.filling_q);
      assume (one.complete_q == '0 && one.open_q == '0 && one.oldest_q == '0);
      assume (rows_q == '0 && settled_q == '0 && results_q == '0 && !there_q);
    end
    if (begun_q) begin
      rule_1 : assert (one.row_q[2:0] == rows_q[2:0] && (!dropped || complete == ahead_t'(Commands)));
      if (there_q && settled_q <= command) rule_2 : assert (read == expected_q);
      if (is_complete && settled_q == command) rule_3 : assert (events == results_q);
      rule_4 : assert (complete == ahead_t'(rows_q[3:1]) - ahead_t'(settled_q));
    end
    cover_full : cover (begun_q && dropped && settled_q == 3'd1);
    cover_filled :
    cover (begun_q && there_q && settled_q <= command && expected_q == NoEvent && command == 3'd3);
  end
endmodule
