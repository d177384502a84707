//! Which kernel interface to use, and why: both are measured on this machine at the start of each run that has
//! the choice.
//!
//! The measurement is an echo over Unix sockets inside this process (no ports are used up): the CPU time that this
//! thread spends on one exchange, the best of some short rounds.

use super::epoll::Epoll;
use super::uring::Uring;
use super::{Driver, Opening, Ready, Wait, waker};
use plan::{IoChoice, Load, Plan};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept, bind, getsockname, listen, socket_with,
};
use rustix::time::{ClockId, Timespec, clock_gettime};
use units::{Instant, Picos};

/// Connections, and exchanges on each of them in one round.
const CONNECTIONS: usize = 16;
const EXCHANGES: usize = 24;
const ROUNDS: usize = 5;
/// io_uring must be cheaper than epoll by this share, as its departures are stamped before they leave.
const WORTH_IT: f64 = 0.10;
/// The whole measurement ends by then, whatever happens.
const PATIENCE: Picos = Picos::from_millis(200);

/// The interface that a run uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// io_uring rather than epoll.
    pub uring: bool,
    pub reason: String,
}

impl Choice {
    pub const fn name(&self) -> &'static str {
        if self.uring { "io_uring" } else { "epoll" }
    }

    fn epoll(reason: impl Into<String>) -> Self {
        Self { uring: false, reason: reason.into() }
    }
}

/// What the plan wants, or what measures best where it leaves the choice.
pub fn choose(plan: &Plan) -> Choice {
    if plan.connection.throttle.is_some() {
        return Choice::epoll("throttled reading needs a socket that is left unread");
    }
    match (plan.engine.io, &plan.load) {
        (IoChoice::Epoll, _) => Choice::epoll("asked for"),
        (IoChoice::IoUring, _) => match usable() {
            Ok(()) => Choice { uring: true, reason: "asked for".to_owned() },
            Err(errno) => {
                Choice::epoll(format!("io_uring was asked for, but this kernel refuses it ({errno})"))
            }
        },
        (IoChoice::Auto, Load::Open { .. }) => {
            Choice::epoll("a departure leaves at its stamp; io_uring's leaves with its batch")
        }
        (IoChoice::Auto, Load::Closed { .. }) => match measure() {
            Ok((epoll, uring)) => by_cost(epoll, uring),
            Err(errno) => Choice::epoll(format!("io_uring can not be used here ({errno})")),
        },
    }
}

fn usable() -> Result<(), Errno> {
    Uring::new(waker()?).map(drop)
}

fn by_cost(epoll: Picos, uring: Picos) -> Choice {
    let saved = 1.0 - uring.as_secs_f64() / epoll.as_secs_f64().max(1e-12);
    let figures = format!("measured here, an exchange costs {epoll:#} by epoll and {uring:#} by io_uring");
    if saved >= WORTH_IT {
        return Choice { uring: true, reason: figures };
    }
    Choice::epoll(format!("{figures}; io_uring must save {:.0} %", WORTH_IT * 100.0))
}

/// CPU time of one exchange by epoll and by io_uring.
fn measure() -> Result<(Picos, Picos), Errno> {
    let (epoll_waker, uring_waker) = (waker()?, waker()?);
    let mut uring = Bench::new(Uring::new(uring_waker)?)?;
    let mut epoll = Bench::new(Epoll::new(epoll_waker)?)?;
    let (mut best_epoll, mut best_uring) = (Picos::MAX, Picos::MAX);
    for _ in 0..ROUNDS {
        best_epoll = best_epoll.min(epoll.round()?);
        best_uring = best_uring.min(uring.round()?);
    }
    Ok((best_epoll, best_uring))
}

/// One driver with its connections and the thread that answers.
struct Bench<D> {
    driver: D,
    echo: Option<std::thread::JoinHandle<()>>,
    ends: Picos,
}

impl<D: Driver> Bench<D> {
    fn new(mut driver: D) -> Result<Self, Errno> {
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // An unnamed address is given an abstract name by the kernel (unix(7), «autobind»).
        bind(&listener, &SocketAddrUnix::new_unnamed())?;
        listen(&listener, CONNECTIONS as i32)?;
        let address = getsockname(&listener)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        for slot in 0..CONNECTIONS as u32 {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            if driver.open(slot, socket, &address)? != Opening::Done {
                return Err(Errno::INPROGRESS);
            }
        }
        let accepted: Vec<OwnedFd> = (0..CONNECTIONS).map(|_| accept(&listener)).collect::<Result<_, _>>()?;
        let echo = std::thread::Builder::new().name("tare-echo".to_owned()).stack_size(128 * 1024);
        let echo = echo.spawn(move || answer(&accepted)).map_err(|_| Errno::AGAIN)?;
        let ends = time(ClockId::Monotonic) + PATIENCE;
        Ok(Self { driver, echo: Some(echo), ends })
    }

    /// Every connection exchanges its messages; the CPU time of one exchange.
    fn round(&mut self) -> Result<Picos, Errno> {
        let mut buffer = vec![0u8; 4096];
        let mut left = CONNECTIONS * EXCHANGES;
        let before = time(ClockId::ThreadCPUTime);
        for slot in 0..CONNECTIONS as u32 {
            self.send(slot)?;
        }
        while left > 0 {
            self.driver.wait(Wait::AtMost(Picos::from_millis(5)), Instant::EPOCH)?;
            while let Some((slot, ready)) = self.driver.next(&mut buffer, |_| true) {
                match ready {
                    Ready::Data(_) => {
                        left -= 1;
                        if left >= CONNECTIONS {
                            self.send(slot)?;
                        }
                    }
                    Ready::Failed(errno) | Ready::NotSent(errno) => return Err(errno),
                    Ready::Eof => return Err(Errno::CONNRESET),
                    Ready::Connected | Ready::Writable => {}
                }
                if left == 0 {
                    break;
                }
            }
            if time(ClockId::Monotonic) > self.ends {
                return Err(Errno::TIMEDOUT);
            }
        }
        let spent = time(ClockId::ThreadCPUTime) - before;
        Ok(Picos::from_picos(spent.as_picos() / (CONNECTIONS * EXCHANGES) as u64))
    }

    fn send(&mut self, slot: u32) -> Result<(), Errno> {
        match self.driver.send(slot, &[0; 128]) {
            Ok(_) => self.driver.watch(slot),
            Err(errno) => Err(errno),
        }
    }
}

impl<D> Drop for Bench<D> {
    fn drop(&mut self) {
        // The thread ends by itself when the connections close with the driver, after this.
        self.echo.take();
    }
}

/// Answers every message until all connections are closed.
fn answer(connections: &[OwnedFd]) {
    let mut open: Vec<&OwnedFd> = connections.iter().collect();
    let mut buffer = [0u8; 512];
    while !open.is_empty() {
        let mut fds: Vec<_> = open.iter().map(|fd| PollFd::new(*fd, PollFlags::IN)).collect();
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as _ };
        if poll(&mut fds, Some(&patience)).is_ok_and(|ready| ready == 0) {
            return;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut index = 0;
        open.retain(|fd| {
            index += 1;
            if !ready[index - 1] {
                return true;
            }
            let read = rustix::io::read(fd, &mut buffer);
            matches!(read, Ok(count) if count > 0) && rustix::io::write(fd, &buffer).is_ok()
        });
    }
}

fn time(clock: ClockId) -> Picos {
    let time = clock_gettime(clock);
    Picos::from_secs(time.tv_sec as u64) + Picos::from_nanos(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_carry_an_echo() {
        let (epoll, uring) = measure().expect("this kernel has io_uring");
        assert!(!epoll.is_zero() && !uring.is_zero());
    }

    #[test]
    fn the_cheaper_must_be_cheaper_by_more_than_noise() {
        let cost = Picos::from_nanos;
        assert!(!by_cost(cost(1_000), cost(950)).uring);
        assert!(by_cost(cost(1_000), cost(880)).uring);
        assert!(by_cost(cost(1_000), cost(880)).reason.contains("880 ns by io_uring"));
    }
}
