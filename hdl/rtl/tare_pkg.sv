// Types that pass between modules. Each is one packed struct, so that a module that passes one on cannot omit a
// field.
package tare_pkg;

  // Cycles of the core clock since reset. Never set or adjusted, so changes of the nanosecond clock move no
  // departure. 64 bits at 125 MHz wrap after 4 676 years.
  typedef logic [63:0] ticks_t;

  // Eight bytes of a frame, from the destination address on, without FCS. Byte 0 is bits 7:0 and the first on
  // the wire.
  typedef struct packed {
    logic        last;
    logic [2:0]  final_byte;  // index of the last valid byte; 7 in every beat but the last
    logic [63:0] data;
  } beat_t;

  // The reference of a departure's time.
  typedef enum logic [1:0] {
    AtOnce,      // as soon as the previous frame has left
    AtTime,      // value is the tick itself
    AfterStart,  // value is ticks after the start of the previous frame; a late frame delays those after it
    AfterDue     // value is ticks after the due time of the previous frame; a late frame delays no other
  } from_e;

  // The place of a frame's signature (see stamper), into which the departure is written.
  typedef struct packed {
    logic       enable;
    logic [7:0] place;   // halfwords (pairs of bytes) from the start of the frame, 4 or more
  } stamp_t;

  localparam logic [3:0]  SignatureVersion = 4'hb;
  localparam logic [15:0] SignatureSum = 16'h5aa5;

  typedef struct packed {
    from_e  from;
    ticks_t value;
    stamp_t stamp;
  } departure_t;

  // A beat of a live frame, with the departure of its frame.
  typedef struct packed {
    departure_t departure;
    beat_t      beat;
  } live_t;

  // Beats of the queue of live frames, and numbers of them.
  localparam int unsigned QueueBeats = 2048;
  localparam int unsigned CreditWidth = $clog2(QueueBeats + 1);
  typedef logic [CreditWidth-1:0] credits_t;

  // What the host's side asks of the credits. Each is high for one cycle.
  typedef struct packed {
    logic     revoke;  // all that are outstanding
    logic     use_;    // takes `beats` of them for a frame
    credits_t beats;
  } credit_ask_t;

  typedef struct packed {
    logic     refused;      // in the cycle of `use_`: there are too few
    credits_t outstanding;
  } credit_answer_t;

  // The result of a departure.
  typedef struct packed {
    ticks_t start;
    ticks_t late;  // start - due; 0 for frames without a due time
  } release_t;

  // A beat of a received frame, with FCS. It cannot wait.
  typedef struct packed {
    logic        first;
    logic        last;
    logic [2:0]  final_byte;
    logic        bad;    // in the last beat: the FCS is wrong, the frame was cut off, or the PHY saw an error
    logic [63:0] data;
  } heard_t;

  // The same, with the time at which the frame's preamble began.
  typedef struct packed {
    heard_t      beat;
    ticks_t      stamp;
    logic        half;   // plus half a cycle (XGMII)
    logic [59:0] time_;  // the same in ns
  } received_t;

  // The counters (see counters.sv), in the order of the registers.
  typedef enum logic [3:0] {
    CountedSent,
    CountedLate,
    CountedLateTicks,
    CountedLatest,     // not a counter: this place belongs to the greatest lateness
    CountedUnderruns,
    CountedGood,
    CountedBad,
    CountedPassed,
    CountedBytes,
    CountedNoise,
    CountedMissing,
    CountedStale,
    CountedUncounted,
    CountedNothing
  } count_e;

  // Each is high for one cycle, with its amount.
  typedef struct packed {
    logic        sent;
    logic        late;
    logic [47:0] late_ticks;      // with late
    logic        underrun;
    logic        good;
    logic [13:0] bytes;           // with good
    logic        bad;
    logic        passed;
    logic        noise;
    logic        missing;         // missing_frames is valid
    logic [39:0] missing_frames;
    logic        stale;
    logic        uncounted;
  } events_t;

  localparam int unsigned ClockHz = 125_000_000;
  localparam int unsigned MinFrameBytes = 60;  // without FCS
  localparam int unsigned GapBytes = 12;       // between frames, IEEE 802.3 clause 4.4.2

  // CRC-32 of IEEE 802.3 clause 3.2.9, one byte, reflected; initially all ones, sent inverted, least
  // significant byte first.
  function automatic logic [31:0] crc_byte(logic [31:0] crc, logic [7:0] data);
    logic [31:0] c;
    c = crc ^ {24'b0, data};
    for (int i = 0; i < 8; i++) c = c[0] ? (c >> 1) ^ 32'hedb8_8320 : c >> 1;
    return c;
  endfunction

  // x < limit for a constant limit: a few LUTs, where `<` would use an adder.
  function automatic logic below(logic [15:0] x, int unsigned limit);
    logic less;
    less = 1'b0;
    for (int i = 0; i < 16; i++) less = limit[i] ? !x[i] || less : !x[i] && less;
    return less;
  endfunction

  // The CRC after a whole frame with its FCS.
  localparam logic [31:0] CrcResidue = 32'hdebb_20e3;

  // Ones' complement sum (RFC 1071) of two halfwords.
  function automatic logic [15:0] ones_add(logic [15:0] a, logic [15:0] b);
    logic [16:0] s;
    s = {1'b0, a} + {1'b0, b};
    return s[15:0] + {15'b0, s[16]};
  endfunction

  // Two consecutive bytes on the wire form a big-endian number; in a beat the first byte is the lower one.
  function automatic logic [15:0] swap16(logic [15:0] x);
    return {x[7:0], x[15:8]};
  endfunction

endpackage
