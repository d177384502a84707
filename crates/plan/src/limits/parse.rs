//! From an expression to a limit, or to an error that points at what is wrong.

use super::words::{self, FIGURES};
use super::*;
use crate::checks::status;
use crate::suggest::nearest;
use std::ops::Range;
use std::str::FromStr;

const TIME: &str = "a time with its unit, such as 50ms";
const COMPARISON: &str = ">, >=, < or <=";
const WINDOW: &str = "whole seconds up to 60s, or whole minutes up to 60min";
const LONGEST_BY_SECONDS: Picos = Picos::from_secs(60);
const LONGEST: Picos = Picos::from_secs(3_600);
const SECOND: u64 = Picos::from_secs(1).as_picos();
/// An expression is a line, not a document.
const MOST_BYTES: usize = 1_000;

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        if text.len() > MOST_BYTES {
            let start: String = text.chars().take(40).chain(['…']).collect();
            let at = 0..start.len();
            let expected = format!("at most {MOST_BYTES} characters");
            return Err(LimitError { text: start, at, problem: "this is too long".to_owned(), expected });
        }
        Parser { text, at: 0 }.limit()
    }
}

/// A place in the expression that is read from left to right.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// A piece of the expression, and where it stands.
#[derive(Clone)]
struct Piece<'a> {
    text: &'a str,
    at: Range<usize>,
}

impl<'a> Parser<'a> {
    fn limit(mut self) -> Result<Limit, LimitError> {
        let (figure, figure_at) = self.figure()?;
        let mut name = None;
        self.name(&mut name)?;
        let comparison = self.comparison()?;
        let (bound, bound_at) = self.bound(figure)?;
        self.of_offered(figure, bound)?;
        let mut window = None;
        loop {
            self.skip_space();
            if self.rest().is_empty() {
                break;
            }
            if !self.name(&mut name)? && !self.window(&mut window)? {
                let at = self.at..self.text.trim_end().len();
                let expected = "nothing more, for \"NAME\", or in any 10s";
                return self.fail(at, "this text does not belong here", expected);
            }
        }
        let (name, name_at) = name.map_or((None, 0..0), |(name, at)| (Some(name), at));
        if name.is_some() && !is_kept_by_name(figure) {
            let problem = format!("{figure} is kept for all requests together only");
            let expected =
                "latency, errors, done, failed, missed, cut_off, bytes or a class such as status(5xx)";
            return self.fail(name_at, problem, expected);
        }
        self.can_come_either_way(figure, comparison, bound, figure_at.start..bound_at.end)?;
        Ok(Limit { figure, comparison, bound, name, window })
    }

    /// Refuses what is true, or false, whatever happens.
    fn can_come_either_way(
        &self,
        figure: Figure,
        comparison: Comparison,
        bound: Bound,
        at: Range<usize>,
    ) -> Result<(), LimitError> {
        let is_all = bound == Bound::Share(Fraction::ONE) && figure != Figure::Achieved;
        let how = match comparison {
            Comparison::AtLeast if bound.as_f64() == 0.0 => "always",
            Comparison::Under if bound.as_f64() == 0.0 => "never",
            Comparison::AtMost if is_all => "always",
            Comparison::Over if is_all => "never",
            _ => return Ok(()),
        };
        self.fail(at, format!("this is {how} true"), "a condition that some runs fulfil and others do not")
    }

    fn figure(&mut self) -> Result<(Figure, Range<usize>), LimitError> {
        let word = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        if self.rest().starts_with('(') {
            return self.with_argument(word);
        }
        if word.text.is_empty() {
            let end = self.rest().find(char::is_whitespace).map_or(self.text.len(), |end| self.at + end);
            return self.fail(self.at..end, "there is no figure", FIGURES);
        }
        if let Some(figure) = words::plain(word.text) {
            return Ok((figure, word.at));
        }
        let (head, rest) = word.text.split_once('.').unwrap_or((word.text, ""));
        match (words::time(head), words::statistic(rest)) {
            (Some(time), Some(statistic)) => Ok((Figure::Time(time, statistic), word.at)),
            (Some(_), None) if rest.is_empty() => {
                let expected = format!("{head}.p99, {head}.mean or {head}.max");
                self.fail(word.at, format!("the statistic of {head} is missing"), expected)
            }
            (Some(_), None) => {
                let meant = words::statistic_meant(rest);
                let meant =
                    meant.map_or_else(String::new, |meant| format!(" (did you mean {head}.{meant}?)"));
                let at = word.at.start + head.len() + 1..word.at.end;
                let expected = format!("mean, stdev, min, max or a percentile such as p99.9{meant}");
                self.fail(at, format!("there is no statistic {rest}"), expected)
            }
            (None, _) => self.unknown_figure(word),
        }
    }

    fn unknown_figure<T>(&self, word: Piece<'a>) -> Result<T, LimitError> {
        let meant = words::figure_meant(word.text);
        let meant = meant.map_or_else(String::new, |meant| format!(" (did you mean {meant}?)"));
        self.fail(word.at, format!("there is no figure {}", word.text), format!("{FIGURES}{meant}"))
    }

    /// `status(…)`, `error(…)`, `missed(…)`.
    fn with_argument(&mut self, word: Piece<'a>) -> Result<(Figure, Range<usize>), LimitError> {
        let from = self.at + 1;
        let Some(length) = self.text[from..].find(')') else {
            return self.fail(self.at..self.text.len(), "the closing parenthesis is missing", "a ')'");
        };
        self.at = from + length + 1;
        let inside = &self.text[from..from + length];
        let typed = inside.trim();
        let start = from + (inside.len() - inside.trim_start().len());
        let at = start..start + typed.len();
        let requests = match word.text {
            "status" => match status(typed) {
                Ok((low, high)) => Ok(Requests::Status(low, high)),
                Err(problem) => Err((format!("'{typed}' {}", problem.problem), problem.expected)),
            },
            "error" | "errors" => words::cause(typed).ok_or_else(|| {
                let meant = nearest(typed, words::causes());
                let meant = meant.map_or_else(String::new, |meant| format!(" (did you mean {meant}?)"));
                let expected = format!("a cause such as connect.refused, or a part such as connect{meant}");
                (format!("'{typed}' is not a cause of failure"), expected)
            }),
            "missed" => words::miss(typed).ok_or_else(|| {
                let all: Vec<&str> = Miss::ALL.iter().map(|why| words::reason(*why)).collect();
                (format!("'{typed}' is not a reason for a missed departure"), all.join(", "))
            }),
            // `p(99)` and `latency.p(99)` of other tools.
            _ => {
                let whole = Piece { text: &self.text[word.at.start..self.at], at: word.at.start..self.at };
                return self.unknown_figure(whole);
            }
        };
        match requests {
            Ok(requests) => Ok((Figure::Requests(requests), word.at.start..self.at)),
            Err((problem, expected)) => self.fail(at, problem, expected),
        }
    }

    fn comparison(&mut self) -> Result<Comparison, LimitError> {
        const SYMBOLS: [(&str, Comparison); 6] = [
            (">=", Comparison::AtLeast),
            ("≥", Comparison::AtLeast),
            (">", Comparison::Over),
            ("<=", Comparison::AtMost),
            ("≤", Comparison::AtMost),
            ("<", Comparison::Under),
        ];
        self.skip_space();
        let from = self.at;
        if let Some((symbol, comparison)) = SYMBOLS.iter().find(|(symbol, _)| self.rest().starts_with(symbol))
        {
            self.at += symbol.len();
            if !self.rest().starts_with(['=', '>', '<']) {
                return Ok(*comparison);
            }
        }
        self.at = from;
        let wrong = self.take(|c| matches!(c, '<' | '>' | '=' | '!'));
        match wrong.text {
            "" if self.rest().is_empty() => self.fail(from..from, "the comparison is missing", COMPARISON),
            "" => {
                let word = self.take(|c| !c.is_whitespace());
                self.fail(word.at, "a comparison is missing here", COMPARISON)
            }
            symbol => self.fail(wrong.at, format!("{symbol} is not a comparison"), COMPARISON),
        }
    }

    /// A number and its unit, which may have a space between them.
    fn bound(&mut self, figure: Figure) -> Result<(Bound, Range<usize>), LimitError> {
        let first = self.take(|c| !c.is_whitespace());
        if first.text.is_empty() {
            return self.fail(first.at, "the bound is missing", bounds_of(figure));
        }
        let alone = bound(figure, first.text);
        if first.text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_')) {
            let before = self.at;
            let next = self.take(|c| !c.is_whitespace());
            let both = bound(figure, &format!("{}{}", first.text, next.text));
            let is_unit = !matches!(next.text, "" | "of" | "for" | "in");
            if is_unit && (both.is_ok() || alone.is_err()) {
                return self.checked(both, first.at.start..next.at.end);
            }
            self.at = before;
        }
        self.checked(alone, first.at)
    }

    fn checked(
        &self,
        bound: Result<Bound, (String, String)>,
        at: Range<usize>,
    ) -> Result<(Bound, Range<usize>), LimitError> {
        match bound {
            Ok(bound) => Ok((bound, at)),
            Err((problem, expected)) => self.fail(at, problem, expected),
        }
    }

    /// `of offered`, which a share may have behind it.
    fn of_offered(&mut self, figure: Figure, bound: Bound) -> Result<(), LimitError> {
        let before = self.at;
        let of = self.take(|c| !c.is_whitespace());
        if of.text != "of" {
            self.at = before;
            return Ok(());
        }
        let what = self.take(|c| !c.is_whitespace());
        if what.text != "offered" {
            return self.fail(what.at, "a share must be a share of offered", "offered");
        }
        match bound {
            Bound::Share(_) => Ok(()),
            _ => {
                self.fail(of.at.start..what.at.end, "only a share may be followed by 'of'", bounds_of(figure))
            }
        }
    }

    /// `for "login"`; false if something else stands here.
    fn name(&mut self, name: &mut Option<(String, Range<usize>)>) -> Result<bool, LimitError> {
        let before = self.at;
        let word = self.take(|c| !c.is_whitespace());
        if word.text != "for" {
            self.at = before;
            return Ok(false);
        }
        self.skip_space();
        let from = self.at;
        let read = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            _ => self.take(|c| !c.is_whitespace() && !matches!(c, '<' | '>' | '=')).text.to_owned(),
        };
        let at = from..self.at;
        if read.is_empty() {
            return self.fail(at, "the name is missing", "a name of requests, such as for \"login\"");
        }
        if name.is_some() {
            return self.fail(word.at.start..at.end, "there are two names", "one name");
        }
        *name = Some((read, at));
        Ok(true)
    }

    /// What is within quotes; a backslash stands before a quote or a backslash that is meant as it is.
    fn quoted(&mut self, quote: char) -> Result<String, LimitError> {
        let from = self.at;
        let mut read = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((_, c)) = letters.next() {
            match c {
                '\\' => read.extend(letters.next().map(|(_, c)| c)),
                c if c == quote => {
                    self.at = letters.next().map_or(self.text.len(), |(next, _)| from + next);
                    return Ok(read);
                }
                c => read.push(c),
            }
        }
        self.fail(from..self.text.len(), "the closing quote is missing", format!("a {quote}"))
    }

    /// `in any 10s`; false if something else stands here.
    fn window(&mut self, window: &mut Option<Picos>) -> Result<bool, LimitError> {
        let before = self.at;
        let word = self.take(|c| !c.is_whitespace());
        if word.text != "in" {
            self.at = before;
            return Ok(false);
        }
        let any = self.take(|c| !c.is_whitespace());
        if any.text != "any" {
            return self.fail(any.at, "'any' is missing", "in any 10s");
        }
        let length = self.take(|c| !c.is_whitespace());
        let parsed: Option<Picos> = length.text.parse().ok();
        let has_unit = length.text.ends_with(char::is_alphabetic);
        let Some(parsed) = parsed.filter(|_| has_unit) else {
            let problem =
                if length.text.is_empty() { "the length is missing" } else { "this is not a length of time" };
            return self.fail(length.at, problem, format!("a length such as 10s: {WINDOW}"));
        };
        let step = if parsed <= LONGEST_BY_SECONDS { SECOND } else { 60 * SECOND };
        if parsed.is_zero() || parsed > LONGEST || !parsed.as_picos().is_multiple_of(step) {
            return self.fail(length.at, "a window cannot have this length", WINDOW);
        }
        if window.is_some() {
            return self.fail(word.at.start..length.at.end, "there are two windows", "one window");
        }
        *window = Some(parsed);
        Ok(true)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// The characters that belong to a word, after white space.
    fn take(&mut self, belongs: impl Fn(char) -> bool) -> Piece<'a> {
        self.skip_space();
        let rest = self.rest();
        let text = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        let from = self.at;
        self.at += text.len();
        Piece { text, at: from..self.at }
    }

    fn fail<T>(
        &self,
        at: Range<usize>,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> Result<T, LimitError> {
        Err(LimitError { text: self.text.to_owned(), at, problem: problem.into(), expected: expected.into() })
    }
}

/// Whether a result has this figure for each name apart.
pub(super) fn is_kept_by_name(figure: Figure) -> bool {
    match figure {
        Figure::Time(time, _) => time == Time::Latency,
        Figure::Requests(Requests::Status(low, high)) => low % 100 == 0 && high == low + 99,
        Figure::Requests(Requests::Error(_) | Requests::ErrorsIn(_) | Requests::MissedFor(_)) => false,
        Figure::Requests(_) | Figure::Bytes(_) => true,
        Figure::Offered | Figure::Achieved => false,
    }
}

/// What may stand behind the comparison.
fn bounds_of(figure: Figure) -> &'static str {
    match figure {
        Figure::Time(..) => TIME,
        Figure::Requests(_) => "a number such as 100 or a share such as 0.1%",
        Figure::Offered => "a number such as 100 or a rate such as 5000/s",
        Figure::Achieved => "a rate such as 5000/s or a share such as 99.9% of offered",
        Figure::Bytes(_) => "a size such as 1GB or bytes per second such as 1MB/s",
    }
}

/// A bound that fits the figure, or what is wrong and what would be right.
fn bound(figure: Figure, typed: &str) -> Result<Bound, (String, String)> {
    let expected = || bounds_of(figure).to_owned();
    let wrong = |error: units::ParseError| (format!("{typed} {}", error.problem), expected());
    let is_bare = typed.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
    let is_zero = is_bare && typed.contains('0') && !typed.contains(|c: char| ('1'..='9').contains(&c));
    if let Some(sign) = typed.strip_prefix('-').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Err((format!("-{sign} is negative"), expected()));
    }
    let meant = |unit: &str| {
        let number = typed.trim_end_matches('.');
        format!("{} (did you mean {number}{unit}?)", expected())
    };
    let no_unit = |unit: &str| Err((format!("{typed} has no unit"), meant(unit)));
    match figure {
        Figure::Time(..) if is_zero => Ok(Bound::Time(Picos::ZERO)),
        Figure::Time(..) if is_bare => no_unit("ms"),
        Figure::Time(..) => typed.parse().map(Bound::Time).map_err(wrong),
        Figure::Requests(_) if typed.ends_with('%') => share(typed).map_err(|problem| (problem, expected())),
        Figure::Requests(_) if is_bare && typed.contains('.') => {
            Err((format!("{typed} is not a number of requests"), expected()))
        }
        Figure::Requests(_) => typed.parse().map(Bound::Count).map_err(wrong),
        Figure::Offered if typed.contains('/') => typed.parse().map(Bound::Rate).map_err(wrong),
        Figure::Offered => typed.parse().map(Bound::Count).map_err(wrong),
        Figure::Achieved if typed.ends_with('%') => share(typed).map_err(|problem| (problem, expected())),
        Figure::Achieved if typed.contains('/') => typed.parse().map(Bound::Rate).map_err(wrong),
        Figure::Achieved => no_unit("/s"),
        Figure::Bytes(_) if is_zero => Ok(Bound::Bytes(Bytes::ZERO)),
        Figure::Bytes(_) => match typed.strip_suffix("/s") {
            _ if is_bare => no_unit("B"),
            Some(bytes) => bytes.parse().map(Bound::BytesPerSecond).map_err(wrong),
            None => typed.parse().map(Bound::Bytes).map_err(wrong),
        },
    }
}

/// A percentage in millionths of the whole; finer ones would not be what was typed.
fn share(typed: &str) -> Result<Bound, String> {
    let share: Fraction =
        typed.parse().map_err(|error: units::ParseError| format!("{typed} {}", error.problem))?;
    let decimals = typed.trim_end_matches('%').split_once('.').map_or("", |(_, decimals)| decimals);
    let decimals: String = decimals.chars().filter(char::is_ascii_digit).collect();
    match decimals.trim_end_matches('0').len() {
        0..=4 => Ok(Bound::Share(share)),
        _ => Err(format!("{typed} has more than four decimals")),
    }
}
