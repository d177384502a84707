//! Ports: frames out and in, in bursts or in place.

#![allow(non_camel_case_types)] // as C writes types

use crate::error::Error;
use crate::guard::guard;
use crate::pointers::{out, text};
use crate::table::Table;
use bursts::{BurstPort, Opening, Rows};
use port::{About, Direction, For, Frame, Slot, StampedBy};
use std::ffi::{c_char, c_void};
use units::Picos;

/// A port that is open. The program owns it until tare_port_close. One thread may use it at a time, whichever:
/// a call that meets another one returns TARE_ERROR_BUSY. 0 is never a port.
pub type tare_port = u64;

/// Frames go both ways.
pub const TARE_BOTH: u32 = 0;
/// Frames are only sent.
pub const TARE_TRANSMIT: u32 = 1;
/// Frames are only received.
pub const TARE_RECEIVE: u32 = 2;

/// How a port is opened: tare_port_options_init writes the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tare_port_options {
    /// sizeof(tare_port_options), by which the library knows the version of the header.
    pub size: u32,
    /// TARE_BOTH (the default), TARE_TRANSMIT or TARE_RECEIVE.
    pub direction: u32,
    /// Bytes of the longest frame that is sent or kept, without FCS: 1 to 65549, by default 1514. Frames that
    /// arrive and are longer are cut off.
    pub longest: u32,
    /// Most frames of one burst: 1 to 65536, by default 256.
    pub burst: u32,
    /// Which queue of how many that will be opened; by default 0 of 1.
    pub queue: u32,
    pub queues: u32,
    /// Received frames shall have stamps; by default true.
    pub stamps: bool,
    /// The thread spins: the port may poll the device instead of waiting for interrupts; by default false.
    pub busy: bool,
}

/// What a port is and can do.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tare_port_about {
    /// The address that opens it again, and its kind: "mem", "packet", "xdp" and others. Cut off if longer.
    pub name: [c_char; 128],
    pub kind: [c_char; 16],
    /// Bytes of the longest frame that the port sends, without FCS. A tagged one may have four more on some.
    pub longest: u32,
    /// Most frames that one call of tare_port_transmit_by takes.
    pub batch: u32,
    pub queue: u32,
    pub queues: u32,
    /// Of the link, in bits per second; 0 if the driver does not say.
    pub speed_bps: u64,
    pub transmits: bool,
    pub receives: bool,
    /// Frames may leave at times of their own (tare_burst.times_unix_ns).
    pub launch_times: bool,
    pub zero_copy: bool,
    /// Who stamps received frames: 0 nobody, 1 the card, 2 the driver, 3 a program.
    pub stamped_by: u32,
    /// The MAC address of the interface, if has_mac.
    pub has_mac: bool,
    pub mac: [u8; 6],
}

/// Frames in rows. Frame i begins at data + i * stride. The memory is the port's: it stays where it is until
/// the port is closed, and is the program's to use from tare_port_lend to tare_port_give_back, or from
/// tare_port_receive to tare_port_release. A program may also make a tare_burst of memory of its own, for
/// tare_rules_judge_burst.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tare_burst {
    pub data: *mut u8,
    /// Bytes of each frame, without FCS.
    pub lengths: *mut u32,
    /// Received frames: how long they were on the wire; more than `lengths` where they were cut off.
    pub wire_lengths: *mut u32,
    /// Nanoseconds since 1970. Received frames: when they came, 0 if nobody stamped them. Frames to be sent:
    /// when they shall leave, on ports with launch_times; 0 is at once.
    pub times_unix_ns: *mut u64,
    /// Bytes from one row to the next.
    pub stride: u32,
    /// Frames that are lent, or were received.
    pub count: u32,
}

/// What a port has counted since it was opened.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct tare_port_counters {
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    /// Frames that were lost, wherever the port knows of it.
    pub lost: u64,
    /// Of these, frames that were taken and could not be sent.
    pub unsent: u64,
    /// How often there was no room: those frames stayed with the program.
    pub full: u64,
    /// System calls.
    pub calls: u64,
}

/// Writes one frame into `room`, of `longest` bytes, and returns its length; 0 sends none. It must return: no
/// longjmp, no exception. It must not use the port.
pub type tare_write = Option<unsafe extern "C" fn(context: *mut c_void, room: *mut u8, longest: u32) -> u32>;

/// Looks at one frame, which is gone when it returns. As tare_write, it must return, and not use the port.
pub type tare_read = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        frame: *const u8,
        length: u32,
        wire_length: u32,
        stamp_unix_ns: u64,
    ),
>;

pub(crate) static PORTS: Table<BurstPort> = Table::new(1, "port");

/// Writes the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_options_init(options: *mut tare_port_options) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        *unsafe { out(options, "options") }? = defaults();
        Ok(())
    })
}

/// Opens the port at an address, such as "mem:NAME", "packet:veth0" or "pcap:in.pcapng". `options` may be NULL
/// for the defaults. The port is the program's, which closes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_open(
    address: *const c_char,
    options: *const tare_port_options,
    port: *mut tare_port,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (address, port) = unsafe { (text(address, "address")?, out(port, "port")?) };
        let options = match options.is_null() {
            true => defaults(),
            // SAFETY: as the header says.
            false => *unsafe { crate::pointers::given(options, "options") }?,
        };
        *port = PORTS.insert(BurstPort::open(address, &opening(&options)?)?)?;
        Ok(())
    })
}

/// Closes a port. What it lent, and what was received, is no longer there.
#[unsafe(no_mangle)]
pub extern "C" fn tare_port_close(port: tare_port) -> i32 {
    guard(|| PORTS.remove(port).map(drop))
}

/// Says what the port is and can do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_ask(port: tare_port, about: *mut tare_port_about) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let about = unsafe { out(about, "about") }?;
        *about = PORTS.alone(port, |port| Ok(told(port.about())))?;
        Ok(())
    })
}

/// Lends rows for up to `most` frames; burst->count says how many. They hold what they held before, so that who
/// sends nearly the same again need only write what changes; all lengths are 0. TARE_ERROR_ORDER if a burst is
/// lent already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_lend(port: tare_port, most: u32, burst: *mut tare_burst) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let burst = unsafe { out(burst, "burst") }?;
        *burst = PORTS.alone(port, |port| {
            let count = port.lend(most as usize)?;
            Ok(burst_of(port.rows().0, count))
        })?;
        Ok(())
    })
}

/// Hands frames `first` to `first + count - 1` of the lent burst over, to leave in this order. *taken says how
/// many went: fewer, also 0, where there is no room for more now, or a frame behind them is too long. All rows
/// stay lent: the rest can be sent later, and all of them again. TARE_ERROR_TOO_LONG if frame `first` is too
/// long; TARE_ERROR_VALUE for frames that are not lent; TARE_ERROR_ORDER if none are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_send(port: tare_port, first: u32, count: u32, taken: *mut u32) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let taken = unsafe { out(taken, "taken") }?;
        *taken = 0;
        let sent = PORTS.alone(port, |port| Ok(port.send(first as usize, count as usize)?))?;
        *taken = sent as u32;
        Ok(())
    })
}

/// Ends the lending. TARE_ERROR_ORDER if no burst is lent.
#[unsafe(no_mangle)]
pub extern "C" fn tare_port_give_back(port: tare_port) -> i32 {
    guard(|| PORTS.alone(port, |port| Ok(port.give_back()?)))
}

/// Takes up to `most` frames that have arrived; never waits. burst->count says how many; if it is 0, there is
/// nothing to release. TARE_ERROR_ORDER if the last burst is still held; TARE_ERROR_OVER if no frame will ever
/// come again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_receive(port: tare_port, most: u32, burst: *mut tare_burst) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let burst = unsafe { out(burst, "burst") }?;
        *burst = PORTS.alone(port, |port| {
            let count = port.receive(most as usize)?;
            Ok(burst_of(port.rows().1, count))
        })?;
        Ok(())
    })
}

/// Gives the received frames up. TARE_ERROR_ORDER if none are held: a second time, for instance.
#[unsafe(no_mangle)]
pub extern "C" fn tare_port_release(port: tare_port) -> i32 {
    guard(|| PORTS.alone(port, |port| Ok(port.release()?)))
}

/// Sends up to `most` frames that `write` writes in place, in the port's own rooms: no copy, one call of
/// `write` a frame. *taken says how many there was room for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_transmit_by(
    port: tare_port,
    most: u32,
    write: tare_write,
    context: *mut c_void,
    taken: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let taken = unsafe { out(taken, "taken") }?;
        *taken = 0;
        let write = write.ok_or(Error::Pointer("write"))?;
        let mut fill = |slot: &mut Slot<'_>| {
            let room = slot.data.len().try_into().unwrap_or(u32::MAX);
            // SAFETY: the room has so many bytes, and is nobody else's meanwhile.
            slot.length = unsafe { write(context, slot.data.as_mut_ptr(), room) } as usize;
        };
        *taken = PORTS.alone(port, |port| Ok(port.port().transmit(most as usize, &mut fill)?))? as u32;
        Ok(())
    })
}

/// Shows up to `most` frames that have arrived to `read`, in place: no copy, one call of `read` a frame. Never
/// waits. *seen says how many there were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_receive_by(
    port: tare_port,
    most: u32,
    read: tare_read,
    context: *mut c_void,
    seen: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let seen = unsafe { out(seen, "seen") }?;
        *seen = 0;
        let read = read.ok_or(Error::Pointer("read"))?;
        let mut show = |frame: &Frame<'_>| {
            let length = |length: usize| length.try_into().unwrap_or(u32::MAX);
            let (kept, wire, stamp) =
                (length(frame.data.len()), length(frame.length), frame.stamp.as_unix_nanos());
            // SAFETY: the frame has so many bytes, and stays until the call is over.
            unsafe { read(context, frame.data.as_ptr(), kept, wire, stamp) };
        };
        *seen = PORTS.alone(port, |port| Ok(port.port().receive(most as usize, &mut show)?))? as u32;
        Ok(())
    })
}

/// Waits until there is something to receive (TARE_RECEIVE) or room to send (TARE_TRANSMIT), for at most
/// `patience_ns`. *ready says whether there is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_wait(
    port: tare_port,
    what: u32,
    patience_ns: u64,
    ready: *mut bool,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let ready = unsafe { out(ready, "ready") }?;
        let what = match what {
            TARE_RECEIVE => For::Receive,
            TARE_TRANSMIT => For::Transmit,
            _ => return Err(wrong("what", what, "TARE_RECEIVE or TARE_TRANSMIT")),
        };
        *ready = PORTS.alone(port, |port| Ok(port.wait(what, Picos::from_nanos(patience_ns))?))?;
        Ok(())
    })
}

/// Sees to it that all that was taken has left, for at most `patience_ns`. *left says whether it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_flush(port: tare_port, patience_ns: u64, left: *mut bool) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let left = unsafe { out(left, "left") }?;
        *left = PORTS.alone(port, |port| Ok(port.flush(Picos::from_nanos(patience_ns))?))?;
        Ok(())
    })
}

/// Says what was counted since the port was opened. This may ask the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_count(port: tare_port, counters: *mut tare_port_counters) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let counters = unsafe { out(counters, "counters") }?;
        *counters = PORTS.alone(port, |port| {
            let counted = port.counters()?;
            Ok(tare_port_counters {
                sent: counted.sent,
                sent_bytes: counted.sent_bytes,
                received: counted.received,
                received_bytes: counted.received_bytes,
                lost: counted.lost(),
                unsent: counted.unsent(),
                full: counted.full,
                calls: counted.calls,
            })
        })?;
        Ok(())
    })
}

fn wrong(what: &'static str, value: u32, expected: &str) -> Error {
    Error::Value { what, value: value.into(), expected: expected.to_owned() }
}

fn defaults() -> tare_port_options {
    let Opening { longest, burst, queue, queues, stamps, busy, .. } = Opening::default();
    let size = size_of::<tare_port_options>() as u32;
    tare_port_options { size, direction: TARE_BOTH, longest, burst, queue, queues, stamps, busy }
}

fn opening(options: &tare_port_options) -> Result<Opening, Error> {
    let size = size_of::<tare_port_options>();
    if options.size as usize != size {
        let expected = format!("{size}, as tare_port_options_init writes it");
        return Err(Error::Value { what: "options.size", value: options.size.into(), expected });
    }
    let direction = match options.direction {
        TARE_BOTH => Direction::Both,
        TARE_TRANSMIT => Direction::Transmit,
        TARE_RECEIVE => Direction::Receive,
        other => {
            return Err(wrong("options.direction", other, "TARE_BOTH, TARE_TRANSMIT or TARE_RECEIVE"));
        }
    };
    let tare_port_options { longest, burst, queue, queues, stamps, busy, .. } = *options;
    Ok(Opening { direction, longest, burst, queue, queues, stamps, busy })
}

fn burst_of(rows: &Rows, count: usize) -> tare_burst {
    tare_burst {
        data: rows.data(),
        lengths: rows.lengths(),
        wire_lengths: rows.wire_lengths(),
        times_unix_ns: rows.times_unix_ns(),
        stride: rows.stride() as u32,
        count: count as u32,
    }
}

fn told(about: &About) -> tare_port_about {
    let can = &about.can;
    tare_port_about {
        name: letters(&about.name),
        kind: letters(about.kind),
        longest: about.longest as u32,
        batch: can.batch as u32,
        queue: about.queue,
        queues: about.queues,
        speed_bps: about.speed_bps.unwrap_or(0),
        transmits: can.transmit,
        receives: can.receive,
        launch_times: can.launch_time,
        zero_copy: can.zero_copy,
        stamped_by: match can.stamps {
            None => 0,
            Some(StampedBy::Hardware) => 1,
            Some(StampedBy::Driver) => 2,
            Some(StampedBy::Software) => 3,
        },
        has_mac: about.mac.is_some(),
        mac: about.mac.unwrap_or_default(),
    }
}

/// A text with a NUL at its end, cut off where there is no more room.
fn letters<const ROOM: usize>(text: &str) -> [c_char; ROOM] {
    let mut room = [0; ROOM];
    let kept = text.floor_char_boundary(ROOM - 1);
    room.iter_mut().zip(&text.as_bytes()[..kept]).for_each(|(to, from)| *to = *from as c_char);
    room
}
