//! Each form, each error with its place, and the round trip through the canonical form.

use super::*;
use crate::{Plan, PlanFile};
use proptest::prelude::*;

fn limit(text: &str) -> Limit {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The message, with what the carets point at between [ and ].
fn refusal(text: &str) -> String {
    let error = text.parse::<Limit>().expect_err(text);
    let (before, rest) = text.split_at(error.at.start);
    let (wrong, after) = rest.split_at(error.at.end - error.at.start);
    format!("{before}[{wrong}]{after}: {}; expected {}", error.problem, error.expected)
}

#[test]
fn every_form_has_one_canonical_text() {
    for (typed, canonical) in [
        ("latency.p99 > 50ms", "latency.p99 > 50ms"),
        ("latency.p99_9>0.05s", "latency.p99.9 > 50ms"),
        ("  service.mean   >=   2 ms ", "service.mean >= 2ms"),
        ("lateness.max > 1ms", "lateness.max > 1ms"),
        ("own_lateness.p99.9999999 > 1us", "own_lateness.p99.9999999 > 1us"),
        ("first_byte.stdev <= 3s", "first_byte.stdev <= 3s"),
        ("latency.min < 0.5us", "latency.min < 500ns"),
        ("gap_error.p050.0 > 0", "gap_error.p50 > 0s"),
        ("errors > 0.1%", "errors > 0.1%"),
        ("errors > 100", "errors > 100"),
        ("errors >= 1k", "errors >= 1000"),
        ("missed > 0", "missed > 0"),
        ("missed(no_port) > 0", "missed(no_port) > 0"),
        ("missed( missed.no_connection ) > 5%", "missed(no_connection) > 5%"),
        ("cut_off>0", "cut_off > 0"),
        ("done < 99.9% of offered", "done < 99.9%"),
        ("offered < 1M", "offered < 1000000"),
        ("offered < 5k/s", "offered < 5000/s"),
        ("achieved < 99.9% of offered", "achieved < 99.9% of offered"),
        ("achieved < 100%", "achieved < 100% of offered"),
        ("achieved < 300/min", "achieved < 5/s"),
        ("status(5xx) > 0", "status(5xx) > 0"),
        ("status(500-599) > 0", "status(5xx) > 0"),
        ("status(429) > 1%", "status(429) > 1%"),
        ("status(400-404) > 1", "status(400-404) > 1"),
        ("error(connect.refused) > 0", "error(connect.refused) > 0"),
        ("errors(connect.*) ≥ 3", "error(connect) >= 3"),
        ("bytes_in < 1MB/s", "bytes_in < 1000000B/s"),
        ("bytes_out > 64KiB", "bytes_out > 64KiB"),
        ("latency.p99 for \"log in\" > 50ms", "latency.p99 for \"log in\" > 50ms"),
        ("latency.p99 for login>50ms", "latency.p99 for \"login\" > 50ms"),
        ("latency.p99 > 50ms in any 1min for 'a\"\\\\b'", "latency.p99 for \"a\\\"\\\\b\" > 50ms in any 60s"),
        ("errors > 10 in any 10s", "errors > 10 in any 10s"),
        ("status(2xx) for x < 90% of offered in any 5min", "status(2xx) for \"x\" < 90% in any 300s"),
    ] {
        let read = limit(typed);
        assert_eq!(read.to_string(), canonical, "{typed}");
        assert_eq!(limit(canonical), read, "{typed}");
    }
}

#[test]
fn values_are_in_the_unit_of_the_result() {
    for (text, unit, value) in [
        ("latency.p99 > 50ms", "ns", 50e6),
        ("latency.p99 > 500ps", "ns", 0.5),
        ("errors > 0.1%", "share", 0.001),
        ("errors > 7", "count", 7.0),
        ("achieved < 30/min", "/s", 0.5),
        ("achieved < 99%", "share", 0.99),
        ("bytes_in > 1KiB", "bytes", 1024.0),
        ("bytes_in < 1MB/s", "bytes/s", 1e6),
    ] {
        let bound = limit(text).bound;
        assert_eq!((bound.unit(), bound.as_f64()), (unit, value), "{text}");
    }
}

#[test]
fn percentiles_are_exact() {
    for (text, quantile) in [
        ("p50", 0.5),
        ("p99.9", 0.999),
        ("p99_99", 0.9999),
        ("p0", 0.0),
        ("p100", 1.0),
        ("p99.99999", 0.999_999_9),
    ] {
        let Figure::Time(_, Statistic::Percentile(read)) = limit(&format!("latency.{text} > 1s")).figure
        else {
            panic!("{text}")
        };
        assert_eq!(read.quantile(), quantile, "{text}");
    }
}

#[test]
fn comparisons_are_strict_or_not() {
    for (symbol, below, equal, above) in [
        (">", false, false, true),
        (">=", false, true, true),
        ("<", true, false, false),
        ("<=", true, true, false),
    ] {
        let comparison = limit(&format!("missed {symbol} 5")).comparison;
        let met = [4.0, 5.0, 6.0].map(|value| comparison.is_met(value, 5.0));
        assert_eq!(met, [below, equal, above], "{symbol}");
    }
}

#[test]
fn errors_point_at_what_is_wrong() {
    for (text, expected) in [
        ("", "[]: there is no figure; expected a figure such as latency.p99"),
        ("> 5", "[>] 5: there is no figure"),
        (
            "latncy.p99 > 5ms",
            "[latncy.p99] > 5ms: there is no figure latncy.p99; expected a figure such as latency.p99, errors, achieved or status(5xx) (did you mean latency.p99?)",
        ),
        (
            "p95 > 5ms",
            "[p95] > 5ms: there is no figure p95; expected a figure such as latency.p99, errors, achieved or status(5xx) (did you mean latency.p95?)",
        ),
        (
            "http_req_duration.p(95) > 5ms",
            "[http_req_duration.p(95)] > 5ms: there is no figure http_req_duration.p(95); expected a figure such as latency.p99, errors, achieved or status(5xx) (did you mean latency.p95?)",
        ),
        (
            "rps < 100/s",
            "[rps] < 100/s: there is no figure rps; expected a figure such as latency.p99, errors, achieved or status(5xx) (did you mean achieved?)",
        ),
        (
            "Errors > 1",
            "[Errors] > 1: there is no figure Errors; expected a figure such as latency.p99, errors, achieved or status(5xx) (did you mean errors?)",
        ),
        (
            "latency > 5ms",
            "[latency] > 5ms: the statistic of latency is missing; expected latency.p99, latency.mean or latency.max",
        ),
        (
            "latency.avg > 5ms",
            "latency.[avg] > 5ms: there is no statistic avg; expected mean, stdev, min, max or a percentile such as p99.9 (did you mean latency.mean?)",
        ),
        ("latency.p101 > 5ms", "latency.[p101] > 5ms: there is no statistic p101"),
        ("latency.p99.12345678 > 5ms", "latency.[p99.12345678] > 5ms: there is no statistic"),
        ("latency.p99 50ms", "latency.p99 [50ms]: a comparison is missing here; expected >, >=, < or <="),
        ("latency.p99", "latency.p99[]: the comparison is missing; expected >, >=, < or <="),
        ("latency.p99 == 50ms", "latency.p99 [==] 50ms: == is not a comparison; expected >, >=, < or <="),
        ("latency.p99 => 50ms", "latency.p99 [=>] 50ms: => is not a comparison"),
        (
            "latency.p99 >",
            "latency.p99 >[]: the bound is missing; expected a time with its unit, such as 50ms",
        ),
        (
            "latency.p99 > 50",
            "latency.p99 > [50]: 50 has no unit; expected a time with its unit, such as 50ms (did you mean 50ms?)",
        ),
        ("latency.p99 > 50 in any 5s", "latency.p99 > [50] in any 5s: 50 has no unit"),
        ("latency.p99 > fast", "latency.p99 > [fast]: fast is not a number"),
        ("latency.p99 > 50 mss", "latency.p99 > [50 mss]: 50mss has an unknown unit of time"),
        ("latency.p99 > -1ms", "latency.p99 > [-1ms]: -1ms is negative; expected a time"),
        (
            "errors > 0.001",
            "errors > [0.001]: 0.001 is not a number of requests; expected a number such as 100 or a share such as 0.1%",
        ),
        ("errors > 50ms", "errors > [50ms]: 50ms has an unknown multiplier"),
        ("errors > 0.00001%", "errors > [0.00001%]: 0.00001% has more than four decimals"),
        ("errors > 200%", "errors > [200%]: 200% is more than the whole"),
        (
            "achieved < 5000",
            "achieved < [5000]: 5000 has no unit; expected a rate such as 5000/s or a share such as 99.9% of offered (did you mean 5000/s?)",
        ),
        ("achieved < 0/s", "achieved < [0/s]: 0/s is zero"),
        ("achieved < 50ms", "achieved < [50ms]: 50ms has no unit"),
        (
            "bytes_in < 5",
            "bytes_in < [5]: 5 has no unit; expected a size such as 1GB or bytes per second such as 1MB/s (did you mean 5B?)",
        ),
        ("bytes_in < 5Mb/s", "bytes_in < [5Mb/s]: 5Mb/s is in bits, not bytes"),
        ("done < 9% of all", "done < 9% of [all]: a share must be a share of offered; expected offered"),
        ("done < 9 of offered", "done < 9 [of offered]: only a share may be followed by 'of'"),
        ("status(6000) > 0", "status([6000]) > 0: '6000' is not a status; expected a code such as 200"),
        ("status(5xx > 0", "status[(5xx > 0]: the closing parenthesis is missing; expected a ')'"),
        (
            "error(connect.refusd) > 0",
            "error([connect.refusd]) > 0: 'connect.refusd' is not a cause of failure; expected a cause such as connect.refused, or a part such as connect (did you mean connect.refused?)",
        ),
        (
            "missed(port) > 0",
            "missed([port]) > 0: 'port' is not a reason for a missed departure; expected no_connection, no_port",
        ),
        ("foo(1) > 0", "[foo(1)] > 0: there is no figure foo(1)"),
        (
            "service.p99 for \"x\" > 1ms",
            "service.p99 for [\"x\"] > 1ms: service.p99 is kept for all requests together only",
        ),
        (
            "status(404) for x > 1",
            "status(404) for [x] > 1: status(404) is kept for all requests together only",
        ),
        ("errors for \"x > 1", "errors for [\"x > 1]: the closing quote is missing; expected a \""),
        ("errors for > 1", "errors for []> 1: the name is missing"),
        ("errors for x > 1 for y", "errors for x > 1 [for y]: there are two names"),
        (
            "errors > 1 in any 1500ms",
            "errors > 1 in any [1500ms]: a window cannot have this length; expected whole seconds up to 60s, or whole minutes up to 60min",
        ),
        ("errors > 1 in any 90s", "errors > 1 in any [90s]: a window cannot have this length"),
        ("errors > 1 in any 2h", "errors > 1 in any [2h]: a window cannot have this length"),
        ("errors > 1 in any 10", "errors > 1 in any [10]: this is not a length of time"),
        ("errors > 1 in 10s", "errors > 1 in [10s]: 'any' is missing; expected in any 10s"),
        ("errors > 1 in any 1s in any 2s", "errors > 1 in any 1s [in any 2s]: there are two windows"),
        ("errors > 1 or missed > 1", "errors > 1 [or missed > 1]: this text does not belong here"),
        ("errors >= 0", "[errors >= 0]: this is always true"),
        ("latency.p99 < 0ms", "[latency.p99 < 0ms]: this is never true"),
        ("done > 100%", "[done > 100%]: this is never true"),
    ] {
        let said = refusal(text);
        assert!(said.starts_with(expected), "{text}\n  said      {said}\n  expected  {expected}");
    }
}

#[test]
fn carets_stand_under_the_place_in_characters_not_bytes() {
    let error = "latency.p99 for \"ü\u{7}\" > 50".parse::<Limit>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "50 has no unit; expected a time with its unit, such as 50ms (did you mean 50ms?)\n  \
         latency.p99 for \"ü·\" > 50\n  \
         \u{20}                      ^^"
    );
    let long = format!("latency.p99 > {}ms", "5".repeat(2_000));
    assert!(long.parse::<Limit>().unwrap_err().to_string().starts_with("this is too long; expected at most"));
}

fn plan(limits: &str) -> Result<Plan, String> {
    let text = format!("url = 'http://h/'\n[stop]\nduration = '30s'\n[limits]\n{limits}");
    PlanFile::from_toml(&text, "plan.toml").and_then(PlanFile::resolve).map_err(|error| error.to_string())
}

#[test]
fn limits_stand_in_the_plan_and_not_in_its_hash() {
    let plain = plan("").unwrap();
    assert!(plain.limits.is_empty() && !plain.to_toml().contains("limits"));
    let judged = plan("fail_if = ['latency.p99>0.05s', 'missed > 0']\nabort_if = 'errors > 5%'").unwrap();
    assert_eq!(judged.hash(), plain.hash());
    let canonical = judged.to_toml();
    let section =
        "\n[limits]\nfail_if = [\"latency.p99 > 50ms\", \"missed > 0\"]\nabort_if = [\"errors > 5%\"]\n";
    assert!(canonical.ends_with(section), "{canonical}");
    assert_eq!(PlanFile::from_toml(&canonical, "x").unwrap().resolve().unwrap(), judged);
}

#[test]
fn plans_and_flags_name_the_place() {
    assert_eq!(
        plan("fail_if = [\n  'missed > 0',\n  'latency.p99 > 50',\n]").unwrap_err(),
        "plan.toml, line 7: limits.fail_if[1]: 50 has no unit; expected a time with its unit, such as 50ms (did \
         you mean 50ms?)\n  latency.p99 > 50\n                ^^"
    );
    // A single limit needs no brackets.
    let only = plan("fail_if = 'latency.p99 > 50'").unwrap_err();
    assert!(only.starts_with("plan.toml, line 5: limits.fail_if[0]: 50 has no unit"), "{only}");
    // What is wrong with it is found later: it names its place all the same.
    let text =
        "url = 'http://h/'\n[limits]\nabort_if = 'done > 5'\nfail_if = [\n'failed > 1',\n'missed > 7']";
    let mut file = PlanFile::from_toml(text, "plan.toml").unwrap();
    file.limits.fail_if.get_or_insert_default().0.push("done < 9".into());
    let limits = file.resolve().unwrap().limits;
    assert_eq!(limits.place_of("missed > 7"), "plan.toml, line 6: limits.fail_if[1]");
    assert_eq!(limits.place_of("done > 5"), "plan.toml, line 3: limits.abort_if[0]");
    assert_eq!(limits.place_of("done < 9"), "--fail-if");
    let mut file = PlanFile { url: Some("http://h/".to_owned()), ..PlanFile::default() };
    file.limits.abort_if = Some(crate::TypedList(vec!["errors".into()]));
    let said = file.resolve().unwrap_err().to_string();
    assert!(said.starts_with("--abort-if: the comparison is missing; expected >"), "{said}");
}

#[test]
fn what_can_never_be_measured_is_refused() {
    assert_eq!(
        plan("fail_if = ['errors > 1 in any 60s']").unwrap_err(),
        "plan.toml, line 5: limits.fail_if[0] contradicts plan.toml, line 3: stop.duration: a run of 30s has no \
         window for 'errors > 1 in any 60s'"
    );
    assert_eq!(
        plan("abort_if = ['done < 100']").unwrap_err(),
        "plan.toml, line 5: limits.abort_if[0] needs a window, such as in any 10s: every run starts with 'done \
         < 100'"
    );
    assert!(plan("abort_if = ['done < 100 in any 10s', 'done < 99%', 'bytes_in > 1GB']").is_ok());
    assert!(plan("fail_if = ['done < 100']").is_ok());
}

fn statistics() -> impl Strategy<Value = Statistic> {
    prop_oneof![
        Just(Statistic::Mean),
        Just(Statistic::Stdev),
        Just(Statistic::Min),
        Just(Statistic::Max),
        (0u32..=1_000_000_000)
            .prop_map(|parts| Statistic::Percentile(Percentile::from_billionths(parts).unwrap())),
    ]
}

fn requests() -> impl Strategy<Value = Requests> {
    prop_oneof![
        Just(Requests::Errors),
        Just(Requests::Done),
        Just(Requests::Failed),
        Just(Requests::Missed),
        Just(Requests::CutOff),
        (1u16..=9).prop_map(|class| Requests::Status(class * 100, class * 100 + 99)),
        (100u16..=999, 100u16..=999).prop_map(|(a, b)| Requests::Status(a.min(b), a.max(b))),
        prop::sample::select(Cause::ALL).prop_map(Requests::Error),
        prop::sample::select(CausePart::ALL).prop_map(Requests::ErrorsIn),
        prop::sample::select(Miss::ALL).prop_map(Requests::MissedFor),
    ]
}

fn shares() -> impl Strategy<Value = Bound> {
    (1u32..1_000_000).prop_map(|parts| Bound::Share(Fraction::from_millionths(parts).unwrap()))
}

fn rates() -> impl Strategy<Value = Bound> {
    (1u64..1_000_000, 1u64..1_000_000_000_000)
        .prop_filter_map("a rate", |(events, per)| Rate::new(events, Picos::from_picos(per)).map(Bound::Rate))
}

/// A figure with a bound that fits it.
fn subjects() -> impl Strategy<Value = (Figure, Bound)> {
    let counts = || (1u64..).prop_map(|count| Bound::Count(Count::new(count)));
    prop_oneof![
        (prop::sample::select(Time::ALL), statistics(), 1u64..).prop_map(|(time, statistic, picos)| {
            (Figure::Time(time, statistic), Bound::Time(Picos::from_picos(picos)))
        }),
        (requests(), prop_oneof![counts(), shares()])
            .prop_map(|(requests, bound)| (Figure::Requests(requests), bound)),
        prop_oneof![rates(), shares()].prop_map(|bound| (Figure::Achieved, bound)),
        prop_oneof![rates(), counts()].prop_map(|bound| (Figure::Offered, bound)),
        (prop::sample::select(vec![Way::In, Way::Out]), 1u64.., any::<bool>()).prop_map(
            |(way, bytes, a_second)| {
                let bytes = Bytes::new(bytes);
                let bound = if a_second { Bound::BytesPerSecond(bytes) } else { Bound::Bytes(bytes) };
                (Figure::Bytes(way), bound)
            }
        ),
    ]
}

fn windows() -> impl Strategy<Value = Option<Picos>> {
    prop_oneof![
        Just(None),
        (1u64..=60).prop_map(|seconds| Some(Picos::from_secs(seconds))),
        (1u64..=60).prop_map(|minutes| Some(Picos::from_secs(60 * minutes))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_limit_survives_its_canonical_text(
        (figure, bound) in subjects(),
        comparison in prop::sample::select(vec![
            Comparison::Over, Comparison::AtLeast, Comparison::Under, Comparison::AtMost,
        ]),
        name in prop::option::of("[a-z \"'\\\\<>=é/.]{1,12}"),
        window in windows(),
    ) {
        let name = name.filter(|_| super::parse::is_kept_by_name(figure));
        let limit = Limit { figure, comparison, bound, name, window };
        let text = limit.to_string();
        prop_assert_eq!(text.parse::<Limit>(), Ok(limit), "{}", text);
    }

    #[test]
    fn no_text_panics_and_every_error_points_into_it(text in "[a-z_.()0-9 %/<>=\"'\\\\é\u{0}]{0,40}") {
        if let Err(error) = text.parse::<Limit>() {
            prop_assert!(text.get(error.at.clone()).is_some(), "{:?}", error);
            prop_assert!(error.to_string().contains('^'));
        }
    }
}
