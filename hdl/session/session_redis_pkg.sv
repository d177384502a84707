// What passes in and out of session_redis.
package session_redis_pkg;
  import session_engine_pkg::*;

  // A command has the events of so many departures, each of 32 bytes; what is not used is all ones.
  localparam int unsigned EventsOfCommand = 40;
  localparam int unsigned EventsBytes = EventsOfCommand * 32;
  // That many complete commands have room. Rows of the memory, one for each event, are numbered.
  localparam int unsigned MostCommands = 12;
  // The host's bytes: a greeting from here on, and heads up to place 0.
  localparam int GreetingPlace = -512;
  typedef logic [3:0] ahead_t;
  typedef logic [8:0] event_row_t;
  typedef logic [5:0] held_t;

  // Set by the host before the start, and the bytes of a command up to its events.
  typedef struct packed {
    logic [47:0] mac;
    logic [31:0] address;
    logic [15:0] port;          // of the first connection; each has another
    logic [47:0] peer_mac;      // 0: it is asked for (ARP)
    logic [31:0] peer_address;
    logic [15:0] peer_port;
    logic [7:0]  head;          // bytes of a command up to its events; 0: nothing is written to Redis
    logic [7:0]  number_place;  // in it, of the eight digits of the command's number
    logic [7:0]  greeting;      // bytes of the commands that begin a connection; 0: none do
    logic [1:0]  greetings;     // of these commands, each of which must have +OK
    logic [15:0] pause;         // ms from the end of a connection to the next
    logic [15:0] patience;      // ms without a reply, after which a connection ends
    logic [15:0] flush;         // ms after which a command leaves although it has room
    logic [7:0]  micro;         // ticks in a microsecond of TCP's clock
    logic [31:0] secret;        // from which sequence numbers start
  } redis_t;

  // Words of 64 bits, the lowest byte first on the wire:
  //
  //   bytes 0-5 due, 6 outcome, 7 zero   8-9 session, 10-11 status, 12-15 bytes of the body
  //   16-19 sent, 20-23 connected        24-27 first byte, 28-31 done, in ticks after due
  typedef logic [255:0] event_bits_t;
  localparam event_bits_t NoEvent = '1;

  function automatic event_bits_t event_of(input result_t result);
    return {
      result.done, result.first, result.connected, result.sent,
      4'd0, result.size, 6'd0, result.status, 3'd0, result.index,
      8'd0, 4'd0, result.outcome, result.due
    };
  endfunction

  // Each is high for one cycle.
  typedef struct packed {
    logic asked;         // for the Redis's hardware address
    logic found;         // that
    logic denied;        // a connection, since a command of the greeting was refused
    logic dropped;       // an event for which there was no room
    logic stored;        // a command that Redis took
    logic refused;       // one that it did not
    logic opened;        // a connection
    logic ended;         // a connection, whoever ended it, or an attempt to open one
    logic late;          // it ended for want of a reply
    logic busy;          // or since Redis takes no commands for now
    logic wrong;         // or since what came is no reply
    logic resent;        // a segment
  } redis_counted_t;

  // Eight decimal digits.
  function automatic logic [31:0] digits_after(input logic [31:0] digits);
    logic [31:0] sum;
    logic carry;
    carry = 1'b1;
    for (int unsigned i = 0; i < 8; i++) begin
      sum[4*i+:4] = carry ? (digits[4*i+:4] == 4'd9 ? 4'd0 : digits[4*i+:4] + 4'd1) : digits[4*i+:4];
      carry = carry && digits[4*i+:4] == 4'd9;
    end
    return sum;
  endfunction
endpackage
