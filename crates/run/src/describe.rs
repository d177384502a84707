//! A plan in words, for the head of the summary.

use plan::{Arrivals, Load, Plan, RequestSource, Shape};
use report::{count, counted};
use units::{Fraction, Picos};

/// What is loaded: a URL, or a file; without passwords.
pub fn target(plan: &Plan) -> String {
    store::secrets::in_urls(&whole_target(plan))
}

fn whole_target(plan: &Plan) -> String {
    match &plan.source {
        RequestSource::Url(url) => url.clone(),
        RequestSource::File { path, .. } => format!("URLs of {}", path.display()),
        RequestSource::Inline { requests, .. } => match requests.as_slice() {
            [one] => one.url.clone(),
            [first, rest @ ..] => format!("{} and {}", first.url, counted(rest.len() as u64, "more request")),
            [] => String::new(),
        },
    }
}

/// What was asked for: shape, connections, and how long.
pub fn load(plan: &Plan) -> String {
    let shape = match &plan.load {
        Load::Closed { connections } => {
            format!("closed loop over {}", counted(u64::from(*connections), "connection"))
        }
        Load::Open { arrivals, connections } => {
            let most = connections.map_or_else(String::new, |most| {
                format!(", at most {}", counted(u64::from(most), "connection"))
            });
            format!("open loop, {}{most}", arrivals_in_words(arrivals))
        }
    };
    let duration = plan.stop.duration.map(|time| format!("for {time}"));
    let requests = plan.stop.requests.map(|number| counted(number.get(), "request"));
    let stop = [requests, duration].into_iter().flatten().collect::<Vec<_>>().join(" or ");
    let warmup = match plan.stop.warmup {
        Picos::ZERO => String::new(),
        time => format!(", after {time} of warm-up"),
    };
    format!("{shape}, {stop}{warmup}")
}

fn arrivals_in_words(arrivals: &Arrivals) -> String {
    let shape = match &arrivals.shape {
        Shape::Constant(rate) => format!("{}, even", grouped(rate)),
        Shape::Poisson(rate) => format!("{}, Poisson", grouped(rate)),
        Shape::Ramp { from, to, over } => format!("{} to {} over {over}", grouped(from), grouped(to)),
        Shape::Step { from, by, every, to } => {
            format!("{} to {}, {} more each {every}", grouped(from), grouped(to), grouped(by))
        }
        Shape::Stages(stages) => counted(stages.len() as u64, "stage"),
        Shape::Sine { mean, amplitude, period } => {
            format!("{} ± {}, a sine of {period}", grouped(mean), grouped(amplitude))
        }
        Shape::Burst { size, every } => format!("bursts of {} each {every}", grouped(size)),
        Shape::At(path) => format!("times of {}", path.display()),
    };
    match arrivals.jitter {
        Fraction::ZERO => shape,
        share => format!("{shape}, ± {share} of the gap"),
    }
}

/// `1 000 000/s`: the whole number that the text begins with, its digits in threes.
fn grouped(quantity: &impl ToString) -> String {
    let text = quantity.to_string();
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    digits.parse().map_or_else(|_| text.clone(), |number| format!("{}{rest}", count(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::PlanFile;

    #[test]
    fn digits_stand_in_threes_and_one_is_singular() {
        let described = |change: fn(&mut PlanFile)| {
            let mut file = PlanFile { url: Some("http://a/".to_owned()), ..PlanFile::default() };
            change(&mut file);
            load(&file.resolve().unwrap())
        };
        let many = described(|file| {
            file.load.rate = Some("1M".into());
            file.stop.requests = Some("1k".into());
        });
        assert_eq!(many, "open loop, 1 000 000/s, even, 1 000 requests");
        let one = described(|file| {
            file.load.parallel = Some("1".into());
            file.stop.requests = Some("1".into());
        });
        assert_eq!(one, "closed loop over 1 connection, 1 request");
    }
}
