//! The summary in the terminal: what was asked, what came of it, how late the generator was, the verdict.
//!
//! What the target took (net) stands first, then what the generator took (tare), then both together (gross). At
//! most 100 columns.

mod frames;
mod report;

use crate::frames::noun;
use crate::spark;
use crate::style::{Ink, Style};
use crate::words::{self, count, counted};
use store::Distribution;
use store::schema::{Criterion, Interval, Label, RunResult, Word};
use units::OutcomeClass;

pub use report::text_report;

/// Columns of the labels at the left.
const LABEL: usize = 13;

/// The whole summary, ending with a newline.
pub fn summary(result: &RunResult, style: Style) -> String {
    let mut page = Page { style, text: String::new() };
    figures(&mut page, result);
    thresholds(&mut page, result);
    notes(&mut page, result);
    place(&mut page, result);
    sinks(&mut page, result);
    failed_thresholds(&mut page, result);
    broken_criteria(&mut page, result);
    verdict_word(&mut page, result);
    page.text
}

/// What was loaded and what came of it, from the rates to the generator.
fn figures(page: &mut Page, result: &RunResult) {
    head(page, result);
    totals(page, result);
    times(page, result);
    frames::packets(page, result);
    sparklines(page, result);
    outcomes(page, result);
    frames::tcp(page, result);
    groups(page, result);
    generator(page, result);
}

/// Text that grows line by line: a label, then what it says, wrapped under itself.
struct Page {
    style: Style,
    text: String,
}

impl Page {
    fn gap(&mut self) {
        self.text.push('\n');
    }

    fn raw(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// `  Label      said`, with `said` already fit to the width.
    fn line(&mut self, label: &str, said: &str) {
        let label = self.style.paint(Ink::Quiet, &format!("{label:<LABEL$}"));
        self.raw(&format!("  {label}{said}"));
    }

    /// The same for prose of any length.
    fn prose(&mut self, label: &str, text: &str, ink: Option<Ink>) {
        for (index, line) in words::wrap(text, self.room()).iter().enumerate() {
            let line = ink.map_or(line.clone(), |ink| self.style.paint(ink, line));
            self.line(if index == 0 { label } else { "" }, &line);
        }
    }

    /// Parts on as few lines as they fit on, with three spaces between.
    fn parts(&mut self, label: &str, parts: &[String]) {
        let plain: Vec<_> = parts.iter().map(|part| (part.clone(), None)).collect();
        self.inked(label, &plain);
    }

    /// The same with a colour for some; colours have no width.
    fn inked(&mut self, label: &str, parts: &[(String, Option<Ink>)]) {
        let room = self.room();
        let mut lines: Vec<(usize, String)> = Vec::new();
        for (part, ink) in parts {
            let wide = part.chars().count();
            let painted = ink.map_or_else(|| part.clone(), |ink| self.style.paint(ink, part));
            match lines.last_mut() {
                Some((used, line)) if *used + 3 + wide <= room => {
                    *used += 3 + wide;
                    line.push_str("   ");
                    line.push_str(&painted);
                }
                _ => lines.push((wide, painted)),
            }
        }
        for (index, (_, line)) in lines.iter().enumerate() {
            self.line(if index == 0 { label } else { "" }, line);
        }
    }

    /// Columns to the right of the labels.
    fn room(&self) -> usize {
        self.style.width() - LABEL - 2
    }
}

fn head(page: &mut Page, result: &RunResult) {
    let name = format!("tare {}", result.engine);
    let target = page.style.paint(Ink::Strong, &words::printable(&result.target));
    page.gap();
    page.line(&name, &target);
    page.prose("", &result.load, None);
    for label in &result.labels {
        let word = if result.partial { "PARTIAL" } else { "LABEL" };
        match words::unreachable(result).filter(|_| *label == Label::Unreachable) {
            Some(sentence) => page.prose("UNREACHABLE", &sentence, Some(Ink::Bad)),
            None => page.prose(word, &label.to_string(), Some(Ink::Doubtful)),
        }
    }
    if result.partial && result.labels.is_empty() {
        page.prose("PARTIAL", "the run ended before it was complete", Some(Ink::Doubtful));
    }
    page.gap();
}

fn totals(page: &mut Page, result: &RunResult) {
    let (totals, rate) = (&result.totals, &result.rate);
    let achieved = if rate.offered_per_s > 0.0 {
        format!(
            "{} achieved ({})",
            words::rate(rate.achieved_per_s),
            words::share(rate.achieved_per_s / rate.offered_per_s)
        )
    } else {
        format!("{} achieved", words::rate(rate.achieved_per_s))
    };
    let offered = format!("{} offered", words::rate(rate.offered_per_s));
    let mut parts = vec![offered, achieved];
    if let Some(why) = words::no_rate(result) {
        parts = vec![why.to_owned()];
    }
    if rate.duration_s > 0.0 {
        parts.push(format!("for {}", words::seconds(rate.duration_s)));
    }
    page.parts("Rate", &parts);
    let part =
        |number: u64, word: &str, ink| (format!("{} {word}", count(number)), (number > 0).then_some(ink));
    let mut done = part(totals.done, "done", Ink::Strong);
    // A few that are on their way when the time is over are every run's.
    // Frames are not answered: those that left late say so in their lateness.
    let is_answered = result.packets.is_none();
    if is_answered && rate.done_after_end as f64 > totals.done as f64 * 0.001 && rate.done_after_end > 1 {
        done.0.push_str(&format!(" ({} completed after the end)", count(rate.done_after_end)));
    }
    let ended = [
        (format!("{} offered", count(totals.offered)), None),
        done,
        part(totals.failed, "failed", Ink::Bad),
        part(totals.missed, "missed", Ink::Bad),
        part(totals.cut_off, "cut off", Ink::Doubtful),
    ];
    let label = if result.packets.is_some() { "Frames" } else { "Requests" };
    page.inked(label, &ended);
    // An older result has no time of its own for bytes.
    let over = rate.bytes_over_s.max(rate.duration_s);
    page.parts(
        "Bytes",
        &[
            format!(
                "{} in, {}",
                words::bytes(totals.bytes_in),
                words::bytes_per_second(totals.bytes_in, over)
            ),
            format!(
                "{} out, {}",
                words::bytes(totals.bytes_out),
                words::bytes_per_second(totals.bytes_out, over)
            ),
        ],
    );
    let connections = result.connections;
    if connections.opened.max(connections.attempts) > 0 {
        let opened = words::opened(&connections);
        page.parts("Connections", &[format!("{opened}, {} at most at once", count(connections.open_peak))]);
    }
    if result.warmup.count > 0 || result.warmup.duration_s > 0.0 {
        let sent = counted(result.warmup.count, noun(result));
        let over = words::seconds(result.warmup.duration_s);
        page.parts("Warm-up", &[format!("{sent} in the first {over}, not in these figures")]);
    }
    page.gap();
}

/// The percentiles of a row: the share of all values, and where it is kept.
type Percentile = (f64, fn(&Distribution) -> u64);

const PRINTED: [Percentile; 5] = [
    (0.5, |figures| figures.p50),
    (0.9, |figures| figures.p90),
    (0.99, |figures| figures.p99),
    (0.999, |figures| figures.p99_9),
    (1.0, |figures| figures.max),
];

/// Name, figures, and what the time is between.
fn times(page: &mut Page, result: &RunResult) {
    let same_lateness = result.own_lateness_ns == result.lateness_ns;
    let own = if same_lateness { Distribution::default() } else { result.own_lateness_ns };
    // Where gaps have a table of their own, their error stands there, with the ruler that measured it.
    let is_in_table = result.packets.as_ref().and_then(|packets| packets.gaps.as_ref()?.error).is_some();
    let gap_error = if is_in_table { Distribution::default() } else { result.gap_error_ns };
    // A result of before has no net: its latency stands first, as it did.
    let (gross, between) = match words::has_net(result) {
        true => ("gross", "latency: due → done"),
        false => ("latency", "due → done"),
    };
    let rows: [(&str, &Distribution, &str); 14] = [
        ("net", &result.net_ns, "what the target took"),
        ("tare", &result.tare_ns, "what tare itself took"),
        (gross, &result.latency_ns, between),
        ("service", &result.service_ns, "sent → done"),
        ("lateness", &result.lateness_ns, "due → sent"),
        ("  own", &own, "the generator's part"),
        ("unread", &result.unread_ns, "arrived → read"),
        ("  at most", &result.unread_bound_ns, "more, where unknown"),
        ("first byte", &result.first_byte_ns, "sent → first byte"),
        ("connect", &result.connect_ns, "each connection"),
        ("TLS", &result.tls_ns, "each handshake"),
        ("look-up", &result.lookup_ns, "each name"),
        ("failed", &result.failed_ns, "due → failure"),
        ("gap error", &gap_error, "|gap − asked|"),
    ];
    if rows.iter().all(|(_, figures, _)| figures.is_empty()) {
        if result.packets.is_some() {
            return;
        }
        page.prose("Times", words::no_times(result), None);
        return page.gap();
    }
    let heads = ["mean", "p50", "p90", "p99", "p99.9", "max"].map(|head| format!("{head:>10}"));
    let heads = page.style.paint(Ink::Quiet, &heads.concat());
    page.line("", &heads);
    if result.latency_ns.is_empty() && result.packets.is_none() {
        page.line("latency", words::no_latency(result));
    }
    for (name, figures, between) in rows.iter().filter(|(_, figures, _)| !figures.says_nothing()) {
        let mean = if figures.is_empty() { "–".to_owned() } else { words::time_f64(figures.mean) };
        let mean = format!("{mean:>10}");
        let values =
            PRINTED.map(|(share, of)| format!("{:>10}", words::percentile(figures, share, of(figures))));
        let values = values.concat();
        let between = page.style.paint(Ink::Quiet, between);
        let room = page.style.width() >= 96;
        page.line(name, &format!("{mean}{values}   {}", if room { between.as_str() } else { "" }));
    }
    page.gap();
}

/// The run over time: requests done each second (dips show) and the largest latency (peaks show).
fn sparklines(page: &mut Page, result: &RunResult) {
    let usual = result.intervals.first().map_or(0.0, |row| row.length_s);
    let rows: Vec<&Interval> = result.intervals.iter().filter(|row| row.length_s > usual / 2.0).collect();
    if rows.len() < 2 {
        return;
    }
    let width = page.room().saturating_sub(25).min(48);
    let columns = rows.len().div_ceil(rows.len().div_ceil(width));
    let mut draw = |label: &str, values: &[u64], pick, said: String| {
        let line = spark::line(values, width, pick);
        page.line(label, &format!("{line:<columns$}   {said}"));
    };
    let done: Vec<u64> = rows.iter().map(|row| (row.done as f64 / row.length_s).round() as u64).collect();
    if let (Some(low), Some(high @ 1..)) = (done.iter().min(), done.iter().max()) {
        draw("done/s", &done, u64::min, format!("{} … {}", count(*low), count(*high)));
    }
    type Largest = (&'static str, fn(&Interval) -> Option<u64>);
    let times: [Largest; 2] = [("net max", |row| row.net_max_ns), ("latency max", |row| row.latency_max_ns)];
    // Net tells of the target; of an older run, or of frames, there is none.
    let told = times.into_iter().find(|(_, of)| rows.iter().any(|row| of(row).is_some()));
    if let Some((label, of)) = told {
        let measured = || rows.iter().filter_map(|row| of(row));
        let (low, high) = (measured().min().unwrap_or(0), measured().max().unwrap_or(0));
        let slowest: Vec<u64> = rows.iter().map(|row| of(row).unwrap_or(0)).collect();
        draw(label, &slowest, u64::max, format!("{} … {}", words::time(low), words::time(high)));
    }
    let errors: Vec<u64> = rows.iter().map(|row| row.failed + row.missed).collect();
    if errors.iter().any(|errors| *errors > 0) {
        draw("not done", &errors, u64::max, format!("{} in all", count(errors.iter().sum())));
    }
    let all: f64 = rows.iter().map(|row| row.length_s).sum();
    let scale = format!("each column {}", words::seconds(all / columns as f64));
    let scale = page.style.paint(Ink::Quiet, &scale);
    page.line("", &scale);
    page.gap();
}

fn outcomes(page: &mut Page, result: &RunResult) {
    if result.outcomes.is_empty() {
        return;
    }
    let all: u64 = result.outcomes.iter().map(|row| row.count).sum();
    let key_width = result.outcomes.iter().map(|row| row.key.chars().count()).max().unwrap_or(0).max(6);
    for (index, row) in result.outcomes.iter().enumerate() {
        let ink = match row.class.class() {
            Some(OutcomeClass::Status) if matches!(row.status(), Some(200..=399)) => None,
            Some(OutcomeClass::Frame) => None,
            Some(OutcomeClass::Status | OutcomeClass::CutOff) => Some(Ink::Doubtful),
            _ => Some(Ink::Bad),
        };
        let name = words::outcome_name(row);
        let padded = format!("{name:<key_width$}");
        let padded = ink.map_or(padded.clone(), |ink| page.style.paint(ink, &padded));
        let figures =
            format!("{:>14} {:>10}", count(row.count), words::share(row.count as f64 / all.max(1) as f64));
        let words = words::outcome(row);
        let fits = key_width + 27 + words.chars().count() <= page.room();
        let said = if fits { words } else { "" };
        page.line(if index == 0 { "Outcomes" } else { "" }, &format!("{padded}{figures}   {said}"));
        if !fits {
            page.prose("", words, Some(Ink::Quiet));
        }
    }
    page.gap();
}

fn groups(page: &mut Page, result: &RunResult) {
    const MOST: usize = 20;
    if result.groups.len() < 2 {
        return;
    }
    let is_wide = page.style.width() >= 96;
    let heads: &[&str] = if is_wide {
        &["requests", "p50", "p90", "p99", "max", "not done"]
    } else {
        &["requests", "p50", "p99", "not done"]
    };
    let shown = &result.groups[..result.groups.len().min(MOST)];
    let widest = shown.iter().map(|group| group.name.chars().count()).max().unwrap_or(0);
    let name_width = widest.clamp(8, page.room() - 10 * heads.len());
    let row = |name: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>10}")).collect();
        format!("{:<name_width$}{cells}", shortened(name, name_width))
    };
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let heads = page.style.paint(Ink::Quiet, &row("", &heads));
    page.line("By name", &heads);
    for group in shown {
        let latency = &group.latency_ns;
        let time = |share, nanos| words::percentile(latency, share, nanos);
        let (p50, p90, p99, max) =
            (time(0.5, latency.p50), time(0.9, latency.p90), time(0.99, latency.p99), time(1.0, latency.max));
        let all = count(group.count);
        let not_done = count(group.count - latency.count.min(group.count));
        let cells =
            if is_wide { vec![all, p50, p90, p99, max, not_done] } else { vec![all, p50, p99, not_done] };
        page.line("", &row(&group.name, &cells));
    }
    if let Some(more) = result.groups.len().checked_sub(MOST).filter(|more| *more > 0) {
        page.line("", &format!("and {} in result.json", counted(more as u64, "more name")));
    }
    if let Some(folded) = words::folded(result) {
        page.line("", &folded);
    }
    page.gap();
}

/// The end of a URL tells more than its beginning.
fn shortened(name: &str, width: usize) -> String {
    let name = words::printable(name);
    let length = name.chars().count();
    if length <= width {
        return name;
    }
    let end: String = name.chars().skip(length + 1 - width).collect();
    format!("…{end}")
}

fn generator(page: &mut Page, result: &RunResult) {
    let health = &result.generator;
    let busiest = health.threads.iter().max_by(|a, b| a.cpu_share.total_cmp(&b.cpu_share));
    let waited: u64 = health.threads.iter().map(|thread| thread.run_queue_wait_ns).sum();
    let mut parts = Vec::new();
    if let Some(busiest) = busiest {
        let threads = counted(health.threads.len() as u64, "thread");
        let worked = (busiest.cpu_share - busiest.spun_share).max(0.0);
        let spun = match busiest.spun_share {
            s if s >= 0.001 => format!(", {} spun", words::share(s)),
            _ => String::new(),
        };
        parts.push(format!("{threads}, the busiest {} busy{spun}", words::share(worked)));
    }
    if let Some(cpu) = health.cpu_s_per_million {
        parts.push(format!("{} CPU s per million", words::number(cpu)));
    }
    if let Some(memory) = health.rss_peak_bytes {
        parts.push(format!("{} memory", words::bytes(memory)));
    }
    if busiest.is_some() {
        parts.push(format!("{} waiting for a CPU", words::time(waited)));
    }
    if let Some(steal) = health.steal_share {
        parts.push(format!("{} steal", words::share(steal)));
    }
    if health.late > 0 {
        parts.push(format!("{} left late", counted(health.late, noun(result))));
    }
    let troubles = [
        (health.retransmits, "retransmit"),
        (health.listen_overflows, "listen-queue overflow"),
        (health.dropped, "dropped packet"),
        (health.links_lost, "lost link"),
        (health.throttled, "CPU throttling"),
    ];
    parts.extend(troubles.iter().filter(|(number, _)| *number > 0).map(|(n, noun)| counted(*n, noun)));
    if !parts.is_empty() {
        page.parts("Generator", &parts);
        page.gap();
    }
}

fn thresholds(page: &mut Page, result: &RunResult) {
    for (index, threshold) in result.thresholds.iter().enumerate() {
        let (mark, ink) = if threshold.holds { ("holds ", Ink::Good) } else { ("failed", Ink::Bad) };
        let value = words::threshold_value(threshold);
        let mark = page.style.paint(ink, mark);
        let label = if index == 0 { "Thresholds" } else { "" };
        let expression = words::printable(&threshold.expression);
        let value = format!("({value})");
        let fits = expression.chars().count() + value.chars().count() + 11 <= page.room();
        let mut lines = words::wrap(&expression, page.room() - 8);
        match lines.last_mut().filter(|_| fits) {
            Some(last) => last.push_str(&format!("   {value}")),
            None => lines.push(value),
        }
        for (at, line) in lines.iter().enumerate() {
            match at {
                0 => page.line(label, &format!("{mark}  {line}")),
                _ => page.line("", &format!("        {line}")),
            }
        }
    }
    if !result.thresholds.is_empty() {
        page.gap();
    }
}

/// Just above the verdict, which is about the generator: the word for what the user set.
fn failed_thresholds(page: &mut Page, result: &RunResult) {
    let failed = result.thresholds.iter().filter(|threshold| !threshold.holds).count();
    if failed > 0 {
        let word = page.style.paint(Ink::Bad, &format!("{:<LABEL$}", "FAILED"));
        let all = counted(result.thresholds.len() as u64, "threshold");
        page.raw(&format!("  {word}{failed} of {all} did not hold"));
        page.gap();
    }
}

fn notes(page: &mut Page, result: &RunResult) {
    for note in &result.notes {
        page.prose("Note", note, None);
    }
    for lost in &result.store.lost {
        let text = format!("{} could not be kept: {}", lost.what, lost.why);
        page.prose("Not stored", &text, Some(Ink::Doubtful));
    }
    if !result.notes.is_empty() || !result.store.lost.is_empty() {
        page.gap();
    }
}

fn place(page: &mut Page, result: &RunResult) {
    if result.store.folder.is_empty() {
        return;
    }
    // Never wrapped: it is there to be copied.
    let folder = &result.store.folder;
    let has_report = result.store.kept.iter().any(|name| name == "report.html");
    let place = if has_report { format!("{folder}/report.html") } else { folder.clone() };
    page.line(if has_report { "Report" } else { "Run folder" }, &place);
    page.gap();
}

/// Where else the figures went, and how many got there.
fn sinks(page: &mut Page, result: &RunResult) {
    for (index, sink) in result.sinks.iter().enumerate() {
        let counts = [(sink.rows, "row"), (sink.events, "event")];
        let lost = [(sink.rows_lost, "row"), (sink.events_lost, "event")];
        let mut said: Vec<String> = some(&counts);
        said.extend(some(&lost).into_iter().map(|lost| format!("{lost} lost")));
        let said = if said.is_empty() { "nothing".to_owned() } else { said.join(", ") };
        // Not wrapped: a URL is there to be copied.
        page.line(if index == 0 { "Sent to" } else { "" }, &format!("{}   {said}", sink.url));
    }
    if !result.sinks.is_empty() {
        page.gap();
    }
}

/// Those that are not zero.
fn some(counts: &[(u64, &str)]) -> Vec<String> {
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| words::counted(*count, noun)).collect()
}

/// Those that do not hold, the gravest first. Of a target that could not be reached nothing: the generator is
/// not the matter then.
fn broken_criteria(page: &mut Page, result: &RunResult) {
    if words::unreachable(result).is_some() {
        return;
    }
    let verdict = &result.verdict;
    let mut failing: Vec<&Criterion> = verdict.criteria.iter().filter(|criterion| !criterion.holds).collect();
    failing.sort_by_key(|criterion| std::cmp::Reverse(rank(criterion.severity)));
    gather(&mut failing);
    for (index, criterion) in failing.iter().enumerate() {
        let name = page.style.paint(ink_of(criterion.severity), criterion.name.as_str());
        let said = format!("{}, {}", words::in_unit(criterion.value, &criterion.unit), limit_of(criterion));
        let pad = 18usize.saturating_sub(criterion.name.as_str().chars().count());
        page.raw(&format!("  {:<LABEL$}{name}{:pad$}  {said}", "", ""));
        // Said once, below the last of those that it is for: they stand together.
        if failing.get(index + 1).is_none_or(|next| next.advice != criterion.advice) {
            page.prose("", &criterion.advice, Some(Ink::Quiet));
        }
    }
    if !failing.is_empty() {
        page.gap();
    }
}

fn verdict_word(page: &mut Page, result: &RunResult) {
    let word = result.verdict.word;
    let painted = page.style.paint(ink_of(word), &format!("{:<LABEL$}", word.as_str()));
    let sentence = words::unreachable(result).unwrap_or_else(|| words::verdict(result));
    for (index, line) in words::wrap(&sentence, page.room()).iter().enumerate() {
        page.raw(&format!("  {}{line}", if index == 0 { painted.clone() } else { " ".repeat(LABEL) }));
    }
}

/// Moves criteria with the same advice below the first of them.
fn gather(failing: &mut [&Criterion]) {
    let mut at = 0;
    while at < failing.len() {
        let advice = &failing[at].advice;
        let (first, rest) = (at, &mut failing[at + 1..]);
        rest.sort_by_key(|criterion| criterion.advice != *advice);
        at = first + 1 + rest.iter().take_while(|criterion| criterion.advice == *advice).count();
    }
}

/// `, at most 50.0 µs`: the limit that was broken worst.
fn limit_of(criterion: &Criterion) -> String {
    let limit = match criterion.severity {
        Word::Invalid => criterion.invalid_limit.unwrap_or(criterion.limit),
        _ => criterion.limit,
    };
    words::limit(limit, criterion)
}

fn rank(word: Word) -> u8 {
    match word {
        Word::Valid => 0,
        Word::Degraded => 1,
        Word::Invalid => 2,
    }
}

fn ink_of(word: Word) -> Ink {
    match word {
        Word::Valid => Ink::Good,
        Word::Degraded => Ink::Doubtful,
        Word::Invalid => Ink::Bad,
    }
}
