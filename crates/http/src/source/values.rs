//! What templates are filled with: lines of other files, and what follows from seed and sequence number.

use plan::{TemplateContext, Unfit};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::SourceError;
use crate::lines::{Draws, LineCursor, LineFile};

/// Files of `{line:FILE}`, by their names.
#[derive(Debug)]
pub(super) struct Files {
    /// In the order of their numbers: those that were named before the start.
    pub(super) first: Vec<(String, Arc<LineFile>)>,
    /// Those that lines further down named.
    later: Mutex<HashMap<String, Arc<LineFile>>>,
}

impl Files {
    pub(super) fn open(names: Vec<String>) -> Result<Self, SourceError> {
        let open = |name: String| match LineFile::open_values(name.as_ref()) {
            Ok(file) => Ok((name, Arc::new(file))),
            Err(error) => Err(SourceError::Placeholder { name, error }),
        };
        let first = names.into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { first, later: Mutex::default() })
    }

    /// Opened by the thread that needs it first.
    pub(super) fn later(&self, name: &str) -> Result<Arc<LineFile>, SourceError> {
        let mut later = self.later.lock().expect("nobody panics while holding it");
        if let Some(file) = later.get(name) {
            return Ok(file.clone());
        }
        let file = LineFile::open_values(name.as_ref())
            .map_err(|error| SourceError::Placeholder { name: name.to_owned(), error })?;
        Ok(later.entry(name.to_owned()).or_insert(Arc::new(file)).clone())
    }
}

/// Files of `{line:FILE}` as one thread reads them.
pub(super) struct Values {
    pub(super) names: Vec<String>,
    pub(super) cursors: Vec<LineCursor>,
}

impl Values {
    /// Opens what was named since.
    pub(super) fn follow(&mut self, files: &Files) -> Result<(), SourceError> {
        while let Some(name) = self.names.get(self.cursors.len()) {
            match files.later(name) {
                Ok(file) => self.cursors.push(LineCursor::new(&file)),
                Err(error) => {
                    self.names.truncate(self.cursors.len());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    pub(super) fn describe(&self, unfit: Unfit, at: u64) -> String {
        let file = unfit.file();
        let line = self.cursors[file].file().line_number_at(at);
        format!("{{line:{}}}, line {line}: {unfit}", self.names[file])
    }
}

/// Values for templates: everything random follows from the seed and the sequence number.
pub(super) struct Context<'a> {
    pub(super) seq: u64,
    pub(super) draws: Draws,
    pub(super) now_ms: u64,
    pub(super) cursors: &'a mut [LineCursor],
    /// Where the last line of a file begins.
    pub(super) at: u64,
}

impl TemplateContext for Context<'_> {
    fn seq(&mut self) -> u64 {
        self.seq
    }
    fn random(&mut self) -> u64 {
        self.draws.next()
    }
    fn now_ms(&mut self) -> u64 {
        self.now_ms
    }
    fn line(&mut self, file: usize, out: &mut Vec<u8>) -> bool {
        match self.cursors[file].line_for(self.seq) {
            Ok((line, at)) => {
                out.extend_from_slice(line);
                self.at = at.offset;
                true
            }
            Err(_) => false,
        }
    }
}
