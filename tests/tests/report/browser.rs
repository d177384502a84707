//! The report in a real browser: Chromium, without a network.

use serde_json::Value;
use std::path::PathBuf;
use std::sync::OnceLock;
use tare_system_tests::browser::{open, probe};
use tare_system_tests::{Tare, Target, beside_others, scratch};
use tempfile::TempDir;

/// A run that was kept: its folder, and `result.json`.
struct Kept {
    folder: TempDir,
    result: Value,
}

impl Kept {
    fn page(&self) -> PathBuf {
        self.folder.path().join("run/report.html")
    }

    fn intervals(&self) -> &Vec<Value> {
        self.result["intervals"].as_array().expect("a run has intervals")
    }
}

fn keep(arguments: impl FnOnce(&TempDir) -> String) -> Kept {
    let folder = scratch();
    let arguments = arguments(&folder);
    Tare::http(&format!("{arguments} --out {}", folder.path().join("run").display())).run();
    let text = std::fs::read_to_string(folder.path().join("run/result.json")).expect("the run was kept");
    Kept { result: serde_json::from_str(&text).expect("it is JSON"), folder }
}

/// Three names, some answers with 503, five seconds.
fn run() -> &'static Kept {
    static RUN: OnceLock<Kept> = OnceLock::new();
    RUN.get_or_init(|| {
        let target = Target::start("--delay exp:2ms --error 503=0.05 --no-truth");
        keep(|folder| {
            let line = |name: &str, weight: u32| {
                format!("{{\"url\":\"{}{name}\",\"name\":\"{name}\",\"weight\":{weight}}}\n", target.url())
            };
            let lines = folder.path().join("lines");
            std::fs::write(&lines, [line("buy", 1), line("home", 6), line("find", 3)].concat())
                .expect("a scratch file");
            format!("--rate 300 --duration 5s {}", lines.display())
        })
    })
}

/// Three significant digits, by the unit that people would use. Written apart from the program's own.
fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        n if n < 999.5 => (n, "ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value == 0.0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap_or_else(|| panic!("no list: {list}")).iter().filter_map(Value::as_str).collect()
}

#[test]
fn it_opens_from_disk_and_asks_for_nothing() {
    let _shared = beside_others();
    let opened = open(&run().page(), 1280);
    assert_eq!(opened.console, Vec::<String>::new());
    // Its own script ran, under its own policy.
    assert!(opened.dom.contains("<html lang=\"en\" class=\"script\">"), "the page's script did not run");
    let probed = probe(
        &run().page(),
        1280,
        "return { asked: performance.getEntriesByType('resource').map(entry => entry.name),
                  links: all('[src], a[href]').length, charts: all('figure.chart svg').length > 10,
                  tables: all('figure.chart').filter(figure => one('.canvas', figure) && !one('details table caption', figure)).map(figure => figure.id) };",
    );
    assert_eq!(probed.console, Vec::<String>::new());
    assert_eq!(probed.seen["asked"].as_array().map(Vec::len), Some(0), "{}", probed.seen);
    assert_eq!((&probed.seen["links"], &probed.seen["charts"]), (&Value::from(0), &Value::from(true)));
    assert_eq!(texts(&probed.seen["tables"]), Vec::<&str>::new(), "charts without a table");
}

#[test]
fn the_pointer_and_the_keys_read_values_out() {
    let _shared = beside_others();
    let kept = run();
    // Five intervals of a second: the middle of the second is at 0.3 of the width, of the fourth at 0.7.
    let seen = probe(
        &kept.page(),
        1280,
        "pointer('pointermove', 'latency', 0.31);
         const pointed = { latency: box('latency'), rate: box('rate'), late: box('lateness'),
           crosses: all('.cross').length, timed: timed().length };
         canvas('latency').focus();
         key('latency', 'End'); key('latency', 'ArrowLeft');
         const keyed = { latency: box('latency'), spoken: one('#c-latency .box').getAttribute('role') };
         pointer('pointermove', 'percentiles', 1);
         const largest = box('percentiles');
         key('latency', 'Escape');
         return { pointed, keyed, largest, left: all('.box').length };",
    )
    .seen;
    let expected = |row: usize| {
        let row = &kept.intervals()[row];
        let value = |key: &str| time(row[format!("{key}_ns")].as_f64().unwrap_or_else(|| panic!("{key}")));
        [
            ("net p50", "net_p50"),
            ("net p90", "net_p90"),
            ("net p99", "net_p99"),
            ("net p99.9", "net_p99_9"),
            ("net max", "net_max"),
            ("gross p50", "latency_p50"),
            ("gross p99", "latency_p99"),
        ]
        .map(|(name, key)| format!("{name} {}", value(key)))
    };
    let pointed = texts(&seen["pointed"]["latency"]);
    assert_eq!(pointed[0], "1 – 2 s", "{seen}");
    assert_eq!(pointed[1..], expected(1), "{seen}");
    // All charts over time point at the same second.
    assert_eq!(seen["pointed"]["crosses"], seen["pointed"]["timed"], "{seen}");
    let second = &kept.intervals()[1];
    let rate = texts(&seen["pointed"]["rate"]);
    let [offered, done] = ["offered", "done"].map(|key| &second[key]);
    assert_eq!(
        rate[..3],
        ["1 – 2 s", &format!("offered {offered}/s"), &format!("achieved {done}/s")],
        "{seen}"
    );
    let late = time(second["lateness_p99_ns"].as_f64().expect("a lateness"));
    assert!(texts(&seen["pointed"]["late"]).contains(&format!("p99 {late}").as_str()), "{seen}");
    let keyed = texts(&seen["keyed"]["latency"]);
    assert_eq!(
        (keyed[0], &keyed[1..]),
        ("3 – 4 s", &expected(3).each_ref().map(String::as_str)[..]),
        "{seen}"
    );
    assert_eq!(seen["keyed"]["spoken"], "status");
    let max = time(kept.result["latency_ns"]["max"].as_f64().expect("a maximum"));
    assert!(texts(&seen["largest"]).contains(&format!("gross {max}").as_str()), "{seen}");
    assert_eq!(seen["left"], 0, "Escape puts the read-outs away");
}

#[test]
fn all_charts_over_time_zoom_together() {
    let _shared = beside_others();
    let seen = probe(
        &run().page(),
        1280,
        "const before = views();
         const ticks = chart => all(`#c-${chart} .xs span`).map(span => span.textContent);
         const whole = ticks('rate');
         pointer('pointerdown', 'heat', 0.2);
         pointer('pointermove', 'heat', 0.5); pointer('pointerup', 'heat', 0.6);
         const dragged = views(), zoomed = ticks('rate');
         pointer('pointermove', 'rate', 0.5);
         const middle = box('rate')[0];
         canvas('rate').dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
         const reset = views(), again = ticks('rate');
         one('#c-rate [data-zoom=in]').click();
         const button = views();
         one('#c-phases [data-zoom=all]').click();
         return { before, whole, dragged, zoomed, middle, reset, again, button, last: views() };",
    )
    .seen;
    let same = |key: &str| -> String {
        let views = texts(&seen[key]);
        assert!(views.len() > 8 && views.iter().all(|view| view == &views[0]), "{key}: {seen}");
        views[0].to_owned()
    };
    assert_eq!(same("before"), "0 0 1000 300");
    // 0.2 to 0.6 of five seconds: 1 s to 3 s, give or take a pixel of about a thousand.
    let dragged: Vec<f64> = same("dragged").split(' ').map(|n| n.parse().expect("a number")).collect();
    assert!((dragged[0] - 200.0).abs() < 2.0 && (dragged[2] - 400.0).abs() < 2.0, "{seen}");
    // The last answer may have come a little before the fifth second was over.
    assert_eq!(texts(&seen["whole"])[..5], ["0 s", "1 s", "2 s", "3 s", "4 s"]);
    let zoomed = texts(&seen["zoomed"]);
    assert!(zoomed.iter().all(|tick| ["1", "2", "3"].contains(&&tick[..1])), "{zoomed:?}");
    // The middle of what is shown is where the second second ends.
    assert!(["1 – 2 s", "2 – 3 s"].contains(&seen["middle"].as_str().expect("a text")), "{seen}");
    assert_eq!((same("reset"), &seen["again"]), ("0 0 1000 300".to_owned(), &seen["whole"]));
    assert_ne!(same("button"), "0 0 1000 300");
    assert_eq!(same("last"), "0 0 1000 300");
}

#[test]
fn a_series_can_be_switched_off() {
    let _shared = beside_others();
    let seen = probe(
        &run().page(),
        1280,
        "const button = name => all('#c-latency .legend button').find(button => button.textContent === name);
         button('net max').click();
         pointer('pointermove', 'latency', 0.3);
         const index = button('net max').dataset.series;
         const off = { pressed: button('net max').getAttribute('aria-pressed'), box: box('latency'),
                       line: getComputedStyle(one(`#c-latency path[data-series='${index}']`)).display };
         button('net max').click();
         const on = getComputedStyle(one(`#c-latency path[data-series='${index}']`)).display;
         // Of bars on each other, those above come down.
         const [first, second] = all('#c-outcomes .legend button');
         const top = () => one(`#c-outcomes path[data-series='1']`).getBBox();
         const before = top();
         first.click();
         const after = top();
         return { off, on, fell: [before.y + before.height, after.y + after.height], tall: [before.height, after.height] };",
    )
    .seen;
    assert_eq!((&seen["off"]["pressed"], &seen["off"]["line"]), (&"false".into(), &"none".into()), "{seen}");
    assert!(!texts(&seen["off"]["box"]).iter().any(|line| line.starts_with("net max ")), "{seen}");
    assert_ne!(seen["on"], "none");
    let fell = |at: usize| seen["fell"][at].as_f64().expect("a place");
    assert!(fell(0) < 299.0 && (fell(1) - 300.0).abs() < 0.2, "{seen}");
}

#[test]
fn what_a_reader_chose_outlives_the_next_page() {
    let _shared = beside_others();
    // What a live page does each second: the same <main>, made anew.
    let seen = probe(
        &run().page(),
        1280,
        "const html = one('main').innerHTML;
         one('#d-rate summary').click();
         one('#criteria summary').click();
         all('#c-latency .legend button')[4].click();
         all('#names thead button').find(button => button.textContent === 'requests').click();
         pointer('pointerdown', 'rate', 0.2); pointer('pointerup', 'rate', 0.6);
         canvas('latency').focus();
         key('latency', 'ArrowRight'); key('latency', 'ArrowRight');
         const state = () => ({ open: one('#d-rate').open, criteria: one('#criteria').open,
           views: views(), box: box('latency'),
           pressed: all('#c-latency .legend button').map(button => button.getAttribute('aria-pressed')),
           names: table(one('#names')).rows.map(row => row[0]), sorted: one('#names [aria-sort]').textContent,
           focus: document.activeElement.closest('figure')?.id });
         const before = state(), old = one('#c-rate');
         tare.swap(html);
         return { before, after: state(), isNew: one('#c-rate') !== old };",
    )
    .seen;
    assert_eq!(seen["before"], seen["after"], "{seen}");
    assert_eq!((&seen["isNew"], &seen["after"]["focus"]), (&true.into(), &"c-latency".into()), "{seen}");
    assert_eq!(texts(&seen["after"]["names"]), ["home", "find", "buy"], "the most requests first");
}

#[test]
fn a_cell_of_the_heat_map_says_its_count() {
    let _shared = beside_others();
    // Points at the middle of each cell of the third second that is not empty, in the picture, and reads it
    // out.
    let seen = probe(
        &run().page(),
        1280,
        "const figure = one('#c-heat'), heads = all('thead th', figure).slice(1);
         const counts = table(one('table', figure)).rows[2].slice(1).map(Number);
         const [, low, high] = figure.dataset.y.split(' ').map(Number);
         const height = ns => Math.log(ns / low) / Math.log(high / low);
         return heads.map((head, n) => {
           const { from, to } = head.dataset;
           pointer('pointermove', 'heat', 0.5, height(Math.sqrt(from * to)));
           return { band: head.textContent, count: counts[n], box: box('heat') };
         });",
    )
    .seen;
    let cells = seen.as_array().unwrap_or_else(|| panic!("no cells: {seen}"));
    let all: u64 = cells.iter().map(|cell| cell["count"].as_u64().expect("a count")).sum();
    assert!(cells.len() > 10 && all > 200, "{seen}");
    for cell in cells {
        let count = cell["count"].as_u64().expect("a count");
        let noun = if count == 1 { "request" } else { "requests" };
        let said = format!("{}: {count} {noun}", cell["band"].as_str().expect("a band"));
        assert_eq!(texts(&cell["box"]), ["2 – 3 s", &said, &format!("of {all} requests")], "{cell}");
    }
}

#[test]
fn the_table_by_name_is_sorted() {
    let _shared = beside_others();
    let kept = run();
    let seen = probe(
        &kept.page(),
        1280,
        "const names = () => table(one('#names')).rows.map(row => row[0]);
         const head = text => all('#names thead button').find(button => button.textContent === text);
         head('p99').click();
         const down = names(), said = head('p99').closest('th').getAttribute('aria-sort');
         head('p99').click();
         const up = names();
         head('name').click();
         return { down, said, up, named: names() };",
    )
    .seen;
    let groups = kept.result["groups"].as_array().expect("groups");
    // Two of them may have the same.
    let p99s = |names: &serde_json::Value| -> Vec<u64> {
        let p99 = |name| groups.iter().find(|group| group["name"] == name)?["latency_ns"]["p99"].as_u64();
        texts(names).into_iter().map(|name| p99(name).expect("a name with a p99")).collect()
    };
    let (up, down) = (p99s(&seen["up"]), p99s(&seen["down"]));
    assert!(up.len() == 3 && up.is_sorted() && down.len() == 3 && down.is_sorted_by(|a, b| a >= b), "{seen}");
    assert_eq!(seen["said"], "descending");
    assert_eq!(texts(&seen["named"]), ["buy", "find", "home"]);
}

/// One column of a chart's table, and what `result.json` says of it.
type Column = (&'static str, &'static str, fn(&Value) -> Option<f64>);

#[test]
fn the_tables_equal_the_result() {
    let _shared = beside_others();
    let kept = run();
    let seen = probe(
        &kept.page(),
        1280,
        "return Object.fromEntries(timed().map(figure => [figure.dataset.chart, table(one('table', figure))]));",
    )
    .seen;
    let columns: [Column; 18] = [
        ("rate", "offered (/s)", |row| Some(row["offered"].as_f64()? / row["length_s"].as_f64()?)),
        ("rate", "achieved (/s)", |row| Some(row["done"].as_f64()? / row["length_s"].as_f64()?)),
        ("lateness", "p50 (ms)", |row| Some(row["lateness_p50_ns"].as_f64()? / 1e6)),
        ("lateness", "p99 (ms)", |row| Some(row["lateness_p99_ns"].as_f64()? / 1e6)),
        ("lateness", "max (ms)", |row| Some(row["lateness_max_ns"].as_f64()? / 1e6)),
        ("latency", "net p50 (ms)", |row| Some(row["net_p50_ns"].as_f64()? / 1e6)),
        ("latency", "net p90 (ms)", |row| Some(row["net_p90_ns"].as_f64()? / 1e6)),
        ("latency", "net p99 (ms)", |row| Some(row["net_p99_ns"].as_f64()? / 1e6)),
        ("latency", "net p99.9 (ms)", |row| Some(row["net_p99_9_ns"].as_f64()? / 1e6)),
        ("latency", "net max (ms)", |row| Some(row["net_max_ns"].as_f64()? / 1e6)),
        ("latency", "gross p50 (ms)", |row| Some(row["latency_p50_ns"].as_f64()? / 1e6)),
        ("latency", "gross p99 (ms)", |row| Some(row["latency_p99_ns"].as_f64()? / 1e6)),
        ("phases", "first byte (ms)", |row| Some(row["first_byte_p50_ns"].as_f64()? / 1e6)),
        ("phases", "body (ms)", |row| Some(row["body_p50_ns"].as_f64()? / 1e6)),
        ("outcomes", "200 (/s)", |row| Some(outcome(row, "200") / row["length_s"].as_f64()?)),
        ("outcomes", "503 (/s)", |row| Some(outcome(row, "503") / row["length_s"].as_f64()?)),
        ("memory", "resident (MB)", |row| Some(row["rss_bytes"].as_f64()? / 1e6)),
        ("sockets", "open connections", |row| row["open"].as_f64()),
    ];
    // A last interval of a few milliseconds is drawn with the one before it.
    let whole: Vec<&Value> =
        kept.intervals().iter().filter(|row| row["length_s"].as_f64().expect("a length") > 0.9).collect();
    assert!(whole.len() >= 5);
    for (chart, head, value) in columns {
        let table = &seen[chart];
        let at = texts(&table["head"]).iter().position(|found| *found == head);
        let at = at.unwrap_or_else(|| panic!("{chart} has no {head}: {table}"));
        let rows = table["rows"].as_array().expect("rows");
        for (row, interval) in rows.iter().zip(&whole[..4]) {
            let cells = texts(row);
            let found: f64 = cells[at].parse().unwrap_or_else(|_| panic!("{chart} {head}: {cells:?}"));
            let expected = value(interval).unwrap_or_else(|| panic!("{head} of {interval}"));
            assert!(
                (found - expected).abs() < 1e-3 * expected.abs().max(1e-3),
                "{chart} {head}: {found}, not {expected}"
            );
            let from: f64 = cells[0].parse().expect("a time");
            assert_eq!(Some(from), interval["t_s"].as_f64());
        }
    }
    // Each cell of the heat map is a count; together they are all that was answered.
    let heat =
        seen["heat"]["rows"].as_array().expect("rows").iter().flat_map(|row| texts(row).into_iter().skip(1));
    let all: u64 = heat.filter_map(|cell| cell.parse::<u64>().ok()).sum();
    assert_eq!(Some(all), kept.result["latency_ns"]["count"].as_u64());
}

fn outcome(row: &Value, key: &str) -> f64 {
    let outcomes = row["outcomes"].as_array().into_iter().flatten();
    outcomes.filter(|outcome| outcome["key"] == key).filter_map(|outcome| outcome["count"].as_f64()).sum()
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let _shared = beside_others();
    for width in [400, 1280] {
        // Chromium's own window is at least 500 wide: the page is laid out in a frame.
        let body = format!(
            "document.currentScript.remove();
             const frame = document.createElement('iframe');
             frame.srcdoc = document.documentElement.outerHTML;
             frame.style = 'position: absolute; border: 0; height: 900px; width: {width}px';
             frame.onload = () => {{
               const root = frame.contentDocument.documentElement;
               all('details', root).forEach(details => {{ details.open = true; }});
               const isOwn = element => !element.closest('.scroll, pre, svg, .xs, .unseen');
               const isWide = element => element.getBoundingClientRect().right > root.clientWidth + 1;
               const wide = all('main *', root).filter(element => isOwn(element) && isWide(element));
               report({{ scroll: root.scrollWidth, client: root.clientWidth, charts: all('figure', root).length,
                 wide: wide.map(element => element.outerHTML.slice(0, 120)) }});
             }};
             document.body.append(frame);"
        );
        let seen = probe(&run().page(), 1400, &body).seen;
        let number = |key: &str| seen[key].as_u64().unwrap_or_else(|| panic!("no {key} at {width}: {seen}"));
        assert!(
            number("client") <= width && number("client") > width - 20 && number("charts") > 10,
            "{seen}"
        );
        assert!(number("scroll") <= number("client"), "at {width}: {seen}");
        assert_eq!(texts(&seen["wide"]), Vec::<&str>::new(), "at {width}");
    }
}

#[test]
fn thresholds_and_criteria_fit_a_phone_with_their_decisions() {
    let _shared = beside_others();
    let folder = run().folder.path();
    let page = folder.join("judged.html");
    let mut report = Tare::new(&format!("report --html -o {} {}/run", page.display(), folder.display()));
    for limit in ["latency.p99.9 for \"home\" > 1us", "achieved < 1/s"] {
        report = report.arg("--fail-if").arg(limit);
    }
    report.start().finish_unchecked();
    let body = "document.currentScript.remove();
         const frame = document.createElement('iframe');
         frame.srcdoc = document.documentElement.outerHTML;
         frame.style = 'position: absolute; border: 0; height: 900px; width: 400px';
         frame.onload = () => {
           const root = frame.contentDocument.documentElement;
           all('details', root).forEach(details => { details.open = true; });
           const right = element => element.getBoundingClientRect().right;
           const fits = element =>
             element.scrollWidth <= element.clientWidth + 1 && right(element) <= root.clientWidth;
           const tables = all('.judged', root);
           report({
             tables: tables.length,
             wide: tables.flatMap(table => [table.parentElement, ...all('caption, td', table)])
               .filter(element => !fits(element)).map(element => element.outerHTML.slice(0, 120)),
             decisions: all('#thresholds td:last-child', root).map(cell => cell.innerText),
           });
         };
         document.body.append(frame);";
    let seen = probe(&page, 1400, body).seen;
    assert_eq!(seen["tables"], 2, "{seen}");
    assert_eq!(texts(&seen["wide"]), Vec::<&str>::new());
    assert_eq!(texts(&seen["decisions"]), ["failed", "holds"]);
}

#[test]
fn a_run_with_only_errors_is_drawn_without_a_fuss() {
    let _shared = beside_others();
    // A port that nothing listens on: it was free a moment ago.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let kept = keep(|_| format!("--rate 200 --duration 2s http://127.0.0.1:{port}/"));
    assert_eq!(kept.result["totals"]["done"], 0);
    let probed = probe(
        &kept.page(),
        400,
        "pointer('pointermove', 'rate', 0.2); key('rate', 'ArrowRight'); key('rate', '+');
         return { text: document.body.innerText, box: box('rate'), paths: all('svg path').map(path => path.getAttribute('d')).join(' ') };",
    );
    assert_eq!(probed.console, Vec::<String>::new());
    let text = probed.seen["text"].as_str().expect("a text");
    assert!(text.contains("No values to draw"), "{text}");
    for bad in ["NaN", "undefined", "Infinity", "inf"] {
        assert!(!text.split_whitespace().any(|word| word == bad), "{bad} in {text}");
        assert!(!probed.seen["paths"].as_str().expect("paths").contains(bad), "{bad} in a path");
    }
    assert!(
        texts(&probed.seen["box"]).iter().any(|line| line.starts_with("failed or missed")),
        "{}",
        probed.seen
    );
}
