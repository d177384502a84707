//! A summary in GitHub's Markdown: for a pull request, a job's summary (`$GITHUB_STEP_SUMMARY`) or a wiki.

use crate::frames;
use crate::words::{self, count};
use store::Distribution;
use store::packets::Cell;
use store::schema::{Criterion, RunResult, Word};
use units::OutcomeClass;

/// Names in the table at most.
const MOST_NAMES: usize = 50;

/// The whole summary, ending with a newline.
pub fn markdown(result: &RunResult) -> String {
    let mut page = String::new();
    verdict(&mut page, result);
    thresholds(&mut page, result);
    figures(&mut page, result);
    times(&mut page, result);
    frames(&mut page, result);
    outcomes(&mut page, result);
    names(&mut page, result);
    notes(&mut page, result);
    again(&mut page, result);
    page
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

/// A table: heads (those that begin with `>` stand at the right), then rows.
fn table(page: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    let row = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let titles: Vec<String> = heads.iter().map(|head| head.trim_start_matches('>').to_owned()).collect();
    let sides: Vec<&str> =
        heads.iter().map(|head| if head.starts_with('>') { "--:" } else { "---" }).collect();
    line(page, &row(&titles));
    line(page, &format!("| {} |", sides.join(" | ")));
    rows.iter().for_each(|cells| line(page, &row(cells)));
    line(page, "");
}

/// Prose or a cell: nothing in it is markup.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in words::printable(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// A code span, also within a table.
fn code(text: &str) -> String {
    let text = words::printable(text).replace('|', "\\|");
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(ticks + 1);
    let pad = if ticks > 0 { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn verdict(page: &mut String, result: &RunResult) {
    let failing: Vec<&Criterion> =
        result.verdict.criteria.iter().filter(|criterion| !criterion.holds).collect();
    let sentence = words::unreachable(result).unwrap_or_else(|| words::verdict(result));
    line(page, &format!("## {}: {}", result.verdict.word.as_str(), plain(&sentence)));
    line(page, "");
    line(page, &format!("`tare {}` {}: {}", result.engine, code(&result.target), plain(&result.load)));
    line(page, "");
    for label in &result.labels {
        line(
            page,
            &format!("**{}{}**", if result.partial { "Partial: " } else { "" }, plain(&label.to_string())),
        );
        line(page, "");
    }
    let failing: Vec<Vec<String>> = failing.iter().map(|criterion| doubt(criterion)).collect();
    if !failing.is_empty() {
        table(page, &["criterion", ">value", ">limit", "makes it", "what to do"], &failing);
    }
}

fn doubt(criterion: &Criterion) -> Vec<String> {
    let makes = if criterion.severity == Word::Valid { "(a warning)" } else { criterion.severity.as_str() };
    vec![
        code(criterion.name.as_str()),
        words::in_unit(criterion.value, &criterion.unit),
        words::limit(criterion.limit, criterion),
        makes.to_owned(),
        plain(&criterion.advice),
    ]
}

fn thresholds(page: &mut String, result: &RunResult) {
    let all = &result.thresholds;
    if all.is_empty() {
        return;
    }
    let failed = all.iter().filter(|threshold| !threshold.holds).count();
    let said = match failed {
        0 => format!("### Thresholds: {0} of {0} hold", all.len()),
        failed => format!("### Thresholds: {failed} of {} failed", all.len()),
    };
    line(page, &said);
    line(page, "");
    let row = |threshold: &store::schema::Threshold| {
        let kind = if threshold.aborts { "abort if" } else { "fail if" };
        let mark = if threshold.holds { "holds" } else { "**failed**" };
        vec![
            mark.to_owned(),
            format!("{kind} {}", code(&threshold.expression)),
            plain(&words::threshold_value(threshold)),
        ]
    };
    table(page, &["", "threshold", ">value"], &all.iter().map(row).collect::<Vec<_>>());
}

fn figures(page: &mut String, result: &RunResult) {
    let (rate, totals) = (&result.rate, &result.totals);
    let share = (rate.offered_per_s > 0.0).then(|| words::share(rate.achieved_per_s / rate.offered_per_s));
    let achieved = share.map_or_else(String::new, |share| format!(" ({share})"));
    let over = rate.bytes_over_s.max(rate.duration_s);
    let figures = [
        ("rate offered", words::rate(rate.offered_per_s)),
        ("rate achieved", format!("{}{achieved}", words::rate(rate.achieved_per_s))),
        ("over", words::seconds(rate.duration_s)),
        (if result.packets.is_some() { "frames offered" } else { "requests offered" }, count(totals.offered)),
        ("done", count(totals.done)),
        ("failed", count(totals.failed)),
        ("missed", count(totals.missed)),
        ("cut off", count(totals.cut_off)),
        (
            "bytes in",
            format!("{}, {}", words::bytes(totals.bytes_in), words::bytes_per_second(totals.bytes_in, over)),
        ),
    ];
    let rows = figures.map(|(name, value)| vec![name.to_owned(), value]);
    table(page, &["load", ">"], &rows);
}

/// The tables of a run of frames, but for those that list each trial.
fn frames(page: &mut String, result: &RunResult) {
    let all = result.packets.as_ref().map(frames::tables).unwrap_or_default();
    for one in all.iter().filter(|table| table.key != "trials") {
        line(page, &format!("### {}", plain(&one.title)));
        line(page, "");
        let is_words =
            |place: usize| one.rows.iter().any(|row| matches!(row.get(place), Some(Cell::Words(_))));
        let heads: Vec<String> = (one.columns.iter().enumerate())
            .map(|(place, column)| {
                format!("{}{}", if is_words(place) { "" } else { ">" }, plain(&column.name))
            })
            .collect();
        let cells = |row: &Vec<Cell>| -> Vec<String> {
            row.iter()
                .zip(&one.columns)
                .map(|(cell, column)| plain(&frames::cell(cell, &column.unit)))
                .collect()
        };
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        table(page, &heads, &one.rows.iter().take(MOST_NAMES).map(cells).collect::<Vec<_>>());
    }
}

fn times(page: &mut String, result: &RunResult) {
    let gross =
        if words::has_net(result) { "gross (latency: due → done)" } else { "latency (due → done)" };
    let all: [(&str, &Distribution); 9] = [
        ("net (what the target took)", &result.net_ns),
        ("tare (what tare itself took)", &result.tare_ns),
        (gross, &result.latency_ns),
        ("service (sent → done)", &result.service_ns),
        ("lateness (due → sent)", &result.lateness_ns),
        ("first byte", &result.first_byte_ns),
        ("connect", &result.connect_ns),
        ("TLS", &result.tls_ns),
        ("failed (due → failure)", &result.failed_ns),
    ];
    let measured = all.iter().filter(|(_, figures)| !figures.says_nothing());
    let rows: Vec<Vec<String>> = measured
        .map(|(name, figures)| {
            let values = [
                (0.5, figures.p50),
                (0.9, figures.p90),
                (0.99, figures.p99),
                (0.999, figures.p99_9),
                (1.0, figures.max),
            ];
            let mean = if figures.is_empty() { "–".to_owned() } else { words::time_f64(figures.mean) };
            let values = values.map(|(share, nanos)| words::percentile(figures, share, nanos));
            [(*name).to_owned(), mean].into_iter().chain(values).collect()
        })
        .collect();
    if !rows.is_empty() {
        table(page, &["time", ">mean", ">p50", ">p90", ">p99", ">p99.9", ">max"], &rows);
    }
}

fn outcomes(page: &mut String, result: &RunResult) {
    let all: u64 = result.outcomes.iter().map(|row| row.count).sum();
    let rows: Vec<Vec<String>> = result
        .outcomes
        .iter()
        .map(|row| {
            let key = if row.is(OutcomeClass::CutOff) { "cut off".to_owned() } else { code(&row.key) };
            let share = words::share(row.count as f64 / all.max(1) as f64);
            vec![key, count(row.count), share, words::outcome(row).to_owned()]
        })
        .collect();
    if !rows.is_empty() {
        table(page, &["outcome", ">requests", ">share", ""], &rows);
    }
}

fn names(page: &mut String, result: &RunResult) {
    if result.groups.is_empty() {
        return;
    }
    let row = |group: &store::schema::GroupResult| {
        let latency = &group.latency_ns;
        let time = |share, nanos| words::percentile(latency, share, nanos);
        let not_done = group.count - latency.count.min(group.count);
        vec![
            code(&group.name),
            count(group.count),
            time(0.5, latency.p50),
            time(0.9, latency.p90),
            time(0.99, latency.p99),
            time(1.0, latency.max),
            count(not_done),
        ]
    };
    let rows: Vec<Vec<String>> = result.groups.iter().take(MOST_NAMES).map(row).collect();
    table(page, &["name", ">requests", ">p50", ">p90", ">p99", ">max", ">not done"], &rows);
    if let Some(more @ 1..) = result.groups.len().checked_sub(MOST_NAMES) {
        line(page, &format!("and {} in `result.json`\n", words::counted(more as u64, "more name")));
    }
    if let Some(folded) = words::folded(result) {
        line(page, &format!("{folded}\n"));
    }
}

fn notes(page: &mut String, result: &RunResult) {
    let lost = result.store.lost.iter().map(|lost| format!("{} could not be kept: {}", lost.what, lost.why));
    let all: Vec<String> = result.notes.iter().cloned().chain(lost).collect();
    all.iter().for_each(|note| line(page, &format!("- {}", plain(note))));
    if !all.is_empty() {
        line(page, "");
    }
}

/// How to make this run again.
fn again(page: &mut String, result: &RunResult) {
    if !result.command.is_empty() {
        line(page, "<details><summary>The command</summary>\n");
        line(page, &format!("    {}", words::printable(&result.command)));
        line(page, "\n</details>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sweep_found_is_in_it_and_each_trial_is_not() {
        use store::packets::{Column, PacketReport, Table};
        let table = |key: &str| Table {
            key: key.into(),
            title: format!("The {key}"),
            columns: vec![Column { name: "a|b".into(), unit: "ns".into() }, Column::default()],
            rows: vec![vec![Cell::Figure(1_500.0), Cell::Words("found".into())]],
            ..Table::default()
        };
        let packets =
            PacketReport { tables: vec![table("resets"), table("trials")], ..PacketReport::default() };
        let page = markdown(&RunResult { packets: Some(packets), ..RunResult::default() });
        assert!(
            page.contains("### The resets\n\n| a\\|b |  |\n| --: | --- |\n| 1.50 µs | found |\n"),
            "{page}"
        );
        assert!(page.contains("frames offered") && !page.contains("The trials"), "{page}");
    }

    #[test]
    fn nothing_in_a_cell_is_markup() {
        assert_eq!(plain("a|b *c* <i>\n[d](e)"), "a\\|b \\*c\\* &lt;i>·\\[d\\](e)");
        // A span ends at as many backticks as it began with: one more than there are inside.
        assert_eq!(code("a`b``c"), "``` a`b``c ```");
        assert_eq!(code("a|b"), "`a\\|b`");
    }
}
