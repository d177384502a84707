//! Whether frames can be sent so at an interface, and what is known before a program is loaded.

use super::{LONGEST, copies};
use crate::interface::{Interface, features};
use crate::{Abilities, About, Address, PortError, Wish};

/// See [`crate::check`].
pub(crate) fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    Ok(about(address, &usable(address, wish)?, wish))
}

/// The interface, where nothing speaks against sending such frames there.
pub(super) fn usable(address: &Address, wish: &Wish) -> Result<Interface, PortError> {
    let interface = Interface::find(address.place())?;
    if wish.direction == crate::Direction::Receive {
        return Err(PortError::Unable { port: address.to_string(), what: "receive: it sends only" });
    }
    let longest = interface.longest(false).min(LONGEST);
    if wish.frame > interface.longest(true).min(LONGEST) {
        return Err(PortError::TooLong { port: address.to_string(), length: wish.frame, longest });
    }
    refuse_driver(&interface)?;
    Ok(interface)
}

pub(super) fn about(address: &Address, interface: &Interface, wish: &Wish) -> About {
    About {
        name: address.to_string(),
        kind: "live",
        interface: Some(interface.name.clone()),
        mac: interface.mac,
        longest: interface.longest(false).min(LONGEST),
        speed_bps: interface.speed_bps,
        can: Abilities {
            transmit: true,
            batch: copies::MOST,
            zero_copy: true,
            tag_over_mtu: true,
            ..Abilities::default()
        },
        queue: wish.queue,
        queues: interface.queues.transmit,
        choices: Vec::new(),
    }
}

/// Before anything is sent: a driver that never takes frames of programs. (Whether a veth does depends on its
/// peer, which may get a program or GRO any time: its refusal is seen with the first frames.)
fn refuse_driver(interface: &Interface) -> Result<(), PortError> {
    let driver = interface.driver.as_deref().unwrap_or("the driver");
    if driver == "veth" || features::of(interface.index).map_or(true, |features| features.transmit()) {
        return Ok(());
    }
    let why = format!(
        "{driver} cannot send frames of XDP programs (no ndo_xdp_xmit); use packet:{}",
        interface.name
    );
    Err(PortError::Unavailable { what: format!("sending live frames at '{}'", interface.name), why })
}
