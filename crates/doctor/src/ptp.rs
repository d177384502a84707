//! Clocks of network cards (PTP hardware clocks): which there are, of which interfaces, and how far each is
//! from the wall clock.

use crate::Subject;
use crate::finding::{Finding, MEASURED, Mend, Severity, Weight};
use clock::phc::{Compare, Comparison, Phc};
use port::interface::Interface;

/// A clock that is further off is not kept in time by anybody.
const FAR_NS: u64 = 1_000_000;
/// TAI is ahead of UTC by whole seconds; a kernel that nobody told of them takes them for none (37 since 2017).
const TAI_NS: u64 = 37_000_000_000;

/// What is known of one such clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardClock {
    pub phc: Phc,
    /// Interfaces of this namespace whose frames it stamps.
    pub interfaces: Vec<String>,
    /// Beside the wall clock; or why it could not be read.
    pub beside: Option<Result<Comparison, String>>,
    /// CLOCK_TAI − CLOCK_REALTIME, as the kernel knows it.
    pub tai_ns: u64,
}

impl CardClock {
    /// All of this machine.
    pub fn all() -> Vec<Self> {
        let phcs = Phc::all();
        if phcs.is_empty() {
            return Vec::new();
        }
        let names = Interface::names().unwrap_or_default();
        let interfaces: Vec<Interface> = names.iter().filter_map(|name| Interface::find(name).ok()).collect();
        phcs.into_iter().map(|phc| Self::of(phc, &interfaces)).collect()
    }

    fn of(phc: Phc, interfaces: &[Interface]) -> Self {
        let is_its = |interface: &&Interface| interface.stamping.clock == Some(phc.number);
        let beside = phc.open().and_then(|mut device| device.compare());
        Self {
            interfaces: interfaces.iter().filter(is_its).map(|interface| interface.name.clone()).collect(),
            beside: Some(beside.map_err(|error| error.to_string())),
            tai_ns: clock::tai_minus_unix_ns(),
            phc,
        }
    }

    /// How far it is from the nearer of the wall clock and TAI, and which of them that is.
    fn off(&self, ahead_ns: i64) -> (u64, &'static str) {
        let tai_ns = if self.tai_ns == 0 { TAI_NS } else { self.tai_ns };
        let (wall, tai) = (ahead_ns.unsigned_abs(), ahead_ns.abs_diff(tai_ns as i64));
        if tai < wall { (tai, "TAI") } else { (wall, "the wall clock") }
    }
}

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    if subject.card_clocks.is_empty() {
        return vec![Finding::fine("ptp", "no network card has its own clock (/dev/ptpN)")];
    }
    subject.card_clocks.iter().map(one).collect()
}

fn one(card: &CardClock) -> Finding {
    let number = card.phc.number;
    let id = format!("ptp.{number}");
    let whose = match card.interfaces.as_slice() {
        [] => "of no interface here".to_owned(),
        names => format!("of {}", names.join(", ")),
    };
    let name = if card.phc.name.is_empty() { "without a name" } else { &card.phc.name };
    let clock = format!("ptp{number} ({name}) {whose}");
    let found = match &card.beside {
        Some(Ok(found)) => *found,
        Some(Err(why)) => return Finding::unknown(id, format!("{clock} could not be read: {why}")),
        None => return Finding::unknown(id, format!("{clock} was not read")),
    };
    let (off_ns, from) = card.off(found.ahead_ns);
    let told = format!(
        "{clock} is {} off {from}, \u{b1} {} ({})",
        span(off_ns),
        span(found.bound_ns),
        found.way.name()
    );
    // Where the bound is larger than what is judged, nothing can be said against the clock.
    if off_ns <= FAR_NS + found.bound_ns {
        return Finding::fine(id, told);
    }
    let fallback = "eth0".to_owned();
    let interface = card.interfaces.first().unwrap_or(&fallback);
    Finding::fine(id, told)
        .why(
            format!(
                "this clock is not synchronised: it is {} off. Tare converts its timestamps to the wall clock, but launch \
                 times (etf with offload, AF_XDP) and timestamps of other programs are off by that",
                span(off_ns)
            ),
            MEASURED,
        )
        .weighs(Weight::gaps(Severity::Minor))
        .mend(Mend::advice(format!(
            "synchronise it with the wall clock: phc2sys -s CLOCK_REALTIME -c {interface} -O 0; or with PTP: ptp4l -i \
             {interface}"
        )))
}

/// 1 234 567 ns as `1.235 ms`.
fn span(ns: u64) -> String {
    match ns {
        0..=9_999 => format!("{ns} ns"),
        10_000..=9_999_999 => format!("{:.3} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Load, Subject};
    use clock::phc::Way;

    fn card(ahead_ns: i64, bound_ns: u64) -> CardClock {
        let way = Way::Extended;
        let beside = Comparison { unix_ns: 1_800_000_000_000_000_000, ahead_ns, bound_ns, way };
        CardClock {
            phc: Phc { number: 2, name: "igb-0000:03:00.0-clk".to_owned() },
            interfaces: vec!["eth1".to_owned()],
            beside: Some(Ok(beside)),
            tai_ns: 0,
        }
    }

    fn finding(card: CardClock) -> Finding {
        let subject = Subject { card_clocks: vec![card], ..Subject::default() };
        examine(&subject).remove(0)
    }

    #[test]
    fn a_clock_that_somebody_keeps_is_fine_by_the_wall_clock_and_by_tai() {
        let found = finding(card(-800, 250));
        assert_eq!((found.id.as_str(), found.worst()), ("ptp.2", Severity::Fine));
        let words = "ptp2 (igb-0000:03:00.0-clk) of eth1 is 800 ns off the wall clock, \u{b1} 250 ns (PTP_SYS_OFFSET_EXTENDED)";
        assert_eq!(found.found, words);
        let tai = finding(card(37_000_000_450, 250));
        assert!(tai.worst() == Severity::Fine && tai.found.contains("450 ns off TAI"), "{}", tai.found);
        let leap = CardClock { tai_ns: 38_000_000_000, ..card(38_000_000_001, 250) };
        assert_eq!(finding(leap).worst(), Severity::Fine);
    }

    #[test]
    fn one_that_nobody_keeps_matters_to_gaps_and_says_what_sets_it() {
        let found = finding(card(5_000_000, 300));
        assert_eq!(
            (found.weight.of(Load::Gaps), found.weight.of(Load::Http)),
            (Severity::Minor, Severity::Fine)
        );
        assert!(found.why.contains("5.000 ms off"), "{}", found.why);
        let mend = format!("{:?}", found.mend);
        assert!(mend.contains("phc2sys -s CLOCK_REALTIME -c eth1 -O 0"), "{mend}");
        // Counting from when it was switched on.
        assert!(finding(card(-1_800_000_000_000_000_000, 300)).found.contains("1800000000.000 s off"));
        // Read so badly that nothing can be said against it.
        assert_eq!(finding(card(5_000_000, 6_000_000)).worst(), Severity::Fine);
    }

    #[test]
    fn one_that_cannot_be_read_is_unknown_and_none_is_told_as_none() {
        let denied = CardClock { beside: Some(Err("Permission denied".to_owned())), ..card(0, 1) };
        let found = finding(denied);
        assert_eq!(found.worst(), Severity::Unknown);
        assert!(found.found.ends_with("could not be read: Permission denied"), "{}", found.found);
        assert_eq!(examine(&Subject::default())[0].found, "no network card has its own clock (/dev/ptpN)");
        assert_eq!(CardClock::all().len(), Phc::all().len());
    }
}
