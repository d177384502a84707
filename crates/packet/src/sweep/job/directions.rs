//! One direction or both: the ports of each, and its frames.
//!
//! ```text
//!   --send ─ frames ─────────► --receive        forward
//!   --send ◄───────── reversed ─ --receive      reverse, with --bidirectional, at the same time
//! ```

use super::super::carry::Way;
use crate::PacketError;
use crate::pace::shared::Shared;
use crate::send::machine::Crowded;
use plan::packets::sweep::SweepPlan;
use port::{About, Address, Direction, Port, PortKind};
use wire::signature::STREAMS;
use wire::template::{Layer, Mac, Spec};

/// The ports of all directions.
pub struct Opened {
    pub ways: Vec<Way>,
    /// What sends and what receives take turns at one port.
    pub shares: bool,
}

impl Opened {
    pub fn one_way(send: Box<dyn Port>, receive: Box<dyn Port>) -> Self {
        Self { ways: vec![Way { send: Shared::both(send).0, receive }], shares: false }
    }

    /// Both directions through two ports, each of which sends and receives.
    pub fn shared(near: Box<dyn Port>, far: Box<dyn Port>) -> Self {
        let ((near_in, near_out), (far_in, far_out)) = (Shared::both(near), Shared::both(far));
        Self { ways: crossed((Box::new(near_in), near_out), (Box::new(far_in), far_out)), shares: true }
    }

    /// Opens both ports for both directions. Sockets have one for each, so that nobody waits for the other.
    pub fn both_ways(
        near: &Address,
        far: &Address,
        mut open: impl FnMut(&Address, Direction, bool) -> Result<Box<dyn Port>, PacketError>,
    ) -> Result<Self, PacketError> {
        if near.kind() != PortKind::Packet || far.kind() != PortKind::Packet {
            // Faults are those of sending, in each direction.
            return Ok(Self::shared(open(near, Direction::Both, true)?, open(far, Direction::Both, true)?));
        }
        let mut end = |address| {
            let receive = open(address, Direction::Receive, false)?;
            Ok::<_, PacketError>((receive, Shared::both(open(address, Direction::Transmit, true)?).0))
        };
        let (near, far) = (end(near)?, end(far)?);
        Ok(Self { ways: crossed(near, far), shares: false })
    }

    /// Why threads that send had better not spin, if they had.
    pub fn crowded(&self) -> Option<Crowded> {
        self.shares.then(|| Crowded {
            why: "the sender and the receiver take turns at each port, and spinning would block one of them"
                .to_owned(),
            mend: "use packet: ports, which have a socket for each direction".to_owned(),
        })
    }

    /// Whether each port can do what its direction asks of it.
    pub fn check(&self, has_own: bool) -> Result<(), PacketError> {
        if self.ways.len() < 2 {
            return Ok(());
        }
        for (about, can, what) in self.ways.iter().flat_map(|way| {
            let (send, receive) = (port(&way.send), way.receive.about());
            [(send, send.can.transmit, "send"), (receive, receive.can.receive, "receive")]
        }) {
            let name = &about.name;
            if has_own {
                return Err(PacketError::Wrong(format!(
                    "--bidirectional: {name} keeps its own time, which works in only one direction"
                )));
            }
            if !can {
                return Err(PacketError::Wrong(format!("--bidirectional: {name} cannot {what}")));
            }
        }
        Ok(())
    }
}

fn port(shared: &Shared) -> &About {
    shared.about()
}

/// What each end receives and sends with.
type End = (Box<dyn Port>, Shared);

fn crossed(near: End, far: End) -> Vec<Way> {
    let ((near_in, near_out), (far_in, far_out)) = (near, far);
    vec![Way { send: near_out, receive: far_in }, Way { send: far_out, receive: near_in }]
}

/// Frames of the other direction: with both ends exchanged, and the MAC addresses of their own way.
pub fn reversed(spec: &Spec, plan: &SweepPlan, near: &About, far: &About) -> Result<Spec, PacketError> {
    if spec.streams.len() * 2 > STREAMS {
        return Err(PacketError::Wrong(format!(
            "--bidirectional: {} streams, and as many back, are more than {STREAMS}",
            spec.streams.len()
        )));
    }
    let streams = spec.streams.iter().map(|stream| {
        let mut back = stream.reversed();
        if let Some(Layer::Ethernet { source, destination, .. }) = back.layers.first_mut() {
            *source = far.mac.map_or(*source, Mac);
            *destination = plan.reverse_mac.or(near.mac.map(Mac)).unwrap_or(*destination);
        }
        back
    });
    Ok(Spec { streams: streams.collect(), ..spec.clone() })
}
