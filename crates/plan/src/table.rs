//! Reading the values of one table of a plan, as typed, with messages that name the flag or the line.
//!
//! ```text
//! [pace]            flags
//! gap = "13560"     -d 13560     ─► table.gap("gap", …) ─► 13.56 us
//!                                       or plan.toml, line 2: pace.gap: '0' is zero; expected …
//!                                          --gap (-d): '0' is zero; expected …
//! ```
//!
//! Every kind of run reads its tables through this, so that a count, a list of CPUs or a place means the same
//! in each.

use crate::checks::Problem;
use crate::error::{Place, PlanError};
use crate::fields::flag_of;
use crate::file::Origin;
use crate::model::Spin;
use crate::packets::read_bits;
use crate::suggest::nearest;
use crate::typed::Typed;
use std::str::FromStr;
use units::{Count, ParseError, Picos, Priority};

/// The highest CPU that a plan may name.
const MOST_CPU: u32 = 8_191;

/// One table of a plan, and the file that it was read from; without one, its values are flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    name: &'static str,
    origin: Option<&'a Origin>,
}

impl<'a> Table<'a> {
    /// `name` is the table's in TOML; where it is empty, each key is a path (`load.rate`).
    pub const fn new(name: &'static str, origin: Option<&'a Origin>) -> Self {
        Self { name, origin }
    }

    /// Where a value stands, by its path in TOML (`pace.rate`, `frames.stream[1].size`): its line if it was
    /// read from a file, its flag otherwise. Limits can be typed as flags on top of any file.
    pub fn place(&self, path: &str) -> Place {
        let may_be_a_flag = self.origin.is_none() || path.starts_with("limits.");
        Place {
            field: path.to_owned(),
            flag: flag_of(path).filter(|_| may_be_a_flag),
            line: self.origin.and_then(|origin| origin.line(path)),
        }
    }

    /// A key of this table, or a path, which has a dot.
    pub fn at(&self, key: &str) -> Box<Place> {
        let is_path = self.name.is_empty() || key.contains('.');
        Box::new(if is_path { self.place(key) } else { self.place(&format!("{}.{key}", self.name)) })
    }

    pub fn wrong(
        &self,
        key: &str,
        value: &str,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> PlanError {
        self.refuse(key, value, Problem::new(problem, expected))
    }

    /// As `wrong`, of a problem that was found elsewhere.
    pub fn refuse(&self, key: &str, value: &str, problem: Problem) -> PlanError {
        let Problem { problem, expected } = problem;
        PlanError::Value { place: self.at(key), value: value.to_owned(), problem, expected }
    }

    pub fn both(&self, key: &str, other: &str, why: impl Into<String>) -> PlanError {
        PlanError::Contradiction { place: self.at(key), other: self.at(other), why: why.into() }
    }

    pub fn missing(&self, key: &str, needs: impl Into<String>, why: impl Into<String>) -> PlanError {
        PlanError::Missing { place: self.at(key), needs: needs.into(), why: why.into() }
    }

    /// The only one of these keys that was given.
    pub fn only(&self, given: &[(&'static str, bool)], why: &str) -> Result<Option<&'static str>, PlanError> {
        let mut given = given.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| *key);
        match (given.next(), given.next()) {
            (Some(first), Some(second)) => Err(self.both(first, second, why)),
            (only, _) => Ok(only),
        }
    }

    /// A port's address, as text.
    pub fn port(&self, key: &str, typed: Option<&String>, why: &str) -> Result<String, PlanError> {
        self.port_if_any(key, typed)?.ok_or_else(|| self.missing(key, "a port", why))
    }

    pub fn port_if_any(&self, key: &str, typed: Option<&String>) -> Result<Option<String>, PlanError> {
        match typed.map(|text| text.trim()) {
            Some("") => Err(self.wrong(key, "", "names no port", "packet:veth0 or an interface")),
            text => Ok(text.map(str::to_owned)),
        }
    }

    /// A quantity of `units`.
    pub fn parse<T>(&self, key: &str, typed: &Option<Typed>) -> Result<Option<T>, PlanError>
    where
        T: FromStr<Err = ParseError>,
    {
        let Some(typed) = typed else { return Ok(None) };
        let fail = |error: ParseError| self.wrong(key, typed.as_str(), error.problem, error.expected);
        typed.as_str().parse().map(Some).map_err(fail)
    }

    /// A time above zero.
    pub fn time(&self, key: &str, typed: &Option<Typed>) -> Result<Option<Picos>, PlanError> {
        let time = self.parse::<Picos>(key, typed)?;
        self.not_zero(key, typed, time.is_some_and(Picos::is_zero), "a time above zero, such as 500ms")?;
        Ok(time)
    }

    /// A gap above zero; `13560` is nanoseconds.
    pub fn gap(&self, key: &str, typed: &Option<Typed>, instead: &str) -> Result<Option<Picos>, PlanError> {
        let Some(text) = typed.as_ref().map(Typed::as_str) else { return Ok(None) };
        let bare = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'_'));
        let with_unit = if bare { format!("{text}ns") } else { text.to_owned() };
        let gap = Picos::from_str(&with_unit).map_err(|error| {
            self.wrong(key, text, error.problem, "nanoseconds (13560) or a time (13.56us)")
        })?;
        self.not_zero(key, typed, gap.is_zero(), &format!("a gap above zero{instead}"))?;
        Ok(Some(gap))
    }

    /// Speed of a link in bits a second, above zero.
    pub fn line(&self, key: &str, typed: &Option<Typed>) -> Result<Option<u64>, PlanError> {
        let Some(text) = typed.as_ref().map(Typed::as_str) else { return Ok(None) };
        let bare = text.strip_suffix("bit/s").or(text.strip_suffix("bit")).unwrap_or(text);
        match read_bits(bare) {
            Some(bits) if bits > 0 => Ok(Some(bits)),
            _ => Err(self.wrong(key, text, "is not a link speed", "bits per second such as 10G")),
        }
    }

    /// A whole number between both, inclusive.
    pub fn count(
        &self,
        key: &str,
        typed: &Option<Typed>,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, PlanError> {
        let Some(count) = self.parse::<Count>(key, typed)?.map(Count::get) else { return Ok(None) };
        if (least..=most).contains(&count) {
            return Ok(Some(count));
        }
        let range = if most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
        let (problem, expected) = match count {
            0 => ("is zero", format!("a number above zero ({range})")),
            _ => ("is out of range", range),
        };
        Err(self.wrong(key, typed.as_ref().map_or("", Typed::as_str), problem, expected))
    }

    /// As `count`, where 32 bits are enough.
    pub fn number(
        &self,
        key: &str,
        typed: &Option<Typed>,
        least: u32,
        most: u32,
    ) -> Result<Option<u32>, PlanError> {
        let count = self.count(key, typed, least.into(), most.into())?;
        Ok(count.map(|count| u32::try_from(count).expect("a count is at most what was allowed")))
    }

    pub fn not_zero(
        &self,
        key: &str,
        typed: &Option<Typed>,
        is_zero: bool,
        expected: &str,
    ) -> Result<(), PlanError> {
        match typed {
            Some(typed) if is_zero => Err(self.wrong(key, typed.as_str(), "is zero", expected)),
            _ => Ok(()),
        }
    }

    /// One of a few words.
    pub fn choice<T: Copy>(
        &self,
        key: &str,
        typed: Option<&str>,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>, PlanError> {
        let Some(text) = typed else { return Ok(None) };
        if let Some((_, choice)) = choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim())) {
            return Ok(Some(*choice));
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let expected = match nearest(text, names.iter().copied()) {
            Some(near) => format!("{} (did you mean {near}?)", names.join(", ")),
            None => names.join(", "),
        };
        Err(self.wrong(key, text, "is unknown", expected))
    }

    /// How threads wait for due times.
    pub fn spin(&self, key: &str, typed: Option<&str>) -> Result<Spin, PlanError> {
        let choices = Spin::ALL.map(|spin| (spin.word(), spin));
        Ok(self.choice(key, typed, &choices)?.unwrap_or(Spin::Auto))
    }

    /// The priority of threads that wait for due times.
    pub fn priority(&self, key: &str, typed: Option<&str>) -> Result<Priority, PlanError> {
        let all = [Priority::Auto, Priority::Normal, Priority::RealTime];
        let choices = all.map(|priority| (priority.word(), priority));
        Ok(self.choice(key, typed, &choices)?.unwrap_or_default())
    }

    /// `0,2-3`: numbers and ranges, each CPU once.
    pub fn cpus(&self, key: &str, typed: &Option<Typed>) -> Result<Vec<u32>, PlanError> {
        let Some(typed) = typed else { return Ok(Vec::new()) };
        let text = typed.as_str();
        let fail = |problem: String| self.wrong(key, text, problem, "numbers and ranges such as 0,2-3");
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu <= MOST_CPU);
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (Some(low), Some(high)) = (number(low), number(high)) else {
                return Err(fail(format!("has '{part}', which is not a CPU")));
            };
            if low > high {
                return Err(fail(format!("has the range {part}, which ends before it starts")));
            }
            for cpu in low..=high {
                if cpus.contains(&cpu) {
                    return Err(fail(format!("names CPU {cpu} twice")));
                }
                cpus.push(cpu);
            }
        }
        Ok(cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T: std::fmt::Debug>(read: Result<T, PlanError>) -> String {
        read.unwrap_err().to_string()
    }

    fn typed(text: &str) -> Option<Typed> {
        Some(text.into())
    }

    #[test]
    fn a_value_is_named_by_its_line_or_its_flag() {
        let (_, origin) = crate::file::read_toml::<toml::Table>("[pace]\nrate = 5\n", "plan.toml").unwrap();
        let (of_file, of_flags) = (Table::new("pace", Some(&origin)), Table::new("pace", None));
        assert_eq!(of_file.at("rate").to_string(), "plan.toml, line 2: pace.rate");
        assert_eq!(of_flags.at("rate").to_string(), "--rate");
        assert_eq!(of_flags.at("frames.size").to_string(), "--size");
        // What is missing in a file is a key, but limits can be flags as well.
        assert_eq!(of_file.at("input").to_string(), "pace.input");
        assert_eq!(of_file.at("limits.fail_if[2]").to_string(), "--fail-if");
        // An item of a list of tables has no flag.
        assert_eq!(of_flags.at("frames.stream[1].size").to_string(), "frames.stream[1].size");
        assert_eq!(Table::new("", None).at("load.rate").to_string(), "--rate");
        assert_eq!(Table::new("", None).at("url").to_string(), "URL");
    }

    #[test]
    fn counts_have_bounds() {
        let table = Table::new("send", None);
        let read = |text: &str| table.count("queues", &typed(text), 1, 256);
        assert_eq!((read("1"), read("256")), (Ok(Some(1)), Ok(Some(256))));
        assert_eq!(said(read("0")), "--queues: '0' is zero; expected a number above zero (1 to 256)");
        assert_eq!(said(read("257")), "--queues: '257' is out of range; expected 1 to 256");
        let endless = table.count("frames", &typed("0"), 1, u64::MAX);
        assert_eq!(said(endless), "--frames (-n): '0' is zero; expected a number above zero (1 or more)");
    }

    #[test]
    fn each_cpu_is_named_once() {
        for (name, key) in [("", "engine.cpus"), ("send", "cpus"), ("pace", "cpus"), ("sweep", "cpus")] {
            let table = Table::new(name, None);
            assert_eq!(table.cpus(key, &typed("0, 2-3")), Ok(vec![0, 2, 3]));
            assert_eq!(table.cpus(key, &None), Ok(Vec::new()));
            for (text, problem) in [
                ("0,0", "names CPU 0 twice"),
                ("3-1", "has the range 3-1, which ends before it starts"),
                ("8192", "has '8192', which is not a CPU"),
                ("", "has '', which is not a CPU"),
            ] {
                let said = said(table.cpus(key, &typed(text)));
                assert!(said.starts_with(&format!("--cpus: '{text}' {problem}")), "{said}");
            }
        }
    }

    #[test]
    fn one_of_several_keys_may_be_given() {
        let table = Table::new("send", None);
        assert_eq!(table.only(&[("rate", false), ("gap", true)], "both say when"), Ok(Some("gap")));
        assert_eq!(table.only(&[("rate", false)], "both say when"), Ok(None));
        let both = table.only(&[("rate", true), ("gap", true)], "both say when");
        assert_eq!(said(both), "--rate contradicts --gap (-d): both say when");
    }
}
