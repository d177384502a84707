//! What may have lain unread, and what is said of stamps.

use super::*;

#[test]
fn what_may_have_lain_unread_counts_like_lateness() {
    // Net 1 ms. Of 10 000 answers 200 (2 %) took longer, and may have lain unread for as long as that.
    let run = |net_us: u64, bound_us: u64, measured_us: u64| {
        let (mut totals, health, conditions) = (totals(9_800, 0, 1_000_000), health(), conditions());
        add(&mut totals, |d| {
            (0..200).for_each(|i| {
                let (unread, unread_bound) = (Picos::from_micros(measured_us), Picos::from_micros(bound_us));
                let event = answer(i, 0, 0, (net_us + measured_us) * 1_000);
                d.event(&units::Event { unread, unread_bound, ..event })
            })
        });
        totals.counters.offered = 10_000;
        let verdict = judge(&totals, &health, &conditions);
        (verdict.word(), verdict.failing().iter().map(|c| c.id).collect::<Vec<_>>())
    };
    assert_eq!(run(1_090, 90, 0), (Word::Valid, vec![]));
    assert_eq!(run(1_150, 150, 0), (Word::Degraded, vec![Id::UnreadP99, Id::UnreadP999]));
    // It is not known that they did.
    assert_eq!(run(21_000, 20_000, 0), (Word::Degraded, vec![Id::UnreadP99, Id::UnreadP999]));
    // What stamps have measured is taken out of the net, and only told.
    assert_eq!(run(1_000, 0, 20_000), (Word::Valid, vec![]));
    // Were they quicker than the others by as much, no percentile that is judged would be another.
    assert_eq!(run(1_000, 500, 0), (Word::Valid, vec![]));
}

#[test]
fn that_nothing_is_stamped_is_said_only_where_it_is_known() {
    let advice = |is_unix: bool, (stamped, unstamped): (u64, u64), seconds: u64| {
        let (mut totals, health, mut conditions) = (totals(9_800, 0, 1_000_000), health(), conditions());
        add(&mut totals, |d| {
            (0..200).for_each(|i| {
                let event = answer(i, 0, 0, 21_000_000);
                d.event(&units::Event { unread_bound: Picos::from_millis(20), ..event })
            })
        });
        totals.counters.offered = 10_000;
        (totals.counters.stamped, totals.counters.unstamped) = (stamped, unstamped);
        (totals.until_last_done, conditions.unix) = (Picos::from_secs(seconds), is_unix);
        let verdict = judge(&totals, &health, &conditions);
        verdict.failing().iter().find(|one| one.id == Id::UnreadP99).expect("it fails").advice.clone()
    };
    const NOTHING: &str = "no response has a timestamp";
    assert!(advice(true, (0, 5), 0).contains(NOTHING));
    assert!(advice(false, (0, 1_000), 1).contains(NOTHING));
    // A few fetches over TCP: the kernel stamps a moment after it is asked to.
    for (unstamped, seconds) in [(5, 0), (999, 1), (1_000, 0)] {
        let said = advice(false, (0, unstamped), seconds);
        assert!(!said.contains(NOTHING) && said.contains("make more requests"), "{said}");
    }
    let said = advice(false, (900, 100), 1);
    assert!(said.contains("add --threads") && !said.contains("response has"), "{said}");
}
