//! What was asked of a `packet` port, read from its address and the opener's wishes; and errors that name it.

use crate::interface::Interface;
use crate::{Address, Direction, Match, PortError, Wish};
use std::io;

/// Frames that a receive ring holds, if nobody says otherwise: 32 MiB in blocks, 20 ms of full frames at 10
/// Gb/s.
const SLOTS: usize = 16_384;
/// The same where slots of one size are used.
const SLOTS_V2: usize = 4_096;

/// What was asked for, read.
pub struct Setting {
    /// The port's address.
    pub name: String,
    pub mode: &'static str,
    pub qdisc: &'static str,
    /// Not only by default.
    pub asks_bypass: bool,
    pub launch: &'static str,
    pub priority: Option<u32>,
    /// Somebody asks when each frame left.
    pub departures: bool,
    pub receive: &'static str,
    pub stamps: &'static str,
    pub share: &'static str,
    pub promiscuous: bool,
    /// Whether frames that this host sends are received, too.
    pub outgoing: bool,
    pub slots: usize,
    pub snap: Option<usize>,
    pub ours: Option<Match>,
    pub queue: u32,
    pub fanout: Option<u16>,
    pub is_receive_only: bool,
    /// The network namespace that it is in, if that is another than this process's.
    pub namespace: Option<String>,
}

impl Setting {
    pub fn read(address: &Address, wish: &Wish, interface: &Interface) -> Result<Self, PortError> {
        let is_receive_only = wish.direction == Direction::Receive;
        let receive = address.word("receive", &["auto", "slots", "blocks"])?;
        let has_blocks = receive == "blocks" || (receive == "auto" && is_receive_only);
        let usual = if has_blocks { SLOTS } else { SLOTS_V2 };
        let slots = address.read("slots", "4096")?.unwrap_or(usual);
        if !(1..=1 << 20).contains(&slots) {
            return Err(address.wrong("slots are not between 1 and 1048576", "slots=4096"));
        }
        let priority = address.read::<u32>("priority", "3")?;
        if priority.is_some_and(|priority| priority > 15) {
            return Err(address.wrong("a priority is not between 0 and 15", "priority=3"));
        }
        if is_receive_only && address.option("launch").is_some_and(|launch| launch != "no") {
            return Err(
                address.wrong("launch times need a port that sends", "no launch= if the port only receives")
            );
        }
        // Queues of one process that nobody gave a group share one all the same: none gets what another has.
        let own = (interface.index ^ std::process::id().rotate_left(7)) as u16;
        let fanout = wish.fanout.or((wish.queues > 1).then_some(own));
        Ok(Self {
            name: address.to_string(),
            mode: address.word("mode", &["mmsg", "ring"])?,
            qdisc: address.word("qdisc", &["bypass", "keep"])?,
            asks_bypass: address.option("qdisc") == Some("bypass"),
            launch: address.word("launch", &["no", "auto", "etf", "fq"])?,
            priority,
            departures: wish.departures,
            receive,
            stamps: address.word("stamps", &["best", "driver", "hardware"])?,
            share: address.word("share", &["hash", "cpu", "lb", "queue"])?,
            promiscuous: address.word("promiscuous", &["yes", "no"])? == "yes",
            outgoing: address.word("outgoing", &["no", "yes"])? == "yes",
            slots,
            snap: wish.snap,
            ours: wish.ours.clone(),
            queue: wish.queue,
            fanout: fanout.filter(|_| wish.direction.receives()),
            is_receive_only,
            namespace: address.namespace().map(str::to_owned),
        })
    }
}

/// The error of a socket that could not be opened.
pub fn denied(setting: &Setting, error: io::Error) -> PortError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            PortError::Privilege { what: setting.name.clone(), capability: "CAP_NET_RAW" }
        }
        _ => failed(setting, "opening a packet socket", error),
    }
}

pub fn failed(setting: &Setting, what: &str, error: io::Error) -> PortError {
    PortError::System { what: format!("{}: {what}", setting.name), error }
}
