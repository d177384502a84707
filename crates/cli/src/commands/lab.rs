//! `tare lab`: test beds of network namespaces on this machine, to try the packet commands in.

use bed::{Bed, BedError, Middlebox, Topology};
use clap::{Args, Subcommand, ValueEnum};
use run::terminal::print_all;
use run::{Failure, Status};

const NAME: &str = "lab";

const EXAMPLES: &str = "\
Examples:
  tare lab up                            generator and sink, joined by a veth pair
  tare lab up --name wire --middlebox    with a middlebox between them for `tare forward`
  tare lab up --name mq --queues 4 --mtu 9000
  tare lab up --gro --middlebox          for live: ports and `tare forward --xdp`
  tare lab show
  tare lab down                          remove what `up` made, and nothing else

Interfaces: gen0 in tare-NAME-generator, sink0 in tare-NAME-sink, mid0 and mid1 in
tare-NAME-middlebox. Needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN) and iproute2.";

/// Create, show and remove test beds of network namespaces and veth pairs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct LabArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Up(UpArgs),
    Down(DownArgs),
    Show(ShowArgs),
}

/// Create a test bed
#[derive(Args, Debug)]
struct UpArgs {
    /// Name of the bed
    #[arg(long, value_name = "NAME", default_value = NAME)]
    name: String,
    /// Transmit and receive queues of each interface
    #[arg(long, value_name = "N", default_value_t = 1)]
    queues: u32,
    /// MTU: longest IP packet
    #[arg(long, value_name = "BYTES", default_value_t = 1_500)]
    mtu: u32,
    /// Add a middlebox between the two: a wire for a program that forwards frames, or a router
    #[arg(long, value_name = "WHAT", num_args = 0..=1, default_missing_value = "wire")]
    middlebox: Option<Between>,
    /// Also use IPv6 addresses (fd00:18::/64)
    #[arg(long)]
    ipv6: bool,
    /// Set no neighbour entries, so that ARP or neighbour discovery is needed
    #[arg(long)]
    no_neighbours: bool,
    /// Leave checksum and segmentation offloads on
    #[arg(long)]
    offloads: bool,
    /// Turn on generic receive offload (GRO) at every end. Without it, a veth refuses frames of XDP programs
    /// (live:, `tare forward --xdp`). With it, TCP may see merged segments
    #[arg(long)]
    gro: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Between {
    /// No addresses: frames cross only if a program forwards them
    Wire,
    /// The kernel routes between two networks
    Router,
}

/// Remove a test bed
#[derive(Args, Debug)]
struct DownArgs {
    /// Name of the bed
    #[arg(long, value_name = "NAME", default_value = NAME)]
    name: String,
    /// Remove all beds
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

/// List the test beds, with commands to try in them
#[derive(Args, Debug)]
struct ShowArgs {
    /// Show only this bed
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LabArgs) -> Result<Status, Failure> {
    // Whoever was killed left its namespaces.
    bed::remove_orphans();
    match &args.action {
        Action::Up(args) => up(args),
        Action::Down(args) => down(args),
        Action::Show(args) => show(args),
    }
}

fn up(args: &UpArgs) -> Result<Status, Failure> {
    let state = Bed::up(&args.topology()).and_then(Bed::keep).map_err(Failure::wrong)?;
    if args.json {
        print_json(&state)?;
    } else {
        print_all(&report::bed(&state))?;
    }
    Ok(Status::Done)
}

impl UpArgs {
    fn topology(&self) -> Topology {
        let middlebox = match self.middlebox {
            None => Middlebox::None,
            Some(Between::Wire) => Middlebox::Wire,
            Some(Between::Router) => Middlebox::Router,
        };
        Topology {
            middlebox,
            queues: self.queues,
            mtu: self.mtu,
            ipv6: self.ipv6,
            neighbours: !self.no_neighbours,
            offloads: self.offloads,
            gro: self.gro,
            ..Topology::new(&self.name)
        }
    }
}

fn down(args: &DownArgs) -> Result<Status, Failure> {
    if !args.all {
        bed::down(&args.name).map_err(Failure::wrong)?;
        print_all(&format!("{} is removed\n", args.name))?;
        return Ok(Status::Done);
    }
    let mut failed = None;
    let mut gone = 0;
    for state in bed::all().map_err(Failure::wrong)? {
        match bed::down(&state.name) {
            Ok(_) => {
                gone += 1;
                print_all(&format!("{} is removed\n", state.name))?;
            }
            // Somebody else was quicker.
            Err(BedError::Unknown { .. }) => {}
            // Somebody's tests.
            Err(error @ BedError::InUse { .. }) => print_all(&format!("{error}\n"))?,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    if gone == 0 && failed.is_none() {
        print_all("there was nothing to remove\n")?;
    }
    failed.map_or(Ok(Status::Done), |error| Err(Failure::wrong(error)))
}

fn show(args: &ShowArgs) -> Result<Status, Failure> {
    let beds = match &args.name {
        Some(name) => bed::find(name).map(|state| vec![state]),
        None => bed::all(),
    };
    let beds = beds.map_err(Failure::wrong)?;
    if args.json {
        print_json(&beds)?;
    } else if beds.is_empty() {
        print_all("there is no test bed; make one with 'tare lab up'\n")?;
    } else {
        let texts: Vec<String> = beds.iter().map(report::bed).collect();
        print_all(&texts.join("\n"))?;
    }
    Ok(Status::Done)
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::wrong)?;
    print_all(&format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: LabArgs,
    }

    fn topology(flags: &[&str]) -> Topology {
        let words = [&["tare", "up"], flags].concat();
        match Program::try_parse_from(words).unwrap().args.action {
            Action::Up(args) => args.topology(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_say_what_they_mean() {
        assert_eq!(topology(&[]), Topology::new("lab"));
        let wire = Topology::new("a").queues(4).mtu(9_000).middlebox(Middlebox::Wire).ipv6();
        assert_eq!(topology(&["--name=a", "--queues=4", "--mtu=9000", "--ipv6", "--middlebox"]), wire);
        assert_eq!(topology(&["--gro"]), Topology::new("lab").with_gro());
        let router = Topology::new("lab").middlebox(Middlebox::Router).without_neighbours().with_offloads();
        assert_eq!(topology(&["--middlebox", "router", "--no-neighbours", "--offloads"]), router);
        assert!(Program::try_parse_from(["tare", "down", "--all", "--name=a"]).is_err());
        assert!(Program::try_parse_from(["tare", "up", "--middlebox=switch"]).is_err());
    }
}
