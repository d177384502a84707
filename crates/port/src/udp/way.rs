//! What became of datagrams that the kernel took without a word: the counters of the interface that leads to
//! the peer. Some losses behind a socket are told to nobody: a queueing discipline that drops what it has
//! taken, a link without carrier, the queue of a neighbour that does not answer.
//!
//! ```text
//!   given to the kernel ─► neighbour's queue ─► queueing discipline ─► driver ─► tx_packets, tx_bytes
//! ```
//!
//! carried = Δtx_bytes − Δtx_packets × headers; what was given and is not among that did not leave. Frames of
//! other programs on the interface count as carried, so this is the least that was lost; where the next hop did
//! not answer for some, and others carried as much, none of ours is known to have left. Frames that its
//! queueing disciplines dropped did not leave either, unless some were refused with an error, which they count
//! alike. Drops of other programs' frames are among them: the kernel does not tell them apart.
//!
//! A veth whose peer runs an XDP program counts bytes without Ethernet headers, and others with them.

use crate::interface::{Interface, Link, Statistics};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Some drivers count a while after the fact.
const LAG_NS: u64 = 3_000_000_000;

/// Length of an Ethernet header.
const ETHERNET: u64 = 14;

/// All interfaces that ports of this process use: those that share one are judged together.
static WIRES: Mutex<Vec<Weak<Wire>>> = Mutex::new(Vec::new());

/// What ports gave the kernel since the interface's counters were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub messages: u64,
    pub frames: u64,
    /// Bytes of payloads.
    pub payload: u64,
    /// Frames that are known not to have left.
    pub gone: u64,
    /// Messages that were refused for want of room: they are tried again.
    pub refused: u64,
}

impl Given {
    fn add(&mut self, more: Self) {
        self.messages += more.messages;
        self.frames += more.frames;
        self.payload += more.payload;
        self.gone += more.gone;
        self.refused += more.refused;
    }

    /// Frames that are missing, at least, where so much has left with at least `headers.least` bytes each, and
    /// so many were dropped in queues.
    fn missing(&self, [packets, bytes, drops]: [u64; 3], headers: Headers) -> u64 {
        let without = |headers| bytes.saturating_sub(packets.saturating_mul(headers));
        let (carried, at_most) = (without(headers.most), without(headers.least));
        let share = |missing: u64, of: u64| {
            let frames = u128::from(missing) * u128::from(self.frames) / u128::from(of.max(1));
            u64::try_from(frames).unwrap_or(u64::MAX)
        };
        let by_bytes = share(self.payload.saturating_sub(at_most), self.payload);
        let by_count = share(self.messages.saturating_sub(packets), self.messages);
        let by_queues = if self.refused == 0 { drops.min(self.frames) } else { 0 };
        // Nobody answered for the next hop, and others' frames may hide how many of ours that cost.
        if self.gone > 0 && carried >= self.payload {
            return self.frames.saturating_sub(self.gone);
        }
        by_bytes.max(by_count).max(by_queues).saturating_sub(self.gone)
    }
}

/// Bytes of a frame's headers that the interface counts.
#[derive(Clone, Copy, Debug)]
struct Headers {
    least: u64,
    most: u64,
}

impl Headers {
    fn of(interface: &Interface, is_ipv4: bool) -> Self {
        // The loopback interface counts no Ethernet headers, and others have none.
        let link = if interface.is_ethernet && !interface.is_loopback { ETHERNET } else { 0 };
        let rest = 8 + if is_ipv4 { 20 } else { 40 };
        let is_sure = interface.driver.as_deref() != Some("veth");
        Self { least: rest + if is_sure { link } else { 0 }, most: rest + link }
    }
}

/// What did not leave although nobody said so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    pub frames: u64,
    /// It may be held somewhere, and leave yet.
    pub may_leave: bool,
    /// The interface lost its link meanwhile, or has none.
    pub had_no_link: bool,
}

struct Wire {
    /// The namespace's inode.
    namespace: u64,
    index: u32,
    /// One question at a time: answers come to one socket.
    interface: Mutex<Interface>,
    headers: Headers,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    given: Given,
    /// Ports that have given something and have not settled.
    busy: u32,
    start: Option<Reading>,
    /// Some is still held somewhere: what is missing may yet leave.
    is_open: bool,
}

/// The interface's counters.
#[derive(Clone, Copy)]
struct Reading {
    statistics: Statistics,
    queue_drops: u64,
    link_losses: u64,
}

/// One port's part in it.
pub(super) struct Way {
    ends: (SocketAddr, SocketAddr),
    wire: Option<Arc<Wire>>,
    given: Given,
    is_busy: bool,
}

impl Way {
    /// Of a socket of this thread's namespace.
    pub fn find(own: SocketAddr, peer: SocketAddr, namespace: u64) -> Self {
        Self { ends: (own, peer), wire: wire(own, peer, namespace), given: Given::default(), is_busy: false }
    }

    /// Something will be given to the kernel.
    pub fn begin(&mut self) {
        if self.is_busy {
            return;
        }
        self.is_busy = true;
        let Some(wire) = &self.wire else { return };
        let mut state = wire.state();
        if state.busy == 0 {
            *state = State { start: wire.now(), ..State::default() };
        }
        state.busy += 1;
    }

    pub fn gave(&mut self, messages: u64, frames: u64, payload: u64) {
        self.given.add(Given { messages, frames, payload, ..Given::default() });
    }

    /// A message was refused for want of room, or may have been.
    pub const fn refused(&mut self) {
        self.given.refused += 1;
    }

    /// So many frames of those that were given are known not to have left.
    pub const fn gone(&mut self, frames: u64) {
        self.given.gone += frames;
    }

    /// Nothing more is given for now. The last port that says so learns what is missing of all; nobody does
    /// where the way has changed.
    pub fn settle(&mut self, is_held: bool, until_ns: u64) -> Missing {
        let given = std::mem::take(&mut self.given);
        if !std::mem::take(&mut self.is_busy) {
            return Missing::default();
        }
        let Some(wire) = &self.wire else { return Missing::default() };
        let mut state = wire.state();
        state.given.add(given);
        state.is_open |= is_held;
        state.busy -= 1;
        let (given, start) = (state.given, state.start);
        let (is_last, may_leave) = (state.busy == 0, state.is_open);
        drop(state);
        let until_ns = if may_leave { 0 } else { until_ns };
        let Some(start) = start.filter(|_| is_last) else { return Missing::default() };
        let frames = wire.missing(&given, &start, until_ns.min(clock::monotonic_ns() + LAG_NS));
        let interface = wire.interface();
        let route = interface.route_there(self.ends.0, self.ends.1);
        if frames == 0 || route.is_ok_and(|route| route.interface != wire.index) {
            return Missing::default();
        }
        let had_no_link = interface.link_losses() > start.link_losses || interface.state() != Link::Up;
        Missing { frames, may_leave, had_no_link }
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.settle(true, 0);
    }
}

impl Wire {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interface(&self) -> MutexGuard<'_, Interface> {
        self.interface.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Option<Reading> {
        let interface = self.interface();
        Some(Reading {
            statistics: interface.statistics().ok()?,
            queue_drops: interface.queue_drops(),
            link_losses: interface.link_losses(),
        })
    }

    fn missing(&self, given: &Given, start: &Reading, until_ns: u64) -> u64 {
        loop {
            let Some(now) = self.now() else { return 0 };
            let packets = now.statistics.tx_packets.saturating_sub(start.statistics.tx_packets);
            let bytes = now.statistics.tx_bytes.saturating_sub(start.statistics.tx_bytes);
            let drops = now.queue_drops.saturating_sub(start.queue_drops);
            let missing = given.missing([packets, bytes, drops], self.headers);
            if missing == 0 || clock::monotonic_ns() >= until_ns {
                return missing;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The one that leads there; `None` where nobody tells.
fn wire(own: SocketAddr, peer: SocketAddr, namespace: u64) -> Option<Arc<Wire>> {
    let index = Interface::route(own, peer).ok()?.interface;
    let mut all = WIRES.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|wire| wire.strong_count() > 0);
    let is_it = |wire: &Arc<Wire>| wire.namespace == namespace && wire.index == index;
    if let Some(known) = all.iter().filter_map(Weak::upgrade).find(is_it) {
        return Some(known);
    }
    let interface = Interface::of_index(index)?;
    let headers = Headers::of(&interface, peer.is_ipv4());
    let wire = Arc::new(Wire {
        namespace,
        index,
        interface: Mutex::new(interface),
        headers,
        state: Mutex::default(),
    });
    all.push(Arc::downgrade(&wire));
    Some(wire)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: Headers = Headers { least: 42, most: 42 };

    #[test]
    fn what_the_interface_did_not_count_is_missing() {
        // 100 datagrams of 18 bytes, alone: frames of 60 bytes.
        let single = Given { messages: 100, frames: 100, payload: 1_800, ..Given::default() };
        assert_eq!([100, 99, 40, 0].map(|left| single.missing([left, 60 * left, 0], SURE)), [0, 1, 60, 100]);
        assert_eq!(Given { gone: 30, ..single }.missing([40, 2_400, 0], SURE), 30);
        // What others sent meanwhile proves nothing where the next hop did not answer.
        assert_eq!(Given { gone: 30, ..single }.missing([500, 600_000, 0], SURE), 70);
        assert_eq!(single.missing([500, 600_000, 0], SURE), 0);
        assert_eq!(single.missing([103, 6_126, 0], SURE), 0, "and three ARP requests of 42 bytes");
        // Five messages of 20: the driver counts messages (42 + 360 bytes), or what they were cut into.
        let cut = Given { messages: 5, ..single };
        assert_eq!([cut.missing([5, 2_010, 0], SURE), cut.missing([100, 6_000, 0], SURE)], [0, 0]);
        assert_eq!([cut.missing([4, 1_608, 0], SURE), cut.missing([80, 4_800, 0], SURE)], [20, 20]);
        // Payloads of no bytes are counted.
        let empty = Given { payload: 0, ..single };
        assert_eq!(empty.missing([97, 97 * 42, 0], SURE), 3);
        // Others' frames hide nothing that the queues dropped; what was refused is tried again.
        assert_eq!(single.missing([500, 600_000, 19], SURE), 19);
        assert_eq!(Given { refused: 7, ..single }.missing([500, 600_000, 19], SURE), 0);
    }

    #[test]
    fn a_veth_counts_bytes_without_ethernet_headers_where_its_peer_runs_xdp() {
        let veth = Headers { least: 28, most: 42 };
        let given = Given { messages: 4_000, frames: 4_000, payload: 72_000, ..Given::default() };
        assert_eq!([46, 60].map(|each| given.missing([4_000, 4_000 * each, 0], veth)), [0, 0]);
        assert_eq!([46, 60].map(|each| given.missing([3_900, 3_900 * each, 0], veth)), [100, 100]);
        assert_eq!(given.missing([4_000, 4_000 * 46, 0], SURE), 3_111, "of a card this would be told");
        // What others sent proves nothing where the next hop did not answer; as much as is ours does.
        let gone = Given { gone: 300, ..given };
        assert_eq!(gone.missing([3_700, 3_700 * 60, 0], veth), 0);
    }
}
