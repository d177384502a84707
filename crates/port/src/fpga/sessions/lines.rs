//! The lines that a simulation with sessions reports (hdl/session/sim/session.cpp).

use std::fmt;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longer lines are none of ours.
const LONGEST: usize = 1 << 14;

/// How a departure ended, in the module's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    Done,
    /// No session was free.
    Missed,
    /// The response is complete, and its status is not expected.
    Status,
    Length,
    Malformed,
    /// A header came out of order, and nothing keeps it.
    Hole,
    /// The connection ended inside the response.
    Cut,
    TimedOut,
    Reset,
    Refused,
    Unreachable,
    Aborted,
    /// The response is complete, but the sum of its body is another.
    Sum,
}

impl RowOutcome {
    /// In the module's order, with its words.
    const ALL: [(&str, Self); 13] = [
        ("done", Self::Done),
        ("missed", Self::Missed),
        ("status", Self::Status),
        ("length", Self::Length),
        ("malformed", Self::Malformed),
        ("hole", Self::Hole),
        ("cut", Self::Cut),
        ("timed_out", Self::TimedOut),
        ("reset", Self::Reset),
        ("refused", Self::Refused),
        ("unreachable", Self::Unreachable),
        ("aborted", Self::Aborted),
        ("sum", Self::Sum),
    ];

    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, outcome)| *outcome)
    }
}

/// A departure's end. Times are ticks after `due`, 0 for what did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub outcome: RowOutcome,
    pub session: u32,
    pub status: u16,
    pub due: u64,
    pub sent: u32,
    pub connected: u32,
    pub first: u32,
    pub done: u32,
    /// Bytes of the body.
    pub body: u32,
    /// Bytes of the request that left, and of the response that came, heads included.
    pub request: u32,
    pub response: u32,
    /// CRC-32 of the body of a complete response, where it was asked for.
    pub sum: Option<u32>,
    /// The same of the bytes that passed on the wire, where all are known.
    pub passed: Option<u32>,
}

/// Counts of the whole simulation, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures(Vec<(String, u64)>);

impl Figures {
    /// Whether there are none: the simulation did not tell them.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// 0 if there is none of that name.
    pub fn of(&self, name: &str) -> u64 {
        self.0.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count)
    }
}

/// `NAME VALUE NAME VALUE …`
impl std::str::FromStr for Figures {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split(' ').collect();
        let pair = |pair: &[&str]| Some((pair.first()?.to_string(), pair.get(1)?.parse().ok()?));
        words.chunks(2).map(pair).collect::<Option<_>>().map(Self).ok_or("expected names and numbers")
    }
}

/// What ended in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Departures by outcome, in its order.
    pub outcomes: [u64; RowOutcome::ALL.len()],
    /// Of those that were done: gross, net and first byte in ticks, as in the histograms, and bytes of bodies.
    pub sums: [u64; 4],
}

impl Tally {
    fn of(numbers: &[u64]) -> Option<Self> {
        let (outcomes, sums) = numbers.split_at_checked(RowOutcome::ALL.len())?;
        Some(Self { outcomes: outcomes.try_into().ok()?, sums: sums.try_into().ok()? })
    }
}

/// Without outcomes that it has none of; done is always there.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gross, net, first, bytes] = self.sums;
        for (n, ((word, _), count)) in RowOutcome::ALL.iter().zip(self.outcomes).enumerate() {
            if n == 0 || count > 0 {
                write!(f, "{word} {count}, ")?;
            }
        }
        write!(f, "gross {gross}, net {net}, first byte {first}, bytes {bytes}")
    }
}

/// What the module's histograms are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Of what was done: from due to the last byte of the response.
    Gross,
    /// From the first byte of the request on.
    Net,
    /// From the SYN of a connection to its answer.
    Connect,
    /// From the first byte of the request, or from the connection that it had of its own, to the first byte.
    FirstByte,
}

impl Figure {
    pub const ALL: [Self; 4] = [Self::Gross, Self::Net, Self::Connect, Self::FirstByte];

    /// As the simulation has it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Gross => "gross",
            Self::Net => "net",
            Self::Connect => "connect",
            Self::FirstByte => "first_byte",
        }
    }

    /// The bin of a time in ticks (`hdl/rtl/histogram.sv`): up to 31 the time, then 32 for each power of two.
    pub const fn bin(ticks: u32) -> u16 {
        if ticks < 32 {
            return ticks as u16;
        }
        let power = ticks.ilog2();
        (32 * (power - 4) + (ticks >> (power - 5)) % 32) as u16
    }
}

/// What is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    Row(Row),
    /// That tick has come.
    Now(u64),
    /// A session's connection was made in so many ticks, where that is no part of a departure.
    Connected {
        session: u32,
        ticks: u32,
    },
    /// What ended in the interval of that number, when it is over, and at the end.
    Interval(u64, Tally),
    /// A request that left at that tick has no outcome. Of the end.
    Way(u64),
    /// So many times are in a bin of the module's histogram, of those that have any. Of the end.
    Bin(Figure, u16, u32),
    /// The last line.
    End(Figures),
    /// Nothing more comes. Without an end before it, the simulation died.
    Gone,
}

impl Report {
    fn of(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let first = words.next()?;
        let mut number = || words.next()?.parse::<u64>().ok();
        Some(match first {
            "now" => Self::Now(number()?),
            "way" => {
                number()?;
                Self::Way(number()?)
            }
            "connected" => {
                Self::Connected { session: number()?.try_into().ok()?, ticks: number()?.try_into().ok()? }
            }
            "bin" => {
                let figure =
                    words.next().and_then(|word| Figure::ALL.into_iter().find(|one| one.key() == word))?;
                let mut small = || words.next()?.parse::<u32>().ok();
                Self::Bin(figure, small()?.try_into().ok()?, small()?)
            }
            "row" => {
                let interval = number()?;
                let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
                Self::Interval(interval, Tally::of(&numbers?)?)
            }
            "end" => Self::End(line.strip_prefix("end ")?.parse().ok()?),
            word => {
                let outcome = RowOutcome::of(word)?;
                let mut small = || number()?.try_into().ok();
                let (session, status): (u32, u32) = (small()?, small()?);
                let due = number()?;
                let mut small = || number()?.try_into().ok();
                Self::Row(Row {
                    outcome,
                    session,
                    status: status.try_into().ok()?,
                    due,
                    sent: small()?,
                    connected: small()?,
                    first: small()?,
                    done: small()?,
                    body: small()?,
                    request: small()?,
                    response: small()?,
                    sum: sum(words.next()?)?,
                    passed: sum(words.next()?)?,
                })
            }
        })
    }
}

/// A sum, or none.
fn sum(word: &str) -> Option<Option<u32>> {
    if word == "-" { Some(None) } else { word.parse().ok().map(Some) }
}

/// The host's end of the socket.
#[derive(Debug)]
pub(super) struct Lines {
    socket: UnixStream,
    room: Vec<u8>,
    /// Of `room`: what has come and was not taken.
    from: usize,
    to: usize,
    patience: Option<Duration>,
}

impl Lines {
    pub fn of(socket: UnixStream) -> Self {
        Self { socket, room: vec![0; 2 * LONGEST], from: 0, to: 0, patience: None }
    }

    pub fn hang_up(&self, how: Shutdown) {
        // It may be gone already.
        let _ = self.socket.shutdown(how);
    }

    pub fn next(&mut self, patience: Duration) -> io::Result<Option<Report>> {
        loop {
            let waiting = &self.room[self.from..self.to];
            if let Some(length) = waiting.iter().position(|byte| *byte == b'\n') {
                let line = std::str::from_utf8(&waiting[..length]).unwrap_or("bytes that are not text");
                let report = Report::of(line).ok_or_else(|| {
                    io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("it reported '{line}', which is unknown"),
                    )
                });
                self.from += length + 1;
                return report.map(Some);
            }
            if waiting.len() > LONGEST {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it reported a line that does not end",
                ));
            }
            self.room.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
            if self.patience != Some(patience) {
                self.socket.set_read_timeout(Some(patience))?;
                self.patience = Some(patience);
            }
            match self.socket.read(&mut self.room[self.to..]) {
                Ok(0) => return Ok(Some(Report::Gone)),
                Ok(length) => self.to += length,
                Err(error) => {
                    return match error.kind() {
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {
                            Ok(None)
                        }
                        io::ErrorKind::ConnectionReset => Ok(Some(Report::Gone)),
                        _ => Err(error),
                    };
                }
            }
        }
    }
}
