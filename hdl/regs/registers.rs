//! The registers of the FPGA module. Made from hdl/regs/module.rdl by hdl/regs/regs.py; changes belong there.

/// Magic. The letters TARE: this is the module.
pub const MAGIC: u32 = 0x000;

/// Version. Of this description. Another major number is another language.
pub const VERSION: u32 = 0x004;
pub const VERSION_MINOR_SHIFT: u32 = 0;
pub const VERSION_MINOR_MASK: u32 = 0xffff;
pub const VERSION_MAJOR_SHIFT: u32 = 16;
pub const VERSION_MAJOR_MASK: u32 = 0xffff;

/// Build. The first 32 bits of the hash of the sources it was built from.
pub const BUILD: u32 = 0x008;

/// Capabilities. How much there is of everything.
pub const CAPABILITIES: u32 = 0x00c;
/// Templates.
pub const CAPABILITIES_TEMPLATES_SHIFT: u32 = 0;
pub const CAPABILITIES_TEMPLATES_MASK: u32 = 0xff;
/// Fields that vary.
pub const CAPABILITIES_FIELDS_SHIFT: u32 = 8;
pub const CAPABILITIES_FIELDS_MASK: u32 = 0xff;
/// Entries of the list, as a power of two.
pub const CAPABILITIES_LIST_LOG2_SHIFT: u32 = 16;
pub const CAPABILITIES_LIST_LOG2_MASK: u32 = 0xff;
/// Streams.
pub const CAPABILITIES_STREAMS_SHIFT: u32 = 24;
pub const CAPABILITIES_STREAMS_MASK: u32 = 0xff;

/// Control.
pub const CONTROL: u32 = 0x010;
/// Frames are the host's; otherwise the generator's. Change it while idle.
pub const CONTROL_LIVE_SHIFT: u32 = 0;
pub const CONTROL_LIVE_MASK: u32 = 0x1;
/// The generator runs.
pub const CONTROL_RUN_SHIFT: u32 = 1;
pub const CONTROL_RUN_MASK: u32 = 0x1;
/// Gaps are those of the list; otherwise the gap registers'.
pub const CONTROL_GAPS_FROM_LIST_SHIFT: u32 = 2;
pub const CONTROL_GAPS_FROM_LIST_MASK: u32 = 0x1;
/// What gaps are reckoned from: 2 the start of the frame before, 3 the time at which it was due.
pub const CONTROL_FROM_SHIFT: u32 = 3;
pub const CONTROL_FROM_MASK: u32 = 0x3;
/// The first frame: 0 at once, 1 at first_time.
pub const CONTROL_FIRST_FROM_SHIFT: u32 = 5;
pub const CONTROL_FIRST_FROM_MASK: u32 = 0x3;

/// Command. A 1 does it once.
pub const COMMAND: u32 = 0x014;
/// Forget what is queued, and say how many frames that were.
pub const COMMAND_FORGET_SHIFT: u32 = 0;
pub const COMMAND_FORGET_MASK: u32 = 0x1;
/// Take the gap registers; the remainder begins at 0.
pub const COMMAND_GAP_SET_SHIFT: u32 = 1;
pub const COMMAND_GAP_SET_MASK: u32 = 0x1;
/// Set counters and histograms to 0.
pub const COMMAND_CLEAR_SHIFT: u32 = 2;
pub const COMMAND_CLEAR_MASK: u32 = 0x1;
/// Take back the credits that are outstanding.
pub const COMMAND_REVOKE_SHIFT: u32 = 3;
pub const COMMAND_REVOKE_MASK: u32 = 0x1;
/// Set the clock to ns_value.
pub const COMMAND_NS_SET_SHIFT: u32 = 4;
pub const COMMAND_NS_SET_MASK: u32 = 0x1;
/// Add ns_value (signed) to the clock.
pub const COMMAND_NS_STEP_SHIFT: u32 = 5;
pub const COMMAND_NS_STEP_MASK: u32 = 0x1;
/// Keep clock and tick of one cycle.
pub const COMMAND_CAPTURE_SHIFT: u32 = 6;
pub const COMMAND_CAPTURE_MASK: u32 = 0x1;

/// Status.
pub const STATUS: u32 = 0x018;
/// Nothing is queued and nothing is being made.
pub const STATUS_IDLE_SHIFT: u32 = 0;
pub const STATUS_IDLE_MASK: u32 = 0x1;
/// Forgetting goes on.
pub const STATUS_FORGETTING_SHIFT: u32 = 1;
pub const STATUS_FORGETTING_MASK: u32 = 0x1;

/// Forgotten. Frames that the last forget threw away.
pub const FORGOTTEN: u32 = 0x01c;

/// First time.
pub const FIRST_TIME: u32 = 0x020;

/// Last entry.
pub const LAST_ENTRY: u32 = 0x028;

/// Frames.
pub const FRAMES: u32 = 0x02c;

/// Gap.
pub const GAP_WHOLE: u32 = 0x030;

/// Gap numerator.
pub const GAP_NUMERATOR: u32 = 0x034;

/// Gap denominator.
pub const GAP_DENOMINATOR: u32 = 0x038;

/// Memory. Where memory_data goes. Written before the generator runs.
pub const MEMORY: u32 = 0x040;
/// 0 beats, 1 table, 2 fields, 3 gaps, 4 sizes, 5 values, 6 streams (generator_pkg.sv).
pub const MEMORY_WHICH_SHIFT: u32 = 0;
pub const MEMORY_WHICH_MASK: u32 = 0x7;

/// Memory address. Where the next word goes; grows by one with each.
pub const MEMORY_ADDRESS: u32 = 0x044;

/// Memory data. Writes one word.
pub const MEMORY_DATA: u32 = 0x048;

/// Nanoseconds in a tick.
pub const NS_WHOLE: u32 = 0x050;

/// Fraction of that.
pub const NS_FRACTION: u32 = 0x054;

/// Nanoseconds.
pub const NS_VALUE: u32 = 0x058;

/// Captured time.
pub const CAPTURED_TIME: u32 = 0x060;

/// Captured tick. of the same cycle.
pub const CAPTURED_TICK: u32 = 0x068;

/// Listen.
pub const LISTEN: u32 = 0x070;
/// Frames have a signature.
pub const LISTEN_SIGNED_SHIFT: u32 = 0;
pub const LISTEN_SIGNED_MASK: u32 = 0x1;
/// Its place, in halfwords from the start.
pub const LISTEN_SIGNATURE_AT_SHIFT: u32 = 1;
pub const LISTEN_SIGNATURE_AT_MASK: u32 = 0xff;

/// Gap reference.
pub const GAP_REFERENCE: u32 = 0x074;

/// Filter place.
pub const RULE_PLACE0: u32 = 0x080;
/// Halfword from the start.
pub const RULE_PLACE0_AT_SHIFT: u32 = 0;
pub const RULE_PLACE0_AT_MASK: u32 = 0xff;
pub const RULE_PLACE0_ENABLE_SHIFT: u32 = 8;
pub const RULE_PLACE0_ENABLE_MASK: u32 = 0x1;

/// Filter place.
pub const RULE_PLACE1: u32 = 0x084;
/// Halfword from the start.
pub const RULE_PLACE1_AT_SHIFT: u32 = 0;
pub const RULE_PLACE1_AT_MASK: u32 = 0xff;
pub const RULE_PLACE1_ENABLE_SHIFT: u32 = 8;
pub const RULE_PLACE1_ENABLE_MASK: u32 = 0x1;

/// Filter place.
pub const RULE_PLACE2: u32 = 0x088;
/// Halfword from the start.
pub const RULE_PLACE2_AT_SHIFT: u32 = 0;
pub const RULE_PLACE2_AT_MASK: u32 = 0xff;
pub const RULE_PLACE2_ENABLE_SHIFT: u32 = 8;
pub const RULE_PLACE2_ENABLE_MASK: u32 = 0x1;

/// Filter place.
pub const RULE_PLACE3: u32 = 0x08c;
/// Halfword from the start.
pub const RULE_PLACE3_AT_SHIFT: u32 = 0;
pub const RULE_PLACE3_AT_MASK: u32 = 0xff;
pub const RULE_PLACE3_ENABLE_SHIFT: u32 = 8;
pub const RULE_PLACE3_ENABLE_MASK: u32 = 0x1;

/// Filter value.
pub const RULE_VALUE0: u32 = 0x090;
pub const RULE_VALUE0_VALUE_SHIFT: u32 = 0;
pub const RULE_VALUE0_VALUE_MASK: u32 = 0xffff;
pub const RULE_VALUE0_MASK_SHIFT: u32 = 16;
pub const RULE_VALUE0_MASK_MASK: u32 = 0xffff;

/// Filter value.
pub const RULE_VALUE1: u32 = 0x094;
pub const RULE_VALUE1_VALUE_SHIFT: u32 = 0;
pub const RULE_VALUE1_VALUE_MASK: u32 = 0xffff;
pub const RULE_VALUE1_MASK_SHIFT: u32 = 16;
pub const RULE_VALUE1_MASK_MASK: u32 = 0xffff;

/// Filter value.
pub const RULE_VALUE2: u32 = 0x098;
pub const RULE_VALUE2_VALUE_SHIFT: u32 = 0;
pub const RULE_VALUE2_VALUE_MASK: u32 = 0xffff;
pub const RULE_VALUE2_MASK_SHIFT: u32 = 16;
pub const RULE_VALUE2_MASK_MASK: u32 = 0xffff;

/// Filter value.
pub const RULE_VALUE3: u32 = 0x09c;
pub const RULE_VALUE3_VALUE_SHIFT: u32 = 0;
pub const RULE_VALUE3_VALUE_MASK: u32 = 0xffff;
pub const RULE_VALUE3_MASK_SHIFT: u32 = 16;
pub const RULE_VALUE3_MASK_MASK: u32 = 0xffff;

/// Read. Asks for one word of what was received; read_data has it a few cycles later.
pub const READ: u32 = 0x0a0;
/// Bin or stream.
pub const READ_AT_SHIFT: u32 = 0;
pub const READ_AT_MASK: u32 = 0x3ff;
/// 0 gaps, 1 latencies, 2 missing frames by stream.
pub const READ_WHAT_SHIFT: u32 = 10;
pub const READ_WHAT_MASK: u32 = 0x3;
/// 1: ask.
pub const READ_ASK_SHIFT: u32 = 12;
pub const READ_ASK_MASK: u32 = 0x1;

/// Read data.
pub const READ_DATA: u32 = 0x0a4;

/// Read state.
pub const READ_STATE: u32 = 0x0a8;
/// Read_data is what was asked for last.
pub const READ_STATE_DONE_SHIFT: u32 = 0;
pub const READ_STATE_DONE_MASK: u32 = 0x1;

/// Sent.
pub const SENT: u32 = 0x100;

/// Late.
pub const LATE: u32 = 0x108;

/// Lateness, sum.
pub const LATE_TICKS: u32 = 0x110;

/// Lateness, greatest.
pub const LATEST: u32 = 0x118;

/// Underruns.
pub const UNDERRUNS: u32 = 0x120;

/// Good.
pub const GOOD: u32 = 0x128;

/// Bad.
pub const BAD: u32 = 0x130;

/// Passed.
pub const PASSED: u32 = 0x138;

/// Bytes.
pub const BYTES: u32 = 0x140;

/// Noise.
pub const NOISE: u32 = 0x148;

/// Missing.
pub const MISSING: u32 = 0x150;

/// Stale.
pub const STALE: u32 = 0x158;

/// Uncounted.
pub const UNCOUNTED: u32 = 0x160;
