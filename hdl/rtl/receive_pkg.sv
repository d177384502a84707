// Settings of the receive side, and the properties of a received frame.
package receive_pkg;
  import tare_pkg::*;

  localparam int unsigned Rules = 4;

  // A halfword of a frame that must have a given value. A frame passes if all enabled rules hold; without any,
  // all pass.
  typedef struct packed {
    logic        enable;
    logic [7:0]  at;     // halfwords from the start
    logic [15:0] mask;
    logic [15:0] value;
  } rule_t;

  typedef struct packed {
    logic             signed_;       // frames have a signature
    logic [7:0]       signature_at;  // its place
    logic [31:0]      gap_reference; // the histogram of gaps counts |gap - reference|
    rule_t [Rules-1:0] rules;
  } listen_t;

  // A frame that was received whole.
  typedef struct packed {
    logic        bad;
    logic        pass;      // not bad, and all rules hold
    logic [13:0] bytes;     // with FCS
    ticks_t      stamp;     // when its preamble began
    logic [59:0] time_;     // the same in ns
    logic [39:0] sequence_;
    logic [4:0]  stream;
    logic [59:0] sent;      // when it was sent, as its signature says, in ns
    logic        has_signature;
  } arrival_t;

endpackage
