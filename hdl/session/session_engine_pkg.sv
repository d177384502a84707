// What passes between the parts of session_engine.
package session_engine_pkg;
  import tcp_spec_pkg::*;
  import session_pkg::*;

  // Sessions are numbered. Session n has the port of the first one plus n, so a received segment finds its session
  // by a subtraction.
  localparam int unsigned MostSessions = 8192;
  typedef logic [12:0] index_t;
  // Cycles since the start: 26 days.
  typedef logic [47:0] tick_t;
  // Intervals of a load are numbered.
  typedef logic [27:0] row_t;

  // Requests are made from templates: bytes in a memory of 4 KiB. One field of eight digits may be filled in.
  typedef logic [5:0] template_t;
  typedef logic [11:0] place_t;
  typedef enum logic [1:0] {
    FieldNone,
    FieldSequence,  // the number of the departure, decimal
    FieldRandom     // hexadecimal
  } field_e;
  typedef struct packed {
    place_t      start;
    logic [10:0] len;
    logic [15:0] sum;    // ones' complement sum of all bytes, those of the field as zeros
    field_e      field;
    logic [10:0] place;  // of the field, from the start of the request
  } template_entry_t;

  // What a request was made of, so that it can be made again.
  typedef struct packed {
    logic        queued;    // the session is in the queue of those that are free
    template_t   template_;
    logic [31:0] digits;
  } request_t;

  // Received text waits in a ring until the response is read.
  typedef logic [12:0] ring_t;

  // Set by the host before the start.
  typedef struct packed {
    // Ours, and the target's. Byte 0 of an address is the highest.
    logic [47:0] mac;
    logic [31:0] address;
    logic [15:0] port;        // of session 0
    logic [47:0] peer_mac;
    logic [31:0] peer_address;
    logic [15:0] peer_port;
    logic [13:0] sessions;    // in use
    logic [6:0]  templates;   // in use
    // The load.
    logic        each;        // a connection for each request
    logic        fin;         // with `each`: we close, not the server
    logic        open_loop;   // by the schedule; otherwise a session's next request is due as soon as it is free
    logic [31:0] departures;  // in all
    tick_t       first;       // the tick of the first departure
    logic [5:0]  pieces;      // of the rate, at most 32 (session_pieces); 0: the host lists the due times
    logic [31:0] open_gap;    // ticks between openings of connections, without `each`
    logic [31:0] patience;    // for a response, in ms of TCP's clock
    logic [31:0] open_patience;
    logic [7:0]  micro;       // ticks in a microsecond of TCP's clock
    logic [31:0] secret;      // from which sequence numbers start
    // What a response must be.
    logic [9:0]  status_low;
    logic [9:0]  status_high;
    logic [27:0] length_low;
    logic [27:0] length_high;
    logic        sums;        // bodies are summed, and compared where the sum is known
    logic        same;        // with `sums`: a template's first response says it
    tick_t       row_first;   // the tick in which row 0 starts
    logic [31:0] row_ticks;   // of each row, at least 64; 0: there are none
    path_t       path;        // except `sampled` and `rto`
  } load_t;

  // A received segment.
  typedef struct packed {
    index_t index;
    event_t event_;
    tick_t  stamp;
    logic [11:0] bytes;  // of the frame, with FCS
    ring_t  start;  // of its text
    ring_t  after;  // the place behind it
  } heard_segment_t;

  // A question that is answered without a session: ARP, or an echo request (ping).
  typedef struct packed {
    logic        echo;     // otherwise ARP
    logic [47:0] mac;
    logic [31:0] address;
    logic [8:0]  len;      // echo: of the ICMP message
    logic [15:0] echo_sum; // echo: its checksum in the question
  } question_t;

  // A segment to send.
  typedef struct packed {
    logic            departure;
    logic            opening;    // a SYN that is no departure
    logic            part;       // of a request
    index_t          index;
    template_entry_t entry;
    logic [31:0]     digits;
    segment_t        segment;
  } sending_t;

  // What the reader of responses is told, in the order in which it happened.
  typedef struct packed {
    logic        missed;     // a departure found no free session
    logic        departed;   // `stamp` is the due time
    logic        sent;       // `stamp` is the tick of the first byte
    logic        connected;
    logic        text;       // the segment brought text, which lies in the ring
    logic        ended;
    cause_e      closed;
    index_t      index;
    template_t   template_;  // with `departed`
    logic [7:0]  incarnation;
    tick_t       stamp;
    logic [11:0] bytes;      // with `text`: of the frame
    ring_t       start;
    ring_t       after;
    range_t      data;
    logic [29:0] filled_len;
    range_t      data_after;
  } told_t;

  // What the reader of responses asks of the engine.
  typedef struct packed {
    logic       give_up;        // otherwise the response is complete
    logic       keep;         // the connection can be used again
    index_t     index;
    logic [7:0] incarnation;
  } ask_t;

  typedef enum logic [3:0] {
    OutcomeDone,
    OutcomeMissed,
    OutcomeStatus,       // the response is complete, but its status is not expected
    OutcomeLength,       // or its length is not
    OutcomeMalformed,
    OutcomeHole,         // a header came out of order, and nothing keeps it
    OutcomeCut,          // the connection ended inside the response
    OutcomeTimedOut,
    OutcomeReset,
    OutcomeRefused,
    OutcomeUnreachable,
    OutcomeAborted,
    OutcomeSum           // the response is complete, but the sum of its body is another
  } outcome_e;

  // Each departure has exactly one. Times are ticks after `due`, and 0 for what did not happen.
  typedef struct packed {
    outcome_e    outcome;
    index_t      index;
    logic [9:0]  status;
    tick_t       due;
    logic [31:0] sent;
    logic [31:0] connected;
    logic [31:0] first;
    logic [31:0] done;
    logic [27:0] size;
    logic [31:0] crc;        // CRC-32 of the body, with `sums`, if the response is complete
  } result_t;

  // Times that are counted, each in a histogram.
  typedef enum logic [1:0] {
    Gross,      // from due to the last byte of the response
    Net,        // from the first byte of the request on
    Connect,    // from the SYN to its answer
    FirstByte   // of the response, from the first byte of the request on, or from when its connection was there
  } figure_e;

  // A connection was made.
  typedef struct packed {
    index_t      index;
    logic [31:0] ticks;
  } connected_t;

  typedef struct packed {
    logic late;          // a departure whose row was closed when its outcome was found
    logic uncounted;     // a time that came too soon behind another
    logic foreign;       // a frame that is not for us, or of another protocol
    logic stray;         // a segment for no session
    logic bad;           // FCS, checksum, or lengths that contradict each other
    logic full;          // a segment for which there was no room
    logic arp;           // answered
    logic echo;
    logic result_lost;
    logic excess;        // text that no request asked for
    logic retransmitted;
    logic opened;
    logic delayed;       // a segment waited for so long that it delayed a departure
  } counted_t;
endpackage
