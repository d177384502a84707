//! The bar for `xdp`: AF_XDP in copy mode with nothing around it, one socket, one queue.
//!
//! ```text
//! bare_xdp send INTERFACE SIZE FRAMES      the same frame again and again, 64 a kick; SIZE counts the FCS
//! bare_xdp receive INTERFACE SECONDS       counts and gives back
//! ```
//! Prints one line: frames, seconds, CPU seconds and frames per second.

use bpf::{
    Assembler, Helper, License, Link, Map, MapKind, MapSpec, Program, ProgramKind, Register::*, Size,
    XdpMode, context,
};
use std::ffi::CString;
use std::io::Error;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};
use std::time::Instant;

/// As many as the port's receive ring has.
const SLOTS: u32 = 8192;
const CHUNK: usize = 2048;
const SOL_XDP: i32 = 283;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [_, "send", interface, size, frames] => send(interface, size.parse()?, frames.parse()?),
        [_, "receive", interface, seconds] => receive(interface, seconds.parse()?),
        _ => Err("bare_xdp send INTERFACE SIZE FRAMES | bare_xdp receive INTERFACE SECONDS".into()),
    }
}

/// A ring of the kernel: positions, and entries of `T`.
struct Ring<T> {
    producer: *const AtomicU32,
    consumer: *const AtomicU32,
    entries: *mut T,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Descriptor {
    address: u64,
    length: u32,
    options: u32,
}

impl<T: Copy> Ring<T> {
    /// `offsets`: producer, consumer, entries, flags.
    fn map(fd: i32, option: i32, page: i64, offsets: &[u64]) -> Result<Self, Error> {
        let size = SLOTS;
        // SAFETY: the value outlives the call.
        check(unsafe { libc::setsockopt(fd, SOL_XDP, option, (&raw const size).cast(), 4) })?;
        let bytes = offsets[2] as usize + SLOTS as usize * size_of::<T>();
        let at = map(fd, bytes, page)?;
        // SAFETY: the kernel says that these offsets lie in the mapping, which is never undone.
        let place = |offset: u64| unsafe { at.add(offset as usize) };
        Ok(Self {
            producer: place(offsets[0]).cast(),
            consumer: place(offsets[1]).cast(),
            entries: place(offsets[2]).cast(),
        })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: in a mapping that is never undone.
        unsafe { &*self.producer }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*self.consumer }
    }

    fn put(&self, position: u32, entry: T) {
        // SAFETY: masked to the ring's size.
        unsafe { self.entries.add((position & (SLOTS - 1)) as usize).write(entry) }
    }

    fn take(&self, position: u32) -> T {
        // SAFETY: masked to the ring's size.
        unsafe { self.entries.add((position & (SLOTS - 1)) as usize).read() }
    }
}

struct Bare {
    fd: i32,
    memory: *mut u8,
    fill: Ring<u64>,
    completion: Ring<u64>,
    transmit: Ring<Descriptor>,
    receive: Ring<Descriptor>,
    interface: u32,
}

fn open(interface: &str) -> Result<Bare, Box<dyn std::error::Error>> {
    let text = CString::new(interface)?;
    // SAFETY: the name ends with 0 and outlives the call.
    let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
    // SAFETY: no memory is concerned.
    let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW, 0) })?;
    let bytes = SLOTS as usize * CHUNK;
    let memory = map(-1, bytes, 0)?;
    let registration: [u64; 4] = [memory as u64, bytes as u64, CHUNK as u64, 0];
    // SAFETY: struct xdp_umem_reg: address, bytes, chunk and headroom, flags and TX metadata.
    check(unsafe { libc::setsockopt(fd, SOL_XDP, 4, registration.as_ptr().cast(), 32) })?;
    let mut offsets = [0u64; 16];
    let mut length = 128u32;
    // SAFETY: struct xdp_mmap_offsets has 16 words.
    check(unsafe { libc::getsockopt(fd, SOL_XDP, 1, offsets.as_mut_ptr().cast(), &raw mut length) })?;
    let bare = Bare {
        fd,
        memory,
        fill: Ring::map(fd, 5, 0x1_0000_0000, &offsets[8..12])?,
        completion: Ring::map(fd, 6, 0x1_8000_0000, &offsets[12..])?,
        transmit: Ring::map(fd, 3, 0x8000_0000, &offsets[4..8])?,
        receive: Ring::map(fd, 2, 0, &offsets[..4])?,
        interface: index,
    };
    // struct sockaddr_xdp: family, flags (copy, need wakeup), interface, queue, shared.
    let address: [u32; 4] = [libc::AF_XDP as u32 | (1 << 1 | 1 << 3) << 16, index, 0, 0];
    // SAFETY: 16 bytes, as the structure has.
    check(unsafe { libc::bind(fd, address.as_ptr().cast(), 16) })?;
    Ok(bare)
}

fn send(interface: &str, size: usize, frames: u64) -> Result<(), Box<dyn std::error::Error>> {
    let bare = open(interface)?;
    for chunk in 0..SLOTS as usize {
        // SAFETY: inside the memory.
        let frame = unsafe { std::slice::from_raw_parts_mut(bare.memory.add(chunk * CHUNK), size - 4) };
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    }
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    let (mut put, mut done) = (0u32, 0u32);
    let mut sent = 0u64;
    while sent < frames {
        let free = SLOTS - put.wrapping_sub(done);
        let count = free.min(64).min((frames - sent) as u32);
        for _ in 0..count {
            let address = u64::from(put & (SLOTS - 1)) * CHUNK as u64;
            bare.transmit.put(put, Descriptor { address, length: size as u32 - 4, options: 0 });
            put = put.wrapping_add(1);
        }
        bare.transmit.producer().store(put, Release);
        sent += u64::from(count);
        kick(bare.fd);
        done = bare.completion.producer().load(Acquire);
        bare.completion.consumer().store(done, Release);
    }
    for _ in 0..10_000_000u64 {
        if bare.completion.producer().load(Acquire) == put {
            break;
        }
        kick(bare.fd);
        bare.completion.consumer().store(bare.completion.producer().load(Acquire), Release);
    }
    show(sent, begun, cpu);
    Ok(())
}

fn receive(interface: &str, seconds: f64) -> Result<(), Box<dyn std::error::Error>> {
    let bare = open(interface)?;
    let _program = redirect(bare.interface, bare.fd)?;
    for n in 0..SLOTS {
        bare.fill.put(n, u64::from(n) * CHUNK as u64);
    }
    let (mut filled, mut taken, mut total) = (SLOTS, 0u32, 0u64);
    bare.fill.producer().store(filled, Release);
    println!("ready");
    let end = Instant::now() + std::time::Duration::from_secs_f64(seconds);
    let (mut begun, mut cpu) = (end, 0.0);
    while Instant::now() < end {
        let there = bare.receive.producer().load(Acquire);
        let count = there.wrapping_sub(taken).min(256);
        if count == 0 {
            let mut poll = libc::pollfd { fd: bare.fd, events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry.
            unsafe { libc::poll(&raw mut poll, 1, 10) };
            continue;
        }
        if total == 0 {
            (begun, cpu) = (Instant::now(), cpu_seconds());
        }
        for _ in 0..count {
            let entry = bare.receive.take(taken);
            bare.fill.put(filled, entry.address & !(CHUNK as u64 - 1));
            (taken, filled) = (taken.wrapping_add(1), filled.wrapping_add(1));
        }
        bare.receive.consumer().store(taken, Release);
        bare.fill.producer().store(filled, Release);
        total += u64::from(count);
    }
    show(total, begun, cpu);
    Ok(())
}

fn redirect(interface: u32, fd: i32) -> Result<Link, Box<dyn std::error::Error>> {
    let sockets = Map::create(&MapSpec { kind: MapKind::Sockets, ..MapSpec::array("bare", 4, 1) })?;
    sockets.update(&[0; 4], &fd.to_ne_bytes())?;
    let mut a = Assembler::new();
    a.load(Size::Word, R2, R1, context::RX_QUEUE)
        .load_map(R1, sockets.as_fd())
        .mov(R3, 2)
        .call(Helper::RedirectMap)
        .exit();
    let program = Program::load(ProgramKind::Xdp, "bare_xdp", &a.assemble()?, License::Apache)?;
    Ok(program.attach_xdp(interface, XdpMode::Native)?)
}

fn kick(fd: i32) {
    // SAFETY: no buffer and no address: lengths are 0. Whatever it answers, the rings say what happened.
    unsafe { libc::sendto(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
}

fn map(fd: i32, bytes: usize, page: i64) -> Result<*mut u8, Error> {
    let kind = if fd < 0 { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS } else { libc::MAP_SHARED };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind | libc::MAP_POPULATE, fd, page) };
    if at == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(at.cast()) }
}

fn check(result: i32) -> Result<i32, Error> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

fn show(frames: u64, begun: Instant, cpu: f64) {
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!("frames {frames} seconds {seconds:.4} cpu {cpu:.4} per_second {:.0}", frames as f64 / seconds);
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    // SAFETY: all zero is a value of rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
