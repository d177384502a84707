//! The receiving half: a socket with a ring, its options, and what was lost before it.

use super::inlet::{Inlet, Show, Tally};
use super::merged::Merged;
use super::ring_v2::RingV2;
use super::ring_v3::RingV3;
use super::setting::{Setting, denied, failed};
use super::socket::{EVERYTHING, Socket};
use crate::card_clock::CardClock;
use crate::error::Why;
use crate::interface::{Interface, StampGuard, Statistics};
use crate::{Choice, Counters, DropPlace, Frame, Instruction, PortError, StampClock, StampedBy};
use std::io;
use std::os::fd::BorrowedFd;

/// Bytes for each of the `slots` in a ring of blocks: a full frame with its header.
const V3_SLOT: usize = 2_048;

/// Calls that find nothing until the kernel is asked whether the interface is still there. (Who waits is told
/// at once.)
const IDLE_CALLS: u32 = 1_024;

/// BPF_RET | BPF_K: accept so many bytes (0: none).
const RETURN: u16 = 0x06;
/// The instruction's `k` that accepts all of a frame.
const ALL: u32 = 0x0004_0000;

pub struct Receiver {
    socket: Socket,
    inlet: Box<dyn Inlet>,
    snap: Option<usize>,
    tally: Tally,
    stamps: StampedBy,
    /// The clock of the card that stamps, and what keeps it stamping.
    card: Option<(CardClock, StampGuard)>,
    /// Calls in a row that found nothing.
    idle: u32,
    /// The kernel's counters of the interface when this was opened; none if another queue tells them.
    before: Option<Statistics>,
}

impl Receiver {
    pub fn open(
        interface: &Interface,
        setting: &Setting,
        choices: &mut Vec<Choice>,
    ) -> Result<Self, PortError> {
        let socket = Socket::open().map_err(|error| denied(setting, error))?;
        let card = switch_stamps(&socket, interface, setting, choices)?;
        let stamps = if card.is_some() { StampedBy::Hardware } else { StampedBy::Driver };
        let inlet = inlet(&socket, interface, setting, choices)?;
        let set = |option, value: i32, what| {
            socket.set_packet(option, value).map_err(|error| failed(setting, what, error))
        };
        if !setting.outgoing {
            set(libc::PACKET_IGNORE_OUTGOING, 1, "leaving out what this host sends")?;
        }
        let before = if setting.queue == 0 { interface.statistics().ok() } else { None };
        let (snap, tally) = (setting.snap, Tally::default());
        let receiver = Self { socket, inlet, snap, tally, stamps, card, idle: 0, before };
        receiver.begin(interface, setting, choices)?;
        Ok(receiver)
    }

    /// Lets frames in, once all is ready: what comes before that would come to every queue of a group.
    fn begin(
        &self,
        interface: &Interface,
        setting: &Setting,
        choices: &mut Vec<Choice>,
    ) -> Result<(), PortError> {
        let attach = |k| self.attach(&[Instruction { code: RETURN, jt: 0, jf: 0, k }]);
        attach(0).map_err(|error| failed(setting, "keeping frames out", error))?;
        self.socket.bind(interface, EVERYTHING).map_err(|error| failed(setting, "binding", error))?;
        self.join(setting, choices)?;
        if setting.promiscuous {
            self.listen_to_all(interface).map_err(|error| failed(setting, "promiscuous mode", error))?;
        }
        let opened = match &setting.ours {
            Some(ours) => self.attach(&ours.program()),
            None if setting.snap.is_some() => attach(ALL),
            None => self.socket.detach(),
        };
        opened.map_err(|error| failed(setting, "letting frames in", error))
    }

    /// Shares the interface's frames with the other queues of this group.
    fn join(&self, setting: &Setting, choices: &mut Vec<Choice>) -> Result<(), PortError> {
        let Some(group) = setting.fanout else { return Ok(()) };
        let (mode, why) = match setting.share {
            "cpu" => (libc::PACKET_FANOUT_CPU, "as requested: by the CPU that a frame arrived on"),
            "lb" => (libc::PACKET_FANOUT_LB, "as asked: in turn"),
            "queue" => (libc::PACKET_FANOUT_QM, "as requested: by the card's queue"),
            _ => (libc::PACKET_FANOUT_HASH, "all frames of a flow come to one queue, in order"),
        };
        let kind = mode | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
        self.socket
            .set_packet(libc::PACKET_FANOUT, u32::from(group) | (kind << 16))
            .map_err(|error| failed(setting, "sharing frames between queues", error))?;
        choices.push(Choice { what: "fanout", chosen: setting.share.into(), why: why.into() });
        Ok(())
    }

    /// Frames to other stations' addresses too; until the socket is closed.
    fn listen_to_all(&self, interface: &Interface) -> io::Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: interface.index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.socket.set_packet(libc::PACKET_ADD_MEMBERSHIP, request)
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    pub const fn stamps(&self) -> StampedBy {
        self.stamps
    }

    /// The clock of the card that stamps.
    pub fn stamp_clock(&mut self) -> Option<StampClock> {
        let (card, _) = self.card.as_mut()?;
        Some(StampClock { unstamped: self.tally.unstamped, ..card.report() })
    }

    /// Shows up to `most` frames.
    #[inline]
    pub fn read(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>), counters: &mut Counters) -> usize {
        let before = self.tally;
        let snap = self.snap.unwrap_or(usize::MAX);
        if let Some((card, _)) = &mut self.card {
            card.follow();
        }
        let card = self.card.as_ref().map(|(card, _)| card);
        self.inlet.read(most, &mut Show { read, snap, tally: &mut self.tally, card });
        let frames = self.tally.frames - before.frames;
        counters.received += frames;
        counters.received_bytes += self.tally.bytes - before.bytes;
        self.idle = if frames == 0 { self.idle.saturating_add(1) } else { 0 };
        if std::mem::take(&mut self.tally.is_losing) {
            self.count_drops(counters);
        }
        frames as usize
    }

    /// Whether nothing has come for so many calls that it is time to ask whether the interface is still there.
    pub fn is_idle_for_long(&self) -> bool {
        self.idle % IDLE_CALLS == IDLE_CALLS - 1
    }

    /// Takes the error that a link going down leaves.
    pub fn take_error(&self) {
        let _ = self.socket.take_error();
    }

    /// Asks how many frames found no room in the ring.
    pub fn count_drops(&mut self, counters: &mut Counters) {
        counters.calls += 1;
        if let Ok(statistics) = self.socket.statistics() {
            counters.drop(DropPlace::ReceiveRing, u64::from(statistics.tp_drops));
            self.tally.lost_before = self.tally.lost_before.saturating_add(statistics.tp_drops);
        }
    }

    /// Frames that the card lost before any socket saw them, since this was opened. (What the kernel counts as
    /// dropped on receiving says nothing: frames that no protocol wanted are there too, after every socket had
    /// its copy.)
    pub fn count_interface(&self, now: &Statistics, counters: &mut Counters) {
        let Some(before) = &self.before else { return };
        let in_card = |s: &Statistics| s.rx_missed.max(s.rx_over).max(s.rx_fifo);
        let total = in_card(now).saturating_sub(in_card(before));
        let known = counters.dropped(DropPlace::ReceiveDriver);
        counters.drop(DropPlace::ReceiveDriver, total.saturating_sub(known));
    }

    /// Only frames that `program` accepts, from now on; what came before it is forgotten.
    pub fn filter(&mut self, program: &[Instruction], counters: &mut Counters) -> io::Result<()> {
        self.attach(&[Instruction { code: RETURN, jt: 0, jf: 0, k: 0 }])?;
        counters.drop(DropPlace::ReceiveFilter, self.inlet.forget());
        self.attach(program)
    }

    fn attach(&self, program: &[Instruction]) -> io::Result<()> {
        let program: Vec<Instruction> = program.iter().map(|one| cut(*one, self.snap)).collect();
        self.socket.attach(&program)
    }
}

/// What a program returns is how many bytes are kept: no more than `snap`.
fn cut(instruction: Instruction, snap: Option<usize>) -> Instruction {
    match snap {
        Some(snap) if instruction.code == RETURN && instruction.k > 0 => {
            Instruction { k: instruction.k.min(snap.max(1) as u32), ..instruction }
        }
        _ => instruction,
    }
}

fn inlet(
    socket: &Socket,
    interface: &Interface,
    setting: &Setting,
    choices: &mut Vec<Choice>,
) -> Result<Box<dyn Inlet>, PortError> {
    let whole = interface.longest(true) + 4;
    let longest = setting.snap.map_or(whole, |snap| snap.min(whole));
    let (kind, why) = match (setting.receive, setting.is_receive_only) {
        ("slots", _) => ("slots", "as asked: TPACKET_V2"),
        ("blocks", _) => ("blocks", "as asked: TPACKET_V3"),
        (_, true) => ("blocks", "TPACKET_V3: the port only receives, and blocks of frames cost least"),
        (_, false) => {
            ("slots", "TPACKET_V2: the port also sends, and each frame is seen as soon as it arrives")
        }
    };
    choices.push(Choice { what: "receive", chosen: kind.into(), why: why.into() });
    // A station reads its segments whole, of whatever length, and counts what was merged.
    let merged = match setting.ours {
        Some(_) => Merged::Marks,
        None => {
            Merged::ask(socket).map_err(|error| failed(setting, "asking which frames are merged", error))?
        }
    };
    if setting.ours.is_none() && merged == Merged::Marks {
        let why = "the kernel tells of TCP alone whether a frame holds several (of others since Linux 6.2)";
        choices.push(Choice { what: "merged", chosen: "tcp".into(), why: why.into() });
    }
    let made = if kind == "slots" {
        let keeps_all = setting.ours.is_some() && setting.snap.is_none();
        RingV2::new(socket, setting.slots, longest, merged, keeps_all)
            .map(|ring| Box::new(ring) as Box<dyn Inlet>)
    } else {
        RingV3::new(socket, setting.slots * V3_SLOT, longest, merged)
            .map(|ring| Box::new(ring) as Box<dyn Inlet>)
    };
    made.map_err(|error| failed(setting, "making the receive ring", error))
}

/// Has frames stamped by the best that there is: by the card, if its clock can be set beside the wall clock.
fn switch_stamps(
    socket: &Socket,
    interface: &Interface,
    setting: &Setting,
    choices: &mut Vec<Choice>,
) -> Result<Option<(CardClock, StampGuard)>, PortError> {
    let mut choose = |by: StampedBy, why: String| {
        choices.push(Choice { what: "stamps", chosen: by.name().into(), why });
    };
    let refused = match (setting.stamps, interface.stamping.hardware) {
        ("driver", _) => "as requested: the kernel's timestamps".to_owned(),
        (_, false) => {
            let driver = interface.driver.as_deref().unwrap_or("of this interface");
            format!(
                "the driver {driver} does not timestamp every frame in hardware: the kernel does, when it \
                 receives the frame"
            )
        }
        (_, true) => match card(interface) {
            Ok((card, guard)) => {
                let flags = libc::SOF_TIMESTAMPING_RAW_HARDWARE | libc::SOF_TIMESTAMPING_RX_HARDWARE;
                socket
                    .set_packet(libc::PACKET_TIMESTAMP, flags)
                    .map_err(|error| failed(setting, "hardware stamps", error))?;
                choose(StampedBy::Hardware, card.words());
                return Ok(Some((card, guard)));
            }
            Err(why) => format!("the card's timestamps are not used, but the kernel's: {why}"),
        },
    };
    if setting.stamps == "hardware" {
        return Err(PortError::Unavailable {
            what: format!("stamps=hardware for {}", setting.name),
            why: refused,
        });
    }
    // The first makes the kernel stamp frames when the driver hands them over, the second puts that stamp into
    // the ring.
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    socket
        .set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags)
        .and_then(|()| socket.set_packet(libc::PACKET_TIMESTAMP, flags))
        .map_err(|error| failed(setting, "the kernel's stamps", error))?;
    choose(StampedBy::Driver, refused);
    Ok(None)
}

fn card(interface: &Interface) -> Result<(CardClock, StampGuard), Why> {
    let card = CardClock::of(interface)?;
    let guard = StampGuard::switch_on(interface, true, false);
    guard.map(|guard| (card, guard)).map_err(|error| format!("they could not be switched on ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_keeps_no_more_than_the_snap_length() {
        let accept = |k| Instruction { code: RETURN, jt: 0, jf: 0, k };
        assert_eq!(cut(accept(262_144), Some(96)), accept(96));
        assert_eq!(cut(accept(0), Some(96)), accept(0));
        assert_eq!(cut(accept(262_144), None), accept(262_144));
        // A comparison is no return.
        let compare = Instruction { code: 0x15, jt: 1, jf: 0, k: 0x0800 };
        assert_eq!(cut(compare, Some(96)), compare);
    }
}
