//! The HTML report: what must hold of any, and files to look at (`TARE_SHOW=DIR` writes them).

use crate::common;
use report::{Documents, html, live_main, page_shell};
use store::schema::{Criterion, GroupResult, Interval, SinkStatus, Word};
use store::timeline::MAX_BINS;
use store::{RunResult, Timeline, TimelineBuilder};

const PLAN: &str = "seed = 7\n\n[load]\nrate = \"20000/s\"\n\n[request]\nbasic_auth = \"me:hunter2\"\n";
const ENVIRONMENT: &str = "{\n  \"kernel\": \"6.18\",\n  \"cpu\": \"2 × <fast>\"\n}\n";

fn page(result: &RunResult) -> String {
    html(result, &common::timeline(result), Documents { plan: PLAN, environment: ENVIRONMENT })
}

/// An hour at one row a second, with as many names as a page shows.
fn hour() -> RunResult {
    let mut result = common::degraded();
    result.rate.duration_s = 3_600.0;
    result.warmup.duration_s = 120.0;
    result.intervals = common::intervals(3_600, 20_000);
    let name = |n| GroupResult { name: format!("/api/v1/things/{n}"), ..result.groups[0].clone() };
    result.groups = (0..600).map(name).collect();
    result
}

fn all() -> Vec<(&'static str, RunResult)> {
    let mut all = common::all();
    all.push(("hour", hour()));
    let mut minute = common::degraded();
    minute.intervals = common::intervals(60, 20_000);
    all.push(("minute", minute));
    all
}

#[test]
fn every_kind_of_run_makes_a_page() {
    for (name, result) in all() {
        let page = page(&result);
        assert!(page.contains(result.verdict.word.as_str()), "{name}");
        assert!(page.len() < 1_000_000, "{name}: {} bytes", page.len());
        for word in ["NaN", "inf ", ">inf<", "http-equiv=\"refresh", "src=", "url(", "@import"] {
            assert!(!page.contains(word), "{name} has {word}");
        }
        assert!(!page.contains("hunter2"), "{name} shows a password");
        well_formed(&page);
        if let Some(folder) = std::env::var_os("TARE_SHOW") {
            std::fs::write(std::path::Path::new(&folder).join(format!("{name}.html")), &page).unwrap();
        }
    }
}

/// The text without what stands within `<script>` and `<style>`.
fn markup(page: &str) -> String {
    let mut rest = page.to_owned();
    for tag in ["script", "style"] {
        while let Some(from) = rest.find(&format!("<{tag}>")) {
            let end = format!("</{tag}>");
            let to = from + rest[from..].find(&end).expect("it ends") + end.len();
            rest.replace_range(from..to, "");
        }
    }
    rest
}

/// Every element that is opened is closed, in order; cells and rows may be left open, as HTML allows. No id is
/// twice.
fn well_formed(page: &str) {
    const VOID: [&str; 3] = ["meta", "link", "!doctype"];
    const LAX: [&str; 3] = ["td", "th", "tr"];
    let mut open: Vec<&str> = Vec::new();
    let page = markup(page);
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        let ends: &[&str] = match name {
            "td" | "th" if !tag.starts_with('/') => &LAX[..2],
            "tr" | "tbody" => &LAX,
            _ => &[],
        };
        while open.last().is_some_and(|last| ends.contains(last) && tag.trim_start_matches('/') != *last) {
            open.pop();
        }
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            if open.last() == Some(&name) && LAX.contains(&name) {
                open.pop();
            }
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is there twice");
}

#[test]
fn nothing_from_outside_is_markup() {
    let mut result = common::degraded();
    let evil = "\"><script>alert(1)</script>";
    result.target = evil.into();
    result.load = evil.into();
    result.command = evil.into();
    result.version = evil.into();
    result.labels = vec![evil.into()];
    result.notes = vec![evil.into()];
    result.run = evil.into();
    result.started_at = evil.into();
    result.generator.clock = evil.into();
    result.verdict.criteria[0].name = evil.into();
    result.verdict.criteria[0].unit = evil.into();
    result.verdict.criteria[1].advice = evil.into();
    result.outcomes[0].key = evil.into();
    result.thresholds[0].expression = evil.into();
    result.thresholds[0].unit = evil.into();
    result.groups.push(GroupResult {
        name: evil.into(),
        count: 1,
        outcomes: result.outcomes.clone(),
        ..GroupResult::default()
    });
    result.sinks = vec![SinkStatus { url: evil.into(), trouble: evil.into(), ..SinkStatus::default() }];
    result.store.lost[0].why = evil.into();
    result.intervals[0].outcomes[0].key = evil.into();
    let page = html(&result, &common::timeline(&result), Documents { plan: evil, environment: evil });
    assert!(!markup(&page).contains("<script") && page.matches("<script").count() == 1);
    well_formed(&page);
}

#[test]
fn a_spike_of_one_second_in_a_day_is_drawn() {
    let mut builder = TimelineBuilder::expecting(MAX_BINS, 86_400);
    for n in 0..86_400u64 {
        let row = Interval {
            t_s: n as f64,
            length_s: 1.0,
            done: 1,
            latency_max_ns: Some(if n == 40_000 { 5_000_000_000 } else { 1_000_000 }),
            ..Interval::default()
        };
        builder.push_stored::<u64>(row, &[]);
    }
    let page = html(&common::valid(), &builder.view(), Documents::default());
    // 86 400 s in 400 steps are 216 s each; second 40 000 is in the step from 185 · 216 = 39 960 s. In ms:
    assert!(page.contains("<th scope=\"row\">39960<td>5000\n"), "the spike is not in the table");
    assert!(page.len() < 1_000_000);
}

/// What the table of a chart says in the row that begins at `from`.
fn row<'a>(page: &'a str, chart: &str, from: &str) -> Vec<&'a str> {
    let table =
        page.split(&format!("<table id=\"v-{chart}\">")).nth(1).unwrap_or_else(|| panic!("no {chart}"));
    let table = table.split("</table>").next().unwrap();
    let row =
        table.split(&format!("<th scope=\"row\">{from}<td>")).nth(1).unwrap_or_else(|| panic!("no {from}"));
    row.split("\n").next().unwrap().split("<td>").collect()
}

#[test]
fn tables_have_the_exact_values() {
    let result = common::valid();
    let page = page(&result);
    let third = &result.intervals[3];
    let per_second = third.done.to_string();
    assert_eq!(row(&page, "rate", "3"), ["20000", &per_second]);
    let ms = |nanos: Option<u64>| (nanos.unwrap() as f64 / 1e6).to_string();
    // Percentiles are those of the histogram that common::timeline makes of p50 and max; the maximum is the
    // row's own.
    let latency = row(&page, "latency", "3");
    let largest = |cell: &str| cell.parse::<f64>().unwrap();
    assert_eq!(largest(latency[4]), largest(&ms(third.net_max_ns)), "net p50, p90, p99, p99.9, max");
    // The stall: nothing was done, so there is no value.
    assert!(row(&page, "latency", "10").iter().all(|cell| *cell == "–"));
    assert_eq!(row(&page, "memory", "3"), ["12.1"]);
    assert_eq!(row(&page, "cpu", "3"), ["40", "30", "50"]);
}

#[test]
fn net_leads_and_the_tare_lies_between_it_and_gross() {
    let page = page(&common::valid());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("net latency, p99") < at("tare, p99") && at("tare, p99") < at("gross latency, p99"));
    assert!(at("<th scope=\"row\">net</th>") < at("<th scope=\"row\">tare</th>"));
    assert!(at("<th scope=\"row\">tare</th>") < at("<th scope=\"row\">gross</th>"));
    for chart in ["latency", "percentiles"] {
        let figure =
            page.split(&format!("id=\"c-{chart}\"")).nth(1).unwrap().split("</figure>").next().unwrap();
        let band = figure
            .split("<path class=\"band\"")
            .nth(1)
            .and_then(|rest| rest.split(" d=\"").nth(1))
            .unwrap_or_else(|| panic!("{chart}"));
        assert!(band.starts_with('M'), "{chart} has no band");
        assert!(figure.contains("<i class=\"band\"></i>tare"), "{chart} does not say what it is");
    }
}

#[test]
fn pauses_are_marked_and_listed_with_their_time() {
    let page = page(&common::valid());
    let figure = page.split("id=\"c-latency\"").nth(1).unwrap().split("</figure>").next().unwrap();
    assert!(figure.contains("<path class=\"pause\" d=\"M"), "not marked");
    let table = page.split("<table id=\"pauses\"").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(table.contains(">3.000 s</td>") && table.contains(">14.0 ms</td>"), "{table}");
    // Twenty of the 24 are listed.
    assert_eq!(table.matches("<tr><td").count(), 20);
    assert!(page.contains("and 4 shorter ones"));
    assert!(
        page.contains("kernel stamps (the kernel stamps what arrives), stamped 399 999 of 400 000 responses")
    );
}

#[test]
fn a_lower_bound_is_marked_as_one() {
    let degraded = page(&common::degraded());
    // net: 980 000 + (1 003 ms − 0.98 ms) · 80 / 100 = 802.6 ms.
    assert!(degraded.contains("<td class=\"n\">≥ 803 ms</td><td class=\"n\">≥ 1.00 s</td>"));
    assert!(degraded.contains("300 of them, given up after 200 ms to 30.0 s"));
    assert!(degraded.contains("net, at least"));
    let valid = page(&common::valid());
    assert!(!valid.contains('≥') || valid.split("id=\"words\"").next().unwrap().matches('≥').count() == 0);
}

#[test]
fn an_older_result_is_drawn_with_what_it_has() {
    let page = page(&common::older());
    let shown = page.split("id=\"words\"").next().unwrap();
    assert!(shown.contains("latency, median") && shown.contains("<h3>Latency over time</h3>"));
    for absent in
        ["net latency", "gross", "class=\"band\"", "class=\"pause\"", "id=\"pauses\"", "loops stalled"]
    {
        let markup = shown.split("<main").nth(1).unwrap();
        assert!(!markup.contains(absent), "{absent}");
    }
    let latency = row(&page, "latency", "3");
    assert_eq!(latency.len(), 5);
}

#[test]
fn the_same_advice_is_said_once() {
    let mut result = common::invalid();
    let advice = "Ask for less, or use more machines.";
    for criterion in result.verdict.criteria.iter_mut() {
        *criterion =
            Criterion { holds: false, severity: Word::Degraded, advice: advice.into(), ..criterion.clone() };
    }
    assert!(result.verdict.criteria.len() > 2);
    assert_eq!(page(&result).matches(advice).count(), 1);
}

#[test]
fn a_target_that_was_never_there_is_named_before_the_generator() {
    let page = page(&common::only_errors());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let said = "<strong>UNREACHABLE</strong>the target could not be reached: nothing listens there (connect.refused)";
    assert!(at(said) < at("The verdict on the generator alone: VALID"));
    assert!(!page.contains("<section class=\"verdict VALID\">"));
}

#[test]
fn every_criterion_has_its_limit_and_value() {
    let result = common::degraded();
    let page = page(&result);
    let table =
        page.split("<details id=\"criteria\" open>").nth(1).unwrap().split("</details>").next().unwrap();
    for criterion in &result.verdict.criteria {
        assert!(table.contains(&format!("<code>{}</code>", criterion.name)));
    }
    for said in ["71.3 µs", "at most 50.0 µs", "500 µs", "DEGRADED", "99.998 %", "at least 99.99 %"] {
        assert!(table.contains(said), "no {said}");
    }
}

#[test]
fn a_threshold_that_failed_is_said_beside_the_verdict() {
    let page = page(&common::degraded());
    assert!(page.contains("<strong class=\"fails\">FAILED</strong>1 of 2 thresholds did not hold"));
    assert!(!self::page(&common::valid()).contains("FAILED"));
}

#[test]
fn what_a_sink_lost_is_said() {
    let mut result = common::valid();
    result.sinks = vec![SinkStatus {
        url: "redis://127.0.0.1:6379/0".into(),
        rows: 58,
        rows_lost: 2,
        trouble: "the connection was refused".into(),
        ..SinkStatus::default()
    }];
    let page = page(&result);
    assert!(page.contains("redis://127.0.0.1:6379/0") && page.contains("the connection was refused"));
    assert!(page.contains("<td class=\"n\">60</td><td class=\"n fails\">2</td>"));
}

#[test]
fn coordinated_omission_is_said_where_it_is() {
    let mut result = common::valid();
    assert!(page(&result).contains("agree within 10 %"));
    // The classic: a stall that only the due time sees.
    result.service_ns.p99 = 2_000_000;
    let page = page(&result);
    let said = "At the 99th percentile the latency is 151 ms, and the service time only 2.00 ms";
    assert!(page.contains(said), "not said");
    // Of 152 ms waiting 29 µs were the generator's: 812 + (190 000 − 812) · 15 / 100 ns.
    let said = "would have reported 2.00 ms (coordinated omission). The generator's own lateness is 29.2 µs at the same";
    assert!(page.contains(said), "not said");
}

#[test]
fn the_generators_own_waiting_is_not_called_omission() {
    let mut result = common::valid();
    let (latency, service, own) =
        (&mut result.latency_ns, &mut result.service_ns, &mut result.own_lateness_ns);
    // The widest apart is the 99.9th percentile, 900 ms of waiting; own lateness is small at p99, and large
    // only there.
    (latency.p99_9, service.p99_9) = (901_000_000, 1_000_000);
    (own.p99, own.p99_9) = (20_000, 850_000_000);
    let said = "Most of that was the generator's own lateness, 850 ms at the same percentile";
    let first = page(&result);
    assert!(first.contains(said) && !first.contains("coordinated omission"), "blames the target");
    // At p99 it was all the generator's, but where the two are furthest apart it was not.
    (result.own_lateness_ns.p99, result.own_lateness_ns.p99_9) = (800_000, 900_000);
    let second = page(&result);
    assert!(second.contains("coordinated omission") && second.contains("is 900 µs at the same percentile"));
}

#[test]
fn a_run_that_goes_on_has_the_same_charts() {
    let result = common::valid();
    let timeline = common::timeline(&result);
    let part = live_main(&result, &timeline);
    let whole = html(&result, &timeline, Documents { plan: PLAN, environment: ENVIRONMENT });
    let charts = |page: &str| {
        page.split("<figure")
            .skip(1)
            .map(|f| f.split("</figure>").next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(charts(&part), charts(&whole));
    assert!(charts(&part).len() > 10);
    well_formed(&page_shell("x", &part, "tare.swap('');"));
    // Before the first interval, too.
    well_formed(&page_shell("x", &live_main(&RunResult::default(), &Timeline::default()), ""));
}

#[test]
fn a_page_names_its_scripts_by_their_hash() {
    let page = page_shell("x", "", "alert(1)");
    // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
    assert!(page.contains("'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"));
    assert!(page.contains("connect-src 'self'") && !page_shell("x", "", "").contains("connect-src"));
}

/// Words that the page shows for figures, and where `docs/terminology.md` defines them.
#[test]
fn every_word_that_is_shown_is_defined() {
    let mut result = common::degraded();
    result.tls_ns = result.connect_ns;
    result.lookup_ns = result.connect_ns;
    result.ready_ns = result.connect_ns;
    result.body_ns = result.connect_ns;
    result.gap_error_ns = result.connect_ns;
    let page = page(&result);
    let (shown, words) = page.split_once("<details id=\"words\">").unwrap();
    let heads = |table: &str, from: &str| -> Vec<String> {
        let table =
            shown.split(&format!("<table id=\"{table}\"")).nth(1).unwrap().split("</table>").next().unwrap();
        table.split(from).skip(1).map(|part| part.split('<').next().unwrap().to_lowercase()).collect()
    };
    let mut all = heads("times", "<th scope=\"row\">");
    all.extend(heads("v-rate", "<th scope=\"col\">").into_iter().skip(1).flat_map(|head| {
        head.trim_end_matches(" (/s)").split(" or ").map(str::to_owned).collect::<Vec<_>>()
    }));
    all.extend(
        [
            "p99",
            "verdict",
            "threshold",
            "criterion",
            "outcome",
            "phase",
            "step",
            "spun",
            "steal",
            "run-queue wait",
        ]
        .map(str::to_owned),
    );
    all.extend(
        [
            "offered", "done", "failed", "missed", "cut off", "group", "target", "warm-up", "valid",
            "degraded", "invalid",
        ]
        .map(str::to_owned),
    );
    let defined: Vec<String> = words
        .split("<dt>")
        .skip(1)
        .flat_map(|part| part.split("</dt>").next().unwrap().split("<em>").skip(1))
        .map(|part| part.split("</em>").next().unwrap().to_lowercase())
        .collect();
    for word in all {
        assert!(
            defined.contains(&word),
            "'{word}' is shown, but docs/terminology.md does not define it: {defined:?}"
        );
    }
}
