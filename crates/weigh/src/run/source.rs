//! Incoming traffic from the other end of a bed.

use super::{CLOSED, Incoming, OPEN, START_NS, Traffic};
use crate::WeighError;
use crate::frames::{self, Body, Route};
use crate::sender::{Pace, Schedule, Sender, Sent, Step};
use crate::stage::Stage;
use crate::tally::Timeline;
use crate::wall::Wall;
use port::{Address, Port, Wish};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::Template;

/// Packets of one call.
const IN_BATCH: usize = 64;

/// What sends to the generator, from the other end.
pub struct Source {
    port: Box<dyn Port>,
    template: Template,
    /// A socket of another program.
    reader: Option<UdpSocket>,
}

impl Source {
    /// # Errors
    /// There is no other end to send from.
    pub fn open(stage: &Stage, incoming: &Incoming) -> Result<Self, WeighError> {
        let Some((own_mac, own)) = stage.own else {
            return Err(WeighError::Wrong("incoming traffic needs namespaces made for the weighing".into()));
        };
        let interface = stage.peer_interface.clone().unwrap_or_default();
        let peer = stage.peer().map(|peer| peer.interface().clone());
        let (peer_mac, peer) = peer
            .and_then(|end| Some((wire::template::Mac(end.mac.0), end.ipv4?)))
            .unwrap_or((stage.route.destination.0, stage.route.destination.1));
        let (from, to) = match incoming.kind {
            Traffic::UdpClosed => ((peer_mac, peer, 40_000), CLOSED),
            Traffic::UdpOpen => ((peer_mac, peer, 40_000), OPEN),
            Traffic::TcpSyn => ((peer_mac, peer, 40_000), CLOSED),
            // From whom the generator sends to, back to where it sends from.
            Traffic::Answers => (stage.route.destination, stage.route.source.2),
        };
        let route = Route { source: from, destination: (own_mac, own, to) };
        let body = if incoming.kind == Traffic::TcpSyn { Body::Syn } else { Body::Datagram };
        let address: Address = format!("packet:{interface}").parse()?;
        let wish = Wish { frame: incoming.size - port::FCS, ..Wish::transmit() };
        let reader = match incoming.kind {
            Traffic::UdpOpen => {
                Some(stage.at_generator(|| UdpSocket::bind((own, OPEN)))?.map_err(|source| {
                    WeighError::System { what: "a socket for incoming datagrams".into(), source }
                })?)
            }
            _ => None,
        };
        Ok(Self {
            port: stage.at_peer(|| port::open(&address, &wish))??,
            template: frames::template(&route, incoming.size, body)?,
            reader,
        })
    }

    /// Sends by the schedule; `done` ends the other program that reads, if there is one.
    pub fn run(
        self,
        stage: &Stage,
        schedule: Option<&Schedule>,
        timeline: &Timeline,
        stop: &AtomicBool,
        done: &AtomicBool,
    ) -> Sent {
        let Some(schedule) = schedule else { return Sent::default() };
        let (wall, usable) = (Wall::default(), os::cpus::usable());
        let sender = Sender {
            port: self.port,
            probe: None,
            each: 1,
            template: &self.template,
            wall: &wall,
            schedule,
            timeline,
            batch: IN_BATCH,
            index: 0,
            threads: 1,
            reads: false,
            stop,
        };
        std::thread::scope(|scope| {
            if let Some(socket) = &self.reader {
                scope.spawn(move || drain(socket, done));
            }
            let sent = stage.at_peer(|| {
                // Where that is refused, it runs anywhere.
                let _ = os::cpus::pin(usable[1 % usable.len()]);
                sender.run()
            });
            sent.unwrap_or_else(|error| Sent { failure: Some(error.to_string()), ..Sent::default() })
        })
    }
}

/// The other program: reads what comes until the run is over.
fn drain(socket: &UdpSocket, done: &AtomicBool) {
    let mut room = [0; 2_048];
    if socket.set_read_timeout(Some(Duration::from_millis(20))).is_err() {
        return;
    }
    while !done.load(Ordering::Relaxed) {
        let _ = socket.recv(&mut room);
    }
}

/// How many frames a second the incoming traffic reaches by itself, in a short try.
///
/// # Errors
/// As [`run`].
pub fn try_incoming(
    stage: &Stage,
    incoming: &Incoming,
    length_ns: u64,
    stop: &AtomicBool,
) -> Result<f64, WeighError> {
    let source = Source::open(stage, incoming)?;
    let origin_monotonic_ns = clock::monotonic_ns() + START_NS;
    let steps = vec![Step { pace: Pace::Flood, length_ns }];
    let timeline = Timeline::new(Wall::default().now_ns(), Schedule::ends(&steps));
    let schedule = Schedule { origin_monotonic_ns, steps };
    let done = AtomicBool::new(true);
    let sent = source.run(stage, Some(&schedule), &timeline, stop, &done);
    match sent.failure {
        Some(failure) => Err(WeighError::Wrong(failure)),
        None => Ok(sent.packets() as f64 * 1e9 / length_ns as f64),
    }
}
