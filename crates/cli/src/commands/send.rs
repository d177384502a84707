//! `tare send`: flags → plan → job → load.

use crate::commands::frame_args::FrameArgs;
use crate::commands::output_args::{LimitArgs, OutputArgs};
use crate::trial_args::TrialArgs;
use clap::{Args, ValueHint};
use plan::packets::send::SendPlanFile;
use plan::{Typed, TypedList};
use run::{Failure, Options, Status};

const EXAMPLES: &str = "\
Examples:
  tare send veth0 --rate 1M --size 64                 one million frames per second for 10 s
  tare send packet:eth0 -d 13560 -l 1476 -n 100000    one frame every 13 560 ns (Caliper's flags)
  tare send xdp:eth0 --rate 50% --imix --queues 2     half the line rate, mixed sizes
  tare send live:eth0 --rate max                      as fast as an XDP program can make frames
  tare send veth0 --rate 10k --sign --receive veth1   also report loss, order, one-way times, gaps
  tare send veth0 --replay trace.pcapng --speed 2     replay a capture at twice its speed
  tare ctl last set rate 2M                           change the rate of the run in progress

Quantities:
  rates: 2M or 400/s (frames), 1gbit (bits on the wire: preamble, frame with FCS, gap),
  1gbit:l2 (bits of the frames alone), 50% (of the line rate), max
  sizes: bytes of the frame with FCS; -l counts bytes of payload

Keys during a run:
  + and - change the rate, space pauses, m sets a mark, q stops

Exit status:
  0 VALID or DEGRADED; 1 the same, but a file could not be written; 2 bad input, nothing sent;
  3 a threshold failed; 4 INVALID (the generator was the limit); 5 destination's MAC address not
  found (ARP, neighbour discovery); 130 interrupted";

/// Send Ethernet frames at given times, or as fast as a port accepts them
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("no_view", |arg| arg.hide(true)))]
pub struct SendArgs {
    /// Port to send from: an interface, or KIND:PLACE (packet:veth0, xdp:veth0, live:veth0,
    /// udp:198.18.0.2:9, tap:tare0, pcap:out.pcap)
    #[arg(value_name = "PORT")]
    pub place: Option<String>,
    /// Same as PORT
    #[arg(long, value_name = "PORT", conflicts_with = "place")]
    pub port: Option<String>,

    #[command(flatten)]
    pub when: WhenArgs,
    #[command(flatten)]
    pub frames: FrameArgs,
    /// Lua script that finishes the frames, one burst at a time (docs/packets.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Frames")]
    pub script: Option<String>,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub trials: TrialArgs,
}

/// When frames leave, and how long.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Load")]
pub struct WhenArgs {
    /// Frames per second, bits per second, a share of the line rate, or max [default: 1k]
    #[arg(short = 'r', long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Gap between departures in nanoseconds
    #[arg(short = 'd', long, value_name = "NS", allow_hyphen_values = true)]
    pub gap: Option<String>,
    /// File of gaps in nanoseconds, one per line; starts again at its end
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub gaps: Option<String>,
    /// Replay a capture file (also compressed by gzip or zstd) with its recorded gaps; --vary changes fields,
    /// e.g. dst-mac=02:00:00:00:00:02
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub replay: Option<String>,
    /// Play a replay N times [default: 1, or until --duration]
    #[arg(long = "loop", value_name = "N", allow_hyphen_values = true)]
    pub loops: Option<String>,
    /// Speed of a replay relative to the recording, e.g. 2 or 0.5 [default: 1]
    #[arg(long, value_name = "TIMES", allow_hyphen_values = true)]
    pub speed: Option<String>,
    /// Replay the servers' frames through this port, and the clients' through the first one
    #[arg(long, value_name = "PORT")]
    pub servers: Option<String>,
    /// With --servers: auto (TCP handshake, lower port, who spoke first), clients=NETWORK,…,
    /// servers=NETWORK,… or ports=80,8000-8999 [default: auto]
    #[arg(long, value_name = "RULE")]
    pub split: Option<String>,
    /// With --servers: like --vary, for the clients' frames that have the field
    #[arg(long, value_name = "FIELD=VALUES")]
    pub client_vary: Vec<String>,
    /// With --servers: like --vary, for the servers' frames that have the field
    #[arg(long, value_name = "FIELD=VALUES")]
    pub server_vary: Vec<String>,
    /// Keep at most this much of a capture file in memory; read the rest while sending [default: 256MiB]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub read_ahead: Option<String>,
    /// Poisson arrivals: exponential gaps whose mean --rate sets
    #[arg(long)]
    pub poisson: bool,
    /// Change the rate (frames per second) linearly from one to another, e.g. 10k..500k:30s
    #[arg(long, value_name = "FROM..TO:OVER", allow_hyphen_values = true)]
    pub ramp: Option<String>,
    /// Raise the rate in steps, e.g. 10k+10k:5s..100k
    #[arg(long, value_name = "FROM+BY:EVERY..TO", allow_hyphen_values = true)]
    pub step: Option<String>,
    /// Change the rate linearly to each of these rates in turn, e.g. 10k:10s,50k:30s,0:5s
    #[arg(long, value_name = "RATE:OVER,…", allow_hyphen_values = true)]
    pub stages: Option<String>,
    /// Vary the rate as a sine around a mean, e.g. 10k±5k:60s or 10k+-5k:60s
    #[arg(long, value_name = "MEAN±AMPLITUDE:PERIOD", allow_hyphen_values = true)]
    pub sine: Option<String>,
    /// Send N frames back to back, once every N gaps
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub burst: Option<String>,
    /// Count each gap from the previous frame's actual departure, not from its due time
    #[arg(long)]
    pub relative: bool,
    /// Bytes of payload; frames shorter than 64 bytes are padded
    #[arg(short = 'l', long, value_name = "BYTES", allow_hyphen_values = true)]
    pub length: Option<String>,
    /// File of payload lengths in bytes, one per line; starts again at its end
    #[arg(short = 'L', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lengths: Option<String>,
    /// Stop after N frames
    #[arg(short = 'n', long = "frames", value_name = "N", allow_hyphen_values = true)]
    pub count: Option<String>,
    /// Stop after this time [default: 10s if nothing else ends the run]
    #[arg(short = 't', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
}

/// How it is sent.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Generator")]
pub struct HowArgs {
    /// Receive the frames on this port, and report what arrived
    #[arg(long, value_name = "PORT")]
    pub receive: Option<String>,
    /// Threads, each with its own queue of the port; they share one schedule [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub queues: Option<String>,
    /// CPUs to run on, e.g. 0,2-3
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Busy-wait just before a due time: auto, never or always [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub spin: Option<String>,
    /// Priority of threads that wait for due times: auto, normal or real-time [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub priority: Option<String>,
    /// With --receive: how long to wait for frames in transit after the last departure
    /// [default: 2s after the last arrival, longer on a slow path]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub drain: Option<String>,
    /// Answer ARP and neighbour discovery for the source addresses
    #[arg(long)]
    pub answer_arp: bool,
    /// Link speed in bits per second, e.g. 10G, if the driver does not report it
    #[arg(long, value_name = "BITS")]
    pub line: Option<String>,
}

impl SendArgs {
    /// Everything that was typed, as a plan file.
    pub fn plan_file(&self) -> SendPlanFile {
        let typed = |value: &Option<String>| value.clone().map(Typed::from);
        let listed = |values: &Vec<String>| {
            let all: Vec<Typed> = values.iter().cloned().map(Typed::from).collect();
            (!all.is_empty()).then_some(TypedList(all))
        };
        let mut file = SendPlanFile::default();
        let (send, when, how) = (&mut file.send, &self.when, &self.how);
        send.port = self.place.clone().or_else(|| self.port.clone());
        send.receive.clone_from(&how.receive);
        send.rate = typed(&when.rate);
        send.gap = typed(&when.gap);
        send.gaps.clone_from(&when.gaps);
        send.replay.clone_from(&when.replay);
        send.loops = typed(&when.loops);
        send.speed = typed(&when.speed);
        send.read_ahead = typed(&when.read_ahead);
        send.servers.clone_from(&when.servers);
        send.split.clone_from(&when.split);
        send.client_vary = listed(&when.client_vary);
        send.server_vary = listed(&when.server_vary);
        send.poisson = when.poisson.then_some(true);
        send.ramp.clone_from(&when.ramp);
        send.step.clone_from(&when.step);
        send.stages.clone_from(&when.stages);
        send.sine.clone_from(&when.sine);
        send.burst = typed(&when.burst);
        send.relative = when.relative.then_some(true);
        send.length = typed(&when.length);
        send.lengths.clone_from(&when.lengths);
        send.frames = typed(&when.count);
        send.duration = typed(&when.duration);
        send.queues = typed(&how.queues);
        send.cpus = typed(&how.cpus);
        send.spin.clone_from(&how.spin);
        send.priority.clone_from(&how.priority);
        send.drain = typed(&how.drain);
        send.answer_arp = how.answer_arp.then_some(true);
        send.line = typed(&how.line);
        send.script.clone_from(&self.script);
        self.frames.fill(&mut file.frames);
        self.limits.add_to(&mut file.limits);
        file
    }
}

/// Resolves the flags and runs the load.
pub fn run(args: &SendArgs) -> Result<Status, Failure> {
    let reads = args.script.iter().map(Into::into).collect();
    run::frames::send(&args.plan_file(), &Options { reads, ..Options::from(&args.output) })
}
