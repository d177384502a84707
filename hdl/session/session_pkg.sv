// What passes in and out of session_step, apart from the record (tcp_spec_pkg). The meaning of each is that of
// the crate `tcp`, whose names these are.
package session_pkg;
  import tcp_spec_pkg::*;

  typedef enum logic [3:0] {
    EventOpen,
    EventSegment,
    EventTimer,
    EventSend,
    EventAnswered,
    EventFlush,
    EventWindow,
    EventClose,
    EventAbort,
    EventUnreachable,
    EventMtu
  } event_e;

  // Control bits of the TCP header, as they stand in it.
  typedef struct packed {
    logic [2:0] unused;
    logic       ack;
    logic       psh;
    logic       rst;
    logic       syn;
    logic       fin;
  } control_t;

  typedef struct packed {
    logic        valid;
    logic [31:0] value;
    logic [31:0] echo;
  } stamps_t;

  typedef struct packed {
    event_e      kind;
    logic [31:0] seq;       // segment, unreachable, mtu; open: the proposed sequence number
    logic [31:0] ack;
    control_t    control;
    logic [15:0] window;
    logic [15:0] len;       // segment: its payload; send: the request; mtu: the reported MTU less the fixed headers
    logic        on;        // send: close after it; window: open; unreachable: hard
    logic [31:0] patience;  // open, send: in milliseconds, 0 for none
    // Options of a segment.
    logic        has_mss;
    logic [15:0] mss;
    logic        has_shift;
    logic [7:0]  shift;
    logic        sack_permitted;
    stamps_t     stamps;
    logic        has_sack;
    logic [31:0] sack_right;  // the number after the first block
  } event_t;

  // What the sessions to one target share. The retransmission timeout is computed elsewhere: once for each round-trip time,
  // not once for each step.
  typedef struct packed {
    logic        sampled;       // a round-trip time is known
    logic [16:0] rto;           // then: the timeout in milliseconds, before any doubling
    logic [31:0] stamp_offset;
    logic [31:0] quarantine;    // in milliseconds
    logic [15:0] mss;
    logic [15:0] send_mss;
    logic [15:0] default_mss;
    logic [15:0] burst;
    logic [3:0]  shift;
    logic        stamps;
    logic        sack;
    logic        quick;         // text of the first response is acknowledged at the end of its batch
  } path_t;

  // A point in time: counters that wrap around.
  typedef struct packed {
    logic [31:0] micros;
    logic [31:0] millis;
    logic        part;      // this is not the start of a millisecond
  } time_t;

  typedef struct packed {
    logic        valid;
    logic [31:0] seq;
    logic [31:0] ack;
    control_t    control;
    logic [15:0] window;
    // Options.
    logic        has_mss;
    logic [15:0] mss;
    logic        has_shift;
    logic [3:0]  shift;
    logic        sack_permitted;
    stamps_t     stamps;
    logic        has_sack;
    logic [31:0] sack_left;
    logic [31:0] sack_right;
    // The payload: `len` bytes that start `before_end` bytes before the end of the request.
    logic [15:0] before_end;
    logic [15:0] len;
  } segment_t;

  typedef enum logic [2:0] {
    CauseNone,
    CauseRefused,
    CauseReset,
    CauseTimedOut,
    CauseUnreachable,
    CauseAborted,
    CauseFinished
  } cause_e;

  typedef enum logic [3:0] {
    DroppedNone,
    DroppedStray,
    DroppedHandshake,
    DroppedPaws,
    DroppedUnstamped,
    DroppedOutside,
    DroppedReset,
    DroppedSyn,
    DroppedNoAck,
    DroppedUnsentAck,
    DroppedOldAck,
    DroppedHole,
    DroppedEarlyFin,
    DroppedLate,
    DroppedProbe,
    DroppedIcmp
  } dropped_e;

  typedef enum logic [2:0] {
    RefusedNone,
    RefusedInUse,
    RefusedNotOpen,
    RefusedBusy,
    RefusedEmpty,
    RefusedNothingAsked
  } refused_e;

  // Bytes of the segment that arrived; none if `len` is 0.
  typedef struct packed {
    logic [15:0] skip;
    logic [15:0] len;
  } range_t;

  // All that a step may say. No notice but data and early can come twice in a step.
  typedef struct packed {
    logic        connected;
    logic [15:0] mss;         // with connected or mss_lowered
    logic        rtt;
    logic [31:0] micros;      // with rtt
    logic        acked;
    range_t      early;       // ahead of a hole, before what was kept there
    range_t      early_after; // and behind it
    range_t      data;
    logic        filled;
    logic [29:0] filled_len;
    range_t      data_after;  // behind what was filled
    logic        ended;
    logic        done;
    cause_e      failed;
    logic        cut_off;
    cause_e      closed;
    logic        quarantine;  // for as long as the path says
    dropped_e    dropped;
    refused_e    refused;
    logic        retransmitted;
    logic        slow;
    logic        blocked;
    logic        unblocked;
    logic        probed;
    logic        challenged;
    logic        challenge_limited;
    logic        soft_error;
    logic        mss_lowered;
  } notices_t;

  // The stages of a step. The two highest bits say which part has them.
  typedef enum logic [4:0] {
    Idle    = 5'd0,
    Measure = 5'd1,
    Compare = 5'd2,
    Accept  = 5'd3,
    Decide  = 5'd4,
    More    = 5'd6,
    Done    = 5'd7,
    Acked   = 5'd8,
    Settle  = 5'd9,
    Window  = 5'd10,
    Place   = 5'd16,
    Take    = 5'd17,
    Fin     = 5'd18,
    Room    = 5'd24,
    Allow   = 5'd25,
    Probe   = 5'd26,
    Output  = 5'd27,
    Shape   = 5'd28,
    Emit    = 5'd29,
    Late    = 5'd30,
    Timers  = 5'd31
  } stage_e;

  // What leaves in Emit.
  typedef enum logic [3:0] {
    SendNothing,
    SendSyn,
    SendAck,
    SendReset,     // of a connection
    SendRefusal,   // to a peer that speaks of none
    SendAgain,     // what is in flight, as much as fits a segment
    SendFirst,     // `len_q` bytes from snd_una
    SendNext,      // those behind what is in flight
    SendProbe
  } send_e;

  typedef enum logic [1:0] {
    KeepDeadline,
    NoDeadline,
    Retransmission,  // from now, doubled
    Waiting          // TIME_WAIT
  } deadline_e;

  // What a stage leaves to later ones.
  typedef struct packed {
    send_e       send;
    logic [15:0] len;           // with SendFirst and SendNext
    logic [15:0] skip;          // with SendNext: what is in flight before it
    deadline_e   deadline;
    logic        limit;         // the limit is set anew: `patience`, 0 for none
    logic [31:0] patience;
    logic        lost;          // what was sent again is partly acknowledged: the rest is lost, too
    cause_e      shut;          // the connection ends
    logic        quarantine;
    logic        flush;         // this step began with flush
    logic        wait_out;      // SendAgain was decided before the timestamp was taken: the old one is echoed
    logic [31:0] echo;
  } plan_t;

  // What goes from stage to stage.
  typedef struct packed {
    stage_e   stage;
    session_t r;
    plan_t    p;
    segment_t out;
    notices_t n;
  } work_t;

  // What a stage asks of the owed acknowledgment, and of the patience for the peer's part of closing.
  typedef struct packed {
    logic now;        // owed at the end of the batch
    logic later;      // owed soon
    logic challenge;  // owed now, but rarely (RFC 5961 section 7)
    logic linger;
  } owes_t;

  // A distance between sequence numbers, and sums of two.
  typedef logic signed [33:0] distance_t;

  function automatic distance_t ahead(input logic [31:0] a, input logic [31:0] b);
    logic signed [31:0] wrapped;
    wrapped = signed'(a - b);
    return distance_t'(wrapped);
  endfunction

  function automatic distance_t counted(input logic [31:0] octets);
    return distance_t'({2'b00, octets});
  endfunction

  function automatic logic precedes(input logic [31:0] a, input logic [31:0] b);
    return ahead(a, b) < 0;
  endfunction

  // At a distance of 2^31 each precedes the other, and neither succeeds.
  function automatic logic succeeds(input logic [31:0] a, input logic [31:0] b);
    return ahead(a, b) > 0;
  endfunction

  // a + b, at most 65 535.
  function automatic logic [15:0] saturated(input logic [15:0] a, input logic [31:0] b);
    logic [32:0] sum;
    sum = 33'(a) + 33'(b);
    return |sum[32:16] ? 16'hffff : sum[15:0];
  endfunction

  function automatic logic [15:0] least(input logic [15:0] a, input logic [15:0] b);
    return a < b ? a : b;
  endfunction

  function automatic logic [15:0] less(input logic [15:0] a, input logic [15:0] b);
    return a < b ? '0 : a - b;
  endfunction

  // The least n with `window` <= 2^n; `below` is window - 1, or 0.
  function automatic logic [4:0] log_of(input logic [29:0] below);
    logic [4:0] log = '0;
    for (int unsigned bit_ = 0; bit_ < 30; bit_++) if (below[bit_]) log = 5'(bit_ + 1);
    return log;
  endfunction

  // The window field: the receive window is this, shifted. Nothing is stored here.
  localparam logic [15:0] FullWindow = 16'hffff;
  localparam logic [15:0] StampBytes = StampRoom[15:0];
  localparam logic [15:0] SackBytes = SackRoom[15:0];

  // What is known of the record and the event before anything changes. Numbers of the segment are compared modulo
  // 2^32; a name says which with which.
  typedef struct packed {
    logic        acceptable;       // the first or the last octet is in the window (RFC 9293 section 3.10.7.4)
    logic        has_length;       // it has text, SYN or FIN
    logic        acked_nxt;        // ack = snd_nxt
    logic        after_nxt;        // ack > snd_nxt
    logic        before_oldest;    // ack is older than any window
    logic        after_una;        // ack > snd_una
    logic        before_una;
    logic        at_una;
    logic        stamp_old;        // its timestamp is older than ts_recent
    logic        quoted;           // an ICMP message quotes what may be on its way (RFC 5927 section 4.1)
    logic        same_window;      // it announces the window that is known
    logic        sack_behind;      // it names text behind `ack`
    logic        late_ack;         // the owed acknowledgment is late
    logic        limit_come;
    logic        deadline_come;
    logic        fin_again;        // it ends where rcv_nxt is
    logic        next_in_order;    // seq = rcv_nxt
    logic        after_last_ack;   // seq is after the last acknowledgment sent
    logic        before_wl1;       // seq < snd_wl1
    logic        isn_low;          // the proposed number is not above the last life's
    logic        challenge_soon;   // the last challenge ACK is too recent
    logic        seq_ahead;        // seq is after rcv_nxt
    distance_t   octets;           // that are acknowledged, without a FIN
    logic [15:0] text;             // those of them that are in flight: in Acked
    logic [16:0] in_flight_sack;   // in flight, with a SACK option where one goes
    logic [4:0]  log;              // log_of(announced)
    logic [31:0] announced;        // the peer's window
    logic [31:0] seg_end;
    logic [31:0] now_up;           // milliseconds, rounded up: a deadline does not come too early
    logic [31:0] now_soon;
    logic [31:0] now_delayed;
    // These follow the record, and are those of a cycle ago.
    logic [31:0] snd_nxt;
    logic [31:0] edge_;            // of the peer's window
    logic        beyond;           // snd_nxt is after that
    logic [15:0] room;             // for text in a segment
    logic [15:0] allowed;          // by `room`, of a cycle ago: of what is left
    logic [15:0] again;            // of what is in flight
    logic [15:0] probe;            // of `allowed`, of a cycle ago, what the window lets pass
    logic        half;             // the window is half as large as it ever was
    logic        burst;            // more than one segment may be in flight
    logic [16:0] rto;              // doubled, after two cycles
    logic [31:0] patience;         // of the plan, at most PatienceMost
    logic [31:0] stamp;            // the value of our timestamp
    logic [31:0] sack_right;
  } compared_t;
endpackage
