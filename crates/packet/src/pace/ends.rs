//! Opening IN and OUT, each for two threads: one takes frames from it, the other gives it some.

use super::shared::Shared;
use super::valve::{TAP_QUEUE, Valve};
use port::interface::Interface;
use port::{About, Address, Direction, Port, PortError, Wish};

/// One place, as both threads need it.
pub struct End {
    pub about: About,
    pub receive: Box<dyn Port>,
    pub transmit: Box<dyn Port>,
}

impl End {
    /// Opens `address`. A socket of its own for each direction where the place allows it, so that they do not
    /// wait for each other.
    ///
    /// # Errors
    /// Whatever keeps it from being opened, or that it has only one direction.
    pub fn open(address: &Address, busy: bool) -> Result<Self, PortError> {
        let both = both_ways(busy);
        let first = port::open(address, &both)?;
        let about = able(first.about().clone())?;
        if about.kind != "packet" {
            return Ok(Self::shared(first));
        }
        drop(first);
        let one = |direction| port::open(address, &Wish { direction, ..both.clone() });
        let (receive, transmit) = (one(Direction::Receive)?, one(Direction::Transmit)?);
        Ok(Self { about, receive, transmit })
    }

    /// Whether `address` could be opened, as far as that can be told beforehand.
    ///
    /// # Errors
    /// What opening it would say.
    pub fn check(address: &Address, busy: bool) -> Result<About, PortError> {
        able(port::check(address, &both_ways(busy))?)
    }

    /// Two handles of one port.
    pub fn shared(port: Box<dyn Port>) -> Self {
        let about = port.about().clone();
        let (receive, transmit) = Shared::both(port);
        Self { about, receive: Box::new(receive), transmit: Box::new(transmit) }
    }

    /// The valve that keeps frames with their sockets, if this place has one; otherwise why not.
    pub fn valve(&self) -> Result<Valve, String> {
        let Some(name) = self.about.interface.as_deref().filter(|_| self.about.kind == "tap") else {
            return Err(format!(
                "{} accepts frames as they come: only a tap can hold them back at their sockets",
                self.about.name
            ));
        };
        let interface = Interface::find(name).map_err(|error| error.to_string())?;
        let mut valve = Valve::new(interface.index, self.about.longest).map_err(|error| error.to_string())?;
        valve
            .set_queue(TAP_QUEUE)
            .map_err(|error| format!("the tap's queue could not be lengthened: {error}"))?;
        Ok(valve)
    }
}

fn both_ways(busy: bool) -> Wish {
    Wish { busy, departures: true, ..Wish::default() }
}

fn able(about: About) -> Result<About, PortError> {
    if !about.can.receive || !about.can.transmit {
        let what = if about.can.receive { "transmit, and replies go there" } else { "receive" };
        return Err(PortError::Unable { port: about.name, what });
    }
    Ok(about)
}
