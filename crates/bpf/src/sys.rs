//! The system call bpf(2), and nothing else: every command has its argument as a structure laid out as in
//! linux/bpf.h.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

pub const MAP_CREATE: libc::c_int = 0;
pub const MAP_LOOKUP: libc::c_int = 1;
pub const MAP_UPDATE: libc::c_int = 2;
pub const MAP_DELETE: libc::c_int = 3;
pub const MAP_NEXT_KEY: libc::c_int = 4;
pub const PROG_LOAD: libc::c_int = 5;
pub const PROG_RUN: libc::c_int = 10;
pub const PROG_BY_ID: libc::c_int = 13;
pub const INFO_BY_FD: libc::c_int = 15;
pub const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
pub const MAP_LOOKUP_BATCH: libc::c_int = 24;
pub const MAP_UPDATE_BATCH: libc::c_int = 26;
pub const MAP_DELETE_BATCH: libc::c_int = 27;
pub const LINK_CREATE: libc::c_int = 28;
pub const LINK_UPDATE: libc::c_int = 29;
pub const LINK_DETACH: libc::c_int = 34;

/// An argument of bpf(2): plain old data, whose addresses (if any) are valid as long as it is in use.
///
/// # Safety
/// The type is `repr(C)`, has no padding that the kernel would read, and is laid out as the command it is used
/// with.
pub unsafe trait Attribute: Default {}

macro_rules! attributes {
    ($($name:ident { $($field:ident: $kind:ty,)+ })+) => {
        $(
            #[derive(Clone, Copy, Debug, Default)]
            #[repr(C)]
            pub struct $name { $(pub $field: $kind,)+ }
            // SAFETY: `repr(C)` with explicit padding, field by field as in union bpf_attr.
            unsafe impl Attribute for $name {}
        )+
    };
}

attributes! {
    CreateMap {
        map_type: u32,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
        map_flags: u32,
        inner_map_fd: u32,
        numa_node: u32,
        name: [u8; 16],
    }
    Element {
        map_fd: u32,
        pad: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    Batch {
        in_batch: u64,
        out_batch: u64,
        keys: u64,
        values: u64,
        count: u32,
        map_fd: u32,
        elem_flags: u64,
        flags: u64,
    }
    LoadProgram {
        prog_type: u32,
        insn_cnt: u32,
        insns: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log_buf: u64,
        kern_version: u32,
        prog_flags: u32,
        name: [u8; 16],
        prog_ifindex: u32,
        expected_attach_type: u32,
    }
    RunProgram {
        prog_fd: u32,
        retval: u32,
        data_size_in: u32,
        data_size_out: u32,
        data_in: u64,
        data_out: u64,
        repeat: u32,
        duration: u32,
        ctx_size_in: u32,
        ctx_size_out: u32,
        ctx_in: u64,
        ctx_out: u64,
        flags: u32,
        cpu: u32,
        batch_size: u32,
        pad: u32,
    }
    OpenTracepoint {
        name: u64,
        prog_fd: u32,
        pad: u32,
    }
    CreateLink {
        prog_fd: u32,
        target: u32,
        attach_type: u32,
        flags: u32,
        reserved: [u64; 2],
    }
    ById {
        number: u32,
        next: u32,
        flags: u32,
    }
    InfoByFd {
        fd: u32,
        length: u32,
        info: u64,
    }
    ProgramInfo {
        kind: u32,
        number: u32,
        tag: u64,
        lengths: [u32; 2],
        code: [u64; 2],
        loaded: u64,
        user: u32,
        map_count: u32,
        maps: u64,
        name: [u8; 16],
    }
    DetachLink {
        link_fd: u32,
    }
    UpdateLink {
        link_fd: u32,
        new_prog_fd: u32,
        flags: u32,
        old_prog_fd: u32,
    }
}

/// Calls bpf(2) and returns what it returned.
pub fn bpf<A: Attribute>(command: libc::c_int, attribute: &mut A) -> io::Result<i64> {
    // SAFETY: `Attribute` vouches for the layout, and the length given is that of the structure.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attribute), size_of::<A>() as libc::c_uint)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Calls a command that returns a new descriptor.
pub fn bpf_fd<A: Attribute>(command: libc::c_int, attribute: &mut A) -> io::Result<OwnedFd> {
    let fd = bpf(command, attribute)? as i32;
    // SAFETY: the kernel has just made this descriptor for us (close-on-exec), and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A name as the kernel takes it: 15 bytes of letters, digits, `_` and `.`.
pub fn name(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    let fitting = text.bytes().filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    for (to, from) in name[..15].iter_mut().zip(fitting) {
        *to = from;
    }
    name
}

pub fn address<T: ?Sized>(of: &T) -> u64 {
    std::ptr::from_ref(of).cast::<u8>() as u64
}

pub fn address_mut<T: ?Sized>(of: &mut T) -> u64 {
    std::ptr::from_mut(of).cast::<u8>() as u64
}
