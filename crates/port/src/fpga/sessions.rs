//! `fpga:sim` with sessions: an HTTP load that the hardware makes by itself (`hdl/session`), simulated by a
//! program of its own.
//!
//! ```text
//!   host ── SessionLoad (arguments) ──► tare-session-sim ── wire ──► its own responder, or a tap of this host
//!        ◄── Report (lines of a socket) ──┘
//! ```
//!
//! The program ends when the socket does. The tap belongs to it, and goes with it. So does that of its other
//! wire, if it writes its results to a Redis.

mod due;
mod lines;
mod redis;

pub use due::{Due, Gap, MOST_MODULUS, MOST_PIECES, Piece};
pub use lines::{Figure, Figures, Report, Row, RowOutcome, Tally};
pub use redis::RedisWire;

use super::SIMULATION;
use super::process::{self, Process, SESSIONS};
use crate::interface::Interface;
use crate::{Address, PortError, PortKind};
use lines::Lines;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use units::Picos;

/// One cycle of the module's clock.
pub const TICK: Picos = Picos::from_nanos(8);
pub const TICKS_PER_SECOND: u64 = 125_000_000;
/// Sessions of the simulated module.
pub const MOST_SESSIONS: u32 = 8_192;
/// Its memory of requests: so many, and so many bytes in all.
pub const MOST_REQUESTS: usize = 64;
pub const MOST_BYTES: usize = 4_096;
/// Bytes of one segment.
pub const LONGEST_REQUEST: usize = 1_460;
/// Cycles in which it clears its memory of sessions, after which it opens connections.
pub const CLEARING: u64 = 8_200;
/// Digits of the one field that a request may have.
pub const FIELD: usize = 8;

/// Options of the responder.
const OF_RESPONDER: [&str; 2] = ["delay", "answer"];
const OF_FRAMES: [&str; 4] = ["wire", "traffic", "pcap", "carrier"];
const OF_TAP: [&str; 3] = ["address", "mac", "mtu"];
/// Headers of the responder's answer have 65 bytes or a few more.
const ANSWERS: std::ops::RangeInclusive<u32> = 80..=60_000;
const USUAL_ANSWER: u32 = 300;

/// What the field of a request holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The number of the departure, decimal, with zeros in front.
    Sequence,
    /// Random hexadecimal digits.
    Random,
}

/// A request: its bytes, and where in it a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub bytes: Vec<u8>,
    pub field: Option<(Field, usize)>,
}

/// What the sessions are to do. What does not fit the module's registers must not be in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLoad {
    pub target: SocketAddrV4,
    pub own: Ipv4Addr,
    pub mac: [u8; 6],
    /// Of the first session; the others' follow.
    pub port: u16,
    pub sessions: u32,
    /// A connection for each request, which the target closes.
    pub each: bool,
    /// Of a closed loop, none.
    pub due: Option<Due>,
    pub departures: u32,
    /// The tick of the first departure.
    pub first: u64,
    /// Ticks between openings of connections.
    pub open_gap: u32,
    pub timeout_ms: u32,
    /// Statuses that are expected.
    pub status: (u16, u16),
    /// Bodies are summed; all of a request's must have the sum of its first.
    pub same: bool,
    /// The tick in which the first interval starts, and the length of each.
    pub rows: (u64, u32),
    pub requests: Vec<Request>,
    /// From which sequence numbers and random digits start.
    pub secret: u32,
    /// The tick at which it ends at the latest.
    pub end: u64,
    /// Of the stream in Redis, if the module has a wire for that.
    pub key: String,
}

/// What an address says of a simulation with sessions. Nothing is open.
#[derive(Clone, Debug)]
pub struct SessionPort {
    address: Address,
    /// The responder's.
    delay: u64,
    answer: u32,
    /// The address of the tap, if the wire ends at one.
    device: Option<Ipv4Addr>,
    redis: Option<RedisWire>,
    seed: Option<u64>,
}

/// The first option that is for sessions alone.
pub(super) fn own_option(address: &Address) -> Option<&'static str> {
    OF_RESPONDER.iter().chain(&redis::OPTIONS).copied().find(|name| address.option(name).is_some())
}

impl SessionPort {
    /// Whether an address means a simulation, perhaps behind wrappers.
    pub fn is_meant(address: &Address) -> bool {
        let port = address.innermost();
        port.kind() == PortKind::Fpga && port.place() == SIMULATION
    }

    /// Reads the options.
    ///
    /// # Errors
    /// They are of frames, contradict each other, or have values that cannot be.
    pub fn read(address: &Address) -> Result<Self, PortError> {
        if address.inner().is_some() {
            return Err(address
                .wrong("wraps a simulation with sessions, which sends no frames to the host", "fpga:sim"));
        }
        let given =
            |options: &[&'static str]| options.iter().copied().find(|name| address.option(name).is_some());
        if let Some(option) =
            given(&OF_FRAMES).filter(|name| (*name, address.option(name)) != ("wire", Some("loop")))
        {
            let problem = format!("{option} is for frames, not for sessions");
            return Err(address.wrong(&problem, "fpga:sim, or fpga,tap=NAME,address=198.18.0.1/24:sim"));
        }
        let delay = address.read::<Picos>("delay", "20us")?.unwrap_or(Picos::ZERO);
        if !delay.as_picos().is_multiple_of(TICK.as_picos()) {
            return Err(address.wrong("delay is not a whole number of ticks of 8 ns", "delay=20us"));
        }
        let answer = address.read::<u32>("answer", "300")?.unwrap_or(USUAL_ANSWER);
        if !ANSWERS.contains(&answer) {
            return Err(address.wrong(&format!("an answer cannot have {answer} bytes"), "answer=80 to 60000"));
        }
        let is_tapped = address.option("tap").is_some();
        let wrong_side = if is_tapped { given(&OF_RESPONDER) } else { given(&OF_TAP) };
        if let Some(option) = wrong_side {
            let (has, of) =
                if is_tapped { ("has a tap", "the responder's") } else { ("has no tap", "a tap's") };
            return Err(address.wrong(&format!("{has}, but {option} is {of}"), "one of the two"));
        }
        let device = match (is_tapped, address.option("address")) {
            (false, _) => None,
            (true, text) => Some(device(text).ok_or_else(|| {
                address
                    .wrong("gives no IPv4 address of its tap, where the target is", "address=198.18.0.1/24")
            })?),
        };
        let redis = RedisWire::read(address)?;
        if let Some((device, redis)) =
            device.zip(redis.as_ref()).filter(|(device, redis)| redis.covers(*device))
        {
            let problem = format!("has Redis at {}, in a subnet with its tap, {device}", redis.server.ip());
            return Err(address.wrong(&problem, "redis=198.18.1.1/24 with address=198.18.0.1/24"));
        }
        let seed = address.read("seed", "7")?;
        let delay = delay.as_picos() / TICK.as_picos();
        Ok(Self { address: address.clone(), delay, answer, device, redis, seed })
    }

    /// Where the module writes its results by itself.
    pub const fn redis(&self) -> Option<&RedisWire> {
        self.redis.as_ref()
    }

    /// The address of the tap, if the wire ends at one: a real server answers, in a time of its own.
    pub const fn device(&self) -> Option<Ipv4Addr> {
        self.device
    }

    /// How long the responder waits, in ticks.
    pub const fn delay(&self) -> u64 {
        self.delay
    }

    /// As it is written.
    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// Where the simulation's program is.
    ///
    /// # Errors
    /// There is none.
    pub fn find_program(&self) -> Result<PathBuf, PortError> {
        process::find(&SESSIONS, self.address.option("program").map(PathBuf::from).as_deref())
    }

    /// Starts the simulation.
    ///
    /// # Errors
    /// There is none, or its tap cannot be made.
    pub fn start(&self, load: &SessionLoad) -> Result<SessionSim, PortError> {
        crate::namespace::within(&self.address, || self.begin(load))
    }

    fn begin(&self, load: &SessionLoad) -> Result<SessionSim, PortError> {
        let program = self.find_program()?;
        let system =
            |error| PortError::System { what: format!("the socket to {}", program.display()), error };
        let (host, other) = UnixStream::pair().map_err(system)?;
        let mut command = Command::new(&program);
        command.args(arguments(load)).args(["--host_fd", "0"]);
        command.stdin(Stdio::from(OwnedFd::from(other))).stderr(Stdio::piped());
        match self.address.option("tap") {
            Some(name) => {
                // One that is there would keep the address, and is somebody else's.
                if Interface::find(name).is_ok() {
                    return Err(self
                        .address
                        .wrong(&format!("says tap={name}, which exists already"), "tap=tare7"));
                }
                let tap: OwnedFd = crate::tap::make(&self.address, name, false)?.into();
                let mac = Interface::find(name)?.mac.unwrap_or_default();
                // TCP's clock is about as fast as the server's: a simulated microsecond takes that much longer.
                command
                    .args(["--wire_fd", "1", "--micro", "1", "--peer_mac", &hex(&mac)])
                    .stdout(Stdio::from(tap));
            }
            None => {
                let [delay, answer] = [self.delay, u64::from(self.answer)].map(|number| number.to_string());
                command.args(["--delay", &delay, "--answer_bytes", &answer]).stdout(Stdio::null());
                command.args(["--closes", if load.each { "1" } else { "0" }]);
            }
        }
        if let Some(seed) = self.seed {
            command.args(["--seed", &seed.to_string()]);
        }
        let redis = self.redis.as_ref().map(|redis| redis.open(&self.address)).transpose()?;
        if let Some(redis) = &redis {
            command.args(&redis.arguments).args(["--redis_key", &load.key]);
        }
        let process = Process::spawn(command, &program)?;
        if let Some(Due::Listed(ticks)) = &load.due {
            // One that has ended says why at its end.
            match due::feed(&mut &host, ticks) {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(system(error)),
                _ => {}
            }
        }
        if let Some(redis) = &redis {
            match redis.hand_over(&host) {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(system(error)),
                _ => {}
            }
        }
        Ok(SessionSim { lines: Lines::of(host), process })
    }
}

/// The address that a tap is given.
fn device(text: Option<&str>) -> Option<Ipv4Addr> {
    text?.split_once('/').map_or(text, |(address, _)| Some(address))?.parse().ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn arguments(load: &SessionLoad) -> Vec<String> {
    let mut all: Vec<(&str, String)> = vec![
        ("tap_address", load.target.ip().to_string()),
        ("peer_port", load.target.port().to_string()),
        ("address", load.own.to_string()),
        ("mac", hex(&load.mac)),
        ("port", load.port.to_string()),
        ("sessions", load.sessions.to_string()),
        ("each", u8::from(load.each).to_string()),
        ("departures", load.departures.to_string()),
        ("first", load.first.to_string()),
        ("open_gap", load.open_gap.to_string()),
        ("patience", load.timeout_ms.to_string()),
        ("open_patience", load.timeout_ms.to_string()),
        ("status_low", load.status.0.to_string()),
        ("status_high", load.status.1.to_string()),
        ("sums", u8::from(load.same).to_string()),
        ("same", u8::from(load.same).to_string()),
        ("row_first", load.rows.0.to_string()),
        ("row_ticks", load.rows.1.to_string()),
        ("secret", load.secret.to_string()),
        ("cycles", load.end.to_string()),
    ];
    all.extend(load.due.iter().flat_map(Due::arguments));
    for request in &load.requests {
        let (field, place) = match request.field {
            None => ("none", 0),
            Some((Field::Sequence, place)) => ("sequence", place),
            Some((Field::Random, place)) => ("random", place),
        };
        all.push(("template", format!("{field}:{place}:{}", hex(&request.bytes))));
    }
    all.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect()
}

/// A simulation that runs.
#[derive(Debug)]
pub struct SessionSim {
    lines: Lines,
    process: Process,
}

impl SessionSim {
    /// What it reports next; `None` if that does not come in time.
    ///
    /// # Errors
    /// It cannot be read, or is no report.
    pub fn next(&mut self, patience: Duration) -> std::io::Result<Option<Report>> {
        self.lines.next(patience)
    }

    /// It shall end now, and report what it knows.
    pub fn stop(&self) {
        self.lines.hang_up(Shutdown::Write);
    }

    /// Waits for its end. Returns what it said there.
    pub fn end(mut self) -> String {
        self.lines.hang_up(Shutdown::Both);
        self.process.end()
    }
}

impl Drop for SessionSim {
    fn drop(&mut self) {
        self.lines.hang_up(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests;
