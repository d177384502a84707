//! What a comparison looks like, from trials that are made up. Expected figures by hand; the layout is a
//! golden.

use compare::{Comparison, FIGURES, Side, Trial, compare, figure, slower};
use report::{Drawn, Style, comparison, comparison_csv, comparison_html, comparison_json};
use store::schema::{Interval, Word};
use store::{Bin, Curve, Timeline};

/// Trials whose times are `values` in milliseconds; everything else is the same in all.
fn side(label: &str, values: &[f64]) -> Side {
    let trial = |(at, value): (usize, &f64)| Trial {
        name: format!("{label}{at}"),
        folder: format!("{label}{at}").into(),
        verdict: Word::Valid,
        values: FIGURES
            .iter()
            .map(|figure| match figure.name {
                "rate.achieved" => Some(2_000.0),
                "errors" => Some(0.0),
                "cpu_per_million" | "arrived.loss" => None,
                _ => Some(value * 1e6),
            })
            .collect(),
        ..Trial::default()
    };
    Side { label: label.to_owned(), trials: values.iter().enumerate().map(trial).collect() }
}

fn of(a: &[f64], b: &[f64]) -> Comparison {
    compare(
        &[side("A", a), side("B", b)],
        Vec::new(),
        vec!["the machines differ in <the kernel>: 6.1 → 6.2".into()],
    )
}

/// The sentences without their line breaks.
fn flat(comparison_of: &Comparison) -> String {
    comparison(comparison_of, Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_difference_is_named_with_its_size() {
    // Means 2 and 3 ms; s² = 0.01/4·… of both: 0.0025, so the error is √(2 · 0.0025 / 5) = 0.031623 and ν = 8:
    // t₀.₉₇₅ = 2.306, the difference 1 ± 0.0729 ms, over 2 ms: 46.4 % … 53.6 %. Ranks: 2/252, of six figures 6
    // · 0.00794.
    let spread = [-0.05, -0.05, 0.0, 0.05, 0.05];
    let text = comparison(&of(&spread.map(|off| 2.0 + off), &spread.map(|off| 3.0 + off)), Style::PLAIN);
    for line in [
        "  latency.mean   2.00 ms  3.00 ms   +50 %  +46.4 % … +53.6 %  < 0.001  worse",
        "  rate.achieved  2 000/s  2 000/s    ±0 %        ±0 % … ±0 %    1.000  no difference shown",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.contains("latency.p99    2.00 ms  3.00 ms") && text.contains("0.048  worse"), "{text}");
    assert!(text.contains("B is slower than A: net.mean +50 % (+46.4 % … +53.6 %),"), "{text}");
    assert!(text.contains("Warning      the machines differ in <the kernel>"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The other way round it is faster.
    let turned = flat(&of(&[3.0, 3.1, 3.05], &[2.0, 2.1, 2.05]));
    assert!(turned.contains("B is faster than A: net.mean −"), "{turned}");
    assert!(turned.contains("3 and 3 trials are too few; 5 on each side are enough."), "{turned}");
    // Ranks of three and three: 2/20, of six figures 0.6.
    assert!(turned.contains("0.600 too few trials"), "{turned}");
}

#[test]
fn noise_and_single_trials_say_so() {
    let noise = flat(&of(&[2.0, 2.4, 2.2, 2.6, 2.1], &[2.1, 2.5, 2.0, 2.6, 2.3]));
    assert!(noise.contains("No difference shown between A and B: the noise is larger"), "{noise}");
    assert!(noise.contains("To show a difference of 5 %: "), "{noise}");
    let single = flat(&of(&[2.0], &[3.0]));
    assert!(single.contains("No confidence: 1 trial each."), "{single}");
    assert!(single.contains("Seen: latency.mean +50 %, latency.p99 +50 %."), "{single}");
    // Without a test there are no columns for one.
    assert!(!single.contains("where it lies") && single.contains("Repeat both a few times"), "{single}");
}

#[test]
fn a_trial_without_an_answer_is_named_and_is_not_called_noise() {
    let same = [2.0, 2.01, 2.02];
    let mut silent = side("B", &same);
    let latency = FIGURES.iter().zip(&mut silent.trials[2].values).filter(|(figure, _)| figure.unit == "ns");
    latency.for_each(|(_, value)| *value = None);
    let found = compare(&[side("A", &same), silent], Vec::new(), Vec::new());
    let text = flat(&found);
    assert!(text.contains("Warning not compared: net.mean, net.p99, latency.mean,"), "{text}");
    assert!(text.contains("service.p99, of which B2 has none (no response arrived,"), "{text}");
    assert!(text.contains("No difference shown between A and B. Not compared: net.mean"), "{text}");
    assert!(!text.contains("noise"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&comparison_json(&found)).unwrap();
    assert_eq!(json["pairs"][0]["left_out"][0]["without"], serde_json::json!(["B2"]));
    // One trial on a side says it, too.
    let mut alone = side("B", &[2.0]);
    alone.trials[0].values.iter_mut().skip(2).for_each(|value| *value = None);
    let alone = flat(&compare(&[side("A", &[2.0]), alone], Vec::new(), Vec::new()));
    assert!(alone.contains("of which B0 has none"), "{alone}");
}

#[test]
fn losses_are_told_as_frames_that_arrived() {
    let mut sides = [side("A", &[2.0]), side("B", &[2.0])];
    let loss = FIGURES.iter().position(|figure| figure.name == "arrived.loss").unwrap();
    (sides[0].trials[0].values[loss], sides[1].trials[0].values[loss]) = (Some(0.0), Some(0.5));
    let mut both = compare(&sides, Vec::new(), Vec::new());
    both.slower = Some(slower(&sides, 0.05, &[figure("arrived.loss").unwrap()]));
    let text = flat(&both);
    assert!(text.contains("arrived.loss 0 % 50 %"), "{text}");
    assert!(text.contains("FAILED B has over 5 % fewer frames that arrived than A"), "{text}");
}

#[test]
fn the_limit_on_slowness_is_told() {
    let sides = [side("A", &[2.0]), side("B", &[3.0])];
    let mut both = compare(&sides, Vec::new(), Vec::new());
    both.slower = Some(slower(&sides, 0.05, &[figure("latency.p99").unwrap()]));
    let text = comparison(&both, Style::PLAIN);
    assert!(text.contains("FAILED       latency.p99 of B is more than 5 % worse than of A"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&comparison_json(&both)).unwrap();
    assert_eq!((&json["schema"], &json["slower"]["failed"]), (&"tare.comparison/1".into(), &true.into()));
    assert_eq!(json["pairs"][0]["figures"][2]["a_trials"], serde_json::json!([2e6]));
}

#[test]
fn each_sentence_on_slowness_has_its_own_word() {
    // Three trials a side: to one side 1/20, in the table 5 · 2/20: what fails is left open there, and that is
    // said.
    let sides = [side("A", &[2.0, 2.1, 2.2]), side("B", &[3.0, 3.1, 3.2]), side("C", &[2.0, 2.1, 2.2])];
    let mut three = compare(&sides, Vec::new(), Vec::new());
    three.slower = Some(slower(&sides, 0.05, &[figure("latency.mean").unwrap()]));
    let text = flat(&three);
    assert!(
        text.contains("FAILED B is shown to be slower than A by more than 5 % in latency.mean"),
        "{text}"
    );
    assert!(
        text.contains("holds C is not shown to be slower than A by more than 5 % in latency.mean"),
        "{text}"
    );
    assert!(!text.contains("what the table leaves open"), "{text}");
    let page = comparison_html(&three, &[], &[]);
    assert!(page.contains("<p class=\"fails\">FAILED: B is shown to be slower"), "{page}");
    assert!(page.contains("<p class=\"holds\">holds: C is not shown to be slower"), "{page}");
    let two = &sides[..2];
    let mut open = compare(two, Vec::new(), Vec::new());
    open.slower = Some(slower(two, 0.05, &[figure("latency.p99").unwrap()]));
    let text = flat(&open);
    assert!(
        text.contains("FAILED B is shown to be slower") && text.contains("what the table leaves open"),
        "{text}"
    );
}

#[test]
fn what_is_only_a_lower_bound_is_marked_and_not_called_faster() {
    let bounded = |label, values: &[f64]| {
        let mut side = side(label, values);
        let bounds: Vec<bool> = FIGURES.iter().map(|figure| figure.unit == "ns").collect();
        side.trials.iter_mut().for_each(|trial| trial.bounds.clone_from(&bounds));
        side
    };
    let fast = [2.0, 2.1, 2.05, 2.02, 2.03];
    let slow = [3.0, 3.1, 3.05, 3.02, 3.03];
    let told = |a, b| flat(&compare(&[a, b], Vec::new(), Vec::new()));
    let text = told(side("A", &slow), bounded("B", &fast));
    assert!(text.contains("latency.p99 3.03 ms ≥ 2.03 ms –"), "{text}");
    assert!(text.contains("only a bound") && !text.contains("faster than"), "{text}");
    assert!(text.contains("No difference shown between A and B. ≥ is a lower bound:"), "{text}");
    let text = told(side("A", &fast), bounded("B", &slow));
    assert!(text.contains("B is slower than A: net.mean from 2.04 ms to ≥ 3.04 ms"), "{text}");
    let text = told(side("A", &slow[..1]), bounded("B", &fast[..1]));
    assert!(text.contains("Seen: latency.mean from 3.00 ms to ≥ 2.00 ms"), "{text}");
}

#[test]
fn other_programs_get_a_table() {
    let text = comparison_csv(&of(&[2.0], &[3.0]));
    let mut lines = text.lines();
    let columns = lines.next().unwrap().split(',').count();
    assert!(lines.clone().all(|line| line.split(',').count() == columns), "{text}");
    assert!(
        text.contains("\nA,B,latency.p99,ns,1,1,2000000,3000000,0.5,,,none,,,,no_confidence,,0,0\n"),
        "{text}"
    );
}

#[test]
fn the_page_has_the_runs_over_each_other_and_escapes_names() {
    let row = |t_s: f64, p99| Interval {
        t_s,
        length_s: 1.0,
        done: 10,
        latency_p99_ns: Some(p99),
        ..Interval::default()
    };
    let drawn = |name: &str, color, p99: u64| Drawn {
        name: name.to_owned(),
        color,
        curve: Curve(vec![(0.0, p99 / 2), (0.9, p99), (1.0, p99)]),
        is_net: false,
        timeline: Timeline {
            bins: (0..3).map(|at| Bin { row: row(f64::from(at), p99), ..Bin::default() }.into()).collect(),
            merged: 1,
        },
    };
    let runs = [drawn("A <7f3a>", 1, 2_000_000), drawn("B 19c0", 2, 3_000_000)];
    let page = comparison_html(&of(&[2.0], &[3.0]), &runs, &runs);
    for part in [
        "A and B, compared",
        "No confidence: 1 trial each",
        "c-percentiles",
        "c-p99",
        "c-rate",
        "A &lt;7f3a&gt;",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<7f3a>") && page.contains("&lt;the kernel&gt;"));
    assert!(page.contains("default-src 'none'"));
}
