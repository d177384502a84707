//! Rules that are read again while frames pass: at a word (`tare ctl RUN reload`), at a signal, or every so
//! often.

use crate::{By, JobControl};
use clock::Clock;
use filter::Rules;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use units::{Instant, Picos};

/// Takes new rules: user-space tables, or a program in the kernel.
pub type Take = Box<dyn Fn(&Rules) -> Result<(), String> + Send + Sync>;

/// A flag that a signal handler sets.
pub type Signal = Arc<AtomicBool>;

/// See the module.
pub struct Reloader {
    file: PathBuf,
    take: Take,
    last: Mutex<Last>,
}

/// The rules that hold.
struct Last {
    count: usize,
    rules: Rules,
    changed: Option<SystemTime>,
}

impl Reloader {
    pub fn new(file: PathBuf, rules: Rules, take: Take) -> Self {
        let changed = modified(&file);
        Self { file, take, last: Mutex::new(Last { count: rules.rules.len(), rules, changed }) }
    }

    /// Reads the file again. If anything is wrong with it, the old rules hold on.
    ///
    /// # Errors
    /// What was wrong: the file cannot be read, or the line.
    pub fn reload(&self, control: &JobControl, now: Instant, by: By) -> Result<String, String> {
        let name = self.file.display().to_string();
        let changed = modified(&self.file);
        // Whatever comes of it, this version was seen: a faulty file is told of once.
        self.last.lock().unwrap_or_else(PoisonError::into_inner).changed = changed;
        let text = read(&self.file).map_err(|error| format!("{name}: {error}"))?;
        let rules = Rules::parse(&text, &name).map_err(|error| error.to_string())?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if rules == last.rules {
            return Ok(format!("{} rules, as before", last.count));
        }
        (self.take)(&rules)?;
        let (before, after) = (last.count, rules.rules.len());
        (last.count, last.rules) = (after, rules);
        control.changed(now, "rules", &before.to_string(), &after.to_string(), by);
        Ok(format!("{after} rules (before: {before})"))
    }

    /// Whether the file was written since it was read.
    fn is_stale(&self) -> bool {
        let changed = modified(&self.file);
        changed.is_some() && changed != self.last.lock().unwrap_or_else(PoisonError::into_inner).changed
    }
}

/// A pipe may keep its reader waiting for ever, and the run with it.
fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    os::input::open_regular(file)?.read_to_string(&mut text).map(|_| text)
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|facts| facts.modified()).ok()
}

/// How often the keeper looks.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// Watches for the signal and for changes of the file until `over`.
pub fn keep<C: Clock>(
    reloader: &Reloader,
    control: &JobControl,
    clock: &C,
    (signal, every): (Option<Signal>, Option<Picos>),
    over: impl Fn() -> bool,
) {
    let mut next = every.map(|every| clock.now() + every);
    while !over() {
        let now = clock.now();
        let asked = signal.as_ref().is_some_and(|signal| signal.swap(false, Ordering::Relaxed));
        let due = next.is_some_and(|next| now >= next);
        if due {
            next = every.map(|every| now + every);
        }
        if asked || (due && reloader.is_stale()) {
            let by = if asked { By::Signal } else { By::File };
            if let Err(problem) = reloader.reload(control, now, by) {
                control.changed(now, "rules", "", &format!("refused: {problem}"), by);
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// `reload` is a word of the run.
pub fn understand(reloader: &Arc<Reloader>, control: &JobControl) {
    let reloader = reloader.clone();
    control.on("reload", "reload (read the rules again)", move |control, asked| {
        reloader.reload(control, asked.now, asked.by)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_the_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules");
        std::fs::write(&path, "default pass\n").unwrap();
        assert_eq!(read(&path).unwrap(), "default pass\n");
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), "is not a regular file");
    }
}
