// What is known of a received frame.
package receive_pkg;
  import tare_pkg::*;

  // Rules of the filter. A halfword of a frame must have a given value. A frame passes if all enabled rules
  // hold; without any, all pass.
  localparam int unsigned Rules = 4;

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
