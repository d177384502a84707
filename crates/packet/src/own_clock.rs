//! Instants by the time of a port that keeps its own.

use crate::PacketError;
use crate::capture::stamps::reading_ns;
use measure::gap_meter::Stamping;
use measure::packets::PortTime;
use port::{OwnTime, Port, PortError, Stamp, StampedBy};
use units::{Instant, Picos};

/// From what is known of the port's time to the first departure: its queue fills meanwhile. A simulation's time
/// goes slowly, and stands still while nothing is queued.
const LEAD: Picos = Picos::from_millis(20);
const LEAD_SIMULATED: Picos = Picos::from_micros(200);

/// The time of a port that sends, if it keeps its own, where another receives. A simulation's time is no other
/// port's.
///
/// # Errors
/// Frames leave by a simulation's time, and are stamped by this host's (or the other way round), or by another
/// simulation's; or a port is gone.
pub fn of_both(
    send: &mut dyn Port,
    receive: &mut dyn Port,
    flag: &str,
    instant: Instant,
) -> Result<Option<OwnClock>, PacketError> {
    let (sends, receives) = (send.own_time()?, receive.own_time()?);
    let simulation = |own: &Option<OwnTime>| own.filter(|own| own.simulated).map(|own| own.simulation);
    if simulation(&sends) != simulation(&receives) {
        let (from, to) = (&send.about().name, &receive.about().name);
        return Err(PacketError::Wrong(format!(
            "{flag}: {from} and {to} do not share a clock: simulated time is neither wall time nor another \
             simulation's time; receive on the port that sends, or use the simulator's own capture (pcap=FILE)"
        )));
    }
    Ok(sends.map(|own| OwnClock::new(&own, instant)))
}

/// One point of the port's time, and the instant that stands for it.
#[derive(Clone, Copy, Debug)]
pub struct OwnClock {
    stamp: Stamp,
    instant: Instant,
    time: PortTime,
    is_exact: bool,
    stamped: StampedBy,
}

impl OwnClock {
    /// The port's time of now is `instant`.
    pub const fn new(own: &OwnTime, instant: Instant) -> Self {
        let time = PortTime {
            simulated: own.simulated,
            tick_ps: own.tick.as_picos(),
            bound_ns: own.bound.as_nanos(),
            by_kernel: !own.is_exact,
        };
        Self { stamp: own.now, instant, time, is_exact: own.is_exact, stamped: own.stamped }
    }

    /// The instant from which this one knows the port's time.
    pub const fn begin(&self) -> Instant {
        self.instant
    }

    /// What the result says of it.
    pub const fn time(&self) -> PortTime {
        self.time
    }

    pub const fn tick(&self) -> Picos {
        Picos::from_picos(self.time.tick_ps)
    }

    /// Whether nothing but the frames before one can make it late.
    pub const fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// What is known of the stamps with which the port tells of departures.
    pub fn stamping(&self, place: &str) -> Stamping {
        let tick_ns = self.time.tick_ps as f64 / 1e3;
        let bound_ns = self.time.bound_ns as f64;
        let (error_ns, error_from) = match (self.is_exact, self.stamped) {
            (true, _) => (
                tick_ns,
                format!("the port itself reports in which step of its clock ({tick_ns} ns) each frame began"),
            ),
            (false, StampedBy::Hardware) => (
                bound_ns.max(tick_ns),
                format!("the card's clock, converted to the wall clock to within {bound_ns} ns"),
            ),
            (false, _) => {
                let reading = reading_ns();
                let from = format!(
                    "the kernel's clock, read when the driver accepts the frame; two consecutive readings are \
                     {reading:.0} ns apart (p95)"
                );
                (reading, from)
            }
        };
        Stamping {
            measured_at: format!("{place}, when they left"),
            handed_over: false,
            by: self.stamped.to_string(),
            error_ns,
            error_from,
        }
    }

    /// How far ahead of the port's time frames are to be handed over.
    pub const fn lead(&self) -> Picos {
        if self.time.simulated { LEAD_SIMULATED } else { LEAD }
    }

    /// The instant of a stamp of the port.
    #[inline]
    pub fn instant(&self, stamp: Stamp) -> Instant {
        self.instant + Picos::from_nanos(stamp.0.saturating_sub(self.stamp.0))
    }

    /// The port's time at an instant, rounded down.
    #[inline]
    pub fn stamp(&self, instant: Instant) -> Stamp {
        Stamp(self.stamp.0 + instant.since(self.instant).as_nanos())
    }

    /// What the port's clock shows.
    ///
    /// # Errors
    /// The port is gone.
    pub fn now(&self, port: &mut dyn Port) -> Result<Instant, PortError> {
        Ok(port.own_time()?.map_or(self.instant, |own| self.instant(own.now)))
    }
}
