//! What a comparison says of trials whose truth is known: made up from a seed, so every run of the test is the
//! same.

use compare::{
    Compared, FIGURES, Finding, LOSS, Pair, Side, Test, Trial, compare, default_figures, figure, slower,
};
use proptest::prelude::*;

/// splitmix64 (S. Vigna, public domain): noise that is the same everywhere.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal: the sum of twelve uniform numbers less six.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

/// Trials whose figures are all `level` with a relative spread, each figure with noise of its own.
fn side(label: &str, trials: usize, level: f64, spread: f64, noise: &mut Noise) -> Side {
    let trial = |n| Trial {
        name: format!("{label}{n}"),
        folder: format!("{label}{n}").into(),
        values: FIGURES
            .iter()
            .map(|figure| {
                let level = if figure.name == "errors" { level / 1_000.0 } else { level };
                (figure.name != LOSS).then(|| level * (1.0 + spread * noise.normal()))
            })
            .collect(),
        ..Trial::default()
    };
    Side { label: label.to_owned(), trials: (0..trials).map(trial).collect() }
}

fn pair(a: Side, b: Side) -> Pair {
    compare(&[a, b], Vec::new(), Vec::new()).pairs.remove(0)
}

fn of<'a>(pair: &'a Pair, name: &str) -> &'a Compared {
    pair.figures.iter().find(|figure| figure.name == name).unwrap()
}

#[test]
fn equal_sides_rarely_seem_to_differ() {
    // 5 % for each family; of 2 000 comparisons 100 ± 10 (√(2000 · 0.05 · 0.95)), so that 140 is four
    // deviations away. Ranks of six trials are coarse, so that theirs are fewer.
    const SETS: usize = 2_000;
    for trials in [3, 6] {
        let mut noise = Noise(trials as u64);
        let (mut means, mut percentiles) = (0, 0);
        for _ in 0..SETS {
            let pair =
                pair(side("A", trials, 100.0, 0.1, &mut noise), side("B", trials, 100.0, 0.1, &mut noise));
            let seems = |test: Test| {
                let tested = pair.figures.iter().filter(|figure| figure.test == test);
                tested.clone().any(|figure| figure.finding != Finding::NoDifference)
            };
            means += usize::from(seems(Test::WelchT));
            percentiles += usize::from(seems(Test::MannWhitney));
        }
        assert!(means <= 140, "{means} of {SETS} with {trials} trials");
        assert!(percentiles <= 140, "{percentiles} of {SETS} with {trials} trials");
        assert!(trials > 3 || percentiles == 0, "three trials can show nothing by ranks");
    }
}

#[test]
fn a_limit_on_slowness_rarely_fails_without_reason() {
    // B is exactly as much slower as is allowed: the worst case of all that must not fail. The same bound as
    // above.
    const SETS: usize = 2_000;
    let figures = compare::DEFAULT.map(|name| figure(name).unwrap());
    let mut noise = Noise(7);
    let failed = (0..SETS)
        .filter(|_| {
            let sides = [side("A", 5, 100.0, 0.05, &mut noise), side("B", 5, 105.0, 0.05, &mut noise)];
            slower(&sides, 0.05, &figures).failed
        })
        .count();
    assert!(failed <= 140, "{failed} of {SETS}");
}

#[test]
fn enough_trials_find_a_tenth() {
    // A spread of 5 % and a difference of 10 %: two deviations, which 8 trials a side find nearly always.
    let mut noise = Noise(42);
    let found = (0..200)
        .filter(|_| {
            let pair = pair(side("A", 8, 100.0, 0.05, &mut noise), side("B", 8, 110.0, 0.05, &mut noise));
            let shown = |name| of(&pair, name).finding == Finding::Higher;
            shown("latency.mean") && shown("latency.p99")
        })
        .count();
    assert!(found > 140, "{found} of 200");
}

#[test]
fn the_stated_number_of_trials_shows_five_percent() {
    // What the comparison says is needed is then tried: a test of one figure must find 5 % in about 80 % of
    // cases.
    let spread = 0.04;
    let needed = stats::power::trials_for_means(spread, 0.05) as usize;
    let mut noise = Noise(3);
    let shown = (0..1_000)
        .filter(|_| {
            let mut values = |level: f64| -> Vec<f64> {
                (0..needed).map(|_| level * (1.0 + spread * noise.normal())).collect()
            };
            let (x, y) = (values(100.0), values(105.0));
            stats::welch::welch(&x, &y, 1.0).unwrap().p() <= 0.05
        })
        .count();
    assert!((760..900).contains(&shown), "{shown} of 1000 with {needed} trials a side");
}

#[test]
fn one_trial_a_side_gives_no_confidence() {
    let mut noise = Noise(1);
    let sides = [side("A", 1, 100.0, 0.0, &mut noise), side("B", 1, 200.0, 0.0, &mut noise)];
    let pair = pair(sides[0].clone(), sides[1].clone());
    let p99 = of(&pair, "latency.p99");
    assert_eq!((p99.finding, p99.p, p99.change), (Finding::NoConfidence, None, Some(1.0)));
    let held = slower(&sides, 0.05, &[figure("latency.p99").unwrap()]);
    assert!(held.failed && held.figures[0].note.contains("without any confidence"));
    assert!(!slower(&sides, 1.5, &[figure("latency.p99").unwrap()]).failed);
}

/// Errors come soon: their latency is no better one.
#[test]
fn who_answers_only_with_errors_is_not_as_fast() {
    let mut noise = Noise(1);
    let figures = compare::DEFAULT.map(|name| figure(name).unwrap());
    let failed = |wrong: u64, trials: usize, noise: &mut Noise| {
        let mut sides = [side("A", trials, 100.0, 0.01, noise), side("B", trials, 50.0, 0.01, noise)];
        let errors = FIGURES.iter().position(|figure| figure.name == "errors").unwrap();
        for (side, share) in sides.iter_mut().zip([0.0, wrong as f64 / 100.0]) {
            side.trials.iter_mut().for_each(|trial| trial.values[errors] = Some(share));
        }
        slower(&sides, 0.05, &figures).failed
    };
    for trials in [1, 5] {
        assert_eq!([0, 4, 6, 100].map(|wrong| failed(wrong, trials, &mut noise)), [false, false, true, true]);
    }
}

/// Frames that never arrived are no noise, and the limit asks for them unless told otherwise.
#[test]
fn who_loses_half_of_the_frames_is_worse() {
    let mut noise = Noise(1);
    let at = FIGURES.iter().position(|figure| figure.name == LOSS).unwrap();
    let mut with = |a: Option<f64>, b: Option<f64>| {
        let mut sides = [side("A", 3, 100.0, 0.0, &mut noise), side("B", 3, 100.0, 0.0, &mut noise)];
        for (side, share) in sides.iter_mut().zip([a, b]) {
            side.trials.iter_mut().enumerate().for_each(|(n, trial)| {
                trial.values[at] = share.map(|share| share * (1.0 + n as f64 / 100.0));
            });
        }
        sides
    };
    let lossy = with(Some(0.0), Some(0.5));
    let pair = pair(lossy[0].clone(), lossy[1].clone());
    assert_eq!(of(&pair, LOSS).is_worse(), Some(true), "{:?}", of(&pair, LOSS));
    assert!(slower(&lossy, 0.05, &default_figures(&lossy)).failed);
    let few = with(Some(0.01), Some(0.02));
    assert!(!slower(&few, 0.05, &default_figures(&few)).failed, "a hundredth more is within the limit");
    for sides in [with(None, None), with(Some(0.0), None)] {
        assert_eq!(default_figures(&sides).len(), compare::DEFAULT.len());
    }
}

#[test]
fn a_lower_rate_is_slower_and_a_missing_figure_fails() {
    let mut noise = Noise(1);
    let rate = figure("rate.achieved").unwrap();
    let sides = [side("A", 4, 100.0, 0.01, &mut noise), side("B", 4, 80.0, 0.01, &mut noise)];
    assert!(slower(&sides, 0.05, &[rate]).failed && !slower(&sides, 0.3, &[rate]).failed);
    let turned = [sides[1].clone(), sides[0].clone()];
    assert!(!slower(&turned, 0.05, &[rate]).failed);
    let mut silent = sides.clone();
    silent[1].trials[2].values.iter_mut().for_each(|value| *value = None);
    let held = slower(&silent, 0.05, &[figure("latency.p99").unwrap()]);
    assert!(held.failed && held.figures[0].note.starts_with("B has none"), "{held:?}");
}

#[test]
fn ranks_of_few_trials_say_that_they_cannot_show_anything() {
    let mut noise = Noise(1);
    let p99 = figure("latency.p99").unwrap();
    let with = |trials, noise: &mut Noise| {
        [side("A", trials, 100.0, 0.001, noise), side("B", trials, 200.0, 0.001, noise)]
    };
    // One side only: 1/20 for three and three, 1/6 for two and two.
    assert!(slower(&with(3, &mut noise), 0.05, &[p99]).failed);
    let held = slower(&with(2, &mut noise), 0.05, &[p99]);
    assert!(!held.failed && held.figures[0].note.contains("3 on each side are enough"), "{held:?}");
    let pair = pair(with(2, &mut noise)[0].clone(), with(2, &mut noise)[1].clone());
    assert!(!of(&pair, "latency.p99").could_show());
}

#[test]
fn three_sides_are_one_family_for_the_table_and_for_the_limit() {
    let p99 = figure("latency.p99").unwrap();
    let with = |trials| {
        let mut noise = Noise(5);
        ["A", "B", "C"].map(|label| {
            let level = if label == "A" { 100.0 } else { 200.0 };
            side(label, trials, level, 0.001, &mut noise)
        })
    };
    // Of two sides against the first, twelve percentiles: 12 · 2/252 = 0.095 with five trials, 12 · 2/924 =
    // 0.026 with six.
    for (trials, shown) in [(5, false), (6, true)] {
        let found = compare(&with(trials), Vec::new(), Vec::new());
        for pair in &found.pairs {
            let p99 = of(pair, "latency.p99");
            assert_eq!((p99.adjusted_over, p99.could_show()), (12, shown));
            assert_eq!(p99.finding == Finding::Higher, shown, "{p99:?}");
        }
    }
    // The limit is held against one figure of two sides, to one side: 2 · 1/20 = 0.1, 2 · 1/70 = 0.029.
    let three = slower(&with(3), 0.05, &[p99]);
    assert!(!three.failed && three.figures[0].note.contains("4 on each side are enough"), "{three:?}");
    let four = slower(&with(4), 0.05, &[p99]);
    let p = four.figures[1].p_adjusted.unwrap();
    assert!(four.failed && (p - 2.0 / 70.0).abs() < 1e-9 && four.figures[0].note.is_empty(), "{four:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_same_values_never_differ(values in prop::collection::vec(1.0..1e9f64, 1..9)) {
        let trials = |label: &str| {
            let trial = |value: &f64| Trial {
                values: FIGURES.iter().map(|_| Some(*value)).collect(),
                ..Trial::default()
            };
            Side { label: label.to_owned(), trials: values.iter().map(trial).collect() }
        };
        let pair = pair(trials("A"), trials("B"));
        for figure in &pair.figures {
            let expected = if values.len() > 1 { Finding::NoDifference } else { Finding::NoConfidence };
            prop_assert_eq!(figure.finding, expected);
            prop_assert!(figure.change.unwrap().abs() < 1e-9);
        }
    }

    #[test]
    fn units_do_not_matter(seed in 0u64..1_000, scale in 1e-3..1e6f64) {
        let mut noise = Noise(seed);
        let (a, b) = (side("A", 5, 100.0, 0.1, &mut noise), side("B", 5, 115.0, 0.1, &mut noise));
        let scaled = |side: &Side| {
            let mut side = side.clone();
            let values = side.trials.iter_mut().flat_map(|trial| &mut trial.values).flatten();
            values.for_each(|value| *value *= scale);
            side
        };
        let (one, other) = (pair(a.clone(), b.clone()), pair(scaled(&a), scaled(&b)));
        for (one, other) in one.figures.iter().zip(&other.figures) {
            prop_assert_eq!(one.finding, other.finding);
            prop_assert!((one.p.unwrap() - other.p.unwrap()).abs() < 1e-6);
        }
    }
}
