//! Programs: loaded, run by hand, attached.

use crate::error::BpfError;
use crate::instruction::Instruction;
use crate::sys;
use crate::xdp::XdpMode;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Where a program may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramKind {
    SocketFilter = 1,
    Xdp = 6,
    RawTracepoint = 17,
}

/// The licence that the kernel is told; some helpers are for GPL-compatible programs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum License {
    Apache,
    Dual,
}

impl License {
    const fn text(self) -> &'static CStr {
        match self {
            Self::Apache => c"Apache-2.0",
            Self::Dual => c"Dual MIT/GPL",
        }
    }
}

/// A verified and compiled program; unloaded when dropped and attached nowhere.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
}

/// What came of running a program by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What the program returned the last time.
    pub returned: u32,
    /// The frame as the program left it.
    pub frame: Vec<u8>,
    /// Mean nanoseconds of one run.
    pub each_ns: u32,
}

/// A run on live frames: each run's frame goes where the program says.
#[derive(Clone, Copy, Debug)]
pub struct LiveRun<'a> {
    /// What a frame looks like before the program sees it for the first time. Pages are used again as the last
    /// run (and whoever got the frame) left them.
    pub frame: &'a [u8],
    pub repeat: u32,
    /// Frames between two flushes, 1 to 256; 0 is the kernel's 64.
    pub batch: u32,
}

const LIVE_FRAMES: u32 = 1 << 1;
/// Calls to load one program, at most.
const LOAD_TRIES: usize = 10;
const XDP_FRAGS: u32 = 1 << 5;
const ATTACH_XDP: u32 = 37;
const LOG_BYTES: usize = 1 << 20;
/// Lines of the verifier's log that are shown: the last ones say what it did not like.
const LOG_LINES: usize = 8;

impl Program {
    /// # Errors
    /// `Verifier` with the end of its log, `Privilege`.
    pub fn load(
        kind: ProgramKind,
        name: &str,
        code: &[Instruction],
        license: License,
    ) -> Result<Self, BpfError> {
        Self::load_with(kind, name, code, license, 0)
    }

    /// An XDP program that also takes frames of several buffers (jumbo frames on drivers that have them).
    pub fn load_xdp_frags(name: &str, code: &[Instruction], license: License) -> Result<Self, BpfError> {
        Self::load_with(ProgramKind::Xdp, name, code, license, XDP_FRAGS)
    }

    fn load_with(
        kind: ProgramKind,
        name: &str,
        code: &[Instruction],
        license: License,
        prog_flags: u32,
    ) -> Result<Self, BpfError> {
        let mut attribute = sys::LoadProgram {
            prog_type: kind as u32,
            insn_cnt: code.len() as u32,
            insns: sys::address(code),
            license: sys::address(license.text().to_bytes_with_nul()),
            prog_flags,
            name: sys::name(name),
            expected_attach_type: if kind == ProgramKind::Xdp { ATTACH_XDP } else { 0 },
            ..Default::default()
        };
        // The verifier gives up as soon as its thread has anything to hear of (a signal, work for it in the
        // kernel), and asks to be called again.
        let mut loaded = sys::bpf_fd(sys::PROG_LOAD, &mut attribute);
        for _ in 1..LOAD_TRIES {
            match &loaded {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
                    loaded = sys::bpf_fd(sys::PROG_LOAD, &mut attribute);
                }
                _ => break,
            }
        }
        match loaded {
            Ok(fd) => Ok(Self { fd }),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(refused(kind, error)),
            Err(error) => Err(explained(name, &mut attribute, error)),
        }
    }

    /// Runs the program `repeat` times on a copy of `frame` that goes nowhere.
    pub fn run(&self, frame: &[u8], repeat: u32) -> Result<Outcome, BpfError> {
        // Programs may make a frame longer: room for what an XDP frame can be.
        let mut out = vec![0; frame.len() + 4096];
        let mut attribute = sys::RunProgram {
            prog_fd: self.fd.as_raw_fd() as u32,
            data_size_in: frame.len() as u32,
            data_size_out: out.len() as u32,
            data_in: sys::address(frame),
            data_out: sys::address_mut(out.as_mut_slice()),
            repeat,
            ..Default::default()
        };
        sys::bpf(sys::PROG_RUN, &mut attribute)
            .map_err(|error| BpfError::of("running a BPF program", "cap_bpf", error))?;
        out.truncate(attribute.data_size_out as usize);
        Ok(Outcome { returned: attribute.retval, frame: out, each_ns: attribute.duration })
    }

    /// Runs the program on live frames. A signal to this thread ends it early with EINTR, after which the
    /// program has run fewer times than asked for: only the program itself knows how many.
    pub fn run_live(&self, run: &LiveRun<'_>) -> io::Result<()> {
        let mut attribute = sys::RunProgram {
            prog_fd: self.fd.as_raw_fd() as u32,
            data_size_in: run.frame.len() as u32,
            data_in: sys::address(run.frame),
            repeat: run.repeat,
            flags: LIVE_FRAMES,
            batch_size: run.batch,
            ..Default::default()
        };
        sys::bpf(sys::PROG_RUN, &mut attribute).map(drop)
    }

    /// Attaches an XDP program to the interface with this index, until the link is dropped.
    ///
    /// # Errors
    /// `Unsupported` if the driver has no XDP of this kind; EBUSY (in `System`) if another program is there.
    pub fn attach_xdp(&self, interface: u32, mode: XdpMode) -> Result<Link, BpfError> {
        let mut attribute = sys::CreateLink {
            prog_fd: self.fd.as_raw_fd() as u32,
            target: interface,
            attach_type: ATTACH_XDP,
            flags: mode.flags(),
            ..Default::default()
        };
        let fd = sys::bpf_fd(sys::LINK_CREATE, &mut attribute)
            .map_err(|error| BpfError::of("attaching an XDP program", "cap_net_admin", error))?;
        Ok(Link { fd })
    }

    /// Runs the program whenever the kernel passes a tracepoint (`xdp_devmap_xmit`), until the link is dropped.
    pub fn attach_tracepoint(&self, name: &CStr) -> Result<Link, BpfError> {
        let mut attribute = sys::OpenTracepoint {
            name: sys::address(name.to_bytes_with_nul()),
            prog_fd: self.fd.as_raw_fd() as u32,
            pad: 0,
        };
        let fd = sys::bpf_fd(sys::RAW_TRACEPOINT_OPEN, &mut attribute)
            .map_err(|error| BpfError::of("attaching to a tracepoint", "cap_perfmon", error))?;
        Ok(Link { fd })
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A program at its place; taken away when dropped.
#[derive(Debug)]
pub struct Link {
    fd: OwnedFd,
}

impl Link {
    /// Puts another program in the place of this one: no frame passes without one of the two.
    pub fn replace(&self, program: &Program) -> Result<(), BpfError> {
        let mut attribute = sys::UpdateLink {
            link_fd: self.fd.as_raw_fd() as u32,
            new_prog_fd: program.fd.as_raw_fd() as u32,
            ..Default::default()
        };
        sys::bpf(sys::LINK_UPDATE, &mut attribute)
            .map(drop)
            .map_err(|error| BpfError::of("replacing a BPF program", "cap_net_admin", error))
    }
}

impl Drop for Link {
    /// To close it is not enough: a child between fork and exec has the descriptor as well, and the place would
    /// stay taken until then. Links of other kinds than XDP know no detaching, and end when they are closed.
    fn drop(&mut self) {
        let mut attribute = sys::DetachLink { link_fd: self.fd.as_raw_fd() as u32 };
        let _ = sys::bpf(sys::LINK_DETACH, &mut attribute);
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn refused(kind: ProgramKind, error: io::Error) -> BpfError {
    match kind {
        ProgramKind::Xdp => BpfError::of("loading an XDP program", "cap_bpf,cap_net_admin", error),
        ProgramKind::RawTracepoint => {
            BpfError::of("loading a tracepoint program", "cap_bpf,cap_perfmon", error)
        }
        ProgramKind::SocketFilter => BpfError::of("loading a BPF program", "cap_bpf", error),
    }
}

/// Loads it again, to hear why it was refused.
fn explained(name: &str, attribute: &mut sys::LoadProgram, error: io::Error) -> BpfError {
    let mut log = vec![0u8; LOG_BYTES];
    attribute.log_level = 1;
    attribute.log_size = LOG_BYTES as u32;
    attribute.log_buf = sys::address_mut(log.as_mut_slice());
    // Refused again, of course; a descriptor, if there is one after all, is closed here.
    drop(sys::bpf_fd(sys::PROG_LOAD, attribute));
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("; ");
    BpfError::Verifier { name: name.to_owned(), error, log: last }
}
