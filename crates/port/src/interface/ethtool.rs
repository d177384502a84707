//! What the driver says of itself, by the ioctl of linux/ethtool.h, and stamping by that of linux/net_tstamp.h.
//!
//! Each question is a struct of 32-bit words that begins with the command; the driver fills in the rest. Here
//! it is a buffer of words, and the offsets are named where they are used.

use super::netlink::Netlink;
use super::setup::{Coalescing, Rings};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const GSET: u32 = 0x01;
const GDRVINFO: u32 = 0x03;
const GLINK: u32 = 0x0a;
const GCOALESCE: u32 = 0x0e;
const GRINGPARAM: u32 = 0x10;
const GFLAGS: u32 = 0x25;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const GCHANNELS: u32 = 0x3c;
const GET_TS_INFO: u32 = 0x41;
const STRINGS_OF_STATISTICS: u32 = 1;
const STRING_LENGTH: usize = 32;
/// Counters that are asked for, at most; drivers have up to some hundreds for each queue.
const MOST_COUNTERS: usize = 16_384;

/// Switches that have a question of their own, by ethtool's short names.
const SWITCHES: [(u32, &str); 6] =
    [(0x14, "rx"), (0x16, "tx"), (0x18, "sg"), (0x1e, "tso"), (0x23, "gso"), (0x2b, "gro")];
/// ETH_FLAG_LRO.
const LRO: u32 = 1 << 15;

/// SOF_TIMESTAMPING_TX_HARDWARE, …RX_HARDWARE, …RX_SOFTWARE, …RAW_HARDWARE of linux/net_tstamp.h.
const TX_HARDWARE: u32 = 1 << 0;
const RX_HARDWARE: u32 = 1 << 2;
const RX_SOFTWARE: u32 = 1 << 3;
const RAW_HARDWARE: u32 = 1 << 6;
/// HWTSTAMP_FILTER_ALL, HWTSTAMP_TX_ON.
const FILTER_ALL: u32 = 1;
const SENT_ON: u32 = 1;

/// Queues that are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    pub transmit: u32,
    pub receive: u32,
}

/// Who can stamp frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamping {
    /// The card, every received frame.
    pub hardware: bool,
    /// The card, frames that leave.
    pub sent: bool,
    /// The kernel, when it takes a frame over from the driver.
    pub software: bool,
    /// Number of the card's clock (`/dev/ptpN`).
    pub clock: Option<u32>,
}

/// Questions about one interface.
#[derive(Debug)]
pub struct Ethtool<'a> {
    netlink: &'a Netlink,
    name: &'a str,
}

impl<'a> Ethtool<'a> {
    pub const fn new(netlink: &'a Netlink, name: &'a str) -> Self {
        Self { netlink, name }
    }

    pub fn driver(&self) -> Option<String> {
        // struct ethtool_drvinfo: cmd, driver[32], …, 196 bytes.
        let mut words = [0; 49];
        words[0] = GDRVINFO;
        self.ask(&mut words).ok()?;
        Some(text(&words[1..9])).filter(|name| !name.is_empty())
    }

    pub fn speed_bps(&self) -> Option<u64> {
        // struct ethtool_cmd, 44 bytes: speed is the low half of word 3, its upper bits that of word 7; in
        // Mb/s.
        let mut words = [0; 11];
        words[0] = GSET;
        self.ask(&mut words).ok()?;
        let speed = (words[3] & 0xffff) | ((words[7] & 0xffff) << 16);
        // 0xffff_ffff and 0xffff: unknown.
        (speed != 0 && speed != u32::MAX && speed != 0xffff).then(|| u64::from(speed) * 1_000_000)
    }

    pub fn queues(&self) -> Option<Queues> {
        // struct ethtool_channels: cmd, max × 4, then receive, transmit, other, combined.
        let mut words = [0; 9];
        words[0] = GCHANNELS;
        self.ask(&mut words).ok()?;
        let queues = Queues { transmit: words[6] + words[8], receive: words[5] + words[8] };
        (queues.transmit > 0 && queues.receive > 0).then_some(queues)
    }

    pub fn stamping(&self) -> Stamping {
        // struct ethtool_ts_info: cmd, so_timestamping, phc_index, tx_types, reserved × 3, rx_filters, reserved
        // × 3.
        let mut words = [0; 11];
        words[0] = GET_TS_INFO;
        if self.ask(&mut words).is_err() {
            // Every kernel stamps by itself; a driver that says nothing does nothing.
            return Stamping { software: true, ..Stamping::default() };
        }
        let has = |bits: u32| words[1] & bits == bits;
        Stamping {
            hardware: has(RX_HARDWARE | RAW_HARDWARE) && words[7] & (1 << FILTER_ALL) != 0,
            sent: has(TX_HARDWARE | RAW_HARDWARE) && words[3] & (1 << SENT_ON) != 0,
            software: has(RX_SOFTWARE),
            clock: (words[2] as i32 >= 0).then_some(words[2]),
        }
    }

    /// Offloads that the driver tells of, and whether each is on.
    pub fn offloads(&self) -> Vec<(&'static str, bool)> {
        // struct ethtool_value: cmd, data.
        let value = |command| {
            let mut words = [command, 0];
            self.ask(&mut words).ok().map(|()| words[1])
        };
        let switches = SWITCHES.iter().filter_map(|(command, name)| Some((*name, value(*command)? != 0)));
        let merging = value(GFLAGS).map(|flags| ("lro", flags & LRO != 0));
        switches.chain(merging).collect()
    }

    pub fn rings(&self) -> Option<Rings> {
        // struct ethtool_ringparam: cmd, most × 4 (rx, mini, jumbo, tx), then what is set, in the same order.
        let mut words = [0; 9];
        words[0] = GRINGPARAM;
        self.ask(&mut words).ok()?;
        let (receive_most, transmit_most, receive, transmit) = (words[1], words[4], words[5], words[8]);
        (receive > 0 || transmit > 0).then_some(Rings { receive, receive_most, transmit, transmit_most })
    }

    pub fn coalescing(&self) -> Option<Coalescing> {
        // struct ethtool_coalesce, 92 bytes: rx µs, rx frames, the same in interrupts, tx µs …, adaptive rx is
        // word 10.
        let mut words = [0; 23];
        words[0] = GCOALESCE;
        self.ask(&mut words).ok()?;
        Some(Coalescing {
            receive_us: words[1],
            receive_frames: words[2],
            transmit_us: words[5],
            is_adaptive: words[10] != 0,
        })
    }

    pub fn statistics(&self) -> Vec<(String, u64)> {
        self.try_statistics().unwrap_or_default()
    }

    fn try_statistics(&self) -> io::Result<Vec<(String, u64)>> {
        // struct ethtool_sset_info: cmd, reserved, mask (64 bits), then a count for each bit that was set.
        let mut info = [GSSET_INFO, 0, 1 << STRINGS_OF_STATISTICS, 0, 0];
        self.ask(&mut info)?;
        let count = if info[2] == 0 { 0 } else { (info[4] as usize).min(MOST_COUNTERS) };
        // struct ethtool_gstrings: cmd, set, length, strings of 32 bytes each.
        let mut names = vec![0; 3 + count * STRING_LENGTH / 4];
        names[..3].copy_from_slice(&[GSTRINGS, STRINGS_OF_STATISTICS, count as u32]);
        self.ask(&mut names)?;
        // struct ethtool_stats: cmd, count, values of 64 bits each.
        let mut values = vec![0; 2 + count * 2];
        values[..2].copy_from_slice(&[GSTATS, count as u32]);
        self.ask(&mut values)?;
        let names = names[3..].chunks_exact(STRING_LENGTH / 4).map(text);
        let values = values[2..].chunks_exact(2).map(|pair| u64::from(pair[0]) | (u64::from(pair[1]) << 32));
        Ok(names.zip(values).collect())
    }

    /// Asks; the answer is in `words`.
    fn ask(&self, words: &mut [u32]) -> io::Result<()> {
        let pointer = words.as_mut_ptr();
        with_request(self.netlink.fd(), libc::SIOCETHTOOL as _, |request| {
            set_name(request, self.name);
            request.ifr_ifru.ifru_data = pointer.cast();
        })
        .map(drop)
    }
}

/// How a card stamps (struct hwtstamp_config: flags, tx_type, rx_filter).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps([u32; 3]);

impl Stamps {
    pub const OFF: Self = Self([0; 3]);

    /// As the card is set now.
    ///
    /// # Errors
    /// The driver does not tell.
    pub fn read(netlink: &Netlink, name: &str) -> io::Result<Self> {
        let mut config = [0_u32; 3];
        ask_stamps(netlink, name, libc::SIOCGHWTSTAMP as _, &mut config)?;
        Ok(Self(config))
    }

    /// Sets the card; how it is set then, which may be more than was asked for.
    ///
    /// # Errors
    /// The driver cannot, or there is no privilege.
    pub fn write(self, netlink: &Netlink, name: &str) -> io::Result<Self> {
        let mut config = self.0;
        ask_stamps(netlink, name, libc::SIOCSHWTSTAMP as _, &mut config)?;
        Ok(Self(config))
    }

    /// The same with received or sent frames stamped, too. What is on stays on: others may live on it.
    pub const fn with(self, received: bool, sent: bool) -> Self {
        let [flags, tx, rx] = self.0;
        Self([flags, if sent && tx == 0 { SENT_ON } else { tx }, if received { FILTER_ALL } else { rx }])
    }

    pub const fn has(self, received: bool, sent: bool) -> bool {
        (!received || self.0[2] == FILTER_ALL) && (!sent || self.0[1] != 0)
    }
}

fn ask_stamps(netlink: &Netlink, name: &str, command: libc::Ioctl, config: &mut [u32; 3]) -> io::Result<()> {
    let pointer = config.as_mut_ptr();
    with_request(netlink.fd(), command, |request| {
        set_name(request, name);
        request.ifr_ifru.ifru_data = pointer.cast();
    })
    .map(drop)
}

/// Whether the interface of that request's name has a carrier, if its driver tells.
pub fn has_carrier(netlink: &Netlink, name: &libc::ifreq) -> Option<bool> {
    let mut words = [GLINK, 0];
    let pointer = words.as_mut_ptr();
    let asked = with_request(netlink.fd(), libc::SIOCETHTOOL as _, |request| {
        request.ifr_name = name.ifr_name;
        request.ifr_ifru.ifru_data = pointer.cast();
    });
    asked.ok().map(|_| words[1] != 0)
}

/// One ioctl about an interface: `fill` says which and what, the answer comes back.
pub fn with_request(
    socket: BorrowedFd<'_>,
    command: libc::Ioctl,
    fill: impl FnOnce(&mut libc::ifreq),
) -> io::Result<libc::ifreq> {
    // SAFETY: `ifreq` is plain integers, pointers and a union of them; all zeroes is a value of it.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    fill(&mut request);
    // SAFETY: the request outlives the call; where it points to a buffer, the caller made that as long as
    // `command` needs.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), command, &mut request) };
    if status == 0 { Ok(request) } else { Err(io::Error::last_os_error()) }
}

/// Writes the name, and at least one zero after it.
pub fn set_name(request: &mut libc::ifreq, name: &str) {
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
}

/// A string of bytes in words, up to the first zero.
fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::Stamps;

    #[test]
    fn what_is_stamped_already_stays_so() {
        // A PTP daemon's: frames that leave (1), and some of those that arrive (12: event messages).
        let daemon = Stamps([0, 1, 12]);
        assert!(daemon.has(false, true) && !daemon.has(true, false));
        assert_eq!(daemon.with(true, false), Stamps([0, 1, 1]));
        // One-step stamping (2) is on, too.
        assert_eq!(Stamps([0, 2, 0]).with(true, true), Stamps([0, 2, 1]));
        assert_eq!(Stamps::OFF.with(false, true), Stamps([0, 1, 0]));
    }
}
