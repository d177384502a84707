// The generator's settings, and the types passed between its parts.
package generator_pkg;
  import tare_pkg::*;

  localparam int unsigned Templates = 32;
  localparam int unsigned Streams = 32;
  localparam int unsigned Fields = 4;
  localparam int unsigned ListEntries = 4096;
  localparam int unsigned Values = 256;
  // Bits of a length in bytes: 13 for up to 8 191. A 14th, for larger jumbo frames, would cost a block RAM.
  localparam int unsigned LengthBits = 13;

  // Memories of the generator, written while it is stopped.
  typedef enum logic [2:0] {
    ToBeats,   // address = 2 * beat + half; contents of frames
    ToTable,   // address = 8 * template + word, see the words of the table below
    ToFields,  // address = 8 * field + word, see the words of a field below
    ToGaps,    // address = entry; ticks
    ToSizes,   // address = entry; 12:0 bytes without FCS, 0 = the template's; 20:16 template
    ToValues,  // address = place; values for fields of mode List
    ToStreams  // address = stream; 31:0 of the next sequence number; clears the upper 8
  } memory_e;

  // An entry of the list: a template, and a length, where 0 means the template's.
  typedef struct packed {
    logic [4:0]            number;
    logic [LengthBits-1:0] length;
  } size_t;

  // A place in a frame, in halfwords from its start.
  typedef struct packed {
    logic       enable;
    logic [7:0] at;
  } place_t;

  // A length: its value, and the place where it is written, if it is.
  typedef struct packed {
    logic        enable;
    logic [7:0]  at;
    logic [15:0] value;
  } length_t;

  // Words of the table.
  //   0  ones' complement sums of the bytes that do not vary, not inverted: 31:16 UDP or TCP with its pseudo
  //      header, and 0x5aa5 for a signature; 15:0 IPv4 header
  //   1  12:0 bytes of the frame without FCS
  //   2  31 signature, 30:23 its place, 21:17 stream, 12:0 first beat in the memory of beats
  //   3  IPv4 (or IPv6) length: 31 enable, 30:23 place, 7:0 bytes of the frame that it does not count
  //   4  UDP length: 31 write, 30:23 place, 22 part of the pseudo header, 7:0 bytes of the frame that it does
  //      not count
  //   5  31 IPv4 checksum, 30:23 its place, 15 UDP or TCP checksum, 14:7 its place
  //   6  7:0 stored beats; the rest of the frame is zeros
  typedef enum logic [2:0] {
    Sums,
    Length,
    Start,
    IpLength,
    L4Length,
    Checks,
    Stored
  } word_e;

  // How a field changes from frame to frame.
  typedef enum logic [1:0] {
    Increment,  // first, first + step, …, last, first, …
    List,       // values[first], values[first + 1], …, values[last], values[first], …
    Random      // first ^ (x & last), x from xorshift32, whose period is 2^32 - 1 frames
  } mode_e;

  // Words of a field: 0 its templates, one bit each; 1 flags; 2 first; 3 last; 4 step; 5 start value (Random:
  // seed, not 0).
  typedef struct packed {
    mode_e      mode;
    logic       wide;   // two halfwords; otherwise one, the lower half of the value
    logic       in_ip;  // the IPv4 checksum covers it
    logic       in_l4;  // the UDP or TCP checksum covers it
    logic [7:0] at;
  } field_t;

  // One or two halfwords that replace the template's. Which of the two goes to an even place and which to an
  // odd one is decided in advance, so that each lane has only one to choose from. A single halfword is in both.
  typedef struct packed {
    logic        enable;
    logic        wide;
    logic [7:0]  at;
    logic [15:0] even;
    logic [15:0] odd;
  } patch_t;

  // The fields, two lengths, two checksums, and two patches of the signature: its first two halfwords and its
  // third (the stamper writes the rest). The third has the place of the first, so that every place fits into a
  // byte.
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
