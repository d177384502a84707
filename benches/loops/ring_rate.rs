//! Frames per second of this thread's own CPU time through `mem`, sent and received by turns on one thread.

use port::{Port, mem};

fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn main() {
    let frames: u64 = 20_000_000;
    for (slots, batch, length) in
        [(64, 64, 60), (256, 64, 60), (1_024, 64, 60), (1_024, 256, 60), (1_024, 64, 1_514)]
    {
        let (mut a, mut b) = mem::pair(slots, 1_514);
        let (mut next, mut seen, mut sum) = (0_u64, 0_u64, 0_u64);
        let start = cpu_ns();
        while seen < frames {
            let sent = a.transmit(batch, &mut |slot| {
                slot.data[..8].copy_from_slice(&next.to_le_bytes());
                slot.length = length;
                next += 1;
            });
            assert!(sent.is_ok_and(|sent| sent > 0));
            let got = b.receive(batch, &mut |frame| {
                sum = sum.wrapping_add(u64::from(frame.data[0])) + frame.length as u64;
            });
            seen += got.unwrap_or(0) as u64;
        }
        let seconds = (cpu_ns() - start) as f64 / 1e9;
        let rate = seen as f64 / seconds / 1e6;
        println!("{slots} slots, {length} bytes, {batch} a call: {rate:.1} M/s ({sum})");
    }
}
