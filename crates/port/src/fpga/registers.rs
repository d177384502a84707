//! The registers of the FPGA module and the memories of its generator. Generated from hdl/regs/module.rdl by
//! hdl/regs/regs.py; make changes there.

use super::register::{Access, Field, Memory, Register, Word};

/// What the register `layout` says if the module was made from this description.
pub const LAYOUT_HASH: u32 = 0x6bfa7c40;

pub const FROM_AT_ONCE: u64 = 0;
pub const FROM_AT_TIME: u64 = 1;
pub const FROM_AFTER_START: u64 = 2;
pub const FROM_AFTER_DUE: u64 = 3;

pub const FIGURE_GAPS: u64 = 0;
pub const FIGURE_LATENCIES: u64 = 1;
pub const FIGURE_MISSING: u64 = 2;

pub const MODE_INCREMENT: u64 = 0;
pub const MODE_LIST: u64 = 1;
pub const MODE_RANDOM: u64 = 2;

/// Magic. The letters TARE.
pub const MAGIC: Register = Register { name: "magic", address: 0x000, bits: 32, about: "Magic. The letters TARE", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Constant, unit: "", about: "", reset: 1413567045, least: 0, most: 4294967295 }] };

/// Version. Version of this description.
pub const VERSION: Register = Register { name: "version", address: 0x004, bits: 32, about: "Version. Version of this description", fields: &[VERSION_MINOR, VERSION_MAJOR] };
pub const VERSION_MINOR: Field = Field { name: "minor", low: 0, width: 16, access: Access::Constant, unit: "", about: "", reset: 0, least: 0, most: 65535 };
pub const VERSION_MAJOR: Field = Field { name: "major", low: 16, width: 16, access: Access::Constant, unit: "", about: "a new one needs a new host", reset: 1, least: 0, most: 65535 };

/// Build. First 32 bits of the hash of the sources.
pub const BUILD: Register = Register { name: "build", address: 0x008, bits: 32, about: "Build. First 32 bits of the hash of the sources", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// Capabilities. What the module has.
pub const CAPABILITIES: Register = Register { name: "capabilities", address: 0x00c, bits: 32, about: "Capabilities. What the module has", fields: &[CAPABILITIES_TEMPLATES, CAPABILITIES_FIELDS, CAPABILITIES_LIST_LOG2, CAPABILITIES_STREAMS] };
pub const CAPABILITIES_TEMPLATES: Field = Field { name: "templates", low: 0, width: 8, access: Access::Constant, unit: "", about: "templates", reset: 32, least: 0, most: 255 };
pub const CAPABILITIES_FIELDS: Field = Field { name: "fields", low: 8, width: 8, access: Access::Constant, unit: "", about: "varying fields", reset: 4, least: 0, most: 255 };
pub const CAPABILITIES_LIST_LOG2: Field = Field { name: "list_log2", low: 16, width: 8, access: Access::Constant, unit: "", about: "list entries, as a power of two", reset: 12, least: 0, most: 255 };
pub const CAPABILITIES_STREAMS: Field = Field { name: "streams", low: 24, width: 8, access: Access::Constant, unit: "", about: "streams", reset: 32, least: 0, most: 255 };

/// Control.
pub const CONTROL: Register = Register { name: "control", address: 0x010, bits: 32, about: "Control", fields: &[CONTROL_LIVE, CONTROL_RUN, CONTROL_GAPS_FROM_LIST, CONTROL_FROM, CONTROL_FIRST_FROM] };
pub const CONTROL_LIVE: Field = Field { name: "live", low: 0, width: 1, access: Access::Setting, unit: "", about: "frames come from the host (1) or the generator (0); a change waits until queued frames have left", reset: 0, least: 0, most: 1 };
pub const CONTROL_RUN: Field = Field { name: "run", low: 1, width: 1, access: Access::Setting, unit: "", about: "the generator runs", reset: 0, least: 0, most: 1 };
pub const CONTROL_GAPS_FROM_LIST: Field = Field { name: "gaps_from_list", low: 2, width: 1, access: Access::Setting, unit: "", about: "gaps come from the gap registers (0) or the list (1)", reset: 0, least: 0, most: 1 };
pub const CONTROL_FROM: Field = Field { name: "from", low: 3, width: 2, access: Access::Setting, unit: "", about: "gaps count from the previous frame's start (2) or due time (3)", reset: 2, least: 2, most: 3 };
pub const CONTROL_FIRST_FROM: Field = Field { name: "first_from", low: 5, width: 2, access: Access::Setting, unit: "", about: "the first frame leaves at once (0) or at first_time (1)", reset: 0, least: 0, most: 1 };

/// Command. Writing 1 to a bit triggers it once.
pub const COMMAND: Register = Register { name: "command", address: 0x014, bits: 32, about: "Command. Writing 1 to a bit triggers it once", fields: &[COMMAND_FORGET, COMMAND_GAP_SET, COMMAND_CLEAR, COMMAND_NS_SET, COMMAND_NS_STEP, COMMAND_CAPTURE] };
pub const COMMAND_FORGET: Field = Field { name: "forget", low: 0, width: 1, access: Access::Command, unit: "", about: "discard queued frames and count them in forgotten", reset: 0, least: 0, most: 1 };
pub const COMMAND_GAP_SET: Field = Field { name: "gap_set", low: 1, width: 1, access: Access::Command, unit: "", about: "load the gap registers now, not at the generator's start; the remainder becomes 0", reset: 0, least: 0, most: 1 };
pub const COMMAND_CLEAR: Field = Field { name: "clear", low: 2, width: 1, access: Access::Command, unit: "", about: "set counters and histograms to 0", reset: 0, least: 0, most: 1 };
pub const COMMAND_NS_SET: Field = Field { name: "ns_set", low: 4, width: 1, access: Access::Command, unit: "", about: "set the clock to ns_value", reset: 0, least: 0, most: 1 };
pub const COMMAND_NS_STEP: Field = Field { name: "ns_step", low: 5, width: 1, access: Access::Command, unit: "", about: "add ns_value (signed) to the clock", reset: 0, least: 0, most: 1 };
pub const COMMAND_CAPTURE: Field = Field { name: "capture", low: 6, width: 1, access: Access::Command, unit: "", about: "latch clock and tick of one cycle", reset: 0, least: 0, most: 1 };

/// Status.
pub const STATUS: Register = Register { name: "status", address: 0x018, bits: 32, about: "Status", fields: &[STATUS_IDLE, STATUS_FORGETTING, STATUS_WIRE] };
pub const STATUS_IDLE: Field = Field { name: "idle", low: 0, width: 1, access: Access::Value, unit: "", about: "nothing is queued or being generated", reset: 0, least: 0, most: 1 };
pub const STATUS_FORGETTING: Field = Field { name: "forgetting", low: 1, width: 1, access: Access::Value, unit: "", about: "frames are being discarded", reset: 0, least: 0, most: 1 };
pub const STATUS_WIRE: Field = Field { name: "wire", low: 2, width: 1, access: Access::Value, unit: "", about: "the wire's link is up", reset: 0, least: 0, most: 1 };

/// Forgotten. Discarded by the last forget.
pub const FORGOTTEN: Register = Register { name: "forgotten", address: 0x01c, bits: 32, about: "Forgotten. Discarded by the last forget", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "frames", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// First time.
pub const FIRST_TIME: Register = Register { name: "first_time", address: 0x020, bits: 64, about: "First time", fields: &[Field { name: "value", low: 0, width: 64, access: Access::Setting, unit: "ticks", about: "when the generator's first frame leaves", reset: 0, least: 0, most: 4611686018427387903 }] };

/// Last entry.
pub const LAST_ENTRY: Register = Register { name: "last_entry", address: 0x028, bits: 32, about: "Last entry", fields: &[Field { name: "value", low: 0, width: 12, access: Access::Setting, unit: "", about: "index of the list's last entry; 0: one entry, repeated", reset: 0, least: 0, most: 4095 }] };

/// Frames.
pub const FRAMES: Register = Register { name: "frames", address: 0x02c, bits: 32, about: "Frames", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "frames", about: "to generate; 0: no limit", reset: 0, least: 0, most: 4294967295 }] };

/// Gap.
pub const GAP_WHOLE: Register = Register { name: "gap_whole", address: 0x030, bits: 32, about: "Gap", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "ticks", about: "whole part of the gap", reset: 84, least: 0, most: 4294967295 }] };

/// Gap numerator.
pub const GAP_NUMERATOR: Register = Register { name: "gap_numerator", address: 0x034, bits: 32, about: "Gap numerator", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "numerator of the gap's fraction, below the denominator", reset: 0, least: 0, most: 4294967295 }] };

/// Gap denominator.
pub const GAP_DENOMINATOR: Register = Register { name: "gap_denominator", address: 0x038, bits: 32, about: "Gap denominator", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "denominator of the gap's fraction, not 0", reset: 1, least: 1, most: 4294967295 }] };

/// Memory. Where memory_data goes, while the generator is stopped.
pub const MEMORY: Register = Register { name: "memory", address: 0x040, bits: 32, about: "Memory. Where memory_data goes, while the generator is stopped", fields: &[MEMORY_WHICH] };
pub const MEMORY_WHICH: Field = Field { name: "which", low: 0, width: 3, access: Access::Setting, unit: "", about: "0 beats, 1 table, 2 fields, 3 gaps, 4 sizes, 5 values, 6 streams (generator_pkg.sv)", reset: 0, least: 0, most: 6 };

/// Memory address. Address of the next word; each word increments it.
pub const MEMORY_ADDRESS: Register = Register { name: "memory_address", address: 0x044, bits: 32, about: "Memory address. Address of the next word; each word increments it", fields: &[Field { name: "value", low: 0, width: 16, access: Access::Command, unit: "", about: "", reset: 0, least: 0, most: 8191 }] };

/// Memory data. Writes one word.
pub const MEMORY_DATA: Register = Register { name: "memory_data", address: 0x048, bits: 32, about: "Memory data. Writes one word", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Command, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// Nanoseconds per tick.
pub const NS_WHOLE: Register = Register { name: "ns_whole", address: 0x050, bits: 32, about: "Nanoseconds per tick", fields: &[Field { name: "value", low: 0, width: 8, access: Access::Setting, unit: "ns", about: "duration of a tick, whole part", reset: 8, least: 0, most: 255 }] };

/// Fraction.
pub const NS_FRACTION: Register = Register { name: "ns_fraction", address: 0x054, bits: 32, about: "Fraction", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "2^-32 ns", about: "fraction of that duration", reset: 0, least: 0, most: 4294967295 }] };

/// Nanoseconds.
pub const NS_VALUE: Register = Register { name: "ns_value", address: 0x058, bits: 64, about: "Nanoseconds", fields: &[Field { name: "value", low: 0, width: 64, access: Access::Setting, unit: "ns", about: "operand of ns_set and ns_step", reset: 0, least: 0, most: 18446744073709551615 }] };

/// Captured time.
pub const CAPTURED_TIME: Register = Register { name: "captured_time", address: 0x060, bits: 64, about: "Captured time", fields: &[Field { name: "value", low: 0, width: 64, access: Access::Value, unit: "ns", about: "clock, latched by capture", reset: 0, least: 0, most: 18446744073709551615 }] };

/// Captured tick. Tick of the same cycle.
pub const CAPTURED_TICK: Register = Register { name: "captured_tick", address: 0x068, bits: 64, about: "Captured tick. Tick of the same cycle", fields: &[Field { name: "value", low: 0, width: 64, access: Access::Value, unit: "ticks", about: "", reset: 0, least: 0, most: 18446744073709551615 }] };

/// Listen. What received frames carry.
pub const LISTEN: Register = Register { name: "listen", address: 0x070, bits: 32, about: "Listen. What received frames carry", fields: &[LISTEN_SIGNED, LISTEN_SIGNATURE_AT] };
pub const LISTEN_SIGNED: Field = Field { name: "signed", low: 0, width: 1, access: Access::Setting, unit: "", about: "a signature of version 0xb", reset: 0, least: 0, most: 1 };
pub const LISTEN_SIGNATURE_AT: Field = Field { name: "signature_at", low: 1, width: 8, access: Access::Setting, unit: "", about: "its place, in halfwords from the start", reset: 21, least: 4, most: 255 };

/// Gap reference.
pub const GAP_REFERENCE: Register = Register { name: "gap_reference", address: 0x074, bits: 32, about: "Gap reference", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "ticks", about: "the gap histogram counts distances from this", reset: 0, least: 0, most: 4294967295 }] };

/// Filter place. Where a rule looks.
pub const RULE_PLACE0: Register = Register { name: "rule_place0", address: 0x080, bits: 32, about: "Filter place. Where a rule looks", fields: &[RULE_PLACE0_AT, RULE_PLACE0_ENABLE] };
pub const RULE_PLACE0_AT: Field = Field { name: "at", low: 0, width: 8, access: Access::Setting, unit: "", about: "halfword from the frame's start", reset: 0, least: 0, most: 255 };
pub const RULE_PLACE0_ENABLE: Field = Field { name: "enable", low: 8, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };

/// Filter place. Where a rule looks.
pub const RULE_PLACE1: Register = Register { name: "rule_place1", address: 0x084, bits: 32, about: "Filter place. Where a rule looks", fields: &[RULE_PLACE1_AT, RULE_PLACE1_ENABLE] };
pub const RULE_PLACE1_AT: Field = Field { name: "at", low: 0, width: 8, access: Access::Setting, unit: "", about: "halfword from the frame's start", reset: 0, least: 0, most: 255 };
pub const RULE_PLACE1_ENABLE: Field = Field { name: "enable", low: 8, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };

/// Filter place. Where a rule looks.
pub const RULE_PLACE2: Register = Register { name: "rule_place2", address: 0x088, bits: 32, about: "Filter place. Where a rule looks", fields: &[RULE_PLACE2_AT, RULE_PLACE2_ENABLE] };
pub const RULE_PLACE2_AT: Field = Field { name: "at", low: 0, width: 8, access: Access::Setting, unit: "", about: "halfword from the frame's start", reset: 0, least: 0, most: 255 };
pub const RULE_PLACE2_ENABLE: Field = Field { name: "enable", low: 8, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };

/// Filter place. Where a rule looks.
pub const RULE_PLACE3: Register = Register { name: "rule_place3", address: 0x08c, bits: 32, about: "Filter place. Where a rule looks", fields: &[RULE_PLACE3_AT, RULE_PLACE3_ENABLE] };
pub const RULE_PLACE3_AT: Field = Field { name: "at", low: 0, width: 8, access: Access::Setting, unit: "", about: "halfword from the frame's start", reset: 0, least: 0, most: 255 };
pub const RULE_PLACE3_ENABLE: Field = Field { name: "enable", low: 8, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };

/// Filter value. What a rule expects there.
pub const RULE_VALUE0: Register = Register { name: "rule_value0", address: 0x090, bits: 32, about: "Filter value. What a rule expects there", fields: &[RULE_VALUE0_VALUE, RULE_VALUE0_MASK] };
pub const RULE_VALUE0_VALUE: Field = Field { name: "value", low: 0, width: 16, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 65535 };
pub const RULE_VALUE0_MASK: Field = Field { name: "mask", low: 16, width: 16, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 65535 };

/// Filter value. What a rule expects there.
pub const RULE_VALUE1: Register = Register { name: "rule_value1", address: 0x094, bits: 32, about: "Filter value. What a rule expects there", fields: &[RULE_VALUE1_VALUE, RULE_VALUE1_MASK] };
pub const RULE_VALUE1_VALUE: Field = Field { name: "value", low: 0, width: 16, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 65535 };
pub const RULE_VALUE1_MASK: Field = Field { name: "mask", low: 16, width: 16, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 65535 };

/// Filter value. What a rule expects there.
pub const RULE_VALUE2: Register = Register { name: "rule_value2", address: 0x098, bits: 32, about: "Filter value. What a rule expects there", fields: &[RULE_VALUE2_VALUE, RULE_VALUE2_MASK] };
pub const RULE_VALUE2_VALUE: Field = Field { name: "value", low: 0, width: 16, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 65535 };
pub const RULE_VALUE2_MASK: Field = Field { name: "mask", low: 16, width: 16, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 65535 };

/// Filter value. What a rule expects there.
pub const RULE_VALUE3: Register = Register { name: "rule_value3", address: 0x09c, bits: 32, about: "Filter value. What a rule expects there", fields: &[RULE_VALUE3_VALUE, RULE_VALUE3_MASK] };
pub const RULE_VALUE3_VALUE: Field = Field { name: "value", low: 0, width: 16, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 65535 };
pub const RULE_VALUE3_MASK: Field = Field { name: "mask", low: 16, width: 16, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 65535 };

/// Read. Requests one receive figure; read_data has it a few cycles later.
pub const READ: Register = Register { name: "read", address: 0x0a0, bits: 32, about: "Read. Requests one receive figure; read_data has it a few cycles later", fields: &[READ_AT, READ_WHAT, READ_ASK] };
pub const READ_AT: Field = Field { name: "at", low: 0, width: 10, access: Access::Setting, unit: "", about: "bin or stream", reset: 0, least: 0, most: 1023 };
pub const READ_WHAT: Field = Field { name: "what", low: 10, width: 2, access: Access::Setting, unit: "", about: "0 gaps, 1 latencies, 2 missing frames by stream", reset: 0, least: 0, most: 2 };
pub const READ_ASK: Field = Field { name: "ask", low: 12, width: 1, access: Access::Command, unit: "", about: "starts the request", reset: 0, least: 0, most: 1 };

/// Read data. The requested figure.
pub const READ_DATA: Register = Register { name: "read_data", address: 0x0a4, bits: 32, about: "Read data. The requested figure", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// Read state.
pub const READ_STATE: Register = Register { name: "read_state", address: 0x0a8, bits: 32, about: "Read state", fields: &[READ_STATE_DONE] };
pub const READ_STATE_DONE: Field = Field { name: "done", low: 0, width: 1, access: Access::Value, unit: "", about: "the figure requested last is in read_data", reset: 0, least: 0, most: 1 };

/// Layout. First 32 bits of the hash of this description; a host that has another must not write.
pub const LAYOUT: Register = Register { name: "layout", address: 0x0b0, bits: 32, about: "Layout. First 32 bits of the hash of this description; a host that has another must not write", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Constant, unit: "", about: "", reset: 1811577920, least: 0, most: 4294967295 }] };

/// Link. Reports that the host does not ask for one by one.
pub const LINK: Register = Register { name: "link", address: 0x0b4, bits: 32, about: "Link. Reports that the host does not ask for one by one", fields: &[LINK_DEPARTURES, LINK_RECEIVED] };
pub const LINK_DEPARTURES: Field = Field { name: "departures", low: 0, width: 1, access: Access::Setting, unit: "", about: "of departures", reset: 0, least: 0, most: 1 };
pub const LINK_RECEIVED: Field = Field { name: "received", low: 1, width: 1, access: Access::Setting, unit: "", about: "of received frames", reset: 0, least: 0, most: 1 };

/// Link patience.
pub const LINK_PATIENCE: Register = Register { name: "link_patience", address: 0x0b8, bits: 32, about: "Link patience", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "ticks", about: "these reports stop after this long without a frame from the host; 0: never", reset: 0, least: 0, most: 4294967295 }] };

/// Sent.
pub const SENT: Register = Register { name: "sent", address: 0x100, bits: 64, about: "Sent", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "frames", about: "that left; 48 bits, 6 years", reset: 0, least: 0, most: 281474976710655 }] };

/// Late.
pub const LATE: Register = Register { name: "late", address: 0x108, bits: 64, about: "Late", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "frames", about: "that left after their time; 48 bits, 6 years", reset: 0, least: 0, most: 281474976710655 }] };

/// Lateness, sum.
pub const LATE_TICKS: Register = Register { name: "late_ticks", address: 0x110, bits: 64, about: "Lateness, sum", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "ticks", about: "sum of lateness; 48 bits, 1.7 seconds if all frames are due at once", reset: 0, least: 0, most: 281474976710655 }] };

/// Lateness, greatest.
pub const LATEST: Register = Register { name: "latest", address: 0x118, bits: 64, about: "Lateness, greatest", fields: &[Field { name: "value", low: 0, width: 64, access: Access::Value, unit: "ticks", about: "greatest lateness; 64 bits, does not wrap", reset: 0, least: 0, most: 18446744073709551615 }] };

/// Underruns.
pub const UNDERRUNS: Register = Register { name: "underruns", address: 0x120, bits: 64, about: "Underruns", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "frames", about: "broken by a missing beat; must stay 0; 48 bits", reset: 0, least: 0, most: 281474976710655 }] };

/// Good.
pub const GOOD: Register = Register { name: "good", address: 0x128, bits: 64, about: "Good", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "frames", about: "received whole; 48 bits, 6 years", reset: 0, least: 0, most: 281474976710655 }] };

/// Bad.
pub const BAD: Register = Register { name: "bad", address: 0x130, bits: 64, about: "Bad", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "frames", about: "with a wrong FCS, cut off, too short or too long; 48 bits, 6 years", reset: 0, least: 0, most: 281474976710655 }] };

/// Passed.
pub const PASSED: Register = Register { name: "passed", address: 0x138, bits: 64, about: "Passed", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "frames", about: "that are good and pass the filter; 48 bits, 6 years", reset: 0, least: 0, most: 281474976710655 }] };

/// Bytes.
pub const BYTES: Register = Register { name: "bytes", address: 0x140, bits: 64, about: "Bytes", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "bytes", about: "of good frames, with FCS; 48 bits, 26 days at 1 Gb/s", reset: 0, least: 0, most: 281474976710655 }] };

/// Noise.
pub const NOISE: Register = Register { name: "noise", address: 0x148, bits: 64, about: "Noise", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "", about: "how often bytes came that begin no frame; 48 bits", reset: 0, least: 0, most: 281474976710655 }] };

/// Missing.
pub const MISSING: Register = Register { name: "missing", address: 0x150, bits: 64, about: "Missing", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "frames", about: "missing from sequences; 48 bits", reset: 0, least: 0, most: 281474976710655 }] };

/// Stale.
pub const STALE: Register = Register { name: "stale", address: 0x158, bits: 64, about: "Stale", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "frames", about: "out of order or duplicate; 48 bits, 6 years", reset: 0, least: 0, most: 281474976710655 }] };

/// Uncounted.
pub const UNCOUNTED: Register = Register { name: "uncounted", address: 0x160, bits: 64, about: "Uncounted", fields: &[Field { name: "value", low: 0, width: 48, access: Access::Value, unit: "", about: "values outside all bins of a histogram; 48 bits, 6 years", reset: 0, least: 0, most: 281474976710655 }] };

/// Link errors.
pub const LINK_ERRORS0: Register = Register { name: "link_errors0", address: 0x200, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS1: Register = Register { name: "link_errors1", address: 0x204, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS2: Register = Register { name: "link_errors2", address: 0x208, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS3: Register = Register { name: "link_errors3", address: 0x20c, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS4: Register = Register { name: "link_errors4", address: 0x210, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS5: Register = Register { name: "link_errors5", address: 0x214, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS6: Register = Register { name: "link_errors6", address: 0x218, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS7: Register = Register { name: "link_errors7", address: 0x21c, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS8: Register = Register { name: "link_errors8", address: 0x220, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS9: Register = Register { name: "link_errors9", address: 0x224, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS10: Register = Register { name: "link_errors10", address: 0x228, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link errors.
pub const LINK_ERRORS11: Register = Register { name: "link_errors11", address: 0x22c, bits: 32, about: "Link errors", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "by error number; 0: received frames too short or too long to report; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link bad.
pub const LINK_BAD: Register = Register { name: "link_bad", address: 0x230, bits: 32, about: "Link bad", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "frames", about: "from the host with a wrong FCS, cut off, too short or too long; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Link full.
pub const LINK_FULL: Register = Register { name: "link_full", address: 0x234, bits: 32, about: "Link full", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "frames", about: "from the host without room; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Departures left out.
pub const DEPARTURES_LEFT_OUT: Register = Register { name: "departures_left_out", address: 0x238, bits: 32, about: "Departures left out", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "frames", about: "whose departure report had no room; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// Received left out.
pub const RECEIVED_LEFT_OUT: Register = Register { name: "received_left_out", address: 0x23c, bits: 32, about: "Received left out", fields: &[Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "frames", about: "received whose report had no room; 32 bits, 48 minutes", reset: 0, least: 0, most: 4294967295 }] };

/// All registers, by address.
pub const ALL: &[Register] = &[
    MAGIC,
    VERSION,
    BUILD,
    CAPABILITIES,
    CONTROL,
    COMMAND,
    STATUS,
    FORGOTTEN,
    FIRST_TIME,
    LAST_ENTRY,
    FRAMES,
    GAP_WHOLE,
    GAP_NUMERATOR,
    GAP_DENOMINATOR,
    MEMORY,
    MEMORY_ADDRESS,
    MEMORY_DATA,
    NS_WHOLE,
    NS_FRACTION,
    NS_VALUE,
    CAPTURED_TIME,
    CAPTURED_TICK,
    LISTEN,
    GAP_REFERENCE,
    RULE_PLACE0,
    RULE_PLACE1,
    RULE_PLACE2,
    RULE_PLACE3,
    RULE_VALUE0,
    RULE_VALUE1,
    RULE_VALUE2,
    RULE_VALUE3,
    READ,
    READ_DATA,
    READ_STATE,
    LAYOUT,
    LINK,
    LINK_PATIENCE,
    SENT,
    LATE,
    LATE_TICKS,
    LATEST,
    UNDERRUNS,
    GOOD,
    BAD,
    PASSED,
    BYTES,
    NOISE,
    MISSING,
    STALE,
    UNCOUNTED,
    LINK_ERRORS0,
    LINK_ERRORS1,
    LINK_ERRORS2,
    LINK_ERRORS3,
    LINK_ERRORS4,
    LINK_ERRORS5,
    LINK_ERRORS6,
    LINK_ERRORS7,
    LINK_ERRORS8,
    LINK_ERRORS9,
    LINK_ERRORS10,
    LINK_ERRORS11,
    LINK_BAD,
    LINK_FULL,
    DEPARTURES_LEFT_OUT,
    RECEIVED_LEFT_OUT,
];

/// Registers that count events, by address.
pub const COUNTERS: &[Register] = &[
    SENT,
    LATE,
    LATE_TICKS,
    LATEST,
    UNDERRUNS,
    GOOD,
    BAD,
    PASSED,
    BYTES,
    NOISE,
    MISSING,
    STALE,
    UNCOUNTED,
    LINK_ERRORS0,
    LINK_ERRORS1,
    LINK_ERRORS2,
    LINK_ERRORS3,
    LINK_ERRORS4,
    LINK_ERRORS5,
    LINK_ERRORS6,
    LINK_ERRORS7,
    LINK_ERRORS8,
    LINK_ERRORS9,
    LINK_ERRORS10,
    LINK_ERRORS11,
    LINK_BAD,
    LINK_FULL,
    DEPARTURES_LEFT_OUT,
    RECEIVED_LEFT_OUT,
];

/// Contents of frames: two words for each beat of eight bytes.
pub const BEATS: Memory = Memory { name: "beats", number: 0, item: "", items: 8192, stride: 1, words: &[BEATS_WORD] };
pub const BEATS_WORD: Word = Word { name: "word", at: 0, fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// How frames are made from what is stored.
pub const TABLE: Memory = Memory { name: "table", number: 1, item: "template", items: 32, stride: 8, words: &[TABLE_SUMS, TABLE_LENGTH, TABLE_START, TABLE_IP_LENGTH, TABLE_L4_LENGTH, TABLE_CHECKS, TABLE_STORED] };
pub const TABLE_SUMS_IP: Field = Field { name: "ip", low: 0, width: 16, access: Access::Setting, unit: "", about: "of the IPv4 header", reset: 0, least: 0, most: 65535 };
pub const TABLE_SUMS_L4: Field = Field { name: "l4", low: 16, width: 16, access: Access::Setting, unit: "", about: "of UDP or TCP with its pseudo header, and 0x5aa5 for a signature", reset: 0, least: 0, most: 65535 };
/// Ones' complement sums of the bytes that do not vary, not inverted.
pub const TABLE_SUMS: Word = Word { name: "sums", at: 0, fields: &[TABLE_SUMS_IP, TABLE_SUMS_L4] };
pub const TABLE_LENGTH_BYTES: Field = Field { name: "bytes", low: 0, width: 13, access: Access::Setting, unit: "", about: "bytes of a frame without FCS", reset: 0, least: 60, most: 8191 };
pub const TABLE_LENGTH: Word = Word { name: "length", at: 1, fields: &[TABLE_LENGTH_BYTES] };
pub const TABLE_START_FIRST_BEAT: Field = Field { name: "first_beat", low: 0, width: 13, access: Access::Setting, unit: "", about: "beats", reset: 0, least: 0, most: 4095 };
pub const TABLE_START_STREAM: Field = Field { name: "stream", low: 17, width: 5, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 31 };
pub const TABLE_START_SIGNATURE_AT: Field = Field { name: "signature_at", low: 23, width: 8, access: Access::Setting, unit: "", about: "halfwords from the start of the frame", reset: 0, least: 0, most: 255 };
pub const TABLE_START_SIGNED: Field = Field { name: "signed", low: 31, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };
/// Where the stored bytes and the signature are.
pub const TABLE_START: Word = Word { name: "start", at: 2, fields: &[TABLE_START_FIRST_BEAT, TABLE_START_STREAM, TABLE_START_SIGNATURE_AT, TABLE_START_SIGNED] };
pub const TABLE_IP_LENGTH_UNCOUNTED: Field = Field { name: "uncounted", low: 0, width: 8, access: Access::Setting, unit: "", about: "bytes of the frame that it does not count", reset: 0, least: 0, most: 255 };
pub const TABLE_IP_LENGTH_AT: Field = Field { name: "at", low: 23, width: 8, access: Access::Setting, unit: "", about: "halfwords from the start of the frame", reset: 0, least: 0, most: 255 };
pub const TABLE_IP_LENGTH_ENABLE: Field = Field { name: "enable", low: 31, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };
/// The length of IPv4 or IPv6.
pub const TABLE_IP_LENGTH: Word = Word { name: "ip_length", at: 3, fields: &[TABLE_IP_LENGTH_UNCOUNTED, TABLE_IP_LENGTH_AT, TABLE_IP_LENGTH_ENABLE] };
pub const TABLE_L4_LENGTH_UNCOUNTED: Field = Field { name: "uncounted", low: 0, width: 8, access: Access::Setting, unit: "", about: "bytes of the frame that it does not count", reset: 0, least: 0, most: 255 };
pub const TABLE_L4_LENGTH_PSEUDO: Field = Field { name: "pseudo", low: 22, width: 1, access: Access::Setting, unit: "", about: "the pseudo header has it", reset: 0, least: 0, most: 1 };
pub const TABLE_L4_LENGTH_AT: Field = Field { name: "at", low: 23, width: 8, access: Access::Setting, unit: "", about: "halfwords from the start of the frame", reset: 0, least: 0, most: 255 };
pub const TABLE_L4_LENGTH_ENABLE: Field = Field { name: "enable", low: 31, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };
/// The length of UDP.
pub const TABLE_L4_LENGTH: Word = Word { name: "l4_length", at: 4, fields: &[TABLE_L4_LENGTH_UNCOUNTED, TABLE_L4_LENGTH_PSEUDO, TABLE_L4_LENGTH_AT, TABLE_L4_LENGTH_ENABLE] };
pub const TABLE_CHECKS_L4_AT: Field = Field { name: "l4_at", low: 7, width: 8, access: Access::Setting, unit: "", about: "halfwords from the start of the frame", reset: 0, least: 0, most: 255 };
pub const TABLE_CHECKS_L4: Field = Field { name: "l4", low: 15, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };
pub const TABLE_CHECKS_IP_AT: Field = Field { name: "ip_at", low: 23, width: 8, access: Access::Setting, unit: "", about: "halfwords from the start of the frame", reset: 0, least: 0, most: 255 };
pub const TABLE_CHECKS_IP: Field = Field { name: "ip", low: 31, width: 1, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 1 };
/// The checksums of UDP or TCP, and of IPv4.
pub const TABLE_CHECKS: Word = Word { name: "checks", at: 5, fields: &[TABLE_CHECKS_L4_AT, TABLE_CHECKS_L4, TABLE_CHECKS_IP_AT, TABLE_CHECKS_IP] };
pub const TABLE_STORED_BEATS: Field = Field { name: "beats", low: 0, width: 8, access: Access::Setting, unit: "", about: "beats; the rest of the frame is zeros", reset: 0, least: 0, most: 255 };
pub const TABLE_STORED: Word = Word { name: "stored", at: 6, fields: &[TABLE_STORED_BEATS] };

/// Fields that vary from frame to frame.
pub const FIELDS: Memory = Memory { name: "fields", number: 2, item: "field", items: 4, stride: 8, words: &[FIELDS_USED_BY, FIELDS_FLAGS, FIELDS_FIRST, FIELDS_LAST, FIELDS_STEP, FIELDS_BEGIN] };
pub const FIELDS_USED_BY_TEMPLATES: Field = Field { name: "templates", low: 0, width: 32, access: Access::Setting, unit: "", about: "templates that have it, a bit for each", reset: 0, least: 0, most: 4294967295 };
pub const FIELDS_USED_BY: Word = Word { name: "used_by", at: 0, fields: &[FIELDS_USED_BY_TEMPLATES] };
pub const FIELDS_FLAGS_AT: Field = Field { name: "at", low: 0, width: 8, access: Access::Setting, unit: "", about: "halfwords from the start of the frame", reset: 0, least: 0, most: 255 };
pub const FIELDS_FLAGS_IN_L4: Field = Field { name: "in_l4", low: 8, width: 1, access: Access::Setting, unit: "", about: "the checksum of UDP or TCP covers it", reset: 0, least: 0, most: 1 };
pub const FIELDS_FLAGS_IN_IP: Field = Field { name: "in_ip", low: 9, width: 1, access: Access::Setting, unit: "", about: "the checksum of IPv4 covers it", reset: 0, least: 0, most: 1 };
pub const FIELDS_FLAGS_WIDE: Field = Field { name: "wide", low: 10, width: 1, access: Access::Setting, unit: "", about: "two halfwords instead of one", reset: 0, least: 0, most: 1 };
pub const FIELDS_FLAGS_MODE: Field = Field { name: "mode", low: 11, width: 2, access: Access::Setting, unit: "", about: "modes: 0 counts, 1 goes through the list, 2 is pseudo-random", reset: 0, least: 0, most: 2 };
pub const FIELDS_FLAGS: Word = Word { name: "flags", at: 1, fields: &[FIELDS_FLAGS_AT, FIELDS_FLAGS_IN_L4, FIELDS_FLAGS_IN_IP, FIELDS_FLAGS_WIDE, FIELDS_FLAGS_MODE] };
pub const FIELDS_FIRST: Word = Word { name: "first", at: 2, fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };
pub const FIELDS_LAST: Word = Word { name: "last", at: 3, fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };
pub const FIELDS_STEP: Word = Word { name: "step", at: 4, fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };
/// The value of the first frame; the seed if pseudo-random.
pub const FIELDS_BEGIN: Word = Word { name: "begin", at: 5, fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// Gaps of the list.
pub const GAPS: Memory = Memory { name: "gaps", number: 3, item: "", items: 4096, stride: 1, words: &[GAPS_WORD] };
pub const GAPS_WORD: Word = Word { name: "word", at: 0, fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "ticks", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// Templates and lengths of the list.
pub const SIZES: Memory = Memory { name: "sizes", number: 4, item: "", items: 4096, stride: 1, words: &[SIZES_WORD] };
pub const SIZES_WORD_BYTES: Field = Field { name: "bytes", low: 0, width: 13, access: Access::Setting, unit: "", about: "bytes of a frame without FCS, or 0 for the template's", reset: 0, least: 0, most: 8191 };
pub const SIZES_WORD_TEMPLATE: Field = Field { name: "template", low: 16, width: 5, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 31 };
pub const SIZES_WORD: Word = Word { name: "word", at: 0, fields: &[SIZES_WORD_BYTES, SIZES_WORD_TEMPLATE] };

/// Values of fields that go through a list.
pub const VALUES: Memory = Memory { name: "values", number: 5, item: "", items: 256, stride: 1, words: &[VALUES_WORD] };
pub const VALUES_WORD: Word = Word { name: "word", at: 0, fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// The next sequence number of each stream, without its upper 8 bits, which become 0.
pub const STREAMS: Memory = Memory { name: "streams", number: 6, item: "", items: 32, stride: 1, words: &[STREAMS_WORD] };
pub const STREAMS_WORD: Word = Word { name: "word", at: 0, fields: &[Field { name: "value", low: 0, width: 32, access: Access::Setting, unit: "", about: "", reset: 0, least: 0, most: 4294967295 }] };

/// All memories, by number.
pub const MEMORIES: &[Memory] = &[BEATS, TABLE, FIELDS, GAPS, SIZES, VALUES, STREAMS];
