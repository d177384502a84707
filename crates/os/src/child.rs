//! Child processes that do not outlive us.

use rustix::process::{Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Has the child killed when the thread that starts it ends, also where this process is killed and can end
/// nothing itself (PR_SET_PDEATHSIG): so that thread must outlive the child. What the child starts lives on.
pub fn end_with_this_thread(command: &mut Command) -> &mut Command {
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The thread may have ended before that.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: between fork and exec it makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(ask) }
}

/// Has what the child starts stay below it, also where whoever started it there has ended
/// (PR_SET_CHILD_SUBREAPER): as long as the child lives.
pub fn keep_descendants(command: &mut Command) -> &mut Command {
    let adopt = || Ok(set_child_subreaper(Some(getpid()))?);
    // SAFETY: between fork and exec it makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(adopt) }
}

/// A process that ends a command's process group if this process is killed and cannot: it waits for the end of
/// a pipe that only this process holds. Dropped, it ends nothing.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Of a child that has its own group; with `variable` (`NAME=value`), also of all that have it in their
    /// environment.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn of(child: &Child, variable: Option<&str>) -> io::Result<Self> {
        const SCRIPT: &str = "read -r _; kill -INT \"-$1\"; sleep 0.5; kill -KILL \"-$1\"; [ -n \"$2\" ] || exit; \
             for at in $(grep -lsaxzF -e \"$2\" /proc/[0-9]*/environ); do \
             at=${at#/proc/}; kill -KILL \"${at%/environ}\"; done";
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh", &child.id().to_string(), variable.unwrap_or_default()]);
        // Not of this process's group either: Ctrl-C is for those who can tell what it means.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map(Self)
    }

    /// Behaves as if this process had been killed, and waits until all is ended.
    pub fn trigger(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }

    /// There is nothing to be guarded any more.
    pub fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_group_ends_where_its_guard_is_left_alone_and_not_where_it_is_dropped() {
        // These tests may have been started where SIGINT is ignored.
        let words = ["--default-signal=INT", "sleep", "60"];
        let start = || Command::new("env").args(words).process_group(0).spawn().unwrap();
        let (mut ended, mut kept) = (start(), start());
        drop(Guard::of(&kept, None).unwrap());
        Guard::of(&ended, None).unwrap().trigger();
        assert_eq!(ended.wait().unwrap().signal(), Some(libc::SIGINT));
        assert_eq!(kept.try_wait().unwrap(), None);
        kept.kill().unwrap();
        kept.wait().unwrap();
    }

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let start = || end_with_this_thread(Command::new("sleep").arg("60")).spawn().unwrap();
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
