//! Devices of DPDK: found, set up with all their queues when the first of these is opened, and let go with the
//! last.

use super::eal::{Eal, lock};
use super::layout::{
    HEADROOM, LinkWords, RSS_FLOWS, Record, SPREAD_BY_HASH, Statistics, info, offload, setting,
};
use super::library::unavailable;
use super::place::Place;
use super::pool::Pool;
use super::sockets::{Before, Losing};
use super::stamps::Clocks;
use crate::interface::Interface;
use crate::{Address, Choice, PortError, Wish};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Frames that a ring of a card holds, if its driver has no other wish.
const RING: u16 = 1_024;
/// Buffers of a queue for frames that arrive, and for frames to send: what its ring holds, what threads have at
/// hand, and what is under way.
const ARRIVING: u32 = 8_191;
const LEAVING: u32 = 4_095;
/// Bytes of a buffer for a frame, if the MTU is the usual one.
const ROOM: usize = 2_048;

/// One device with its queues, running.
#[derive(Debug)]
pub struct Device {
    pub eal: &'static Eal,
    pub number: u16,
    pub driver: String,
    pub queues: u16,
    pub mtu: u16,
    /// Longest frame that a buffer holds.
    pub room: usize,
    /// From this length on, its driver may have cut a frame off without a word.
    pub kept: usize,
    pub mac: Option<[u8; 6]>,
    pub clocks: Clocks,
    pub choices: Vec<Choice>,
    /// Index of the kernel's interface behind it, if there is one.
    pub interface_index: u32,
    place: Place,
    namespace: Option<String>,
    handle: usize,
    was_promiscuous: bool,
    /// One for each queue.
    pub leaving: Vec<Pool>,
    _arriving: Vec<Pool>,
    /// Its driver releases buffers faster, and asks that all be of the queue's own pool.
    pub wants_own_buffers: bool,
    /// Devices whose buffers may be in its rings, and where the last that came is.
    guests: Mutex<Vec<Arc<Device>>>,
    last_guest: AtomicUsize,
    /// What was counted of its losses, so that no queue counts them again.
    pub counted: Mutex<Counted>,
}

/// Losses of the whole device that its queues have counted.
#[derive(Debug, Default)]
pub struct Counted {
    /// Sockets of its driver, which lose frames as well.
    pub sockets: Vec<Losing>,
    pub missed: u64,
    pub failed: u64,
    pub unsent: u64,
    /// Frames that the driver handed back for want of room: some drivers count them as errors.
    pub handed_back: u64,
    /// Frames that the interface had dropped on their way out before the device was made.
    pub refused: u64,
}

/// A device and who uses it.
struct Used {
    device: Arc<Device>,
    /// For each queue, whether somebody sends and receives there.
    taken: Vec<[bool; 2]>,
}

static DEVICES: Mutex<Vec<Used>> = Mutex::new(Vec::new());

/// The right to use one queue, one way or both.
#[derive(Debug)]
pub struct Lease {
    pub device: Arc<Device>,
    pub queue: u16,
    ways: [bool; 2],
}

impl Lease {
    /// Takes a queue of a device, which is set up if nobody uses it yet.
    ///
    /// # Errors
    /// There is no such device or driver, it lacks what is asked for, or the queue is taken.
    pub fn take(
        eal: &'static Eal,
        address: &Address,
        place: &Place,
        interface: Option<&Interface>,
        wish: &Wish,
    ) -> Result<Self, PortError> {
        let ways = [wish.direction.transmits(), wish.direction.receives()];
        let mut devices = lock(&DEVICES);
        let at = match devices.iter().position(|used| used.device.place.name == place.name) {
            Some(at) => at,
            None => {
                let before = Before::now();
                let is_promiscuous = interface.is_some_and(Interface::is_promiscuous);
                let device = Device::open(eal, address, place, wish, is_promiscuous)?;
                let counted = Counted { sockets: before.since(interface), ..Counted::default() };
                if device.is_af_packet() {
                    counted.sockets.iter().for_each(Losing::ignore_outgoing);
                }
                *lock(&device.counted) = Counted { refused: super::losses::refused_at(interface), ..counted };
                let device = Arc::new(device);
                let taken = vec![[false; 2]; usize::from(device.queues)];
                devices.push(Used { device, taken });
                devices.len() - 1
            }
        };
        let used = &mut devices[at];
        used.device.fits(address, place, wish)?;
        let queue = wish.queue as usize;
        let taken = used.taken.get_mut(queue).filter(|taken| !(0..2).any(|way| taken[way] && ways[way]));
        let Some(taken) = taken else {
            let why = format!("queue {queue} of {} is used by another port of this process", place.name);
            return Err(unavailable(why));
        };
        (0..2).for_each(|way| taken[way] |= ways[way]);
        Ok(Self { device: Arc::clone(&used.device), queue: queue as u16, ways })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut devices = lock(&DEVICES);
        let Some(at) = devices.iter().position(|used| Arc::ptr_eq(&used.device, &self.device)) else {
            return;
        };
        let taken = &mut devices[at].taken;
        (0..2).for_each(|way| taken[usize::from(self.queue)][way] &= !self.ways[way]);
        if taken.iter().all(|ways| *ways == [false; 2]) {
            self.device.close();
            devices.swap_remove(at);
        }
    }
}

impl Device {
    /// `is_promiscuous`: its interface receives all frames already, and shall do so afterwards.
    fn open(
        eal: &'static Eal,
        address: &Address,
        place: &Place,
        wish: &Wish,
        is_promiscuous: bool,
    ) -> Result<Self, PortError> {
        eal.said.all();
        let number = probe(eal, place)?;
        let fail = |what: &str, status: i32| {
            let why = reason(&eal.said.all(), status);
            unavailable(format!("{} cannot {what}: {why}", place.text))
        };
        let call = &eal.dpdk.call;
        let mut facts = Box::new(Record::new());
        // SAFETY: there is room for more than the structure has.
        let status = unsafe { (call.eth_dev_info_get)(number, &mut *facts) };
        if status != 0 {
            return Err(fail("report its properties", status));
        }
        let handle = facts.long(info::DEVICE) as usize;
        let undo = Undo { eal, number, handle, is_armed: true };
        let wanted = u16::try_from(wish.queues.max(1)).unwrap_or(u16::MAX);
        let most = facts.half(info::RECEIVE_QUEUES).min(facts.half(info::TRANSMIT_QUEUES));
        if wanted > most {
            let more = if place.name.starts_with("net_af_packet") { "; add ,qpairs=N to it" } else { "" };
            let why = format!("{} has {most} queue(s), not {wanted}{more}", place.text);
            return Err(unavailable(why));
        }
        let mtu: Option<u16> = address.read("mtu", "BYTES")?;
        let (conf, choices) = configuration(&facts, wanted, mtu, wish);
        // SAFETY: a configuration of this version's layout, which is copied.
        let status = unsafe { (call.eth_dev_configure)(number, wanted, wanted, &*conf) };
        if status != 0 {
            return Err(fail("be configured", status));
        }
        let mut actual = 1_500;
        // SAFETY: writes one number.
        unsafe { (call.eth_dev_get_mtu)(number, &mut actual) };
        let mtu = mtu.unwrap_or(actual);
        // Its driver wants buffers that hold all of a slot.
        let slot = frame_size(place).unwrap_or(0);
        let room = ROOM.max((usize::from(mtu) + 14 + 8).max(slot).next_multiple_of(64));
        // SAFETY: takes a number.
        let socket = unsafe { (call.eth_dev_socket_id)(number) };
        let pools = |count| {
            let each = (0..wanted).map(|_| Pool::new(eal, count, room, socket));
            each.collect::<Result<Vec<_>, _>>().map_err(unavailable)
        };
        let (arriving, leaving) = (pools(ARRIVING)?, pools(LEAVING)?);
        // From here on it is dropped before the pools.
        let mut undo = undo;
        set_up(eal, number, wanted, &mut facts, &conf, &arriving)
            .map_err(|(what, status)| fail(what, status))?;
        // SAFETY: takes a number.
        let status = unsafe { (call.eth_dev_start)(number) };
        if status != 0 {
            return Err(fail("start", status));
        }
        // SAFETY: takes a number.
        let was_promiscuous = unsafe { (call.eth_promiscuous_get)(number) } == 1 || is_promiscuous;
        // Starting it has switched that off.
        if address.word("promiscuous", &["yes", "no"])? == "yes" || was_promiscuous {
            // SAFETY: takes a number. A device that has no such setting receives all frames.
            unsafe { (call.eth_promiscuous_enable)(number) };
        }
        let mut mac = [0; 6];
        // SAFETY: writes six bytes.
        let has_mac = unsafe { (call.eth_macaddr_get)(number, &mut mac) } == 0 && mac != [0; 6];
        let driver = driver_name(&facts);
        undo.is_armed = false;
        Ok(Self {
            eal,
            number,
            clocks: Clocks::of(eal, number, &driver, conf.long(setting::RECEIVE_OFFLOADS), &facts),
            driver,
            queues: wanted,
            mtu,
            room,
            kept: kept(place),
            mac: has_mac.then_some(mac),
            choices,
            interface_index: facts.word(info::INTERFACE_INDEX),
            place: place.clone(),
            namespace: address.namespace().map(str::to_owned),
            handle,
            was_promiscuous,
            leaving,
            _arriving: arriving,
            wants_own_buffers: conf.long(setting::TRANSMIT_OFFLOADS) & offload::FAST_FREE != 0,
            guests: Mutex::default(),
            last_guest: AtomicUsize::new(0),
            counted: Mutex::default(),
        })
    }

    /// Whether another port may use it, too.
    fn fits(&self, address: &Address, place: &Place, wish: &Wish) -> Result<(), PortError> {
        if self.place.text != place.text {
            let why = format!("this process has {} open as {}", self.place.name, self.place.text);
            return Err(unavailable(why));
        }
        if self.namespace.as_deref() != address.namespace() {
            let why = format!(
                "{} is open in another network namespace; use another number here, such as net_af_packet1",
                self.place.name
            );
            return Err(unavailable(why));
        }
        let asked = wish.queues.max(1);
        if u32::from(self.queues) != asked {
            let why = format!("{} is open with {} queue(s), not {asked}", self.place.name, self.queues);
            return Err(unavailable(why));
        }
        match address.read::<u16>("mtu", "BYTES")? {
            Some(mtu) if mtu != self.mtu => {
                Err(unavailable(format!("{} is open with an MTU of {}", self.place.name, self.mtu)))
            }
            _ => Ok(()),
        }
    }

    pub fn is_af_packet(&self) -> bool {
        self.driver == "net_af_packet"
    }

    /// Frames that a ring of `net_af_packet` holds.
    pub fn ring_slots(&self) -> usize {
        self.place.argument("framecnt").and_then(|count| count.parse().ok()).unwrap_or(512)
    }

    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        // SAFETY: writes the structure, whose layout is this version's.
        unsafe { (self.eal.dpdk.call.eth_stats_get)(self.number, &mut statistics) };
        statistics
    }

    pub fn link(&self) -> LinkWords {
        let mut link = LinkWords::default();
        // SAFETY: writes eight bytes.
        unsafe { (self.eal.dpdk.call.eth_link_get_nowait)(self.number, &mut link) };
        link
    }

    /// Keeps the pools of that device, whose buffers may be in this one's rings, until this one is closed.
    #[inline]
    pub fn host(&self, guest: &Arc<Self>) {
        let address = Arc::as_ptr(guest).addr();
        if self.last_guest.load(Ordering::Relaxed) != address && !std::ptr::eq(self, Arc::as_ptr(guest)) {
            self.add_guest(guest);
            self.last_guest.store(address, Ordering::Relaxed);
        }
    }

    #[cold]
    fn add_guest(&self, guest: &Arc<Self>) {
        let mut guests = lock(&self.guests);
        if !guests.iter().any(|known| Arc::ptr_eq(known, guest)) {
            guests.push(Arc::clone(guest));
        }
    }

    /// Runs out; its pools stay until nobody holds the device any more.
    fn close(&self) {
        lock(&self.counted).sockets.clear();
        if !self.was_promiscuous {
            // SAFETY: takes a number.
            unsafe { (self.eal.dpdk.call.eth_promiscuous_disable)(self.number) };
        }
        let_go(self.eal, self.number, self.handle);
        lock(&self.guests).clear();
    }
}

/// Bytes of a slot in the rings of `net_af_packet`.
fn frame_size(place: &Place) -> Option<usize> {
    const USUAL: usize = 2_048;
    let asked = || place.argument("framesz").and_then(|bytes| bytes.parse().ok());
    place.name.starts_with("net_af_packet").then(|| asked().unwrap_or(USUAL))
}

/// What such a slot keeps of a frame (less the kernel's header, its address and the alignment); the driver
/// gives that as the frame's length.
fn kept(place: &Place) -> usize {
    const HEAD: usize = 66;
    frame_size(place).map_or(usize::MAX, |bytes| bytes.saturating_sub(HEAD))
}

/// A device that could not be set up is let go.
struct Undo {
    eal: &'static Eal,
    number: u16,
    handle: usize,
    is_armed: bool,
}

impl Drop for Undo {
    fn drop(&mut self) {
        if self.is_armed {
            let_go(self.eal, self.number, self.handle);
        }
    }
}

fn let_go(eal: &Eal, number: u16, handle: usize) {
    // SAFETY: takes a number; nobody uses its queues any more.
    unsafe { (eal.dpdk.call.eth_dev_stop)(number) };
    // SAFETY: as above.
    unsafe { (eal.dpdk.call.eth_dev_close)(number) };
    // SAFETY: the handle that the device told of itself.
    unsafe { (eal.dpdk.call.dev_remove)(handle as *mut c_void) };
}

/// The number of the device's port, which is found if DPDK does not know it yet.
fn probe(eal: &Eal, place: &Place) -> Result<u16, PortError> {
    let text = |text: &str| CString::new(text).map_err(|error| unavailable(error.to_string()));
    let (name, words) = (text(&place.name)?, text(&place.text)?);
    let known = || {
        let mut number = 0;
        // SAFETY: a name that ends with a NUL, and a place for one number.
        let status = unsafe { (eal.dpdk.call.eth_dev_get_port_by_name)(name.as_ptr(), &mut number) };
        (status == 0).then_some(number)
    };
    if let Some(number) = known() {
        return Ok(number);
    }
    // SAFETY: words that end with a NUL, and are copied.
    let status = unsafe { (eal.dpdk.call.dev_probe)(words.as_ptr()) };
    let said = eal.said.all();
    if status == 0
        && let Some(number) = known()
    {
        return Ok(number);
    }
    let why = if place.is_pci {
        format!("no driver accepts {}: {}", place.name, reason(&said, status))
    } else if said.contains("failed to parse") || !place.name.starts_with("net_") {
        format!(
            "no driver is installed for {}; on Debian 12: apt-get install {}, or another package whose name \
             begins with librte-net-",
            place.name,
            place.package()
        )
    } else {
        format!("cannot create {}: {}", place.text, reason(&said, status))
    };
    Err(unavailable(why))
}

/// The line of the log that says what went wrong, without the function's name before it.
fn reason(said: &str, status: i32) -> String {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    let error = std::io::Error::from_raw_os_error(status.saturating_neg().max(0));
    let Some(line) = line else { return error.to_string() };
    let line = line.trim_start_matches("EAL: ").split("(): ").last().unwrap_or(line).trim_end_matches('.');
    format!("{line} ({error})")
}

/// How the device shall be set up, and what could not be had.
fn configuration(facts: &Record, queues: u16, mtu: Option<u16>, wish: &Wish) -> (Box<Record>, Vec<Choice>) {
    let (mut conf, mut choices) = (Box::new(Record::new()), Vec::new());
    if let Some(mtu) = mtu {
        conf.set(setting::MTU, &u32::from(mtu).to_ne_bytes());
    }
    if queues > 1 {
        let flows = facts.long(info::FLOWS) & RSS_FLOWS;
        let (chosen, why) = if flows == 0 {
            ("the driver's", "the device has no receive-side scaling")
        } else {
            conf.set(setting::RECEIVE_MODE, &SPREAD_BY_HASH.to_ne_bytes());
            conf.set(setting::HASH_FLOWS, &flows.to_ne_bytes());
            ("hash", "receive-side scaling by addresses and ports")
        };
        choices.push(Choice { what: "share", chosen: chosen.to_owned(), why: why.to_owned() });
    }
    let (receive, transmit) = (facts.long(info::RECEIVE_OFFLOADS), facts.long(info::TRANSMIT_OFFLOADS));
    let stamps = if wish.stamps { receive & offload::RECEIVE_STAMP } else { 0 };
    conf.set(setting::RECEIVE_OFFLOADS, &stamps.to_ne_bytes());
    let launch = transmit & offload::LAUNCH_TIME;
    // Buffers of one pool, in one piece each, used once: what fast release asks for.
    let fast = transmit & offload::FAST_FREE;
    conf.set(setting::TRANSMIT_OFFLOADS, &(launch | fast).to_ne_bytes());
    (conf, choices)
}

/// Sets all queues up, with rings as long as the driver allows. An error names the step.
fn set_up(
    eal: &Eal,
    number: u16,
    queues: u16,
    facts: &mut Record,
    conf: &Record,
    arriving: &[Pool],
) -> Result<(), (&'static str, i32)> {
    let call = &eal.dpdk.call;
    let (mut receive_ring, mut transmit_ring) = (RING, RING);
    // SAFETY: two numbers that may be changed.
    unsafe { (call.eth_dev_adjust_nb_rx_tx_desc)(number, &mut receive_ring, &mut transmit_ring) };
    let copy = |facts: &mut Record, to: usize, from: usize| {
        facts.set(to + info::SETTING_OFFLOADS, &conf.long(from).to_ne_bytes());
    };
    copy(facts, info::RECEIVE_SETTING, setting::RECEIVE_OFFLOADS);
    copy(facts, info::TRANSMIT_SETTING, setting::TRANSMIT_OFFLOADS);
    let receive: *const c_void = facts.0[info::RECEIVE_SETTING..].as_ptr().cast();
    let transmit: *const c_void = facts.0[info::TRANSMIT_SETTING..].as_ptr().cast();
    for queue in 0..queues {
        // SAFETY: takes a number.
        let socket = unsafe { (call.eth_dev_socket_id)(number) } as u32;
        let pool = arriving[usize::from(queue)].raw();
        // SAFETY: what the driver likes best, in its own layout, and a pool that outlives the queue.
        let status = unsafe { (call.eth_rx_queue_setup)(number, queue, receive_ring, socket, receive, pool) };
        if status != 0 {
            return Err(("set up a queue to receive", status));
        }
        // SAFETY: as above.
        let status = unsafe { (call.eth_tx_queue_setup)(number, queue, transmit_ring, socket, transmit) };
        if status != 0 {
            return Err(("set up a queue to send", status));
        }
    }
    Ok(())
}

fn driver_name(facts: &Record) -> String {
    let name = facts.long(info::DRIVER_NAME) as usize as *const c_char;
    if name.is_null() {
        return "unknown".to_owned();
    }
    // SAFETY: a string of the driver, which ends with a NUL and stays.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

const _: () = assert!(HEADROOM + ROOM <= u16::MAX as usize);
