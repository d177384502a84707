//! How the view looks, for any size of terminal.
//!
//! ```text
//! http://host/ · 1 000/s, even, for 60 s                        12 s · 48 s left
//! VALID so far: the generator kept up
//! rate      1 000/s offered   998/s achieved   open 12
//! net       p50 1.02 ms   p99 2.3 ms   max 9 ms
//! gross     p50 1.03 ms   p99 2.5 ms   max 9 ms    tare p99 200 µs
//! [ charts: latency, heat, rate, lateness, as many as there is room for; else one line of bars ]
//! outcomes  200 11 998   connect.refused 2
//! generator CPU 43 % + 50 % spinning   waited 1 ms for a CPU   0 % steal   0 late
//! space hold   + − rate   q end   ? help
//! ```

use super::View;
use super::keys::HELP;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};
use report::chart::Tone;
use report::chart_text::{Letters, Look, Picture, Room, text_chart};
use report::{count, counted, printable, rate, share, time};
use store::schema::{Criterion, Interval, Word};
use store::{RunResult, Timeline};

/// Charts are drawn where each gets at least this much.
const CHART_ROWS: u16 = 9;
const CHART_COLUMNS: u16 = 50;
/// Where there is no room for all keys.
const SHORT_KEYS: &str = "q end  ? help";
/// In the order in which they get room.
const PICTURES: [Picture; 4] = [Picture::Latency, Picture::Heat, Picture::Rates, Picture::Lateness];

/// Draws all of it.
pub fn draw(frame: &mut Frame, view: &View) {
    let area = frame.area();
    let pen = Pen { has_color: view.about.has_color, letters: view.about.letters };
    let (head, foot) = match &view.update {
        Some(update) => {
            (head(view, &update.result, &update.timeline, pen), foot(&update.result, &update.timeline, pen))
        }
        None => (vec![pen.line(vec![pen.quiet("the first figures appear after a second")])], Vec::new()),
    };
    let keys = keys(view, usize::from(area.width), pen);
    let foot: Vec<Line> = foot.into_iter().chain([keys]).collect();
    let foot_rows = (foot.len() as u16).min(area.height.saturating_sub(1));
    let head_rows = (head.len() as u16).min(area.height - foot_rows);
    put(frame, head, Rect { height: head_rows, ..area });
    // The last line, with the keys, is the last to go.
    let skipped = foot.len() - usize::from(foot_rows);
    put(
        frame,
        foot.into_iter().skip(skipped).collect(),
        Rect { y: area.y + area.height - foot_rows, height: foot_rows, ..area },
    );
    let middle = Rect { y: area.y + head_rows, height: area.height - head_rows - foot_rows, ..area };
    if let Some(update) = &view.update {
        pictures(frame, &update.result, &update.timeline, middle, pen);
    }
    if view.has_help {
        help(frame, view, area, pen);
    }
}

fn put(frame: &mut Frame, lines: Vec<Line<'_>>, area: Rect) {
    frame.render_widget(Paragraph::new(lines), area);
}

/// How text is put down.
#[derive(Clone, Copy)]
struct Pen {
    has_color: bool,
    letters: Letters,
}

impl Pen {
    fn spell(self, text: &str) -> String {
        self.letters.spell(&printable(text))
    }

    fn plain(self, text: impl AsRef<str>) -> Span<'static> {
        Span::raw(self.spell(text.as_ref()))
    }

    fn quiet(self, text: impl AsRef<str>) -> Span<'static> {
        Span::styled(self.spell(text.as_ref()), self.look(Look::Quiet))
    }

    fn strong(self, text: impl AsRef<str>) -> Span<'static> {
        Span::styled(self.spell(text.as_ref()), self.look(Look::Strong))
    }

    fn line(self, spans: Vec<Span<'static>>) -> Line<'static> {
        Line::from(spans)
    }

    /// `name` and what there is to say of it.
    fn named(self, name: &str, said: Vec<String>) -> Line<'static> {
        self.line(vec![self.quiet(format!("{name:<10}")), self.plain(said.join("   "))])
    }

    fn colored(self, style: Style, color: Color) -> Style {
        if self.has_color { style.fg(color) } else { style }
    }

    fn look(self, look: Look) -> Style {
        const COLORS: [Color; 8] = [
            Color::Cyan,
            Color::Magenta,
            Color::Yellow,
            Color::Red,
            Color::Green,
            Color::Blue,
            Color::LightMagenta,
            Color::LightYellow,
        ];
        match look {
            Look::Plain => Style::new(),
            Look::Strong => Style::new().add_modifier(Modifier::BOLD),
            Look::Quiet | Look::Tone(Tone::Quiet) => Style::new().add_modifier(Modifier::DIM),
            Look::Tone(Tone::Color(number)) => {
                self.colored(Style::new(), COLORS[(number.max(1) - 1) % COLORS.len()])
            }
        }
    }

    fn word(self, word: Word) -> Span<'static> {
        let color = match word {
            Word::Valid => Color::Green,
            Word::Degraded => Color::Yellow,
            Word::Invalid => Color::Red,
        };
        Span::styled(word.as_str(), self.colored(self.look(Look::Strong), color))
    }
}

fn head(view: &View, result: &RunResult, timeline: &Timeline, pen: Pen) -> Vec<Line<'static>> {
    let last = timeline.bins.last().map(|bin| bin.row.clone()).unwrap_or_default();
    let elapsed = last.t_s + last.length_s;
    let mut lines = vec![
        pen.line(vec![pen.strong(&result.target), pen.quiet("  "), pen.plain(clock(view, elapsed))]),
        pen.line(vec![pen.quiet(&result.load)]),
    ];
    lines.extend(view.about.page.as_ref().map(|page| pen.line(vec![pen.quiet(format!("live page {page}"))])));
    lines.push(verdict(view, result, elapsed, pen));
    lines.push(pen.named("rate", rates(&last)));
    if result.packets.is_some() {
        lines.push(pen.named("latency", latencies(&last)));
    } else {
        lines.extend([pen.named("net", net(&last)), pen.named("gross", gross(&last))]);
    }
    lines
}

/// `12 s, 48 s left`.
fn clock(view: &View, elapsed_s: f64) -> String {
    let seconds = |s: f64| match s.round() as u64 {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02}:{:02} h", s / 3600, s / 60 % 60, s % 60),
    };
    let left = view.about.whole.map(|whole| (whole.as_secs_f64() - elapsed_s).max(0.0));
    let left = left.map_or_else(String::new, |left| format!(", {} left", seconds(left)));
    let phase = if elapsed_s <= view.about.warmup.as_secs_f64() { ", warm-up" } else { "" };
    format!("{}{left}{phase}", seconds(elapsed_s))
}

/// The verdict so far, and the first thing that is wrong.
fn verdict(view: &View, result: &RunResult, elapsed_s: f64, pen: Pen) -> Line<'static> {
    if elapsed_s <= view.about.warmup.as_secs_f64() {
        return pen.line(vec![pen.quiet("the warm-up is not judged")]);
    }
    let broken = |criterion: &&Criterion| !criterion.holds && criterion.severity == result.verdict.word;
    let said = match result.verdict.criteria.iter().find(broken) {
        Some(criterion) if result.verdict.word != Word::Valid => format!(" so far: {}", criterion.advice),
        _ => " so far: the generator keeps up".to_owned(),
    };
    pen.line(vec![pen.word(result.verdict.word), pen.plain(said)])
}

fn rates(row: &Interval) -> Vec<String> {
    let per_second = |n: u64| if row.length_s > 0.0 { n as f64 / row.length_s } else { 0.0 };
    let mut said = vec![
        format!("{} offered", rate(per_second(row.offered))),
        format!("{} achieved", rate(per_second(row.done + row.warmup))),
        format!("open {}", count(row.open)),
    ];
    let bad = row.failed + row.missed;
    if bad > 0 {
        said.push(format!("{} failed or missed", rate(per_second(bad))));
    }
    said
}

fn named_time(name: &str, nanos: Option<u64>) -> String {
    format!("{name} {}", nanos.map_or("–".to_owned(), time))
}

/// Of frames: the time, if there is any, and the lateness.
fn latencies(row: &Interval) -> Vec<String> {
    vec![
        named_time("p50", row.latency_p50_ns),
        named_time("p99", row.latency_p99_ns),
        named_time("max", row.latency_max_ns),
        named_time("lateness p99", row.lateness_p99_ns),
    ]
}

/// What the target and the network took.
fn net(row: &Interval) -> Vec<String> {
    vec![
        named_time("p50", row.net_p50_ns),
        named_time("p99", row.net_p99_ns),
        named_time("max", row.net_max_ns),
    ]
}

/// The same with the generator's own part, and that part.
fn gross(row: &Interval) -> Vec<String> {
    vec![
        named_time("p50", row.latency_p50_ns),
        named_time("p99", row.latency_p99_ns),
        named_time("max", row.latency_max_ns),
        named_time("tare p99", row.tare_p99_ns),
    ]
}

fn foot(result: &RunResult, timeline: &Timeline, pen: Pen) -> Vec<Line<'static>> {
    let mut outcomes: Vec<_> = result.outcomes.iter().collect();
    outcomes.sort_by_key(|outcome| std::cmp::Reverse(outcome.count));
    let said = |outcome: &&store::schema::OutcomeCount| {
        let name = if outcome.key.is_empty() { outcome.class.as_str() } else { &outcome.key };
        format!("{name} {}", count(outcome.count))
    };
    let outcomes: Vec<String> = outcomes.iter().take(8).map(said).collect();
    let row = timeline.bins.last().map(|bin| bin.row.clone()).unwrap_or_default();
    vec![
        pen.named("outcomes", if outcomes.is_empty() { vec!["none yet".to_owned()] } else { outcomes }),
        pen.named("generator", generator(&row, result)),
    ]
}

/// How the generator does: its threads' CPU (work, then spinning), and what kept them from running.
fn generator(row: &Interval, result: &RunResult) -> Vec<String> {
    let cpu = |busy: f64, spun: f64| match spun {
        0.0 => share(busy),
        spun => format!("{} + {} spinning", share((busy - spun).max(0.0)), share(spun)),
    };
    let whole = |part: f64| (part * 100.0).round() / 100.0;
    let threads = row.threads.iter().map(|thread| cpu(whole(thread.cpu_share), whole(thread.spun_share)));
    let mut said = match row.threads.len() {
        0 => vec![format!("CPU {}", cpu(whole(row.cpu_share), whole(row.spun_share)))],
        1..=3 => vec![format!("CPU {}", threads.collect::<Vec<_>>().join(", "))],
        many => {
            vec![format!("busiest of {many} threads {}", cpu(whole(row.cpu_share), whole(row.spun_share)))]
        }
    };
    said.extend(row.run_queue_wait_ns.map(|wait| format!("waited {} for a CPU", time(wait))));
    said.extend(row.steal_share.map(|steal| format!("{} steal", share(whole(steal)))));
    said.push(format!("{} late", counted(result.generator.late, "request")));
    said
}

/// What was said last, and the keys: all of them if there is room, else how to end and where help is.
fn keys(view: &View, columns: usize, pen: Pen) -> Line<'static> {
    let go_on = if view.is_paused { "go on" } else { "hold" };
    let steer = if view.about.fixed_rate.is_none() { "   + - rate" } else { "" };
    let held = if view.is_paused { "HELD  " } else { "" };
    let message = pen.spell(&view.message);
    let gap = if message.is_empty() { 0 } else { 3 };
    let said = held.len() + message.chars().count() + gap;
    let all = format!("space {go_on}{steer}   q end   ? help");
    let keys = if said + all.len() <= columns { all } else { SHORT_KEYS.to_owned() };
    let room = columns.saturating_sub(held.len() + keys.len() + gap);
    let message: String = message.chars().take(room).collect();
    pen.line(vec![pen.strong(held), Span::raw(message), Span::raw(" ".repeat(gap)), pen.quiet(keys)])
}

/// As many charts as there is room for, in one or two columns; in little room two lines of bars.
fn pictures(frame: &mut Frame, result: &RunResult, timeline: &Timeline, area: Rect, pen: Pen) {
    let across = if area.width >= 2 * CHART_COLUMNS { 2 } else { 1 };
    let down = (area.height / CHART_ROWS).min(4 / across);
    if down == 0 || area.width < CHART_COLUMNS {
        return put(frame, bars(timeline, area, pen), area);
    }
    let (width, height) = (area.width / across, (area.height / down).min(20));
    for (index, picture) in PICTURES.into_iter().take(usize::from(across * down)).enumerate() {
        let (column, row) = (index as u16 % across, index as u16 / across);
        let place = Rect { x: area.x + column * width, y: area.y + row * height, width, height };
        let room = Room {
            columns: usize::from(width.saturating_sub(1)),
            rows: usize::from(height),
            letters: pen.letters,
        };
        let rows = text_chart(picture, result, timeline, room).into_iter();
        let line = |row: report::chart_text::Row| {
            Line::from(
                row.into_iter()
                    .map(|piece| Span::styled(piece.text, pen.look(piece.look)))
                    .collect::<Vec<_>>(),
            )
        };
        put(frame, rows.map(line).collect(), place);
    }
}

/// One figure of an interval.
type Of = fn(&Interval) -> Option<u64>;

/// The last seconds' net latency as bars, p50 and p99 to one logarithmic scale; of a run without net its
/// latency.
fn bars(timeline: &Timeline, area: Rect, pen: Pen) -> Vec<Line<'static>> {
    let room = usize::from(area.width.saturating_sub(10)).max(1);
    let shown = &timeline.bins[timeline.bins.len().saturating_sub(room)..];
    let kinds: [(&str, Of, usize); 2] = [
        ("p99", |row| row.net_p99_ns.or(row.latency_p99_ns), 3),
        ("p50", |row| row.net_p50_ns.or(row.latency_p50_ns), 1),
    ];
    let all = shown.iter().flat_map(|bin| kinds.iter().filter_map(|(_, of, _)| of(&bin.row)));
    let (low, high) = all.fold((u64::MAX, 1), |(low, high), nanos| (low.min(nanos.max(1)), high.max(nanos)));
    let steps: &[char] = match pen.letters {
        Letters::Unicode => &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
        Letters::Ascii => &['_', '.', '-', '=', '*', '#'],
    };
    let bar = |nanos: Option<u64>| {
        let Some(nanos) = nanos else { return ' ' };
        let span = (high as f64 / low as f64).ln().max(1e-9);
        let part = (nanos.max(1) as f64 / low as f64).ln() / span;
        steps[((part * (steps.len() - 1) as f64).round() as usize).min(steps.len() - 1)]
    };
    let line = |(name, of, tone): (&str, Of, usize)| {
        let text: String = shown.iter().map(|bin| bar(of(&bin.row))).collect();
        pen.line(vec![
            pen.quiet(format!("{name:<10}")),
            Span::styled(text, pen.look(Look::Tone(Tone::Color(tone)))),
        ])
    };
    kinds.into_iter().map(line).collect()
}

fn help(frame: &mut Frame, view: &View, area: Rect, pen: Pen) {
    let mut lines: Vec<Line> = HELP
        .iter()
        .map(|(key, does)| pen.line(vec![pen.strong(format!(" {key:<7}")), pen.plain(*does)]))
        .collect();
    if let Some(why) = &view.about.fixed_rate {
        lines.push(pen.line(vec![pen.quiet(format!(" the rate stays: {why}"))]));
    }
    let height = (lines.len() as u16).min(area.height);
    let place = Rect { y: area.y + (area.height - height) / 2, height, ..area };
    frame.render_widget(Clear, place);
    put(frame, lines, place);
}

#[cfg(test)]
mod tests;
