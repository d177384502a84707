//! DPDK: frames by the system's libdpdk, which is loaded when a port of this kind is opened.
//!
//! ```text
//!   transmit: buffer at hand ─ write ─► driver's burst ─► card        what it has no room for waits here
//!   receive:  driver's burst ─ read ─► buffer goes back to its pool
//!   library   the functions and tables, by dlopen;  layout  where things lie in them
//!   eal       the environment, once a process;      device  a device with all its queues
//! ```
//!
//! The address is `dpdk:DEVICE`, where the device is written as DPDK's own `--vdev` and `-a` have it.

mod cache;
mod device;
mod eal;
mod layout;
mod library;
mod losses;
mod opening;
mod passing;
mod place;
mod pool;
mod said;
mod sockets;
mod stamps;
mod thread;

use crate::interface::Interface;
use crate::{
    About, Address, CardWork, Counters, DropPlace, For, Frame, Passed, Port, PortError, Slot, Stamp, Wish,
};
use device::{Device, Lease};
use layout::{Burst, CHECKSUM_NONE, Mbuf, Mempool};
pub(crate) use opening::check;
use opening::{Usable, about, fast, named};
use std::ffi::c_void;
use std::ptr;
use std::time::Duration;
use units::Picos;

/// Frames that one call takes at most.
const BATCH: usize = 64;
/// Between two looks at the link of an interface of this host.
const LOOK_NS: u64 = 1_000_000;
/// Between two looks whether something has come, where nobody can be asked to be woken up.
const NAP: Duration = Duration::from_micros(50);

/// A driver's function with the queue that it is for.
#[derive(Clone, Copy, Debug)]
struct Fast {
    burst: Burst,
    queue: *mut c_void,
}

impl Fast {
    #[inline]
    fn call(self, buffers: &mut [*mut Mbuf]) -> usize {
        // SAFETY: the function that the driver has for this queue, which one thread at a time uses, with as
        // many places as it is told.
        usize::from(unsafe { (self.burst)(self.queue, buffers.as_mut_ptr(), buffers.len() as u16) })
    }
}

/// One queue of one device.
#[derive(Debug)]
pub(crate) struct DpdkPort {
    about: About,
    lease: Lease,
    interface: Option<Interface>,
    /// Longest frame that may leave now.
    longest: usize,
    transmit: Option<Fast>,
    receive: Option<Fast>,
    /// Buffers that hold nothing yet: the first `spare_count`.
    spare: [*mut Mbuf; BATCH],
    spare_count: usize,
    /// Frames that were taken and that the driver had no room for: from `waiting_from` to `waiting_to`.
    waiting: [*mut Mbuf; BATCH],
    waiting_from: usize,
    waiting_to: usize,
    waiting_bytes: u64,
    /// Frames that came while somebody waited for them.
    arrived: [*mut Mbuf; BATCH],
    arrived_from: usize,
    arrived_to: usize,
    /// A frame that came in several buffers, in one piece.
    whole: Vec<u8>,
    snap: usize,
    spins: bool,
    counters: Counters,
    is_down: bool,
    looked_ns: u64,
    ring: losses::Ring,
}

// SAFETY: buffers and queues belong to the port alone, which one thread at a time uses; both may be used by any
// thread.
unsafe impl Send for DpdkPort {}

/// Opens one queue of a device.
///
/// # Errors
/// `Unavailable` where there is no library, driver, device or memory; `NoInterface`.
pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    Ok(Box::new(DpdkPort::open(address, wish)?))
}

impl DpdkPort {
    fn open(address: &Address, wish: &Wish) -> Result<Self, PortError> {
        let Usable { place, asked, interface } = Usable::find(address)?;
        let eal = eal::start(&asked, place.is_pci.then_some(place.name.as_str()))?;
        let lease = Lease::take(eal, address, &place, interface.as_ref(), wish)?;
        let interface = match interface {
            None => named(lease.device.interface_index).map(|name| Interface::find(&name)).transpose()?,
            some => some,
        };
        let about = about(address, wish, &lease, interface.as_ref());
        opening::check_slots(&lease, interface.as_ref())?;
        if wish.direction.transmits() && wish.frame > about.longest {
            let (port, length, longest) = (about.name, wish.frame, about.longest);
            return Err(PortError::TooLong { port, length, longest });
        }
        let (transmit, receive) = fast(&lease)?;
        let ring = losses::Ring::of(&lease.device);
        Ok(Self {
            longest: about.longest,
            about,
            interface,
            transmit: transmit.filter(|_| wish.direction.transmits()),
            receive: receive.filter(|_| wish.direction.receives()),
            lease,
            spare: [ptr::null_mut(); BATCH],
            spare_count: 0,
            waiting: [ptr::null_mut(); BATCH],
            waiting_from: 0,
            waiting_to: 0,
            waiting_bytes: 0,
            arrived: [ptr::null_mut(); BATCH],
            arrived_from: 0,
            arrived_to: 0,
            whole: Vec::new(),
            snap: wish.snap.unwrap_or(usize::MAX),
            spins: wish.busy,
            counters: Counters::default(),
            is_down: false,
            looked_ns: 0,
            ring,
        })
    }

    fn device(&self) -> &Device {
        &self.lease.device
    }

    /// Hands over what waits. Returns whether all of it has left.
    #[inline]
    fn push(&mut self) -> bool {
        let Some(transmit) = self.transmit else { return true };
        if self.waiting_from == self.waiting_to {
            return true;
        }
        let room = self.ring.room(&self.lease.device).min(self.waiting_to - self.waiting_from);
        let count = match room {
            0 => 0,
            _ => transmit.call(&mut self.waiting[self.waiting_from..self.waiting_from + room]),
        };
        self.ring.took(count);
        let mut left = 0;
        for frame in &self.waiting[self.waiting_from + count..self.waiting_to] {
            // SAFETY: a buffer that this port has filled and still holds, for the driver has not taken it.
            left += u64::from(unsafe { (**frame).packet_bytes });
        }
        self.counters.calls += 1;
        self.counters.sent += count as u64;
        self.counters.sent_bytes += self.waiting_bytes - left;
        self.waiting_bytes = left;
        self.waiting_from += count;
        if self.waiting_from == self.waiting_to {
            (self.waiting_from, self.waiting_to) = (0, 0);
            return true;
        }
        self.handed_back();
        false
    }

    /// The driver had no room for some.
    #[cold]
    fn handed_back(&mut self) {
        let rest = (self.waiting_to - self.waiting_from) as u64;
        eal::lock(&self.device().counted).handed_back += rest;
        self.look(true);
    }

    /// Now and then, whether the interface is still as it was: a driver may take frames that go nowhere.
    #[inline]
    fn look(&mut self, is_stuck: bool) {
        if self.interface.is_some() {
            let now = clock::monotonic_ns();
            if now.saturating_sub(self.looked_ns) >= LOOK_NS {
                self.looked_ns = now;
                self.look_now(is_stuck);
            }
        }
    }

    #[cold]
    fn look_now(&mut self, is_stuck: bool) {
        let Some(interface) = &self.interface else { return };
        self.is_down = interface.trouble().is_some();
        if let Some(longest) = interface.longest_now() {
            let longest = longest.min(self.device().room);
            let has_shrunk = longest < self.longest;
            self.longest = longest;
            if is_stuck && has_shrunk {
                self.drop_too_long();
            }
        }
    }

    /// Frames that wait and are longer than the interface takes now.
    fn drop_too_long(&mut self) {
        let mut kept = self.waiting_from;
        for at in self.waiting_from..self.waiting_to {
            let frame = self.waiting[at];
            // SAFETY: a buffer that this port has filled and still holds.
            let bytes = unsafe { (*frame).packet_bytes };
            if bytes as usize > self.longest {
                self.waiting_bytes -= u64::from(bytes);
                self.counters.drop(DropPlace::TransmitTooLong, 1);
                pool::free(self.lease.device.eal, &mut [frame]);
            } else {
                self.waiting[kept] = frame;
                kept += 1;
            }
        }
        self.waiting_to = kept;
    }

    /// Whether frames can leave, as far as that is known.
    #[inline]
    fn check_link(&mut self) -> Result<(), PortError> {
        self.look(false);
        if self.is_down {
            match self.trouble() {
                Some(trouble) => return Err(trouble),
                None => self.is_down = false,
            }
        }
        Ok(())
    }

    /// Sees to it that there are `most` buffers to write to; how many there are.
    #[inline]
    fn stock(&mut self, most: usize) -> usize {
        if self.spare_count < most {
            let device = &self.lease.device;
            let thread = thread::number(device.eal);
            let pool = &device.leaving[usize::from(self.lease.queue)];
            if pool.take(thread, &mut self.spare[self.spare_count..most]) {
                self.spare_count = most;
            }
        }
        self.spare_count.min(most)
    }

    /// Asks the driver for frames, if none are left of the last time.
    #[inline]
    fn pull(&mut self, most: usize) -> usize {
        if self.arrived_from == self.arrived_to {
            thread::number(self.lease.device.eal);
            let Some(receive) = self.receive else { return 0 };
            self.arrived_from = 0;
            self.arrived_to = receive.call(&mut self.arrived[..most.min(BATCH)]);
        }
        self.arrived_to - self.arrived_from
    }

    fn unable(&self, what: &'static str) -> PortError {
        PortError::Unable { port: self.about.name.clone(), what }
    }
}

impl Port for DpdkPort {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        if self.transmit.is_none() {
            return Err(self.unable("send: it was opened to receive"));
        }
        self.check_link()?;
        if !self.push() {
            self.counters.full += u64::from(most > 0);
            return Ok(0);
        }
        let most = most.min(BATCH);
        let rooms = self.stock(most);
        let device = &self.lease.device;
        let (mark_at, room, launch) = (device.eal.mark, device.room, device.clocks.launch);
        let longest = self.longest;
        let (mut taken, mut bytes, mut too_long) = (0, 0, None);
        while taken < rooms {
            let buffer = self.spare[self.spare_count - 1];
            // SAFETY: a buffer of this queue's pool that this port alone has.
            let head = unsafe { &mut *buffer };
            // SAFETY: the library keeps eight bytes of the head there for this mark.
            let mark = unsafe { &mut *buffer.cast::<u8>().add(mark_at).cast::<u64>() };
            // SAFETY: a buffer has so many bytes behind the room before a frame.
            let data = unsafe { std::slice::from_raw_parts_mut(head.buffer.add(layout::HEADROOM), room) };
            let mut slot = Slot { data, length: 0, launch: Stamp::NONE, mark };
            write(&mut slot);
            let (length, at) = (slot.length, slot.launch);
            if length > longest {
                *slot.mark = 0;
                too_long = Some(length);
                break;
            }
            taken += 1;
            if length == 0 {
                continue;
            }
            head.ready(length);
            if let Some(field) = launch {
                field.write(head, at);
            }
            self.spare_count -= 1;
            self.waiting[self.waiting_to] = buffer;
            self.waiting_to += 1;
            bytes += length as u64;
        }
        self.waiting_bytes += bytes;
        self.counters.full += u64::from(taken < most && too_long.is_none());
        self.push();
        match too_long {
            Some(length) if taken == 0 => {
                Err(PortError::TooLong { port: self.about.name.clone(), length, longest })
            }
            _ => Ok(taken),
        }
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        if self.receive.is_none() {
            return Err(self.unable("receive: it was opened to send"));
        }
        if most == 0 {
            return Ok(0);
        }
        let count = self.pull(most).min(most);
        if count == 0 {
            self.look(false);
            return match self.is_down.then(|| self.trouble()).flatten() {
                Some(gone @ PortError::Gone { .. }) => Err(gone),
                _ => Ok(0),
            };
        }
        let arrival = self.lease.device.clocks.arrival;
        let most_kept = self.lease.device.kept;
        let end = self.arrived_from + count;
        let (mut bytes, mut all_plain, mut pool) = (0, true, ptr::null_mut::<Mempool>());
        for buffer in &self.arrived[self.arrived_from..end] {
            // SAFETY: a buffer that the driver has filled and handed over.
            let head = unsafe { &**buffer };
            let data = match head.segments {
                1 => segment(head),
                _ => gather(head, &mut self.whole),
            };
            // A frame that fills its slot may have been longer: it counts as cut off.
            let is_cut = head.packet_bytes as usize >= most_kept;
            let length = head.packet_bytes as usize + usize::from(is_cut);
            bytes += length as u64;
            all_plain &= head.is_plain() && (pool.is_null() || head.pool == pool);
            pool = head.pool;
            read(&Frame {
                data: &data[..data.len().min(self.snap)],
                length,
                stamp: arrival.map_or(Stamp::NONE, |(field, _)| field.read(head)),
                lost_before: 0,
                card_work: CardWork { checksum: head.flags & CHECKSUM_NONE == CHECKSUM_NONE, split: false },
            });
        }
        let (eal, read_ones) = (self.lease.device.eal, &mut self.arrived[self.arrived_from..end]);
        if all_plain {
            pool::free_plain(eal, pool, thread::number(eal), read_ones);
        } else {
            pool::free(eal, read_ones);
        }
        self.arrived_from = end;
        self.counters.calls += 1;
        self.counters.received += count as u64;
        self.counters.received_bytes += bytes;
        Ok(count)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        let until = clock::monotonic_ns().saturating_add(patience.as_nanos());
        thread::number(self.lease.device.eal);
        while !self.push() {
            if clock::monotonic_ns() >= until {
                self.empty_rings(until);
                return Ok(false);
            }
            std::thread::yield_now();
        }
        Ok(self.empty_rings(until))
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        let until = clock::monotonic_ns().saturating_add(patience.as_nanos());
        thread::number(self.lease.device.eal);
        loop {
            let is_there = match what {
                For::Receive => self.pull(BATCH) > 0,
                For::Transmit => self.push() && self.stock(1) > 0,
            };
            let left = until.saturating_sub(clock::monotonic_ns());
            if is_there || left == 0 {
                return Ok(is_there);
            }
            self.look(false);
            if self.is_down
                && let Some(gone @ PortError::Gone { .. }) = self.trouble()
            {
                return Err(gone);
            }
            if self.spins {
                std::hint::spin_loop();
            } else {
                std::thread::sleep(NAP.min(Duration::from_nanos(left)));
            }
        }
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        self.count_losses();
        Ok(&self.counters)
    }

    fn pass_on(&mut self, to: &mut dyn Port, most: usize) -> Option<Result<Passed, PortError>> {
        self.pass_on_to(to.as_any()?.downcast_mut()?, most)
    }

    fn as_any(&mut self) -> Option<&mut dyn std::any::Any> {
        Some(self)
    }

    fn is_up(&mut self) -> bool {
        match &self.interface {
            Some(interface) => interface.trouble().is_none(),
            None => self.device().link().is_up(),
        }
    }

    fn trouble(&mut self) -> Option<PortError> {
        match &self.interface {
            Some(interface) => interface.trouble(),
            None if self.device().link().is_up() => None,
            None => Some(PortError::Down { interface: self.about.name.clone() }),
        }
    }
}

impl Drop for DpdkPort {
    fn drop(&mut self) {
        let eal = self.lease.device.eal;
        thread::number(eal);
        pool::free(eal, &mut self.spare[..self.spare_count]);
        pool::free(eal, &mut self.waiting[self.waiting_from..self.waiting_to]);
        pool::free(eal, &mut self.arrived[self.arrived_from..self.arrived_to]);
    }
}

/// The bytes of a frame in one buffer.
#[inline]
fn segment(head: &Mbuf) -> &[u8] {
    let begin = head.buffer.wrapping_add(usize::from(head.data_offset));
    // SAFETY: the driver says where in the buffer the frame begins, and how many bytes of it are here.
    unsafe { std::slice::from_raw_parts(begin, usize::from(head.data_bytes)) }
}

/// The bytes of a frame in several buffers.
#[cold]
fn gather<'a>(head: &Mbuf, whole: &'a mut Vec<u8>) -> &'a [u8] {
    whole.clear();
    let (mut next, mut left) = (ptr::from_ref(head), head.segments);
    while left > 0 && !next.is_null() {
        // SAFETY: the driver has chained so many buffers.
        let piece = unsafe { &*next };
        whole.extend_from_slice(segment(piece));
        next = piece.next;
        left -= 1;
    }
    whole
}
