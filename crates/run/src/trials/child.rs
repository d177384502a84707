//! One trial: a process of the same program, which runs one load and keeps it where the group wants it.
//!
//! ```text
//! tare http … --trials 10 ──► TARE_TRIAL=FOLDER TARE_TRIAL_TAG=NAME  tare http … --trials 10   the same words
//! ```
//!
//! The words need no change, so nothing can be lost between what was typed and what runs. The child has a
//! process group of its own: a Ctrl-C at the terminal reaches the group's parent alone, which hands it on once.

use crate::options::{Options, Output};
use crate::status::Failure;
use anyhow::anyhow;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const FOLDER: &str = "TARE_TRIAL";
const TAG: &str = "TARE_TRIAL_TAG";
/// How often the parent looks after its child.
const PATIENCE: Duration = Duration::from_millis(20);

/// Whether this process is a trial.
pub fn is_trial() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// Of a trial: kept where the group wants it, and told by the group alone.
pub fn as_trial(mut options: Options) -> Options {
    let Some(folder) = std::env::var_os(FOLDER) else { return options };
    options.out = Some(PathBuf::from(folder));
    options.save = true;
    let tag = std::env::var(TAG).ok();
    options.unlisted = tag.is_none();
    options.tags.extend(tag.and_then(|tag| tag.parse().ok()));
    options.output = Output::Nothing;
    options.live.no_view = true;
    options
}

/// Ends its process when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a trial to its end; without a tag its folder is only for a while. Each time `stop` is set, the trial
/// gets a Ctrl-C, and `stopped` is set.
pub fn run(
    words: &[OsString],
    folder: &Path,
    tag: Option<&str>,
    stop: &AtomicBool,
    stopped: &mut bool,
) -> Result<ExitStatus, Failure> {
    let program =
        std::env::current_exe().map_err(|why| anyhow!("cannot find the path of this program: {why}"))?;
    let mut command = Command::new(program);
    command.args(words).env(FOLDER, folder).envs(tag.map(|tag| (TAG, tag)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    let child = os::child::end_with_this_thread(&mut command)
        .spawn()
        .map_err(|why| anyhow!("cannot start a trial: {why}"))?;
    let mut running = Running(child);
    loop {
        if let Some(status) = running.0.try_wait().map_err(|why| anyhow!("cannot wait for a trial: {why}"))? {
            return Ok(status);
        }
        if stop.swap(false, Ordering::Relaxed) {
            *stopped = true;
            if let Some(pid) = i32::try_from(running.0.id()).ok().and_then(Pid::from_raw) {
                // It may just have ended: then there is nobody to stop.
                let _ = kill_process(pid, Signal::INT);
            }
        }
        std::thread::sleep(PATIENCE);
    }
}
