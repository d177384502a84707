//! The language of the link between host and module (docs/fpga-reference.md): frames of an EtherType of its
//! own. Pure: bytes in, meaning out.
//!
//! ```text
//!   0          6       12     14   15   16     18     20      24     32
//!   │ to       │ from  │ type │ver.│kind│number│length│detail │value │ body …
//! ```

use super::register::Register;
use std::fmt;

/// IEEE 802, for local experiments.
pub const ETHERTYPE: u16 = 0x88b5;
/// Who a module is before it is known.
pub const MODULE: [u8; 6] = [0x02, 0x54, 0x41, 0x52, 0x45, 0x00];
pub const VERSION: u8 = 1;
/// Bytes before the body.
pub const HEAD: usize = 32;
/// Longest frame of the link.
pub const LONGEST: usize = 2_048;
/// Most registers that are read or written by one frame.
pub const MOST_WORDS: usize = 180;
/// Bytes that a credit stands for.
pub const BEAT: usize = 8;
/// Shortest frame of Ethernet, without FCS.
pub const SHORTEST: usize = 60;
/// Sums of credits are told modulo this.
pub const CREDITS: u64 = 1 << 48;
/// Departures are numbered modulo this in reports.
pub const DEPARTURES: u64 = 1 << 24;

/// Kinds of frames, as their byte.
pub mod kind {
    pub const HELLO: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const WRITE: u8 = 0x03;
    pub const FRAME: u8 = 0x04;
    pub const MARK: u8 = 0x05;
    pub const ANSWER: u8 = 0x80;
    pub const CREDIT: u8 = 0x90;
    pub const ERROR: u8 = 0x91;
    pub const RECEIVED: u8 = 0x92;
    pub const DEPARTED: u8 = 0x93;
}

/// What is before the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub to: [u8; 6],
    pub from: [u8; 6],
    pub kind: u8,
    pub number: u16,
    pub detail: u32,
    pub value: u64,
}

/// Why bytes are no frame of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Fewer bytes than the head.
    Short(usize),
    /// Another protocol.
    Foreign(u16),
    Version(u8),
    /// The body is said to be so long, and so much is there.
    Length {
        says: usize,
        has: usize,
    },
    Kind(u8),
    /// A body that is not a whole number of what it should hold.
    Body {
        kind: u8,
        bytes: usize,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Short(bytes) => write!(f, "{bytes} bytes are not a frame: its header has {HEAD}"),
            Self::Foreign(ethertype) => write!(f, "the EtherType is {ethertype:#06x}, not {ETHERTYPE:#06x}"),
            Self::Version(version) => {
                write!(f, "it uses version {version} of the link protocol, this program version {VERSION}")
            }
            Self::Length { says, has } => write!(f, "the body has {has} bytes instead of {says}"),
            Self::Kind(kind) => write!(f, "no frame is of kind {kind:#04x}"),
            Self::Body { kind, bytes } => {
                write!(f, "a frame of kind {kind:#04x} has a body of {bytes} bytes")
            }
        }
    }
}

impl Head {
    /// Writes a head for a body of `length` bytes.
    pub fn write(&self, room: &mut [u8; HEAD], length: u16) {
        room[..6].copy_from_slice(&self.to);
        room[6..12].copy_from_slice(&self.from);
        room[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        (room[14], room[15]) = (VERSION, self.kind);
        room[16..18].copy_from_slice(&self.number.to_le_bytes());
        room[18..20].copy_from_slice(&length.to_le_bytes());
        room[20..24].copy_from_slice(&self.detail.to_le_bytes());
        room[24..].copy_from_slice(&self.value.to_le_bytes());
    }

    /// A whole frame of the link, padded to the shortest of Ethernet.
    pub fn frame(&self, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; (HEAD + body.len()).max(SHORTEST)];
        if let Some(room) = bytes.first_chunk_mut() {
            self.write(room, body.len() as u16);
        }
        bytes[HEAD..HEAD + body.len()].copy_from_slice(body);
        bytes
    }

    /// Head and body of a frame.
    ///
    /// # Errors
    /// It is none of the link's, of another version, or cut off.
    pub fn read(frame: &[u8]) -> Result<(Self, &[u8]), Broken> {
        let Some(head) = frame.first_chunk::<HEAD>() else { return Err(Broken::Short(frame.len())) };
        let ethertype = u16::from_be_bytes([head[12], head[13]]);
        if ethertype != ETHERTYPE {
            return Err(Broken::Foreign(ethertype));
        }
        if head[14] != VERSION {
            return Err(Broken::Version(head[14]));
        }
        let says = usize::from(u16::from_le_bytes([head[18], head[19]]));
        let body = frame.get(HEAD..HEAD + says);
        let body = body.ok_or(Broken::Length { says, has: frame.len() - HEAD })?;
        let (to, from) = (array(head, 0), array(head, 6));
        let (detail, value) = (u32::from_le_bytes(array(head, 20)), u64::from_le_bytes(array(head, 24)));
        let number = u16::from_le_bytes(array(head, 16));
        Ok((Self { to, from, kind: head[15], number, detail, value }, body))
    }
}

fn array<const N: usize>(head: &[u8; HEAD], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&head[at..at + N]);
    bytes
}

/// When a frame shall leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    AtOnce,
    /// At this tick.
    At(u64),
    /// So many ticks after the start of the frame before.
    AfterStart(u64),
    /// So many ticks after the time at which the frame before was due.
    AfterDue(u64),
}

impl Leaves {
    /// Detail and value of a frame, whose signature is at this halfword.
    pub fn words(self, signature_at: Option<u16>) -> (u32, u64) {
        let (from, value) = match self {
            Self::AtOnce => (0, 0),
            Self::At(tick) => (1, tick),
            Self::AfterStart(ticks) => (2, ticks),
            Self::AfterDue(ticks) => (3, ticks),
        };
        (signature_at.map_or(from, |at| from | 1 << 8 | u32::from(at) << 16), value)
    }

    /// What detail and value of a frame mean.
    pub fn read(detail: u32, value: u64) -> Self {
        match detail & 3 {
            0 => Self::AtOnce,
            1 => Self::At(value),
            2 => Self::AfterStart(value),
            _ => Self::AfterDue(value),
        }
    }
}

/// Beats that a frame uses credits for.
pub const fn beats(length: usize) -> u64 {
    length.div_ceil(BEAT) as u64
}

/// One word for each register, as bodies of reads and writes have it.
pub fn words(pairs: impl IntoIterator<Item = (u32, u32)>) -> Vec<u8> {
    let beat = |(address, value): (u32, u32)| u64::from(address) | u64::from(value) << 32;
    pairs.into_iter().flat_map(|pair| beat(pair).to_le_bytes()).collect()
}

/// What words of registers say: address and value.
pub fn read_words(body: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    beats_of(body).map(|beat| (beat as u32, (beat >> 32) as u32))
}

fn beats_of(body: &[u8]) -> impl Iterator<Item = u64> {
    body.as_chunks::<BEAT>().0.iter().map(|beat| u64::from_le_bytes(*beat))
}

/// Why the module refused something, or what it has to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Version,
    Kind,
    Length,
    Time,
    Credit,
    Lost,
    Address,
    State,
    Silent,
    Wire,
    Place,
    /// One that this program does not know.
    Other(u8),
}

impl Why {
    /// All that have a name, in the order of their numbers, from 1.
    pub const NAMED: [Self; 11] = [
        Self::Version,
        Self::Kind,
        Self::Length,
        Self::Time,
        Self::Credit,
        Self::Lost,
        Self::Address,
        Self::State,
        Self::Silent,
        Self::Wire,
        Self::Place,
    ];

    pub fn of(number: u8) -> Self {
        let at = usize::from(number).checked_sub(1);
        at.and_then(|at| Self::NAMED.get(at).copied()).unwrap_or(Self::Other(number))
    }

    pub fn number(self) -> u8 {
        match self {
            Self::Other(number) => number,
            named => Self::NAMED.iter().position(|why| *why == named).map_or(0, |at| at as u8 + 1),
        }
    }

    /// What the page calls it (docs/fpga-reference.md); one without a name has its number.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Version => "version",
            Self::Kind => "kind",
            Self::Length => "length",
            Self::Time => "time",
            Self::Credit => "credit",
            Self::Lost => "lost",
            Self::Address => "address",
            Self::State => "state",
            Self::Silent => "silent",
            Self::Wire => "wire",
            Self::Place => "place",
            Self::Other(_) => return None,
        })
    }

    /// What a register of the module counts, if it counts errors of one kind.
    pub fn counted_by(register: &Register) -> Option<Self> {
        let number = register.name.strip_prefix("link_errors")?.parse().ok()?;
        Some(Self::of(number)).filter(|why| why.name().is_some())
    }

    /// What it means, with the value that came along.
    pub fn says(self, value: u64) -> String {
        match self {
            Self::Version => format!("it uses another version of the link protocol than {value}"),
            Self::Kind => format!("it does not know frames of kind {value:#04x}"),
            Self::Length => format!("a length of {value} bytes is impossible"),
            Self::Time => format!("{value} · 2⁴⁸ ticks are too far away"),
            Self::Credit => format!("there was no room for it: {value} credits were outstanding"),
            Self::Lost => format!("frames were lost on the link: it expected number {value}"),
            Self::Address => format!("it has no register at {value:#05x}"),
            Self::State => "it does not accept frames now: its generator uses the wire".to_owned(),
            Self::Silent => "it received nothing from the host for too long".to_owned(),
            Self::Wire if value == 0 => "its wire has no link".to_owned(),
            Self::Wire => "its wire has a link again".to_owned(),
            Self::Place => {
                format!("a signature at halfword {value} is not inside the frame, or is beyond halfword 255")
            }
            Self::Other(number) => format!("error {number} ({value})"),
        }
    }
}

/// A departure, as a report has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub start_tick: u64,
    pub late_ticks: u64,
    /// Modulo [`DEPARTURES`].
    pub number: u32,
}

/// Bits of a report's lateness.
const LATE_BITS: u32 = 40;

impl Report {
    pub fn bytes(&self) -> [u8; 2 * BEAT] {
        let late = self.late_ticks.min((1 << LATE_BITS) - 1);
        let second = late | (u64::from(self.number) % DEPARTURES) << LATE_BITS;
        let mut bytes = [0; 2 * BEAT];
        bytes[..BEAT].copy_from_slice(&self.start_tick.to_le_bytes());
        bytes[BEAT..].copy_from_slice(&second.to_le_bytes());
        bytes
    }
}

/// What a module says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    Hello {
        build: u32,
        layout: u32,
        magic: u32,
    },
    /// Beats with address and value ([`read_words`]).
    Read(&'a [u8]),
    Written(u32),
    Marked {
        mark: u16,
        tick: u64,
    },
    Credit {
        now: u32,
        /// Since hello.
        total: u64,
    },
    Error {
        why: Why,
        /// Of the frame that is refused.
        kind: u8,
        value: u64,
    },
    Received {
        bad: bool,
        tick: u64,
        frame: &'a [u8],
    },
    Departed {
        /// Since hello, for want of room.
        untold: u64,
        /// Two beats for each ([`reports`]).
        reports: &'a [u8],
    },
}

impl<'a> Said<'a> {
    /// What head and body mean.
    ///
    /// # Errors
    /// The kind is none of a module's, or the body does not fit it.
    pub fn read(head: &Head, body: &'a [u8]) -> Result<Self, Broken> {
        const READ: u8 = kind::ANSWER | kind::READ;
        let whole = |of: usize| match body.len() % of {
            0 => Ok(body),
            _ => Err(Broken::Body { kind: head.kind, bytes: body.len() }),
        };
        let (detail, value) = (head.detail, head.value);
        Ok(match head.kind {
            0x81 => Self::Hello { build: detail, layout: value as u32, magic: (value >> 32) as u32 },
            READ => Self::Read(whole(BEAT)?),
            0x83 => Self::Written(detail),
            0x85 => Self::Marked { mark: detail as u16, tick: value },
            kind::CREDIT => Self::Credit { now: detail, total: value },
            kind::ERROR => Self::Error { why: Why::of(detail as u8), kind: (detail >> 8) as u8, value },
            kind::RECEIVED => Self::Received { bad: detail & 1 != 0, tick: value, frame: body },
            kind::DEPARTED => {
                let reports = whole(2 * BEAT)?;
                if reports.len() / (2 * BEAT) != detail as usize {
                    return Err(Broken::Body { kind: head.kind, bytes: body.len() });
                }
                Self::Departed { untold: value, reports }
            }
            other => return Err(Broken::Kind(other)),
        })
    }
}

/// The departures of a report's body.
pub fn reports(body: &[u8]) -> impl Iterator<Item = Report> {
    body.as_chunks::<{ 2 * BEAT }>().0.iter().map(|pair| {
        let (first, second) = pair.split_at(BEAT);
        let beat = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let second = beat(second);
        Report {
            start_tick: beat(first),
            late_ticks: second & ((1 << LATE_BITS) - 1),
            number: (second >> LATE_BITS) as u32,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOST: [u8; 6] = [2, 0, 0, 0, 0, 9];

    fn head(kind: u8, detail: u32, value: u64) -> Head {
        Head { to: MODULE, from: HOST, kind, number: 0x0102, detail, value }
    }

    #[test]
    fn the_bytes_are_those_of_the_page() {
        let bytes = head(kind::FRAME, 0x1234_0101, 0x1122_3344_5566_7788).frame(&[0xaa; 60]);
        assert_eq!(bytes.len(), 92);
        assert_eq!(bytes[..16], [2, 0x54, 0x41, 0x52, 0x45, 0, 2, 0, 0, 0, 0, 9, 0x88, 0xb5, 1, 4]);
        assert_eq!(
            bytes[16..32],
            [2, 1, 60, 0, 1, 1, 0x34, 0x12, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]
        );
        assert_eq!(bytes[32..], [0xaa; 60]);
        // Without a body it is padded.
        assert_eq!(head(kind::HELLO, 0, 0).frame(&[]).len(), 60);
    }

    #[test]
    fn departures_are_said_as_the_page_has_it() {
        assert_eq!(Leaves::AtOnce.words(None), (0, 0));
        assert_eq!(Leaves::At(77).words(Some(21)), (0x0015_0101, 77));
        assert_eq!(Leaves::AfterStart(5).words(None), (2, 5));
        assert_eq!(Leaves::AfterDue(6).words(None), (3, 6));
        for leaves in [Leaves::AtOnce, Leaves::At(9), Leaves::AfterStart(9), Leaves::AfterDue(9)] {
            let (detail, value) = leaves.words(Some(200));
            assert_eq!(Leaves::read(detail, value), leaves);
        }
        assert_eq!([0, 1, 8, 9, 60, 1514].map(beats), [0, 1, 1, 2, 8, 190]);
    }

    #[test]
    fn what_is_no_frame_of_the_link_is_told_apart() {
        let good = head(kind::MARK, 0, 7).frame(&[]);
        assert_eq!(Head::read(&good[..31]), Err(Broken::Short(31)));
        let bent = |at: usize, to: u8| {
            let mut bytes = good.clone();
            bytes[at] = to;
            bytes
        };
        assert_eq!(Head::read(&bent(13, 0)), Err(Broken::Foreign(0x8800)));
        assert_eq!(Head::read(&bent(14, 2)), Err(Broken::Version(2)));
        assert_eq!(Head::read(&bent(18, 29)), Err(Broken::Length { says: 29, has: 28 }));
        let (read, body) = Head::read(&good).unwrap();
        assert_eq!(Said::read(&read, body), Err(Broken::Kind(5)));
        let departed = head(kind::DEPARTED, 2, 0);
        let one = [0; 16];
        assert_eq!(Said::read(&departed, &one), Err(Broken::Body { kind: 0x93, bytes: 16 }));
        assert_eq!(Said::read(&head(0x82, 1, 0), &one[..9]), Err(Broken::Body { kind: 0x82, bytes: 9 }));
        assert!(Broken::Version(2).to_string().contains("version 2"));
    }

    #[test]
    fn errors_have_their_numbers() {
        for (n, why) in Why::NAMED.iter().enumerate() {
            assert_eq!((Why::of(n as u8 + 1), why.number()), (*why, n as u8 + 1));
        }
        assert_eq!((Why::of(0), Why::of(12)), (Why::Other(0), Why::Other(12)));
        assert_eq!((Why::Credit.number(), Why::Wire.number()), (5, 10));
        assert!(Why::Length.says(10_000).contains("10000"));
        // The page names them so, and the registers count them so.
        let page = include_str!("../../../../docs/fpga-reference.md");
        for why in Why::NAMED {
            let (number, name) = (why.number(), why.name().unwrap());
            assert!(page.contains(&format!("\n| {number} | {name} |")), "{name}");
            let register = Register::named(&format!("link_errors{number}")).unwrap();
            assert_eq!(Why::counted_by(register), Some(why));
        }
        let others = ["link_errors0", "link_bad"].map(|name| Why::counted_by(Register::named(name).unwrap()));
        assert_eq!(others, [None, None]);
    }

    proptest! {
        #[test]
        fn heads_and_bodies_are_read_back(
            kind in any::<u8>(), number in any::<u16>(), detail in any::<u32>(), value in any::<u64>(),
            body in proptest::collection::vec(any::<u8>(), 0..LONGEST - HEAD),
        ) {
            let head = Head { to: HOST, from: MODULE, kind, number, detail, value };
            let bytes = head.frame(&body);
            prop_assert_eq!(Head::read(&bytes), Ok((head, &body[..])));
        }

        #[test]
        fn words_and_reports_are_read_back(
            pairs in proptest::collection::vec(any::<(u32, u32)>(), 0..MOST_WORDS),
            told in proptest::collection::vec((any::<u64>(), 0_u64..1 << 40, 0_u32..1 << 24), 0..32),
        ) {
            prop_assert_eq!(read_words(&words(pairs.clone())).collect::<Vec<_>>(), pairs);
            let report = |(start_tick, late_ticks, number)| Report { start_tick, late_ticks, number };
            let all: Vec<Report> = told.into_iter().map(report).collect();
            let bytes: Vec<u8> = all.iter().flat_map(Report::bytes).collect();
            prop_assert_eq!(reports(&bytes).collect::<Vec<_>>(), all);
        }

        #[test]
        fn no_bytes_make_it_fail(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..120), kind in 0x80_u8..0x96,
        ) {
            let _ = Head::read(&bytes);
            if bytes.len() > 19 {
                bytes[12..16].copy_from_slice(&[0x88, 0xb5, 1, kind]);
                bytes[19] = 0;
                if let Ok((head, body)) = Head::read(&bytes) {
                    match Said::read(&head, body) {
                        Ok(Said::Read(body)) => drop(read_words(body).count()),
                        Ok(Said::Departed { reports: body, .. }) => drop(reports(body).count()),
                        _ => {}
                    }
                }
            }
        }
    }
}
