//! The demands of plans that deal in frames.

use crate::requests::highest;
use crate::{AskedRate, Demand, FrameDemand};
use plan::packets::capture::{CapturePlan, CapturePlanFile, GapsPlan, GapsPlanFile};
use plan::packets::forward::{ForwardPlan, ForwardPlanFile};
use plan::packets::frames::{FrameSource, Frames, StreamLoad};
use plan::packets::pace::{PacePlan, PacePlanFile};
use plan::packets::send::{Lengths, Pace, SendPlan, SendPlanFile};
use plan::packets::sweep::{SweepPlan, SweepPlanFile};
use plan::packets::{self, Command};
use plan::{PlanError, PlanFile, Spin};
use port::{Address, PortKind};
use std::io::Read;
use std::path::Path;
use units::Picos;
use wire::template::{Sizes, Spec, StreamSpec};
use wire::{FCS, LEAST_SIZE, PREAMBLE_AND_GAP};

impl Demand {
    /// Of a plan file of any command, as `tare run` takes it. `name` is what messages call it.
    ///
    /// # Errors
    /// The line and key that are wrong.
    pub fn of_file(text: &str, name: &str) -> Result<Self, PlanError> {
        Ok(match packets::command_of(text) {
            None => Self::of_http(&PlanFile::from_toml(text, name)?.resolve()?),
            Some(Command::Send) => Self::of_send(&SendPlanFile::from_toml(text, name)?.resolve()?.0),
            Some(Command::Pace) => Self::of_pace(&PacePlanFile::from_toml(text, name)?.resolve()?.0),
            Some(Command::Sweep) => Self::of_sweep(&SweepPlanFile::from_toml(text, name)?.resolve()?.0),
            Some(Command::Capture) => Self::of_capture(&CapturePlanFile::from_toml(text, name)?.resolve()?.0),
            Some(Command::Gaps) => Self::of_gaps(&GapsPlanFile::from_toml(text, name)?.resolve()?.0),
            Some(Command::Forward) => Self::of_forward(&ForwardPlanFile::from_toml(text, name)?.resolve()?.0),
        })
    }

    /// Of `tare send`.
    pub fn of_send(plan: &SendPlan) -> Self {
        let spins = plan.spin != Spin::Never && plan.pace != Pace::Max;
        let (mut frames, speed) = of_port(&plan.port, spins);
        look(&mut frames, &plan.look, &plan.lengths);
        frames.burst = plan.burst;
        if plan.receive.is_some() {
            frames.beside.push("the receiver on the same machine");
        }
        let rate = match plan.pace {
            Pace::Streams => of_streams(plan.look.loads()),
            ref pace => asked(pace, frames.mean_size, plan.line_bps.or(speed)),
        };
        // A rate that changes does not say how long a number of frames takes.
        let is_even = !matches!(plan.pace, Pace::Shape(_) | Pace::Streams);
        Self {
            command: "send",
            length_s: ends(plan.duration, plan.frames.filter(|_| is_even), &rate),
            rate,
            threads: Some(plan.queues),
            cpus: plan.cpus.clone(),
            requests: None,
            frames: Some(frames),
            leaves_by: vec![plan.port.clone()],
            comes_by: plan.receive.iter().cloned().collect(),
        }
    }

    /// Of `tare sweep`: it goes up to the highest rate, and stays there only if nothing is lost.
    pub fn of_sweep(plan: &SweepPlan) -> Self {
        let (mut frames, speed) = of_port(&plan.send, true);
        frames.longest = plan.sizes.iter().copied().max().unwrap_or(LEAST_SIZE as u32);
        let smallest = plan.sizes.iter().copied().min().unwrap_or(LEAST_SIZE as u32);
        frames.mean_size = f64::from(smallest);
        (frames.burst, frames.flows) = (1, 1);
        frames.beside.push("the receiver on the same machine");
        Self {
            command: "sweep",
            rate: asked(&plan.max, f64::from(smallest), plan.line_bps.or(speed)),
            length_s: None,
            threads: Some(if plan.bidirectional { 2 } else { 1 }),
            cpus: plan.cpus.clone(),
            requests: None,
            frames: Some(frames),
            leaves_by: vec![plan.send.clone()],
            comes_by: vec![plan.receive.clone()],
        }
    }

    /// Of `tare pace`, which passes on what others send: no faster than its pace.
    pub fn of_pace(plan: &PacePlan) -> Self {
        let (mut frames, speed) = of_port(&plan.output, true);
        (frames.mean_size, frames.longest, frames.burst) = (1_518.0, 1_518, 1);
        frames.beside.push("receiving what is paced");
        Self {
            command: "pace",
            rate: asked(&plan.pace, frames.mean_size, plan.line_bps.or(speed)),
            length_s: plan.duration.map(Picos::as_secs_f64),
            threads: Some(1),
            cpus: plan.cpus.clone(),
            requests: None,
            frames: Some(frames),
            leaves_by: vec![plan.output.clone()],
            comes_by: vec![plan.input.clone()],
        }
    }

    /// Of `tare capture`.
    pub fn of_capture(plan: &CapturePlan) -> Self {
        Self::passive("capture", plan.duration.map(Picos::as_secs_f64), plan.queues, &plan.port)
    }

    /// Of `tare gaps`.
    pub fn of_gaps(plan: &GapsPlan) -> Self {
        Self::passive("gaps", plan.duration.map(Picos::as_secs_f64), 1, &plan.port)
    }

    /// Of `tare forward`.
    pub fn of_forward(plan: &ForwardPlan) -> Self {
        match plan {
            ForwardPlan::Between(plan) => {
                let length_s = plan.duration.map(Picos::as_secs_f64);
                let leaves_by = plan.output.iter().cloned().collect();
                Self { leaves_by, ..Self::passive("forward", length_s, plan.threads, &plan.input) }
            }
            ForwardPlan::Table(plan) => {
                let threads = plan.threads.iter().copied().max().unwrap_or(1);
                Self { comes_by: Vec::new(), ..Self::passive("forward", None, threads, "") }
            }
        }
    }
}

/// What the port's own words say, and the speed of its link in bits/s where its driver tells one.
fn of_port(port: &str, spins: bool) -> (FrameDemand, Option<u64>) {
    let Ok(address) = port.parse::<Address>() else { return (FrameDemand::default(), None) };
    let innermost = address.innermost();
    let slots = || innermost.option("slots").and_then(|slots| slots.parse().ok());
    let has_slots = innermost.kind().options().iter().any(|(name, _)| *name == "slots");
    let mut frames = FrameDemand {
        kinds: kinds(innermost.kind(), spins),
        interface: address.interface().map(str::to_owned),
        slots: has_slots.then(slots).flatten(),
        ..FrameDemand::default()
    };
    if address.inner().is_some() {
        frames.beside.push("the wrapper around the port");
    }
    let speed = frames.interface.as_deref().and_then(|name| {
        // Megabits a second; -1 where the driver knows none.
        let text = std::fs::read_to_string(Path::new("/sys/class/net").join(name).join("speed")).ok()?;
        text.trim().parse::<u64>().ok()?.checked_mul(1_000_000)
    });
    (frames, speed)
}

/// The kinds that a port may turn out to be, as `auto` tries them.
fn kinds(kind: PortKind, spins: bool) -> Vec<&'static str> {
    match kind {
        PortKind::Auto if spins => vec![PortKind::Packet.word()],
        PortKind::Auto => vec![PortKind::Xdp.word(), PortKind::Packet.word()],
        kind => vec![kind.word()],
    }
}

fn look(frames: &mut FrameDemand, look: &Frames, lengths: &Lengths) {
    match look.source() {
        FrameSource::Taken { .. } => {
            (frames.mean_size, frames.longest, frames.flows) = (f64::NAN, 0, 1);
            frames.beside.push("the sizes of the file's frames");
        }
        FrameSource::Made { spec, .. } => {
            (frames.mean_size, frames.longest) = sizes(spec, lengths);
            frames.flows = spec.streams.iter().map(flows).sum();
            if spec.streams.iter().any(|stream| stream.sign) {
                frames.beside.push("signatures");
            }
        }
    }
}

/// As many as the stream says, or at least one; what `vary` gives is not counted out.
fn flows(stream: &StreamSpec) -> u64 {
    stream.flows.unwrap_or(1)
}

/// Mean and longest size of the frames of all streams, by their weights.
fn sizes(spec: &Spec, lengths: &Lengths) -> (f64, u32) {
    let of_stream = |stream: &StreamSpec| match lengths {
        Lengths::Payload(bytes) => {
            let size = (*bytes as usize + stream.header_length() + FCS).max(LEAST_SIZE);
            (size as f64, size)
        }
        Lengths::File(path) => of_lengths(path, stream.header_length() + FCS),
        Lengths::Frames => mean_and_longest(&stream.sizes),
    };
    let weight = |stream: &StreamSpec| f64::from(stream.weight.max(1));
    let all: f64 = spec.streams.iter().map(weight).sum();
    let mean: f64 = spec.streams.iter().map(|stream| of_stream(stream).0 * weight(stream)).sum();
    let longest = spec.streams.iter().map(|stream| of_stream(stream).1).max().unwrap_or(LEAST_SIZE);
    (if all > 0.0 { mean / all } else { LEAST_SIZE as f64 }, longest as u32)
}

fn mean_and_longest(sizes: &Sizes) -> (f64, usize) {
    let mean = |sum: f64, count: f64| if count > 0.0 { sum / count } else { LEAST_SIZE as f64 };
    match sizes {
        Sizes::Fixed(size) => (*size as f64, *size),
        Sizes::List(list) => {
            let sum: f64 = list.iter().map(|size| *size as f64).sum();
            (mean(sum, list.len() as f64), list.iter().copied().max().unwrap_or(LEAST_SIZE))
        }
        Sizes::Range { first, last, step } => {
            let steps = (last.saturating_sub(*first)) / (*step).max(1);
            let top = first + steps * step;
            ((first + top) as f64 / 2.0, top)
        }
        Sizes::Weighted(list) => {
            let sum: f64 = list.iter().map(|(size, weight)| *size as f64 * f64::from(*weight)).sum();
            let weights: f64 = list.iter().map(|(_, weight)| f64::from(*weight)).sum();
            (mean(sum, weights), list.iter().map(|(size, _)| *size).max().unwrap_or(LEAST_SIZE))
        }
        Sizes::Random { first, last } => ((first + last) as f64 / 2.0, *last),
    }
}

/// Mean and longest of a file with one length of payload a line.
fn of_lengths(path: &Path, around: usize) -> (f64, usize) {
    let lengths: Vec<usize> =
        numbers(path).map(|length| (length as usize + around).max(LEAST_SIZE)).collect();
    let sum: usize = lengths.iter().sum();
    match lengths.len() {
        0 => (f64::NAN, 0),
        count => (sum as f64 / count as f64, lengths.iter().copied().max().unwrap_or(0)),
    }
}

/// Numbers of a file, one a line; comments and empty lines are passed over. None where it cannot be read: the
/// run itself will say why.
fn numbers(path: &Path) -> impl Iterator<Item = f64> {
    let mut text = String::new();
    // The run reads the rest, too: a pipe is left to it.
    let _ = os::input::open_regular(path).and_then(|mut file| file.read_to_string(&mut text));
    let numbers: Vec<f64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    numbers.into_iter()
}

/// Frames a second that a pace comes to.
fn asked(pace: &Pace, mean_size: f64, line_bps: Option<u64>) -> AskedRate {
    let of_bits = |bits: f64, on_wire: bool| {
        let around = if on_wire { PREAMBLE_AND_GAP as f64 } else { 0.0 };
        let rate = bits / (8.0 * (mean_size + around));
        match rate.is_finite() {
            true => AskedRate::PerSecond(rate),
            false => AskedRate::NotKnown("frame sizes are not known in advance".to_owned()),
        }
    };
    match pace {
        Pace::Max => AskedRate::AsFastAsItGoes,
        Pace::Frames(rate) => AskedRate::PerSecond(rate.as_per_second_f64()),
        Pace::Bits { per_second, on_wire } => of_bits(*per_second as f64, *on_wire),
        Pace::Line { millionths } => match line_bps {
            Some(bps) => of_bits(bps as f64 * *millionths as f64 / 1e6, true),
            None => AskedRate::NotKnown("the link speed is not known (--line)".to_owned()),
        },
        Pace::Gap(gap) => AskedRate::PerSecond(1.0 / gap.as_secs_f64()),
        Pace::Gaps(file) => {
            let (count, sum) = numbers(file).fold((0.0, 0.0), |(count, sum), gap| (count + 1.0, sum + gap));
            match sum > 0.0 {
                true => AskedRate::PerSecond(count * 1e9 / sum),
                false => AskedRate::NotKnown("the file of gaps cannot be read".to_owned()),
            }
        }
        Pace::Shape(shape) => highest(shape, None),
        Pace::Streams => AskedRate::NotKnown("each stream has its own rate".to_owned()),
        Pace::Replay { .. } => {
            AskedRate::NotKnown("the times of a capture file are read only during the run".to_owned())
        }
    }
}

/// The highest rates of all streams together.
fn of_streams(loads: &[StreamLoad]) -> AskedRate {
    let mut sum = 0.0;
    for load in loads {
        match asked(&load.pace, f64::NAN, None) {
            AskedRate::PerSecond(rate) => sum += rate,
            _ => return AskedRate::NotKnown("a stream's rate in bits is not known in frames".to_owned()),
        }
    }
    AskedRate::PerSecond(sum)
}

/// Seconds until the plan's time or its number of frames is over.
fn ends(duration: Option<Picos>, frames: Option<u64>, rate: &AskedRate) -> Option<f64> {
    let by_frames = frames.zip(rate.per_second()).map(|(frames, rate)| frames as f64 / rate);
    [duration.map(Picos::as_secs_f64), by_frames].into_iter().flatten().reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(text: &str) -> Demand {
        Demand::of_file(text, "plan").unwrap()
    }

    #[test]
    fn rates_of_frames_in_every_way_they_are_written() {
        let rate = |when: &str| {
            demand(&format!("[send]\nport = \"packet:veth0\"\n{when}\n[frames]\nsize = 64\n"))
                .rate
                .per_second()
        };
        assert_eq!(rate("rate = \"2M\""), Some(2e6));
        // 1 Gbit/s on the wire: (64 + 20) · 8 = 672 bits a frame: 1 488 095.2 a second.
        assert_eq!(rate("rate = \"1gbit\"").unwrap() as u64, 1_488_095);
        // Frames alone: 64 · 8 = 512 bits.
        assert_eq!(rate("rate = \"1gbit:l2\"").unwrap() as u64, 1_953_125);
        assert_eq!(rate("gap = 13560").unwrap() as u64, 73_746);
        assert_eq!(rate("rate = \"50%\"\nline = \"1G\"").unwrap() as u64, 744_047);
        assert_eq!(rate("rate = \"max\""), None);
        // At its highest.
        assert_eq!(rate("ramp = \"1k..90k:10s\""), Some(9e4));
    }

    #[test]
    fn streams_are_as_fast_as_all_of_them() {
        let rate = |second: &str| {
            let streams = format!("[[frames.stream]]\nrate = \"20k\"\n[[frames.stream]]\n{second}\n");
            demand(&format!("[send]\nport = \"packet:veth0\"\n{streams}")).rate.per_second()
        };
        assert_eq!(rate("stages = \"1k:1s,5k:2s\""), Some(25_000.0));
        assert_eq!(rate("rate = \"1gbit\""), None);
    }

    #[test]
    fn sizes_are_weighted_means() {
        let size = |frames: &str| {
            let demand = demand(&format!("[send]\nport = \"mem:a\"\nrate = 5\n[frames]\n{frames}\n"));
            let frames = demand.frames.unwrap();
            (frames.mean_size, frames.longest)
        };
        // (7 · 64 + 4 · 594 + 1 518) / 12 = 4 342 / 12.
        assert_eq!(size("size = \"imix\""), (4_342.0 / 12.0, 1_518));
        assert_eq!(size("size = \"64..1518\""), ((64.0 + 1_518.0) / 2.0, 1_518));
        assert_eq!(size("size = \"64,128\""), (96.0, 128));
        // Ethernet 14, IPv4 20, UDP 8 and FCS 4 around 1 000 bytes.
        let demand = demand("[send]\nport = \"mem:a\"\nrate = 5\nlength = 1000\n");
        assert_eq!(demand.frames.unwrap().mean_size, 1_046.0);
    }

    #[test]
    fn ports_are_known_by_what_is_behind_their_wrappers() {
        let kinds = |port: &str, rate: &str| {
            demand(&format!("[send]\nport = \"{port}\"\nrate = \"{rate}\"\n")).frames.unwrap().kinds
        };
        assert_eq!(kinds("xdp,slots=512:veth0", "1k"), ["xdp"]);
        assert_eq!(kinds("fault,drop=1%:packet:veth0", "1k"), ["packet"]);
        assert_eq!(kinds("veth0", "1k"), ["packet"]);
        assert_eq!(kinds("veth0", "max"), ["xdp", "packet"]);
        let plan = demand("[send]\nport = \"xdp,slots=512:veth0\"\nrate = \"1k\"\nframes = 3000\n");
        assert!((plan.length_s.unwrap() - 3.0).abs() < 1e-9);
        let frames = plan.frames.unwrap();
        assert_eq!((frames.slots, frames.interface.as_deref()), (Some(512), Some("veth0")));
    }

    #[test]
    fn those_who_only_take_ask_for_no_rate() {
        let found = demand("[capture]\nport = \"packet:veth0\"\nduration = \"5s\"\n");
        assert_eq!((found.command, found.length_s, found.rate.per_second()), ("capture", Some(5.0), None));
    }
}
