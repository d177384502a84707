// Constants of the protocol between host and module (docs/fpga-reference.md).
package host_pkg;
  import tare_pkg::*;

  localparam logic [7:0] LinkVersion = 8'd1;
  // In the byte order of a beat: the first byte is the lowest.
  localparam logic [47:0] ModuleAddress = 48'h00_45_52_41_54_02;  // 02:54:41:52:45:00
  localparam logic [15:0] LinkType = 16'hb588;                    // 0x88b5

  localparam int unsigned HeaderBytes = 32;
  localparam int unsigned FcsBytes = 4;
  localparam int unsigned MaxLinkBytes = 2048;       // of a link frame, without FCS
  localparam int unsigned MaxBodyBeats = 180;        // of reads and writes
  localparam int unsigned MaxFrameBytes = 1518;      // of a live frame without FCS, with one VLAN tag

  typedef enum logic [7:0] {
    Hello     = 8'h01,
    Read      = 8'h02,
    Write     = 8'h03,
    Frame     = 8'h04,
    Mark      = 8'h05,
    HelloBack = 8'h81,
    ReadBack  = 8'h82,
    Written   = 8'h83,
    Marked    = 8'h85,
    Credit    = 8'h90,
    Error     = 8'h91,
    Received  = 8'h92,
    Departed  = 8'h93
  } kind_e;

  // The header of a frame to the host, without its addresses.
  typedef struct packed {
    kind_e       kind;
    logic [15:0] number;
    logic [15:0] length;
    logic [31:0] detail;
  } header_t;

  // A frame to the host, from a part of host_link. `begins` is high until the value was taken. The header is valid
  // from the third cycle of that on. The payload is a stream: the value, then the beats of the body.
  typedef struct packed {
    logic    begins;
    header_t header;
    logic    valid;
    beat_t   payload;
  } message_t;

  // Departures that wait to be reported.
  typedef struct packed {
    logic        due;
    logic [5:0]  count;
    logic [31:0] left_out;  // not reported since hello
  } departures_t;

  // Errors. Each has a counter.
  typedef enum logic [3:0] {
    Nothing,
    WrongVersion,
    WrongKind,
    WrongLength,
    WrongTime,
    NoCredit,
    Lost,
    WrongAddress,
    WrongState,
    Silent,
    WireChanged,
    WrongPlace
  } why_e;

  // The other counters. The first one takes the place of `Nothing`, which is no error.
  localparam int unsigned CountReceivedLength = 0;
  localparam int unsigned CountBad = 12;
  localparam int unsigned CountFull = 13;
  localparam int unsigned CountDeparturesLeftOut = 14;
  localparam int unsigned CountReceivedLeftOut = 15;

endpackage
