//! Options of the TCP header, read and written over bytes (RFC 9293 §3.2, RFC 7323, RFC 2018).
//!
//! ```text
//! kind        0 end   1 no-operation   2 MSS   3 window scale   4 SACK-permitted   5 SACK   8 timestamps
//! its bytes   1       1                4       3                2                  2 + 8 n  10
//! ```
//!
//! All others are skipped by their length (MUST-6). What is written is padded to words as Linux does: NOP in
//! front, so that nothing stands after the end.

/// Most bytes of options in a header.
pub const MOST_OPTION_BYTES: usize = 40;

mod kind {
    pub const END: u8 = 0;
    pub const NOP: u8 = 1;
    pub const MSS: u8 = 2;
    pub const SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const STAMPS: u8 = 8;
}

/// The options that this client knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Only with SYN.
    pub mss: Option<u16>,
    /// Only with SYN.
    pub shift: Option<u8>,
    /// Only with SYN.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub stamps: Option<(u32, u32)>,
    /// The first block: its left edge, and the number after its last.
    pub sack: Option<(u32, u32)>,
    /// Those that follow it, without a gap.
    pub further_blocks: [Option<(u32, u32)>; 3],
}

/// Options that contradict themselves; the segment must not be used (MUST-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The length is missing, below 2 or beyond the header.
    Length { kind: u8 },
    /// The length is not that of its kind.
    Size { kind: u8, length: u8 },
}

impl core::fmt::Display for OptionError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Length { kind } => write!(f, "TCP option {kind}: its length does not fit the header"),
            Self::Size { kind, length } => write!(f, "TCP option {kind}: its length cannot be {length}"),
        }
    }
}

impl core::error::Error for OptionError {}

impl Options {
    /// Reads the bytes between the fixed header and the payload. The first of several options of a kind counts.
    ///
    /// # Errors
    /// A length that is missing, does not fit the header or is not that of its kind.
    pub fn parse(mut bytes: &[u8]) -> Result<Self, OptionError> {
        let mut options = Self::default();
        loop {
            let (kind, length) = match bytes {
                [] | [kind::END, ..] => return Ok(options),
                [kind::NOP, rest @ ..] => {
                    bytes = rest;
                    continue;
                }
                [kind] => return Err(OptionError::Length { kind: *kind }),
                [kind, length, ..] => (*kind, usize::from(*length)),
            };
            if length < 2 || length > bytes.len() {
                return Err(OptionError::Length { kind });
            }
            let (option, rest) = bytes.split_at(length);
            options.take(kind, &option[2..])?;
            bytes = rest;
        }
    }

    fn take(&mut self, kind: u8, body: &[u8]) -> Result<(), OptionError> {
        match (kind, body) {
            (kind::MSS, [a, b]) => {
                self.mss.get_or_insert(u16::from_be_bytes([*a, *b]));
            }
            (kind::SCALE, [shift]) => {
                self.shift.get_or_insert(*shift);
            }
            (kind::SACK_PERMITTED, []) => self.sack_permitted = true,
            (kind::STAMPS, [a, b, c, d, e, f, g, h]) => {
                self.stamps.get_or_insert((word([*a, *b, *c, *d]), word([*e, *f, *g, *h])));
            }
            (kind::SACK, [a, b, c, d, e, f, g, h, rest @ ..]) if rest.len() % 8 == 0 => {
                self.take_blocks((word([*a, *b, *c, *d]), word([*e, *f, *g, *h])), rest);
            }
            (kind::MSS | kind::SCALE | kind::SACK_PERMITTED | kind::STAMPS | kind::SACK, _) => {
                return Err(OptionError::Size { kind, length: body.len() as u8 + 2 });
            }
            _ => {}
        }
        Ok(())
    }

    fn take_blocks(&mut self, first: (u32, u32), rest: &[u8]) {
        if self.sack.is_none() {
            (self.sack, self.further_blocks) = (Some(first), further_blocks(rest));
        }
    }

    /// How many blocks fit behind the first one.
    fn room_for_blocks(&self) -> usize {
        let words = [self.mss.is_some(), self.sack_permitted, self.shift.is_some()];
        let others = 4 * words.iter().filter(|is_there| **is_there).count();
        let stamps = if self.stamps.is_some() { 12 } else { 0 };
        (MOST_OPTION_BYTES - others - stamps - 12) / 8
    }

    /// Writes the options, a multiple of four bytes, and says how many. All five together take 4 + 4 + 4 + 12 +
    /// 12; of the further blocks, those are left out that would make it more than [`MOST_OPTION_BYTES`].
    pub fn write(&self, room: &mut [u8; MOST_OPTION_BYTES]) -> usize {
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            room[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        if let Some(mss) = self.mss {
            put(&[kind::MSS, 4]);
            put(&mss.to_be_bytes());
        }
        if self.sack_permitted {
            put(&[kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]);
        }
        if let Some((value, echo)) = self.stamps {
            put(&[kind::NOP, kind::NOP, kind::STAMPS, 10]);
            put(&value.to_be_bytes());
            put(&echo.to_be_bytes());
        }
        if let Some(shift) = self.shift {
            put(&[kind::NOP, kind::SCALE, 3, shift]);
        }
        if let Some(first) = self.sack {
            let further = self.further_blocks.iter().map_while(|block| *block).take(self.room_for_blocks());
            let length = 10 + 8 * further.clone().count() as u8;
            put(&[kind::NOP, kind::NOP, kind::SACK, length]);
            for (left, right) in core::iter::once(first).chain(further) {
                put(&left.to_be_bytes());
                put(&right.to_be_bytes());
            }
        }
        at
    }
}

fn further_blocks(bytes: &[u8]) -> [Option<(u32, u32)>; 3] {
    let mut blocks = bytes.chunks_exact(8).map(|block| match block {
        [a, b, c, d, e, f, g, h] => Some((word([*a, *b, *c, *d]), word([*e, *f, *g, *h]))),
        _ => None,
    });
    core::array::from_fn(|_| blocks.next().flatten())
}

const fn word(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests;
