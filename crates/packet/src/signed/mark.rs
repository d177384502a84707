//! What a frame's bytes say of it: signed and whole, damaged, or a stranger.
//!
//! Damage is seen by the checksums of IPv4, UDP and TCP, by the signature's own check, and by headers that no
//! longer lead to the signature. What nothing covers (Ethernet's addresses, padding, UDP over IPv4 without a
//! checksum) is not seen. A checksum that a card was to finish is none: such frames are known by what the port
//! says of them, or by the sum of the pseudo-header in its place.

use port::Frame;
use wire::inner;
use wire::parse::{self, Tuple};
use wire::signature::{self, Signature};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A signature, and nothing wrong with the frame.
    Signed(Signature),
    /// A signature, and behind it another: several frames that the sender's kernel left for a card to cut up.
    Merged(Signature),
    /// The signature can be read, and something else is wrong.
    Broken(Signature, Damage),
    /// It had a signature, which cannot be read.
    Damaged,
    /// No frame of ours.
    Plain,
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The headers do not lead to the signature any more.
    Headers,
    /// A checksum is wrong.
    Ip,
    Udp,
    Tcp,
}

impl Damage {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Headers => "its headers are damaged",
            Self::Ip => "its IPv4 header checksum is wrong",
            Self::Udp => "its UDP checksum is wrong",
            Self::Tcp => "its TCP checksum is wrong",
        }
    }
}

/// Reads marks; it remembers what helps to know a damaged frame again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    /// Where the payload of the last good frame was, and what it said.
    last: Option<(usize, Signature)>,
    /// Leave checksums alone.
    trusting: bool,
    /// What another run signs has numbers far from these: only a number that is near tells whose a damaged
    /// frame was.
    numbers_tell: bool,
}

/// Bytes that look like the time of a signature: so often it is seen whether they are.
const MOST_HITS: usize = 4;
/// A number this far from the last is no other's.
const NEAR: u64 = 1 << 16;

impl Reader {
    /// `trusting` leaves checksums alone.
    pub fn new(trusting: bool) -> Self {
        Self { trusting, ..Self::default() }
    }

    pub(super) fn with_numbers(self, numbers_tell: bool) -> Self {
        Self { numbers_tell, ..self }
    }

    #[inline]
    pub fn read(&mut self, frame: &Frame<'_>) -> Mark {
        match self.read_first(frame) {
            Mark::Signed(found) if frame.card_work.split || self.holds_another(frame.data, &found) => {
                Mark::Merged(found)
            }
            mark => mark,
        }
    }

    /// Whether there is one more signature of about the same time behind the one at the start of the payload.
    #[inline]
    fn holds_another(&self, data: &[u8], found: &Signature) -> bool {
        let behind = self.last.and_then(|(place, _)| data.get(place + signature::LENGTH..));
        let Some(behind) = behind.filter(|behind| behind.len() >= signature::LENGTH) else { return false };
        // What the word that says when it was sent begins with: the same for four seconds.
        let word = found.words().1.to_be_bytes();
        memchr::memmem::find_iter(behind, &word[..4]).take(MOST_HITS).any(|hit| {
            let other = hit.checked_sub(8).and_then(|start| Signature::read(&behind[start..]));
            other.is_some_and(|other| other.stream == found.stream)
        })
    }

    #[inline]
    fn read_first(&mut self, frame: &Frame<'_>) -> Mark {
        let data = frame.data;
        // The common headers first: Ethernet, IPv4 without options, UDP.
        let is_common = data.len() >= 42 && data[12..15] == [8, 0, 0x45] && data[23] == parse::UDP;
        if is_common && let Some(found) = Signature::read(&data[42..]) {
            if !self.is_plausible(&found, frame) {
                return Mark::Plain;
            }
            if self.trusting || common_is_whole(data, frame.length) {
                self.last = Some((42, found));
                return Mark::Signed(found);
            }
        }
        self.read_any(frame)
    }

    fn read_any(&mut self, frame: &Frame<'_>) -> Mark {
        let outer = parse::summary(frame.data);
        let at = |tuple: &Tuple| frame.data.get(usize::from(tuple.payload)..).and_then(Signature::read);
        let (found, tuple) = match outer.as_ref().map(|outer| (at(outer), outer)) {
            // Perhaps in a packet that this one carries.
            Some((None, outer)) => {
                let inside = inner::first(frame.data, outer, |tuple| Some((at(tuple)?, *tuple)));
                inside.map_or((None, Some(*outer)), |(found, tuple)| (Some(found), Some(tuple)))
            }
            Some((found, outer)) => (found, Some(*outer)),
            None => (None, None),
        };
        match (found, &tuple) {
            (Some(found), _) if !self.is_plausible(&found, frame) => Mark::Plain,
            (Some(found), Some(tuple)) => match self.damage(frame, tuple) {
                Some(damage) => Mark::Broken(found, damage),
                None => {
                    self.last = Some((usize::from(tuple.payload), found));
                    Mark::Signed(found)
                }
            },
            _ => self.remains(frame, tuple.as_ref()),
        }
    }

    fn damage(&self, frame: &Frame<'_>, tuple: &Tuple) -> Option<Damage> {
        match self.trusting {
            true => None,
            false => damage(frame.data, frame.length, tuple).filter(|damage| {
                // Nobody has finished it, so it can tell of nothing.
                !frame.card_work.checksum || !matches!(damage, Damage::Udp | Damage::Tcp)
            }),
        }
    }

    /// A frame of the past or the future is another's, whatever its bytes happen to be.
    #[inline]
    fn is_plausible(&self, found: &Signature, frame: &Frame<'_>) -> bool {
        frame.stamp.0 == 0 || found.is_near(frame.stamp.0)
    }

    /// Whether a frame without a readable signature where its headers lead had one.
    #[cold]
    fn remains(&self, frame: &Frame<'_>, tuple: Option<&Tuple>) -> Mark {
        let Some((place, last)) = self.last else { return Mark::Plain };
        let at = |place: usize| frame.data.get(place..).unwrap_or_default();
        if let Some(found) = Signature::read(at(place)) {
            return Mark::Broken(found, Damage::Headers);
        }
        let is_damaged = tuple.is_some_and(|tuple| self.damage(frame, tuple).is_some());
        let places = [Some(place), tuple.map(|tuple| usize::from(tuple.payload))];
        match places.into_iter().flatten().any(|place| self.resembles(at(place), &last, is_damaged)) {
            true => Mark::Damaged,
            false => Mark::Plain,
        }
    }

    /// Whether a payload was a signature like the last one: the time fits, or the number and all of the time
    /// but one byte. (A number alone is not enough: padding has those of the first frames.) Where a checksum of
    /// the frame is wrong, any time will do but zeros, which padding has. Of 2²¹ payloads of others not one
    /// passes. Where numbers tell, a time that fits is not enough: the number has to, but for one byte.
    fn resembles(&self, payload: &[u8], last: &Signature, is_damaged: bool) -> bool {
        let Some(bytes) = payload.first_chunk::<{ signature::LENGTH }>() else { return false };
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u64::from_be_bytes(*word));
        let (a, b) = (word(0), word(8));
        let like = last.words();
        if is_its_time(b, last) {
            return !self.numbers_tell
                || is_near(a, last)
                || but_one_byte(a, like.0).any(|a| is_near(a, last));
        }
        is_near(a, last) && (is_damaged && b != 0 || but_one_byte(b, like.1).any(|b| is_its_time(b, last)))
    }
}

/// Whether the word that has the number has one near the last one's.
fn is_near(a: u64, last: &Signature) -> bool {
    let ahead = (a >> 24).wrapping_sub(last.seq) % signature::SEQUENCES;
    ahead < NEAR || signature::SEQUENCES - ahead < NEAR
}

/// A word with one of its bytes as in `like`, for each of them.
fn but_one_byte(word: u64, like: u64) -> impl Iterator<Item = u64> {
    (0..8).map(|byte| 0xff << (8 * byte)).map(move |mask: u64| word & !mask | like & mask)
}

/// Whether the word that says when a frame was sent fits the last one's.
fn is_its_time(b: u64, last: &Signature) -> bool {
    b >> 60 == signature::VERSION && last.is_near(signature::EPOCH_UNIX_NS + (b & ((1 << 60) - 1)))
}

/// Checksums of an untagged frame of IPv4 without options and UDP.
#[inline]
fn common_is_whole(data: &[u8], length: usize) -> bool {
    let (ip, udp) = data[14..].split_at(20);
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let size = usize::from(u16::from_be_bytes([udp[4], udp[5]]));
    if fold(sum(ip)) != 0xffff {
        return false;
    }
    let is_whole = data.len() >= length && total == size + 20 && udp.len() >= size;
    if !is_whole || ip[6] & 0x3f != 0 || ip[7] != 0 || udp[6..8] == [0, 0] {
        // Cut off, in pieces, or without a checksum: the long way.
        return false;
    }
    let pseudo = sum(&ip[12..20]) + u64::from(u16::to_be(17)) + u64::from(u16::to_be(size as u16));
    fold(pseudo + sum(&udp[..size])) == 0xffff
}

/// The first checksum that is wrong, of those that can be checked.
fn damage(data: &[u8], length: usize, tuple: &Tuple) -> Option<Damage> {
    let (network, transport) = (usize::from(tuple.network), usize::from(tuple.transport));
    let ip = data.get(network..transport)?;
    let mut is_part = tuple.is_later_fragment || data.len() < length;
    let addresses = match tuple.ethertype {
        parse::ETHERTYPE_IPV4 => {
            if fold(sum(ip)) != 0xffff {
                return Some(Damage::Ip);
            }
            is_part |= ip.get(6)? & 0x20 != 0;
            ip.get(12..20)?
        }
        // The first 40 bytes; behind a routing header the last address would be another, which nobody sends.
        parse::ETHERTYPE_IPV6 => ip.get(8..40)?,
        _ => return None,
    };
    let segment = data.get(transport..usize::from(tuple.end))?;
    let (wrong, place) = match tuple.protocol {
        parse::UDP => (Damage::Udp, 6),
        parse::TCP => (Damage::Tcp, 16),
        _ => return None,
    };
    let has_none = tuple.protocol == parse::UDP && segment.get(6..8)? == [0, 0];
    if is_part || segment.len() < place + 2 || has_none {
        return None;
    }
    let size = segment.len() as u32;
    let size = u64::from(((size >> 16) as u16).to_be()) + u64::from((size as u16).to_be());
    let pseudo = sum(addresses) + u64::from(u16::from(tuple.protocol).to_be()) + size;
    let is_begun = || u16::from_ne_bytes([segment[place], segment[place + 1]]) == fold(pseudo);
    (fold(pseudo + sum(segment)) != 0xffff && !is_begun()).then_some(wrong)
}

/// The sum of RFC 1071 over 16-bit words as they lie in memory, not yet folded. Up to 4 GB do not overflow.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut total: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    total += u64::from(u32::from_ne_bytes(last));
    total
}

/// Carries added back in until 16 bits are left; 0xffff is a sum that holds (the byte order does not matter for
/// that).
#[inline]
fn fold(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}
