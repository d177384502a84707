//! Reading the few lines of /proc and /sys that tell how the generator fares.
//!
//! Parsers take text, so that they are tested on fixtures; what is absent or unreadable is `None`, never zero.
//! See proc(5) and Documentation/scheduler/sched-stats.rst of the kernel for the fields.

use os::tcp_sockets::TcpSocket;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The bit of signal 17 in a mask of signals.
const SIGCHLD: u64 = 1 << 16;

/// Times of one thread since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTimes {
    pub cpu_ns: u64,
    pub runqueue_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    /// Time in the program and in the kernel, in ticks of 10 ms: their sum follows `cpu_ns`, their shares are
    /// sampled.
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub core: u32,
    /// It may run on no other CPU.
    pub is_pinned: bool,
    /// Its policy is SCHED_FIFO or SCHED_RR, which CPU quotas do not hold back.
    pub is_real_time: bool,
}

impl ThreadTimes {
    /// From a folder such as `/proc/self/task/17`.
    pub fn read(folder: &Path) -> Option<Self> {
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let (cpu_ns, runqueue_ns, _) = schedstat(&text("schedstat")?)?;
        let (status, stat) = (text("status")?, text("stat")?);
        let (user_ticks, system_ticks) = user_and_system(&stat)?;
        Some(Self {
            cpu_ns,
            runqueue_ns,
            voluntary: field(&status, "voluntary_ctxt_switches:")?,
            involuntary: field(&status, "nonvoluntary_ctxt_switches:")?,
            user_ticks,
            system_ticks,
            core: last_core(&stat)?,
            is_pinned: is_pinned(&status),
            is_real_time: is_real_time(&stat),
        })
    }

    /// Of the calling thread.
    pub fn of_this_thread() -> Option<Self> {
        Self::read(Path::new("/proc/thread-self"))
    }
}

/// `Cpus_allowed_list` of `status`: the CPUs that a thread may use.
pub(crate) fn cpus_allowed(status: &str) -> Option<Vec<u32>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    os::cpus::parse_list(list.trim())
}

fn is_pinned(status: &str) -> bool {
    cpus_allowed(status).is_some_and(|cpus| cpus.len() == 1)
}

/// Whether `SigIgn` of `status` has SIGCHLD: children end, and no total of their parent's has what they ran.
pub(crate) fn ignores_children(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & SIGCHLD != 0)
}

/// How many processes and threads were ever started, from `/proc/stat`.
pub(crate) fn started(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("processes "))?.trim().parse().ok()
}

/// `time on CPU, time waiting for one` in nanoseconds, and how often it was given a CPU, from `schedstat`.
pub(crate) fn schedstat(text: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Field 39 (`processor`) of `stat`; the name in brackets before it may hold anything.
pub(crate) fn last_core(stat: &str) -> Option<u32> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_ascii_whitespace().nth(39 - 3)?.parse().ok()
}

/// SCHED_FIFO and SCHED_RR (sched.h).
const REAL_TIME: [i32; 2] = [1, 2];

/// Field 41 (`policy`) of `stat`.
pub(crate) fn policy(stat: &str) -> Option<u64> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_ascii_whitespace().nth(41 - 3)?.parse().ok()
}

/// The socket in a line of `net/tcp` or `net/tcp6`, if it has an inode: those in TIME_WAIT have none.
pub(crate) fn tcp_socket(line: &str) -> Option<TcpSocket> {
    // sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode; 0A is LISTEN.
    let mut words = line.split_ascii_whitespace().skip(1);
    let (local, remote) = (address(words.next()?)?, address(words.next()?)?);
    let (state, inode) = (words.next()?, words.nth(5)?.parse().ok()?);
    (inode != 0).then_some(TcpSocket { local, remote, listens: state == "0A", inode })
}

/// An address is one number of 32 bits, or four, each as the machine has it in memory.
fn address(word: &str) -> Option<SocketAddr> {
    let (address, port) = word.rsplit_once(':')?;
    let part =
        |at: usize| Some(u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let ip: IpAddr = match address.len() {
        8 => Ipv4Addr::from(part(0)?).into(),
        32 => {
            let bytes = [part(0)?, part(1)?, part(2)?, part(3)?].concat();
            Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The network namespaces that are mounted, as by `ip netns add`: their names (`net:[4026531840]`) and where.
pub(crate) fn mounted_namespaces(mountinfo: &str) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    // id parent major:minor root place options … - type source options; a space is \040.
    let one = |line: &str| {
        let mut words = line.split(' ').skip(3);
        let (root, place) = (words.next()?, words.next()?);
        root.starts_with("net:[").then(|| (root.into(), place.replace("\\040", " ").into()))
    };
    mountinfo.lines().filter_map(one)
}

/// Inodes of the sockets in `net/unix` that are bound to `path`, or were accepted there.
pub(crate) fn sockets_at(table: &str, path: &Path) -> Vec<u64> {
    // Num RefCount Protocol Flags Type St Inode Path; a path may have spaces.
    let one = |line: &str| {
        let (before, its) = line.split_once(" /")?;
        let is_there = path.as_os_str().as_encoded_bytes().strip_prefix(b"/")? == its.as_bytes();
        if is_there { before.split_ascii_whitespace().last()?.parse().ok() } else { None }
    };
    table.lines().skip(1).filter_map(one).collect()
}

/// Inodes of the sockets in `net/packet`.
pub(crate) fn packet_sockets(table: &str) -> impl Iterator<Item = u64> {
    // sk RefCnt Type Proto Iface R Rmem User Inode
    table.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().nth(8)?.parse().ok())
}

/// Whether it is a thread of the kernel's: `PF_KTHREAD` in field 9 (`flags`) of `stat`.
pub(crate) fn is_of_kernel(stat: &str) -> Option<bool> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let flags: u64 = after_name.split_ascii_whitespace().nth(9 - 3)?.parse().ok()?;
    Some(flags & 0x0020_0000 != 0)
}

/// Whether a thread runs or wants to: field 3 (`state`) of `stat`.
pub(crate) fn is_runnable(stat: &str) -> bool {
    stat.rfind(')').is_some_and(|end| stat[end + 1..].trim_start().starts_with('R'))
}

/// The name in brackets of `stat`.
pub(crate) fn name(stat: &str) -> Option<&str> {
    stat.get(stat.find('(')? + 1..stat.rfind(')')?)
}

/// Field 6 (`session`) of a process's `stat`.
pub(crate) fn session(stat: &str) -> Option<u64> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_ascii_whitespace().nth(6 - 3)?.parse().ok()
}

/// Field 4 (`ppid`) of a process's `stat`, and the ticks of all its threads and children that were waited for,
/// also of those that have ended: fields 14 to 17.
pub(crate) fn parent_and_ticks(stat: &str) -> Option<(u32, u64)> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let ticks = fields.get(14 - 3..=17 - 3)?.iter().map(|word| word.parse::<u64>());
    Some((fields.get(4 - 3)?.parse().ok()?, ticks.sum::<Result<_, _>>().ok()?))
}

/// Field 41 (`policy`) of `stat`.
fn is_real_time(stat: &str) -> bool {
    let after_name = &stat[stat.rfind(')').map_or(stat.len(), |at| at + 1)..];
    let policy = after_name.split_ascii_whitespace().nth(41 - 3).and_then(|word| word.parse::<i32>().ok());
    policy.is_some_and(|policy| REAL_TIME.contains(&policy))
}

/// Fields 14 and 15 (`utime`, `stime`) of `stat`.
fn user_and_system(stat: &str) -> Option<(u64, u64)> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace().skip(14 - 3).map(|word| word.parse().ok());
    Some((fields.next()??, fields.next()??))
}

/// The first number after `name` at the start of a line: `VmRSS:   2220 kB`.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Ticks of one CPU since the start of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoreTicks {
    pub core: u32,
    /// user + nice + system + irq + softirq; guest time is in user already.
    pub busy: u64,
    pub softirq: u64,
    pub steal: u64,
}

/// The `cpuN` lines of `/proc/stat`.
pub(crate) fn core_ticks(stat: &str) -> Vec<CoreTicks> {
    let lines = stat.lines().take_while(|line| line.starts_with("cpu"));
    lines.filter_map(one_core).collect()
}

fn one_core(line: &str) -> Option<CoreTicks> {
    let mut words = line.split_ascii_whitespace();
    let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal guest guest_nice
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else { return None };
    Some(CoreTicks { core, busy: user + nice + system + irq + softirq, softirq, steal })
}

/// A counter of `/proc/net/snmp` or `/proc/net/netstat`: a line of names, then a line of numbers.
pub(crate) fn net_counter(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.strip_prefix(table).is_some_and(|l| l.starts_with(':')));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let position = names.split_ascii_whitespace().position(|word| word == name)?;
    numbers.split_ascii_whitespace().nth(position)?.parse().ok()
}

/// Packets that CPUs dropped since their backlogs were full: the second column of `/proc/net/softnet_stat`, in
/// hex.
pub(crate) fn softnet_drops(text: &str) -> u64 {
    let drops = |line: &str| u64::from_str_radix(line.split_ascii_whitespace().nth(1)?, 16).ok();
    text.lines().filter_map(drops).sum()
}

/// Sockets in TIME_WAIT: `TCP: inuse 4 orphan 0 tw 0 …` of `/proc/net/sockstat`.
pub(crate) fn time_wait(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

/// First and last ephemeral port, from `ip_local_port_range`.
pub(crate) fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The soft limit of a line of `/proc/self/limits`; `None` also when unlimited.
pub(crate) fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    field(limits, name)
}

/// Times and nanoseconds for which the CPU quota stopped us, from `cpu.stat` of either cgroup version.
pub(crate) fn throttling(cpu_stat: &str) -> Option<(u64, u64)> {
    let times = field(cpu_stat, "nr_throttled ")?;
    let micros = field(cpu_stat, "throttled_usec ").map(|micros| micros * 1_000);
    Some((times, micros.or_else(|| field(cpu_stat, "throttled_time "))?))
}

/// CPUs that the quota grants, e.g. 1.5: `cpu.max` (version 2) or `cpu.cfs_quota_us` (version 1).
pub(crate) fn cpu_quota(folder: &Path) -> Option<f64> {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    if let Some(max) = text("cpu.max") {
        let (quota, period) = max.trim().split_once(' ')?;
        return Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?);
    }
    let quota: f64 = text("cpu.cfs_quota_us")?.trim().parse().ok()?;
    let period: f64 = text("cpu.cfs_period_us")?.trim().parse().ok()?;
    (quota > 0.0).then_some(quota / period)
}

/// How many descriptors are open in the table of a thread (`self`, or `self/task/TID`). Since Linux 6.2 the
/// size of the folder says so; before, and on other file systems, its entries are counted.
pub(crate) fn open_descriptors(root: &Path, of: &str) -> Option<u64> {
    let folder = root.join("proc").join(of).join("fd");
    let size = std::fs::metadata(&folder).ok()?.len();
    if root == Path::new("/") && size > 0 {
        return Some(size);
    }
    std::fs::read_dir(folder).ok().map(|entries| entries.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_files() {
        assert_eq!(schedstat("417329 63618 1\n"), Some((417_329, 63_618, 1)));
        assert_eq!(schedstat(""), None);
        // Taken from a live machine, with a name that holds brackets and spaces; field 39 counted by hand.
        let stat = "25598 (a) R (b) R 25581 25581 8130 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 1 0 177549 3133440 381 \
                    18446744073709551615 94741965889536 94741965909417 140728808408528 0 0 0 0 0 0 0 0 0 17 5 0 0";
        assert_eq!(last_core(stat), Some(5));
        assert_eq!(user_and_system(&stat.replacen("100 0 0 0 0 0", "100 0 0 0 7 9", 1)), Some((7, 9)));
        let status = "VmRSS:\t    2220 kB\nRssAnon:\t     164 kB\nvoluntary_ctxt_switches:\t7\n\
                      nonvoluntary_ctxt_switches:\t9\n";
        assert_eq!(field(status, "VmRSS:"), Some(2220));
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some(7));
        assert_eq!(field(status, "nonvoluntary_ctxt_switches:"), Some(9));
        assert_eq!(field(status, "VmSwap:"), None);
    }

    #[test]
    fn machine_files() {
        let stat = "cpu  24075 39508 10760 276734 1195 0 1161 87 0 0\n\
                    cpu0 12014 18357 5103 140466 129 0 726 35 0 0\n\
                    cpu11 12061 21150 5656 136267 1065 3 434 51 0 0\nintr 12\n";
        // 12014 + 18357 + 5103 + 0 + 726 = 36200; 12061 + 21150 + 5656 + 3 + 434 = 39304
        let expected = [
            CoreTicks { core: 0, busy: 36_200, softirq: 726, steal: 35 },
            CoreTicks { core: 11, busy: 39_304, softirq: 434, steal: 51 },
        ];
        assert_eq!(core_ticks(stat), expected);
        assert_eq!(time_wait("sockets: used 19\nTCP: inuse 4 orphan 0 tw 31 alloc 4 mem 0\n"), Some(31));
        assert_eq!(port_range("32768\t60999\n"), Some((32_768, 60_999)));
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max open files            20000                30000                files     \n\
                      Max locked memory         unlimited            unlimited            bytes     \n";
        assert_eq!(soft_limit(limits, "Max open files"), Some(20_000));
        assert_eq!(soft_limit(limits, "Max locked memory"), None);
    }

    #[test]
    fn counters_are_found_by_name_not_by_position() {
        let snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: MaxConn RetransSegs InErrs\nTcp: -1 14522 0\n";
        assert_eq!(net_counter(snmp, "Tcp", "RetransSegs"), Some(14_522));
        assert_eq!(net_counter(snmp, "Tcp", "Absent"), None);
        let netstat =
            "TcpExt: TCPTimeouts ListenOverflows ListenDrops\nTcpExt: 3 14 15\nIpExt: InOctets\nIpExt: 9\n";
        assert_eq!(net_counter(netstat, "TcpExt", "ListenOverflows"), Some(14));
        assert_eq!(net_counter(netstat, "Tcp", "ListenOverflows"), None);
        assert_eq!(softnet_drops("0002a1c4 0000000a 0000001f 0\n00000001 00000006 00000000 0\n"), 16);
    }

    #[test]
    fn connections_of_both_versions_of_ip() {
        // Of a live machine: a listener, and both ends of a connection, one of them within IPv6; 04D2 is 1 234.
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let rest = "00000000:00000000 00:00000000 00000000     0        0";
        let table = format!(
            "{head}   0: 0100007F:04D2 00000000:0000 0A {rest} 71 1 0\n   \
             1: 0100007F:04D3 0100007F:04D2 01 {rest} 72 1 0\n   \
             2: 0000000000000000FFFF00000100007F:04D2 0000000000000000FFFF00000100007F:04D3 \
             01 {rest} 73 1 0\n   \
             3: 0100007F:04D4 0100007F:04D2 06 {rest} 0 1 0\n"
        );
        let [near, far, any] =
            ["127.0.0.1:1235", "127.0.0.1:1234", "0.0.0.0:0"].map(|text| text.parse().unwrap());
        let socket = |local, remote, listens, inode| TcpSocket { local, remote, listens, inode };
        let expected =
            [socket(far, any, true, 71), socket(near, far, false, 72), socket(far, near, false, 73)];
        assert_eq!(table.lines().filter_map(tcp_socket).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn sockets_for_frames() {
        let table = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                     000000001a0cde38 3      3    0003   2     1 0      0      34567\ncut\n";
        assert_eq!(packet_sockets(table).collect::<Vec<_>>(), [34_567]);
    }

    #[test]
    fn mounts_of_network_namespaces() {
        let mounts = "42 20 0:25 / /run/netns rw shared:9 - tmpfs tmpfs rw\n\
                      43 42 0:4 net:[4026532177] /run/netns/a\\040b rw shared:2 - nsfs nsfs rw\n\
                      44 42 0:4 mnt:[4026532178] /run/mnt rw - nsfs nsfs rw\n44 42\n";
        let expected = ("net:[4026532177]".into(), "/run/netns/a b".into());
        assert_eq!(mounted_namespaces(mounts).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn both_versions_of_cgroups() {
        assert_eq!(throttling("nr_periods 10\nnr_throttled 3\nthrottled_usec 250\n"), Some((3, 250_000)));
        assert_eq!(throttling("nr_periods 10\nnr_throttled 3\nthrottled_time 777\n"), Some((3, 777)));
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        put("cpu.cfs_quota_us", "-1\n");
        put("cpu.cfs_period_us", "100000\n");
        assert_eq!(cpu_quota(folder.path()), None);
        put("cpu.cfs_quota_us", "50000\n");
        assert_eq!(cpu_quota(folder.path()), Some(0.5));
        put("cpu.max", "150000 100000\n");
        assert_eq!(cpu_quota(folder.path()), Some(1.5));
    }
}
