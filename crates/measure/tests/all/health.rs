//! The probe on texts whose gains are known, and on this machine.

use measure::{HealthSummary, Probe, Settings, recorders};
use os::peers::Peers;
use std::path::Path;
use units::{EngineCounters, Instant, Picos, Record};

fn put(root: &Path, files: &[(&str, String)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// /proc of a machine with one core that has been busy and stolen for so many ticks, and so on.
fn proc_files(ticks: u64, steal: u64, counter: u64) -> Vec<(&'static str, String)> {
    vec![
        ("proc/stat", format!("cpu  0\ncpu0 {ticks} 0 0 5 5 0 0 {steal} 0 0\nintr 1\n")),
        ("proc/self/status", "VmRSS:\t 100 kB\nRssAnon:\t 40 kB\n".into()),
        (
            "proc/self/limits",
            "Max open files            64                   64                   files\n".into(),
        ),
        ("proc/self/fd/0", String::new()),
        ("proc/self/fd/1", String::new()),
        ("proc/self/cgroup", "0::/\n".into()),
        ("sys/fs/cgroup/cpu.stat", format!("nr_throttled {counter}\nthrottled_usec {counter}\n")),
        ("proc/net/snmp", format!("Tcp: RtoMin RetransSegs\nTcp: 200 {counter}\n")),
        (
            "proc/net/netstat",
            format!(
                "TcpExt: ListenOverflows ListenDrops TCPTimeouts\nTcpExt: {counter} {} {}\n",
                counter + 1,
                2 * counter
            ),
        ),
        ("proc/net/softnet_stat", format!("0001 {counter:08x} 0\n0002 {counter:08x} 0\n")),
        ("sys/class/net/used/carrier_down_count", format!("{counter}\n")),
        ("sys/class/net/used/statistics/tx_packets", format!("{ticks}\n")),
        ("sys/class/net/idle/carrier_down_count", format!("{counter}\n")),
        ("sys/class/net/idle/statistics/tx_packets", "7\n".into()),
        ("proc/net/sockstat", "sockets: used 19\nTCP: inuse 4 orphan 0 tw 7 alloc 4 mem 0\n".into()),
        ("proc/sys/net/ipv4/ip_local_port_range", "1000\t1099\n".into()),
    ]
}

#[test]
fn a_sample_tells_what_was_gained() {
    let root = tempfile::tempdir().unwrap();
    put(root.path(), &proc_files(100, 10, 5));
    let second = Picos::from_secs(1);
    let (mut collector, mut threads) = recorders(Settings::from_origin(Instant::EPOCH));
    collector.watch(Probe::at_root(root.path(), Instant::EPOCH, 2, &Peers::default()));
    put(root.path(), &proc_files(160, 13, 9));
    threads[0].tick(Instant::EPOCH, &EngineCounters::default());
    threads[0].tick(
        Instant::EPOCH + second,
        &EngineCounters { offered: 1, due: 1, open: 30, ..EngineCounters::default() },
    );
    let mut samples = Vec::new();
    collector.poll(Instant::EPOCH + second, &mut |row| samples.push(row.health.clone().unwrap()));
    let sample = &samples[0];
    assert_eq!(sample.span_ns, 1_000_000_000);
    // 60 ticks and 3 ticks of 10 ms.
    assert_eq!((sample.cores[0].busy_ns, sample.cores[0].steal_ns), (600_000_000, 30_000_000));
    assert_eq!((sample.retransmits, sample.listen_overflows, sample.listen_drops), (4, 4, 4));
    assert_eq!((sample.tcp_timeouts, sample.time_wait), (8, 7));
    // On two CPUs; and the link of the interface alone that sent something.
    assert_eq!((sample.dropped, sample.links_lost), (8, 4));
    assert_eq!((sample.throttled, sample.throttled_ns), (4, 4_000));
    // 100 ports on each of 2 addresses less 30 connections; 64 descriptors less 2.
    assert_eq!((sample.ports_left, sample.descriptors_left), (Some(170), Some(62)));
    assert_eq!((sample.rss_bytes, sample.anon_bytes), (102_400, 40_960));
    let health: &HealthSummary = collector.health();
    assert_eq!((health.samples, health.ports_left_least, health.time_wait_peak), (1, Some(170), 7));
}

/// Works until its own CPU time says 30 ms, so that steal and other tests do not matter.
fn burn_30_ms() {
    let cpu_ns = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let start = cpu_ns();
    while cpu_ns() < start + 30_000_000 {}
}

#[test]
fn a_thread_that_has_ended_is_still_accounted_for() {
    let (mut collector, mut threads) = recorders(Settings::from_origin(Instant::EPOCH));
    collector.watch(Probe::new(Instant::EPOCH, 1, &Peers::default()));
    let mut recorder = threads.remove(0);
    let engine = std::thread::spawn(move || {
        recorder.tick(Instant::EPOCH, &EngineCounters::default());
        burn_30_ms();
        let spun = Picos::from_millis(10);
        recorder.tick(
            Instant::EPOCH + Picos::from_millis(100),
            &EngineCounters { offered: 1, due: 1, spun, ..EngineCounters::default() },
        );
    });
    engine.join().unwrap();
    let (totals, health) = collector.finish(Instant::EPOCH + Picos::from_millis(100), &mut |_| ());
    assert_eq!((totals.intervals, health.samples), (1, 1));
    let thread = &health.threads[0];
    assert!(thread.cpu_ns >= 30_000_000 && thread.cpu_ns < 60_000_000, "{} ns", thread.cpu_ns);
    assert_eq!((thread.span_ns, thread.spun_ns), (100_000_000, 10_000_000));
    assert!(thread.tid != 0 && health.rss_peak_bytes > 1 << 20 && health.descriptors_left_least.is_some());
}

#[test]
fn what_a_thread_did_before_it_ended_unseen_belongs_to_the_load() {
    let root = tempfile::tempdir().unwrap();
    // Of all CPUs, others have had the last alone: the thread was on it.
    let last = *os::cpus::usable().last().unwrap() as usize;
    let cpus = |others: u64| {
        let ticks = |cpu: usize| if cpu == last { others } else { 100 };
        let lines: String =
            (0..=last).map(|cpu| format!("cpu{cpu} {} 0 0 5 5 0 0 0 0 0\n", ticks(cpu))).collect();
        put(root.path(), &[("proc/stat", format!("cpu  0\n{lines}intr 1\n"))]);
    };
    put(root.path(), &proc_files(100, 0, 0));
    cpus(100);
    // There are threads, and that of the recorder is not among them.
    std::fs::create_dir_all(root.path().join("proc/self/task/1")).unwrap();
    let second = Picos::from_secs(1);
    let (mut collector, mut threads) = recorders(Settings::from_origin(Instant::EPOCH));
    collector.watch(Probe::at_root(root.path(), Instant::EPOCH, 1, &Peers::default()));
    let mut recorder = threads.remove(0);
    os::cpus::pin(last as u32).unwrap();
    recorder.tick(Instant::EPOCH, &EngineCounters::default());
    burn_30_ms();
    recorder
        .tick(Instant::EPOCH + second, &EngineCounters { offered: 1, due: 1, ..EngineCounters::default() });
    cpus(190);
    let mut rows = 0;
    collector.poll(Instant::EPOCH + second, &mut |_| rows += 1);
    assert_eq!((rows, collector.health().threads[0].span_ns), (1, 0));
    drop(recorder);
    let (_, health) = collector.finish(Instant::EPOCH + second, &mut |_| ());
    let thread = &health.threads[0];
    assert!(thread.span_ns >= 1_000_000_000 && thread.cpu_ns >= 30_000_000, "{thread:?}");
    // 90 ticks of 10 ms, less its own: it was not read once, and what was around it is not lost.
    assert!((700_000_000..=870_000_000).contains(&thread.others_ns), "{thread:?}");
}

#[test]
fn without_proc_there_is_no_sample_and_it_is_told() {
    let root = tempfile::tempdir().unwrap();
    let (mut collector, mut threads) = recorders(Settings::from_origin(Instant::EPOCH));
    collector.watch(Probe::at_root(root.path(), Instant::EPOCH, 1, &Peers::default()));
    threads[0].tick(Instant::EPOCH, &EngineCounters::default());
    drop(threads);
    let (_, health) = collector.finish(Instant::EPOCH, &mut |row| assert!(row.health.is_none()));
    assert_eq!(health.samples, 0);
}

#[test]
fn a_thread_behind_others_on_its_core_shows_both() {
    // In 100 s on core 0: 20 s at work, 50 s waiting; the core was busy for 90 s, so 70 s went to others.
    let root = tempfile::tempdir().unwrap();
    put(root.path(), &proc_files(100, 0, 0));
    let tid = rustix::thread::gettid().as_raw_pid();
    let own = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let (mut collector, mut threads) = recorders(Settings::from_origin(Instant::EPOCH));
    collector.watch(Probe::at_root(root.path(), Instant::EPOCH, 1, &Peers::default()));
    // The recorder itself reads the real /proc when it begins; the fixture continues from there.
    threads[0].tick(Instant::EPOCH, &EngineCounters::default());
    let born: Vec<u64> = own.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect();
    put(root.path(), &proc_files(9_100, 0, 0));
    let mut stat: Vec<String> = (0..50).map(|_| "0".to_owned()).collect();
    stat[0] = "7 (x) R".to_owned();
    let folder = format!("proc/self/task/{tid}");
    let file = |name: &str| root.path().join(&folder).join(name);
    std::fs::create_dir_all(root.path().join(&folder)).unwrap();
    std::fs::write(file("stat"), stat.join(" ")).unwrap();
    std::fs::write(file("status"), "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n").unwrap();
    let schedstat = format!("{} {} 1\n", born[0] + 20_000_000_000, born[1] + 50_000_000_000);
    std::fs::write(file("schedstat"), schedstat).unwrap();
    let end = Instant::EPOCH + Picos::from_secs(100);
    threads[0].tick(end, &EngineCounters { offered: 1, due: 1, ..EngineCounters::default() });
    collector.poll(end, &mut |_| ());
    let thread = &collector.health().threads[0];
    // Between reading our own file and the recorder's reading lies a little work.
    assert!((thread.cpu_share() - 0.2).abs() < 0.02, "{}", thread.cpu_share());
    assert!((thread.runqueue_share() - 0.5).abs() < 0.02, "{}", thread.runqueue_share());
    assert!((thread.others_share() - 0.7).abs() < 0.02, "{}", thread.others_share());
}
