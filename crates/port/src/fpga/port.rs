//! Frames through the module: one of the ports that share it.

use super::device::Module;
use super::link::{self, Leaves};
use super::register::Register;
use super::registers::{LINK_ERRORS0 as RECEIVED_LENGTH, RECEIVED_LEFT_OUT};
use super::session::limited;
use super::sign;
use super::state::{Arrived, Handle, Pending};
use super::time::TICK;
use super::transport::Bell;
use crate::about::{Abilities, About, Choice, StampedBy};
use crate::{
    Address, CardWork, Counters, Departed, DropPlace, For, Frame, OwnTime, Port, PortError, Slot, Stamp, Wish,
};
use clock::Stopwatch;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use units::Picos;

/// Most frames of one call.
const BATCH: usize = 64;
/// Longest frame without FCS, but for a tag of 802.1Q.
const LONGEST: usize = 1_514;
const TAG: usize = 4;
/// A counter of the module that was read is not read again sooner: each reading is an exchange.
const ASK_AGAIN: std::time::Duration = std::time::Duration::from_millis(20);
/// How late a departure may be told after the frames have left. A simulation on a busy machine is slow.
const REPORTS_TAKE: Picos = Picos::from_secs(5);
/// Credits that the longest frame needs: whoever writes a frame can be sure that it is taken.
const BEATS: u64 = link::beats(LONGEST + TAG);
const LINE_BPS: u64 = 1_000_000_000;
/// Who speaks on the module's wire, if nobody says otherwise.
const WIRE_MAC: [u8; 6] = [0x02, 0x54, 0x41, 0x52, 0x45, 0x02];

pub(super) struct ModulePort {
    about: About,
    module: Arc<Module>,
    handle: usize,
    wish: Wish,
    bell: Arc<Bell>,
    room: Vec<u8>,
    mark: u64,
    /// Frames that were taken, and their bytes.
    taken: u64,
    taken_bytes: u64,
    /// Of these, what the link did not take.
    lost: u64,
    lost_bytes: u64,
    /// Received frames that the module did not tell: the link had no room, or no report has their length. And
    /// when it was asked.
    left_out: Watched,
    odd: Watched,
    asked: Option<Stopwatch>,
    read: Vec<Arrived>,
    counters: Counters,
}

/// A counter of the module, of 32 bits that wrap, since a port was opened.
#[derive(Debug, Default)]
struct Watched {
    before: Option<u64>,
    since: u64,
}

impl Watched {
    /// A module that does not answer has said so elsewhere; what it said last holds.
    fn look(&mut self, module: &Module, register: &Register) {
        if let Ok(now) = module.read(register) {
            let before = self.before.replace(now).unwrap_or(now);
            self.since += u64::from((now as u32).wrapping_sub(before as u32));
        }
    }
}

impl ModulePort {
    pub fn new(address: &Address, wish: &Wish, module: Arc<Module>) -> Result<Self, PortError> {
        if wish.frame > LONGEST + TAG && wish.direction.transmits() {
            let port = address.to_string();
            return Err(PortError::TooLong { port, length: wish.frame, longest: LONGEST });
        }
        let failed = |error| PortError::System { what: address.to_string(), error };
        let bell = Arc::new(Bell::new().map_err(failed)?);
        let listens = wish.direction.receives();
        let longest = if wish.direction.transmits() { wish.frame } else { 0 };
        let handle = module.join(longest.max(link::SHORTEST), listens)?;
        module.core().count_dropped();
        let own = Handle::new(listens, wish.departures, bell.clone());
        module.core().state().handles.insert(handle, own);
        let mut port = Self {
            about: about(address, wish, &module),
            module,
            handle,
            wish: wish.clone(),
            bell,
            room: vec![0; LONGEST + TAG],
            mark: 0,
            taken: 0,
            taken_bytes: 0,
            lost: 0,
            lost_bytes: 0,
            left_out: Watched::default(),
            odd: Watched::default(),
            asked: None,
            read: Vec::new(),
            counters: Counters::default(),
        };
        // From here on it counts.
        port.ask();
        Ok(port)
    }

    fn unable(&self, what: &'static str) -> PortError {
        PortError::Unable { port: self.about.name.clone(), what }
    }

    /// Asks the module now and then of how many received frames it could not tell.
    fn ask(&mut self) {
        let is_old = self.asked.is_none_or(|asked| asked.elapsed() > ASK_AGAIN);
        if self.wish.direction.receives() && is_old {
            self.left_out.look(&self.module, &RECEIVED_LEFT_OUT);
            self.odd.look(&self.module, &RECEIVED_LENGTH);
            self.asked = Some(Stopwatch::start());
        }
    }

    /// An error if nothing can leave now.
    fn check(&self) -> Result<(), PortError> {
        if let Some(trouble) = self.module.trouble() {
            return Err(trouble);
        }
        match self.module.core().state().wire_is_down {
            true => Err(PortError::Down { interface: self.about.name.clone() }),
            false => Ok(()),
        }
    }

    /// Hands over what lies in the room.
    fn hand_over(&mut self, length: usize, launch: Stamp) -> Result<(), PortError> {
        let core = self.module.core();
        // The module pads nothing.
        let bytes = length.max(link::SHORTEST);
        let mut out = core.out();
        let body = &mut out.body()[..bytes];
        body[..length].copy_from_slice(&self.room[..length]);
        body[length..].fill(0);
        // Another's signature is a part of its frame.
        let signature_at = if self.wish.signs { sign::prepare(&mut body[..length]) } else { None };
        let leaves = match launch {
            Stamp::NONE => Leaves::AtOnce,
            at => Leaves::At(core.state().time.tick(at)),
        };
        let (owner, place) = (self.handle, self.taken);
        core.frame(&mut out, leaves, signature_at, |number| Pending {
            number,
            owner,
            place,
            launch,
            bytes,
            length,
        })?;
        self.counters.calls += 1;
        Ok(())
    }
}

fn about(address: &Address, wish: &Wish, module: &Module) -> About {
    let hello = module.hello();
    let time = match module.is_simulated() {
        true => Choice {
            what: "time",
            chosen: "simulated".to_owned(),
            why: "a simulation's cycles of 8 ns, not wall time".to_owned(),
        },
        false => Choice {
            what: "time",
            chosen: "the module's".to_owned(),
            why: "frames leave, and are timestamped, in 8 ns cycles of its own clock".to_owned(),
        },
    };
    let carrier = address.option("carrier").filter(|carrier| *carrier == "no").map(|_| Choice {
        what: "carrier",
        chosen: "not looked at".to_owned(),
        why: "as requested: frames that leave while the wire is down are lost and not counted".to_owned(),
    });
    let (major, minor) = module.version();
    let built = Choice {
        what: "module",
        chosen: format!("version {major}.{minor}"),
        why: format!("build {:08x}, registers {:08x}", hello.build, hello.layout),
    };
    About {
        name: address.to_string(),
        kind: "fpga",
        mac: Some(WIRE_MAC),
        longest: LONGEST,
        speed_bps: Some(LINE_BPS),
        can: Abilities {
            transmit: wish.direction.transmits(),
            receive: wish.direction.receives(),
            batch: BATCH,
            stamps: Some(StampedBy::Hardware),
            launch_time: true,
            tag_over_mtu: true,
            ..Abilities::default()
        },
        queues: 1,
        choices: [built, time].into_iter().chain(carrier).collect(),
        ..About::default()
    }
}

impl Port for ModulePort {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        if !self.wish.direction.transmits() {
            return Err(self.unable("transmit"));
        }
        for taken in 0..most.min(BATCH) {
            // An interface that is down says so when a frame is sent; asking it before each would cost more
            // than the frame.
            let state = self.module.core().state();
            let (is_closed, room) = (state.over.is_some() || state.wire_is_down, state.room());
            drop(state);
            if is_closed {
                return if taken > 0 { Ok(taken) } else { self.check().map(|()| 0) };
            }
            if room < BEATS {
                self.counters.full += 1;
                return Ok(taken);
            }
            let mut slot =
                Slot { data: &mut self.room, length: 0, launch: Stamp::NONE, mark: &mut self.mark };
            write(&mut slot);
            let (length, launch) = (slot.length, slot.launch);
            let longest = self.about.longest_like(&self.room);
            if length > longest {
                return Err(PortError::TooLong { port: self.about.name.clone(), length, longest });
            }
            if length > 0 {
                let handed = self.hand_over(length, launch);
                self.taken += 1;
                self.taken_bytes += length as u64;
                if let Err(error) = handed {
                    // It was taken from the caller, and is lost.
                    self.lost += 1;
                    self.lost_bytes += length as u64;
                    return Err(error);
                }
            }
        }
        Ok(most.min(BATCH))
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        if !self.wish.direction.receives() {
            return Err(self.unable("receive"));
        }
        let mut state = self.module.core().state();
        let Some(handle) = state.handles.get_mut(&self.handle) else { return Ok(0) };
        let count = handle.arrived.len().min(most).min(BATCH);
        self.read.extend(handle.arrived.drain(..count));
        let is_over = state.over.is_some();
        if state.handles.get(&self.handle).is_some_and(|handle| handle.arrived.is_empty()) && !is_over {
            self.bell.still();
        }
        drop(state);
        if count == 0 && most > 0 && is_over {
            self.module.trouble().map_or(Ok(()), Err)?;
        }
        // Without the lock: who reads may send what it read.
        for arrived in &self.read {
            self.counters.received += 1;
            self.counters.received_bytes += arrived.data.len() as u64;
            let (data, length) = (&arrived.data[..], arrived.data.len());
            let (stamp, lost_before) = (arrived.stamp, arrived.lost_before);
            read(&Frame { data, length, stamp, lost_before, card_work: CardWork::NONE });
        }
        self.module.core().state().give_back(self.read.drain(..));
        Ok(count)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        if !self.wish.direction.transmits() || self.taken == 0 {
            return Ok(true);
        }
        let core = self.module.core();
        self.module.trouble().map_or(Ok(()), Err)?;
        let has_left = core.drain(limited(patience))?;
        // The caller takes what was not told by now for never told, so this waits by a patience of its own.
        if has_left && self.wish.departures {
            core.wait_until(limited(REPORTS_TAKE), |state| !state.has_pending(self.handle));
        }
        Ok(has_left)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        let core = self.module.core();
        let is_ready = match what {
            For::Receive if !self.wish.direction.receives() => return Err(self.unable("receive")),
            For::Transmit if !self.wish.direction.transmits() => return Err(self.unable("transmit")),
            For::Receive => core.wait_until(limited(patience), |state| {
                state.handles.get(&self.handle).is_some_and(|handle| !handle.arrived.is_empty())
            }),
            For::Transmit => core.wait_until(limited(patience), |state| state.room() >= BEATS),
        };
        if !is_ready {
            self.module.trouble().map_or(Ok(()), Err)?;
        }
        Ok(is_ready)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        self.ask();
        let (untold, odd) = (self.left_out.since, self.odd.since);
        self.module.core().count_dropped();
        let state = self.module.core().state();
        if let Some(handle) = state.handles.get(&self.handle) {
            let lost = self.lost + handle.lost;
            self.counters.sent = self.taken - lost - handle.refused;
            let unsent = self.lost_bytes + handle.lost_bytes + handle.refused_bytes;
            self.counters.sent_bytes = self.taken_bytes.saturating_sub(unsent);
            let bad = if self.wish.direction.receives() { state.bad } else { 0 };
            for (place, total) in [
                (DropPlace::TransmitDriver, handle.refused),
                (DropPlace::TransmitDown, lost),
                (DropPlace::ReceiveRing, handle.left_out + untold + handle.lost_reports()),
                (DropPlace::ReceiveDriver, bad + odd),
            ] {
                self.counters.drop(place, total.saturating_sub(self.counters.dropped(place)));
            }
        }
        drop(state);
        Ok(&self.counters)
    }

    fn is_up(&mut self) -> bool {
        self.check().is_ok()
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.check().err()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.fd())
    }

    fn own_time(&mut self) -> Result<Option<OwnTime>, PortError> {
        let simulated = self.module.is_simulated();
        let exchange = self.module.exchange()?;
        let offset = exchange.offset();
        let far = Picos::from_nanos(offset.ahead_ns.unsigned_abs().saturating_add(offset.bound.as_nanos()));
        Ok(Some(OwnTime {
            simulated,
            simulation: self.module.process_id().unwrap_or(0),
            tick: TICK,
            is_exact: true,
            stamped: StampedBy::Hardware,
            now: self.module.core().state().time.stamp(exchange.captured.tick),
            bound: if simulated { Picos::ZERO } else { far },
        }))
    }

    fn departed(&mut self, most: usize, read: &mut dyn FnMut(&Departed)) -> Result<usize, PortError> {
        let mut state = self.module.core().state();
        let Some(handle) = state.handles.get_mut(&self.handle) else { return Ok(0) };
        let count = handle.departed.len().min(most);
        let some: Vec<Departed> = handle.departed.drain(..count).collect();
        drop(state);
        some.iter().for_each(read);
        Ok(count)
    }
}

impl Drop for ModulePort {
    fn drop(&mut self) {
        self.module.core().state().handles.remove(&self.handle);
        self.module.leave(self.wish.direction.receives());
    }
}
