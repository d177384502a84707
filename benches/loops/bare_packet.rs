//! Bare loops over AF_PACKET, with nothing of Tare in them, for benchmarks to set Tare beside; and the same
//! with a port.
//!
//! ```text
//! bare_packet send  gen0 SIZE SECONDS        sendmmsg × 64 past the queueing discipline, as fast as it goes
//! bare_packet spin  gen0 SIZE GAP_NS COUNT   one `send` each GAP_NS, spinning on the clock in between
//! bare_packet count sink0 SECONDS            TPACKET_V3, frames counted and thrown away
//! bare_packet port-send packet:gen0 SIZE SECONDS
//! bare_packet port-count packet:sink0 SECONDS
//! bare_packet port-spin packet:gen0 SIZE GAP_NS COUNT
//! bare_packet port-gaps packet:sink0 GAP_NS SECONDS      gap errors by the port's stamps
//! ```
//!
//! SIZE counts the FCS. A line of `key value` pairs is printed at the end: frames, seconds, and this thread's
//! user and system time.

#![allow(unsafe_code)]

use clock::Clock;
use std::error::Error;
use std::time::{Duration, Instant};
use std::{mem, ptr};

type Outcome = Result<(), Box<dyn Error>>;

const BATCH: usize = 64;
/// UDP to port 9, from 198.18.0.1 to 198.18.0.2, between the MAC addresses of a test bed; lengths and checksum
/// of the IP header are filled in for each size.
const HEAD: [u8; 42] = [
    0x02, 0x18, 0, 0, 0, 2, 0x02, 0x18, 0, 0, 0, 1, 0x08, 0x00, // Ethernet
    0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2, // IPv4
    0x10, 0, 0, 9, 0, 0, 0, 0, // UDP without a checksum
];

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["send", interface, size, seconds] => send(interface, size.parse()?, seconds.parse()?),
        ["spin", interface, size, gap, count] => spin(interface, size.parse()?, gap.parse()?, count.parse()?),
        ["count", interface, seconds] => count(interface, seconds.parse()?),
        ["port-send", address, size, seconds] => port_send(address, size.parse()?, seconds.parse()?),
        ["port-count", address, seconds] => port_count(address, seconds.parse()?),
        ["port-spin", address, size, gap, count] => {
            port_spin(address, size.parse()?, gap.parse()?, count.parse()?)
        }
        ["port-gaps", address, gap, seconds] => port_gaps(address, gap.parse()?, seconds.parse()?),
        _ => Err("see the top of benches/loops/bare_packet.rs".into()),
    }
}

fn frame(size: usize) -> Vec<u8> {
    let mut frame = HEAD.to_vec();
    frame.resize(size.max(64) - 4, 0);
    let ip = (frame.len() - 14) as u16;
    frame[16..18].copy_from_slice(&ip.to_be_bytes());
    frame[38..40].copy_from_slice(&(ip - 20).to_be_bytes());
    let sum: u32 = frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame
}

fn check(status: i32) -> Result<i32, Box<dyn Error>> {
    if status < 0 { Err(std::io::Error::last_os_error().into()) } else { Ok(status) }
}

fn set<T>(socket: i32, option: i32, value: &T) -> Outcome {
    let length = mem::size_of::<T>() as u32;
    // SAFETY: a value of this length, which the kernel copies.
    check(unsafe {
        libc::setsockopt(socket, libc::SOL_PACKET, option, ptr::from_ref(value).cast(), length)
    })?;
    Ok(())
}

fn socket(
    interface: &str,
    protocol: u16,
    prepare: impl FnOnce(i32) -> Outcome,
) -> Result<i32, Box<dyn Error>> {
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: plain system calls; `name` ends with a zero.
    let (socket, index) =
        unsafe { (libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0), libc::if_nametoindex(name.as_ptr())) };
    check(socket)?;
    prepare(socket)?;
    // SAFETY: all zeroes is an address of this kind.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    (address.sll_family, address.sll_protocol) = (libc::AF_PACKET as u16, protocol.to_be());
    address.sll_ifindex = index as i32;
    let length = mem::size_of_val(&address) as u32;
    // SAFETY: an address of this length.
    check(unsafe { libc::bind(socket, (&raw const address).cast(), length) })?;
    Ok(socket)
}

fn tell(frames: u64, since: Instant) {
    // SAFETY: all zeroes is a value of it, and the call fills it in.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let elapsed = since.elapsed().as_secs_f64();
    println!(
        "frames {frames} seconds {elapsed:.3} per_second {:.0} user {:.3} system {:.3}",
        frames as f64 / elapsed,
        seconds(usage.ru_utime),
        seconds(usage.ru_stime)
    );
}

fn send(interface: &str, size: usize, seconds: f64) -> Outcome {
    let socket = socket(interface, 0, |socket| set(socket, libc::PACKET_QDISC_BYPASS, &1_i32))?;
    let mut frames: Vec<Vec<u8>> = vec![frame(size); BATCH];
    let mut vectors: Vec<libc::iovec> = frames
        .iter_mut()
        .map(|frame| libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() })
        .collect();
    let mut headers: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .map(|vector| {
            // SAFETY: all zeroes is a value of it.
            let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
            (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (vector, 1);
            header
        })
        .collect();
    let (begun, length) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut sent = 0;
    while begun.elapsed() < length {
        for _ in 0..16 {
            // SAFETY: the headers lead to vectors and frames that outlive the call.
            let taken =
                unsafe { libc::sendmmsg(socket, headers.as_mut_ptr(), BATCH as u32, libc::MSG_DONTWAIT) };
            sent += u64::try_from(taken).unwrap_or(0);
        }
    }
    tell(sent, begun);
    Ok(())
}

fn spin(interface: &str, size: usize, gap_ns: u64, count: u64) -> Outcome {
    let socket = socket(interface, 0, |socket| set(socket, libc::PACKET_QDISC_BYPASS, &1_i32))?;
    let frame = frame(size);
    let begun = Instant::now();
    at_even_gaps(gap_ns, count, || {
        // SAFETY: bytes of this length.
        unsafe { libc::send(socket, frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT) };
    });
    tell(count, begun);
    Ok(())
}

/// Does it `count` times, spinning in between.
fn at_even_gaps(gap_ns: u64, count: u64, mut leave: impl FnMut()) {
    let clock = clock::HostClock::calibrate();
    let origin = clock.now() + units::Picos::from_millis(1);
    for n in 0..count {
        let due = origin + units::Picos::from_nanos(gap_ns).saturating_mul(n);
        while clock.now() < due {
            std::hint::spin_loop();
        }
        leave();
    }
}

fn count(interface: &str, seconds: f64) -> Outcome {
    const BLOCK: usize = 256 * 1024;
    const BLOCKS: usize = 128;
    let request = libc::tpacket_req3 {
        tp_block_size: BLOCK as u32,
        tp_block_nr: BLOCKS as u32,
        tp_frame_size: 2_048,
        tp_frame_nr: (BLOCK / 2_048 * BLOCKS) as u32,
        tp_retire_blk_tov: 4,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    let socket = socket(interface, libc::ETH_P_ALL as u16, |socket| {
        set(socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as i32))?;
        set(socket, libc::PACKET_RX_RING, &request)
    })?;
    let (bytes, protection) = (BLOCK * BLOCKS, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: a new mapping at an address that the kernel chooses.
    let ring = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, socket, 0) };
    if ring == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().into());
    }
    let (begun, length) = (Instant::now(), Duration::from_secs_f64(seconds));
    let (mut frames, mut block) = (0, 0);
    while begun.elapsed() < length {
        // SAFETY: block `block` of the mapping begins with its descriptor: status at 8, number of frames at 12.
        let status = unsafe { ring.cast::<u8>().add(block * BLOCK + 8).cast::<u32>() };
        // SAFETY: as above; the kernel writes it too.
        if unsafe { status.read_volatile() } & libc::TP_STATUS_USER == 0 {
            let mut polled = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
            // SAFETY: one descriptor.
            unsafe { libc::poll(&mut polled, 1, 10) };
            continue;
        }
        // SAFETY: as above.
        frames += u64::from(unsafe { status.add(1).read_volatile() });
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        // SAFETY: as above; the block is given back.
        unsafe { status.write_volatile(libc::TP_STATUS_KERNEL) };
        block = (block + 1) % BLOCKS;
    }
    tell(frames, begun);
    Ok(())
}

fn port_send(address: &str, size: usize, seconds: f64) -> Outcome {
    let mut port = port::open(&address.parse()?, &port::Wish::transmit())?;
    let frame = frame(size);
    let batch = port.about().can.batch;
    let (begun, length) = (Instant::now(), Duration::from_secs_f64(seconds));
    while begun.elapsed() < length {
        for _ in 0..16 {
            port.transmit(batch, &mut |slot| {
                if *slot.mark != 1 {
                    slot.data[..frame.len()].copy_from_slice(&frame);
                    *slot.mark = 1;
                }
                slot.length = frame.len();
            })?;
        }
    }
    tell(port.counters()?.sent, begun);
    println!("{:?}", port.counters()?);
    Ok(())
}

fn port_count(address: &str, seconds: f64) -> Outcome {
    let mut port = port::open(&address.parse()?, &port::Wish::receive())?;
    let (begun, length) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut bytes = 0_u64;
    while begun.elapsed() < length {
        let mut took = 1;
        while took > 0 {
            took = port.receive(1_024, &mut |frame| bytes += frame.length as u64)?;
        }
        port.wait(port::For::Receive, units::Picos::from_millis(10))?;
    }
    tell(port.counters()?.received, begun);
    println!("bytes {bytes} {:?}", port.counters()?);
    Ok(())
}

fn port_spin(address: &str, size: usize, gap_ns: u64, count: u64) -> Outcome {
    let mut port = port::open(&address.parse()?, &port::Wish::transmit())?;
    let frame = frame(size);
    let begun = Instant::now();
    let mut refused = 0;
    at_even_gaps(gap_ns, count, || {
        let taken = port.transmit(1, &mut |slot| {
            slot.data[..frame.len()].copy_from_slice(&frame);
            slot.length = frame.len();
        });
        refused += u64::from(!matches!(taken, Ok(1)));
    });
    tell(count - refused, begun);
    Ok(())
}

fn port_gaps(address: &str, asked_ns: u64, seconds: f64) -> Outcome {
    let mut port = port::open(&address.parse()?, &port::Wish::receive())?;
    let begun = Instant::now();
    let mut stamps: Vec<u64> = Vec::new();
    while begun.elapsed().as_secs_f64() < seconds {
        while port.receive(1_024, &mut |frame| stamps.push(frame.stamp.as_unix_nanos()))? > 0 {}
        port.wait(port::For::Receive, units::Picos::from_millis(10))?;
    }
    let gap_error = |pair: &[u64]| pair[1].saturating_sub(pair[0]).abs_diff(asked_ns);
    let mut errors: Vec<u64> = stamps.windows(2).map(gap_error).collect();
    errors.sort_unstable();
    let at = |share: f64| errors.get((errors.len() as f64 * share) as usize).copied().unwrap_or(0);
    println!("gaps {} p50 {} p95 {} p99 {}", errors.len(), at(0.5), at(0.95), at(0.99));
    Ok(())
}
