//! The XDP program that gives an interface's frames to our sockets: one for each interface, shared by the ports
//! of its queues.
//!
//! ```text
//!   frame ─► ours? ─► stamp (8 bytes before it) ─► socket of its queue ─► ring
//!               └────────────────────────────┴──► no, or no socket there: on to the kernel's stack
//! ```
//!
//! The stamp is CLOCK_TAI when the driver runs the program, in eight bytes of metadata that AF_XDP carries
//! along.

use crate::interface::Interface;
use crate::{Match, PortError};
use bpf::{
    Action, Assembler, BpfError, Condition, Helper, License, Link, Map, MapKind, MapSpec, Program,
    ProgramKind, Register::*, Size, XdpMode, context,
};
use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Bytes of the stamp before a frame.
pub const STAMP: usize = 8;

/// A program at an interface, with the sockets that it serves. Taken away when the last port is dropped.
#[derive(Debug)]
pub struct Redirect {
    sockets: Map,
    _link: Link,
    pub mode: XdpMode,
    pub stamps: bool,
    /// Frames that it takes; `None` is all.
    pub ours: Option<Match>,
    /// Why it is not native, if it is not.
    pub why: String,
}

/// By the namespace's number and the interface's index in it.
type Attached = HashMap<(u64, u32), Weak<Redirect>>;

/// What is attached now.
static ATTACHED: Mutex<Option<Attached>> = Mutex::new(None);

impl Redirect {
    /// The program of this interface; attaches it if no other port of this process has.
    ///
    /// # Errors
    /// `Unavailable` if another program is there or the interface takes none; `Privilege`.
    pub fn of(
        interface: &Interface,
        modes: &[XdpMode],
        stamps: bool,
        ours: Option<&Match>,
    ) -> Result<Arc<Self>, PortError> {
        let key = (namespace(), interface.index);
        let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
        let attached = attached.get_or_insert_with(HashMap::new);
        attached.retain(|_, redirect| redirect.strong_count() > 0);
        if let Some(redirect) = attached.get(&key).and_then(Weak::upgrade) {
            let takes_the_same = redirect.ours.as_ref() == ours;
            if modes.contains(&redirect.mode) && redirect.stamps == stamps && takes_the_same {
                return Ok(redirect);
            }
            let why = format!(
                "a port of this process has its {} program there, stamps {}{}; ports of one interface share one program",
                redirect.mode.name(),
                if redirect.stamps { "on" } else { "off" },
                if takes_the_same { "" } else { ", for other frames" }
            );
            return Err(PortError::Unavailable { what: format!("xdp at '{}'", interface.name), why });
        }
        let redirect = Arc::new(Self::attach(interface, modes, stamps, ours)?);
        attached.insert(key, Arc::downgrade(&redirect));
        Ok(redirect)
    }

    fn attach(
        interface: &Interface,
        modes: &[XdpMode],
        stamps: bool,
        ours: Option<&Match>,
    ) -> Result<Self, PortError> {
        let queues = interface.queues.receive.max(1);
        let spec = MapSpec { kind: MapKind::Sockets, ..MapSpec::array("sockets", 4, queues) };
        let sockets = Map::create(&spec).map_err(explain)?;
        let program = load(&sockets, stamps, ours).map_err(explain)?;
        let mut refused = String::new();
        for mode in modes {
            match program.attach_xdp(interface.index, *mode) {
                Ok(link) => {
                    let ours = ours.cloned();
                    return Ok(Self { sockets, _link: link, mode: *mode, stamps, ours, why: refused });
                }
                Err(error) => {
                    if let BpfError::Privilege { .. } = error {
                        return Err(explain(error));
                    }
                    if !refused.is_empty() {
                        refused.push_str("; ");
                    }
                    refused.push_str(&refusal(interface, *mode, &error));
                }
            }
        }
        Err(PortError::Unavailable { what: format!("XDP at '{}'", interface.name), why: refused })
    }

    /// Frames of this queue go to the socket from now on.
    pub fn add(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), PortError> {
        self.sockets.update(&queue.to_ne_bytes(), &socket.as_raw_fd().to_ne_bytes()).map_err(explain)
    }

    pub fn remove(&self, queue: u32) {
        // A socket that is closed is out of the map by itself.
        let _ = self.sockets.delete(&queue.to_ne_bytes());
    }
}

fn load(sockets: &Map, stamps: bool, ours: Option<&Match>) -> Result<Program, BpfError> {
    let mut a = Assembler::new();
    let pass = a.label();
    a.load(Size::Word, R7, R1, context::RX_QUEUE);
    if let Some(ours) = ours {
        a.mov(R6, R1);
        ours.assemble(&mut a, pass);
        a.mov(R1, R6);
    }
    if stamps {
        write_stamp(&mut a);
    }
    a.load_map(R1, sockets.as_fd()).mov(R2, R7).mov(R3, Action::Pass as i32).call(Helper::RedirectMap).exit();
    // The kernel refuses code that nothing leads to.
    if ours.is_some() {
        a.bind(pass);
        a.mov(R0, Action::Pass as i32).exit();
    }
    Program::load(ProgramKind::Xdp, "tare_redirect", &a.assemble()?, License::Dual)
}

/// Makes room for metadata and puts the time there; where the driver has no metadata, there is no stamp.
fn write_stamp(a: &mut Assembler) {
    let without = a.label();
    a.mov(R6, R1).mov(R2, -(STAMP as i32)).call(Helper::XdpAdjustMeta);
    a.jump_if(Condition::NotEqual, R0, 0, without).call(Helper::KtimeTaiNs);
    a.load(Size::Word, R2, R6, context::DATA_META).load(Size::Word, R3, R6, context::DATA);
    a.mov(R4, R2).add(R4, STAMP as i32).jump_if(Condition::Greater, R4, R3, without);
    a.store(Size::Double, R2, 0, R0);
    a.bind(without);
}

/// In words that say what to do about it.
fn refusal(interface: &Interface, mode: XdpMode, error: &BpfError) -> String {
    let driver = interface.driver.as_deref().unwrap_or("the driver");
    let mode = mode.name();
    match error.errno() {
        Some(libc::EBUSY | libc::EEXIST) => {
            let known = interface.xdp_occupant();
            let who = known
                .unwrap_or_else(|| format!("'{}' has another XDP program; remove it first", interface.name));
            format!("{mode}: {who}")
        }
        Some(libc::EOPNOTSUPP) => format!("{mode}: {driver} has no native XDP (EOPNOTSUPP)"),
        Some(libc::ERANGE | libc::EINVAL | libc::E2BIG) => {
            format!("{mode}: {driver} refuses an MTU of {} or the current offloads ({error})", interface.mtu)
        }
        _ => format!("{mode}: {error}"),
    }
}

/// The network namespace of this thread, by its inode.
fn namespace() -> u64 {
    rustix::fs::stat("/proc/thread-self/ns/net").map_or(0, |stat| stat.st_ino)
}

/// An error of a program as one of a port.
pub fn explain(error: BpfError) -> PortError {
    match error {
        BpfError::Privilege { what, capability } => {
            PortError::Privilege { what: what.to_owned(), capability }
        }
        BpfError::Unsupported { what, error } => {
            PortError::Unavailable { what: what.to_owned(), why: error.to_string() }
        }
        BpfError::System { what, error } => PortError::System { what: what.to_owned(), error },
        other => PortError::Unavailable { what: "a BPF program".to_owned(), why: other.to_string() },
    }
}
