//! The ways in which frames arrive: what both versions of the receive ring have in common.

use crate::card_clock::CardClock;
use crate::{CardWork, Frame, Stamp};
use libc::{TP_STATUS_CSUMNOTREADY, TP_STATUS_LOSING, TP_STATUS_TS_RAW_HARDWARE};
use libc::{TP_STATUS_VLAN_TPID_VALID, TP_STATUS_VLAN_VALID};

/// Takes frames out of a ring.
pub trait Inlet: Send {
    /// Shows up to `most` frames.
    fn read(&mut self, most: usize, show: &mut Show<'_>);

    /// Forgets what lies ready, and says how many frames that were.
    fn forget(&mut self) -> u64 {
        let mut told = Tally::default();
        for _ in 0..MOST_FORGOTTEN {
            let before = told.frames;
            self.read(1_024, &mut Show { read: &mut |_| (), snap: usize::MAX, tally: &mut told, card: None });
            if told.frames == before {
                break;
            }
        }
        told.frames
    }
}

/// Calls of [`Inlet::forget`]: frames arrive meanwhile, and it must end.
const MOST_FORGOTTEN: usize = 1_024;

/// What was read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub frames: u64,
    pub bytes: u64,
    /// The kernel says that frames were lost before one of these.
    pub is_losing: bool,
    /// Lost before the first frame that will be shown.
    pub lost_before: u32,
    /// Frames without a stamp of the card, which was to stamp them: they have the kernel's.
    pub unstamped: u64,
}

/// Where frames go, and how they are counted.
pub struct Show<'a> {
    pub read: &'a mut dyn FnMut(&Frame<'_>),
    pub snap: usize,
    pub tally: &'a mut Tally,
    /// The card's clock, where that stamps.
    pub card: Option<&'a CardClock>,
}

/// What a header says of a received frame, of either version.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub status: u32,
    pub length: u32,
    pub sec: u32,
    pub nsec: u32,
    pub tci: u16,
    pub tpid: u16,
    /// It holds several frames, merged or not yet split.
    pub is_merged: bool,
}

const ADDRESSES: usize = 12;
/// Bytes of a tag.
pub const TAG: usize = 4;

impl Show<'_> {
    /// By the wall clock.
    #[inline]
    fn stamp(&mut self, header: Header) -> Stamp {
        let told_ns = u64::from(header.sec) * 1_000_000_000 + u64::from(header.nsec);
        match self.card {
            Some(card) if header.status & TP_STATUS_TS_RAW_HARDWARE != 0 => card.stamp(told_ns),
            Some(_) => {
                self.tally.unstamped += 1;
                Stamp(told_ns)
            }
            None => Stamp(told_ns),
        }
    }

    /// Shows a frame whose bytes lie behind room for a tag, of [`TAG`] bytes.
    #[inline]
    pub fn frame(&mut self, bytes: &mut [u8], header: Header) {
        let is_tagged = header.tci != 0 || header.status & TP_STATUS_VLAN_VALID != 0;
        let (data, length) = if is_tagged && bytes.len() >= TAG + ADDRESSES {
            put_tag_back(bytes, header);
            (&bytes[..], header.length as usize + TAG)
        } else {
            (&bytes[TAG..], header.length as usize)
        };
        let kept = data.len().min(self.snap);
        let stamp = self.stamp(header);
        let lost_before = std::mem::take(&mut self.tally.lost_before);
        let checksum = header.status & TP_STATUS_CSUMNOTREADY != 0;
        let card_work = CardWork { checksum, split: header.is_merged };
        (self.read)(&Frame { data: &data[..kept], length, stamp, lost_before, card_work });
        self.tally.frames += 1;
        self.tally.bytes += length as u64;
        self.tally.is_losing |= header.status & TP_STATUS_LOSING != 0;
    }
}

/// The kernel takes the outermost VLAN tag out of a frame before sockets see it. Both addresses move into the
/// room before the frame, and the tag between them and the rest.
fn put_tag_back(data: &mut [u8], header: Header) {
    data.copy_within(TAG..TAG + ADDRESSES, 0);
    let has_tpid = header.status & TP_STATUS_VLAN_TPID_VALID != 0;
    let tpid = if has_tpid { header.tpid } else { 0x8100 };
    data[ADDRESSES..ADDRESSES + 2].copy_from_slice(&tpid.to_be_bytes());
    data[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&header.tci.to_be_bytes());
}
