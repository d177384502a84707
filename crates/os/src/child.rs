//! Child processes that do not outlive us.

use rustix::process::{Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let start = || end_with_this_thread(Command::new("sleep").arg("60")).spawn().unwrap();
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
