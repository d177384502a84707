//! Which load the machine is examined for: a plan file, or a command line after `--`.

use super::DoctorArgs;
use crate::{Command, command_of};
use anyhow::anyhow;
use doctor::{Device, Load};
use predict::{AskedRate, Demand};
use run::Failure;
use std::path::Path;

/// A load that is intended.
#[derive(Debug)]
pub struct IntendedLoad {
    /// As it was typed.
    pub name: String,
    pub demand: Demand,
    pub load: Load,
}

impl IntendedLoad {
    /// # Errors
    /// The plan or the command line is wrong: the line, key or flag.
    pub fn read(args: &DoctorArgs) -> Result<Option<Self>, Failure> {
        match (&args.plan, args.command.as_slice()) {
            (Some(path), _) => Self::of_plan(path).map(Some),
            (None, []) => Ok(None),
            (None, words) => Self::of_words(words).map(Some),
        }
    }

    fn of_plan(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(&name, &error))?;
        let demand = Demand::of_file(&text, &name).map_err(Failure::wrong)?;
        Ok(Self::new(name, demand))
    }

    fn of_words(words: &[String]) -> Result<Self, Failure> {
        let typed = words.join(" ");
        let demand = match command_of(words)? {
            Command::Http(args) => {
                Demand::of_http(&args.plan_file().map_err(Failure::wrong)?.resolve().map_err(Failure::wrong)?)
            }
            Command::Send(args) => Demand::of_send(&args.plan_file().resolve().map_err(Failure::wrong)?.0),
            Command::Pace(args) => Demand::of_pace(&args.plan_file().resolve().map_err(Failure::wrong)?.0),
            Command::Sweep(args) => Demand::of_sweep(&args.plan_file().resolve().map_err(Failure::wrong)?.0),
            Command::Capture(args) => {
                Demand::of_capture(&args.plan_file().resolve().map_err(Failure::wrong)?.0)
            }
            Command::Gaps(args) => Demand::of_gaps(&args.plan_file().resolve().map_err(Failure::wrong)?.0),
            Command::Forward(args) => {
                Demand::of_forward(&args.plan_file().resolve().map_err(Failure::wrong)?.0)
            }
            Command::Run(args) => return Self::of_plan(&args.plan),
            _ => {
                return Err(Failure::wrong(anyhow!(
                    "'{typed}' makes no load; expected http, send, pace, sweep, capture, gaps, forward or run"
                )));
            }
        };
        Ok(Self::new(typed, demand))
    }

    fn new(name: String, demand: Demand) -> Self {
        let load = match (&demand.rate, demand.command) {
            (_, "http") => Load::Http,
            (AskedRate::PerSecond(_), "send") | (_, "pace" | "gaps") => Load::Gaps,
            _ => Load::Packets,
        };
        Self { name, demand, load }
    }

    /// The interface that frames pass.
    pub fn interface(&self) -> Option<&str> {
        self.demand.frames.as_ref()?.interface.as_deref()
    }

    /// Whether frames go another way than by this process, its files and its sockets.
    pub fn needs_privilege(&self) -> bool {
        let kinds = self.demand.frames.iter().flat_map(|frames| &frames.kinds);
        let mut kinds = kinds.filter(|kind| !["mem", "pcap", "udp"].contains(kind));
        self.demand.requests.is_none() && (self.demand.frames.is_none() || kinds.next().is_some())
    }

    /// Whether the load passes that interface, as far as the plan says: requests may take any, but for those
    /// that stay here.
    pub fn uses(&self, device: &Device) -> bool {
        match (&self.demand.requests, self.interface()) {
            (Some(requests), _) => !requests.is_loopback && !requests.is_unix,
            (None, Some(name)) => device.name == name,
            (None, None) => self.demand.frames.is_none(),
        }
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    let names: Vec<&str> = crate::GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    if names.contains(&name) {
        return Failure::wrong(anyhow!("put -- before a command line: tare doctor -- {name} …"));
    }
    let expected = "expected a plan in TOML, such as tare http --print-plan prints";
    Failure::wrong(anyhow!("{name}: {error}; {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Result<IntendedLoad, String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        IntendedLoad::of_words(&words).map_err(|failure| failure.into_error().to_string())
    }

    #[test]
    fn a_command_line_says_which_kind_of_load_it_is() {
        assert_eq!(asked("http http://127.0.0.1:1/ --rate 20k").unwrap().load, Load::Http);
        assert_eq!(asked("tare send packet:eth0 --rate 10k").unwrap().load, Load::Gaps);
        assert_eq!(asked("send packet:eth0 --rate max").unwrap().load, Load::Packets);
        assert_eq!(asked("send packet:eth0 --rate max").unwrap().interface(), Some("eth0"));
        assert_eq!(asked("capture packet:eth0").unwrap().load, Load::Packets);
    }

    #[test]
    fn what_is_no_load_or_wrong_is_refused_by_name() {
        let said = asked("lab show").unwrap_err();
        assert!(said.contains("'lab show' makes no load"), "{said}");
        assert!(asked("http http://127.0.0.1/ --rate quick").unwrap_err().contains("--rate"));
        assert!(asked("http --no-such-flag").unwrap_err().contains("--no-such-flag"));
    }

    #[test]
    fn memory_files_and_sockets_need_no_privilege() {
        for words in ["send mem:a", "send udp:198.18.0.2:9", "http http://127.0.0.1:1/"] {
            assert!(!asked(words).unwrap().needs_privilege(), "{words}");
        }
        for words in ["send packet:eth0", "send eth0", "send live:eth0", "capture packet:eth0"] {
            assert!(asked(words).unwrap().needs_privilege(), "{words}");
        }
    }

    #[test]
    fn only_the_interfaces_of_the_load_are_examined() {
        let device = Device { name: "eth1".into(), ..Device::default() };
        assert!(!asked("http http://127.0.0.1:1/").unwrap().uses(&device));
        assert!(asked("http http://198.18.0.2/").unwrap().uses(&device));
        assert!(!asked("send packet:eth0").unwrap().uses(&device));
        assert!(asked("send packet:eth1").unwrap().uses(&device));
        assert!(!asked("send mem:a").unwrap().uses(&device));
    }
}
