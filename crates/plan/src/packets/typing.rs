//! Reading the fields of one table, as typed, with messages that name the flag or the line.

use super::frames::FRAME_FLAGS;
use crate::error::{Place, PlanError};
use crate::file::Origin;
use crate::typed::Typed;
use std::str::FromStr;
use units::{Count, Fraction, ParseError, Picos, Priority};

const MOST_CPU: u32 = 8_191;

/// One table of a plan: its name, its keys' flags, and where it was read.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    pub name: &'static str,
    pub flags: &'static [(&'static str, &'static str)],
    pub origin: Option<&'a Origin>,
}

impl Table<'_> {
    /// Where `field` (`pace.rate`, `frames.size`) was typed.
    pub fn place(&self, field: &str) -> Place {
        let (table, key) = field.split_once('.').unwrap_or(("", field));
        let flags = if table == self.name { self.flags } else { FRAME_FLAGS };
        let stem = key.rsplit('.').next().unwrap_or(key).split('[').next().unwrap_or_default();
        let flag = flags.iter().find(|(known, _)| *known == stem).map(|(_, flag)| *flag);
        let line = self.origin.and_then(|origin| origin.line(field));
        Place { field: field.to_owned(), flag: flag.filter(|_| self.origin.is_none()), line }
    }

    fn at(&self, key: &str) -> Box<Place> {
        Box::new(self.place(&format!("{}.{key}", self.name)))
    }

    pub fn wrong(&self, key: &str, value: &str, problem: &str, expected: &str) -> PlanError {
        let (value, problem, expected) = (value.to_owned(), problem.to_owned(), expected.to_owned());
        PlanError::Value { place: self.at(key), value, problem, expected }
    }

    pub fn both(&self, key: &str, other: &str, why: &str) -> PlanError {
        PlanError::Contradiction { place: self.at(key), other: self.at(other), why: why.to_owned() }
    }

    pub fn missing(&self, key: &str, needs: &str, why: &str) -> PlanError {
        PlanError::Missing { place: self.at(key), needs: needs.to_owned(), why: why.to_owned() }
    }

    /// A port's address, as text.
    pub fn port(&self, key: &str, typed: Option<&String>, why: &str) -> Result<String, PlanError> {
        match typed.map(|text| text.trim()) {
            None => Err(self.missing(key, "a port", why)),
            Some("") => Err(self.wrong(key, "", "names no port", "packet:veth0 or an interface")),
            Some(text) => Ok(text.to_owned()),
        }
    }

    fn parse<T: FromStr<Err = ParseError>>(
        &self,
        key: &str,
        typed: &Option<Typed>,
    ) -> Result<Option<T>, PlanError> {
        let Some(typed) = typed else { return Ok(None) };
        let fail = |error: ParseError| self.wrong(key, typed.as_str(), error.problem, error.expected);
        typed.as_str().parse().map(Some).map_err(fail)
    }

    /// A time above zero.
    pub fn time(&self, key: &str, typed: &Option<Typed>) -> Result<Option<Picos>, PlanError> {
        match self.parse::<Picos>(key, typed)? {
            Some(time) if time.is_zero() => {
                Err(self.wrong(key, "0", "is zero", "a time above zero, such as 500ms"))
            }
            time => Ok(time),
        }
    }

    pub fn priority(&self, key: &str, typed: &Option<Typed>) -> Result<Priority, PlanError> {
        Ok(self.parse(key, typed)?.unwrap_or_default())
    }

    pub fn share(&self, key: &str, typed: &Option<Typed>) -> Result<Option<Fraction>, PlanError> {
        self.parse(key, typed)
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
        if !(least..=most).contains(&count) {
            let expected = format!("{least} to {most}");
            return Err(self.wrong(key, &count.to_string(), "is out of range", &expected));
        }
        Ok(Some(count))
    }

    /// `0,2-3`
    pub fn cpus(&self, key: &str, typed: &Option<Typed>) -> Result<Vec<u32>, PlanError> {
        let Some(typed) = typed else { return Ok(Vec::new()) };
        let text = typed.as_str();
        let fail = |problem| self.wrong(key, text, problem, "CPUs such as 0,2-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let read = |text: &str| text.trim().parse::<u32>().map_err(|_| fail("is not a list of CPUs"));
            let (from, to) = (read(from)?, read(to)?);
            if from > to || to > MOST_CPU {
                return Err(fail("has a range that goes down, or a CPU above 8191"));
            }
            cpus.extend(from..=to);
        }
        Ok(cpus)
    }
}
