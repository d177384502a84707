//! The system's libdpdk, loaded at run time: no build needs it.

use super::layout::{
    ABI, DynamicField, FastOps, LinkWords, Mbuf, Mempool, PoolOpsTable, RELEASE, Record, Statistics,
};
use crate::PortError;
use libc::RTLD_NOLOAD;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// What has to be loaded, each after what it needs.
const PARTS: [&str; 9] = ["kvargs", "telemetry", "eal", "ring", "mempool", "mbuf", "meter", "net", "ethdev"];
/// Other versions that are looked for, so that a message can name them.
const OTHERS: std::ops::Range<u32> = 20..40;

macro_rules! functions {
    ($($name:ident: fn($($kind:ty),*) $(-> $result:ty)?;)+) => {
        /// The functions and tables that are used, by their names in C.
        #[derive(Debug)]
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($kind),*) $(-> $result)?,)+
            /// `rte_eth_fp_ops`, one for each port.
            pub fast: NonNull<FastOps>,
            pub pool_ops: NonNull<PoolOpsTable>,
        }

        impl Functions {
            fn find(parts: &[Library]) -> Result<Self, String> {
                Ok(Self {
                    $($name: {
                        let found = symbol(parts, concat!("rte_", stringify!($name), "\0"))?;
                        // SAFETY: the function has this signature in DPDK's header of this version, and the
                        // libraries stay loaded until the process ends.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) $(-> $result)?>(
                                found.as_ptr(),
                            )
                        }
                    },)+
                    fast: symbol(parts, "rte_eth_fp_ops\0")?.cast(),
                    pool_ops: symbol(parts, "rte_mempool_ops_table\0")?.cast(),
                })
            }
        }
    };
}

functions! {
    version: fn() -> *const c_char;
    openlog_stream: fn(*mut libc::FILE) -> c_int;
    eal_init: fn(c_int, *mut *mut c_char) -> c_int;
    thread_register: fn() -> c_int;
    thread_unregister: fn();
    dev_probe: fn(*const c_char) -> c_int;
    dev_remove: fn(*mut c_void) -> c_int;
    pktmbuf_pool_create: fn(*const c_char, c_uint, c_uint, u16, u16, c_int) -> *mut Mempool;
    pktmbuf_free_bulk: fn(*mut *mut Mbuf, c_uint);
    mempool_free: fn(*mut Mempool);
    mbuf_dynfield_register: fn(*const DynamicField) -> c_int;
    mbuf_dyn_rx_timestamp_register: fn(*mut c_int, *mut u64) -> c_int;
    mbuf_dyn_tx_timestamp_register: fn(*mut c_int, *mut u64) -> c_int;
    eth_dev_get_port_by_name: fn(*const c_char, *mut u16) -> c_int;
    eth_dev_info_get: fn(u16, *mut Record) -> c_int;
    eth_dev_configure: fn(u16, u16, u16, *const Record) -> c_int;
    eth_dev_adjust_nb_rx_tx_desc: fn(u16, *mut u16, *mut u16) -> c_int;
    eth_dev_get_mtu: fn(u16, *mut u16) -> c_int;
    eth_dev_socket_id: fn(u16) -> c_int;
    eth_rx_queue_setup: fn(u16, u16, u16, c_uint, *const c_void, *mut Mempool) -> c_int;
    eth_tx_queue_setup: fn(u16, u16, u16, c_uint, *const c_void) -> c_int;
    eth_dev_start: fn(u16) -> c_int;
    eth_dev_stop: fn(u16) -> c_int;
    eth_dev_close: fn(u16) -> c_int;
    eth_promiscuous_enable: fn(u16) -> c_int;
    eth_promiscuous_disable: fn(u16) -> c_int;
    eth_promiscuous_get: fn(u16) -> c_int;
    eth_macaddr_get: fn(u16, *mut [u8; 6]) -> c_int;
    eth_link_get_nowait: fn(u16, *mut LinkWords) -> c_int;
    eth_stats_get: fn(u16, *mut Statistics) -> c_int;
    eth_timesync_read_time: fn(u16, *mut libc::timespec) -> c_int;
}

/// A loaded libdpdk. It stays until the process ends: threads of its own may be in it.
#[derive(Debug)]
pub struct Dpdk {
    pub call: Functions,
    parts: Vec<Library>,
    /// Where the libraries are, if not where the system has them.
    pub folder: Option<PathBuf>,
    /// What it says of itself: `DPDK 22.11.11`.
    pub version: String,
}

// SAFETY: functions and tables of libraries that stay loaded; what must not be called by two threads at a time
// is called under one lock.
unsafe impl Send for Dpdk {}
// SAFETY: as above.
unsafe impl Sync for Dpdk {}

impl Dpdk {
    /// Loads it from this folder, or from where the system keeps libraries.
    ///
    /// # Errors
    /// It is not there, or of a version whose layouts are not known here.
    pub fn load(folder: Option<&Path>) -> Result<Self, PortError> {
        let mut parts = Vec::with_capacity(PARTS.len());
        for part in PARTS {
            let opened = open(folder, part, ABI);
            parts.push(opened.map_err(|error| missing(folder, part, &error))?);
        }
        let call =
            Functions::find(&parts).map_err(|problem| unavailable(format!("{problem}; {}", INSTALL)))?;
        // SAFETY: takes nothing, and returns a string that ends with a NUL and stays.
        let version = unsafe { CStr::from_ptr((call.version)()) }.to_string_lossy().into_owned();
        check_release(&version)?;
        Ok(Self { call, parts, folder: folder.map(Path::to_owned), version })
    }

    /// This thread's own instance of a variable that each thread has (`per_lcore__NAME`).
    fn of_thread(&self, name: &str) -> Option<NonNull<c_void>> {
        symbol(&self.parts, name).ok()
    }

    /// The number under which this thread is known, or `u32::MAX`.
    pub fn thread_number(&self) -> u32 {
        self.of_thread("per_lcore__lcore_id\0").map_or(u32::MAX, |at| {
            // SAFETY: an unsigned integer of this thread.
            unsafe { at.cast::<u32>().read() }
        })
    }

    /// What the last call of this thread that failed left as the reason.
    pub fn errno(&self) -> i32 {
        self.of_thread("per_lcore__rte_errno\0").map_or(0, |at| {
            // SAFETY: an integer of this thread.
            unsafe { at.cast::<i32>().read() }
        })
    }

    /// Libraries of net_af_xdp speak to standard error of things that are no errors: not from now on.
    pub fn hush(&self) {
        type SetPrint = unsafe extern "C" fn(*const c_void) -> *const c_void;
        for (name, set_print) in
            [("libbpf.so.1", "libbpf_set_print\0"), ("libxdp.so.1", "libxdp_set_print\0")]
        {
            // SAFETY: only a library that is loaded already is found.
            let Ok(library) = (unsafe { Library::open(Some(name), RTLD_NOW | RTLD_NOLOAD) }) else {
                continue;
            };
            // SAFETY: both functions have this signature.
            let Ok(set_print) = (unsafe { library.get::<SetPrint>(set_print.as_bytes()) }) else { continue };
            // SAFETY: null is for silence.
            unsafe { set_print(std::ptr::null()) };
        }
    }

    /// Where the drivers lie, for a library that is not the system's.
    pub fn drivers(&self) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?.join("dpdk").join(format!("pmds-{ABI}.0"));
        folder.is_dir().then_some(folder)
    }
}

const INSTALL: &str = "on Debian 12: apt-get install librte-ethdev23 librte-mempool-ring23 librte-net-null23 \
                       (and librte-net-af-packet23, or the driver that you need)";

fn open(folder: Option<&Path>, part: &str, abi: u32) -> Result<Library, libloading::Error> {
    let name = format!("librte_{part}.so.{abi}");
    let path = folder.map_or_else(|| PathBuf::from(&name), |folder| folder.join(&name));
    // SAFETY: DPDK's initialisers register what a library has, in its own lists.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }
}

fn symbol(parts: &[Library], name: &str) -> Result<NonNull<c_void>, String> {
    let found = parts.iter().rev().find_map(|part| {
        // SAFETY: only the address is taken; whoever uses it knows what is there.
        let symbol = unsafe { part.get::<*mut c_void>(name.as_bytes()) }.ok()?;
        NonNull::new(symbol.into_raw())
    });
    found.ok_or_else(|| format!("this libdpdk has no '{}'", name.trim_end_matches('\0')))
}

/// Why a part could not be loaded; another version that is there is named.
fn missing(folder: Option<&Path>, part: &str, error: &libloading::Error) -> PortError {
    let mut others = OTHERS.filter(|abi| *abi != ABI);
    if part == PARTS[0]
        && let Some(other) = others.find(|abi| open(folder, "kvargs", *abi).is_ok())
    {
        return unavailable(format!(
            "found librte_eal.so.{other}, but this program supports only {RELEASE} (librte_eal.so.{ABI}); install \
             that as well, and name its folder: dpdk,library=FOLDER:DEVICE"
        ));
    }
    let at = folder.map_or_else(String::new, |folder| format!(" in {}", folder.display()));
    let error = error.to_string();
    // The loader says which file it lacks, and that is not always the one that was asked for.
    let lacks = error.split(':').next().unwrap_or_default().trim();
    let lacks = lacks.rsplit('/').next().unwrap_or_default().to_owned();
    let what = if lacks.contains(".so") { lacks } else { format!("librte_{part}.so.{ABI}") };
    unavailable(format!("there is no {what}{at}; {INSTALL}"))
}

pub fn unavailable(why: String) -> PortError {
    PortError::Unavailable { what: "DPDK".to_owned(), why }
}

/// Only a release whose layouts are known.
fn check_release(version: &str) -> Result<(), PortError> {
    if version.starts_with(RELEASE) {
        return Ok(());
    }
    Err(unavailable(format!(
        "the library reports {version}, but this program supports only {RELEASE}; \
         name the folder of that release: dpdk,library=FOLDER:DEVICE"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_release_is_used() {
        assert!(check_release("DPDK 22.11.11").is_ok());
        for other in ["DPDK 23.11.1", "DPDK 22.07.0", "DPDK 2.2.11"] {
            let said = check_release(other).unwrap_err().to_string();
            assert!(said.contains(other) && said.contains("supports only DPDK 22.11"), "{said}");
        }
    }

    #[test]
    fn a_folder_without_libraries_says_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let error = Dpdk::load(Some(folder.path())).unwrap_err();
        assert!(error.is_users());
        let said = error.to_string();
        assert!(said.contains("there is no librte_kvargs.so.23 in /"), "{said}");
        assert!(said.contains("apt-get install librte-ethdev23"), "{said}");
        assert!(!said.contains('\n'), "{said}");
    }

    #[test]
    fn a_version_that_is_not_known_is_named() {
        let Some(library) = [
            "/usr/lib/x86_64-linux-gnu/librte_kvargs.so.23",
            "/usr/lib/aarch64-linux-gnu/librte_kvargs.so.23",
        ]
        .into_iter()
        .find(|path| Path::new(path).exists()) else {
            println!("SKIPPED: no libdpdk here; {INSTALL}");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(library, folder.path().join("librte_kvargs.so.25")).unwrap();
        let said = Dpdk::load(Some(folder.path())).unwrap_err().to_string();
        assert!(said.contains("found librte_eal.so.25") && said.contains("DPDK 22.11"), "{said}");
    }
}
