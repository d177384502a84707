//! Making the settings that findings propose, and taking them back.
//!
//! ```text
//!   before ─► written down in <state dir>/tare/mended.json ─► set ─► read back
//!   undo:  is it still what we set? ─► before      is it something else by now? ─► left alone, and told
//! ```
//!
//! It is written down first, so that whoever is killed in between can still be undone. After a reboot there is
//! nothing to undo. Settings of the network belong to a namespace, and are taken back in that one.

use crate::DoctorError;
use crate::finding::words;
use crate::{Change, Files, Finding, Load, Mend};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub const SCHEMA: &str = "tare.mended/1";
/// Only below these is anything written.
const ALLOWED: [&str; 4] = ["proc/sys/", "sys/devices/system/", "sys/class/net/", "sys/kernel/mm/"];

/// What is mended of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub id: String,
    pub change: Change,
}

/// What `--fix` would do, in order: settings of findings that matter to that load, or to any; only the named
/// ones if any are named.
pub fn steps(findings: &[Finding], load: Option<Load>, only: &[String]) -> Vec<Step> {
    let is_wanted = |finding: &&Finding| match only.is_empty() {
        true => finding.matters(load),
        false => only.contains(&finding.id) && finding.matters(None),
    };
    let of = |finding: &Finding| match &finding.mend {
        Some(Mend::Settings { changes }) => changes.clone(),
        _ => Vec::new(),
    };
    let steps = findings.iter().filter(is_wanted);
    steps
        .flat_map(|finding| of(finding).into_iter().map(|change| Step { id: finding.id.clone(), change }))
        .collect()
}

/// A setting that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    id: String,
    path: String,
    before: String,
    after: String,
    /// As it read when it was set; as asked for until then.
    became: String,
    boot: Option<String>,
    /// Network namespace, for settings that belong to one.
    namespace: Option<String>,
    /// What tells it from a later one with the same name, where the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cookie: Option<u64>,
}

impl Made {
    fn change(&self) -> Change {
        Change { path: self.path.clone(), before: self.before.clone(), after: self.after.clone() }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    schema: String,
    changes: Vec<Made>,
}

/// What became of a setting that was to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    Restored,
    /// It is as it was before already.
    Already,
    /// Somebody has set it to something else since: left alone.
    Changed {
        now: String,
    },
    /// The machine was started again since, which took it back.
    Rebooted,
    /// It belongs to another network namespace: undo it there.
    Elsewhere {
        namespace: String,
    },
    Failed {
        why: String,
    },
}

/// Settings that were made, and how to take them back.
#[derive(Debug)]
pub struct Mender {
    files: Files,
    path: PathBuf,
    record: Record,
    /// Of the network namespace that we are in.
    cookie: Option<u64>,
}

impl Mender {
    /// With the record in `folder` (`<state dir>/tare`), if there is one.
    ///
    /// # Errors
    /// The record is there but cannot be read.
    pub fn open(files: Files, folder: &Path) -> Result<Self, DoctorError> {
        let path = folder.join("mended.json");
        let record = match std::fs::read_to_string(&path) {
            Ok(text) => read(&path, &text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Record::default(),
            Err(source) => return Err(DoctorError::Io { path, source }),
        };
        Ok(Self { files, path, record, cookie: os::namespace::cookie() })
    }

    /// In a network namespace of this cookie.
    #[cfg(test)]
    pub fn within(self, cookie: u64) -> Self {
        Self { cookie: Some(cookie), ..self }
    }

    /// Settings that can be taken back.
    pub fn made(&self) -> usize {
        self.record.changes.len()
    }

    /// Where they are written down.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a setting, after what it was is written down.
    ///
    /// # Errors
    /// The record or the setting cannot be written, or the kernel made something else of it; then nothing is
    /// left of it.
    pub fn apply(&mut self, step: &Step) -> Result<(), DoctorError> {
        let change = &step.change;
        check(&change.path)?;
        let boot = self.files.line("proc/sys/kernel/random/boot_id");
        let (namespace, cookie) = match is_of_namespace(&change.path) {
            true => (self.namespace(), self.cookie),
            false => (None, None),
        };
        let old = self.record.changes.iter().position(|made| {
            (&made.path, &made.boot) == (&change.path, &boot)
                && (&made.namespace, made.cookie) == (&namespace, cookie)
        });
        // What was before the first change is what undoing goes back to.
        let before =
            old.map_or_else(|| change.before.clone(), |index| self.record.changes[index].before.clone());
        let made = Made {
            id: step.id.clone(),
            path: change.path.clone(),
            before,
            after: change.after.clone(),
            became: change.after.clone(),
            boot,
            namespace,
            cookie,
        };
        let kept = old.map(|index| self.record.changes.remove(index));
        self.record.changes.push(made);
        self.save()?;
        let written = self.write(&change.path, &change.after);
        let last = self.record.changes.len() - 1;
        match &written {
            Ok(became) => self.record.changes[last].became.clone_from(became),
            Err(_) => {
                self.record.changes.pop();
                self.record.changes.extend(kept);
            }
        }
        self.save()?;
        written_or(written, &self.files.path(&change.path))
    }

    /// Takes everything back that was made here, the last first. What cannot be taken back stays written down.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn undo(&mut self) -> Result<Vec<(Change, Undone)>, DoctorError> {
        let boot = self.files.line("proc/sys/kernel/random/boot_id");
        let mut told = Vec::new();
        let mut kept = Vec::new();
        for made in std::mem::take(&mut self.record.changes).into_iter().rev() {
            let undone = self.undo_one(&made, boot.as_deref());
            told.push((made.change(), undone.clone()));
            if matches!(undone, Undone::Elsewhere { .. } | Undone::Failed { .. }) {
                kept.push(made);
            }
        }
        kept.reverse();
        self.record.changes = kept;
        self.save()?;
        Ok(told)
    }

    fn undo_one(&self, made: &Made, boot: Option<&str>) -> Undone {
        if made.boot.as_deref() != boot {
            return Undone::Rebooted;
        }
        let is_another = made.cookie.is_some() && made.cookie != self.cookie;
        if made.namespace.is_some() && (is_another || made.namespace != self.namespace()) {
            return Undone::Elsewhere { namespace: made.namespace.clone().unwrap_or_default() };
        }
        if let Err(error) = check(&made.path) {
            return Undone::Failed { why: error.to_string() };
        }
        let Some(now) = self.current(&made.path) else {
            return Undone::Failed { why: "it does not exist any more".into() };
        };
        match now {
            now if now == made.before => Undone::Already,
            now if now != made.became && now != made.after => Undone::Changed { now },
            _ => match self.write(&made.path, &made.before) {
                Ok(_) => Undone::Restored,
                Err(error) => Undone::Failed { why: error.to_string() },
            },
        }
    }

    /// Sets a file that is there, and says how it reads then.
    fn write(&self, path: &str, value: &str) -> io::Result<String> {
        let mut file = std::fs::OpenOptions::new().write(true).truncate(true).open(self.files.path(path))?;
        file.write_all(format!("{value}\n").as_bytes())?;
        drop(file);
        let now = self.current(path).ok_or_else(|| io::Error::other("it cannot be read back"))?;
        Ok(now)
    }

    /// How it reads; of a choice such as `always [madvise] never`, what is chosen.
    fn current(&self, path: &str) -> Option<String> {
        let line = self.files.line(path)?;
        let chosen =
            line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
        Some(chosen.map_or_else(|| words(&line), str::to_owned))
    }

    fn namespace(&self) -> Option<String> {
        let link = std::fs::read_link(self.files.path("proc/self/ns/net")).ok()?;
        Some(link.to_string_lossy().into_owned())
    }

    /// Whole or not at all; gone when nothing is left in it.
    fn save(&mut self) -> Result<(), DoctorError> {
        let wrong = |source| DoctorError::Io { path: self.path.clone(), source };
        if self.record.changes.is_empty() {
            return match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(wrong(error)),
                _ => Ok(()),
            };
        }
        self.record.schema = SCHEMA.into();
        let text = serde_json::to_string_pretty(&self.record).map_err(|error| wrong(error.into()))?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(wrong)?;
        let part = self.path.with_extension(format!("json.{}.part", std::process::id()));
        let mut file = std::fs::File::create(&part).map_err(wrong)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(wrong)?;
        std::fs::rename(&part, &self.path).map_err(wrong)
    }
}

fn read(path: &Path, text: &str) -> Result<Record, DoctorError> {
    let wrong = |why: String| DoctorError::NotARecord { path: path.to_owned(), why };
    let record: Record = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    match record.schema == SCHEMA {
        true => Ok(record),
        false => Err(wrong(format!("its schema is {}, not {SCHEMA}", record.schema))),
    }
}

fn written_or(written: io::Result<String>, path: &Path) -> Result<(), DoctorError> {
    written.map(drop).map_err(|source| DoctorError::Io { path: path.to_owned(), source })
}

fn check(path: &str) -> Result<(), DoctorError> {
    let is_inside =
        ALLOWED.iter().any(|folder| path.starts_with(folder)) && !path.split('/').any(|part| part == "..");
    if is_inside { Ok(()) } else { Err(DoctorError::NotASetting { path: path.to_owned() }) }
}

fn is_of_namespace(path: &str) -> bool {
    path.starts_with("proc/sys/net/") || path.starts_with("sys/class/net/")
}
