//! A group of trials as text for the terminal, as JSON, and as a page.

use crate::comparison;
use crate::html::page_shell;
use crate::markup::escape;
use crate::style::{Ink, Style};
use crate::words;
use compare::{Group, GroupSide, HEADLINES, Stated, Told, UntilTold, Weighed};
use std::fmt::Write;
use store::schema::Word;

const LABEL: usize = 22;
/// What a trial's own line shows of it: the first few that it has.
const OF_ONE: [&str; 9] = [
    "rate.achieved",
    "net.p99",
    "latency.p50",
    "latency.p99",
    "arrived.one_way.p50",
    "arrived.gap_error.p99",
    "gap_error.p99",
    "lateness.p99",
    "arrived.loss",
];
const MOST_OF_ONE: usize = 4;

/// `trial 3 of 10  A  VALID  200/s  latency.p50 2.10 ms  …`, without a newline.
pub fn trial_line(of: &str, label: &str, weighed: &Weighed, style: Style) -> String {
    let ink = match weighed.verdict {
        Word::Valid => Ink::Good,
        Word::Degraded => Ink::Doubtful,
        Word::Invalid => Ink::Bad,
    };
    let mut line = format!("  {}", style.paint(Ink::Quiet, of));
    if !label.is_empty() {
        line += &format!("  {label}");
    }
    line += &format!("  {}", style.paint(ink, weighed.verdict.as_str()));
    if weighed.partial {
        line += "  cut short";
    }
    let shown = HEADLINES.iter().filter(|headline| OF_ONE.contains(&headline.name)).filter_map(|headline| {
        let least = if weighed.is_bound(headline) { "≥ " } else { "" };
        let value = format!("{least}{}", words::in_unit(weighed.value(headline)?, headline.unit));
        Some(if headline.unit == "/s" { value } else { format!("{} {value}", headline.name) })
    });
    shown.take(MOST_OF_ONE).for_each(|shown| line += &format!("  {shown}"));
    if let Some(cut) = weighed.warm_up.as_ref().ok().filter(|cut| **cut > 0.0) {
        line += &format!("  (without a warm-up of {}, found by MSER-5)", words::seconds(*cut));
    }
    line
}

/// What the group came to, ending with a newline.
pub fn trials(group: &Group, style: Style) -> String {
    let mut text = String::from("\n");
    for side in &group.sides {
        head(&mut text, group, side, style);
        for figure in &side.figures {
            prose(
                &mut text,
                style,
                figure.name,
                &stated(figure),
                figure.claim.is_err().then_some(Ink::Quiet),
            );
        }
        text.push('\n');
    }
    if let Some(until) = &group.until {
        let ink = if until.reached { Ink::Good } else { Ink::Doubtful };
        until_words(until).iter().for_each(|said| prose(&mut text, style, "until", said, Some(ink)));
        text.push('\n');
    }
    if let Some(why) = &group.not_compared {
        prose(&mut text, style, "Not compared", why, Some(Ink::Bad));
    }
    if let Some(comparison) = &group.comparison {
        text.push_str(comparison::comparison(comparison, style).trim_start_matches('\n'));
    }
    text
}

/// The whole group, indented, ending with a newline.
pub fn trials_json(group: &Group) -> String {
    serde_json::to_string_pretty(group).expect("a group has only keys that are strings") + "\n"
}

fn head(text: &mut String, group: &Group, side: &GroupSide, style: Style) {
    let label = if side.label.is_empty() { "trials" } else { side.label.as_str() };
    prose(text, style, label, &counted(side), Some(Ink::Strong));
    prose(text, style, "command", &side.command, Some(Ink::Quiet));
    if group.partial {
        prose(text, style, "", "ended early: these are the trials so far", Some(Ink::Bad));
    }
    for warm_up in warm_ups(&side.trials) {
        prose(text, style, "warm-up", &warm_up, Some(Ink::Quiet));
    }
}

/// `10 trials; 2 are INVALID and excluded from intervals`.
fn counted(side: &GroupSide) -> String {
    let mut said = words::counted(side.trials.len() as u64, "trial");
    let be = |count: usize| if count == 1 { "is" } else { "are" };
    if side.invalid > 0 {
        said += &format!("; {} {} INVALID and excluded from intervals", side.invalid, be(side.invalid));
    }
    if side.cut_short > 0 {
        said += &format!("; {} {} cut short and excluded from intervals", side.cut_short, be(side.cut_short));
    }
    said
}

/// What MSER-5 cut, or why it could not look.
fn warm_ups(trials: &[Told]) -> Vec<String> {
    let cuts: Vec<String> =
        trials.iter().filter_map(|trial| trial.warm_up_s).map(|cut| format!("{cut:.0}")).collect();
    let mut said = Vec::new();
    if cuts.iter().any(|cut| cut != "0") {
        said.push(format!("MSER-5 left out the first {} s of the trials", cuts.join(", ")));
    } else if !cuts.is_empty() {
        said.push("MSER-5 found none".to_owned());
    }
    if let Some(refusal) = trials.iter().find_map(|trial| trial.no_warm_up.as_ref()) {
        let some = if cuts.is_empty() { "" } else { " in some" };
        said.push(format!("not looked for{some}: {refusal}"));
    }
    said
}

/// The figure's claim, and beside a refused one what the trials had.
fn stated(figure: &Stated) -> String {
    let at_least = if figure.is_bound { "≥ " } else { "" };
    let show = |value: f64| format!("{at_least}{}", words::in_unit(value, figure.unit));
    let told = stats::told(&figure.claim, show);
    let least = figure.trials.iter().copied().reduce(f64::min);
    let most = figure.trials.iter().copied().reduce(f64::max);
    match (&figure.claim, least, most) {
        (Err(_), Some(least), Some(most)) if least < most => {
            format!("{} to {} in the trials; {told}", show(least), show(most))
        }
        (Err(_), Some(least), _) => format!("{}; {told}", show(least)),
        _ => told,
    }
}

fn until_words(until: &UntilTold) -> Vec<String> {
    let asked = format!("{} ±{}", until.figure, words::share(until.share));
    let looks = words::counted(until.looks.len() as u64, "look");
    let of_side = |side: &compare::UntilSide| {
        let label = if side.label.is_empty() { String::new() } else { format!("{}: ", side.label) };
        let show = |value| words::in_unit(value, until.unit);
        match side.claim {
            Err(stats::Refusal::NoSpread { value, count }) if until.reached => format!(
                "{label}{} in all of {}: it does not vary, so there is no interval, and more trials would not \
                 give one",
                show(value),
                words::counted(count as u64, "trial")
            ),
            ref claim => format!("{label}{}", stats::told(claim, show)),
        }
    };
    let mut said = vec![match (until.reached, until.looks.last()) {
        (true, Some(trials)) => {
            format!("{asked}: reached with {}, after {looks}", words::counted(*trials as u64, "trial"))
        }
        _ => format!("{asked}: NOT reached within {}", words::counted(until.most as u64, "trial")),
    }];
    said.extend(until.sides.iter().map(of_side));
    said
}

fn prose(text: &mut String, style: Style, label: &str, said: &str, ink: Option<Ink>) {
    for (at, part) in words::wrap(said, style.width().saturating_sub(LABEL + 2)).iter().enumerate() {
        let part = ink.map_or_else(|| part.clone(), |ink| style.paint(ink, part));
        let label = style.paint(Ink::Quiet, &format!("{:<LABEL$}", if at == 0 { label } else { "" }));
        text.push_str(format!("  {label}{part}").trim_end());
        text.push('\n');
    }
}

/// The group as one page.
pub fn trials_html(group: &Group) -> String {
    let mut main = String::new();
    // Writing to a String does not fail.
    let _ = page(&mut main, group);
    page_shell(&format!("{} · tare trials", group.name), &main, "")
}

fn page(out: &mut String, group: &Group) -> std::fmt::Result {
    writeln!(out, "<header><h1>{}</h1>", escape(&group.name))?;
    writeln!(out, "<p class=\"soft note\">Begun {}</p>", escape(&group.started_at))?;
    if group.partial {
        writeln!(out, "<p class=\"doubt\">Ended early: these are the trials so far.</p>")?;
    }
    if let Some(order) = &group.order {
        writeln!(out, "<p class=\"soft note\">Sides took turns: {}</p>", escape(order))?;
    }
    if let Some(until) = &group.until {
        let class = if until.reached { "holds" } else { "doubt" };
        for said in until_words(until) {
            writeln!(out, "<p class=\"{class}\">until {}</p>", escape(&said))?;
        }
    }
    writeln!(out, "</header>")?;
    group.sides.iter().try_for_each(|side| section(out, side))?;
    if let Some(why) = &group.not_compared {
        writeln!(out, "<section><h2>Side by side</h2><p>not compared: {}</p></section>", escape(why))?;
    }
    if let Some(comparison) = &group.comparison {
        let text = comparison::comparison(comparison, Style::PLAIN);
        writeln!(out, "<section><h2>Side by side</h2><pre>{}</pre></section>", escape(&text))?;
    }
    Ok(())
}

fn section(out: &mut String, side: &GroupSide) -> std::fmt::Result {
    let label = if side.label.is_empty() { "Figures" } else { side.label.as_str() };
    writeln!(out, "<section><h2>{}</h2><p class=\"note\">{}</p>", escape(label), escape(&counted(side)))?;
    writeln!(out, "<p class=\"soft note\"><code>{}</code></p>", escape(&side.command))?;
    for warm_up in warm_ups(&side.trials) {
        writeln!(out, "<p class=\"soft note\">warm-up: {}</p>", escape(&warm_up))?;
    }
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figures of all trials\"><table><thead><tr><th \
         scope=\"col\">figure</th><th scope=\"col\">where it lies</th></tr></thead><tbody>"
    )?;
    for figure in &side.figures {
        let class = if figure.claim.is_ok() { "" } else { " class=\"soft\"" };
        writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td{class}>{}</td></tr>",
            figure.name,
            escape(&stated(figure))
        )?;
    }
    writeln!(out, "</tbody></table></div>")?;
    each(out, side)?;
    writeln!(out, "</section>")
}

/// A row for each trial, with the figures that the intervals are of.
fn each(out: &mut String, side: &GroupSide) -> std::fmt::Result {
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Trials\"><table><thead><tr><th scope=\"col\">trial</th>\
         <th scope=\"col\">run</th><th scope=\"col\">verdict</th><th scope=\"col\" class=\"n\">warm-up cut</th></tr></thead><tbody>"
    )?;
    for trial in &side.trials {
        let cut = trial.warm_up_s.map_or("–".to_owned(), words::seconds);
        let short = if trial.partial { ", cut short" } else { "" };
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}{short}</td><td class=\"n\">{}</td></tr>",
            trial.number,
            escape(&trial.run),
            trial.verdict.as_str(),
            escape(&cut)
        )?;
    }
    writeln!(out, "</tbody></table></div>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{Refusal, students};

    fn group(figures: Vec<Stated>) -> Group {
        let told = |number, cut| Told {
            number,
            run: format!("run-{number}"),
            folder: String::new(),
            started_at: String::new(),
            verdict: Word::Valid,
            partial: false,
            exit_status: 0,
            warm_up_s: Some(cut),
            no_warm_up: None,
        };
        let side = GroupSide {
            label: String::new(),
            command: "tare http <url>".into(),
            trials: vec![told(1, 0.0), told(2, 5.0)],
            invalid: 1,
            cut_short: 0,
            figures,
        };
        Group {
            schema: "tare.trials/1",
            name: "g".into(),
            started_at: "now".into(),
            partial: false,
            order: None,
            cool_down_s: 0.0,
            sides: vec![side],
            until: None,
            comparison: None,
            not_compared: None,
        }
    }

    #[test]
    fn a_figure_that_never_moved_is_told_with_its_value() {
        let claim = Err(Refusal::NoSpread { value: 1_000.0, count: 5 });
        let mut group = group(Vec::new());
        group.until = Some(UntilTold {
            figure: "rate.achieved",
            unit: "/s",
            share: 0.02,
            looks: vec![5],
            most: 30,
            reached: true,
            sides: vec![compare::UntilSide { label: String::new(), claim }],
        });
        let text = trials(&group, Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("reached with 5 trials, after 1 look"), "{text}");
        assert!(text.contains("in all of 5 trials: it does not vary, so there is no interval"), "{text}");
    }

    #[test]
    fn an_interval_is_told_with_its_confidence_and_a_refusal_with_its_reason() {
        let values = [1e6, 1.2e6, 1.1e6];
        // s = 0.1 ms, t(0.975; 2) = 4.303: half 0.248 ms.
        let sure = Stated {
            name: "latency.mean",
            unit: "ns",
            trials: values.to_vec(),
            is_bound: false,
            claim: students::interval(&values),
        };
        let refused = Stated {
            name: "latency.p99",
            unit: "ns",
            trials: values.to_vec(),
            is_bound: false,
            claim: Err(Refusal::TooFewTrials { have: 3, need: 8 }),
        };
        let group = group(vec![sure, refused]);
        let text = trials(&group, Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("latency.mean 1.10 ms (95 % confident: 852 µs … 1.35 ms; Student's t, n = 3"),
            "{text}"
        );
        let refused = "latency.p99 1.00 ms to 1.20 ms in the trials; no interval: 3 of the 8 trials needed";
        assert!(text.contains(refused), "{text}");
        assert_eq!(text.matches("confident").count(), 1, "{text}");
        assert!(text.contains("2 trials; 1 is INVALID and excluded from intervals"), "{text}");
        assert!(text.contains("MSER-5 left out the first 0, 5 s of the trials"), "{text}");
        let page = trials_html(&group);
        assert!(
            page.contains("tare http &lt;url&gt;") && page.matches("95 % confident").count() == 1,
            "{page}"
        );
        let json = trials_json(&group);
        assert!(json.contains("\"interval\": {") && json.contains("\"why\": \"too_few_trials\""), "{json}");
    }
}
