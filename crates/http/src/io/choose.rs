//! Which kernel interface drives the sockets, and why.
//!
//! Both tell the same: answers bring the kernel's receive stamps, departures leave at their own times. io_uring
//! saves the system calls that read; how much that is worth changes from kernel to kernel, and many containers
//! refuse it. So it is used where it is asked for.

use super::uring::Uring;
use super::waker;
use plan::{IoChoice, Plan};
use rustix::io::Errno;

/// The interface that a run uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// io_uring rather than epoll.
    pub uring: bool,
    /// No sockets of the kernel's at all.
    pub port: bool,
    pub reason: String,
}

impl Choice {
    pub const fn name(&self) -> &'static str {
        match self {
            Self { port: true, .. } => "port",
            Self { uring: true, .. } => "io_uring",
            _ => "epoll",
        }
    }

    fn epoll(reason: impl Into<String>) -> Self {
        Self { uring: false, port: false, reason: reason.into() }
    }
}

/// What the plan wants, as far as the kernel has it.
pub fn choose(plan: &Plan) -> Choice {
    if let Some(via) = &plan.connection.via {
        let port = via.split_once(",ip=").map_or(via.as_str(), |(port, _)| port);
        let reason = format!("requested (--via): tare's own TCP on {port}, not the kernel's sockets");
        return Choice { uring: false, port: true, reason };
    }
    if plan.connection.throttle.is_some() {
        return Choice::epoll("throttled reading needs a socket that is left unread");
    }
    match plan.engine.io {
        IoChoice::Epoll => Choice::epoll("asked for"),
        IoChoice::Auto => Choice::epoll("every kernel has it"),
        IoChoice::IoUring => match usable() {
            Ok(()) => Choice { uring: true, port: false, reason: "asked for".to_owned() },
            Err(errno) => {
                Choice::epoll(format!("io_uring was requested, but this kernel refuses it ({errno})"))
            }
        },
    }
}

fn usable() -> Result<(), Errno> {
    Uring::new(waker()?, true).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::PlanFile;

    #[test]
    fn only_who_asks_for_io_uring_gets_it() {
        let chosen = |io: &str, load: &str| {
            let text = format!("url = \"http://h/\"\n[load]\n{load}\n[engine]\nio = \"{io}\"\n");
            let file = PlanFile::from_toml(&text, "a test").expect("a plan");
            choose(&file.resolve().expect("a good plan")).name()
        };
        for load in ["rate = \"10/s\"", "parallel = 2"] {
            assert_eq!([chosen("auto", load), chosen("epoll", load)], ["epoll"; 2]);
            assert_eq!(chosen("uring", load), "io_uring");
        }
    }
}
