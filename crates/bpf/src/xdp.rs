//! Words of XDP: what a program sees, and what it may answer.

/// What an XDP program answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Action {
    /// A mistake of the program: dropped, and counted by the kernel as one.
    Aborted = 0,
    Drop = 1,
    /// On to the kernel's stack.
    Pass = 2,
    /// Out again where it came in.
    Transmit = 3,
    /// To where the last redirect helper said.
    Redirect = 4,
}

/// Offsets in `struct xdp_md`, a program's argument in `R1`; each is a `Word`.
pub mod context {
    pub const DATA: i16 = 0;
    pub const DATA_END: i16 = 4;
    pub const DATA_META: i16 = 8;
    pub const INGRESS_INTERFACE: i16 = 12;
    pub const RX_QUEUE: i16 = 16;
}

/// Where in the kernel's path an XDP program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum XdpMode {
    /// In the driver, before there is an sk_buff.
    Native,
    /// After the driver, on any device ("skb mode").
    Generic,
}

impl XdpMode {
    pub(crate) const fn flags(self) -> u32 {
        match self {
            Self::Generic => 1 << 1,
            Self::Native => 1 << 2,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Generic => "generic",
        }
    }
}
