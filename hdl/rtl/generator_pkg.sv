// What the generator is told, and what its parts tell each other.
package generator_pkg;
  import tare_pkg::*;

  localparam int unsigned Templates = 32;
  localparam int unsigned Streams = 32;
  localparam int unsigned Fields = 4;
  localparam int unsigned ListEntries = 4096;
  localparam int unsigned Values = 256;
  // Of a length in bytes: 13 are enough for 8 191. 14 are for jumbo frames of more, and cost one block RAM.
  localparam int unsigned LengthBits = 13;

  // Memories of the generator, written while it does not run.
  typedef enum logic [2:0] {
    ToBeats,   // address = 2 * beat + half; what frames look like
    ToTable,   // address = 8 * template + word, see table words below
    ToFields,  // address = 8 * field + word, see field words below
    ToGaps,    // address = entry; ticks
    ToSizes,   // address = entry; bits 12:0 bytes without FCS, 0 = the template's; bits 20:16 template
    ToValues,  // address = place; values for fields that go through a list
    ToStreams  // address = stream; bits 31:0 of the next sequence number; the upper 8 become 0
  } memory_e;

  // An entry of the list: of which template, and how long; 0 = as long as that.
  typedef struct packed {
    logic [4:0]            number;
    logic [LengthBits-1:0] length;
  } size_t;

  // A place in a frame, in halfwords from its start.
  typedef struct packed {
    logic       enable;
    logic [7:0] at;
  } place_t;

  // A length: where it is written, if it is.
  typedef struct packed {
    logic        enable;
    logic [7:0]  at;
    logic [15:0] value;
  } length_t;

  // Words of the table.
  //   0  sums without what varies: 31:16 UDP or TCP with its pseudo header, and 0x5aa5 for a signature; 15:0 IPv4 header; ones' complement, not
  //      inverted
  //   1  12:0 bytes of the frame without FCS
  //   2  31 signature, 30:23 its place, 21:17 stream, 12:0 first beat in the memory of beats
  //   3  IPv4 (or IPv6) length: 31 enable, 30:23 place, 7:0 bytes of the frame that it does not count
  //   4  UDP length: 31 write, 30:23 place, 22 part of the pseudo header, 7:0 bytes of the frame that it does not count
  //   5  31 IPv4 checksum, 30:23 its place, 15 UDP or TCP checksum, 14:7 its place
  //   6  7:0 beats that are stored; the rest of a frame is zeros
  typedef enum logic [2:0] {
    Sums,
    Length,
    Start,
    IpLength,
    L4Length,
    Checks,
    Stored
  } word_e;

  // How a field goes on from frame to frame.
  typedef enum logic [1:0] {
    Increment,  // first, first + step, …, last, first, …
    List,       // values[first], values[first + 1], …, values[last], values[first], …
    Random      // first ^ (x & last), x of xorshift32; never the same again before 2^32 - 1 frames
  } mode_e;

  // Words of a field: 0 templates that have it, by bit; 1 flags; 2 first; 3 last; 4 step; 5 where it begins (Random: the seed, not 0).
  typedef struct packed {
    mode_e      mode;
    logic       wide;   // two halfwords; otherwise the lower half of the value, in one
    logic       in_ip;  // the IPv4 checksum covers it
    logic       in_l4;  // the UDP or TCP checksum covers it
    logic [7:0] at;
  } field_t;

  // One halfword, or two, put in place of the template's. Which of the two goes to an even place, and which to an odd one, is settled before, so
  // each lane has only one of them to choose. One halfword alone is at both.
  typedef struct packed {
    logic        enable;
    logic        wide;
    logic [7:0]  at;
    logic [15:0] even;
    logic [15:0] odd;
  } patch_t;

  // The fields, two lengths, two checksums, two of the signature: its first two halfwords, and its third (the stamper writes the rest). The place of
  // the third is that of the first, so none is behind what a byte counts.
  localparam int unsigned Patches = Fields + 6;
  localparam int unsigned ThirdHalfword = Patches - 2;

  function automatic patch_t narrow(logic enable, logic [7:0] at, logic [15:0] value);
    return '{enable: enable, wide: 1'b0, at: at, even: value, odd: value};
  endfunction

  function automatic patch_t wide(logic enable, logic [7:0] at, logic [15:0] first, logic [15:0] second);
    return '{enable: enable, wide: 1'b1, at: at, even: at[0] ? second : first, odd: at[0] ? first : second};
  endfunction

  typedef struct packed {
    logic [12:0] first_beat;
    logic [7:0]  stored;
    logic [10:0] beats;
    logic [2:0]  final_byte;
    patch_t [Patches-1:0] patches;
  } plan_t;

  // Marsaglia's xorshift with 13, 17, 5.
  function automatic logic [31:0] xorshift32(logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction

endpackage
