//! Looks at the generator itself once each interval: about twelve small files, well under a millisecond.

use crate::health::{CoreHealth, HealthSample, ThreadHealth};
use crate::links::Links;
use crate::procfs::{self, CoreTicks, ThreadTimes};
use crate::waiters::waits::Waits;
use crate::waiters::{LookFindings, Sight, Waited, Waiters};
use os::cgroup::{self, Group};
use os::peers::Peers;
use std::path::{Path, PathBuf};
use units::{Instant, Picos};

/// /proc/stat counts in USER_HZ, which is 100 on every Linux ABI that Rust supports.
const TICK_NS: u64 = 10_000_000;

/// What the kernel counts of TCP segments that it threw away: the socket's backlog or memory was full.
const DROPS: [&str; 4] = ["TCPBacklogDrop", "TCPRcvQDrop", "RcvPruned", "OfoPruned"];

/// What is known of an engine thread when a sample is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadRef {
    pub tid: u32,
    /// Time spun since its start.
    pub spun: Picos,
    /// When it began and when it ended, with its times then.
    pub born: Option<(Instant, ThreadTimes)>,
    pub ended: Option<(Instant, ThreadTimes)>,
}

/// A reading of one thread's running totals.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Instant,
    times: ThreadTimes,
    spun: Picos,
}

/// The kernel's running totals.
#[derive(Clone, Copy, Debug, Default)]
struct NetTotals {
    retransmits: u64,
    tcp_timeouts: u64,
    listen_overflows: u64,
    listen_drops: u64,
    dropped: u64,
}

/// Remembers the last reading, so that each sample tells what was gained.
#[derive(Debug)]
pub struct Probe {
    root: PathBuf,
    source_addresses: u64,
    /// Its control groups for CPU time.
    groups: Vec<Group>,
    at: Instant,
    threads: Vec<Option<Reading>>,
    cores: Vec<CoreTicks>,
    net: NetTotals,
    pub(crate) links: Links,
    waiters: Waiters,
    throttled: (u64, u64),
    /// What was around each thread that could not be read at the last sample.
    carried: Vec<Around>,
    /// What this program ran on the CPU of each thread for which a wait may not have been told yet.
    untold: Vec<u64>,
}

/// What else the machine did while a thread ran, most of it on the thread's CPU.
#[derive(Debug, Default)]
struct Around {
    span_ns: u64,
    busy_ns: u64,
    stolen_ns: u64,
    waited: Waited,
    /// Of all CPUs: all that ran, and those of the target's threads that were seen.
    all_busy_ns: u64,
    all_seen_ns: u64,
    /// Time that threads of the target's ran, on any CPU, which nobody saw; and whether not even that is known.
    unseen_ns: u64,
    is_hidden: bool,
    /// Such threads could use the CPU of this one.
    is_theirs: bool,
}

impl Around {
    fn of(core: u32, span_ns: u64, cores: &[CoreHealth], found: &LookFindings) -> Self {
        let health = cores.iter().find(|health| health.core == core);
        Self {
            span_ns,
            busy_ns: health.map_or(0, |health| health.busy_ns),
            stolen_ns: health.map_or(0, |health| health.steal_ns),
            waited: found.waited.iter().find(|waited| waited.core == core).cloned().unwrap_or_default(),
            all_busy_ns: cores.iter().map(|health| health.busy_ns).sum(),
            all_seen_ns: found.waited.iter().map(|waited| waited.target_ran_ns).sum(),
            unseen_ns: found.unseen_ns,
            is_hidden: matches!(found.sight, Sight::NotTheTarget | Sight::NotItsChildren),
            is_theirs: found.unseen_cpus.as_ref().is_none_or(|cpus| cpus.contains(&core)),
        }
    }

    fn add(&mut self, more: Self) {
        self.span_ns += more.span_ns;
        self.busy_ns += more.busy_ns;
        self.stolen_ns += more.stolen_ns;
        self.waited.add(more.waited);
        self.all_busy_ns += more.all_busy_ns;
        self.all_seen_ns += more.all_seen_ns;
        self.unseen_ns += more.unseen_ns;
        self.is_hidden |= more.is_hidden;
        self.is_theirs |= more.is_theirs;
    }

    /// How long the target may have run unseen on the thread's CPU. Where the thread, too, may run on each of
    /// `cpus`, it is taken to be spread over them.
    fn unseen_there(&self, thread: &ThreadHealth, is_pinned: bool, cpus: usize, all_ours_ns: u64) -> u64 {
        if is_pinned && !self.is_theirs {
            return 0;
        }
        let (others_ns, seen_ns, cpus) = match is_pinned {
            true => (thread.others_ns, self.waited.target_ran_ns, 1),
            false => (self.all_busy_ns.saturating_sub(all_ours_ns), self.all_seen_ns, cpus.max(1) as u64),
        };
        let unseen_ns = match self.is_hidden {
            true => others_ns.saturating_sub(seen_ns),
            false => self.unseen_ns.min(others_ns),
        };
        unseen_ns / cpus
    }
}

impl Probe {
    /// The machine's own /proc and /sys. Connections leave from `source_addresses` local addresses, and go to
    /// `peers`. With 0 addresses they use none of the kernel's ports.
    pub fn new(now: Instant, source_addresses: u64, peers: &Peers) -> Self {
        Self::at_root(Path::new("/"), now, source_addresses, peers)
    }

    /// With `root` in the place of `/`, for tests.
    pub fn at_root(root: &Path, now: Instant, source_addresses: u64, peers: &Peers) -> Self {
        let mut probe = Self {
            root: root.to_owned(),
            source_addresses,
            groups: cgroup::groups(root, "cpu"),
            at: now,
            threads: Vec::new(),
            cores: Vec::new(),
            net: NetTotals::default(),
            links: Links::new(root),
            waiters: Waiters::new(root, peers),
            throttled: (0, 0),
            carried: Vec::new(),
            untold: Vec::new(),
        };
        probe.cores = probe.read_cores();
        probe.net = probe.read_net();
        probe.throttled = probe.read_throttling();
        probe
    }

    /// Whether this thread of ours is there, as far as one can know.
    pub(crate) fn sees(&self, tid: u32) -> bool {
        let own = self.root.join("proc/self/task");
        own.join(tid.to_string()).exists() || !own.exists()
    }

    /// Whether what others waited in this interval comes with a later sample.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiters.is_awaited()
    }

    /// What was gained since the last sample; `None` where there is no /proc. `open` connections are ours. All
    /// threads have ended when the last is taken.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        threads: &[ThreadRef],
        open: u64,
        is_last: bool,
    ) -> Option<HealthSample> {
        let status = read(&self.root, "proc/self/status")?;
        let span_ns = now.since(self.at).as_nanos();
        self.at = now;
        let cores = self.sample_cores();
        let descriptors_left = self.descriptors_left(threads);
        let found = self.waiters.sample(is_last);
        let threads = self.sample_threads(now, span_ns, threads, &cores, &found);
        let (net, net_before) = (self.read_net(), self.net);
        self.net = net;
        let (throttled, throttled_before) = (self.read_throttling(), self.throttled);
        self.throttled = throttled;
        let kib = |name| procfs::field(&status, name).unwrap_or(0) * 1_024;
        let sockstat = read(&self.root, "proc/net/sockstat");
        Some(HealthSample {
            span_ns,
            is_blind: found.sight == Sight::Part,
            hides_target: found.sight == Sight::NotTheTarget,
            guesses_target: found.is_guess,
            is_unwatched: found.sight == Sight::Nothing,
            loses_children: found.sight == Sight::NotItsChildren,
            target_crowded_ns: crowded(&found.waited, &cores, &threads),
            target_waits: all_waits(&found.waited),
            target_ran_ns: found.waited.iter().map(|waited| waited.target_ran_ns).sum(),
            threads,
            cores,
            retransmits: net.retransmits.saturating_sub(net_before.retransmits),
            tcp_timeouts: net.tcp_timeouts.saturating_sub(net_before.tcp_timeouts),
            listen_overflows: net.listen_overflows.saturating_sub(net_before.listen_overflows),
            listen_drops: net.listen_drops.saturating_sub(net_before.listen_drops),
            dropped: net.dropped.saturating_sub(net_before.dropped),
            links_lost: self.links.lost(),
            time_wait: sockstat.and_then(|text| procfs::time_wait(&text)).unwrap_or(0),
            ports_left: self.ports().map(|ports| ports.saturating_sub(open)),
            descriptors_left,
            rss_bytes: kib("VmRSS:"),
            anon_bytes: kib("RssAnon:"),
            hides_quota: self.groups.is_empty(),
            throttled: throttled.0.saturating_sub(throttled_before.0),
            throttled_ns: throttled.1.saturating_sub(throttled_before.1),
        })
    }

    fn sample_cores(&mut self) -> Vec<CoreHealth> {
        let now = self.read_cores();
        let before = std::mem::replace(&mut self.cores, now);
        let gained = |core: &CoreTicks| {
            let before = before.iter().find(|old| old.core == core.core)?;
            Some(CoreHealth {
                core: core.core,
                busy_ns: core.busy.saturating_sub(before.busy) * TICK_NS,
                softirq_ns: core.softirq.saturating_sub(before.softirq) * TICK_NS,
                steal_ns: core.steal.saturating_sub(before.steal) * TICK_NS,
            })
        };
        self.cores.iter().filter_map(gained).collect()
    }

    fn sample_threads(
        &mut self,
        now: Instant,
        span_ns: u64,
        seen: &[ThreadRef],
        cores: &[CoreHealth],
        found: &LookFindings,
    ) -> Vec<ThreadHealth> {
        self.threads.resize(seen.len(), None);
        let mut gained: Vec<ThreadHealth> =
            (0..seen.len()).map(|i| self.sample_thread(i, now, &seen[i])).collect();
        let mut around: Vec<Around> =
            gained.iter().map(|thread| Around::of(thread.core, span_ns, cores, found)).collect();
        self.carried.resize_with(seen.len(), Around::default);
        for (index, (thread, around)) in gained.iter().zip(&mut around).enumerate() {
            let carried = &mut self.carried[index];
            if thread.span_ns > 0 {
                around.add(std::mem::take(carried));
            } else if self.threads[index].is_some() || seen[index].born.is_some() {
                // It has just ended, perhaps before it was read once: its times come with the next sample,
                // and so does what was around it.
                carried.add(std::mem::take(around));
            }
        }
        let ours: Vec<u64> = gained.iter().map(|thread| cpu_on(&gained, thread.core)).collect();
        self.untold.resize(seen.len(), 0);
        let all_ours_ns = gained.iter().map(|thread| thread.cpu_ns).sum();
        for (index, (thread, around)) in gained.iter_mut().zip(around).enumerate() {
            // A thread that began late or ended early has only its part in what its CPU did meanwhile.
            let its_part = |ns| scaled(ns, thread.span_ns, around.span_ns);
            let ours_ns = ours[index];
            // A wait is told when it has ended and somebody looks: it may be of the interval before, or of all
            // those in which nobody has looked.
            let blamable_ns = ours_ns + self.untold[index];
            self.untold[index] = if self.waiters.is_awaited() { blamable_ns } else { ours_ns };
            let others_ns = around.busy_ns.saturating_sub(ours_ns);
            (thread.others_ns, thread.stolen_ns) = (its_part(others_ns), its_part(around.stolen_ns));
            let is_pinned = self.threads[index].is_some_and(|reading| reading.times.is_pinned);
            let unseen_ns = around.unseen_there(thread, is_pinned, cores.len(), all_ours_ns);
            thread.target_unseen_ns = unseen_ns.min(ours_ns);
            blame(thread, &around.waited, blamable_ns);
        }
        gained
    }

    fn sample_thread(&mut self, index: usize, now: Instant, seen: &ThreadRef) -> ThreadHealth {
        let reading = match seen.ended {
            Some((at, times)) => Some(Reading { at, times, spun: seen.spun }),
            None => self.read_thread(seen.tid).map(|times| Reading { at: now, times, spun: seen.spun }),
        };
        let born = seen.born.map(|(at, times)| Reading { at, times, spun: Picos::ZERO });
        let before = self.threads[index].or(born);
        let (Some(reading), Some(before)) = (reading, before) else {
            let core = before.map_or(0, |before| before.times.core);
            return ThreadHealth { tid: seen.tid, core, ..ThreadHealth::default() };
        };
        self.threads[index] = Some(reading);
        gain(seen.tid, &before, &reading)
    }

    fn read_thread(&self, tid: u32) -> Option<ThreadTimes> {
        ThreadTimes::read(&self.root.join("proc/self/task").join(tid.to_string()))
    }

    fn read_cores(&self) -> Vec<CoreTicks> {
        read(&self.root, "proc/stat").map_or_else(Vec::new, |text| procfs::core_ticks(&text))
    }

    fn read_net(&self) -> NetTotals {
        let snmp = read(&self.root, "proc/net/snmp").unwrap_or_default();
        let netstat = read(&self.root, "proc/net/netstat").unwrap_or_default();
        let softnet =
            read(&self.root, "proc/net/softnet_stat").map_or(0, |text| procfs::softnet_drops(&text));
        let extended = |name| procfs::net_counter(&netstat, "TcpExt", name).unwrap_or(0);
        NetTotals {
            retransmits: procfs::net_counter(&snmp, "Tcp", "RetransSegs").unwrap_or(0),
            tcp_timeouts: extended("TCPTimeouts"),
            listen_overflows: extended("ListenOverflows"),
            listen_drops: extended("ListenDrops"),
            dropped: DROPS.iter().map(|name| extended(name)).sum::<u64>() + softnet,
        }
    }

    /// Any group around this process may stop it.
    fn read_throttling(&self) -> (u64, u64) {
        let of_one =
            |group: &Group| read(&group.folder, "cpu.stat").and_then(|text| procfs::throttling(&text));
        let stopped = self.groups.iter().filter_map(of_one);
        stopped.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// Ephemeral ports over all source addresses.
    fn ports(&self) -> Option<u64> {
        let (first, last) = procfs::port_range(&read(&self.root, "proc/sys/net/ipv4/ip_local_port_range")?)?;
        let all = (u64::from(last.saturating_sub(first)) + 1).saturating_mul(self.source_addresses);
        (all > 0).then_some(all)
    }

    /// In the fullest table: engine threads may have one of their own, and the limit is for each.
    fn descriptors_left(&self, threads: &[ThreadRef]) -> Option<u64> {
        let limit = procfs::soft_limit(&read(&self.root, "proc/self/limits")?, "Max open files")?;
        let own = procfs::open_descriptors(&self.root, "self")?;
        let of_threads = threads
            .iter()
            .filter_map(|thread| procfs::open_descriptors(&self.root, &format!("self/task/{}", thread.tid)));
        Some(limit.saturating_sub(of_threads.fold(own, u64::max)))
    }
}

/// What others waited for the CPU of `thread` is this program's doing for as long as it had that CPU: threads
/// of a busy target wait for each other, too. Brief waits do no harm where there is room.
fn blame(thread: &mut ThreadHealth, waited: &Waited, ours_ns: u64) {
    let worked_ns = thread.cpu_ns.saturating_sub(thread.spun_ns) + waited.target_ran_ns;
    let is_busy = worked_ns > thread.span_ns / 2;
    let target_ns = waited.target_ns + if is_busy { waited.target_brief_ns } else { 0 };
    thread.target_waited_ns = target_ns.min(ours_ns);
    thread.target_ran_ns = waited.target_ran_ns;
    thread.target_waits = waited.waits.clone();
    thread.others_waited_ns = waited.others_ns.min(ours_ns);
    (thread.unknown_waited_ns, thread.unknown_ran_ns) =
        (waited.unknown_ns.min(ours_ns), waited.unknown_ran_ns);
    thread.target_waiter.clone_from(&waited.target_longest);
    thread.others_waiter.clone_from(&waited.others_longest);
}

/// CPU time of the threads that ran on `core`.
fn cpu_on(threads: &[ThreadHealth], core: u32) -> u64 {
    threads.iter().filter(|thread| thread.core == core).map(|thread| thread.cpu_ns).sum()
}

/// What the target's threads waited for other programs, by the larger of two bounds for each CPU: no longer
/// than others had it, by the kernel's ticks, which are coarse; and what is left of it when all is taken off
/// that they can have waited for tare, for each other, for the network's part and for the hypervisor.
fn crowded(waited: &[Waited], cores: &[CoreHealth], threads: &[ThreadHealth]) -> u64 {
    let of_core = |waited: &Waited| {
        let core = cores.iter().find(|core| core.core == waited.core)?;
        let ours = cpu_on(threads, waited.core).max(waited.own_ran_ns);
        let not_ours = waited.target_ns.saturating_sub(ours);
        let others = core.busy_ns.saturating_sub(core.softirq_ns + ours + waited.target_ran_ns);
        let rest = not_ours.saturating_sub(waited.target_self_ns + core.softirq_ns + core.steal_ns);
        Some(not_ours.min(others).max(rest))
    };
    waited.iter().filter_map(of_core).sum()
}

fn all_waits(waited: &[Waited]) -> Waits {
    let mut waits = Waits::default();
    waited.iter().for_each(|waited| waits.add(&waited.waits));
    waits
}

/// `ns` of `whole` for a thread that was there for `part`; all of it if it was there throughout.
fn scaled(ns: u64, part: u64, whole: u64) -> u64 {
    if part >= whole { ns } else { (u128::from(ns) * u128::from(part) / u128::from(whole)) as u64 }
}

fn gain(tid: u32, before: &Reading, now: &Reading) -> ThreadHealth {
    let (old, new) = (&before.times, &now.times);
    ThreadHealth {
        tid,
        span_ns: now.at.since(before.at).as_nanos(),
        cpu_ns: new.cpu_ns.saturating_sub(old.cpu_ns),
        spun_ns: (now.spun - before.spun).as_nanos(),
        runqueue_ns: new.runqueue_ns.saturating_sub(old.runqueue_ns),
        voluntary: new.voluntary.saturating_sub(old.voluntary),
        involuntary: new.involuntary.saturating_sub(old.involuntary),
        user_ns: new.user_ticks.saturating_sub(old.user_ticks) * TICK_NS,
        system_ns: new.system_ticks.saturating_sub(old.system_ticks) * TICK_NS,
        core: new.core,
        is_real_time: new.is_real_time,
        ..ThreadHealth::default()
    }
}

fn read(root: &Path, path: &str) -> Option<String> {
    std::fs::read_to_string(root.join(path)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_blamed_on_who_had_the_cpu_and_brief_waits_only_on_a_busy_one() {
        const MS: u64 = 1_000_000;
        let waited = Waited {
            core: 0,
            target_ns: 30 * MS,
            target_brief_ns: 200 * MS,
            target_ran_ns: 50 * MS,
            others_ns: 700 * MS,
            ..Waited::default()
        };
        let blamed = |cpu_ms, spun_ms| {
            let mut thread = ThreadHealth {
                span_ns: 1_000 * MS,
                cpu_ns: cpu_ms * MS,
                spun_ns: spun_ms * MS,
                ..ThreadHealth::default()
            };
            blame(&mut thread, &waited, cpu_ms * MS);
            (thread.target_waited_ns / MS, thread.others_waited_ns / MS)
        };
        assert_eq!(blamed(900, 500), (30, 700));
        assert_eq!(blamed(900, 400), (230, 700));
        assert_eq!(blamed(20, 0), (20, 20));
    }

    #[test]
    fn what_the_target_ran_unseen_is_bounded_by_what_others_ran() {
        const MS: u64 = 1_000_000;
        let around = |unseen_ms, is_hidden| Around {
            is_theirs: true,
            all_busy_ns: 900 * MS,
            all_seen_ns: 60 * MS,
            waited: Waited { target_ran_ns: 30 * MS, ..Waited::default() },
            unseen_ns: unseen_ms * MS,
            is_hidden,
            ..Around::default()
        };
        let thread = ThreadHealth { others_ns: 100 * MS, ..ThreadHealth::default() };
        let there = |around: Around, is_pinned| around.unseen_there(&thread, is_pinned, 2, 600 * MS) / MS;
        // On the CPU that the thread is bound to, or on one of two.
        assert_eq!([there(around(40, false), true), there(around(40, false), false)], [40, 20]);
        assert_eq!([there(around(400, false), true), there(around(400, false), false)], [100, 150]);
        // The target is bound to other CPUs.
        let elsewhere = |unseen_ms, is_hidden| Around { is_theirs: false, ..around(unseen_ms, is_hidden) };
        assert_eq!([there(elsewhere(40, false), true), there(elsewhere(0, true), true)], [0, 0]);
        // Nobody knows: all that was neither the thread's nor the target's as far as it was seen.
        assert_eq!([there(around(0, true), true), there(around(0, true), false)], [70, 120]);
    }

    #[test]
    fn a_target_waits_for_other_programs_no_longer_than_they_had_its_cpu() {
        const MS: u64 = 1_000_000;
        let waited =
            |core| Waited { core, target_ns: 300 * MS, target_ran_ns: 200 * MS, ..Waited::default() };
        let core = |core, busy_ms, softirq_ms| CoreHealth {
            core,
            busy_ns: busy_ms * MS,
            softirq_ns: softirq_ms * MS,
            ..CoreHealth::default()
        };
        let ours = [ThreadHealth { core: 1, cpu_ns: 250 * MS, ..ThreadHealth::default() }];
        // CPU 0: 1 000 - 100 - 200 ms were others'. CPU 1: tare had it for 250 of the 300 ms.
        let cores = [core(0, 1_000, 100), core(1, 1_000, 0)];
        assert_eq!(crowded(&[waited(0)], &cores, &ours), 300 * MS);
        assert_eq!(crowded(&[waited(1)], &cores, &ours), 50 * MS);
        // The target's own threads wait for each other, and for the network's part.
        let itself = Waited { target_self_ns: 190 * MS, ..waited(0) };
        assert_eq!(crowded(std::slice::from_ref(&itself), &[core(0, 320, 100)], &ours), 20 * MS);
        // Others came and went between ticks: what is left of the 300 ms is theirs.
        assert_eq!(crowded(&[itself], &[core(0, 220, 10)], &ours), 100 * MS);
    }

    #[test]
    fn a_thread_has_only_its_part_of_what_its_cpu_did() {
        // Others had the CPU for 600 ms of 1 s; a thread that was there for a quarter of it met 150 ms of that.
        assert_eq!(scaled(600_000_000, 250_000_000, 1_000_000_000), 150_000_000);
        assert_eq!(scaled(600_000_000, 1_000_000_000, 1_000_000_000), 600_000_000);
        assert_eq!(scaled(600_000_000, 0, 1_000_000_000), 0);
        assert_eq!(scaled(600_000_000, 0, 0), 600_000_000);
    }
}
