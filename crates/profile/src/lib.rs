//! What weighing found, kept for this machine: figures for the doctor and for verdicts.
//!
//! ```text
//!   <state dir>/tare/profile.json   "tare.profile/1"; refused when the machine is another one
//! ```

#![forbid(unsafe_code)]

mod error;
mod machine;

pub use error::ProfileError;
pub use machine::Machine;

use serde::{Deserialize, Serialize};
use std::path::Path;

pub const SCHEMA: &str = "tare.profile/1";

/// One rate that was tried, and what it took. Times of CPU are nanoseconds for each unit (request or frame).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub offered_per_s: f64,
    pub achieved_per_s: f64,
    pub user_ns: f64,
    pub system_ns: f64,
    /// Softirq time of the generator's CPUs, which is in none of the above; `None` where it cannot be told
    /// apart (it is then in `system_ns`, or was caused by others).
    pub softirq_ns: Option<f64>,
    pub lateness_p50_ns: u64,
    pub lateness_p99_ns: u64,
    /// Whether the run's verdict was VALID.
    pub is_valid: bool,
}

/// How much of one kind of load this machine creates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Capability {
    /// Kind of load, in words that a plan can be looked up by: `http.keep_alive`, `http.new_connection`,
    /// `http.tls`, `send.packet.64`, `send.udp.1518`, `send.mem.64`…
    pub key: String,
    /// What was loaded: `embedded target`, `veth into XDP_DROP`, an address.
    pub against: String,
    pub threads: u16,
    /// Highest rate at which the verdict stays VALID, and its interval where trials allow one.
    pub peak_per_s: f64,
    pub low_per_s: Option<f64>,
    pub high_per_s: Option<f64>,
    /// What was loaded was the limit, not this machine: the peak is at least this.
    #[serde(default)]
    pub is_lower_bound: bool,
    /// Rate as fast as it goes, without regard to due times.
    pub saturated_per_s: Option<f64>,
    /// Resident memory of the generator, and what each connection adds.
    pub memory_bytes: Option<u64>,
    pub memory_per_connection_bytes: Option<f64>,
    pub points: Vec<Point>,
}

/// Everything that was weighed on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub schema: String,
    /// Seconds since 1970 (UTC) at which it was last changed.
    pub made_unix_s: u64,
    pub tare: String,
    pub machine: Machine,
    pub capabilities: Vec<Capability>,
}

/// Why there is no profile to go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Nothing was weighed yet.
    None,
    /// (fact, then, now)
    Changed(Vec<(String, String, String)>),
    Unreadable(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => write!(f, "this machine was not weighed yet; run `tare weigh`"),
            Self::Changed(changes) => {
                write!(f, "this machine has changed since it was weighed: ")?;
                for (i, (what, then, now)) in changes.iter().enumerate() {
                    write!(f, "{}{what} was {then}, is {now}", if i > 0 { "; " } else { "" })?;
                }
                write!(f, "; `tare weigh` makes a new profile")
            }
            Self::Unreadable(why) => {
                write!(f, "cannot read the profile ({why}); `tare weigh` makes a new one")
            }
        }
    }
}

impl Profile {
    /// An empty one for this machine.
    pub fn new(machine: Machine, tare: &str) -> Self {
        Self { schema: SCHEMA.into(), tare: tare.into(), machine, ..Self::default() }
    }

    /// The profile in `folder` (`<state dir>/tare`), if it is of `machine`.
    ///
    /// # Errors
    /// Why there is none that holds.
    pub fn of(machine: &Machine, folder: &Path) -> Result<Self, Refused> {
        let path = folder.join("profile.json");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Refused::None),
            Err(error) => return Err(Refused::Unreadable(error.to_string())),
        };
        let profile: Self =
            serde_json::from_str(&text).map_err(|error| Refused::Unreadable(error.to_string()))?;
        if profile.schema != SCHEMA {
            return Err(Refused::Unreadable(format!("its schema is {}, not {SCHEMA}", profile.schema)));
        }
        let changes = profile.machine.differences(machine);
        if changes.is_empty() { Ok(profile) } else { Err(Refused::Changed(changes)) }
    }

    /// The figures of one kind of load.
    pub fn capability(&self, key: &str) -> Option<&Capability> {
        self.capabilities.iter().find(|capability| capability.key == key)
    }

    /// Puts figures in the place of older ones of the same kind against the same thing.
    pub fn put(&mut self, capability: Capability) {
        self.capabilities.retain(|old| (&old.key, &old.against) != (&capability.key, &capability.against));
        self.capabilities.push(capability);
    }

    /// Writes it into `folder`, whole or not at all.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), ProfileError> {
        let path = folder.join("profile.json");
        let wrong = |source| ProfileError::Io { path: path.clone(), source };
        std::fs::create_dir_all(folder).map_err(wrong)?;
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| ProfileError::NotAProfile { path: path.clone(), why: error.to_string() })?;
        let part = folder.join(format!("profile.json.{}.part", std::process::id()));
        std::fs::write(&part, text + "\n").map_err(wrong)?;
        std::fs::rename(&part, &path).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(kernel: &str) -> Machine {
        Machine { facts: [("kernel".to_owned(), kernel.to_owned())].into() }
    }

    #[test]
    fn it_holds_for_the_machine_that_was_weighed_and_for_no_other() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Profile::of(&machine("6.1"), folder.path()), Err(Refused::None));
        let mut profile = Profile::new(machine("6.1"), "0.1.0");
        profile.put(Capability { key: "http.tls".into(), peak_per_s: 1.5e5, ..Capability::default() });
        profile.save(folder.path()).unwrap();
        assert_eq!(Profile::of(&machine("6.1"), folder.path()), Ok(profile));
        let refused = Profile::of(&machine("6.2"), folder.path()).unwrap_err();
        assert_eq!(refused, Refused::Changed(vec![("kernel".into(), "6.1".into(), "6.2".into())]));
        assert!(refused.to_string().contains("kernel was 6.1, is 6.2"), "{refused}");
    }

    #[test]
    fn newer_figures_take_the_place_of_older_ones() {
        let mut profile = Profile::new(machine("6.1"), "0.1.0");
        for peak_per_s in [1.0, 2.0] {
            profile.put(Capability { key: "http.tls".into(), peak_per_s, ..Capability::default() });
        }
        assert_eq!(profile.capabilities.len(), 1);
        assert_eq!(profile.capability("http.tls").unwrap().peak_per_s, 2.0);
    }

    #[test]
    fn a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("profile.json"), "{").unwrap();
        assert!(matches!(Profile::of(&machine("6.1"), folder.path()), Err(Refused::Unreadable(_))));
    }
}
