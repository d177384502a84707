//! What `tare weigh` found, kept: "tare.weigh/1".
//!
//! ```text
//! <state dir>/tare/weighings/2026-11-21T12-00-00Z-weigh-7f3a/
//!   weigh.json  report.html  map.svg
//! ```
//!
//! Lengths of time are nanoseconds, rates are per second, shares are of 1. A figure over several trials is a
//! [`Claim`]: it has an interval, or the reason why there is none.

use crate::error::StoreError;
use crate::keeper::write_whole;
use crate::{run_folder, wall};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub const SCHEMA: &str = "tare.weigh/1";
const FILE: &str = "weigh.json";
const PAGE: &str = "report.html";
const MAP: &str = "map.svg";

/// One weighing of one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Weighing {
    pub schema: String,
    /// Name of its folder; empty if nothing was kept.
    pub name: String,
    pub made_unix_s: u64,
    pub tare: String,
    /// As it was typed.
    pub command: String,
    pub machine: BTreeMap<String, String>,
    /// Whether it was cut short.
    pub partial: bool,
    pub packets: Vec<Packets>,
    pub backload: Vec<Backload>,
    pub rates: Vec<Rated>,
    pub skipped: Vec<Skipped>,
    pub notes: Vec<String>,
}

/// A figure over trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim {
    pub estimate: f64,
    /// Of the interval at 0.95.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Why there is no interval.
    pub refused: Option<String>,
}

impl Claim {
    /// Half the width of the interval.
    pub fn half(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }
}

/// What could not be weighed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub what: String,
    pub why: String,
}

/// The time that the system takes for a packet, through one port and with one frame size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Packets {
    /// `udp`, `packet`, `xdp`, `live`, `mem`.
    pub port: String,
    /// The port's address.
    pub address: String,
    /// Bytes of a frame, with its FCS.
    pub size: usize,
    pub against: String,
    pub stamps: Stamps,
    /// Packets of one call.
    pub batch: usize,
    pub threads: usize,
    pub threads_why: String,
    pub by_threads: Vec<ByThreads>,
    pub trials: Vec<Trial>,
    pub overall: Summary,
    pub peak: Summary,
    /// 1 / (mean time at peak).
    pub theoretical_per_s: f64,
    pub series: Vec<Bin>,
}

/// Who says when a packet left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stamps {
    /// `tx`, `capture`, `peer`, `port`.
    pub method: String,
    pub place: String,
    /// Why this and no other.
    pub why: String,
    /// One of so many packets is stamped.
    pub each: u64,
    /// How much later a stamp is than the packet was at the driver, in ns; in every time. Absent where that is
    /// not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ns: Option<f64>,
}

/// Loss of stamps with so many threads at full speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ByThreads {
    pub threads: usize,
    pub sent_per_s: f64,
    pub stamped_per_s: f64,
    pub loss: f64,
}

/// Times of the packets of one trial, or of its peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// Packets that were handed over.
    pub packets: u64,
    /// Those among them with a stamp that is not before the hand-over: what the figures are made of.
    pub counted: u64,
    /// Those whose stamp is before it. They are in no figure.
    pub negative: u64,
    pub least_negative_ns: f64,
    pub mean_ns: f64,
    pub min_ns: f64,
    pub max_ns: f64,
    /// Standard error of the mean, S / √n.
    pub error_ns: f64,
    pub rate_per_s: f64,
}

/// One trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trial {
    pub overall: Times,
    pub peak: Times,
    pub steps: Vec<Step>,
    /// Share of the stamps that never came.
    pub loss: f64,
    /// How far the wall clock stepped meanwhile; 0 where it did not.
    pub clock_step_ns: f64,
    /// Share of the time that a sending thread waited for its CPU.
    pub waited: f64,
    /// CPU time of the sending threads for each packet.
    pub user_ns: f64,
    pub system_ns: f64,
    /// Whether it counts for what is said of all trials.
    pub counts: bool,
    pub remarks: Vec<String>,
}

/// One rate of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// None is as fast as it goes.
    pub offered_per_s: Option<f64>,
    pub achieved_per_s: f64,
    pub mean_ns: f64,
}

/// Over the trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    pub trials: usize,
    pub packets: u64,
    pub negative: u64,
    pub min_ns: f64,
    pub max_ns: f64,
    pub mean_ns: Claim,
    pub rate_per_s: Claim,
}

/// A stretch of the run's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bin {
    pub t_s: f64,
    pub length_s: f64,
    pub own_per_s: f64,
    /// Backload.
    pub in_per_s: Option<f64>,
    pub mean_ns: Option<f64>,
}

/// What incoming traffic takes away, through one port, with one frame size and one kind of traffic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backload {
    pub port: String,
    pub address: String,
    pub size: usize,
    /// `udp-closed`, `udp-open`, `tcp-syn`, `answers`.
    pub kind: String,
    pub against: String,
    /// How the incoming traffic comes to the generator's CPU.
    pub steering: String,
    pub stamps: Stamps,
    pub trials: usize,
    /// In the order of time: before it, rising, after it.
    pub steps: Vec<BackloadStep>,
    /// Share of its own rate that was lost at the highest backload.
    pub fall: Claim,
    /// Own rate after it, of the one before.
    pub recovery: Claim,
    pub series: Vec<Bin>,
    pub remarks: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackloadStep {
    /// `before`, `rising`, `after`.
    pub phase: String,
    /// None is as fast as it goes.
    pub offered_in_per_s: Option<f64>,
    pub in_per_s: Claim,
    pub own_per_s: Claim,
    pub mean_ns: Claim,
    /// Incoming frames that this host dropped before its stack saw them, per second.
    pub dropped_in_per_s: f64,
    /// Own frames that were refused, per second.
    pub refused_per_s: f64,
    /// Shares of the generator's CPU.
    pub user: f64,
    pub system: f64,
    pub softirq: f64,
    pub idle: f64,
}

/// A rate that this machine keeps, of frames (`send.packet.64`) or requests (`http.tls`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rated {
    pub key: String,
    pub against: String,
    pub threads: u16,
    /// Highest rate at which the verdict stays VALID.
    pub peak_per_s: f64,
    pub low_per_s: Option<f64>,
    pub high_per_s: Option<f64>,
    pub saturated_per_s: Option<f64>,
    pub user_ns: f64,
    pub system_ns: f64,
    pub softirq_ns: Option<f64>,
}

/// `<state dir>/tare/weighings`.
///
/// # Errors
/// There is no state folder to be named.
pub fn folder() -> Result<PathBuf, StoreError> {
    Ok(run_folder::state_dir()?.join("tare/weighings"))
}

/// Keeps a weighing, its page and its map (none if that is empty): in `out`, or in a folder of its own under
/// the state folder. Returns where.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn keep(
    weighing: &mut Weighing,
    out: Option<&Path>,
    page: impl FnOnce(&Weighing) -> String,
    map: impl FnOnce(&Weighing) -> String,
) -> Result<PathBuf, StoreError> {
    let name = run_folder::run_name("weigh", clock::wall_time());
    let path = match out {
        Some(path) => path.to_owned(),
        None => folder()?.join(&name),
    };
    weighing.name = name;
    let failed = |why| StoreError::Create { path: path.clone(), why };
    fs::create_dir_all(&path).map_err(failed)?;
    let text = serde_json::to_string_pretty(weighing).map_err(|error| failed(error.into()))?;
    write_whole(&path, FILE, false, |to| writeln!(to, "{text}")).map_err(failed)?;
    let page = page(weighing);
    write_whole(&path, PAGE, false, |to| to.write_all(page.as_bytes())).map_err(failed)?;
    let map = map(weighing);
    if !map.is_empty() {
        write_whole(&path, MAP, false, |to| to.write_all(map.as_bytes())).map_err(failed)?;
    }
    Ok(path)
}

/// Reads one back: of a folder, or of the file itself.
///
/// # Errors
/// It is not there, or is no weighing.
pub fn read(path: &Path) -> std::io::Result<Weighing> {
    let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
    let weighing: Weighing = serde_json::from_slice(&fs::read(file)?)?;
    if weighing.schema == SCHEMA {
        return Ok(weighing);
    }
    Err(std::io::Error::other(format!("its schema is '{}', not {SCHEMA}", weighing.schema)))
}

/// When it was made: `2026-11-20T12:00:00Z`.
pub fn made_at(weighing: &Weighing) -> String {
    wall::rfc3339(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(weighing.made_unix_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_back_beside_its_page() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a/b");
        let trial = Trial { loss: 0.01, counts: true, ..Trial::default() };
        let packets = Packets { port: "udp".into(), size: 64, trials: vec![trial], ..Packets::default() };
        let mut weighing = Weighing { schema: SCHEMA.into(), packets: vec![packets], ..Weighing::default() };
        let path =
            keep(&mut weighing, Some(&out), |weighing| format!("<p>{}", weighing.name), |_| "<svg/>".into())
                .unwrap();
        assert_eq!(fs::read_to_string(out.join("map.svg")).unwrap(), "<svg/>");
        assert_eq!(path, out);
        assert_eq!(read(&path).unwrap(), weighing);
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        assert!(page.contains("-weigh-"), "{page}");
    }

    #[test]
    fn another_schema_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("weigh.json"), "{\"schema\":\"tare.result/1\"}").unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("tare.result/1") && error.contains("tare.weigh/1"), "{error}");
    }
}
