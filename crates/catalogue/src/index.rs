//! The index: what was read of each folder, so that it is read again only when it has changed.
//!
//! A cache, no more. It may be deleted at any time, and is thrown away by itself when it is damaged or of
//! another version; where it cannot be written (a full disk, a folder of another user) everything works without
//! it, only slower. For curious people there is a view: `sqlite3 index.sqlite 'select * from list'`.

use crate::entry::{Entry, State};
use crate::folder;
use crate::tags;
use rusqlite::{Connection, ErrorCode, params};
use std::collections::HashMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = "index.sqlite";
/// Another number makes a new index. Raise it when [`Entry`] or how it is read changes.
const VERSION: i64 = 3;
/// How long to wait for another program that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
    DROP VIEW IF EXISTS list;
    DROP TABLE IF EXISTS runs;
    CREATE TABLE runs (folder TEXT PRIMARY KEY, signature TEXT NOT NULL, entry TEXT NOT NULL) WITHOUT ROWID;
    CREATE VIEW list AS SELECT entry->>'name' AS name, entry->>'started_at' AS started_at,
        entry->>'target' AS target, entry->>'achieved_per_s' AS achieved_per_s,
        entry->>'net_p99_ns' AS net_p99_ns, entry->>'latency_p99_ns' AS latency_p99_ns,
        entry->>'state' AS state, entry->>'verdict' AS verdict,
        entry->>'tags' AS tags, folder FROM runs ORDER BY started_at DESC;";

/// The index, if there can be one.
pub struct Index(Option<Connection>);

/// What is known of a folder, and the signature that it had then.
struct Known {
    signature: String,
    entry: Entry,
}

impl Index {
    pub fn open(home: &Path) -> Self {
        if !home.is_dir() {
            return Self(None);
        }
        let connection = connect(home).or_else(|why| match is_damaged(&why) {
            true => discard(home).map_err(|_| why).and_then(|()| connect(home)),
            false => Err(why),
        });
        Self(connection.ok())
    }

    /// Entries of the runs in `folders`, from the index where nothing has changed; and the index knows of the
    /// rest then.
    pub fn bring_up_to_date(mut self, folders: &[PathBuf], runs: &Path) -> Vec<Entry> {
        let mut known = self.known();
        let mut entries = Vec::with_capacity(folders.len());
        let mut changed = Vec::new();
        for folder in folders {
            let signature = signature(folder);
            match known.remove(folder) {
                // That a run goes on shows in no file.
                Some(Known { signature: same, entry })
                    if same == signature && entry.state != State::Running =>
                {
                    entries.push(entry);
                }
                before => match folder::read(folder, runs) {
                    Some(entry) => {
                        changed.push((signature, entry.clone()));
                        entries.push(entry);
                    }
                    None => {
                        // Not a run any more: gone from the index, too.
                        before.into_iter().for_each(|before| {
                            known.insert(folder.clone(), before);
                        });
                    }
                },
            }
        }
        let gone: Vec<PathBuf> = known.into_keys().collect();
        self.write(&changed, &gone);
        entries
    }

    fn known(&self) -> HashMap<PathBuf, Known> {
        let read = |connection: &Connection| -> rusqlite::Result<HashMap<PathBuf, Known>> {
            let mut all = connection.prepare("SELECT folder, signature, entry FROM runs")?;
            let rows = all.query_map([], |row| {
                let (folder, signature, entry): (String, String, String) =
                    (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok((folder, signature, entry))
            })?;
            rows.filter_map(|row| row.map(known_of).transpose()).collect()
        };
        self.0.as_ref().and_then(|connection| read(connection).ok()).unwrap_or_default()
    }

    /// All or nothing. If it fails, the next call reads the folders again.
    fn write(&mut self, changed: &[(String, Entry)], gone: &[PathBuf]) {
        let Some(connection) = self.0.as_mut().filter(|_| !changed.is_empty() || !gone.is_empty()) else {
            return;
        };
        let mut write = || -> rusqlite::Result<()> {
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            for folder in gone {
                transaction.execute("DELETE FROM runs WHERE folder = ?1", [folder.to_string_lossy()])?;
            }
            for (signature, entry) in changed {
                let text = serde_json::to_string(entry).expect("an entry has only keys that are strings");
                transaction.execute(
                    "INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3)",
                    params![entry.folder.to_string_lossy(), signature, text],
                )?;
            }
            transaction.commit()
        };
        // The folders are the truth: a cache that could not be written is no failure.
        let _ = write();
    }
}

/// Changes whenever a file that an [`Entry`] is made of does: sizes and times of those that exist.
fn signature(folder: &Path) -> String {
    let mut text = String::new();
    for name in [folder::RESULT, folder::BEGUN, folder::INTERVALS, tags::FILE] {
        if let Ok(file) = fs::metadata(folder.join(name)) {
            let (length, seconds, nanos) = (file.len(), file.mtime(), file.mtime_nsec());
            write!(text, "{name}:{length}:{seconds}.{nanos:09};").expect("a String takes any text");
        }
    }
    text
}

/// `None` for a row that does not read as an entry.
fn known_of((folder, signature, entry): (String, String, String)) -> Option<(PathBuf, Known)> {
    let entry = serde_json::from_str(&entry).ok()?;
    Some((PathBuf::from(folder), Known { signature, entry }))
}

fn connect(home: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(home.join(FILE))?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // What a power failure takes is read from the folders again.
    connection.pragma_update(None, "synchronous", "OFF")?;
    let version = |of: &Connection| of.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version(&connection)? != VERSION {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another program may have been quicker.
        if version(&transaction)? != VERSION {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    }
    // Damage in the middle of the file shows here, before anything relies on it.
    connection.query_row("SELECT count(length(entry)) FROM runs", [], |_| Ok(()))?;
    Ok(connection)
}

fn is_damaged(why: &rusqlite::Error) -> bool {
    let code = why.sqlite_error_code();
    // A table that is not there: the file is a database, but not this one.
    matches!(code, Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown))
}

/// Removes the index. Of two programs that find the damage at once, the second must not remove what the first
/// made anew.
fn discard(home: &Path) -> std::io::Result<()> {
    let held = File::open(home)?;
    held.lock()?;
    if connect(home).is_ok() {
        return Ok(());
    }
    for suffix in ["", "-wal", "-shm"] {
        match fs::remove_file(home.join(format!("{FILE}{suffix}"))) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
    }
    Ok(())
}
