//! All kinds of requests, one after another, against a target that is named or an embedded one.

use super::{Kind, Progress, Setup, Weighed, weigh};
use crate::WeighError;
use bed::TargetProcess;
use profile::Capability;
use std::sync::atomic::{AtomicBool, Ordering};

/// The embedded target ends by itself after this long, should nobody be left to end it.
const TARGET_LIFE: &str = "3600s";
/// Bytes of its answers.
pub const ANSWER: &str = "600";

/// All that came of it.
pub struct AllKinds {
    pub started_at: String,
    /// Of the target; `None` is an embedded one.
    pub url: Option<String>,
    pub setup: Setup,
    pub kinds: Vec<Weighed>,
    /// It was stopped before its end.
    pub is_partial: bool,
}

impl AllKinds {
    /// CPUs of an embedded target; empty leaves it to the kernel.
    pub fn target_cpus(&self) -> Vec<u32> {
        target_cpus(&self.setup)
    }
}

/// The short form against the embedded target, for those who weigh other things as well: all kinds in about
/// half a minute. What was weighed before it was stopped is returned; nothing is kept.
///
/// # Errors
/// A trial could not be made.
pub fn quick(stop: &AtomicBool, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Capability>, WeighError> {
    let setup = Setup { cpus: generator_cpus(1), ..Setup::quick() };
    let all = weigh_all(&Kind::ALL, None, setup, stop, progress)?;
    Ok(all.kinds.into_iter().map(|weighed| weighed.capability).collect())
}

/// The first CPUs, where at least one is left for the target; else the kernel's choice.
pub fn generator_cpus(threads: u32) -> Vec<u32> {
    let cpus = os::cpus::usable();
    if cpus.len() > threads as usize { cpus[..threads as usize].to_vec() } else { Vec::new() }
}

/// Weighs each kind against `url`, or against an embedded target.
///
/// # Errors
/// The target cannot be reached or started, or a trial could not be made.
pub fn weigh_all(
    kinds: &[Kind],
    url: Option<&str>,
    setup: Setup,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<AllKinds, WeighError> {
    let started_at = store::rfc3339(clock::wall_time());
    let mut all = Vec::new();
    for kind in kinds {
        let target = url.is_none().then(|| embedded(*kind, &setup)).transpose()?;
        let mut own = setup.clone();
        // Its certificate is made on the spot.
        own.flags.extend((target.is_some() && kind.is_tls()).then(|| "--insecure".to_owned()));
        let (to, against) = match (&target, url) {
            (Some(target), _) => (target.url().to_owned(), "embedded target".to_owned()),
            (None, url) => (url.unwrap_or_default().to_owned(), url.unwrap_or_default().to_owned()),
        };
        all.extend(weigh(*kind, &to, &against, &own, stop, progress)?);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let (url, is_partial) = (url.map(str::to_owned), stop.load(Ordering::Relaxed));
    Ok(AllKinds { started_at, url, setup, kinds: all, is_partial })
}

/// A target on the CPUs that the generator leaves.
fn embedded(kind: Kind, setup: &Setup) -> Result<TargetProcess, WeighError> {
    let others = target_cpus(setup);
    let workers = others.len().max(1).to_string();
    let list = others.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut flags = vec!["--no-truth", "--size", ANSWER, "--for", TARGET_LIFE, "--workers", &workers];
    if !list.is_empty() {
        flags.extend(["--cpus", &list]);
    }
    flags.extend(kind.is_tls().then_some("--tls"));
    Ok(TargetProcess::start(&flags)?)
}

/// Of an embedded target; empty leaves it to the kernel.
fn target_cpus(setup: &Setup) -> Vec<u32> {
    let cpus = os::cpus::usable();
    let others: Vec<u32> = cpus.iter().copied().filter(|cpu| !setup.cpus.contains(cpu)).collect();
    if setup.cpus.is_empty() { Vec::new() } else { others }
}
