//! The receiver that costs least: an XDP program that counts and drops, until standard input ends.
//!
//! ```text
//! bare_sink INTERFACE [native|generic]
//! ```
//! Prints `ready`, then (at the end of its input) frames and bytes.

use bpf::{Assembler, License, Map, MapSpec, Program, ProgramKind, Register::*, Size, XdpMode, context};
use std::ffi::CString;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let interface = words.get(1).ok_or("bare_sink INTERFACE [native|generic]")?;
    let mode =
        if words.get(2).is_some_and(|word| word == "generic") { XdpMode::Generic } else { XdpMode::Native };
    let map = Map::create(&MapSpec::memory("sink", 16))?;
    let seen = map.share()?;
    let mut a = Assembler::new();
    a.load(Size::Word, R2, R1, context::DATA).load(Size::Word, R3, R1, context::DATA_END).sub(R3, R2);
    a.load_map_value(R1, map.as_fd(), 0).mov(R2, 1);
    a.atomic_add(Size::Double, R1, 0, R2).atomic_add(Size::Double, R1, 8, R3).mov(R0, 1).exit();
    let program = Program::load(ProgramKind::Xdp, "bare_sink", &a.assemble()?, License::Apache)?;
    let text = CString::new(interface.as_str())?;
    // SAFETY: the name ends with 0 and outlives the call.
    let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
    let _link = program.attach_xdp(index, mode)?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    println!("frames {} bytes {}", seen.u64_at(0).load(Relaxed), seen.u64_at(8).load(Relaxed));
    Ok(())
}
