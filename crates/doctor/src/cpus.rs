//! CPUs: which there are, who else uses them, and what they cost.

use crate::finding::{Finding, MEASURED, Mend, Severity, Weight};
use crate::measured::ticks;
use crate::{Files, Subject};
use os::cpus::{as_list, parse_list};

const CPUS: &str = "sys/devices/system/cpu";

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let files = &subject.files;
    let mut findings =
        vec![allowed(files), siblings(files), steal(subject), isolated(subject), mitigations(subject)];
    findings.extend(pauses(subject));
    findings.extend(others(subject));
    findings
}

/// CPUs that this process may use.
pub(super) fn may_use(files: &Files) -> Option<Vec<u32>> {
    let list = files.field("proc/self/status", "Cpus_allowed_list:")?;
    parse_list(&list).filter(|cpus| !cpus.is_empty())
}

pub(super) fn online(files: &Files) -> Option<Vec<u32>> {
    parse_list(&files.line(&format!("{CPUS}/online"))?).filter(|cpus| !cpus.is_empty())
}

fn allowed(files: &Files) -> Finding {
    let id = "cpu.allowed";
    let (Some(online), Some(allowed)) = (online(files), may_use(files)) else {
        return Finding::unknown(id, "the kernel does not report which CPUs this process may use");
    };
    let usable: Vec<u32> = allowed.into_iter().filter(|cpu| online.contains(cpu)).collect();
    let found =
        format!("this process may use {} of {} CPUs ({})", usable.len(), online.len(), as_list(&usable));
    match (usable.len(), online.len()) {
        (1, _) => Finding::fine(id, found)
            .why("generator, interrupts and all other work share 1 CPU and wait for each other", MEASURED)
            .weighs(Weight::all(Severity::Serious))
            .mend(widen(&usable, &online)),
        (ours, all) if ours < all => Finding::fine(id, found)
            .why(
                format!("{} CPUs are out of reach; this may be intended (taskset, cpuset)", all - ours),
                MEASURED,
            )
            .weighs(Weight::all(Severity::Minor))
            .mend(widen(&usable, &online)),
        _ => Finding::fine(id, found),
    }
}

fn widen(usable: &[u32], online: &[u32]) -> Mend {
    match usable.len() < online.len() {
        true => Mend::command(
            format!("taskset -cp {} $$", as_list(online)),
            format!("taskset -cp {} $$", as_list(usable)),
        ),
        false => Mend::advice("use a machine or guest with at least two CPUs"),
    }
}

/// Two hardware threads on one core share its units.
fn siblings(files: &Files) -> Finding {
    let id = "cpu.smt";
    let Some(active) = files.number(&format!("{CPUS}/smt/active")) else {
        return Finding::unknown(id, "the kernel does not report whether cores have several threads");
    };
    if active == 0 {
        return Finding::fine(id, "one thread per core");
    }
    let of = |cpu: &String| {
        files.line(&format!("{CPUS}/{cpu}/topology/thread_siblings_list")).and_then(|list| parse_list(&list))
    };
    let mut groups: Vec<Vec<u32>> = files.numbered(CPUS, "cpu").iter().filter_map(of).collect();
    groups.sort();
    groups.dedup();
    let firsts: Vec<u32> = groups.iter().filter_map(|group| group.first().copied()).collect();
    let shown = groups.first().map(|group| as_list(group)).unwrap_or_default();
    Finding::fine(id, format!("{} cores with several threads each (CPUs {shown} are one core)", groups.len()))
        .why(
            "two busy threads on one core do 16 to 28 % more work than one, not twice as much; work next to \
             the generator makes it late",
            "Marr et al., Hyper-Threading Technology Architecture, Intel Technology Journal 6(1), 2002",
        )
        .weighs(Weight { gaps: Severity::Serious, ..Weight::all(Severity::Minor) })
        .mend(match firsts.is_empty() {
            true => Mend::command(
                format!("echo off > /{CPUS}/smt/control"),
                format!("echo on > /{CPUS}/smt/control"),
            ),
            false => Mend::command(
                format!(
                    "tare … --cpus {} (one of each core), or: echo off > /{CPUS}/smt/control",
                    as_list(&firsts)
                ),
                format!("echo on > /{CPUS}/smt/control"),
            ),
        })
}

/// Time that the hypervisor gave to others: since boot, and just now.
fn steal(subject: &Subject) -> Finding {
    let id = "cpu.steal";
    let text = subject.files.text("proc/stat").unwrap_or_default();
    let Some((busy, stolen)) = text.lines().next().and_then(ticks) else {
        return Finding::unknown(id, "the kernel does not report stolen time");
    };
    let since_boot = if busy + stolen == 0 { 0.0 } else { stolen as f64 / (busy + stolen) as f64 };
    let now = subject.measured.shares.as_ref().map(|shares| shares.steal);
    let worst = now.unwrap_or(0.0).max(since_boot);
    let found = match now {
        Some(now) => format!(
            "time stolen by the hypervisor: {:.1} % now, {:.2} % of all work since boot",
            now * 100.0,
            since_boot * 100.0
        ),
        None => format!("time stolen by the hypervisor: {:.2} % of all work since boot", since_boot * 100.0),
    };
    let severity = match worst {
        share if share > 0.05 => Severity::Serious,
        share if share > 0.005 => Severity::Minor,
        _ => return Finding::fine(id, found),
    };
    let why = format!(
        "{:.0} ms of each second's work wait for other guests; everything due in that time is late",
        worst * 1e3
    );
    Finding::fine(id, found)
        .why(why, MEASURED)
        .weighs(Weight { gaps: severity, ..Weight::all(Severity::Minor) })
        .mend(Mend::advice("give this guest dedicated CPUs (on the host)"))
}

fn isolated(subject: &Subject) -> Finding {
    let id = "cpu.isolated";
    let files = &subject.files;
    let list = |name: &str| files.line(&format!("{CPUS}/{name}")).filter(|list| list != "(null)");
    if !files.exists(&format!("{CPUS}/isolated")) {
        return Finding::unknown(id, "the kernel does not report which CPUs are isolated");
    }
    if let Some(isolated) = list("isolated") {
        let tickless = list("nohz_full").unwrap_or_else(|| "none".into());
        return Finding::fine(
            id,
            format!("isolated CPUs {isolated}, without ticks {tickless}: use --cpus {isolated}"),
        );
    }
    let timers = subject.measured.shares.as_ref().and_then(|shares| shares.timer_interrupts_per_s);
    let known = "the tick interrupts each busy CPU 100 to 1000 times per second (CONFIG_HZ)";
    let why = timers.map_or(known.to_owned(), |rate| {
        format!(
            "{rate:.0} timer interrupts per second on each CPU while this was measured; other work may be \
             scheduled there too"
        )
    });
    let source = if timers.is_some() { MEASURED } else { "Linux, kernel/Kconfig.hz" };
    let count = online(files).map_or(0, |cpus| cpus.len());
    let finding =
        Finding::fine(id, "no CPU is kept free of other work (isolcpus, nohz_full)").why(why, source);
    let finding = finding.weighs(Weight::gaps(Severity::Minor));
    if count < 2 {
        return finding.mend(Mend::advice("needs a second CPU for all other work"));
    }
    let rest = if count == 2 { "1".to_owned() } else { format!("1-{}", count - 1) };
    finding.mend(Mend::command(
        format!("add to the kernel's command line and reboot: isolcpus=managed_irq,domain,{rest} nohz_full={rest} rcu_nocbs={rest}"),
        "remove these parameters and reboot",
    ))
}

fn mitigations(subject: &Subject) -> Finding {
    let id = "cpu.mitigations";
    let folder = format!("{CPUS}/vulnerabilities");
    let names = subject.files.names(&folder);
    if names.is_empty() {
        return Finding::unknown(id, "the kernel does not report its mitigations");
    }
    let is_on = |name: &&String| {
        subject.files.line(&format!("{folder}/{name}")).is_some_and(|line| line.contains("Mitigation"))
    };
    let on: Vec<&String> = names.iter().filter(is_on).collect();
    let found = match on.len() {
        0 => "no mitigation of CPU vulnerabilities is on".to_owned(),
        n => format!("{n} mitigations of CPU vulnerabilities are on"),
    };
    let Some(ns) = subject.measured.system_call_ns else { return Finding::fine(id, found) };
    let found = format!("{found}; an empty system call takes {ns:.0} ns");
    // 60 to 100 ns without page-table isolation, 250 and more with it.
    if on.is_empty() || ns < 250.0 {
        return Finding::fine(id, found);
    }
    let why = format!(
        "{ns:.0} ns per system call, where about 80 is usual; a request over a socket needs at least four"
    );
    Finding::fine(id, found)
        .why(why, MEASURED)
        .weighs(Weight { gaps: Severity::Fine, ..Weight::all(Severity::Minor) })
        .mend(Mend::command(
            "if this machine runs only trusted code, add to the kernel's command line and reboot: \
             mitigations=off",
            "remove the parameter and reboot",
        ))
}

/// Holes in a spinning thread's time: all that takes a CPU away, whoever it was.
fn pauses(subject: &Subject) -> Option<Finding> {
    let pauses = subject.measured.pauses.as_ref()?;
    let found = format!(
        "a spinning thread was interrupted {} times in {} ms, for at most {:.0} µs ({:.2} % of the time)",
        pauses.count,
        pauses.span_ns / 1_000_000,
        pauses.longest_ns as f64 / 1e3,
        pauses.share() * 100.0
    );
    let severity = match (pauses.longest_ns, pauses.share()) {
        (5_000_001.., _) => Severity::Serious,
        (_, share) if share > 0.05 => Severity::Serious,
        (200_001.., _) => Severity::Minor,
        (_, share) if share > 0.01 => Severity::Minor,
        _ => return Some(Finding::fine("cpu.pauses", found)),
    };
    let why = format!(
        "at 100 000 per second, the longest pause alone makes {:.0} departures late",
        (pauses.longest_ns as f64 / 1e4).max(1.0)
    );
    Some(
        Finding::fine("cpu.pauses", found)
            .why(why, MEASURED)
            .weighs(Weight { gaps: severity, ..Weight::all(Severity::Minor) })
            .mend(Mend::advice(
                "free a CPU: stop other programs, isolate a CPU (cpu.isolated), or get \
                                dedicated CPUs from the host",
            )),
    )
}

/// Work of others on the same CPUs.
fn others(subject: &Subject) -> Option<Finding> {
    let shares = subject.measured.shares.as_ref()?;
    let found = format!("other programs use {:.0} % of all CPUs now", shares.others * 100.0);
    let severity = match shares.others {
        share if share > 0.25 => Severity::Serious,
        share if share > 0.05 => Severity::Minor,
        _ => return Some(Finding::fine("cpu.others", found)),
    };
    Some(
        Finding::fine("cpu.others", found)
            .why(
                format!(
                    "{:.0} % of the machine is not available to the load, which waits while they run",
                    shares.others * 100.0
                ),
                MEASURED,
            )
            .weighs(Weight::all(severity))
            .mend(Mend::advice("list them: ps -eo pcpu,pid,comm --sort=-pcpu | head")),
    )
}
