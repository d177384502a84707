// Made from spec/tcp.toml by spec/tcp.py; changes belong there.
package tcp_spec_pkg;

  typedef enum logic [3:0] {
    Closed = 4'd0,
    SynSent = 4'd1,
    Established = 4'd2,
    FinWait1 = 4'd3,
    FinWait2 = 4'd4,
    Closing = 4'd5,
    LastAck = 4'd6,
    TimeWait = 4'd7
  } state_e;

  // The first is the highest bit.
  typedef struct packed {
    logic quick;
    logic more;
    logic shut;
    logic untimed;
    logic challenge;
    logic scaled;
    logic sack;
    logic stamped;
    logic ooo_fin;
    logic ack_now;
    logic ack_due;
    logic syn_repeated;
    logic retransmitted;
    logic fin_out;
    logic fin_due;
    logic asked;
    logic limited;
    logic persist;
    logic timed;
    logic lived;
  } flags_t;

  typedef struct packed {
    logic [31:0] snd_una;
    logic [29:0] snd_wnd;
    logic [31:0] snd_wl1;
    logic [31:0] rcv_nxt;
    logic [31:0] ooo_start;
    logic [29:0] ooo_len;
    logic [31:0] ts_recent;
    logic [31:0] sent;
    logic [31:0] deadline;
    logic [31:0] limit;
    logic [31:0] ack_by;
    logic [31:0] challenged;
    logic [15:0] left;
    logic [15:0] in_flight;
    logic [15:0] mss;
    logic [15:0] unacked;
    flags_t flags;
    state_e state;
    logic [7:0] incarnation;
    logic [7:0] retries;
    logic [3:0] backoff;
    logic [3:0] shift;
    logic [4:0] wnd_log;
  } session_t;

  localparam logic [31:0] RtoFirstMs = 32'd1000;
  localparam logic [31:0] RtoAfterSynMs = 32'd3000;
  localparam logic [31:0] RtoLeastMs = 32'd200;
  localparam logic [31:0] RtoMostMs = 32'd120000;
  localparam logic [31:0] AckDelayMs = 32'd40;
  localparam logic [31:0] AckAnsweredMs = 32'd1;
  localparam logic [31:0] ChallengeGapMs = 32'd500;
  localparam logic [31:0] TimeWaitMs = 32'd1000;
  localparam logic [31:0] FinTimeoutMs = 32'd60000;

  localparam logic [31:0] BackoffMost = 32'd10;
  localparam logic [31:0] SlowRetries = 32'd3;
  localparam logic [31:0] LeastPeerMss = 32'd48;
  localparam logic [31:0] LeastPathMss = 32'd512;
  localparam logic [31:0] GreatestShift = 32'd14;
  localparam logic [31:0] StampRoom = 32'd12;
  localparam logic [31:0] SackRoom = 32'd12;
  localparam logic [31:0] SackBlock = 32'd8;
  localparam logic [31:0] Intervals = 32'd32;
  localparam logic [31:0] Reached = 32'd4;
  localparam logic [31:0] PatienceMost = 32'd1000000000;
  localparam logic [31:0] Duplicates = 32'd3;
  localparam logic [31:0] IsnStep = 32'd65536;
endpackage
