//! Every figure of a forecast: what the plan needs, what there is, and what both are made from.
//!
//! Only the rate has a grey zone, since only it is measured. Limits and tables are exact: a plan that surely
//! needs more than there is will not be VALID, one that may need more is grey.

use crate::{
    AskedRate, Demand, Estimate, Figure, FrameDemand, GREY, Outlook, RequestDemand, Supply, TimeWaitReuse,
};

/// How long the kernel keeps a closed connection's port (TCP_TIMEWAIT_LEN), and how long where it may be taken
/// again (tcp(7), `tcp_tw_reuse`), in seconds.
const TIME_WAIT_S: f64 = 60.0;
const REUSED_AFTER_S: f64 = 1.0;
/// Descriptors beside connections: files, timers and pipes of the program and of each thread.
const OWN_DESCRIPTORS: f64 = 32.0;
const THREAD_DESCRIPTORS: f64 = 16.0;
/// How long a port of `--via` rests after a close of ours: TIME_WAIT and quarantine, s.
const OWN_REST_S: f64 = 2.0;
/// A thread that works for more than this share of the time cannot keep its schedule (`cpu.thread`).
const BUSY: f64 = 0.9;

/// The rate first, then in the order in which they matter.
pub(super) fn all(demand: &Demand, estimate: &Estimate, supply: &Supply) -> Vec<Figure> {
    let rate = rate(demand, estimate);
    let mut all = Vec::new();
    all.extend(cpu(demand, estimate, supply, rate.outlook));
    all.push(threads(demand, supply));
    all.extend(lateness(demand, estimate));
    if let Some(requests) = &demand.requests {
        all.extend(memory(requests, estimate, supply));
        all.extend(descriptors(demand, requests, supply));
        all.extend(source_ips(requests, supply));
        all.extend(ports(demand, requests, supply));
        all.extend(tracked_requests(demand, requests, supply));
        all.extend(accept_queue(demand, requests, supply));
    }
    let refused = supply.refused.iter();
    all.extend(refused.map(|why| figure("start", "", Outlook::Invalid, why.clone())));
    if let Some(frames) = &demand.frames {
        all.extend(tracked_frames(frames, supply));
        all.extend(queue(frames, supply));
        all.extend(ring(demand, frames, supply));
    }
    all.insert(0, rate);
    all
}

/// The forecast in one sentence: what decides it.
pub(super) fn sentence(outlook: Outlook, figures: &[Figure]) -> String {
    let decides = figures.iter().find(|figure| figure.outlook == outlook).unwrap_or(&figures[0]);
    match outlook {
        Outlook::Valid => figures[0].says.clone(),
        _ if decides.name == "rate" => decides.says.clone(),
        _ => format!("{}: {}", decides.name, decides.says),
    }
}

fn figure(name: &'static str, unit: &'static str, outlook: Outlook, says: String) -> Figure {
    Figure { name, needs: None, has: None, unit, outlook, says, advice: String::new() }
}

impl Figure {
    fn of(mut self, needs: f64, has: f64) -> Self {
        (self.needs, self.has) = (Some(needs), Some(has));
        self
    }

    /// What to do, unless nothing is wrong.
    fn advise(mut self, advice: &str) -> Self {
        if self.outlook >= Outlook::Grey {
            advice.clone_into(&mut self.advice);
        }
        self
    }
}

/// The highest rate against the peak.
fn rate(demand: &Demand, estimate: &Estimate) -> Figure {
    let unknown = |why: String| figure("rate", "/s", Outlook::Unknown, why);
    if let Some(refusal) = estimate.refusal() {
        return unknown(format!("no rate is forecast: {refusal}"));
    }
    let Some(peak) = estimate.peak_per_s() else {
        return unknown(format!("no rate is forecast: {} has no peak; run tare weigh again", estimate.key));
    };
    let basis = estimate.basis();
    let asked = match &demand.rate {
        AskedRate::PerSecond(asked) => *asked,
        AskedRate::NotKnown(why) => {
            return unknown(format!("{why}; verdicts are VALID up to {} ({basis})", per_second(peak)));
        }
        AskedRate::AsFastAsItGoes => {
            let fastest = estimate.saturated_per_s().unwrap_or(peak);
            let says = format!(
                "a closed loop reaches at most {} on this machine ({basis}); the run shows which of the two \
                 is the limit",
                per_second(fastest)
            );
            return Figure { has: Some(fastest), ..figure("rate", "/s", Outlook::Grey, says) };
        }
    };
    let share = asked / peak;
    let mut outlook = Outlook::of_share(share);
    let mut says = format!(
        "{} is {:.0} % of the {} at which verdicts stay VALID ({basis})",
        per_second(asked),
        share * 100.0,
        per_second(peak)
    );
    if estimate.is_lower_bound() && outlook == Outlook::Invalid {
        outlook = Outlook::Grey;
        says.push_str("; that target was the limit, so this machine may reach more");
    }
    let beside = beside(demand);
    if !beside.is_empty() {
        says.push_str(&format!("; not weighed: {}", beside.join(", ")));
    }
    let advice = format!(
        "lower the rate to {} or less, or add threads, each with its own CPU",
        per_second(peak * (1.0 - GREY))
    );
    figure("rate", "/s", outlook, says).of(asked, peak).advise(&advice)
}

fn beside(demand: &Demand) -> &[&'static str] {
    let of_requests = demand.requests.as_ref().map(|requests| &requests.beside);
    of_requests.or(demand.frames.as_ref().map(|frames| &frames.beside)).map_or(&[], Vec::as_slice)
}

/// CPU time at that rate, against that of the engine threads.
fn cpu(demand: &Demand, estimate: &Estimate, supply: &Supply, of_rate: Outlook) -> Option<Figure> {
    let asked = demand.rate.per_second()?;
    let cost = estimate.cost(asked)?;
    let needs = cost.total_ns() * asked / 1e9;
    let has = f64::from(demand.threads_of(supply.cpus()).min(supply.cpus().max(1)));
    // What decides is the rate; this says where it goes.
    let outlook = if needs <= BUSY * has { Outlook::Valid } else { of_rate };
    let softirq = match cost.softirq_ns {
        Some(ns) => format!(", softirq {}", micros(ns)),
        None => " (including softirq)".to_owned(),
    };
    let says = format!(
        "{needs:.2} of {has:.0} CPUs: {} each (user {}, system {}{softirq})",
        micros(cost.total_ns()),
        micros(cost.user_ns),
        micros(cost.system_ns)
    );
    Some(figure("cpu", "CPUs", outlook, says).of(needs, has).advise("see the rate"))
}

fn threads(demand: &Demand, supply: &Supply) -> Figure {
    let threads = demand.threads_of(supply.cpus());
    let places = if demand.cpus.is_empty() { supply.cpus() } else { demand.cpus.len() as u32 };
    let outlook = if threads > places.min(supply.cpus()).max(1) { Outlook::Grey } else { Outlook::Valid };
    if let Some(cpu) = demand.cpus.iter().find(|cpu| !supply.usable.contains(cpu)) {
        let says =
            format!("CPU {cpu} is requested, but only {} may be used", os::cpus::as_list(&supply.usable));
        return figure("threads", "count", Outlook::Invalid, says)
            .of(f64::from(threads), f64::from(supply.cpus()))
            .advise("name others with --cpus");
    }
    let says = format!("{threads} on {places} of {} CPUs", supply.cpus());
    figure("threads", "count", outlook, says)
        .of(f64::from(threads), f64::from(places))
        .advise("threads that share a CPU wait for each other; use fewer threads or more CPUs")
}

/// The lateness that was met at that share of the peak.
fn lateness(demand: &Demand, estimate: &Estimate) -> Option<Figure> {
    let asked = demand.rate.per_second()?;
    estimate.peak_per_s()?;
    let Some(p99) = estimate.lateness_p99_ns(asked) else {
        let says = "grows throughout the run, because the rate is above all weighed rates".to_owned();
        return Some(figure("lateness", "ns", Outlook::Unknown, says));
    };
    let says = format!("p99 about {}", micros(p99));
    Some(Figure { needs: Some(p99), ..figure("lateness", "ns", Outlook::Valid, says) })
}

fn memory(requests: &RequestDemand, estimate: &Estimate, supply: &Supply) -> Option<Figure> {
    let (needs, has) = (estimate.memory_bytes(requests.connections)?, supply.memory_bytes? as f64);
    let outlook = exact(needs, has, requests.names_connections);
    let says = format!(
        "{} MiB with {} connections, of {} MiB available",
        (needs / 1_048_576.0).ceil(),
        grouped(f64::from(requests.connections)),
        grouped((has / 1_048_576.0).floor())
    );
    Some(figure("memory", "bytes", outlook, says).of(needs, has).advise("lower --parallel"))
}

fn descriptors(demand: &Demand, requests: &RequestDemand, supply: &Supply) -> Option<Figure> {
    if requests.own_ports.is_some() {
        return None;
    }
    let has = supply.descriptors? as f64;
    let threads = f64::from(demand.threads_of(supply.cpus()));
    let needs = f64::from(requests.connections) + OWN_DESCRIPTORS + THREAD_DESCRIPTORS * threads;
    let advice = "raise the hard limit (ulimit -Hn), or lower --parallel";
    if requests.names_connections {
        let says = format!("{} of {}", grouped(needs), grouped(has));
        return Some(
            figure("descriptors", "count", exact(needs, has, true), says).of(needs, has).advise(advice),
        );
    }
    // Open loop: a connection is held for as long as the target takes, so the limit is a latency (Little).
    let rate = demand.rate.per_second()?;
    let lasts = has.min(needs) / rate;
    let outlook = if lasts < 0.1 { Outlook::Grey } else { Outlook::Valid };
    let says =
        format!("{} are enough while the target responds within {}", grouped(has.min(needs)), seconds(lasts));
    Some(figure("descriptors", "count", outlook, says).of(needs, has).advise(advice))
}

/// Said only where one is no address of this machine.
fn source_ips(requests: &RequestDemand, supply: &Supply) -> Option<Figure> {
    let strange = requests.source_ips.iter().find(|ip| supply.strange_ips.contains(ip))?;
    let says = format!("nothing can leave from {strange}: it is not an address of this machine");
    let (needs, has) = (requests.source_ips.len(), requests.source_ips.len() - supply.strange_ips.len());
    let found = figure("source IPs", "count", Outlook::Invalid, says).of(needs as f64, has as f64);
    Some(found.advise("give --source-ip an address of this machine (ip address)"))
}

/// Local ports: for open connections, and for those in TIME_WAIT.
fn ports(demand: &Demand, requests: &RequestDemand, supply: &Supply) -> Option<Figure> {
    if requests.is_unix {
        return None;
    }
    if let Some(own) = requests.own_ports {
        return own_ports(demand, requests, own as f64);
    }
    let sources = requests.source_ips.len().max(1) as u64;
    let pairs = sources * u64::from(requests.target_addresses);
    let has = (supply.ports? * pairs) as f64;
    let open = f64::from(requests.connections);
    let advice = "add --source-ip addresses, keep connections alive, or widen net.ipv4.ip_local_port_range";
    if requests.opened_per_request == 0.0 {
        let needs = if requests.names_connections { open } else { open.min(has) };
        let says = format!("{} of {}, kept alive", grouped(needs), grouped(has));
        return Some(figure("ports", "count", exact(needs, has, true), says).of(needs, has).advise(advice));
    }
    let opened = opened_per_s(demand, requests)?;
    let is_reused = match supply.reuse {
        TimeWaitReuse::Always => true,
        TimeWaitReuse::Loopback => requests.is_loopback,
        TimeWaitReuse::Never => false,
    };
    let hold = if is_reused { REUSED_AFTER_S } else { TIME_WAIT_S };
    let lasts = demand.length_s.map_or(hold, |length| length.min(hold));
    let waiting = (opened * lasts).min(supply.time_wait_buckets.map_or(f64::MAX, |most| most as f64));
    let needs = waiting + if requests.names_connections { open } else { 0.0 };
    // The target is asked to close, and then the port waits at its end: only one that leaves it to us takes
    // ports from here.
    let outlook = if needs <= has { Outlook::Valid } else { Outlook::Grey };
    let reused = if is_reused { ", reused after 1 s" } else { "" };
    let mut says = format!(
        "{} of {} if this machine closes first ({} new connections in TIME_WAIT for {}{reused})",
        grouped(needs),
        grouped(has),
        per_second(opened),
        seconds(hold)
    );
    if outlook == Outlook::Grey {
        says.push_str("; none if the target closes first, as it is asked to");
    }
    Some(figure("ports", "count", outlook, says).of(needs, has).advise(advice))
}

/// Ports of a TCP of our own. One that we close first waits for a second, and another until it is used again.
fn own_ports(demand: &Demand, requests: &RequestDemand, has: f64) -> Option<Figure> {
    let open = f64::from(requests.connections);
    let advice = "name more addresses with ip= of --via, or keep connections alive";
    let is_kept = requests.opened_per_request == 0.0;
    let needs = if is_kept { open } else { open + opened_per_s(demand, requests)? * OWN_REST_S };
    let says = format!("{} of {} of the addresses of --via", grouped(needs), grouped(has));
    // Only those rest that we close first.
    let outlook = exact(needs, has, is_kept && requests.names_connections);
    Some(figure("ports", "count", outlook, says).of(needs, has).advise(advice))
}

fn opened_per_s(demand: &Demand, requests: &RequestDemand) -> Option<f64> {
    Some(demand.rate.per_second()? * requests.opened_per_request)
}

/// Entries in the table of connection tracking.
fn tracked_requests(demand: &Demand, requests: &RequestDemand, supply: &Supply) -> Option<Figure> {
    let table = supply.conntrack.filter(|_| !requests.is_unix && requests.own_ports.is_none())?;
    let has = table.max.saturating_sub(table.count) as f64;
    let opened = opened_per_s(demand, requests).unwrap_or(0.0);
    let lasts = demand.length_s.unwrap_or(f64::MAX).min(table.time_wait_s as f64);
    let open = if requests.names_connections { f64::from(requests.connections) } else { 0.0 };
    let needs = open + opened * lasts;
    let says = format!("{} of {} free entries", grouped(needs), grouped(has));
    Some(conntrack(needs, has, table.count, says))
}

fn tracked_frames(frames: &FrameDemand, supply: &Supply) -> Option<Figure> {
    // Frames of the other ports do not pass the host's stack.
    let table = supply.conntrack.filter(|_| frames.kinds == ["udp"])?;
    let (needs, has) = (frames.flows.max(1) as f64, table.max.saturating_sub(table.count) as f64);
    let says = format!("{} of {} free entries, each for {} s", grouped(needs), grouped(has), table.udp_s);
    Some(conntrack(needs, has, table.count, says))
}

fn conntrack(needs: f64, has: f64, count: u64, mut says: String) -> Figure {
    let mut outlook = exact(needs, has, true);
    if count == 0 {
        // Without a rule that asks for it the kernel tracks nothing, also with connections open.
        says.push_str("; nothing is tracked now");
        outlook = if outlook == Outlook::Invalid { Outlook::Grey } else { outlook };
    }
    figure("conntrack", "count", outlook, says)
        .of(needs, has)
        .advise("raise net.netfilter.nf_conntrack_max, or exempt this traffic (nft … notrack)")
}

/// Connections that open at once, against the queue of a target on this machine.
fn accept_queue(demand: &Demand, requests: &RequestDemand, supply: &Supply) -> Option<Figure> {
    if !requests.is_loopback || !requests.names_connections {
        return None;
    }
    let has = supply.accept_queue? as f64;
    // A closed loop opens them all at its start; an open loop as they are needed.
    let at_once = match demand.rate {
        AskedRate::AsFastAsItGoes => f64::from(requests.connections),
        _ => opened_per_s(demand, requests)?.min(f64::from(requests.connections)),
    };
    let outlook = if at_once <= has { Outlook::Valid } else { Outlook::Grey };
    let says = format!(
        "up to {} connections wait to be accepted; the kernel allows {} (the target may allow fewer)",
        grouped(at_once),
        grouped(has)
    );
    Some(
        figure("queue", "count", outlook, says)
            .of(at_once, has)
            .advise("open them more slowly, or raise net.core.somaxconn and the target's own backlog"),
    )
}

/// Frames of a burst, against the shortest queue on their way.
fn queue(frames: &FrameDemand, supply: &Supply) -> Option<Figure> {
    let of_kind = match frames.kinds.first().copied() {
        Some("udp") => [supply.backlog, supply.transmit_queue, None],
        Some("packet" | "xdp" | "live") => [supply.ring, frames.slots, None],
        Some("mem") => [frames.slots, None, None],
        _ => return None,
    };
    let has = of_kind.into_iter().flatten().min()? as f64;
    let needs = frames.burst.max(1) as f64;
    let outlook = if needs <= has { Outlook::Valid } else { Outlook::Grey };
    let says = format!("{} frames back to back, into a queue of {}", grouped(needs), grouped(has));
    Some(
        figure("queue", "frames", outlook, says)
            .of(needs, has)
            .advise("shorten the bursts, or lengthen the queue (ethtool -G, ip link … txqueuelen, slots=)"),
    )
}

/// How long a ring lasts at that rate.
fn ring(demand: &Demand, frames: &FrameDemand, supply: &Supply) -> Option<Figure> {
    let has = [supply.ring, frames.slots].into_iter().flatten().min()? as f64;
    let lasts = has / demand.rate.per_second()?;
    let says = format!(
        "{} slots last {} at this rate; the reader must not pause longer",
        grouped(has),
        micros(lasts * 1e9)
    );
    Some(Figure { has: Some(has), ..figure("ring", "frames", Outlook::Valid, says) })
}

/// Of a limit that is no matter of measurement. `surely`: the plan needs that much, not just at most.
fn exact(needs: f64, has: f64, surely: bool) -> Outlook {
    match (needs <= has, surely) {
        (true, _) => Outlook::Valid,
        (false, true) => Outlook::Invalid,
        (false, false) => Outlook::Grey,
    }
}

/// `20 000/s`, `0.5/s`.
fn per_second(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1}/s") } else { format!("{}/s", grouped(rate)) }
}

/// In groups of three: `28 232`.
fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn micros(ns: f64) -> String {
    match ns {
        ns if ns >= 1e7 => format!("{:.0} ms", ns / 1e6),
        ns if ns >= 1e4 => format!("{:.0} µs", ns / 1e3),
        ns => format!("{:.2} µs", ns / 1e3),
    }
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.0} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            (grouped(28_232.0), grouped(999.0), grouped(1e6)),
            ("28 232".into(), "999".into(), "1 000 000".into())
        );
        assert_eq!((per_second(0.5), per_second(20_000.0)), ("0.5/s".into(), "20 000/s".into()));
        assert_eq!(
            (micros(812.0), micros(53_000.0), micros(2e7)),
            ("0.81 µs".into(), "53 µs".into(), "20 ms".into())
        );
    }
}
