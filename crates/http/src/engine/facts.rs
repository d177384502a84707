//! How an engine will run, and why.

use os::peers::Peers;
use plan::{Load, Shape, Spin};
use port::PortKind;
use port::interface::LinkWatch;
use units::{Fraction, Picos, Rate};

use super::{Engine, usable_cpus, wanted_threads};
use crate::io::choose::Choice;

/// How the engine will run, for `environment.json` and the recorders.
#[derive(Clone, Debug)]
pub struct Facts {
    pub threads: u32,
    pub threads_reason: String,
    pub spin: bool,
    pub spin_reason: String,
    pub priority: String,
    pub priority_reason: String,
    pub io: Choice,
    /// Over a port: which way requests go, and why.
    pub path: Option<(&'static str, String)>,
    /// How it is known when answers could be read (`kernel stamps`, `bound`, `none`), and why.
    pub arrivals: (&'static str, String),
    /// Names of the groups; empty if there is only one.
    pub groups: Vec<String>,
    /// Files of `{line:FILE}`, by name.
    pub line_files: Vec<String>,
    /// The FPGA module makes the load, in simulated time; whether its target lives in another time.
    pub simulated: Option<bool>,
    /// Last of the recorded times (`--at`).
    pub recorded_until: Option<Picos>,
    /// Where connections go. Those of a large URL file, and redirects, are known when the first is opened.
    pub peers: Peers,
}

impl Engine {
    /// The interface of the port that `--via` names.
    pub fn link(&self) -> Option<LinkWatch> {
        LinkWatch::of(&self.via.as_ref()?.port)
    }

    pub fn facts(&self) -> Facts {
        Facts {
            threads: self.threads,
            threads_reason: match self.plan.engine.threads {
                _ if self.via.is_none() && self.threads < wanted_threads(&self.plan) => {
                    "one per connection; more would have nothing to do".to_owned()
                }
                Some(_) => "asked for".to_owned(),
                None if self.module.is_some() => "one thread reads what the module reports".to_owned(),
                None if self.via.is_some() => "one thread drives a port".to_owned(),
                None => format!("{} CPUs may be used, one is left for other work", usable_cpus()),
            },
            spin: self.spin,
            spin_reason: self.spin_reason(),
            priority: self.priority.level.words(),
            priority_reason: self.priority.why.clone(),
            io: match &self.module {
                Some(fit) => {
                    let reason =
                        format!("requested (--via): the FPGA module's sessions ({})", fit.about.port);
                    Choice { reason, ..self.io.clone() }
                }
                None => self.io.clone(),
            },
            simulated: self.module.as_ref().map(|fit| fit.about.is_apart),
            recorded_until: self.recorded.map(|recorded| recorded.until),
            path: self
                .via
                .as_ref()
                .filter(|_| self.module.is_none())
                .map(|_| (if self.path.fast { "fast" } else { "general" }, self.path.reason.clone())),
            arrivals: self.arrivals(),
            // The module does not report of which request a response is.
            groups: if self.module.is_some() { Vec::new() } else { self.requests.groups.clone() },
            line_files: self.requests.line_files(&self.plan),
            peers: self.peers.clone(),
        }
    }

    /// How it is known when answers could be read, and why.
    fn arrivals(&self) -> (&'static str, String) {
        let plan = &self.plan;
        if self.module.is_some() {
            return ("module", "the module stamps every frame in the cycle in which it begins".to_owned());
        }
        if plan.connection.unix.is_some() {
            return ("bound", "the kernel makes no timestamps on Unix sockets".to_owned());
        }
        if plan.connection.throttle.is_some() {
            return ("none", "the plan itself leaves responses unread (--throttle)".to_owned());
        }
        if let Some(via) = &self.via {
            return match via.port.innermost().kind() {
                PortKind::Packet | PortKind::Auto => {
                    ("kernel stamps", "the kernel stamps every frame before the port receives it".to_owned())
                }
                PortKind::Xdp => {
                    ("kernel stamps", "the XDP program stamps every frame in the driver".to_owned())
                }
                kind => ("bound", format!("a {kind} port does not timestamp what it receives")),
            };
        }
        ("kernel stamps", "every read brings the kernel's software receive stamp".to_owned())
    }

    fn spin_reason(&self) -> String {
        match (self.plan.engine.spin, &self.plan.load) {
            _ if self.module.is_some() => "the module waits for due times".to_owned(),
            (Spin::Always | Spin::Never, _) => "asked for".to_owned(),
            (Spin::Auto, Load::Closed { .. }) => {
                "a closed loop has no due times; when it is busy, it sleeps briefly so that responses \
                 accumulate"
                    .to_owned()
            }
            (Spin::Auto, Load::Open { .. }) if self.spin => "a CPU can be spared for each thread".to_owned(),
            (Spin::Auto, Load::Open { .. }) => {
                format!("{} threads on {} CPUs leave none to spare", self.threads, os::cpus::online())
            }
        }
    }

    /// The rate, if it may be changed while the run goes on, or why not.
    pub fn steerable(&self) -> Result<Rate, &'static str> {
        let Load::Open { arrivals, .. } = &self.plan.load else {
            return Err("a closed loop has no rate: it goes as fast as the target responds");
        };
        match arrivals.shape {
            _ if self.module.is_some() => Err("the module gets its whole load at the start"),
            _ if self.plan.stop.requests.is_some() => {
                Err("the number of requests is fixed, so the run's length depends on the rate")
            }
            Shape::Constant(_) if arrivals.jitter != Fraction::ZERO => {
                Err("due times have jitter, which is a share of one gap")
            }
            Shape::Constant(rate) => Ok(rate),
            Shape::Poisson(_) => Err("the gaps are drawn from one distribution"),
            _ => Err("the plan says how the rate changes"),
        }
    }
}
