//! A session and a hand that plays its peer: what arrives is typed, what is sent is a line of text.
//!
//! ```text
//! [SYN] 1000                     a segment without payload and without ACK
//! [PSH+ACK] 1001+100 ack 5001    100 bytes of payload
//! ```

use crate::json;
use std::fmt::Write;
use tcp::{Arrived, Event, Notice, Options, Path, Record, State, Step, Time, step};
use wire::tcp::flag;

pub const ACK: u8 = flag::ACK;
pub const SYN: u8 = flag::SYN;
pub const FIN: u8 = flag::FIN;
pub const RST: u8 = flag::RST;
pub const PSH: u8 = flag::PSH;

pub struct Talk {
    pub path: Path,
    pub r: Record,
    pub now_us: u64,
    pub last: Option<Step>,
}

impl Talk {
    /// SYN sent at 1000, over IPv4 without timestamps, SACK and window scale, so that numbers are plain.
    pub fn opening() -> Self {
        Self::opening_on(Path { stamps: false, sack: false, shift: 0, ..Path::v4(1500) })
    }

    pub fn opening_on(path: Path) -> Self {
        let mut talk = Self { path, r: Record::default(), now_us: 1_000_000, last: None };
        talk.does(Event::Open { isn: 1000, patience_ms: 10_000 });
        talk
    }

    /// Connected: 1001 is the next number to send, 5001 the next that is expected, and no ACK is owed.
    pub fn open() -> Self {
        let mut talk = Self::opening();
        talk.now_us += 30_000;
        let mss = Options { mss: Some(1460), ..Options::default() };
        talk.hears_with(SYN | ACK, 5000, 1001, 0, 8192, mss);
        assert_eq!(talk.r.state, State::Established);
        talk.does(Event::Flush);
        talk
    }

    /// The same with all options, and round-trip times of 30 ms known.
    pub fn open_with_options() -> Self {
        let mut path = Path::v4(1500);
        path.sample(30_000);
        let mut talk = Self::opening_on(path);
        talk.now_us += 30_000;
        let options = Options {
            mss: Some(1460),
            shift: Some(7),
            sack_permitted: true,
            stamps: Some((7000, 1000)),
            ..Options::default()
        };
        talk.hears_with(SYN | ACK, 5000, 1001, 0, 8192, options);
        talk.does(Event::Flush);
        talk
    }

    /// Connected, with a request of 100 bytes on its way and 10 s of patience.
    pub fn asking() -> Self {
        let mut talk = Self::open();
        assert_eq!(talk.asks(100), "[PSH+ACK] 1001+100 ack 5001");
        talk
    }

    pub fn does(&mut self, event: Event) -> String {
        let made = step(&self.path, self.r, event, Time::from_micros(self.now_us));
        self.r = made.record;
        self.last = Some(made);
        made.segment.map_or_else(String::new, |segment| {
            let of = json::segment(&segment);
            let mut line = format!("[{}] {}", of["flags"].as_str().unwrap(), segment.seq);
            if let Some(payload) = segment.payload {
                write!(line, "+{}", payload.len).unwrap();
            }
            if segment.flags & ACK != 0 {
                write!(line, " ack {}", segment.ack).unwrap();
            }
            line
        })
    }

    pub fn asks(&mut self, len: u16) -> String {
        self.does(Event::Send { len, close: false, patience_ms: 10_000 })
    }

    pub fn hears(&mut self, flags: u8, seq: u32, ack: u32, len: u32) -> String {
        let options = Options {
            stamps: self.r.has(tcp::Flags::STAMPED).then_some((self.r.ts_recent + 1, 1)),
            ..Options::default()
        };
        self.hears_with(flags, seq, ack, len, 8192, options)
    }

    pub fn hears_with(
        &mut self,
        flags: u8,
        seq: u32,
        ack: u32,
        len: u32,
        window: u16,
        options: Options,
    ) -> String {
        self.does(Event::Segment(Arrived { seq, ack, flags, window, len, options }))
    }

    /// The peer's window is now this.
    pub fn hears_window(&mut self, window: u16) -> String {
        let (seq, ack) = (self.r.rcv_nxt, self.r.snd_una);
        self.hears_with(ACK, seq, ack, 0, window, Options::default())
    }

    /// Lets time pass to this many milliseconds from now, with a timer event.
    pub fn after_ms(&mut self, ms: u64) -> String {
        self.now_us += ms * 1000;
        self.does(Event::Timer)
    }

    /// When the record wants its timer, in milliseconds from now.
    pub fn next_ms(&self) -> Option<i64> {
        let deadline = self.r.next_deadline()?.as_wrapped();
        Some(i64::from(deadline) - (self.now_us / 1000) as i64)
    }

    pub fn notices(&self) -> Vec<Notice> {
        self.last.as_ref().map_or_else(Vec::new, |step| step.notices.to_vec())
    }

    pub fn has_said(&self, notice: Notice) -> bool {
        self.notices().contains(&notice)
    }

    /// The options of the last segment.
    pub fn options(&self) -> Options {
        self.last.and_then(|step| step.segment).expect("a segment was sent").options
    }

    /// Everything that could be sent now: a flush.
    pub fn flushes(&mut self) -> String {
        self.does(Event::Flush)
    }
}
