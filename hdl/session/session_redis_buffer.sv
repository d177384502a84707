// Events on their way to Redis, in commands of 40. An event stays until Redis has replied to its command, so
// that it can be sent again.
//
//   results ──► open command ──► complete commands, the oldest first ──► settled
//
// An event takes a row of the memory, in the cycle in which its result comes. If all commands are complete,
// it is dropped: nobody waits for this part. With `flush_i`, the open command is filled up with rows that are
// no events; results that come meanwhile still go into it.
//
// Rules (formal/session_redis_buffer_rules.sv):
//   1 an event goes into exactly one command, in order, or is reported as dropped;
//   2 a row does not change while its command is complete and not settled;
//   3 what is told of a settled command is the number of its events.
module session_redis_buffer
  import session_engine_pkg::*;
  import session_redis_pkg::*;
#(
    parameter int unsigned Events   = EventsOfCommand,
    parameter int unsigned Commands = MostCommands,
    parameter int unsigned Rows     = 512               // a power of two, at least Events * Commands
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        result_valid_i,
    input  result_t     result_i,
    input  logic        flush_i,
    output logic        open_o,        // the open command has an event
    output ahead_t      complete_o,    // commands that are complete and not settled
    input  logic        settle_i,      // the oldest of them is over
    output held_t     events_o,      // of the oldest
    output logic        dropped_o,
    // Read in the next cycle.
    input  event_row_t  read_i,
    output event_bits_t read_o
);
  localparam int unsigned Width = $clog2(Rows);
  event_bits_t memory[Rows];
  held_t held[16];  // events of a command
  event_row_t row_q;
  held_t place_q, count_q;  // in the open command: rows, and events
  ahead_t complete_q, open_q, oldest_q;
  logic filling_q;

  wire room = complete_q != ahead_t'(Commands);
  wire takes = result_valid_i && room;
  wire fills = filling_q && !result_valid_i && room;
  wire writes = takes || fills;
  wire closes = writes && place_q == held_t'(Events - 1);

  assign open_o     = count_q != '0;
  assign complete_o = complete_q;
  assign dropped_o  = result_valid_i && !room && rst_ni;
  assign events_o   = held[oldest_q];

  always_ff @(posedge clk_i) begin
    if (writes) memory[row_q[Width-1:0]] <= takes ? event_of(result_i) : NoEvent;
    read_o <= memory[read_i[Width-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (closes) held[open_q] <= count_q + held_t'(takes);
    if (writes) begin
      row_q   <= row_q + 9'd1;
      place_q <= closes ? '0 : place_q + 6'd1;
      count_q <= closes ? '0 : count_q + held_t'(takes);
    end
    if (closes) open_q <= open_q + 4'd1;
    if (settle_i) oldest_q <= oldest_q + 4'd1;
    complete_q <= complete_q + ahead_t'(closes) - ahead_t'(settle_i);
    filling_q  <= !closes && (filling_q || flush_i && open_o);
    if (!rst_ni) begin
      row_q      <= '0;
      place_q    <= '0;
      count_q    <= '0;
      open_q     <= '0;
      oldest_q   <= '0;
      complete_q <= '0;
      filling_q  <= 1'b0;
    end
  end
endmodule
