//! From an address and a wish to a bound socket: what is tried in which order, and what is kept of that for the
//! result.

use super::redirect::Redirect;
use super::socket::{COPY, Layout, Socket, USE_NEED_WAKEUP, ZEROCOPY};
use crate::interface::Interface;
use crate::{Abilities, About, Address, Choice, PortError, StampedBy, Wish};
use bpf::XdpMode;
use std::io;

/// Frames that each ring holds, unless told otherwise. Those that arrive must outlast what else the receiver's
/// CPU is given to (its driver's own thread among them: three milliseconds a turn); those that leave find a
/// free slot soon, and fewer stay in the cache.
const TRANSMIT_SLOTS: u32 = 2_048;
const RECEIVE_SLOTS: u32 = 8_192;
/// What the kernel keeps free before each received frame.
const HEADROOM: usize = 256;
/// How often, and how long between, a queue that is taken is asked for again.
const TRIES: u32 = 20;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
const SMALL: usize = 2048;
const LARGE: usize = 4096;

/// What the address asks for.
#[derive(Debug)]
pub struct Options {
    pub attach: &'static [XdpMode],
    /// `None`: if they are wished for.
    pub stamps: Option<bool>,
    mode: Mode,
    slots: Option<u32>,
    /// Frames may be taken from the host's own stack, wherever that leaves the host.
    takes_all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Best,
    Copy,
    ZeroCopy,
}

/// See [`crate::check`].
pub(crate) fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    let (_, interface) = usable(address, wish)?;
    if wish.direction.receives() {
        interface.check_unoccupied()?;
    }
    Ok(known(address, &interface, wish))
}

/// What is asked of the interface, where nothing is wrong with either.
pub fn usable(address: &Address, wish: &Wish) -> Result<(Options, Interface), PortError> {
    let options = Options::read(address)?;
    let interface = Interface::find(address.place())?;
    options.check(address, &interface, wish)?;
    Ok((options, interface))
}

impl Options {
    pub fn read(address: &Address) -> Result<Self, PortError> {
        let slots = address.read::<u32>("slots", "2048")?;
        if let Some(slots) = slots.filter(|slots| !slots.is_power_of_two() || !(64..=65_536).contains(slots))
        {
            let problem = format!("{slots} slots are not a power of two between 64 and 65536");
            return Err(
                address.wrong(&problem, &format!("slots={}", slots.clamp(64, 65_536).next_power_of_two()))
            );
        }
        let mode = match address.word("mode", &["best", "copy", "zerocopy"])? {
            "copy" => Mode::Copy,
            "zerocopy" => Mode::ZeroCopy,
            _ => Mode::Best,
        };
        let attach: &[XdpMode] = match address.word("attach", &["best", "native", "generic"])? {
            "native" => &[XdpMode::Native],
            "generic" => &[XdpMode::Generic],
            _ => &[XdpMode::Native, XdpMode::Generic],
        };
        let stamps = match address.word("stamps", &["auto", "yes", "no"])? {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        };
        let takes_all = address.word("take", &["careful", "all"])? == "all";
        Ok(Self { attach, stamps, mode, slots, takes_all })
    }

    /// Whether the interface can be used at all.
    pub fn check(&self, address: &Address, interface: &Interface, wish: &Wish) -> Result<(), PortError> {
        let have = match (wish.direction.transmits(), wish.direction.receives()) {
            (true, false) => interface.queues.transmit,
            (false, true) => interface.queues.receive,
            _ => interface.queues.transmit.min(interface.queues.receive),
        };
        let what = |why: String| Err(PortError::Unavailable { what: address.to_string(), why });
        if !interface.is_ethernet {
            return what(format!("'{}' has no Ethernet frames", interface.name));
        }
        if wish.queue >= have.max(1) {
            return what(format!(
                "'{}' has {have} queues, but number {} (from 0) was requested",
                interface.name, wish.queue
            ));
        }
        if wish.direction.receives() && wish.queues.max(1) < interface.queues.receive {
            return what(passed_by(interface, wish));
        }
        let takes_what_it_may = self.takes_all || wish.ours.is_some();
        if wish.direction.receives() && !takes_what_it_may && interface.is_way_out()? {
            return what(way_out(interface));
        }
        // A tag makes four bytes more possible: that is seen when the frame is there.
        if wish.direction.transmits() && wish.frame > longest(interface, true) {
            let longest = longest(interface, false);
            return Err(PortError::TooLong { port: address.to_string(), length: wish.frame, longest });
        }
        Ok(())
    }

    pub fn layout(&self, interface: &Interface, wish: &Wish, metadata: usize) -> Layout {
        let longest = longest(interface, true).max(wish.frame);
        Layout {
            chunk: if longest + HEADROOM <= SMALL { SMALL } else { LARGE },
            transmit: if wish.direction.transmits() { self.slots.unwrap_or(TRANSMIT_SLOTS) } else { 0 },
            receive: if wish.direction.receives() { self.slots.unwrap_or(RECEIVE_SLOTS) } else { 0 },
            metadata,
        }
    }

    /// Tries zero-copy, then copies.
    pub fn bind(
        &self,
        interface: &Interface,
        wish: &Wish,
        layout: &Layout,
        redirect: Option<&Redirect>,
    ) -> Result<(Socket, Vec<Choice>), PortError> {
        let mut refused: Vec<String> = Vec::new();
        let is_generic = redirect.is_some_and(|redirect| redirect.mode == XdpMode::Generic);
        let tries: &[(u16, &str)] = match self.mode {
            Mode::Copy => &[(COPY | USE_NEED_WAKEUP, "copy"), (COPY, "copy")],
            Mode::ZeroCopy => &[(ZEROCOPY | USE_NEED_WAKEUP, "zero-copy")],
            Mode::Best if is_generic => &[(COPY | USE_NEED_WAKEUP, "copy"), (COPY, "copy")],
            Mode::Best => {
                &[(ZEROCOPY | USE_NEED_WAKEUP, "zero-copy"), (COPY | USE_NEED_WAKEUP, "copy"), (COPY, "copy")]
            }
        };
        for (flags, name) in tries {
            match open_patiently(interface.index, wish.queue, layout, *flags) {
                Ok(socket) => return Ok((socket, vec![self.mode_choice(name, is_generic, &refused)])),
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                    return Err(PortError::Privilege {
                        what: "an AF_XDP socket".to_owned(),
                        capability: "cap_net_raw",
                    });
                }
                Err(error) => refused.push(format!("{name}: {}", refusal(interface, wish, &error))),
            }
        }
        refused.dedup();
        let what = format!("an AF_XDP socket at queue {} of '{}'", wish.queue, interface.name);
        Err(PortError::Unavailable { what, why: refused.join("; ") })
    }

    fn mode_choice(&self, name: &str, is_generic: bool, refused: &[String]) -> Choice {
        let why = match self.mode {
            Mode::Best if is_generic => {
                "the program runs after the driver, where frames are copied".to_owned()
            }
            Mode::Best if refused.is_empty() => "the driver has it".to_owned(),
            Mode::Best => refused.join("; "),
            _ => "asked for".to_owned(),
        };
        Choice { what: "mode", chosen: name.to_owned(), why }
    }
}

/// Everything that arrives would be ours, and nothing the host's: not even the answers to whoever sits at it
/// from afar.
fn way_out(interface: &Interface) -> String {
    let name = &interface.name;
    format!(
        "this host's default route leads through '{name}', and AF_XDP would take all its frames away from the \
         host, including those of your own connection to it; write packet:{name}, which takes none, or \
         xdp,take=all:{name} if you want that"
    )
}

/// What the host's own stack will miss.
pub fn taken_from_host(interface: &Interface, wish: &Wish) -> Option<Choice> {
    if wish.ours.is_some() {
        let why = "those of the own addresses are redirected, and the host's own stack gets the others";
        return Some(Choice { what: "frames", chosen: "own addresses".to_owned(), why: why.to_owned() });
    }
    let used = interface.used_by_host().ok().flatten()?;
    Some(Choice {
        what: "frames",
        chosen: "taken from the host".to_owned(),
        why: format!(
            "the host's own stack uses '{}' ({used}) and gets none of its frames during the run",
            interface.name
        ),
    })
}

/// Frames of a queue without a socket would pass by, and nothing would count them.
fn passed_by(interface: &Interface, wish: &Wish) -> String {
    let (name, have, asked) = (&interface.name, interface.queues.receive, wish.queues.max(1));
    format!(
        "'{name}' receives on {have} queues, of which {asked} would be read; read all of them (--queues \
         {have}; forward: --threads {have}), or reduce them: 'ethtool -L {name} rx {asked}'"
    )
}

/// A socket that was closed keeps its queue until the kernel's own worker has taken it away: some milliseconds.
fn open_patiently(interface: u32, queue: u32, layout: &Layout, flags: u16) -> io::Result<Socket> {
    for _ in 0..TRIES {
        match Socket::open(interface, queue, layout, flags) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    Socket::open(interface, queue, layout, flags)
}

/// In words that say what to do about it.
fn refusal(interface: &Interface, wish: &Wish, error: &io::Error) -> String {
    let driver = interface.driver.as_deref().unwrap_or("the driver");
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => format!("{driver} has none (EOPNOTSUPP)"),
        Some(libc::EBUSY) => format!("queue {} has another AF_XDP socket (EBUSY)", wish.queue),
        Some(libc::ENETDOWN) => format!("'{}' is down: 'ip link set {} up'", interface.name, interface.name),
        _ => error.to_string(),
    }
}

/// Longest frame: the MTU with an Ethernet header (and a tag), as far as it fits one chunk.
fn longest(interface: &Interface, tagged: bool) -> usize {
    interface.longest(tagged).min(LARGE - HEADROOM)
}

/// Where the program runs and who stamps.
pub fn choices_of(redirect: &Redirect, stamps: Option<bool>) -> Vec<Choice> {
    let native = match redirect.mode {
        XdpMode::Native => "the driver has XDP".to_owned(),
        XdpMode::Generic if redirect.why.is_empty() => "asked for".to_owned(),
        XdpMode::Generic => redirect.why.clone(),
    };
    let (stamps, why) = match redirect.stamps {
        true => ("driver", "the XDP program reads the clock for each frame; 'stamps=no' saves that"),
        false if stamps.is_none() => {
            ("none", "nothing here needs arrival times; 'stamps=yes' adds them anyway")
        }
        false => ("none", "asked for"),
    };
    vec![
        Choice { what: "attach", chosen: redirect.mode.name().to_owned(), why: native },
        Choice { what: "stamps", chosen: stamps.to_owned(), why: why.to_owned() },
    ]
}

pub fn no_busy_poll() -> Choice {
    Choice {
        what: "busy poll",
        chosen: "no".to_owned(),
        why: "the kernel does not let this socket poll the device (SO_PREFER_BUSY_POLL)".to_owned(),
    }
}

#[allow(clippy::too_many_arguments)]
pub fn about(
    address: &Address,
    interface: &Interface,
    wish: &Wish,
    layout: &Layout,
    socket: &Socket,
    redirect: Option<&Redirect>,
    choices: Vec<Choice>,
) -> About {
    let known = known(address, interface, wish);
    let can = Abilities {
        stamps: redirect.is_some_and(|redirect| redirect.stamps).then_some(StampedBy::Driver),
        launch_time: layout.metadata > 0,
        zero_copy: socket.is_zero_copy,
        ..known.can
    };
    About { can, choices, ..known }
}

/// What is known before anything is bound.
pub fn known(address: &Address, interface: &Interface, wish: &Wish) -> About {
    About {
        name: address.to_string(),
        kind: "xdp",
        interface: Some(interface.name.clone()),
        mac: interface.mac,
        longest: longest(interface, false),
        speed_bps: interface.speed_bps,
        can: Abilities {
            transmit: wish.direction.transmits(),
            receive: wish.direction.receives(),
            batch: super::BATCH,
            tag_over_mtu: true,
            ..Abilities::default()
        },
        queue: wish.queue,
        queues: interface.queues.transmit.max(interface.queues.receive),
        choices: Vec::new(),
    }
}
