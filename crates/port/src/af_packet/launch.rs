//! Launch times of a `packet` port: which queueing discipline keeps them, by which clock, and how far ahead.
//!
//! ```text
//!   Slot::launch, by the wall clock ── + (clock − wall) ──► SCM_TXTIME ─► etf or fq ─► driver at that time
//! ```
//!
//! The kernel takes launch times on any interface and heeds them only where the queueing discipline does
//! (SO_TXTIME, tc-etf(8), tc-fq(8)): an interface without one is refused here.

use super::setting::Setting;
use crate::interface::{Etf, Fq, Interface, Qdisc, Times};
use crate::{Choice, PortError};
use clock::phc::{Comparison, Way};

/// Frames are handed to the kernel no longer than this before their time: after Ctrl-C they still leave.
const AHEAD_NS: u64 = 50_000_000;
/// Frames of one socket that may be under way.
const MOST: usize = 8_192;
/// How often the wall clock is compared with the other, and how many readings each time.
const COMPARE_NS: u64 = 1_000_000_000;
const READINGS: usize = 5;
/// Comparisons closer than that differ by how long a reading takes; the wall clock was not set.
const NOISE_NS: u64 = 10_000;

/// How launch times are given to the kernel.
#[derive(Debug)]
pub struct Launch {
    pub clock: libc::clockid_t,
    pub times: Times,
    /// Frames under way, at most.
    pub most: usize,
    pub ahead_ns: u64,
    /// What the clock shows more than the wall clock.
    beyond_wall_ns: i64,
    compared_ns: u64,
}

impl Launch {
    /// By what queues before the interface.
    ///
    /// # Errors
    /// Nothing there keeps launch times, or not what was asked for.
    pub fn find(interface: &Interface, setting: &Setting) -> Result<(Self, Vec<Choice>), PortError> {
        refuse_others(setting)?;
        let qdiscs = interface.qdiscs()?;
        let chosen = choose(&qdiscs, setting.launch, &interface.name, setting.priority);
        let there = |why: String| match &setting.namespace {
            Some(name) => why.replace("'tc qdisc", &format!("'ip netns exec {name} tc qdisc")),
            None => why,
        };
        let (times, is_below) = chosen.map_err(|why| unavailable(setting, there(why)))?;
        let launch = Self::by(times);
        Ok((launch, choices(times, is_below, setting)))
    }

    fn by(times: Times) -> Self {
        let (clock, most, ahead_ns) = match times {
            Times::Etf(etf) => (etf.clock, MOST, AHEAD_NS.max(2 * delta_ns(&etf))),
            Times::Fq(fq) => (libc::CLOCK_MONOTONIC, within(&fq), AHEAD_NS.min(half_horizon_ns(&fq))),
        };
        let beyond_wall_ns = beyond_wall(clock).unwrap_or(0);
        Self { clock, times, most, ahead_ns, beyond_wall_ns, compared_ns: clock::monotonic_ns() }
    }

    /// A time of the wall clock by that of the queueing discipline.
    #[inline]
    pub fn by_clock(&self, unix_ns: u64) -> u64 {
        unix_ns.wrapping_add_signed(self.beyond_wall_ns)
    }

    /// What leaves at once here: etf has no such frames, only such as are due soon.
    pub fn soon(&self, unix_ns: u64) -> u64 {
        match &self.times {
            Times::Etf(etf) => self.by_clock(unix_ns) + delta_ns(etf) + 100_000,
            Times::Fq(_) => 0,
        }
    }

    /// How long before its time a frame may leave.
    pub fn early_ns(&self) -> Option<u64> {
        match &self.times {
            Times::Etf(etf) => (!etf.deadline).then(|| delta_ns(etf)),
            Times::Fq(_) => Some(0),
        }
    }

    /// Whether a frame that comes late is dropped.
    pub const fn is_strict(&self) -> bool {
        matches!(self.times, Times::Etf(_))
    }

    /// The wall clock may be set while the run goes on.
    pub fn compare(&mut self, now_monotonic_ns: u64) {
        if now_monotonic_ns.saturating_sub(self.compared_ns) < COMPARE_NS {
            return;
        }
        self.compared_ns = now_monotonic_ns;
        let found = beyond_wall(self.clock).unwrap_or(self.beyond_wall_ns);
        if found.abs_diff(self.beyond_wall_ns) > NOISE_NS {
            self.beyond_wall_ns = found;
        }
    }
}

fn delta_ns(etf: &Etf) -> u64 {
    u64::from(etf.delta_ns.max(0).unsigned_abs())
}

/// What a single flow may keep in the queue without being refused.
fn within(fq: &Fq) -> usize {
    let limit = |frames: u32| if frames == 0 { MOST } else { frames as usize };
    MOST.min(limit(fq.flow_limit)).min(limit(fq.limit))
}

fn half_horizon_ns(fq: &Fq) -> u64 {
    match fq.horizon_us {
        0 => u64::MAX,
        micros => u64::from(micros) * 500,
    }
}

fn beyond_wall(id: libc::clockid_t) -> Option<i64> {
    let reading = || Some([clock::unix_ns(), clock::clock_ns(id).ok()?, clock::unix_ns()]);
    let readings: Option<Vec<_>> = (0..READINGS).map(|_| reading()).collect();
    Some(Comparison::of(&readings?, Way::Readings)?.ahead_ns)
}

/// What cannot go with launch times.
fn refuse_others(setting: &Setting) -> Result<(), PortError> {
    let why = if setting.mode == "ring" {
        "the transmit ring accepts only one launch time for all frames of a call; leave out mode=ring"
    } else if setting.asks_bypass {
        "the queueing discipline keeps the launch times; leave out qdisc=bypass"
    } else {
        return Ok(());
    };
    Err(unavailable(setting, why.to_owned()))
}

fn unavailable(setting: &Setting, why: String) -> PortError {
    PortError::Unavailable { what: format!("launch={} for {}", setting.launch, setting.name), why }
}

/// The queueing discipline that frames will pass, and whether it is in a class of another.
fn choose(
    qdiscs: &[Qdisc],
    asked: &str,
    interface: &str,
    priority: Option<u32>,
) -> Result<(Times, bool), String> {
    let is_asked = |qdisc: &&Qdisc| qdisc.times.is_some() && (asked == "auto" || qdisc.kind == asked);
    let root = qdiscs.iter().find(|qdisc| qdisc.class.is_none());
    let found = match root {
        Some(root) if root.times.is_some() => Some(root).filter(is_asked),
        _ => qdiscs.iter().find(is_asked),
    };
    let Some(qdisc) = found else { return Err(absent(root, asked, interface)) };
    let Some(times) = qdisc.times else { return Err(absent(root, asked, interface)) };
    let is_below = qdisc.class.is_some();
    let others = qdiscs.iter().filter(|other| other.class.is_some() && other.kind != qdisc.kind).count();
    if is_below && others > 0 && priority.is_none() {
        return Err(format!(
            "only some classes of '{interface}' have {}: choose one of them, e.g. priority=3",
            qdisc.kind
        ));
    }
    match times {
        Times::Etf(etf) if clock::clock_ns(etf.clock).is_err() => {
            Err(format!("etf on '{interface}' goes by clock {}, which cannot be read", etf.clock))
        }
        _ => Ok((times, is_below)),
    }
}

fn absent(root: Option<&Qdisc>, asked: &str, interface: &str) -> String {
    let kind = root.map_or("no queueing discipline", |root| root.kind.as_str());
    let fq = format!("'tc qdisc replace dev {interface} root fq flow_limit {MOST} timer_slack 0'");
    let etf = format!("'tc qdisc replace dev {interface} root etf clockid CLOCK_TAI delta 200000'");
    let advice = match asked {
        "etf" => etf,
        "fq" => fq,
        _ => format!("{fq}, or {etf} if the card sends at given times (offload)"),
    };
    format!(
        "'{interface}' has {kind}, so the kernel would send frames at once; set a queueing discipline that \
         keeps launch times, if the kernel has it: {advice}"
    )
}

fn choices(times: Times, is_below: bool, setting: &Setting) -> Vec<Choice> {
    let (chosen, why) = match times {
        Times::Etf(etf) => {
            let who = if etf.offload { "the card sends frames at their times" } else { "the kernel's timer" };
            let mode = if etf.deadline { "deadline" } else { "strict" };
            let why = format!(
                "{who}, by clock {} and {mode}: handed to the driver {} µs before, dropped and counted (tx.late) when late",
                clock_name(etf.clock),
                etf.delta_ns / 1_000
            );
            ("etf", why)
        }
        Times::Fq(fq) => (
            "fq",
            format!(
                "the kernel's timer, by CLOCK_MONOTONIC: never before their times, at most {} frames ahead, timer slack {} ns",
                within(&fq),
                fq.slack_ns
            ),
        ),
    };
    let keep = "the queueing discipline keeps launch times, and frames need sendmmsg: the transmit ring has one time per call";
    let mut choices = vec![
        Choice { what: "launch time", chosen: chosen.to_owned(), why },
        Choice { what: "qdisc", chosen: "keep".to_owned(), why: keep.to_owned() },
    ];
    if let (true, Some(priority)) = (is_below, setting.priority) {
        let why = "as requested: the class of the queueing discipline that frames pass".to_owned();
        choices.push(Choice { what: "priority", chosen: priority.to_string(), why });
    }
    choices
}

fn clock_name(id: libc::clockid_t) -> String {
    match id {
        libc::CLOCK_TAI => "CLOCK_TAI".to_owned(),
        libc::CLOCK_REALTIME => "CLOCK_REALTIME".to_owned(),
        libc::CLOCK_MONOTONIC => "CLOCK_MONOTONIC".to_owned(),
        other => format!("number {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FQ: Fq =
        Fq { limit: 10_000, flow_limit: 100, horizon_us: 10_000_000, drops_beyond: true, slack_ns: 10_000 };

    fn etf() -> Etf {
        Etf { clock: libc::CLOCK_TAI, delta_ns: 200_000, deadline: false, offload: false }
    }

    fn qdisc(kind: &str, class: Option<u32>, times: Option<Times>) -> Qdisc {
        Qdisc { kind: kind.to_owned(), class, times }
    }

    #[test]
    fn what_keeps_no_times_is_refused_with_the_command_that_mends_it() {
        let none = [qdisc("noqueue", None, None)];
        let why = choose(&none, "auto", "gen0", None).unwrap_err();
        assert!(why.starts_with("'gen0' has noqueue") && why.contains("dev gen0 root fq"), "{why}");
        let fq = [qdisc("fq", None, Some(Times::Fq(FQ)))];
        let why = choose(&fq, "etf", "gen0", None).unwrap_err();
        assert!(why.starts_with("'gen0' has fq") && why.contains("etf clockid CLOCK_TAI"), "{why}");
        assert_eq!(choose(&fq, "auto", "gen0", None), Ok((Times::Fq(FQ), false)));
        let unknown = [qdisc("etf", None, Some(Times::Etf(Etf { clock: 99, ..etf() })))];
        assert!(choose(&unknown, "auto", "gen0", None).unwrap_err().contains("clock 99"));
    }

    #[test]
    fn where_one_class_of_several_keeps_times_its_priority_is_asked_for() {
        let times = Some(Times::Etf(etf()));
        let all =
            [qdisc("mqprio", None, None), qdisc("fq_codel", Some(1), None), qdisc("etf", Some(2), times)];
        assert!(choose(&all, "auto", "eth0", None).unwrap_err().contains("priority=3"));
        assert_eq!(choose(&all, "auto", "eth0", Some(3)), Ok((Times::Etf(etf()), true)));
        let same = [qdisc("mq", None, None), qdisc("etf", Some(1), times), qdisc("etf", Some(2), times)];
        assert_eq!(choose(&same, "etf", "eth0", None), Ok((Times::Etf(etf()), true)));
    }

    #[test]
    fn times_are_told_by_the_clock_of_the_queueing_discipline() {
        let unix_ns = clock::unix_ns();
        let tai = Launch::by(Times::Etf(etf()));
        // The kernel says itself how far CLOCK_TAI is ahead; both readings lie within one call of each other.
        let expected = unix_ns + clock::tai_minus_unix_ns();
        assert!(tai.by_clock(unix_ns).abs_diff(expected) < 10_000_000);
        assert!(tai.soon(unix_ns) > tai.by_clock(unix_ns) + 200_000);
        let mut monotonic = Launch::by(Times::Fq(FQ));
        let now = clock::monotonic_ns();
        assert!(monotonic.by_clock(unix_ns).abs_diff(now) < 1_000_000_000);
        assert_eq!((monotonic.most, monotonic.soon(unix_ns)), (100, 0));
        // A wall clock that was set is followed.
        monotonic.beyond_wall_ns += 37_000_000_000;
        monotonic.compare(now + 2 * COMPARE_NS);
        assert!(monotonic.by_clock(clock::unix_ns()).abs_diff(clock::monotonic_ns()) < 1_000_000_000);
        // A short horizon is not overstepped, nor a queue overfilled.
        let near = Launch::by(Times::Fq(Fq { horizon_us: 2_000, limit: 50, ..FQ }));
        assert_eq!((near.ahead_ns, near.most), (1_000_000, 50));
        let old = Launch::by(Times::Fq(Fq { horizon_us: 0, flow_limit: 0, limit: 0, ..FQ }));
        assert_eq!((old.ahead_ns, old.most), (AHEAD_NS, MOST));
    }
}
