//! One serving thread: an epoll loop of its own, with its own listeners, connections and timers.
//!
//! ```text
//! wait ──► (stalled? sleep) ──► accept, read → decide → write at once, or set a timer ──► timers that are due
//! ```
//!
//! A request that is answered at once costs one `recv` and one `send`; nothing is allocated for it.

use crate::conn::{Conn, Next};
use crate::entry::{After, Entry, Life};
use crate::listen::Listeners;
use crate::mind::Mind;
use crate::slab::{RESERVED, Slab};
use crate::stamped;
use crate::stats::add;
use crate::timers::Timers;
use crate::tls::{Link, ServerConfig};
use crate::tunnel;
use clock::Clock;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, Shutdown, SocketFlags, sockopt};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use units::{Instant, Picos};

const WAKE: u64 = RESERVED;
const FIRST_LISTENER: u64 = RESERVED + 1;
const EVENTS: usize = 256;
const READ: usize = 64 * 1024;
/// Accepted at once before others get their turn.
const ACCEPTS: usize = 64;
/// Pieces written at once to one connection before others get their turn.
const ROUNDS: usize = 4;
const LINGER: Picos = Picos::from_secs(1);
/// How long a listener rests when descriptors have run out.
const REST: Picos = Picos::from_millis(10);
/// Longest wait while the origin of programmed times is not known yet.
const UNKNOWN_ORIGIN: Picos = Picos::from_millis(20);

pub(crate) struct Worker {
    epoll: OwnedFd,
    /// Kept open for as long as it is watched.
    _wake: Arc<OwnedFd>,
    slab: Slab,
    core: Core,
}

/// Everything but the connections, so that one of them can be worked on with all of this.
struct Core {
    mind: Mind,
    listeners: Listeners,
    tls: Option<Arc<ServerConfig>>,
    timers: Timers,
    /// A listener without descriptors to accept into rests until then.
    resting: Option<Instant>,
    read: Vec<u8>,
    out: Vec<u8>,
    wire: Vec<u8>,
}

impl Worker {
    pub fn new(
        mind: Mind,
        listeners: Listeners,
        tls: Option<Arc<ServerConfig>>,
        wake: Arc<OwnedFd>,
    ) -> rustix::io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        let core = Core {
            mind,
            listeners,
            tls,
            timers: Timers::default(),
            resting: None,
            read: vec![0; READ],
            out: Vec::with_capacity(READ),
            wire: Vec::new(),
        };
        let worker = Self { epoll, _wake: wake, slab: Slab::default(), core };
        worker.watch_listeners()?;
        Ok(worker)
    }

    fn watch_listeners(&self) -> rustix::io::Result<()> {
        for (index, listener) in self.core.listeners.iter().enumerate() {
            if self.core.shared().config.truth.records.is_some() {
                stamped::switch_on(listener);
            }
            let key = EventData::new_u64(FIRST_LISTENER + index as u64);
            epoll::add(&self.epoll, &**listener, key, EventFlags::IN | EventFlags::EXCLUSIVE)?;
        }
        Ok(())
    }

    /// Serves until the target is stopped.
    pub fn run(mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        while !self.core.shared().stop.load(Ordering::Relaxed) {
            events.clear();
            self.wait(&mut events);
            let now = self.core.now();
            if let Some(end) = self.core.stalled_until(now) {
                self.core.sleep_until(end);
                continue;
            }
            for event in &events {
                self.fire_timers(self.core.last_seen(now));
                self.event(event.data.u64(), event.flags);
            }
            let now = self.core.now();
            self.fire_timers(now);
            self.programmed(now);
        }
        for mut entry in self.slab.drain() {
            entry.conn.gone(&mut self.core.mind);
            self.core.count_close();
        }
    }

    fn wait(&self, events: &mut Vec<Event>) {
        let timeout = self.core.timeout();
        let buffer = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, buffer, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => panic!("epoll_wait on an open epoll descriptor failed: {error}"),
        }
    }

    fn event(&mut self, key: u64, flags: EventFlags) {
        if key == WAKE {
            return;
        }
        if key >= FIRST_LISTENER {
            self.accept((key - FIRST_LISTENER) as usize);
            return;
        }
        let Some(entry) = self.slab.find(key) else { return };
        let after = self.core.ready(entry, flags);
        self.settle(key, after);
    }

    fn fire_timers(&mut self, now: Instant) {
        while let Some((due, key)) = self.core.timers.pop(now) {
            let Some(entry) = self.slab.find(key).filter(|entry| entry.timer == due) else { continue };
            entry.timer = Instant::FAR;
            entry.armed = Instant::FAR;
            let after = self.core.timer(entry);
            self.settle(key, after);
        }
    }

    /// Does what the work on a connection ended with.
    fn settle(&mut self, key: u64, after: After) {
        if after == After::Keep {
            let Some(entry) = self.slab.find(key) else { return };
            let wanted = entry.wanted();
            if wanted == entry.interest
                || epoll::modify(&self.epoll, &entry.fd, EventData::new_u64(key), wanted).is_ok()
            {
                entry.interest = wanted;
                self.core.arm(entry, key);
                return;
            }
        }
        let Some(mut entry) = self.slab.remove(key) else { return };
        entry.conn.gone(&mut self.core.mind);
        self.core.count_close();
        match after {
            After::Reset => reset(&entry.fd),
            After::Tunnel(authority) => {
                let early = entry.conn.take_input();
                // A descriptor that is handed on must leave the epoll set itself.
                if epoll::delete(&self.epoll, &entry.fd).is_ok() {
                    tunnel::open(self.core.shared(), entry.fd, authority, early);
                }
            }
            After::Keep | After::Drop => {}
        }
    }

    fn accept(&mut self, index: usize) {
        for _ in 0..ACCEPTS {
            let Some(listener) = self.core.listeners.get(index) else { return };
            match net::accept_with(&**listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(fd) => self.admit(fd),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    for listener in &self.core.listeners {
                        // It comes back when the rest is over.
                        let _ = epoll::delete(&self.epoll, &**listener);
                    }
                    self.core.resting = Some(self.core.now() + REST);
                    return;
                }
                Err(_) => return,
            }
        }
    }

    fn admit(&mut self, fd: OwnedFd) {
        let Some(entry) = self.core.admit(fd) else { return };
        let key = self.slab.insert(Box::new(entry));
        let Some(entry) = self.slab.find(key) else { return };
        entry.interest = entry.wanted();
        self.core.arm(entry, key);
        if epoll::add(&self.epoll, &entry.fd, EventData::new_u64(key), entry.interest).is_err() {
            self.settle(key, After::Drop);
        }
    }

    /// Programmed ends: of listening, of everything; and the end of a listener's rest.
    fn programmed(&mut self, now: Instant) {
        if self.core.resting.is_some_and(|until| until <= now) {
            self.core.resting = None;
            // Those that are watched already say so, which is what is wanted.
            let _ = self.watch_listeners();
        }
        let shared = self.core.shared();
        let config = &shared.config;
        if config.stop_listening.is_none() && config.die.is_none() && config.refuse_after.is_none() {
            return;
        }
        let full = config.refuse_after.is_some_and(|n| shared.connections.load(Ordering::Relaxed) >= n.get());
        let dead = shared.has_come(config.die, now);
        if full || dead || shared.has_come(config.stop_listening, now) {
            self.core.listeners.clear();
        }
        if dead {
            for mut entry in self.slab.drain() {
                entry.conn.gone(&mut self.core.mind);
                self.core.count_close();
                reset(&entry.fd);
            }
        }
    }
}

/// Makes the coming close a reset.
fn reset(fd: &OwnedFd) {
    // On a connection that is gone already there is nothing left to reset.
    let _ = sockopt::set_socket_linger(fd, Some(Duration::ZERO));
}

impl Core {
    fn shared(&self) -> &Arc<super::shared::Shared> {
        &self.mind.shared
    }

    fn now(&self) -> Instant {
        self.mind.shared.clock.now()
    }

    /// Between the events of a batch the clock is only read if a timer could be due.
    fn last_seen(&self, batch: Instant) -> Instant {
        if self.timers.next_due().is_some() { self.now() } else { batch }
    }

    fn stalled_until(&self, now: Instant) -> Option<Instant> {
        if self.mind.shared.config.stall.is_empty() {
            return None;
        }
        self.mind.shared.stalled_until(now)
    }

    fn sleep_until(&self, end: Instant) {
        loop {
            let left = end.since(self.now());
            if left.is_zero() || self.mind.shared.stop.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(left.as_std().min(Duration::from_millis(20)));
        }
    }

    /// How long to wait: to the next timer or programmed time; `None` for as long as nothing happens.
    fn timeout(&self) -> Option<Timespec> {
        let shared = &self.mind.shared;
        if shared.config.spin {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let mut next = self.timers.next_due();
        let programmed = [shared.config.stop_listening, shared.config.die];
        if self.resting.is_some() || programmed.iter().any(Option::is_some) {
            let now = self.now();
            let origin = shared.origin();
            let times = programmed.into_iter().flatten().filter_map(|at| match origin {
                Some(origin) => Some(origin + at).filter(|at| *at > now),
                None => Some(now + UNKNOWN_ORIGIN),
            });
            next = next.into_iter().chain(times).chain(self.resting).min();
        }
        let wait = next?.since(self.now());
        let nanos = wait.as_picos().div_ceil(1_000);
        let second = 1_000_000_000;
        Some(Timespec { tv_sec: (nanos / second) as i64, tv_nsec: (nanos % second) as i64 })
    }

    fn arm(&mut self, entry: &mut Entry, key: u64) {
        if entry.timer != entry.armed && entry.timer != Instant::FAR {
            entry.armed = entry.timer;
            self.timers.add(entry.timer, key);
        }
    }

    fn count_close(&self) {
        self.mind.shared.board.closed();
    }

    /// Makes a connection of an accepted socket; `None` if it is turned away.
    fn admit(&mut self, fd: OwnedFd) -> Option<Entry> {
        let shared = self.mind.shared.clone();
        let config = &shared.config;
        let now = self.now();
        let number = shared.connections.fetch_add(1, Ordering::Relaxed);
        if config.refuse_after.is_some_and(|n| number >= n.get()) {
            reset(&fd);
            return None;
        }
        let link = match &self.tls {
            None => None,
            Some(tls) => Some(Box::new(Link::new(tls.clone()).ok()?)),
        };
        add(&self.mind.counters().accepted, 1);
        shared.board.opened();
        let mut hold = config.accept_delay;
        if let Some(tls) = &config.tls
            && !tls.slow_delay.is_zero()
            && self.mind.random.below(1_000_000) < u64::from(tls.slow_share.millionths())
        {
            hold += tls.slow_delay;
        }
        let life = if hold.is_zero() { Life::Serving } else { Life::Held };
        let mut entry = Entry::new(fd, Conn::new(number, now), link, life);
        if life == Life::Held {
            entry.timer = now + hold;
        }
        Some(entry)
    }

    fn timer(&mut self, entry: &mut Entry) -> After {
        match entry.life {
            Life::Lingering => After::Drop,
            Life::Held => {
                entry.life = Life::Serving;
                After::Keep
            }
            _ => self.drive(entry),
        }
    }

    fn ready(&mut self, entry: &mut Entry, flags: EventFlags) -> After {
        if flags.contains(EventFlags::ERR) {
            return After::Drop;
        }
        if flags.contains(EventFlags::OUT) && entry.flush().is_err() {
            return After::Drop;
        }
        if flags.contains(EventFlags::IN) {
            match self.read_once(entry) {
                After::Keep => {}
                after => return after,
            }
        }
        if flags.contains(EventFlags::HUP) && (entry.eof || !flags.contains(EventFlags::IN)) {
            return After::Drop;
        }
        self.drive(entry)
    }

    /// Bytes, and how long the last of them has been there, if the truth is written down.
    fn receive(&mut self, fd: &OwnedFd) -> Result<(usize, Picos), Errno> {
        if self.mind.shared.config.truth.records.is_some() {
            return stamped::read(fd, &mut self.read);
        }
        net::recv(fd, &mut self.read[..], RecvFlags::DONTWAIT).map(|(count, _)| (count, Picos::ZERO))
    }

    fn read_once(&mut self, entry: &mut Entry) -> After {
        let (count, age) = match self.receive(&entry.fd) {
            Ok((0, _)) => {
                entry.eof = true;
                return if entry.life == Life::Lingering { After::Drop } else { After::Keep };
            }
            Ok(received) => received,
            Err(Errno::AGAIN | Errno::INTR) => return After::Keep,
            Err(_) => return After::Drop,
        };
        if entry.life != Life::Serving {
            return After::Keep;
        }
        let now = self.now();
        let Entry { conn, link, .. } = entry;
        conn.aged(age);
        let Some(link) = link else {
            conn.receive(&self.read[..count], now, &mut self.mind);
            return After::Keep;
        };
        self.wire.clear();
        let mind = &mut self.mind;
        let received =
            link.receive(&mut self.read[..count], &mut self.wire, |plain| conn.receive(plain, now, mind));
        entry.eof |= received.closed;
        if received.established {
            add(&self.mind.counters().handshakes, 1);
        }
        if !self.wire.is_empty() {
            // After the client's last message nobody waits for what is written: it is the session's tickets.
            if entry.link.as_ref().is_some_and(|link| !link.is_established()) {
                entry.conn.prepared(self.now().since(now) + age);
            }
            if entry.send(&self.wire).is_err() {
                return After::Drop;
            }
        }
        if received.failed {
            if !entry.link.as_ref().is_some_and(|link| link.is_established()) {
                add(&self.mind.counters().handshakes_failed, 1);
            }
            entry.life = Life::Closing { unread: true };
        }
        After::Keep
    }

    /// Writes what is due, as far as the socket takes it.
    fn drive(&mut self, entry: &mut Entry) -> After {
        for _ in 0..ROUNDS {
            if entry.has_unsent() {
                return After::Keep;
            }
            match entry.life {
                Life::Serving => {}
                Life::Closing { unread } => return self.close(entry, unread),
                Life::Held | Life::Lingering => return After::Keep,
            }
            self.out.clear();
            let next = entry.conn.produce(self.mind.shared.clock.now(), &mut self.out, &mut self.mind);
            if !self.out.is_empty() && self.send(entry).is_err() {
                return After::Drop;
            }
            match next {
                Next::Idle if entry.eof && (!entry.conn.owes() || entry.conn.is_silent()) => {
                    entry.life = Life::Closing { unread: false };
                }
                Next::Idle => return After::Keep,
                Next::At(due) => {
                    entry.timer = due;
                    return After::Keep;
                }
                Next::More => {}
                Next::Close { unread } => entry.life = Life::Closing { unread },
                Next::Reset => return After::Reset,
                Next::Tunnel(authority) if entry.link.is_none() => return After::Tunnel(authority),
                Next::Tunnel(_) => return After::Drop,
            }
        }
        // Others first: its timer is due at once.
        if !entry.has_unsent() {
            entry.timer = self.now();
        }
        After::Keep
    }

    fn send(&mut self, entry: &mut Entry) -> Result<(), Errno> {
        let Some(link) = &mut entry.link else { return entry.send(&self.out) };
        self.wire.clear();
        if !link.encrypt(&self.out, &mut self.wire) {
            return Err(Errno::IO);
        }
        entry.send(&self.wire)
    }

    fn close(&mut self, entry: &mut Entry, unread: bool) -> After {
        if let Some(link) = entry.link.as_mut().filter(|link| link.is_established()) {
            self.wire.clear();
            link.say_goodbye(&mut self.wire);
            if entry.send(&self.wire).is_err() {
                return After::Drop;
            }
        }
        if !unread || entry.eof || net::shutdown(&entry.fd, Shutdown::Write).is_err() {
            return After::Drop;
        }
        entry.life = Life::Lingering;
        entry.timer = self.now() + LINGER;
        After::Keep
    }
}
