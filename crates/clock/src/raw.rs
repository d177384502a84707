//! What no safe wrapper offers. All `unsafe` of this crate is here.
//!
//! | reading | why not a library |
//! |---|---|
//! | `ticks`, `ticks_ordered` | RDTSC is an intrinsic |
//! | `libc_monotonic_ns` | rustix does not go through libc; the check wants the clock that other code sees |
//! | `cpu_clock_ns` | rustix knows the clocks of the calling thread alone |
//! | `clock_ns`, `ask_device` | nor does it know those of network cards |
//!
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::SystemTime;

/// CLOCK_MONOTONIC in nanoseconds, straight from the vDSO.
#[inline]
pub fn monotonic_ns() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// CLOCK_REALTIME in nanoseconds since 1970: what the kernel stamps frames with.
#[inline]
pub fn unix_ns() -> u64 {
    nanos(clock_gettime(ClockId::Realtime))
}

/// CLOCK_REALTIME as others take it: for names and labels. Nothing is measured with it.
pub fn wall_time() -> SystemTime {
    SystemTime::now()
}

/// CLOCK_TAI − CLOCK_REALTIME in nanoseconds: whole seconds, which change with leap seconds alone. BPF programs
/// can read only the former.
pub fn tai_minus_unix_ns() -> u64 {
    let (tai, unix) = (nanos(clock_gettime(ClockId::Tai)), unix_ns());
    // Read one after the other: a little apart, and far less than half a second.
    (tai.saturating_sub(unix) + 500_000_000) / 1_000_000_000 * 1_000_000_000
}

/// CLOCK_BOOTTIME in nanoseconds: CLOCK_MONOTONIC plus the time that the machine was suspended.
pub fn boottime_ns() -> u64 {
    nanos(clock_gettime(ClockId::Boottime))
}

/// CPU time of this thread in nanoseconds: stands still while others have the CPU. A system call.
pub fn thread_cpu_ns() -> u64 {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

#[inline]
fn nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What a clock of the kernel shows, by its number, in nanoseconds.
pub fn clock_ns(id: libc::clockid_t) -> std::io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec for the whole call, and the call keeps no pointer to it.
    if unsafe { libc::clock_gettime(id, &mut time) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok((time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
}

/// Asks a device by a command of its own; the answer is in `words`, which are as long as the command's number
/// says.
pub fn ask_device(device: BorrowedFd<'_>, command: u32, words: &mut [u32]) -> std::io::Result<()> {
    // The length of the argument in a command's number (asm-generic/ioctl.h).
    assert!(words.len() * 4 >= (command >> 16 & 0x3fff) as usize, "room for the answer");
    // SAFETY: the structure of this command is no longer than `words`, and the kernel keeps no pointer to it.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), command as libc::Ioctl, words.as_mut_ptr()) };
    if status < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// CLOCK_MONOTONIC in nanoseconds as libc tells it to everyone else in this process.
pub fn libc_monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec for the whole call, and the call keeps no pointer to it.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    assert_eq!(status, 0, "CLOCK_MONOTONIC exists on every Linux");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A clock by its number; `None` if there is none (any more).
pub fn cpu_clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec for the whole call, and the call keeps no pointer to it.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    (status == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The time-stamp counter. Not ordered against neighbouring loads and stores: it may be read some tens of
/// nanoseconds early, never later than a following system call.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86_64 CPU has RDTSC, it touches no memory, and Linux leaves it allowed in user mode.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The time-stamp counter, read after everything before it and before everything after it.
#[cfg(target_arch = "x86_64")]
pub fn ticks_ordered() -> u64 {
    // SAFETY: LFENCE is part of SSE2, which every x86_64 CPU has, and touches no memory.
    unsafe { core::arch::x86_64::_mm_lfence() };
    let ticks = ticks();
    // SAFETY: as above.
    unsafe { core::arch::x86_64::_mm_lfence() };
    ticks
}

/// Whether the counter runs at one rate whatever the CPU's frequency and sleep state: CPUID leaf
/// 0x8000_0007, EDX bit 8 (Intel SDM vol. 3, §18.17.1 "Invariant TSC"; AMD APM vol. 3, appendix E).
#[cfg(target_arch = "x86_64")]
pub fn ticks_are_invariant() -> Option<bool> {
    use core::arch::x86_64::__cpuid;
    const POWER: u32 = 0x8000_0007;
    Some(__cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & (1 << 8) != 0)
}

#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
pub fn ticks_ordered() -> u64 {
    0
}

/// `None`: this architecture has no time-stamp counter that we know.
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks_are_invariant() -> Option<bool> {
    None
}
