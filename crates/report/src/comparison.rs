//! A comparison as text for the terminal, as JSON, and as a table for other programs.

use crate::comparison_words as said;
use crate::style::{Ink, Style};
use crate::words;
use compare::{Compared, Comparison, Finding, Pair};
use std::fmt::Write;

const LABEL: usize = 13;
/// Figure, A, B, change, its interval, p; what was found comes last.
const HEADS: [&str; 6] = ["", "", "", "change", "where it lies", "p"];

/// All of it, ending with a newline.
pub fn comparison(comparison: &Comparison, style: Style) -> String {
    let mut text = String::from("\n");
    for side in &comparison.sides {
        for (at, run) in side.runs.iter().enumerate() {
            let label = if at == 0 { side.label.as_str() } else { "" };
            line(
                &mut text,
                style,
                label,
                &format!("{}   {}", words::printable(&run.run), run.verdict.as_str()),
            );
        }
    }
    for refused in &comparison.passed_over {
        prose(&mut text, style, "Anyway", refused, Some(Ink::Bad));
    }
    for warning in &comparison.warnings {
        prose(&mut text, style, "Warning", warning, Some(Ink::Doubtful));
    }
    for pair in &comparison.pairs {
        text.push('\n');
        table(&mut text, style, pair);
        text.push('\n');
        for (at, sentence) in said::conclusion(pair).iter().enumerate() {
            let label = if at == 0 { format!("{} and {}", pair.a, pair.b) } else { String::new() };
            prose(&mut text, style, &label, sentence, (at == 0).then_some(ink(pair)));
        }
    }
    if let Some(method) = said::method(comparison) {
        text.push('\n');
        prose(&mut text, style, "", &method, Some(Ink::Quiet));
    }
    if let Some(slower) = &comparison.slower {
        text.push('\n');
        let (of_each, notes) = said::slower(comparison, slower);
        for (sentence, fails) in &of_each {
            let (label, ink) = if *fails { ("FAILED", Ink::Bad) } else { ("holds", Ink::Good) };
            prose(&mut text, style, label, sentence, Some(ink));
        }
        notes.iter().for_each(|note| prose(&mut text, style, "", note, Some(Ink::Quiet)));
    }
    text
}

/// The whole comparison, indented, ending with a newline.
pub fn comparison_json(comparison: &Comparison) -> String {
    serde_json::to_string_pretty(comparison).expect("a comparison has only keys that are strings") + "\n"
}

/// One line for each figure of each pair, with a head line. What is not known is empty.
pub fn comparison_csv(comparison: &Comparison) -> String {
    let mut text = String::from(
        "a,b,figure,unit,a_trials,b_trials,a_value,b_value,change,change_low,change_high,test,p,p_adjusted,effect,finding,trials_for_5_percent,a_bounds,b_bounds\n",
    );
    for pair in &comparison.pairs {
        for figure in &pair.figures {
            let or_nothing = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let (low, high) = figure.change_interval.unzip();
            let cells = [
                pair.a.clone(),
                pair.b.clone(),
                figure.name.to_owned(),
                figure.unit.to_owned(),
                figure.a_trials.len().to_string(),
                figure.b_trials.len().to_string(),
                figure.a.to_string(),
                figure.b.to_string(),
                or_nothing(figure.change),
                or_nothing(low),
                or_nothing(high),
                word(figure.test),
                or_nothing(figure.p),
                or_nothing(figure.p_adjusted),
                or_nothing(figure.effect.filter(|effect| effect.is_finite())),
                word(figure.finding),
                figure.trials_for_5_percent.map_or(String::new(), |trials| trials.to_string()),
                figure.a_bounds.to_string(),
                figure.b_bounds.to_string(),
            ];
            text.push_str(&cells.join(","));
            text.push('\n');
        }
    }
    text
}

/// As JSON has it, without quotes.
fn word(of: impl serde::Serialize) -> String {
    serde_json::to_value(of).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn line(text: &mut String, style: Style, label: &str, said: &str) {
    let label = style.paint(Ink::Quiet, &format!("{label:<LABEL$}"));
    text.push_str(format!("  {label}{said}").trim_end());
    text.push('\n');
}

fn prose(text: &mut String, style: Style, label: &str, said: &str, ink: Option<Ink>) {
    for (at, part) in words::wrap(said, style.width() - LABEL - 2).iter().enumerate() {
        let part = ink.map_or_else(|| part.clone(), |ink| style.paint(ink, part));
        line(text, style, if at == 0 { label } else { "" }, &part);
    }
}

fn table(text: &mut String, style: Style, pair: &Pair) {
    let mut heads = HEADS.map(str::to_owned);
    (heads[1], heads[2]) = (pair.a.clone(), pair.b.clone());
    // Without a test there is no interval and no p.
    let tested = pair.figures.iter().any(|figure| figure.p.is_some());
    let rows: Vec<[String; 6]> = pair.figures.iter().map(cells).collect();
    let mut widths = heads.clone().map(|head| head.chars().count());
    for row in &rows {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = (*width).max(cell.chars().count()));
    }
    let joined = |cells: &[String; 6]| {
        let mut joined = format!("  {:<width$}", cells[0], width = widths[0].max(LABEL));
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate().skip(1) {
            if tested || at < 4 {
                write!(joined, "  {cell:>width$}").expect("a String takes any text");
            }
        }
        joined
    };
    text.push_str(style.paint(Ink::Quiet, joined(&heads).trim_end()).as_str());
    text.push('\n');
    for (figure, row) in pair.figures.iter().zip(&rows) {
        let found = if tested { said::finding(figure) } else { "" };
        let found = match ink_of(figure) {
            Some(ink) => style.paint(ink, found),
            None => found.to_owned(),
        };
        text.push_str(format!("{}  {found}", joined(row)).trim_end());
        text.push('\n');
    }
}

fn cells(figure: &Compared) -> [String; 6] {
    let [a, b] = said::values(figure);
    [
        figure.name.to_owned(),
        a,
        b,
        figure.change.map_or("–".to_owned(), said::change),
        said::interval(figure),
        figure.p_adjusted.map_or(String::new(), said::probability),
    ]
}

fn ink_of(figure: &Compared) -> Option<Ink> {
    match figure.is_worse() {
        Some(true) => Some(Ink::Bad),
        Some(false) => Some(Ink::Good),
        None => None,
    }
}

fn ink(pair: &Pair) -> Ink {
    let worse = || pair.figures.iter().filter_map(Compared::is_worse);
    let unknown = pair.figures.iter().all(|figure| figure.finding == Finding::NoConfidence);
    match (worse().any(|worse| worse), worse().any(|worse| !worse)) {
        _ if unknown => Ink::Doubtful,
        (true, _) => Ink::Bad,
        (false, true) => Ink::Good,
        (false, false) => Ink::Strong,
    }
}
