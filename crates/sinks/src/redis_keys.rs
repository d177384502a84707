//! Names of a run's keys in Redis: docs/sinks.md.

use crate::place::Place;

/// Names of a run's keys.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: String,
    run: String,
}

impl Keys {
    pub fn of(place: &Place) -> Self {
        Self { prefix: place.option("prefix").unwrap_or("tare").to_owned(), run: String::new() }
    }

    pub fn of_run(self, run: &str) -> Self {
        Self { run: run.to_owned(), ..self }
    }

    pub fn run(&self) -> &str {
        &self.run
    }

    pub fn meta(&self) -> String {
        format!("{}:{}:meta", self.prefix, self.run)
    }
    pub fn intervals(&self) -> String {
        format!("{}:{}:intervals", self.prefix, self.run)
    }
    pub fn events(&self, thread: usize) -> String {
        format!("{}:{}:events:{thread}", self.prefix, self.run)
    }
    pub fn module(&self) -> String {
        format!("{}:{}:module", self.prefix, self.run)
    }
    pub fn result(&self) -> String {
        format!("{}:{}:result", self.prefix, self.run)
    }
}
