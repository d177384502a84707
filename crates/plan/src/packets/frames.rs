//! `[frames]`: what the frames of `send`, `sweep` and others look like, from flags or TOML.
//!
//! ```text
//! --src, --dport, --size … ───┐
//!                             ├─► FramesFile (as typed) ─ resolve ─► Frames ─ spec ─► wire::template::Spec
//! [frames], [[frames.stream]] ┘                                        └─ to_toml ─► text, which reads back
//! ```
//!
//! `[frames]` is the stream that is sent, or what all of `[[frames.stream]]` have in common. Values of a field:
//! one (`9`), a list (`9,10,53`), a range (`1024..2047`, in steps: `0..100/4`), any of a range
//! (`random(1024..65535)`), each frame the next; with `@flow` behind it, each flow the next.

mod edit;
mod headers;
mod loads;
mod sizes;
mod stream;
mod taken;
mod tcp_options;
#[cfg(test)]
mod tests;
mod trial;
mod tunnels;
mod values;
mod vary;

use crate::error::PlanError;
use crate::table::Table;
use crate::typed::{Typed, TypedList};
pub use edit::FrameEdit;
pub use loads::StreamLoad;
use serde::Deserialize;
use std::fmt::Write;
use std::path::PathBuf;
use stream::Reader;
pub(super) use taken::read_vary;
use wire::template::{Changes, Layer, Mac, Spec};

macro_rules! stream_fields {
    ($($(#[$doc:meta])* $name:ident, $flag:literal;)*) => {
        /// `[frames]`
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct FramesFile {
            /// What random values and payloads grow from.
            pub seed: Option<Typed>,
            /// Take frames from this pcap or pcapng file instead of making them.
            pub pcap: Option<String>,
            pub stream: Option<Vec<StreamFile>>,
            $($(#[$doc])* pub $name: Option<Typed>,)*
            /// `FIELD=VALUES`, or a list of these.
            pub vary: Option<TypedList>,
            /// Put a signature into each payload.
            pub sign: Option<bool>,
        }

        /// `[[frames.stream]]`: what is not given is taken from `[frames]`.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct StreamFile {
            /// Its share of the frames.
            pub weight: Option<Typed>,
            /// What figures call a stream that has a load of its own, and that load (`tare send`).
            pub name: Option<String>,
            pub rate: Option<Typed>,
            pub gap: Option<Typed>,
            pub poisson: Option<bool>,
            pub ramp: Option<String>,
            pub step: Option<String>,
            pub stages: Option<String>,
            pub sine: Option<String>,
            pub burst: Option<Typed>,
            /// Times from the start of the run, and of the stream; frames of the stream.
            pub start: Option<Typed>,
            pub duration: Option<Typed>,
            pub count: Option<Typed>,
            $($(#[$doc])* pub $name: Option<Typed>,)*
            pub vary: Option<TypedList>,
            pub sign: Option<bool>,
        }

        /// Path of each key of `[frames]` and the flag that sets it.
        pub(crate) const FRAME_FLAGS: &[(&str, &str)] = &[
            ("frames.seed", "--seed"),
            ("frames.pcap", "--pcap"),
            $((concat!("frames.", stringify!($name)), $flag),)*
            ("frames.vary", "--vary"),
            ("frames.sign", "--sign"),
        ];

        impl FramesFile {
            /// Whether nothing at all was typed.
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// The first key that was typed, as messages name it.
            pub(crate) fn first_typed(&self) -> Option<&'static str> {
                $(if self.$name.is_some() { return Some(concat!("frames.", stringify!($name))); })*
                let others = [
                    (self.vary.is_some(), "frames.vary"),
                    (self.sign.is_some(), "frames.sign"),
                    (self.pcap.is_some(), "frames.pcap"),
                    (self.stream.is_some(), "frames.stream"),
                    (self.seed.is_some(), "frames.seed"),
                ];
                others.into_iter().find(|(is_typed, _)| *is_typed).map(|(_, key)| key)
            }

            /// What all streams have in common, as a stream.
            fn common(&self) -> StreamFile {
                let (vary, sign) = (self.vary.clone(), self.sign);
                StreamFile { $($name: self.$name.clone(),)* vary, sign, ..StreamFile::default() }
            }

            /// The other way round.
            fn take_common(&mut self, common: StreamFile) {
                $(self.$name = common.$name;)*
                (self.vary, self.sign) = (common.vary, common.sign);
            }
        }

        impl StreamFile {
            /// What says how frames look.
            const KEYS: &[&str] = &[$(stringify!($name),)*];

            fn field(&mut self, key: &str) -> Option<&mut Option<Typed>> {
                $(if key == stringify!($name) { return Some(&mut self.$name); })*
                None
            }

            /// This, and from `common` what this does not say. The second is which keys are its own.
            fn over(&self, common: &StreamFile) -> (Self, Vec<&'static str>) {
                let mut own = Vec::new();
                $(if self.$name.is_some() { own.push(stringify!($name)); })*
                if self.vary.is_some() { own.push("vary"); }
                let all = Self {
                    $($name: self.$name.clone().or_else(|| common.$name.clone()),)*
                    vary: self.vary.clone().or_else(|| common.vary.clone()),
                    sign: self.sign.or(common.sign),
                    ..self.clone()
                };
                (all, own)
            }
        }
    };
}

stream_fields! {
    /// `02:00:00:00:00:01`; where it is not given, the interface's own.
    src_mac, "--src-mac";
    /// Where it is not given, asked for by ARP or neighbour discovery.
    dst_mac, "--dst-mac";
    /// `100`, or `200,100`: outer and inner tag (QinQ). Values that vary: `vary = "vlan=1..100"`.
    vlan, "--vlan";
    /// Priority of the (outer) tag, 0 to 7.
    pcp, "--pcp";
    /// `100`, or `100,200`: MPLS labels from the outside in.
    mpls, "--mpls";
    /// Number of a PPPoE session.
    pppoe, "--pppoe";
    /// `vxlan:7`, `gre`, `gre:7`, `gtpu:7`: the packet travels in a tunnel between these addresses.
    tunnel, "--tunnel";
    tunnel_src, "--tunnel-src";
    tunnel_dst, "--tunnel-dst";
    /// `hop,dst,frag`: extension headers behind IPv6.
    ipv6_ext, "--ipv6-ext";
    /// `ip`, `udp`, `tcp`, `icmp`: checksums that are wrong on purpose.
    bad_checksum, "--bad-checksum";
    /// `udp`, `tcp`, `icmp`, `arp`, `ip` (nothing behind IP, protocol 253) or `raw` (nothing behind Ethernet).
    proto, "--proto";
    /// Of `raw` frames.
    ethertype, "--ethertype";
    src, "--src";
    dst, "--dst";
    sport, "--sport";
    dport, "--dport";
    ttl, "--ttl";
    dscp, "--dscp";
    ecn, "--ecn";
    flow_label, "--flow-label";
    /// `S`, `SA`, `FPU`, `0x12`…
    tcp_flags, "--tcp-flags";
    /// `mss=1460,sackok,ts=1:0,nop,wscale=7`
    tcp_options, "--tcp-options";
    /// Frame size with FCS: `64`, `64,594,1518`, `64..1518`, `64..1518/2`, `random(64..1518)`,
    /// `64x7,594x4,1518`, `imix`.
    size, "--size";
    /// `zeros`, `increment`, `random`, `0xdeadbeef` or `text:hello`.
    payload, "--payload";
    /// How many different 5-tuples.
    flows, "--flows";
}

/// Frames that can be made. Nothing in it is invalid, but for addresses of Ethernet that only the port knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    source: FrameSource,
    loads: Vec<StreamLoad>,
    text: String,
}

/// Where frames come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameSource {
    /// Made by a specification.
    Made { spec: Spec, macs: Vec<Macs> },
    /// Taken from a file, with changes.
    Taken { file: PathBuf, changes: Changes },
}

/// Which Ethernet addresses of a stream were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Macs {
    pub has_source: bool,
    pub has_destination: bool,
}

impl Frames {
    pub const fn source(&self) -> &FrameSource {
        &self.source
    }

    /// Loads of single streams; none where all frames are one load.
    pub fn loads(&self) -> &[StreamLoad] {
        &self.loads
    }

    /// What random values grow from.
    pub const fn seed(&self) -> u64 {
        match &self.source {
            FrameSource::Made { spec, .. } => spec.seed,
            FrameSource::Taken { changes, .. } => changes.seed,
        }
    }

    /// Canonical TOML: `[frames]` and `[[frames.stream]]`. Equal frames have equal texts.
    pub fn to_toml(&self) -> &str {
        &self.text
    }

    /// Puts the Ethernet addresses that were not typed into the specification: `(source, destination)` for
    /// stream n.
    pub fn fill_macs(&mut self, mut known: impl FnMut(usize) -> (Option<Mac>, Option<Mac>)) {
        let FrameSource::Made { spec, macs } = &mut self.source else { return };
        for (number, (stream, macs)) in spec.streams.iter_mut().zip(macs).enumerate() {
            let (known_source, known_destination) = known(number);
            for (place, layer) in stream.layers.iter_mut().enumerate() {
                match layer {
                    // One within a tunnel is not the port's.
                    Layer::Ethernet { .. } if place > 0 => {}
                    Layer::Ethernet { source, destination, .. } => {
                        put(source, macs.has_source, known_source);
                        put(destination, macs.has_destination, known_destination);
                    }
                    Layer::Arp { sender_mac, .. } => put(sender_mac, macs.has_source, known_source),
                    _ => {}
                }
            }
        }
    }
}

fn put(address: &mut Mac, is_given: bool, known: Option<Mac>) {
    match known {
        Some(known) if !is_given => *address = known,
        _ => {}
    }
}

impl FramesFile {
    /// Whether it changes frames of a recording.
    pub(super) fn changes(&self) -> bool {
        self.pcap.is_none() && (self.vary.is_some() || self.sign == Some(true))
    }

    /// What it says besides.
    pub(super) fn without_changes(&self) -> Self {
        Self { vary: None, sign: None, seed: None, ..self.clone() }
    }

    /// Makes frames of what was typed as flags.
    ///
    /// # Errors
    /// The flag, what was typed, what is wrong and what would be right.
    pub fn resolve(&self) -> Result<Frames, PlanError> {
        resolve(self, &Table::new("frames", None))
    }
}

/// Makes frames of what was typed. `table` is that of the plan, and knows where a field stands
/// (`frames.stream[1].src`): line or flag.
pub(super) fn resolve(file: &FramesFile, table: &Table<'_>) -> Result<Frames, PlanError> {
    let seed = seed(file, table)?;
    if file.pcap.is_some() {
        return taken::resolve(file, table, seed);
    }
    let common = file.common();
    let empty = Vec::new();
    let listed = file.stream.as_ref().unwrap_or(&empty);
    if listed.is_empty() {
        let keys = Vec::new();
        let made = Reader { typed: &common, own: &keys, number: None, table }.read(seed)?;
        let text = format!("[frames]\nseed = {seed}\n{}", made.text);
        let spec = Spec { streams: vec![made.spec], seed };
        let (source, loads) = (FrameSource::Made { spec, macs: vec![made.macs] }, Vec::new());
        return Ok(Frames { source, loads, text });
    }
    let loads = loads::resolve(file, table)?;
    let mut text = format!("[frames]\nseed = {seed}\n");
    let (mut streams, mut macs) = (Vec::new(), Vec::new());
    for (number, stream) in listed.iter().enumerate() {
        let (typed, own) = stream.over(&common);
        let made = Reader { typed: &typed, own: &own, number: Some(number), table }.read(seed)?;
        let share = match loads.get(number) {
            Some(load) => load.text(),
            None => format!("weight = {}\n", made.spec.weight),
        };
        let _ = write!(text, "\n[[frames.stream]]\n{share}{}", made.text);
        streams.push(made.spec);
        macs.push(made.macs);
    }
    let spec = Spec { streams, seed };
    together(&spec, table)?;
    Ok(Frames { source: FrameSource::Made { spec, macs }, loads, text })
}

/// For commands that send one load.
pub(super) fn resolve_as_one_load(file: &FramesFile, table: &Table<'_>) -> Result<Frames, PlanError> {
    let frames = resolve(file, table)?;
    match frames.loads.first() {
        None => Ok(frames),
        Some(_) => {
            let why = "this command sends one load; give its streams weights";
            Err(table.missing("frames.stream[0]", "tare send", why))
        }
    }
}

/// Makes frames of a recording that `[send]` names: only what changes of them stands in `[frames]`.
pub(super) fn resolve_recorded(
    file: &FramesFile,
    recording: &str,
    table: &Table<'_>,
) -> Result<Frames, PlanError> {
    let named = FramesFile { pcap: Some(recording.to_owned()), ..file.clone() };
    let mut frames = taken::resolve(&named, table, seed(file, table)?)?;
    let is_name = |line: &&str| line.starts_with("pcap = ");
    frames.text = frames.text.split_inclusive('\n').filter(|line| !is_name(line)).collect();
    Ok(frames)
}

/// What only all streams together can get wrong: their number and weights.
fn together(spec: &Spec, table: &Table<'_>) -> Result<(), PlanError> {
    wire::Template::build(spec).map(drop).map_err(|error| {
        let (all, problem) = (format!("{} streams", spec.streams.len()), format!("is not possible: {error}"));
        table.wrong("frames.stream", &all, problem, "up to 256 streams with small weights")
    })
}

fn seed(file: &FramesFile, table: &Table<'_>) -> Result<u64, PlanError> {
    let Some(text) = file.seed.as_ref().map(Typed::as_str) else { return Ok(SEED) };
    // TOML has no integers beyond 63 bits, and the canonical text writes it as one.
    let seed = text.parse().ok().filter(|seed| *seed <= i64::MAX as u64);
    seed.ok_or_else(|| table.wrong("frames.seed", text, "is not a seed", "a whole number below 2^63"))
}

/// Where nobody gives one.
const SEED: u64 = 1;
