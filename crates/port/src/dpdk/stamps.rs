//! Times of frames, where a driver has them: fields of a buffer's head whose places it says at run time.

use super::eal::Eal;
use super::layout::{Mbuf, Record, info, offload};
use crate::{Choice, Stamp, StampedBy};
use std::ffi::c_int;

/// The clock of a card agrees with the wall clock if it is not further from it than this.
const NEAR_NS: u64 = 1_000_000_000;

/// A field of eight bytes and the bit that says that it is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    at: usize,
    bit: u64,
    /// Nanoseconds of one unit of it.
    unit_ns: u64,
}

impl Field {
    fn place(self, buffer: *mut Mbuf) -> *mut u64 {
        buffer.cast::<u8>().wrapping_add(self.at).cast()
    }

    /// The time of a received frame.
    #[inline]
    pub fn read(self, buffer: &Mbuf) -> Stamp {
        if buffer.flags & self.bit == 0 {
            return Stamp::NONE;
        }
        let place = self.place(std::ptr::from_ref(buffer).cast_mut());
        // SAFETY: the library keeps eight bytes of the head at this place for the field.
        Stamp(unsafe { place.read_unaligned() }.saturating_mul(self.unit_ns))
    }

    /// When a frame shall leave.
    #[inline]
    pub fn write(self, buffer: &mut Mbuf, launch: Stamp) {
        if launch != Stamp::NONE {
            buffer.flags |= self.bit;
            let place = self.place(buffer);
            // SAFETY: as above.
            unsafe { place.write_unaligned(launch.as_unix_nanos() / self.unit_ns.max(1)) };
        }
    }
}

/// What a device can do with times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clocks {
    pub arrival: Option<(Field, StampedBy)>,
    pub launch: Option<Field>,
    pub choices: Vec<Choice>,
}

impl Clocks {
    pub fn of(eal: &Eal, number: u16, driver: &str, receive_offloads: u64, facts: &Record) -> Self {
        let has_launch = facts.long(info::TRANSMIT_OFFLOADS) & offload::LAUNCH_TIME != 0;
        let has_arrival = receive_offloads & offload::RECEIVE_STAMP != 0;
        let clock = (has_launch || has_arrival).then(|| card_clock(eal, number)).flatten();
        let call = &eal.dpdk.call;
        let (arrival, stamps) = if driver == "net_pcap" {
            // In microseconds, as libpcap gives them.
            let field = field(call.mbuf_dyn_rx_timestamp_register, 1_000);
            let by = StampedBy::Software;
            (field.map(|field| (field, by)), ("software", "libpcap's, in microseconds".to_owned()))
        } else if !has_arrival {
            (None, ("none", format!("the driver {driver} does not stamp frames")))
        } else if clock.is_none() {
            (None, ("none", CLOCK.to_owned()))
        } else {
            let field = field(call.mbuf_dyn_rx_timestamp_register, 1);
            (
                field.map(|field| (field, StampedBy::Hardware)),
                ("hardware", "the driver makes them".to_owned()),
            )
        };
        let (launch, times) = if !has_launch {
            (None, ("no", format!("the driver {driver} cannot hold frames until a given time")))
        } else if clock.is_none() {
            (None, ("no", CLOCK.to_owned()))
        } else {
            let field = field(call.mbuf_dyn_tx_timestamp_register, 1);
            (field, ("yes", "the driver supports it".to_owned()))
        };
        let choice = |what, (chosen, why): (&str, String)| Choice { what, chosen: chosen.to_owned(), why };
        Self { arrival, launch, choices: vec![choice("stamps", stamps), choice("launch time", times)] }
    }
}

const CLOCK: &str = "the card's clock does not show the time of day; set it with phc2sys";

/// Nanoseconds since 1970 by the card, if it agrees with this machine about that.
fn card_clock(eal: &Eal, number: u16) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the structure.
    let status = unsafe { (eal.dpdk.call.eth_timesync_read_time)(number, &mut time) };
    let shown = u64::try_from(time.tv_sec).ok()?.checked_mul(1_000_000_000)? + time.tv_nsec as u64;
    (status == 0 && shown.abs_diff(clock::unix_ns()) < NEAR_NS).then_some(shown)
}

/// Where a field is, and its bit.
fn field(register: unsafe extern "C" fn(*mut c_int, *mut u64) -> c_int, unit_ns: u64) -> Option<Field> {
    let (mut at, mut bit) = (-1, 0);
    // SAFETY: places for two numbers.
    let status = unsafe { register(&mut at, &mut bit) };
    let at = usize::try_from(at).ok().filter(|at| at + 8 <= size_of::<Mbuf>())?;
    (status == 0).then_some(Field { at, bit, unit_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Mbuf {
        // SAFETY: a head is plain numbers and pointers, for which zero is a value.
        unsafe { std::mem::zeroed() }
    }

    #[test]
    fn a_time_is_read_where_its_bit_says_that_there_is_one() {
        let field = Field { at: 96, bit: 1 << 23, unit_ns: 1_000 };
        let mut buffer = head();
        assert_eq!(field.read(&buffer), Stamp::NONE);
        field.write(&mut buffer, Stamp(5_000_000));
        assert_eq!((buffer.flags, field.read(&buffer)), (1 << 23, Stamp(5_000_000)));
        let other = Field { bit: 1 << 24, ..field };
        assert_eq!(other.read(&buffer), Stamp::NONE);
    }

    #[test]
    fn a_frame_without_a_launch_time_says_so() {
        let mut buffer = head();
        Field { at: 96, bit: 1 << 23, unit_ns: 1 }.write(&mut buffer, Stamp::NONE);
        assert_eq!(buffer.flags, 0);
    }
}
