//! A plan in words, for the head of the summary.

use plan::{Arrivals, Load, Plan, Shape, Source};
use units::{Fraction, Picos};

/// What is loaded: a URL, or a file.
pub fn target(plan: &Plan) -> String {
    match &plan.source {
        Source::Url(url) => url.clone(),
        Source::File { path, .. } => format!("URLs of {}", path.display()),
        Source::Inline { requests, .. } => match requests.as_slice() {
            [one] => one.url.clone(),
            [first, rest @ ..] => format!("{} and {} more requests", first.url, rest.len()),
            [] => String::new(),
        },
    }
}

/// What was asked for: shape, connections, and how long.
pub fn load(plan: &Plan) -> String {
    let shape = match &plan.load {
        Load::Closed { connections: 1 } => "closed loop over 1 connection".to_owned(),
        Load::Closed { connections } => format!("closed loop over {connections} connections"),
        Load::Open { arrivals, connections } => {
            let most = connections.map_or_else(String::new, |most| format!(", at most {most} connections"));
            format!("open loop, {}{most}", arrivals_in_words(arrivals))
        }
    };
    let duration = plan.stop.duration.map(|time| format!("for {time}"));
    let requests = plan.stop.requests.map(|count| format!("{count} requests"));
    let stop = [requests, duration].into_iter().flatten().collect::<Vec<_>>().join(" or ");
    let warmup = match plan.stop.warmup {
        Picos::ZERO => String::new(),
        time => format!(", after {time} of warm-up"),
    };
    format!("{shape}, {stop}{warmup}")
}

fn arrivals_in_words(arrivals: &Arrivals) -> String {
    let shape = match &arrivals.shape {
        Shape::Constant(rate) => format!("{rate}, even"),
        Shape::Poisson(rate) => format!("{rate}, Poisson"),
        Shape::Ramp { from, to, over } => format!("{from} to {to} over {over}"),
        Shape::Step { from, by, every, to } => format!("{from} to {to}, {by} more each {every}"),
        Shape::Stages(stages) => format!("{} stages", stages.len()),
        Shape::Sine { mean, amplitude, period } => format!("{mean} ± {amplitude}, a sine of {period}"),
        Shape::Burst { size, every } => format!("bursts of {size} each {every}"),
        Shape::At(path) => format!("times of {}", path.display()),
    };
    match arrivals.jitter {
        Fraction::ZERO => shape,
        share => format!("{shape}, ± {share} of the gap"),
    }
}
