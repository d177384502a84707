//! Times that are only lower bounds, because requests that never ended could reach them.

use compare::{Compared, FIGURES, Finding, Side, Slower, Trial, compare, figure, slower};

/// Trials with these values of every figure; as times they are lower bounds where that is said.
fn side(label: &str, values: &[f64], is_bound: bool) -> Side {
    let trial = |(at, value): (usize, &f64)| Trial {
        name: format!("{label}{at}"),
        folder: format!("{label}{at}").into(),
        values: FIGURES.iter().map(|_| Some(*value)).collect(),
        bounds: FIGURES.iter().map(|figure| is_bound && figure.unit == "ns").collect(),
        ..Trial::default()
    };
    Side { label: label.to_owned(), trials: values.iter().enumerate().map(trial).collect() }
}

const SLOW: [f64; 6] = [1.20, 1.21, 1.22, 1.23, 1.24, 1.25];
const FAST: [f64; 6] = [1.00, 1.01, 1.02, 1.03, 1.04, 1.05];

fn of(name: &str, a: (&[f64], bool), b: (&[f64], bool)) -> Compared {
    let mut pair =
        compare(&[side("A", a.0, a.1), side("B", b.0, b.1)], Vec::new(), Vec::new()).pairs.remove(0);
    pair.figures.retain(|figure| figure.name == name);
    pair.figures.remove(0)
}

#[test]
fn what_is_only_a_lower_bound_is_not_shown_to_be_faster() {
    for (a, b, expected) in [
        ((&FAST, false), (&SLOW, false), Finding::Higher),
        ((&FAST, true), (&SLOW, false), Finding::OnlyBounds),
        ((&FAST, false), (&SLOW, true), Finding::Higher),
        ((&SLOW, false), (&FAST, true), Finding::OnlyBounds),
        ((&SLOW, true), (&FAST, false), Finding::Lower),
        ((&SLOW, true), (&FAST, true), Finding::OnlyBounds),
        ((&FAST, true), (&FAST, false), Finding::NoDifference),
    ] {
        for name in ["latency.p99", "latency.mean"] {
            let found = of(name, (a.0, a.1), (b.0, b.1));
            assert_eq!(found.finding, expected, "{name}: {a:?} {b:?}");
            assert_eq!(found.change.is_none(), a.1 || b.1, "by how much is unknown: {name} {a:?} {b:?}");
            assert_eq!((found.a_bounds, found.b_bounds), (if a.1 { 6 } else { 0 }, if b.1 { 6 } else { 0 }));
        }
    }
}

fn held(name: &str, a: (&[f64], bool), b: (&[f64], bool)) -> Slower {
    slower(&[side("A", a.0, a.1), side("B", b.0, b.1)], 0.5, &[figure(name).unwrap()])
}

#[test]
fn a_lower_bound_is_beyond_any_limit() {
    for (name, trials) in [("latency.p99", 1), ("latency.p99", 6), ("latency.mean", 1), ("latency.mean", 6)] {
        let (slow, fast) = (&SLOW[..trials], &FAST[..trials]);
        let failed = |a, b| held(name, a, b).failed;
        assert!(!failed((fast, false), (slow, false)), "by less than the limit");
        assert!(failed((fast, false), (slow, true)));
        assert!(failed((slow, true), (fast, true)));
        let holds = held(name, (slow, true), (fast, false));
        assert!(!holds.failed && holds.figures[0].note.contains("only a lower bound"), "{holds:?}");
        let note = &held(name, (fast, false), (slow, true)).figures[0].note;
        assert!(note.contains(&format!("B is only a lower bound in {trials} of {trials} trials")), "{note}");
    }
}
