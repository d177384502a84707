//! A file mapped for reading, and what happens when the file gets shorter under it.
//!
//! An access past the new end raises SIGBUS. Its handler puts zero pages over what is gone, marks the mapping
//! as lost and returns, so the access reads zeros and the reader sees the mark. Everything that the handler
//! needs is in a fixed table of atomics: it takes no lock and allocates nothing.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A read-only mapping of a whole file, as long as the file was when it was mapped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: *mut c_void,
    length: usize,
    slot: &'static Slot,
}

#[derive(Debug)]
pub(super) enum MapError {
    Io(io::Error),
    /// The table of mappings is full.
    TooMany,
}

// SAFETY: the memory is only read, and stays mapped until the only owner is dropped.
unsafe impl Send for Mapping {}
// SAFETY: as above; `slot` is made of atomics.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `length > 0` bytes.
    pub fn new(file: &File, length: u64) -> Result<Self, MapError> {
        install_handler().map_err(MapError::Io)?;
        let length = usize::try_from(length).map_err(|_| MapError::Io(io::ErrorKind::FileTooLarge.into()))?;
        let slot = Slot::reserve().ok_or(MapError::TooMany)?;
        // SAFETY: a new mapping at an address of the kernel's choice; it touches no memory in use.
        let mapped = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, file, 0) };
        match mapped {
            Ok(start) => {
                slot.publish(start as usize, length);
                Ok(Self { start, length, slot })
            }
            Err(error) => {
                slot.release();
                Err(MapError::Io(error.into()))
            }
        }
    }

    pub fn len(&self) -> u64 {
        self.length as u64
    }

    /// The file's bytes. Another process may change them at any time: whoever relies on what they are must copy
    /// them first.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is mapped readable for `length` bytes until `self` is dropped; pages that the file
        // loses are replaced by zero pages, never by nothing. Bytes are only ever compared or copied.
        unsafe { std::slice::from_raw_parts(self.start.cast::<u8>().cast_const(), self.length) }
    }

    /// Whether an access met a page that the file has lost.
    pub fn is_lost(&self) -> bool {
        self.slot.lost.load(Ordering::Relaxed)
    }

    /// Pages will be read front to back. A hint: what the kernel makes of it does not matter.
    pub fn expect_sequential(&self) {
        self.advise(Advice::Sequential);
    }
    /// Pages will be read here and there: no read-ahead.
    pub fn expect_random(&self) {
        self.advise(Advice::Random);
    }

    fn advise(&self, advice: Advice) {
        // SAFETY: the range is this mapping, and these two pieces of advice change no contents.
        let _hint = unsafe { madvise(self.start, self.length, advice) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.slot.release();
        // SAFETY: the range is this mapping; nobody borrows from it any more.
        let _always_mapped = unsafe { munmap(self.start, self.length) };
    }
}

/// One mapping as the signal handler sees it. `start` is 0 when free and 1 when being filled in.
#[derive(Debug)]
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    lost: AtomicBool,
}

const FREE: usize = 0;
const RESERVED: usize = 1;
static SLOTS: [Slot; 64] = [const { Slot::new() }; 64];

impl Slot {
    const fn new() -> Self {
        Self { start: AtomicUsize::new(FREE), end: AtomicUsize::new(0), lost: AtomicBool::new(false) }
    }

    fn reserve() -> Option<&'static Self> {
        let reserved = |slot: &&Slot| {
            slot.start.compare_exchange(FREE, RESERVED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        SLOTS.iter().find(reserved)
    }

    fn publish(&self, start: usize, length: usize) {
        self.lost.store(false, Ordering::Relaxed);
        self.end.store(start + length, Ordering::Relaxed);
        self.start.store(start, Ordering::Release);
    }

    fn release(&self) {
        self.start.store(FREE, Ordering::Release);
    }

    /// The end of this mapping, if `address` is inside it. `start` is read twice, as another thread may be
    /// giving the slot to another mapping meanwhile.
    fn end_if_holds(&self, address: usize) -> Option<usize> {
        let start = self.start.load(Ordering::Acquire);
        let end = self.end.load(Ordering::Acquire);
        let is_stable = self.start.load(Ordering::Acquire) == start;
        // The last page is mapped whole.
        let end = end.next_multiple_of(page_size());
        (start > RESERVED && is_stable && (start..end).contains(&address)).then_some(end)
    }
}

/// What SIGBUS did before; std's own handler reports stack overflows with it.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(4096);

fn page_size() -> usize {
    PAGE_SIZE.load(Ordering::Relaxed)
}

fn install_handler() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        PAGE_SIZE.store(rustix::param::page_size(), Ordering::Relaxed);
        // The old action is kept before the new one can run.
        let previous = sigaction(None)?;
        PREVIOUS.get_or_init(|| previous);
        // SAFETY: all-zero is a valid sigaction: default action, empty mask, no flags.
        let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
        ours.sa_sigaction = on_sigbus as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        sigaction(Some(&ours)).map(drop)
    });
    installed.map_err(io::Error::from_raw_os_error)
}

/// Sets the action of SIGBUS, if one is given, and returns the one before it.
fn sigaction(new: Option<&libc::sigaction>) -> Result<libc::sigaction, i32> {
    // SAFETY: all-zero is a valid sigaction.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both pointers are null or point to a sigaction that lives through the call.
    let status = unsafe { libc::sigaction(libc::SIGBUS, new, &mut old) };
    if status == 0 { Ok(old) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)) }
}

/// Async-signal-safe: reads and writes atomics and makes system calls; no lock, no allocation.
extern "C" fn on_sigbus(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo_t to a handler installed with SA_SIGINFO.
    let info = unsafe { &*info };
    let is_fault = info.si_code > 0;
    // SAFETY: si_addr is meaningful for a SIGBUS that the kernel raised; otherwise it is a number not used.
    let address = unsafe { info.si_addr() } as usize;
    if is_fault && replace_lost_pages(address) {
        return;
    }
    give_back(is_fault);
}

/// Puts zero pages over a mapping of ours from `address` to its end.
fn replace_lost_pages(address: usize) -> bool {
    let Some((slot, end)) = SLOTS.iter().find_map(|slot| Some((slot, slot.end_if_holds(address)?))) else {
        return false;
    };
    slot.lost.store(true, Ordering::Relaxed);
    let page = address & !(page_size() - 1);
    let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
    // SAFETY: the range lies inside a mapping that `Mapping` owns and that the faulting thread borrows, so it
    // stays reserved; readers see zeros where the file had bytes. rustix makes the system call directly.
    unsafe { mmap_anonymous(page as *mut c_void, end - page, ProtFlags::READ, flags) }.is_ok()
}

/// Not ours: the action before ours gets it. A fault comes again by itself; a signal that was sent must be
/// raised.
fn give_back(is_fault: bool) {
    if let Some(previous) = PREVIOUS.get() {
        let _nothing_to_do_about_it = sigaction(Some(previous));
    }
    if !is_fault {
        // SAFETY: raise is async-signal-safe and has no memory to get wrong.
        unsafe { libc::raise(libc::SIGBUS) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{child, is_child};
    use super::*;
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;

    fn mapped(bytes: usize) -> (File, Mapping) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![b'x'; bytes]).unwrap();
        let map = Mapping::new(&file, bytes as u64).unwrap();
        (file, map)
    }

    #[test]
    fn what_is_lost_reads_as_zeros_and_what_is_left_stays() {
        let (file, map) = mapped(100_000);
        let (_other_file, other) = mapped(100_000);
        assert_eq!(map.bytes()[99_999], b'x');
        file.set_len(2 * page_size() as u64).unwrap();
        assert!(!map.is_lost());
        assert_eq!(map.bytes()[50_000], 0);
        assert!(map.is_lost());
        assert_eq!((map.bytes()[2 * page_size() - 1], map.bytes()[99_999]), (b'x', 0));
        assert!(!other.is_lost());
    }

    #[test]
    fn the_table_of_mappings_is_bounded_and_used_again() {
        let (file, first) = mapped(10);
        drop(first);
        for _ in 0..10 * SLOTS.len() {
            Mapping::new(&file, 10).unwrap();
        }
    }

    /// A fault outside our mappings, made by taking a mapping out of the table.
    #[test]
    fn a_fault_of_someone_else_still_kills() {
        if is_child() {
            let (file, map) = mapped(100_000);
            map.slot.release();
            file.set_len(0).unwrap();
            println!("read {}", map.bytes()[50_000]);
            return;
        }
        let output = child(module_path!(), "a_fault_of_someone_else_still_kills");
        assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
    }
}
