//! One instruction, as the kernel reads it (RFC 9669): eight bytes, little-endian on every machine that Tare
//! runs on.
//!
//! ```text
//!  63            32 31       16 15  12 11   8 7       0
//! ┌────────────────┬───────────┬──────┬──────┬─────────┐
//! │   immediate    │  offset   │ src  │ dst  │ opcode  │
//! └────────────────┴───────────┴──────┴──────┴─────────┘
//! ```

/// A register of the BPF machine. `R0` is what a call returns, `R1`–`R5` are arguments and lost in a call,
/// `R6`–`R9` are kept, `R10` is the frame pointer (its stack grows down to −512) and cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// How many bytes a load or store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    Byte,
    /// Two bytes.
    Half,
    /// Four bytes.
    Word,
    /// Eight bytes.
    Double,
}

impl Size {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Word => 0x00,
            Self::Half => 0x08,
            Self::Byte => 0x10,
            Self::Double => 0x18,
        }
    }

    pub const fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
            Self::Double => 8,
        }
    }
}

/// Eight bytes of program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    pub code: u8,
    /// Destination in the low four bits, source in the high four.
    pub registers: u8,
    pub offset: i16,
    pub immediate: i32,
}

impl Instruction {
    pub(crate) const fn new(code: u8, dst: u8, src: u8, offset: i16, immediate: i32) -> Self {
        Self { code, registers: dst | src << 4, offset, immediate }
    }

    pub const fn dst(&self) -> u8 {
        self.registers & 15
    }

    pub const fn src(&self) -> u8 {
        self.registers >> 4
    }
}

macro_rules! helpers {
    ($($(#[$doc:meta])* $name:ident = $number:literal $text:literal,)+) => {
        /// A function of the kernel that programs may call; arguments in `R1`–`R5`, result in `R0`
        /// (bpf-helpers(7)).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Helper { $($(#[$doc])* $name = $number,)+ }

        impl Helper {
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

helpers! {
    /// (map, key) → pointer to the value, or 0.
    MapLookup = 1 "map_lookup_elem",
    /// (map, key, value, flags) → 0 or an error.
    MapUpdate = 2 "map_update_elem",
    MapDelete = 3 "map_delete_elem",
    /// () → nanoseconds of CLOCK_MONOTONIC.
    KtimeNs = 5 "ktime_get_ns",
    /// () → 32 random bits.
    Random = 7 "get_prandom_u32",
    /// () → number of this CPU.
    Cpu = 8 "get_smp_processor_id",
    /// () → tgid << 32 | tid.
    PidTgid = 14 "get_current_pid_tgid",
    /// (interface index, flags) → action.
    Redirect = 23 "redirect",
    /// (from, from_size, to, to_size, seed) → a checksum's difference.
    CsumDiff = 28 "csum_diff",
    /// (context, delta) → 0: room before the frame.
    XdpAdjustHead = 44 "xdp_adjust_head",
    /// (map, key, flags) → action.
    RedirectMap = 51 "redirect_map",
    /// (context, delta) → 0: room for metadata before the frame.
    XdpAdjustMeta = 54 "xdp_adjust_meta",
    /// (context, delta) → 0: a shorter or longer frame.
    XdpAdjustTail = 65 "xdp_adjust_tail",
    /// (context, parameters, size, flags) → what the routing table says.
    FibLookup = 69 "fib_lookup",
    /// (to, size, kernel pointer) → 0.
    ProbeReadKernel = 113 "probe_read_kernel",
    /// () → nanoseconds of CLOCK_BOOTTIME.
    KtimeBootNs = 125 "ktime_get_boot_ns",
    /// (count, function, context, flags) → rounds made.
    Loop = 181 "loop",
    /// (context, offset, to, length) → 0.
    XdpLoadBytes = 189 "xdp_load_bytes",
    /// (context, offset, from, length) → 0.
    XdpStoreBytes = 190 "xdp_store_bytes",
    /// () → nanoseconds of CLOCK_TAI.
    KtimeTaiNs = 208 "ktime_get_tai_ns",
}
