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
use crate::keeper::{FileId, write_whole};
use crate::{run_folder, wall};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub const SCHEMA: &str = "tare.weigh/1";
const FILE: &str = "weigh.json";
/// Bytes of one, at most.
const MOST: u64 = 64 << 20;
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
    /// Names of the machines, if it joins the weighings of several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<String>,
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
    /// `udp`, `packet`, `xdp`, `live`, `mem`, or the address of an FPGA module.
    pub port: String,
    /// The port's address.
    pub address: String,
    /// Whether its time is a simulation's. It is nothing of this machine's then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Bytes of a frame, with its FCS.
    pub size: usize,
    pub against: String,
    pub stamps: Stamps,
    /// Packets of one call.
    pub batch: usize,
    /// 0 where no thread of this host makes them.
    pub threads: usize,
    pub threads_why: String,
    pub by_threads: Vec<ByThreads>,
    pub trials: Vec<Trial>,
    pub overall: Summary,
    pub peak: Summary,
    /// 1 / (mean time at peak); 0 where packets take no time.
    pub theoretical_per_s: f64,
    pub series: Vec<Bin>,
}

/// Who says when a packet left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stamps {
    /// `tx`, `capture`, `peer`, `port`, `wire`, `module`.
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
    /// As of [`Packets`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    pub size: usize,
    /// `udp-closed`, `udp-open`, `tcp-syn`, `answers`.
    pub kind: String,
    pub against: String,
    /// How the incoming traffic comes to the generator's CPU.
    pub steering: String,
    pub stamps: Stamps,
    /// Those that count.
    pub trials: usize,
    /// In the order of time: before it, rising, after it. None if no trial counts.
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
    /// Shares of the generator's CPU; none where it needs none.
    pub user: Option<f64>,
    pub system: Option<f64>,
    pub softirq: Option<f64>,
    pub idle: Option<f64>,
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
    let held = fs::File::open(&path).map_err(failed)?;
    let write = |name: &str, text: &str| {
        // What is there is an earlier weighing's ([`can_join_into`]).
        let there = FileId::named(&held, name).ok();
        write_whole(&held, name, false, there, |to| to.write_all(text.as_bytes())).map(drop)
    };
    write(FILE, &format!("{text}\n")).map_err(failed)?;
    write(PAGE, &page(weighing)).map_err(failed)?;
    let map = map(weighing);
    if !map.is_empty() {
        write(MAP, &map).map_err(failed)?;
    }
    Ok(path)
}

/// Reads one back: of a folder, or of the file itself.
///
/// # Errors
/// It is not there, or is no weighing.
pub fn read(path: &Path) -> io::Result<Weighing> {
    let weighing: Weighing = serde_json::from_slice(&bytes_of(&file_of(path))?)?;
    if weighing.schema == SCHEMA {
        return Ok(weighing);
    }
    Err(io::Error::other(format!("its schema is '{}', not {SCHEMA}", weighing.schema)))
}

fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(FILE) } else { path.to_owned() }
}

/// A regular file, and no more than a weighing can have: a pipe or a device may never end.
fn bytes_of(file: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::other(format!(
            "it is larger than {} MiB, so it is not a weighing",
            MOST >> 20
        )));
    }
    Ok(bytes)
}

/// Whether these weighings may be joined into `out`: not where that replaces one that was measured, or one of
/// them.
///
/// # Errors
/// What would be replaced.
pub fn can_join_into(out: &Path, inputs: &[&Path]) -> Result<(), String> {
    let file = out.join(FILE);
    let Ok(there) = fs::canonicalize(&file) else {
        // A page or a map without a weighing is of something else, such as a run.
        let others = [PAGE, MAP].map(|name| out.join(name));
        return match others.iter().find(|other| fs::symlink_metadata(other).is_ok()) {
            Some(other) => Err(format!("{} would be replaced; name another folder", other.display())),
            None => Ok(()),
        };
    };
    let is_input = inputs.iter().any(|path| fs::canonicalize(file_of(path)).is_ok_and(|one| one == there));
    if !is_input && read(&file).is_ok_and(|weighing| !weighing.machines.is_empty()) {
        return Ok(());
    }
    Err(format!("{} would be replaced; name another folder", file.display()))
}

/// Weighings of several machines as one, each figure under its machine's name.
pub fn join(all: Vec<(String, Weighing)>) -> Weighing {
    let mut joined = Weighing { schema: SCHEMA.to_owned(), ..Weighing::default() };
    for (name, one) in all {
        let named = |what: String| format!("{name}: {what}");
        joined.made_unix_s = joined.made_unix_s.max(one.made_unix_s);
        joined.partial |= one.partial;
        joined.machine.extend(one.machine.into_iter().map(|(fact, value)| (named(fact), value)));
        joined.machine.insert(named("weighed".into()), format!("{}, tare {}", one.command, one.tare));
        joined.packets.extend(one.packets.into_iter().map(|it| Packets { port: named(it.port), ..it }));
        joined.backload.extend(one.backload.into_iter().map(|it| Backload { port: named(it.port), ..it }));
        joined.rates.extend(one.rates.into_iter().map(|it| Rated { key: named(it.key), ..it }));
        joined.skipped.extend(one.skipped.into_iter().map(|it| Skipped { what: named(it.what), ..it }));
        joined.notes.extend(one.notes.into_iter().map(named));
        joined.machines.push(name);
    }
    joined
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
    fn joined_weighings_keep_their_figures_under_their_machines_names() {
        let of = |rate: f64, made_unix_s| {
            let backload = Backload { port: "udp".into(), trials: 5, ..Backload::default() };
            let rate = Rated { key: "http".into(), peak_per_s: rate, ..Rated::default() };
            let machine = [("cpu".to_owned(), "x".to_owned())].into();
            let (backload, rates) = (vec![backload], vec![rate]);
            Weighing { made_unix_s, machine, backload, rates, ..Weighing::default() }
        };
        let joined = join(vec![("old".into(), of(5.0, 9)), ("new".into(), of(7.0, 3))]);
        assert_eq!(joined.machines, ["old", "new"]);
        assert_eq!(joined.made_unix_s, 9);
        assert_eq!(
            joined.backload.iter().map(|it| it.port.as_str()).collect::<Vec<_>>(),
            ["old: udp", "new: udp"]
        );
        assert_eq!(joined.rates[1].key, "new: http");
        assert_eq!((joined.rates[1].peak_per_s, joined.machine["old: cpu"].as_str()), (7.0, "x"));
    }

    #[test]
    fn a_weighing_that_was_measured_is_not_joined_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let kept = |name: &str, machines: &[&str]| {
            let machines = machines.iter().map(|machine| (*machine).to_owned()).collect();
            let mut weighing = Weighing { schema: SCHEMA.into(), machines, ..Weighing::default() };
            keep(&mut weighing, Some(&path(name)), |_| String::new(), |_| String::new()).unwrap()
        };
        let (one, joined, other) =
            (kept("one", &[]), kept("joined", &["a", "b"]), kept("other", &["c", "d"]));
        std::os::unix::fs::symlink(&joined, path("link")).unwrap();
        let file = joined.join("weigh.json");
        for (out, inputs, is_right) in [
            (path("new"), vec![&one], true),
            (other.clone(), vec![&one, &joined], true),
            (one.clone(), vec![&joined, &other], false),
            (joined.clone(), vec![&one, &joined], false),
            (path("link"), vec![&one, &file], false),
        ] {
            let inputs: Vec<&Path> = inputs.into_iter().map(PathBuf::as_path).collect();
            let said = can_join_into(&out, &inputs);
            assert_eq!(said.is_ok(), is_right, "{} {inputs:?} {said:?}", out.display());
        }
        fs::remove_file(other.join("weigh.json")).unwrap();
        assert!(can_join_into(&other, &[&one]).unwrap_err().contains("report.html"), "a run's page");
        fs::write(joined.join("weigh.json"), "something else").unwrap();
        assert!(can_join_into(&joined, &[&one]).unwrap_err().contains("name another folder"));
    }

    #[test]
    fn what_never_ends_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for odd in [&fifo, Path::new("/dev/zero")] {
            assert!(read(odd).unwrap_err().to_string().contains("not a regular file"), "{}", odd.display());
        }
        let large = folder.path().join("large");
        fs::File::create(&large).unwrap().set_len(MOST + 1).unwrap();
        assert!(read(&large).unwrap_err().to_string().contains("larger than 64 MiB"));
    }

    #[test]
    fn another_schema_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("weigh.json"), "{\"schema\":\"tare.result/1\"}").unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("tare.result/1") && error.contains("tare.weigh/1"), "{error}");
    }
}
