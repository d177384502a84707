//! The bar for `live`: XDP live frames with no variation code, as fast as one thread can have them.
//!
//! ```text
//! bare_live INTERFACE SIZE FRAMES [BATCH]
//! ```
//! SIZE counts the FCS. Prints one line: frames, seconds, CPU seconds and frames per second.

use bpf::{Assembler, License, LiveRun, Program, ProgramKind, Register::*};
use std::ffi::CString;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, interface, size, frames, ..] = words.as_slice() else {
        return Err("bare_live INTERFACE SIZE FRAMES [BATCH]".into());
    };
    let (size, frames): (usize, u32) = (size.parse()?, frames.parse()?);
    let batch: u32 = words.get(4).map_or(Ok(64), |batch| batch.parse())?;
    let program = redirect_to(interface_index(interface)?)?;
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    program.run_live(&LiveRun { frame: &frame(size - 4), repeat: frames, batch })?;
    let seconds = begun.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu;
    println!(
        "frames {frames} seconds {seconds:.4} cpu {cpu:.4} per_second {:.0}",
        f64::from(frames) / seconds
    );
    Ok(())
}

fn redirect_to(interface: u32) -> Result<Program, bpf::BpfError> {
    let mut a = Assembler::new();
    a.mov(R1, interface as i32).mov(R2, 0).call(bpf::Helper::Redirect).exit();
    Program::load(ProgramKind::Xdp, "bare_live", &a.assemble()?, License::Apache)
}

/// Ethernet, IPv4, UDP to port 9: as plain as it gets.
fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0u8; length];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    let total = (length - 14) as u16;
    frame[14..34].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    let sum: u32 =
        frame[14..34].chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    frame[34..38].copy_from_slice(&[0, 9, 0, 9]);
    frame[38..40].copy_from_slice(&(total - 20).to_be_bytes());
    frame
}

fn interface_index(name: &str) -> Result<u32, Box<dyn std::error::Error>> {
    let text = CString::new(name)?;
    // SAFETY: the name ends with 0 and outlives the call.
    let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
    if index == 0 { Err(format!("there is no interface '{name}'").into()) } else { Ok(index) }
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
