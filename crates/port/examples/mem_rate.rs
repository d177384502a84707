//! Frames per second through `mem`, sent and received by turns on one thread.

use port::{Port, mem};

fn main() {
    let frames: u64 = 60_000_000;
    for (batch, length) in [(64, 60), (256, 60), (64, 1_514)] {
        let (mut a, mut b) = mem::pair(mem::SLOTS, 1_514);
        let (mut next, mut seen, mut sum) = (0_u64, 0_u64, 0_u64);
        let start = clock::monotonic_ns();
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
        let seconds = (clock::monotonic_ns() - start) as f64 / 1e9;
        println!("{length} bytes, {batch} a call: {:.1} M/s ({sum})", seen as f64 / seconds / 1e6);
    }
}
