//! Which load the machine is examined for: a plan file, or a command line after `--`; and whether a run of it
//! would start at all, which is asked of the run's own checks.

use super::DoctorArgs;
use crate::commands::output_args::OutputArgs;
use crate::{Command, command_of};
use anyhow::anyhow;
use doctor::{Device, Load};
use plan::packets::PacketPlan;
use predict::{AskedRate, Demand};
use run::{Failure, Loaded, Options, read_input, said_once};
use std::path::Path;

/// A load that is intended.
#[derive(Debug)]
pub struct IntendedLoad {
    /// As it was typed.
    pub name: String,
    pub demand: Demand,
    pub load: Load,
    /// What the run would say and end with exit status 2, before it sends anything.
    pub refused: Option<String>,
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
        let text = read_input(path).map_err(|error| unreadable(&name, &error))?;
        Self::of_text(name, &text, &Options { save: true, ..Options::default() })
    }

    fn of_text(name: String, text: &str, options: &Options) -> Result<Self, Failure> {
        let demand = Demand::of_file(text, &name).map_err(Failure::wrong)?;
        let loaded = Loaded::read(text, &name, |_| (), options);
        Ok(Self::new(name, demand, loaded, options))
    }

    fn of_words(words: &[String]) -> Result<Self, Failure> {
        let typed = words.join(" ");
        // A plan as it is printed is the same plan.
        let frames = |plan: PacketPlan, demand: Demand, output: &OutputArgs| {
            let options = Options::from(output);
            let loaded = Loaded::read(&plan.to_toml(), "plan", |_| (), &options);
            Self::new(typed.clone(), demand, loaded, &options)
        };
        Ok(match command_of(words)? {
            Command::Http(args) => {
                let (plan, notes) =
                    args.plan_file().map_err(Failure::wrong)?.resolve_with_notes().map_err(Failure::wrong)?;
                let demand = Demand::of_http(&plan);
                Self::new(typed, demand, Ok(Loaded::Http(plan.into(), notes)), &Options::from(&args.output))
            }
            Command::Send(args) => {
                let (plan, packets) = args.plan_file().resolve().map_err(Failure::wrong)?;
                frames(packets, Demand::of_send(&plan), &args.output)
            }
            Command::Pace(args) => {
                let (plan, packets) = args.plan_file().resolve().map_err(Failure::wrong)?;
                frames(packets, Demand::of_pace(&plan), &args.output_args)
            }
            Command::Sweep(args) => {
                let (plan, packets) = args.plan_file().resolve().map_err(Failure::wrong)?;
                frames(packets, Demand::of_sweep(&plan), &args.output)
            }
            Command::Capture(args) => {
                let (plan, packets) = args.plan_file().resolve().map_err(Failure::wrong)?;
                frames(packets, Demand::of_capture(&plan), &args.output)
            }
            Command::Gaps(args) => {
                let (plan, packets) = args.plan_file().resolve().map_err(Failure::wrong)?;
                frames(packets, Demand::of_gaps(&plan), &args.output)
            }
            Command::Forward(args) => {
                let (plan, packets) = args.plan_file().resolve().map_err(Failure::wrong)?;
                frames(packets, Demand::of_forward(&plan), &args.output_args)
            }
            Command::Run(args) => {
                let name = args.plan.display().to_string();
                let text = read_input(&args.plan).map_err(|error| unreadable(&name, &error))?;
                Self::of_text(name, &text, &Options::from(&args.output))?
            }
            _ => {
                return Err(Failure::wrong(anyhow!(
                    "'{typed}' makes no load; expected http, send, pace, sweep, capture, gaps, forward or run"
                )));
            }
        })
    }

    fn new(name: String, demand: Demand, loaded: Result<Loaded, Failure>, options: &Options) -> Self {
        let refused = loaded.and_then(|loaded| loaded.check(options)).err();
        let refused = refused.map(|failure| said_once(&failure.into_error()));
        let load = match (&demand.rate, demand.command) {
            (_, "http") => Load::Http,
            (AskedRate::PerSecond(_), "send") | (_, "pace" | "gaps") => Load::Gaps,
            _ => Load::Packets,
        };
        Self { name, demand, load, refused }
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

    /// Whether its connections use none of the kernel's ports.
    pub fn has_own_tcp(&self) -> bool {
        self.demand.requests.as_ref().is_some_and(|requests| requests.own_ports.is_some())
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
    fn what_the_run_would_refuse_is_told_in_its_words() {
        let refused = |words: &str| asked(words).unwrap().refused.unwrap_or_default();
        for (words, said) in [
            ("http http://127.0.0.1:1/ --ca /nowhere/ca.pem", "--ca /nowhere/ca.pem"),
            ("http http://127.0.0.1:1/ --unix /nowhere/socket", "--unix /nowhere/socket"),
            ("http http://127.0.0.1:1/ --body-stream /nowhere/body", "--body-stream /nowhere/body"),
            ("http http://127.0.0.1:1/ --via packet:none9,ip=198.18.0.9/24", "there is no interface 'none9'"),
            ("http http://127.0.0.1:1/ --to nonsense:x", "nonsense"),
            ("send mem:a --pcap /nowhere/in.pcap", "/nowhere/in.pcap"),
            ("send live:lo", "no ndo_xdp_xmit"),
            ("send udp:bogus", "has no address and port"),
            ("send mem:a --out /proc", "is not empty"),
            ("pace mem:a mem:b --gaps /nowhere/gaps", "--gaps: /nowhere/gaps"),
            ("sweep --send mem:a --receive packet:none9", "there is no interface 'none9'"),
            ("capture pcap:/nowhere/in.pcap", "/nowhere/in.pcap"),
            ("capture mem:a -w /nowhere/out.pcap", "cannot be written"),
            ("gaps pcap:/nowhere/in.pcap", "/nowhere/in.pcap"),
            ("forward mem:a --rules /nowhere/rules", "--rules: /nowhere/rules"),
            ("forward none9 mem:a", "there is no interface 'none9'"),
        ] {
            let why = refused(words);
            assert!(why.contains(said), "{words}: {why:?}");
        }
        for words in ["http http://127.0.0.1:1/", "send mem:a", "capture mem:a", "forward --table"] {
            assert_eq!(refused(words), "", "{words}");
        }
    }

    #[test]
    fn what_the_run_would_refuse_of_its_page_its_reports_and_its_folder_is_told_and_nothing_is_made() {
        let refused = |words: &str| asked(words).unwrap().refused.unwrap_or_default();
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = taken.local_addr().unwrap();
        for (words, said) in [
            (format!("send mem:a --live={at}"), at.to_string()),
            ("http http://127.0.0.1:1/ --live=0.0.0.0:0".to_owned(), "--live-token".to_owned()),
            ("send mem:a --live --live-token @/missing".to_owned(), "/missing".to_owned()),
            ("send mem:a --junit /nowhere/x".to_owned(), "--junit: /nowhere/x".to_owned()),
            (
                "send mem:a --out /proc/1/x".to_owned(),
                "--out: cannot write to the folder /proc/1/x".to_owned(),
            ),
        ] {
            let why = refused(&words);
            assert!(why.contains(&said), "{words}: {why:?}");
        }
        assert_eq!(refused("send mem:a --live=127.0.0.1:0"), "");
        let folder = tempfile::tempdir().unwrap();
        let there = |name: &str| folder.path().join(name).display().to_string();
        let words = format!("send mem:a --junit {} --out {}", there("report"), there("new/run"));
        assert_eq!(refused(&words), "");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn named_pipes_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let pipe = pipe.display().to_string();
        for (words, said) in [
            ("send mem:a --replay PIPE", ""),
            ("send mem:a --pcap PIPE", ""),
            ("capture pcap:PIPE", ""),
            ("send mem:a -D PIPE", "regular file"),
            ("send mem:a --gaps PIPE", "regular file"),
            ("http PIPE", "regular file"),
            ("http http://127.0.0.1:1/ --body @PIPE", "regular file"),
            ("http http://127.0.0.1:1/ --at PIPE", "regular file"),
            ("http https://127.0.0.1:1/ --ca PIPE", "regular file"),
            ("forward mem:a --rules PIPE", "regular file"),
            ("run PIPE", "regular file"),
        ] {
            let why = match asked(&words.replace("PIPE", &pipe)) {
                Ok(asked) => asked.refused.unwrap_or_default(),
                Err(why) => why,
            };
            assert!(why.contains(said) && why.is_empty() == said.is_empty(), "{words}: {why:?}");
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
