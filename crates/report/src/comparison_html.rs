//! A comparison as one HTML file: what was found, and the runs over each other, one colour a run.

use crate::chart::{Axis, Body, Chart, Point, Scale, Series, Tone, Unit};
use crate::charts;
use crate::comparison_words as said;
use crate::html::page_shell;
use crate::markup::escape;
use compare::{Compared, Comparison, Pair};
use std::fmt::{Result, Write};
use store::schema::Interval;
use store::{Curve, Timeline};

/// A run that is drawn.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// `A 7f3a`; one that stands for several says so.
    pub name: String,
    /// Which colour it has, from 1: that of its run, or of its side where there are more runs than colours.
    pub color: usize,
    pub curve: Curve,
    /// The curve is of net; otherwise of the latency, as are those it is beside.
    pub is_net: bool,
    pub timeline: Timeline,
}

/// The whole page. `by_percentile` may have fewer curves than there are runs over time: trials that were added
/// up.
pub fn comparison_html(comparison: &Comparison, by_percentile: &[Drawn], over_time: &[Drawn]) -> String {
    let mut main = String::new();
    // Writing to a String does not fail.
    let _ = write(&mut main, comparison, by_percentile, over_time);
    let labels: Vec<&str> = comparison.sides.iter().map(|side| side.label.as_str()).collect();
    page_shell(&format!("{} · tare compare", labels.join(" and ")), &main, "")
}

fn write(out: &mut String, comparison: &Comparison, by_percentile: &[Drawn], over_time: &[Drawn]) -> Result {
    head(out, comparison)?;
    for pair in &comparison.pairs {
        writeln!(out, "<section><h2>{} and {}</h2>", escape(&pair.a), escape(&pair.b))?;
        for (at, sentence) in said::conclusion(pair).iter().enumerate() {
            let class = if at == 0 { "note" } else { "soft note" };
            writeln!(out, "<p class=\"{class}\">{}</p>", escape(sentence))?;
        }
        table(out, pair)?;
        if let Some(method) = said::method(comparison) {
            writeln!(out, "<p class=\"soft note\">{}</p>", escape(&method))?;
        }
        writeln!(out, "</section>")?;
    }
    writeln!(out, "<section><h2>Latency</h2>")?;
    out.push_str(&percentiles(by_percentile).html());
    out.push_str(&p99(over_time).html());
    writeln!(out, "</section>\n<section><h2>Rate</h2>")?;
    out.push_str(&rate(over_time).html());
    writeln!(out, "</section>")?;
    runs(out, comparison)
}

fn head(out: &mut String, comparison: &Comparison) -> Result {
    let labels: Vec<String> = comparison.sides.iter().map(|side| escape(&side.label)).collect();
    writeln!(out, "<header><h1>{}, compared</h1>", labels.join(" and "))?;
    for refused in &comparison.passed_over {
        writeln!(out, "<p class=\"fails\">Compared anyway: {}</p>", escape(refused))?;
    }
    for warning in &comparison.warnings {
        writeln!(out, "<p class=\"doubt\">{}</p>", escape(warning))?;
    }
    if let Some(slower) = &comparison.slower {
        let (of_each, notes) = said::slower(comparison, slower);
        for (sentence, fails) in &of_each {
            let (class, word) = if *fails { ("fails", "FAILED") } else { ("holds", "holds") };
            writeln!(out, "<p class=\"{class}\">{word}: {}</p>", escape(sentence))?;
        }
        for note in &notes {
            writeln!(out, "<p class=\"soft note\">{}</p>", escape(note))?;
        }
    }
    writeln!(out, "</header>")
}

fn runs(out: &mut String, comparison: &Comparison) -> Result {
    writeln!(out, "<section><h2>What is compared</h2><div class=\"scroll\"><table><thead><tr>")?;
    for head in ["", "run", "started", "verdict"] {
        write!(out, "<th scope=\"col\">{head}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for side in &comparison.sides {
        for run in &side.runs {
            let word = run.verdict.as_str();
            writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{word}</td></tr>",
                escape(&side.label),
                escape(&run.run),
                escape(&run.started_at)
            )?;
        }
    }
    writeln!(out, "</tbody></table></div>")?;
    writeln!(out, "</section>")
}

fn table(out: &mut String, pair: &Pair) -> Result {
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figures of both\"><table><thead><tr>"
    )?;
    let heads = ["figure", &pair.a, &pair.b, "change", "where it lies", "p", "found"];
    for (at, head) in heads.into_iter().enumerate() {
        let class = if (1..6).contains(&at) { " class=\"n\"" } else { "" };
        write!(out, "<th scope=\"col\"{class}>{}</th>", escape(head))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    pair.figures.iter().try_for_each(|figure| row(out, figure))?;
    writeln!(out, "</tbody></table></div>")
}

fn row(out: &mut String, figure: &Compared) -> Result {
    let class = match figure.is_worse() {
        Some(true) => "fails",
        Some(false) => "holds",
        None => "soft",
    };
    write!(
        out,
        "<tr><th scope=\"row\" title=\"{}\"><code>{}</code></th>",
        said::better(figure),
        figure.name
    )?;
    let [a, b] = said::values(figure);
    let cells = [
        a,
        b,
        figure.change.map_or("–".to_owned(), said::change),
        said::interval(figure),
        figure.p_adjusted.map_or(String::new(), said::probability),
    ];
    for cell in cells {
        write!(out, "<td class=\"n\">{}</td>", escape(&cell))?;
    }
    writeln!(out, "<td class=\"{class}\">{}</td></tr>", said::finding(figure))
}

fn percentiles(drawn: &[Drawn]) -> Chart {
    let curves: Vec<(&str, Tone, &Curve)> =
        drawn.iter().map(|drawn| (drawn.name.as_str(), Tone::Color(drawn.color), &drawn.curve)).collect();
    let title = if are_net(drawn) {
        "Net latency by percentile (what the targets took)"
    } else {
        "Latency by percentile"
    };
    let caption = if are_net(drawn) {
        "The share of requests that took no longer than a time, without the generator's own part. Where the \
         lines diverge, the runs differ; where several lines of one side diverge as much, that is noise."
    } else {
        "The share of responses that took no longer than a time, from when requests were due. Where the lines \
         diverge, the runs differ; where several lines of one side diverge as much, that is noise."
    };
    charts::percentiles("percentiles", title, caption, &curves)
}

fn are_net(drawn: &[Drawn]) -> bool {
    !drawn.is_empty() && drawn.iter().all(|drawn| drawn.is_net)
}

fn p99(drawn: &[Drawn]) -> Chart {
    let is_net = are_net(drawn);
    let of = |row: &Interval| if is_net { row.net_p99_ns } else { row.latency_p99_ns };
    let series = series(drawn, |row| of(row).map(|nanos| nanos as f64));
    let y = Scale::log(series.iter().flat_map(Series::values));
    let title = if is_net { "Net latency over time, p99" } else { "Latency over time, p99" };
    over_time("p99", title, "From the beginning of each run.", Unit::Time, y, series)
}

fn rate(drawn: &[Drawn]) -> Chart {
    let series =
        series(drawn, |row| (row.length_s > 0.0).then(|| (row.done + row.warmup) as f64 / row.length_s));
    let y = Scale::linear(series.iter().flat_map(Series::values).fold(0.0, f64::max));
    let title = "Achieved rate (requests per second)";
    over_time("rate", title, "From the beginning of each run.", Unit::PerSecond, y, series)
}

fn series(drawn: &[Drawn], of: impl Fn(&Interval) -> Option<f64>) -> Vec<Series> {
    let one = |drawn: &Drawn| {
        let points = drawn.timeline.bins.iter().map(|bin| Point {
            from: bin.row.t_s,
            to: bin.row.t_s + bin.row.length_s,
            y: of(&bin.row),
        });
        Series::new(drawn.name.clone(), Tone::Color(drawn.color), points.collect())
    };
    drawn.iter().map(one).collect()
}

fn over_time(id: &str, title: &str, caption: &str, unit: Unit, y: Scale, series: Vec<Series>) -> Chart {
    let to = series.iter().flat_map(|series| &series.points).map(|point| point.to).fold(0.0, f64::max);
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::Time { from: 0.0, to },
        y,
        unit,
        body: Body::Lines(series),
        ..charts::blank()
    }
}
