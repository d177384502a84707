//! A plan file of any kind, read.

use crate::ci_reports::Papers;
use crate::frames::{self, Ready};
use crate::http_engine;
use crate::load::{self, Finished};
use crate::options::Options;
use crate::run_files::RunFiles;
use crate::run_sinks;
use crate::status::{Failure, Status};
use crate::watching::Watching;
use plan::packets::command_of;
use plan::{LimitsFile, Note, Plan, PlanFile};

/// A plan in which nothing is wrong but what only files and ports know.
pub enum Loaded {
    Http(Box<Plan>, Vec<Note>),
    Frames(Ready),
}

impl Loaded {
    /// Reads a plan file; `name` is what messages call it, and `more` adds to its limits.
    ///
    /// # Errors
    /// The plan is wrong.
    pub fn read(
        text: &str,
        name: &str,
        more: impl FnOnce(&mut LimitsFile),
        options: &Options,
    ) -> Result<Self, Failure> {
        if let Some(command) = command_of(text) {
            return frames::ready(command, text, name, more, options).map(Self::Frames);
        }
        let mut file = PlanFile::from_toml(text, name).map_err(Failure::wrong)?;
        more(&mut file.limits);
        let (plan, notes) = file.resolve_with_notes().map_err(Failure::wrong)?;
        Ok(Self::Http(Box::new(plan), notes))
    }

    /// The canonical text.
    pub fn to_toml(&self) -> String {
        match self {
            Self::Http(plan, _) => plan.to_toml(),
            Self::Frames(ready) => ready.to_toml(),
        }
    }

    /// Whether it would start, as far as that can be told while nothing is opened, made or sent.
    ///
    /// # Errors
    /// What the run would say, and end with exit status 2.
    pub fn check(&self, options: &Options) -> Result<(), Failure> {
        run_sinks::places(options)?;
        let files = match self {
            Self::Http(plan, _) => RunFiles::of_requests(plan),
            Self::Frames(ready) => ready.files(),
        };
        Papers::check(options, &files)?;
        if let Some(out) = options.out.as_deref().filter(|_| options.save) {
            store::check_folder(out).map_err(load::in_outs_words)?;
        }
        Watching::check(&options.live)?;
        match self {
            Self::Http(plan, _) => http_engine::check((**plan).clone()),
            Self::Frames(ready) => ready.check(),
        }
    }

    /// Runs it and prints what is wanted.
    ///
    /// # Errors
    /// Nothing could be sent.
    pub fn carry_out(self, options: &Options) -> Result<Status, Failure> {
        match self {
            Self::Http(plan, notes) => load::load(*plan, notes, options),
            Self::Frames(ready) => ready.carry_out(options),
        }
    }

    /// Runs it and keeps the result; prints no summary.
    ///
    /// # Errors
    /// Nothing could be sent.
    pub fn quietly(self, options: &Options) -> Result<Finished, Failure> {
        match self {
            Self::Http(plan, notes) => load::quietly(*plan, notes, options),
            Self::Frames(ready) => ready.quietly(options),
        }
    }
}
