//! Network interfaces: what a card merges and splits, its rings, how long it gathers, its queue, its stamps,
//! its place.

use crate::cpus::may_use;
use crate::finding::{COMPUTED, Finding, MEASURED, Mend, Severity, Weight};
use crate::{Files, Subject};
use os::cpus::{as_list, parse_list};
use port::interface::{Interface, InterfaceSetup, Link};

/// Interfaces that are examined, at most.
const MOST: usize = 16;
/// Bytes of a full frame on the wire: 1518, preamble and gap.
const FULL_FRAME_BITS: f64 = 1_538.0 * 8.0;
/// And of the smallest.
const SMALL_FRAME_BITS: f64 = 84.0 * 8.0;

/// What is known of one interface.
#[derive(Clone, Debug, Default)]
pub struct Device {
    pub name: String,
    pub index: u32,
    pub driver: Option<String>,
    pub speed_bps: Option<u64>,
    pub receive_queues: u32,
    pub transmit_queues: u32,
    pub stamps_in_hardware: bool,
    pub is_used: bool,
    pub setup: InterfaceSetup,
}

impl Device {
    /// Those of this namespace that are up, but for the loopback interface.
    pub fn all() -> Vec<Self> {
        let names = Interface::names().unwrap_or_default();
        let found = names.iter().filter_map(|name| Interface::find(name).ok());
        let usable = found.filter(|interface| !interface.is_loopback && interface.state() == Link::Up);
        usable.take(MOST).map(|interface| Self::of(&interface)).collect()
    }

    pub fn of(interface: &Interface) -> Self {
        Self {
            name: interface.name.clone(),
            index: interface.index,
            driver: interface.driver.clone(),
            speed_bps: interface.speed_bps,
            receive_queues: interface.queues.receive,
            transmit_queues: interface.queues.transmit,
            stamps_in_hardware: interface.stamping.hardware,
            is_used: interface.used_by_host().is_ok_and(|used| used.is_some()),
            setup: interface.setup(),
        }
    }

    /// Whether `/sys` shows this interface, and not one of another namespace that has the same name.
    pub fn is_in_sys(&self, files: &Files) -> bool {
        files.number(&format!("sys/class/net/{}/ifindex", self.name)) == Some(u64::from(self.index))
    }

    fn is_on(&self, offload: &str) -> bool {
        self.setup.offloads.iter().any(|(name, is_on)| *name == offload && *is_on)
    }

    /// A pair of virtual interfaces, a bridge: nothing of a card.
    fn is_virtual(&self) -> bool {
        matches!(
            self.driver.as_deref(),
            Some("veth" | "tun" | "bridge" | "dummy" | "ifb" | "macvlan" | "openvswitch")
        )
    }
}

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    if subject.devices.is_empty() {
        return vec![Finding::unknown("nic", "no interface except loopback is up")];
    }
    let of = |device: &Device| {
        let mut findings = vec![
            offloads(device),
            rings(device),
            coalescing(device),
            queue(device),
            queues(&subject.files, device),
        ];
        findings.extend([speed(device), stamping(subject, device), place(&subject.files, device)]);
        findings
    };
    subject.devices.iter().flat_map(of).collect()
}

fn offloads(device: &Device) -> Finding {
    let id = format!("nic.offloads.{}", device.name);
    let name = &device.name;
    if device.setup.offloads.is_empty() {
        return Finding::unknown(id, format!("{name} does not report its offloads"));
    }
    let on: Vec<&str> =
        ["lro", "gro", "gso", "tso"].into_iter().filter(|offload| device.is_on(offload)).collect();
    if on.is_empty() {
        return Finding::fine(id, format!("{name}: no offload merges or splits frames"));
    }
    let switches =
        |word: &str| on.iter().map(|offload| format!("{offload} {word}")).collect::<Vec<_>>().join(" ");
    // LRO changes what arrives for everybody, GRO for those who see frames behind the driver.
    let severity = if device.is_on("lro") { Severity::Serious } else { Severity::Minor };
    Finding::fine(id, format!("{name}: {} on", on.join(", ")))
        .why(
            "captured or sent packets are up to 64 KiB long: 45 frames of 1500 with one timestamp; fine for \
             HTTP, wrong for counting or timing frames, and with --via the target's segments arrive merged and \
             without checksums (station.merged, station.unfinished in result.json)",
            "Linux, Documentation/networking/segmentation-offloads.rst",
        )
        .weighs(Weight { http: Severity::Fine, packets: severity, gaps: severity })
        .mend(Mend::command(
            format!("ethtool -K {name} {}", switches("off")),
            format!("ethtool -K {name} {}", switches("on")),
        ))
}

fn rings(device: &Device) -> Finding {
    let id = format!("nic.rings.{}", device.name);
    let name = &device.name;
    let Some(rings) = device.setup.rings else {
        return Finding::unknown(id, format!("{name} has no configurable rings ({})", driver(device)));
    };
    let found = format!(
        "{name}: rings of {} receive and {} transmit frames (at most {} and {})",
        rings.receive, rings.transmit, rings.receive_most, rings.transmit_most
    );
    let could_be = rings.receive_most.max(rings.receive).min(4_096);
    if rings.receive >= 1_024 || rings.receive >= rings.receive_most {
        return Finding::fine(id, found);
    }
    let rate = device.speed_bps.map_or(1e6, |bps| bps as f64 / SMALL_FRAME_BITS);
    let why = format!(
        "{} frames of 64 bytes arrive in {:.0} µs at {}; a longer pause loses frames",
        rings.receive,
        f64::from(rings.receive) / rate * 1e6,
        device
            .speed_bps
            .map_or("one million per second".to_owned(), |bps| format!("{} Gb/s", bps as f64 / 1e9))
    );
    Finding::fine(id, found)
        .why(why, COMPUTED)
        .weighs(Weight { packets: Severity::Minor, gaps: Severity::Minor, http: Severity::Fine })
        .mend(Mend::command(
            format!("ethtool -G {name} rx {could_be}"),
            format!("ethtool -G {name} rx {}", rings.receive),
        ))
}

fn coalescing(device: &Device) -> Finding {
    let id = format!("nic.coalesce.{}", device.name);
    let name = &device.name;
    let Some(set) = device.setup.coalescing else {
        return Finding::unknown(
            id,
            format!("{name} does not coalesce interrupts, or does not report it ({})", driver(device)),
        );
    };
    let adaptive = if set.is_adaptive { ", adaptive" } else { "" };
    let found = format!(
        "{name}: interrupts are coalesced for {} µs or {} frames{adaptive}",
        set.receive_us, set.receive_frames
    );
    if set.receive_us == 0 && !set.is_adaptive {
        return Finding::fine(id, found);
    }
    let words = |is_on: bool| if is_on { "on" } else { "off" };
    let why = match set.is_adaptive {
        true => {
            "responses are seen late by a time that changes with the load: 1 to 256 µs with the kernel's \
                 algorithm (lib/dim/net_dim.c)"
                .to_owned()
        }
        false => format!(
            "a response is seen up to {} µs after it arrived, and the driver's timestamps are as \
                          late",
            set.receive_us
        ),
    };
    Finding::fine(id, found)
        .why(why, "the driver's settings (ethtool -c)")
        .weighs(Weight { gaps: Severity::Serious, http: Severity::Minor, packets: Severity::Fine })
        .mend(Mend::command(
            format!("ethtool -C {name} adaptive-rx off rx-usecs 0"),
            format!("ethtool -C {name} adaptive-rx {} rx-usecs {}", words(set.is_adaptive), set.receive_us),
        ))
}

/// The queueing discipline before the card, which `udp:` ports and requests pass, `packet:` ports not.
fn queue(device: &Device) -> Finding {
    let id = format!("nic.queue.{}", device.name);
    let name = &device.name;
    let (Some(length), Some(kind)) = (device.setup.queue_length, &device.setup.qdisc) else {
        return Finding::unknown(id, format!("{name} does not report its transmit queue"));
    };
    let found = format!("{name}: transmit queue {kind} of {length} frames");
    if kind == "noqueue" || length >= 500 {
        return Finding::fine(id, found);
    }
    let rate = device.speed_bps.map_or(1e6, |bps| bps as f64 / FULL_FRAME_BITS);
    let why = format!(
        "only a burst of {length} frames, {:.1} ms at full size, fits; the rest of a longer one is dropped \
         before it leaves",
        f64::from(length) / rate * 1e3
    );
    Finding::fine(id, found)
        .why(why, COMPUTED)
        .weighs(Weight { packets: Severity::Minor, http: Severity::Minor, gaps: Severity::Fine })
        .mend(Mend::command(
            format!("ip link set {name} txqueuelen 1000"),
            format!("ip link set {name} txqueuelen {length}"),
        ))
}

fn queues(files: &Files, device: &Device) -> Finding {
    let id = format!("nic.queues.{}", device.name);
    let name = &device.name;
    let found =
        format!("{name}: {} receive and {} transmit queues", device.receive_queues, device.transmit_queues);
    let ours = may_use(files).map_or(1, |cpus| cpus.len());
    if device.receive_queues > 1 || ours < 2 || device.is_virtual() {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            format!(
                "1 CPU of {ours} processes everything that arrives: about 1.2 million frames per second \
                      with the kernel's stack"
            ),
            "measured: kernel forwarding on one core of a guest",
        )
        .weighs(Weight { packets: Severity::Minor, http: Severity::Minor, gaps: Severity::Fine })
        // How many a card may have is not in any file.
        .mend(Mend::advice(format!(
            "if ethtool -l {name} shows more: ethtool -L {name} combined {ours}, or \
                                    its maximum"
        )))
}

fn speed(device: &Device) -> Finding {
    let id = format!("nic.speed.{}", device.name);
    let name = &device.name;
    match device.speed_bps {
        Some(bps) => Finding::fine(id, format!("{name}: {} Gb/s ({})", bps as f64 / 1e9, driver(device))),
        None => Finding::fine(id, format!("{name} does not report its speed ({})", driver(device)))
            .why("a rate such as 50% is refused, because the line rate is unknown", "docs/packets.md")
            .weighs(Weight::packets(Severity::Minor))
            .mend(Mend::advice("set it in each plan, or on the command line: --line 10G")),
    }
}

fn stamping(subject: &Subject, device: &Device) -> Finding {
    let id = format!("nic.stamps.{}", device.name);
    let name = &device.name;
    if device.stamps_in_hardware {
        return Finding::fine(id, format!("{name} timestamps every received frame in hardware"));
    }
    let finding = Finding::fine(id, format!("{name}: the kernel timestamps received frames, not the card"));
    if device.is_virtual() {
        return finding;
    }
    let (why, source) = match &subject.measured.sleeps {
        Some(sleeps) => (
            format!(
                "a kernel timestamp is as late as the interrupt; here a timer interrupt takes {:.0} µs to \
                 wake a thread",
                sleeps.tight_p50_ns as f64 / 1e3
            ),
            MEASURED,
        ),
        None => (
            "a kernel timestamp is as late as the interrupt, by 1 µs or more".to_owned(),
            "Linux, Documentation/networking/timestamping.rst",
        ),
    };
    finding
        .why(why, source)
        .weighs(Weight::gaps(Severity::Minor))
        .mend(Mend::advice("use a card with its own clock (ethtool -T shows hardware-receive)"))
}

/// The memory node that the card is at, beside the CPUs that may be used.
fn place(files: &Files, device: &Device) -> Finding {
    let id = format!("nic.numa.{}", device.name);
    let nodes = files.numbered("sys/devices/system/node", "node");
    if nodes.len() < 2 {
        return Finding::fine(id, format!("{}: the machine has one memory node", device.name));
    }
    let node = match device.is_in_sys(files) {
        true => files.line(&format!("sys/class/net/{}/device/numa_node", device.name)),
        false => None,
    };
    let Some(node) = node.and_then(|node| node.parse::<u32>().ok()) else {
        return Finding::unknown(id, format!("{} does not report its memory node", device.name));
    };
    let list = files.line(&format!("sys/devices/system/node/node{node}/cpulist")).unwrap_or_default();
    let near = parse_list(&list).unwrap_or_default();
    let ours = may_use(files).unwrap_or_default();
    let far: Vec<u32> = ours.iter().copied().filter(|cpu| !near.contains(cpu)).collect();
    let found = format!("{} is at node {node} of {}, with CPUs {list}", device.name, nodes.len());
    if far.is_empty() {
        return Finding::fine(id, found);
    }
    let both: Vec<u32> = ours.iter().copied().filter(|cpu| near.contains(cpu)).collect();
    let distance = files.line(&format!("sys/devices/system/node/node{node}/distance")).unwrap_or_default();
    let most =
        distance.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()).max().unwrap_or(20);
    Finding::fine(id, found)
        .why(
            format!(
                "from CPUs {}, each access to its rings costs {:.1} times as much (distance {most} \
                     instead of 10)",
                as_list(&far),
                f64::from(most) / 10.0
            ),
            "the firmware's table (ACPI SLIT)",
        )
        .weighs(Weight { packets: Severity::Minor, gaps: Severity::Minor, http: Severity::Minor })
        .mend(match both.is_empty() {
            true => Mend::advice(format!("no usable CPU is near the card; run on CPUs {list}")),
            false => Mend::advice(format!("tare … --cpus {}", as_list(&both))),
        })
}

fn driver(device: &Device) -> &str {
    device.driver.as_deref().unwrap_or("unknown driver")
}
