//! What was made, written down before it is there, so that exactly that can be taken away: also by another
//! process, and also when this one was killed half-way.
//!
//! ```text
//! names ─► file ─► namespace without a name (its inode) ─► file ─► name ─► links ─► file: ready
//! ```
//!
//! A namespace has its inode in the file before it has its name: what is found under the name is ours, or it is
//! not.

use crate::BedError;
use crate::ip::{batch, ip};
use crate::namespace::Namespace;
use crate::privilege;
use crate::topology::{Middlebox, Topology};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::PathBuf;

/// How often a folder that was taken away meanwhile is made anew.
const TRIES: u32 = 20;

/// A bed as its file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub name: String,
    /// Whether it was finished.
    pub ready: bool,
    /// The process that takes it away when it ends; none for a bed that was asked to stay.
    pub owner: Option<Owner>,
    pub middlebox: Middlebox,
    pub queues: u32,
    pub mtu: u32,
    /// Whether the interfaces take frames that XDP programs redirect to them.
    #[serde(default)]
    pub gro: bool,
    pub namespaces: Vec<Namespace>,
}

/// A process, known by its number and the time it began, since numbers come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    pub began_ticks: u64,
}

impl Owner {
    fn this() -> Self {
        let pid = std::process::id();
        Self { pid, began_ticks: began(pid).unwrap_or(0) }
    }

    fn is_running(self) -> bool {
        began(self.pid) == Some(self.began_ticks)
    }
}

/// Field 22 of /proc/PID/stat: when it began, in ticks since boot. The name, in brackets, may hold anything.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Where the files are: gone with a restart of the machine, as the namespaces are.
fn folder() -> PathBuf {
    PathBuf::from("/run/tare/lab")
}

/// All beds there are, by name.
///
/// # Errors
/// A file cannot be read.
pub fn all() -> Result<Vec<State>, BedError> {
    files().into_iter().filter_map(|file| read(file).transpose()).collect()
}

/// The state files of all beds, by name.
fn files() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder()) else { return Vec::new() };
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

/// The bed of that name. Only its own file is read: another that is damaged does not matter.
///
/// # Errors
/// There is none; the message says which there are. Its file cannot be read.
pub fn find(name: &str) -> Result<State, BedError> {
    let files = files();
    let stem = |file: &PathBuf| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(file) = files.iter().find(|file| stem(file) == name)
        && let Some(state) = read(file.clone())?
    {
        return Ok(state);
    }
    let names: Vec<String> = files.iter().map(stem).filter(|stem| stem != name).collect();
    let there_are = match names.as_slice() {
        [] => "; there are no test beds: create one with 'tare lab up'".into(),
        names => format!("; there are: {}", names.join(", ")),
    };
    Err(BedError::Unknown { name: name.into(), there_are })
}

/// Takes away the bed of that name, whoever made it, unless that process still runs.
///
/// # Errors
/// There is no such bed, it is in use, or a namespace is no longer the one that was made.
pub fn down(name: &str) -> Result<State, BedError> {
    let mut state = find(name)?;
    if let Some(owner) = state.owner.filter(|owner| owner.is_running()) {
        return Err(BedError::InUse { name: name.into(), pid: owner.pid });
    }
    state.remove()?;
    Ok(state)
}

/// Takes away the beds of processes that no longer run, by whatever end. What does not work now is tried again
/// next time.
pub fn remove_orphans() {
    let orphaned = |bed: &State| bed.owner.is_some_and(|owner| !owner.is_running());
    let beds = files().into_iter().filter_map(|file| read(file).ok().flatten());
    for mut bed in beds.filter(orphaned) {
        let _ = bed.remove();
    }
}

/// `None` if it went away meanwhile.
fn read(file: PathBuf) -> Result<Option<State>, BedError> {
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BedError::File { file, problem: error.to_string() }),
    };
    let state = serde_json::from_str(&text);
    state.map(Some).map_err(|error| BedError::File { file, problem: error.to_string() })
}

impl State {
    /// Takes the name.
    pub(super) fn begin(topology: &Topology) -> Result<Self, BedError> {
        topology.check()?;
        privilege::check()?;
        let state = Self {
            name: topology.name.clone(),
            ready: false,
            owner: Some(Owner::this()),
            middlebox: topology.middlebox,
            queues: topology.queues,
            mtu: topology.mtu,
            gro: topology.gro,
            namespaces: topology.namespaces(),
        };
        let (draft, linked) = state.write_first()?;
        let _ = fs::remove_file(&draft);
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(BedError::Exists { name: state.name })
            }
            Err(error) => Err(BedError::File { file: state.file(), problem: error.to_string() }),
            Ok(()) => state.if_nothing_is_foreign(),
        }
    }

    /// Names of namespaces that others made are not taken; then the bed's own name is free again.
    fn if_nothing_is_foreign(self) -> Result<Self, BedError> {
        let Some(foreign) = self.namespaces.iter().find(|namespace| namespace.path().exists()) else {
            return Ok(self);
        };
        let _ = fs::remove_file(self.file());
        Err(BedError::Foreign { namespace: foreign.name.clone() })
    }

    /// Takes away what the file says was made, and then the file. Something that is not ours stays, and so does
    /// the file.
    pub(super) fn remove(&mut self) -> Result<(), BedError> {
        let mut first = Ok(());
        for namespace in &self.namespaces {
            let removed = remove_namespace(namespace);
            if first.is_ok() {
                first = removed;
            }
        }
        first?;
        let _ = fs::remove_file(self.file());
        // Only empty folders can be removed: others' beds stay.
        let _ = fs::remove_dir(folder());
        let _ = fs::remove_dir("/run/tare");
        Ok(())
    }

    /// Written aside and linked: two that want the same name cannot both have it, and none sees half a file.
    /// Whoever takes the last bed away takes the folder, too, perhaps at this moment: then again.
    fn write_first(&self) -> Result<(PathBuf, io::Result<()>), BedError> {
        for _ in 0..TRIES {
            match fs::create_dir_all(folder()) {
                // Between one of its folders and the next.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made.map_err(|error| BedError::Notes { folder: folder(), error })?,
            }
            if let Ok(draft) = self.write_draft() {
                let linked = fs::hard_link(&draft, self.file());
                if !matches!(&linked, Err(error) if error.kind() == io::ErrorKind::NotFound) {
                    return Ok((draft, linked));
                }
            }
        }
        let draft = self.write_draft()?;
        let linked = fs::hard_link(&draft, self.file());
        Ok((draft, linked))
    }

    fn file(&self) -> PathBuf {
        folder().join(format!("{}.json", self.name))
    }

    pub(super) fn write(&self) -> Result<(), BedError> {
        let draft = self.write_draft()?;
        fs::rename(&draft, self.file())
            .map_err(|error| BedError::File { file: self.file(), problem: error.to_string() })
    }

    fn write_draft(&self) -> Result<PathBuf, BedError> {
        let draft = folder().join(format!(".{}.{}", self.name, std::process::id()));
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        fs::write(&draft, text + "\n")
            .map_err(|error| BedError::File { file: draft.clone(), problem: error.to_string() })?;
        Ok(draft)
    }
}

/// Links go first, by name: a process that is still inside would keep them alive otherwise.
fn remove_namespace(namespace: &Namespace) -> Result<(), BedError> {
    let Some(found) = namespace.inode_now() else { return Ok(()) };
    match namespace.inode {
        Some(made) if made == found => (),
        Some(made) => return Err(BedError::Changed { namespace: namespace.name.clone(), made, found }),
        None => return Err(BedError::Foreign { namespace: namespace.name.clone() }),
    }
    for end in &namespace.interfaces {
        // It went with its peer, or a test removed it.
        let _ = batch(&namespace.name, &[format!("link del {}", end.name)]);
    }
    ip(&["netns", "del", &namespace.name])
}
