//! Rows of the results, by the names of requests or by their URLs.

use plan::RequestLine;
use std::collections::HashMap;
use units::Group;

/// Rows of the per-name table, the last being "other".
const GROUPS: usize = Group::MOST_NAMES + 1;
/// URLs without names get a row each up to this many.
const URL_GROUPS: usize = 32;
/// The row of requests without a name, beside others that have one.
const UNNAMED: &str = "(unnamed)";

/// Rows of the results: one for each name, or for each URL where there are few; the rest in "other".
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) names: Vec<String>,
    index: HashMap<String, Group>,
    /// By name, not by URL.
    named: bool,
}

impl Groups {
    pub(super) fn of(&self, line: &RequestLine) -> Group {
        match &line.name {
            Some(name) if self.named => self.of_name(name),
            _ => self.of_url(&line.url),
        }
    }

    /// Of a line without a name.
    pub(super) fn of_url(&self, url: &str) -> Group {
        match self.index.is_empty() {
            true => Group(0),
            false => self.of_name(if self.named { UNNAMED } else { url }),
        }
    }

    pub(super) fn of_name(&self, name: &str) -> Group {
        self.index.get(name).copied().unwrap_or(Group(GROUPS as u16 - 1))
    }
}

/// What lines say about the groups, one after another.
#[derive(Default)]
pub(super) struct Survey {
    names: Vec<String>,
    urls: Vec<String>,
    lines: usize,
    named: bool,
}

impl Survey {
    pub(super) fn add(&mut self, name: Option<&str>, url: impl FnOnce() -> String) {
        self.lines += 1;
        self.named |= name.is_some();
        let name = name.unwrap_or(UNNAMED);
        if self.names.len() < GROUPS - 1 && !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
        if self.lines <= URL_GROUPS {
            let url = url();
            if !self.urls.contains(&url) {
                self.urls.push(url);
            }
        }
    }

    /// Whether further lines change nothing.
    pub(super) fn is_full(&self, may_have_names: bool) -> bool {
        self.lines > URL_GROUPS && (!may_have_names || self.named && self.names.len() == GROUPS - 1)
    }

    pub(super) fn groups(self) -> Groups {
        let mut names = match (self.named, self.lines) {
            (true, _) => self.names,
            (false, 2..=URL_GROUPS) => self.urls,
            (false, _) => return Groups::default(),
        };
        let index = names.iter().enumerate().map(|(at, name)| (name.clone(), Group(at as u16))).collect();
        if names.len() == GROUPS - 1 {
            names.push(Group::OTHER.to_owned());
        }
        Groups { names, index, named: self.named }
    }
}
