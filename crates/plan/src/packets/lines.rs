//! Canonical text of a table of a plan, a key a line.

use super::when::Pace;
use crate::shapes::short_form;
use std::fmt::{Display, Write};
use units::Priority;

/// Lines of canonical TOML.
#[derive(Debug)]
pub(super) struct Lines(String);

impl Lines {
    pub fn new(table: &str) -> Self {
        Self(format!("[{table}]\n"))
    }

    pub fn add(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    pub fn text(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.add(key, quoted(&value.to_string()));
        }
    }

    pub fn number(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    /// Several values in one text, with commas between.
    pub fn list(&mut self, key: &str, values: &[impl ToString]) {
        self.text(key, Some(values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")));
    }

    /// Texts of their own; nothing where there are none.
    pub fn texts(&mut self, key: &str, values: &[String]) {
        if !values.is_empty() {
            let all: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            self.add(key, format!("[{}]", all.join(", ")));
        }
    }

    /// Nothing where no CPUs were asked for.
    pub fn cpus(&mut self, cpus: &[u32]) {
        if !cpus.is_empty() {
            self.list("cpus", cpus);
        }
    }

    /// Nothing where it is decided for the user.
    pub fn priority(&mut self, priority: Priority) {
        self.text("priority", Some(priority).filter(|priority| *priority != Priority::Auto));
    }

    /// When frames leave.
    pub fn pace(&mut self, pace: &Pace) {
        self.text("rate", pace.rate_text());
        match pace {
            Pace::Gap(gap) => self.text("gap", Some(gap)),
            Pace::Gaps(file) => self.text("gaps", Some(file.display())),
            Pace::Replay { file, speed } => {
                self.text("replay", Some(file.display()));
                self.text("speed", Some(speed));
            }
            Pace::Shape(shape) => {
                let (key, short) = short_form(shape);
                self.text(key, Some(short));
            }
            _ => {}
        }
    }

    pub fn finish(self) -> String {
        self.0
    }
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
