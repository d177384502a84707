//! DPDK's environment: started once in a process, by the first port that needs it, so that it disturbs nothing.
//!
//! It would pin the thread that starts it, take a thread for each core, make a socket for telemetry, scan and
//! take cards, keep files in /run, handle signals in its own threads and write to our output. So a thread of
//! its own starts it (which then ends), with one "core" that is all CPUs this process may use, in memory alone,
//! with signals blocked, and with what it says kept for messages.

use super::layout::DynamicField;
use super::library::{Dpdk, unavailable};
use super::said::{Captured, Said};
use crate::{Address, PortError};
use std::ffi::{CString, c_char, c_int};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// MiB of memory without huge pages. Only what is used of it is taken.
const PLAIN_MIB: u32 = 512;
/// Huge pages are used from so many bytes of free ones on.
const HUGE_FROM: u64 = 64 << 20;
/// Memory that is not of huge pages.
const PLAIN: &str = "ordinary pages";
/// What memory is of, and why.
pub type Memory = (&'static str, &'static str);
/// Where the kernel tells of huge pages, by size.
const HUGE: &str = "/sys/kernel/mm/hugepages";

/// DPDK, started.
#[derive(Debug)]
pub struct Eal {
    pub dpdk: Dpdk,
    /// What was asked for, and by which port.
    asked: Asked,
    /// Whether it knows of PCI devices.
    has_pci: bool,
    /// What its memory is of, and why.
    pub memory: Memory,
    /// Where in a buffer's head the writer's mark is.
    pub mark: usize,
    pub said: Said,
}

/// What an address asks of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub arguments: Vec<String>,
    library: Option<String>,
    pages: Option<bool>,
    address: String,
}

impl Asked {
    pub fn read(address: &Address) -> Result<Self, PortError> {
        let pages = match address.option("pages") {
            None => None,
            Some(_) => Some(address.word("pages", &["huge", "none"])? == "huge"),
        };
        let arguments = address.option("eal").unwrap_or_default().split_whitespace().map(str::to_owned);
        Ok(Self {
            arguments: arguments.collect(),
            library: address.option("library").map(str::to_owned),
            pages,
            address: address.to_string(),
        })
    }

    /// Whether the arguments have one of these options.
    fn has(&self, names: &[&str]) -> bool {
        self.arguments.iter().any(|argument| {
            let name = argument.split('=').next().unwrap_or_default();
            names.iter().any(|known| match known.strip_prefix('-') {
                // `-m64` is `-m 64`.
                Some(letter) if letter.len() == 1 => name.starts_with(known),
                _ => name == *known,
            })
        })
    }

    /// Whether it can go on with what another has asked for.
    fn fits(&self, other: &Self) -> bool {
        (self.arguments.is_empty() || self.arguments == other.arguments)
            && (self.library.is_none() || self.library == other.library)
            && (self.pages.is_none() || self.pages == other.pages)
    }
}

/// What became of the start.
enum State {
    Not,
    Runs(&'static Eal),
    /// Nobody can start it again in this process.
    Failed(String),
}

static STATE: Mutex<State> = Mutex::new(State::Not);

/// The environment, started if it is not yet.
///
/// # Errors
/// There is no library, or it refuses its arguments, or has no memory, or another port of this process has
/// started it otherwise.
pub fn start(asked: &Asked, pci: Option<&str>) -> Result<&'static Eal, PortError> {
    let mut state = lock(&STATE);
    match &*state {
        State::Runs(eal) => return again(eal, asked, pci),
        State::Failed(why) => return Err(unavailable(why.clone())),
        State::Not => {}
    }
    let dpdk = Dpdk::load(asked.library.as_deref().map(Path::new))?;
    let (memory, arguments) = arguments(asked, pci, free_huge_bytes(Path::new(HUGE)), &dpdk)?;
    let said = Said::default();
    match initialise(&dpdk, &arguments, &said) {
        Ok(()) => {}
        Err((why, can_again)) => {
            let why = format!("its environment (EAL) did not start: {why}");
            if !can_again {
                *state = State::Failed(why.clone());
            }
            return Err(unavailable(why));
        }
    }
    dpdk.hush();
    let mark = mark(&dpdk).map_err(unavailable)?;
    let has_pci = !arguments.iter().any(|argument| argument == "--no-pci");
    let eal: &'static Eal =
        Box::leak(Box::new(Eal { dpdk, asked: asked.clone(), has_pci, memory, mark, said }));
    *state = State::Runs(eal);
    Ok(eal)
}

/// A lock that a panic elsewhere does not close: what it guards is changed in one step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn again(eal: &'static Eal, asked: &Asked, pci: Option<&str>) -> Result<&'static Eal, PortError> {
    let by = &eal.asked.address;
    if !asked.fits(&eal.asked) {
        return Err(unavailable(format!(
            "a process has one environment (EAL), and {by} started it with other options: give both ports the \
             same eal=, pages= and library="
        )));
    }
    if let Some(device) = pci.filter(|_| !eal.has_pci) {
        return Err(unavailable(format!(
            "{by} started its environment without PCI devices: add eal=-a {device} to that port"
        )));
    }
    Ok(eal)
}

/// What the environment is started with, and which memory that is.
fn arguments(
    asked: &Asked,
    pci: Option<&str>,
    free_huge: u64,
    dpdk: &Dpdk,
) -> Result<(Memory, Vec<String>), PortError> {
    let mut all: Vec<String> = ["EAL", "--no-telemetry", "--no-shconf"].map(str::to_owned).to_vec();
    let (memory, mut words) = memory(asked, free_huge).map_err(unavailable)?;
    all.append(&mut words);
    if !asked.has(&["-l", "-c", "--lcores"]) {
        let cpus: Vec<String> = os::cpus::usable().iter().map(ToString::to_string).collect();
        all.push(format!("--lcores=(0)@({})", cpus.join(",")));
    }
    match pci {
        Some(device) => all.extend(["-a".to_owned(), device.to_owned()]),
        None if asked.has(&["-a", "--allow", "-b", "--block"]) => {}
        None => all.push("--no-pci".to_owned()),
    }
    if let Some(drivers) = dpdk.drivers() {
        all.extend(["-d".to_owned(), drivers.display().to_string()]);
    }
    all.extend(asked.arguments.iter().cloned());
    Ok((memory, all))
}

/// Huge pages or not, and the words for it.
fn memory(asked: &Asked, free_huge: u64) -> Result<(Memory, Vec<String>), String> {
    let size = || match asked.has(&["-m", "--socket-mem"]) {
        true => Vec::new(),
        false => vec!["-m".to_owned(), PLAIN_MIB.to_string()],
    };
    if asked.has(&["--no-huge"]) {
        return Ok(((PLAIN, "asked for"), size()));
    }
    let wants = asked.pages == Some(true);
    if wants && free_huge == 0 {
        let advice = "reserve some with 'sysctl vm.nr_hugepages=256', or leave out pages=huge";
        return Err(format!("this machine has no free huge page; {advice}"));
    }
    if wants || (asked.pages.is_none() && free_huge >= HUGE_FROM) {
        let why = if wants { "asked for" } else { "64 MiB or more of them are free" };
        return Ok((("huge pages", why), vec!["--in-memory".to_owned()]));
    }
    let why = match asked.pages {
        Some(_) => "asked for",
        None => "fewer than 64 MiB of huge pages are free",
    };
    let mut words = vec!["--no-huge".to_owned()];
    words.append(&mut size());
    Ok(((PLAIN, why), words))
}

/// Bytes of free huge pages of all sizes.
pub fn free_huge_bytes(folder: &Path) -> u64 {
    let sizes = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = sizes.filter_map(|size| {
        let name = size.file_name();
        let kib: u64 = name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let free: u64 =
            std::fs::read_to_string(size.path().join("free_hugepages")).ok()?.trim().parse().ok()?;
        Some(free.saturating_mul(kib << 10))
    });
    bytes.fold(0, u64::saturating_add)
}

/// Starts it in a thread of its own. An error says why, and whether it may be tried again.
fn initialise(dpdk: &Dpdk, arguments: &[String], said: &Said) -> Result<(), (String, bool)> {
    let words: Result<Vec<CString>, _> = arguments.iter().map(|word| CString::new(word.as_str())).collect();
    let words = words.map_err(|_| ("an argument has a NUL byte in it".to_owned(), true))?;
    let work = || {
        block_signals();
        go_home();
        said.listen(dpdk);
        let captured = Captured::begin();
        let mut pointers: Vec<*mut c_char> = words.iter().map(|word| word.as_ptr().cast_mut()).collect();
        pointers.push(std::ptr::null_mut());
        // SAFETY: the words live until the call is over, and end with a null pointer, as argv does; EAL may
        // change the order of the pointers, and copies what it keeps.
        let status = unsafe { (dpdk.call.eal_init)(words.len() as c_int, pointers.as_mut_ptr()) };
        let errno = dpdk.errno();
        let printed = captured.end(status >= 0);
        (status, errno, printed)
    };
    let joined = std::thread::scope(|scope| scope.spawn(work).join());
    let (status, errno, printed) = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if status >= 0 {
        return Ok(());
    }
    // These leave it as it was before.
    let can_again = matches!(errno, libc::EINVAL | libc::ENODEV | libc::EACCES | libc::EAGAIN);
    let heard = format!("{}\n{}", said.all(), printed);
    Err((reason(&heard, errno), can_again))
}

/// The line that says most of what went wrong.
fn reason(heard: &str, errno: i32) -> String {
    let lines = heard.lines().map(|line| line.trim().trim_start_matches("EAL: ").trim());
    let telling = |line: &&str| {
        let words =
            ["unrecognized", "invalid", "Invalid", "requires", "Cannot", "cannot", "failed", "not ", "No "];
        words.iter().any(|word| line.contains(word)) && !line.contains("'command line' arguments")
    };
    let mut found = lines.clone().filter(|line| !line.starts_with("FATAL")).filter(telling);
    let fatal = || lines.clone().find_map(|line| line.strip_prefix("FATAL: ").map(str::to_owned));
    let said = found.next().map(str::to_owned).or_else(fatal);
    let said = said.unwrap_or_else(|| std::io::Error::from_raw_os_error(errno).to_string());
    let said = said.trim_end_matches('.').to_owned();
    match errno {
        libc::EINVAL => format!("{said}; correct eal=, which takes the arguments of DPDK's EAL"),
        libc::ENOMEM | libc::EACCES => {
            format!("{said}; reserve more with 'sysctl vm.nr_hugepages=256', or give pages=none")
        }
        _ => said,
    }
}

/// Threads that are made from here on get no signals: they are for the program's own.
fn block_signals() {
    // SAFETY: a set of signals is plain integers, filled by the next call.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: fills the set.
    unsafe { libc::sigfillset(&mut set) };
    // SAFETY: changes the mask of this thread, which ends soon.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
}

/// This thread goes to the network namespace of the process: EAL's threads, which stay, would keep another one
/// alive.
fn go_home() {
    let Ok(home) = std::fs::File::open("/proc/self/ns/net") else { return };
    let here = std::fs::metadata("/proc/thread-self/ns/net");
    let same = match (home.metadata(), here) {
        (Ok(home), Ok(here)) => home.ino() == here.ino(),
        _ => true,
    };
    if !same {
        use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
        // A thread that came here may go back; if not, the namespace lives as long as the process.
        let _ = move_into_link_name_space(std::os::fd::AsFd::as_fd(&home), Some(LinkNameSpaceType::Network));
    }
}

/// Room for the writer's mark in each buffer's head.
fn mark(dpdk: &Dpdk) -> Result<usize, String> {
    let mut field = DynamicField { name: [0; 64], bytes: 8, align: 8, flags: 0 };
    field.name[..9].copy_from_slice(b"tare_mark");
    // SAFETY: a description that DPDK copies.
    let offset = unsafe { (dpdk.call.mbuf_dynfield_register)(&field) };
    usize::try_from(offset).map_err(|_| "its buffers have no room for a mark of eight bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Asked {
        Asked::read(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn huge_pages_are_used_where_they_are_free() {
        let words = |text: &str, free| memory(&asked(text), free).map(|(_, words)| words.join(" "));
        assert_eq!(words("dpdk:net_null0", 0).unwrap(), "--no-huge -m 512");
        assert_eq!(words("dpdk:net_null0", 63 << 20).unwrap(), "--no-huge -m 512");
        assert_eq!(words("dpdk:net_null0", 64 << 20).unwrap(), "--in-memory");
        assert_eq!(words("dpdk,pages=none:net_null0", 64 << 20).unwrap(), "--no-huge -m 512");
        assert_eq!(words("dpdk,pages=huge:net_null0", 2 << 20).unwrap(), "--in-memory");
        assert_eq!(words("dpdk,eal=-m64:net_null0", 0).unwrap(), "--no-huge");
        assert_eq!(words("dpdk,eal=--no-huge -m 64:net_null0", 1 << 30).unwrap(), "");
        let said = words("dpdk,pages=huge:net_null0", 0).unwrap_err();
        assert!(said.contains("no free huge page") && said.contains("sysctl vm.nr_hugepages"), "{said}");
    }

    #[test]
    fn free_huge_pages_of_all_sizes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        for (size, free) in [("hugepages-2048kB", "3\n"), ("hugepages-1048576kB", "1\n"), ("other", "9\n")] {
            std::fs::create_dir(folder.path().join(size)).unwrap();
            std::fs::write(folder.path().join(size).join("free_hugepages"), free).unwrap();
        }
        assert_eq!(free_huge_bytes(folder.path()), 3 * (2 << 20) + (1 << 30));
        assert_eq!(free_huge_bytes(Path::new("/nowhere/at/all")), 0);
    }

    #[test]
    fn the_line_that_tells_most_is_the_reason() {
        let heard = "EAL: Detected CPU lcores: 2\nEAL: FATAL: Invalid 'command line' arguments.\n\
                     EAL: unrecognized option '--foo'\nUsage: EAL [options]\n";
        let said = reason(heard, libc::EINVAL);
        assert!(said.starts_with("unrecognized option '--foo'; correct eal="), "{said}");
        let said = reason("EAL: FATAL: Cannot init memory\n", libc::ENOMEM);
        assert!(said.starts_with("Cannot init memory; reserve more"), "{said}");
        assert_eq!(reason("", libc::EPERM), "Operation not permitted (os error 1)");
    }

    #[test]
    fn a_second_port_fits_if_it_asks_for_nothing_else() {
        let first = asked("dpdk,eal=-m 64:net_null0");
        assert!(asked("dpdk:net_null1").fits(&first));
        assert!(asked("dpdk,eal=-m  64:net_null1").fits(&first));
        assert!(!asked("dpdk,eal=-m 65:net_null1").fits(&first));
        assert!(!asked("dpdk,pages=none:net_null1").fits(&first));
    }
}
