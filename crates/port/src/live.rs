//! XDP live frames: a program in the kernel makes each frame and hands it to the driver, millions in one call.
//!
//! ```text
//!   Template ─ program.rs ─► XDP program ─ BPF_PROG_RUN, repeat 10⁹ ─► redirect ─► driver
//!                                │  ▲                                               │
//!        totals, every 5 ms ◄────┘  └──── end, rate (shared memory)                 │
//!        refused frames ◄───────── tracepoint xdp_devmap_xmit ◄─────────────────────┘
//! ```
//!
//! Transmit only. The driver must take frames of others (`ndo_xdp_xmit`); on a veth that means that the peer
//! has an XDP program, or GRO.

mod copies;
mod emit;
mod fields;
mod leg;
mod orders;
mod program;
mod refused;
mod state;
#[cfg(test)]
mod tests;
mod usable;

use crate::af_xdp::explain;
use crate::interface::{Interface, Link};
use crate::namespace::{Home, Visit};
use crate::{
    About, Address, Choice, Counters, DropPlace, For, Frame, Made, Next, Offload, Order, Port, PortError,
    Slot, Stamp, Wish,
};
use bpf::{License, Program, ProgramKind};
use copies::Copies;
use fields::Numbering;
use leg::{Leg, Watch};
use orders::{batch, next_numbers, orders};
use program::{Making, Obstacle};
use refused::Watching;
use state::State;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use units::{Picos, Rate};
pub(crate) use usable::check;
use usable::{about, usable};
use wire::signature::EPOCH_UNIX_NS;

/// A page less what the kernel needs of it: headroom, its own notes, and what an sk_buff keeps behind the data.
const LONGEST: usize = 3_408;
/// How often a leg that has not begun to make frames is looked at: so well is known how long nothing was made.
const STANDING_LOOK: Duration = Duration::from_micros(200);
/// Runs in one call where runs may pass without a frame.
const ENDLESS: u32 = u32::MAX;

/// An interface that frames are redirected to.
#[derive(Debug)]
pub(crate) struct LivePort {
    about: About,
    interface: Interface,
    /// Where the kernel shall look the interface up.
    home: Home,
    numbering: Numbering,
    state: State,
    /// `None` where tracepoints cannot be had: refusals are then the interface's own.
    watching: Option<Watching>,
    prepared: Option<Prepared>,
    copies: Option<Copies>,
    /// Frames that are written before they are copied into the map, and their marks.
    rooms: Vec<Box<[u8]>>,
    marks: Vec<u64>,
    counters: Counters,
}

#[derive(Debug)]
struct Prepared {
    program: Program,
    making: Making,
    template: wire::Template,
}

/// Opens an interface.
///
/// # Errors
/// `NoInterface`; `Privilege`; `Unavailable` where BPF programs cannot be loaded.
pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    let interface = usable(address, wish)?;
    let what = "opening this thread's network namespace".to_owned();
    let home = Home::here().map_err(|error| PortError::System { what, error })?;
    let state = State::new().map_err(explain)?;
    let (watching, refusals) = match Watching::begin(&state) {
        Ok(watching) => (Some(watching), ("tracepoint", "exact, for frames of this port only".to_owned())),
        Err(error) => {
            (None, ("interface", format!("its counters include refused frames of other programs: {error}")))
        }
    };
    let choices = vec![
        Choice { what: "refused frames", chosen: refusals.0.to_owned(), why: refusals.1 },
        Choice {
            what: "launch time",
            chosen: "no".to_owned(),
            why: "XDP frames carry none; with a rate, the program itself waits for the due time".to_owned(),
        },
    ];
    let about = About { choices, ..about(address, &interface, wish) };
    Ok(Box::new(LivePort {
        about,
        interface,
        home,
        numbering: Numbering { queue: wish.queue, queues: wish.queues.max(1) },
        state,
        watching,
        prepared: None,
        copies: None,
        rooms: Vec::new(),
        marks: vec![0; copies::MOST],
        counters: Counters::default(),
    }))
}

impl LivePort {
    fn longest_like(&self, data: &[u8]) -> usize {
        self.about.longest_like(data).min(LONGEST)
    }

    fn go_home(&self) -> Result<Visit, PortError> {
        self.home.enter().map_err(|error| self.system("entering its network namespace", error))
    }

    fn system(&self, what: &str, error: std::io::Error) -> PortError {
        self.interface.trouble().unwrap_or_else(|| PortError::System {
            what: format!("{what} at '{}'", self.interface.name),
            error,
        })
    }

    /// The driver takes no frames at all: why, in words.
    fn refusal(&self, errno: i32) -> PortError {
        let driver = self.interface.driver.as_deref().unwrap_or("the driver");
        let error = std::io::Error::from_raw_os_error(errno);
        let advice = match (driver, errno) {
            ("veth", _) => {
                "; the peer needs an XDP program, or GRO: 'ethtool -K PEER gro on', or a bed of 'tare lab up --gro'"
            }
            (_, libc::EOPNOTSUPP) => "; it cannot send frames of XDP programs",
            _ => "",
        };
        let what = format!("sending live frames at '{}'", self.interface.name);
        PortError::Unavailable { what, why: format!("{driver} refuses every frame ({error}){advice}") }
    }

    /// Frames that were handed to the driver, of which it refused some (of the mean length, which is theirs
    /// where all have one).
    fn count(&mut self, frames: u64, bytes: u64, refused: u64) {
        let refused = refused.min(frames);
        let lost = u128::from(bytes) * u128::from(refused) / u128::from(frames.max(1));
        self.counters.sent += frames - refused;
        self.counters.sent_bytes += bytes - lost as u64;
        self.counters.drop(DropPlace::TransmitDriver, refused);
    }

    /// Frames and bytes that the driver refused so far, in this call.
    fn refused(&self, before: u64) -> u64 {
        match self.watching {
            Some(_) => self.state.read(state::REFUSED),
            None => self.interface.statistics().map_or(0, |now| now.tx_dropped.saturating_sub(before)),
        }
    }

    fn dropped_by_interface(&self) -> u64 {
        match self.watching {
            Some(_) => 0,
            None => self.interface.statistics().map_or(0, |now| now.tx_dropped),
        }
    }
}

/// What stays the same during one call of `make`.
struct Call<'a> {
    order: &'a Order<'a>,
    /// Refused frames when the interface was last asked for its state.
    asked_at: AtomicU64,
    before: u64,
    length: Option<usize>,
    /// CLOCK_MONOTONIC nanoseconds at which the last leg ended, until the next one makes frames; else 0.
    stands_since: AtomicU64,
    stood_ns: AtomicU64,
}

/// Why a leg ended, beside having made everything.
enum Ended {
    Done,
    /// The new rate needs frames handed over in other groups.
    Regrouped(Option<Rate>, u64),
    Failed(PortError),
}

impl Offload for LivePort {
    fn prepare(&mut self, template: &wire::Template) -> Result<(), PortError> {
        self.prepared = None;
        let too_long = |base: &&[u8]| base.len() > self.longest_like(base);
        if let Some(base) = template.streams().iter().map(|stream| stream.base()).find(too_long) {
            let longest = self.about.longest;
            return Err(PortError::TooLong { port: self.about.name.clone(), length: base.len(), longest });
        }
        let making = program::write(template, self.interface.index, &self.state, self.numbering).map_err(
            |obstacle| match obstacle {
                Obstacle::Template(why) => PortError::Unavailable {
                    what: format!("making these frames in {}", self.about.name),
                    why,
                },
                Obstacle::Bpf(error) => explain(error),
            },
        )?;
        let program =
            Program::load(ProgramKind::Xdp, "tare_live", &making.code, License::Dual).map_err(explain)?;
        self.prepared = Some(Prepared { program, making, template: template.clone() });
        Ok(())
    }

    fn make(
        &mut self,
        order: &Order<'_>,
        watch: &mut (dyn FnMut(&Made) -> Next + Send),
    ) -> Result<Made, PortError> {
        let Some(prepared) = &self.prepared else {
            return Err(PortError::Unable {
                port: self.about.name.clone(),
                what: "make frames that were not prepared",
            });
        };
        let call = Call {
            order,
            asked_at: AtomicU64::new(0),
            before: self.dropped_by_interface(),
            length: prepared.making.length,
            stands_since: AtomicU64::new(0),
            stood_ns: AtomicU64::new(0),
        };
        let _there = self.go_home()?;
        let cpu = leg::cpu_for(self.about.queue);
        self.state.begin(order.first, u64::from(cpu));
        self.state.write(
            state::CLOCK_OFFSET,
            clock::unix_ns().wrapping_sub(clock::monotonic_ns()).wrapping_sub(EPOCH_UNIX_NS),
        );
        let mut rate = order.rate;
        let mut origin = order.origin_monotonic_ns;
        let result = loop {
            match self.leg(prepared, &call, cpu, (rate, origin), watch) {
                Ended::Done => break Ok(()),
                Ended::Failed(error) => break Err(error),
                Ended::Regrouped(new, at) => (rate, origin) = (new, at),
            }
        };
        let made = self.made(&call);
        self.count(made.frames, made.bytes, made.refused);
        // A call that was over before it was looked at has not been asked yet.
        let at_end =
            (result.is_ok() && made.refused > 0).then(|| self.failure(&made, &AtomicU64::new(0))).flatten();
        match result.err().or(at_end) {
            None => Ok(made),
            Some(error) => {
                watch(&made);
                Err(error)
            }
        }
    }
}

impl LivePort {
    /// The totals of this call.
    fn made(&self, call: &Call<'_>) -> Made {
        let next = self.state.read(state::NEXT);
        let frames = next - call.order.first;
        Made {
            frames,
            bytes: call.length.map_or_else(|| self.state.read(state::BYTES), |length| frames * length as u64),
            refused: self.refused(call.before),
            // Orders that were not heard yet have no frame.
            since_change: match self.state.is_heard() {
                true => next - self.state.read(state::CHANGED_AT).min(next),
                false => 0,
            },
            stood_ns: call.stood_ns.load(Relaxed),
            lateness_log2_ns: self.state.lateness(),
            gap_errors: self.state.gap_errors(),
        }
    }

    /// Makes frames until everything is made or the way of making them changes.
    fn leg(
        &self,
        prepared: &Prepared,
        call: &Call<'_>,
        cpu: u32,
        (rate, origin): (Option<Rate>, u64),
        watch: &mut (dyn FnMut(&Made) -> Next + Send),
    ) -> Ended {
        let next = self.state.read(state::NEXT);
        let numbers = next_numbers(&prepared.template, next);
        for (at, value) in prepared.making.places.at(|stream| numbers[stream]) {
            self.state.write(at, value);
        }
        let end = call.order.first.saturating_add(call.order.most);
        self.state.order(&orders(call.order, next, end, rate, origin));
        let left = u32::try_from(end - next).unwrap_or(ENDLESS).saturating_add(1);
        let leg = Leg {
            program: &prepared.program,
            frame: &prepared.making.frame,
            state: &self.state,
            batch: batch(rate),
            repeat: if rate.is_some() { ENDLESS } else { left },
        };
        let mut ended = Ended::Done;
        let result = leg.run(cpu, &mut || self.look(call, rate, watch, &mut ended));
        match result {
            Err(error) => Ended::Failed(self.system("BPF_PROG_RUN with live frames", error)),
            Ok(()) => ended,
        }
    }

    /// Looks at the totals, asks what to do, and does it.
    fn look(
        &self,
        call: &Call<'_>,
        rate: Option<Rate>,
        watch: &mut (dyn FnMut(&Made) -> Next + Send),
        ended: &mut Ended,
    ) -> Watch {
        let now = clock::monotonic_ns();
        let left = call.order.until_monotonic_ns.map(|until| until.saturating_sub(now));
        if call.order.stop.load(Relaxed) || left == Some(0) || self.is_done(call) {
            return Watch::End;
        }
        // A leg that has begun has heard its orders.
        if self.state.is_heard() {
            let since = call.stands_since.swap(0, Relaxed);
            if since > 0 {
                call.stood_ns.fetch_add(now.saturating_sub(since), Relaxed);
            }
        }
        let made = self.made(call);
        if let Some(error) = self.failure(&made, &call.asked_at) {
            *ended = Ended::Failed(error);
            return Watch::End;
        }
        match watch(&made) {
            Next::Go => {}
            Next::Stop => return Watch::End,
            Next::Rate { rate: new, origin_monotonic_ns } => {
                if batch(new) != batch(rate) || new.is_none() {
                    call.stands_since.store(now, Relaxed);
                    *ended = Ended::Regrouped(new, origin_monotonic_ns);
                    return Watch::End;
                }
                let end = call.order.first.saturating_add(call.order.most);
                let next = self.state.read(state::NEXT);
                self.state.order(&orders(call.order, next, end, new, origin_monotonic_ns));
            }
        }
        let soon = if call.stands_since.load(Relaxed) > 0 { STANDING_LOOK } else { leg::LOOK };
        Watch::Again(left.map_or(soon, |left| soon.min(Duration::from_nanos(left))))
    }

    fn is_done(&self, call: &Call<'_>) -> bool {
        self.state.is_heard()
            && self.state.read(state::NEXT) >= call.order.first.saturating_add(call.order.most)
    }

    /// Whether going on makes no sense.
    fn failure(&self, made: &Made, asked_at: &AtomicU64) -> Option<PortError> {
        if self.state.read(state::BROKEN) > 0 {
            let error = std::io::Error::other("the program could not make a frame");
            return Some(PortError::System { what: self.about.name.clone(), error });
        }
        if asked_at.swap(made.refused, Relaxed) == made.refused {
            return None;
        }
        if let Some(error) = self.interface.trouble() {
            return Some(error);
        }
        let errno = (self.state.read(state::ERROR) as u32 as i32).wrapping_neg();
        (made.refused == made.frames && errno > 0 && made.frames >= 16).then(|| self.refusal(errno))
    }
}

impl Port for LivePort {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        let longest = (self.about.longest + 4).min(LONGEST);
        if self.copies.is_none() {
            self.copies = Some(Copies::new(self.interface.index, longest, &self.state).map_err(explain)?);
            self.rooms = (0..copies::MOST).map(|_| vec![0; longest].into_boxed_slice()).collect();
        }
        let Some(copies) = &self.copies else { return Ok(0) };
        let (mut taken, mut put, mut bytes, mut too_long) = (0, 0, 0, None);
        for n in 0..most.min(copies::MOST) {
            let mut slot =
                Slot { data: &mut self.rooms[n], length: 0, launch: Stamp::NONE, mark: &mut self.marks[n] };
            write(&mut slot);
            let length = slot.length;
            let allowed = self.about.longest_like(slot.data).min(LONGEST);
            if length > allowed {
                *slot.mark = 0;
                too_long = Some((length, allowed));
                break;
            }
            taken += 1;
            // The program refuses what has no Ethernet header; so does every driver.
            if length >= 14 {
                copies.put(put, &self.rooms[n][..length]);
                (put, bytes) = (put + 1, bytes + length as u64);
            } else {
                self.counters.drop(DropPlace::TransmitKernel, u64::from(length > 0));
            }
        }
        if put > 0 {
            self.send(put, bytes)?;
        }
        match too_long {
            Some((length, longest)) if taken == 0 => {
                Err(PortError::TooLong { port: self.about.name.clone(), length, longest })
            }
            _ => Ok(taken),
        }
    }

    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        Err(PortError::Unable { port: self.about.name.clone(), what: "receive: it sends only" })
    }

    fn flush(&mut self, _: Picos) -> Result<bool, PortError> {
        // Every call ends with a flush to the driver.
        Ok(true)
    }

    fn wait(&mut self, what: For, _: Picos) -> Result<bool, PortError> {
        match what {
            For::Transmit => Ok(true),
            For::Receive => {
                Err(PortError::Unable { port: self.about.name.clone(), what: "receive: it sends only" })
            }
        }
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        Ok(&self.counters)
    }

    fn is_up(&mut self) -> bool {
        self.interface.state() == Link::Up
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.interface.trouble()
    }

    fn offload(&mut self) -> Option<&mut dyn Offload> {
        Some(self)
    }
}

impl LivePort {
    /// Sends what was put into the map.
    fn send(&mut self, count: usize, bytes: u64) -> Result<(), PortError> {
        if let Some(error) = self.interface.trouble() {
            return Err(error);
        }
        let _there = self.go_home()?;
        let Some(copies) = &self.copies else { return Ok(()) };
        let before = self.dropped_by_interface();
        // On one CPU, where the tracepoints look: a veth's queue and the count of refusals depend on it.
        let cpu = os::cpus::current();
        let sent = os::cpus::on(cpu, || {
            self.state.begin(0, u64::from(cpu));
            Ok(copies.send(count))
        });
        let result = sent.map_err(|error| self.system("staying on one CPU", error))?;
        self.counters.calls += 1;
        result.map_err(|error| self.system("BPF_PROG_RUN with live frames", error))?;
        let refused = self.refused(before);
        self.count(count as u64, bytes, refused);
        let errno = (self.state.read(state::ERROR) as u32 as i32).wrapping_neg();
        if refused == count as u64 && errno > 0 {
            return Err(self.interface.trouble().unwrap_or_else(|| self.refusal(errno)));
        }
        Ok(())
    }
}
