//! Whether a file is a whole bitstream for a Lattice ECP5, before it is loaded: its preamble, its part, that it
//! has all frames of it, and the CRC of each.
//!
//! ```text
//!   ff 00 comments… ff │ ff ff bd b3 │ command, three bytes, what belongs to it │ …
//! ```
//!
//! The CRC is that of polynomial 0x8005, most significant bit first, from 0, over everything since the CRC
//! before but for no-operations. (Lattice FPGA-TN-02039, sysCONFIG usage guide; the formats of frames are those
//! of Project Trellis.)

use std::fmt;

/// What begins a bitstream, behind comments.
const PREAMBLE: [u8; 4] = [0xff, 0xff, 0xbd, 0xb3];
/// Within so many bytes.
const MOST_COMMENTS: usize = 64 << 10;
/// A block of a memory's contents.
const MEMORY_WORDS: usize = 9;

/// A part of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: &'static str,
    pub id: u32,
    frame_bytes: usize,
    /// Of its whole configuration.
    frames: usize,
}

const PARTS: &[Part] = &[
    Part { name: "LFE5U-12F", id: 0x2111_1043, frame_bytes: 74, frames: 7_562 },
    Part { name: "LFE5U-25F", id: 0x4111_1043, frame_bytes: 74, frames: 7_562 },
    Part { name: "LFE5U-45F", id: 0x4111_2043, frame_bytes: 106, frames: 9_470 },
    Part { name: "LFE5U-85F", id: 0x4111_3043, frame_bytes: 142, frames: 13_294 },
    Part { name: "LFE5UM-25F", id: 0x0111_1043, frame_bytes: 74, frames: 7_562 },
    Part { name: "LFE5UM-45F", id: 0x0111_2043, frame_bytes: 106, frames: 9_470 },
    Part { name: "LFE5UM-85F", id: 0x0111_3043, frame_bytes: 142, frames: 13_294 },
    Part { name: "LFE5UM5G-25F", id: 0x8111_1043, frame_bytes: 74, frames: 7_562 },
    Part { name: "LFE5UM5G-45F", id: 0x8111_2043, frame_bytes: 106, frames: 9_470 },
    Part { name: "LFE5UM5G-85F", id: 0x8111_3043, frame_bytes: 142, frames: 13_294 },
];

/// A bitstream that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    pub part: Part,
    /// Frames of configuration, each with its CRC.
    pub frames: usize,
    pub is_compressed: bool,
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    NoPreamble,
    /// It ends within a command.
    CutOff,
    Part(u32),
    Command {
        command: u8,
        at: usize,
    },
    Crc {
        at: usize,
        has: u16,
        right: u16,
    },
    /// Frames without CRCs.
    Unchecked {
        at: usize,
    },
    /// Not as many frames as the part has.
    Frames {
        part: &'static str,
        has: usize,
        needs: usize,
    },
    /// It configures nothing.
    Empty,
    /// Frames before the part, or compressed ones before their dictionary.
    Order {
        at: usize,
    },
    /// It never says that it is done.
    Undone,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoPreamble => write!(f, "no preamble (ff ff bd b3): this is not an ECP5 bitstream"),
            Self::CutOff => write!(f, "it is cut off: it ends in the middle of a command"),
            Self::Part(id) => write!(f, "it is for a part with the id {id:#010x}, which is not an ECP5"),
            Self::Command { command, at } => write!(f, "byte {at}: {command:#04x} is not a command"),
            Self::Crc { at, has, right } => {
                write!(
                    f,
                    "byte {at}: the CRC is {has:#06x}, but the data before it has {right:#06x}: it is damaged"
                )
            }
            Self::Unchecked { at } => {
                write!(f, "byte {at}: its frames have no CRCs, so nothing was compared: it may be damaged")
            }
            Self::Frames { part, has, needs } => {
                write!(f, "it has {has} frames, but the whole configuration of {part} has {needs}")
            }
            Self::Empty => write!(f, "it has no frames: it configures nothing"),
            Self::Order { at } => write!(f, "byte {at}: frames come before the commands that they need"),
            Self::Undone => write!(f, "it is cut off: the final command is missing"),
        }
    }
}

/// Walks through a file.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(file: &[u8]) -> Result<Checked, Broken> {
    let head = &file[..file.len().min(MOST_COMMENTS)];
    let at = head.windows(PREAMBLE.len()).position(|window| window == PREAMBLE).ok_or(Broken::NoPreamble)?;
    let mut walk = Walk { file, at: at + PREAMBLE.len(), crc: 0 };
    let (mut part, mut has_dictionary, mut frames, mut is_compressed, mut is_done) =
        (None, false, 0, false, false);
    while walk.at < file.len() {
        let at = walk.at;
        match walk.command()? {
            NO_OPERATION => {}
            RESET_CRC => {
                walk.skip(3)?;
                walk.crc = 0;
            }
            VERIFY_ID => {
                walk.skip(3)?;
                let id = walk.word()?;
                part = Some(*PARTS.iter().find(|part| part.id == id).ok_or(Broken::Part(id))?);
            }
            CONTROL | EBR_ADDRESS | JUMP => walk.skip(7)?,
            INIT_ADDRESS | SPI_MODE | SECURITY => walk.skip(3)?,
            DONE => {
                walk.skip(3)?;
                is_done = true;
            }
            USERCODE => walk.checked_block(4)?,
            DICTIONARY => {
                walk.checked_block(8)?;
                has_dictionary = true;
            }
            command @ (FRAMES | COMPRESSED_FRAMES) => {
                is_compressed = command == COMPRESSED_FRAMES;
                let part = part.filter(|_| has_dictionary || !is_compressed).ok_or(Broken::Order { at })?;
                frames += walk.frames(&part, is_compressed)?;
            }
            EBR_WRITE => {
                let (_, blocks) = walk.parameters()?;
                walk.skip(blocks * MEMORY_WORDS)?;
                walk.check_crc()?;
            }
            command => return Err(Broken::Command { command, at }),
        }
    }
    match part {
        Some(part) if frames > 0 && is_done && frames != part.frames => {
            Err(Broken::Frames { part: part.name, has: frames, needs: part.frames })
        }
        Some(part) if frames > 0 && is_done => Ok(Checked { part, frames, is_compressed }),
        Some(_) if frames > 0 => Err(Broken::Undone),
        _ => Err(Broken::Empty),
    }
}

const NO_OPERATION: u8 = 0xff;
const RESET_CRC: u8 = 0x3b;
const VERIFY_ID: u8 = 0xe2;
const CONTROL: u8 = 0x22;
const INIT_ADDRESS: u8 = 0x46;
const FRAMES: u8 = 0x82;
const COMPRESSED_FRAMES: u8 = 0xb8;
const DICTIONARY: u8 = 0x02;
const EBR_ADDRESS: u8 = 0xf6;
const EBR_WRITE: u8 = 0xb2;
const SPI_MODE: u8 = 0x79;
const JUMP: u8 = 0x7e;
const SECURITY: u8 = 0xce;
const USERCODE: u8 = 0xc2;
const DONE: u8 = 0x5e;

/// In the first parameter: a CRC follows.
const HAS_CRC: u8 = 0x80;
/// It does so only behind the last frame.
const CRC_AT_END: u8 = 0x40;
/// How many bytes are between frames.
const BETWEEN: u8 = 0x0f;

struct Walk<'a> {
    file: &'a [u8],
    at: usize,
    crc: u16,
}

impl Walk<'_> {
    fn byte(&mut self) -> Result<u8, Broken> {
        let byte = *self.file.get(self.at).ok_or(Broken::CutOff)?;
        self.at += 1;
        self.crc = crc(self.crc, byte);
        Ok(byte)
    }

    /// A command; one that does nothing does not count for the CRC.
    fn command(&mut self) -> Result<u8, Broken> {
        let before = self.crc;
        let command = self.byte()?;
        if command == NO_OPERATION {
            self.crc = before;
        }
        Ok(command)
    }

    fn skip(&mut self, bytes: usize) -> Result<(), Broken> {
        (0..bytes).try_for_each(|_| self.byte().map(drop))
    }

    fn word(&mut self) -> Result<u32, Broken> {
        (0..4).try_fold(0, |word, _| Ok(word << 8 | u32::from(self.byte()?)))
    }

    /// The three bytes behind a command: the first, and the others as a number.
    fn parameters(&mut self) -> Result<(u8, usize), Broken> {
        let (first, high, low) = (self.byte()?, self.byte()?, self.byte()?);
        Ok((first, usize::from(high) << 8 | usize::from(low)))
    }

    /// A command with so many bytes, and perhaps a CRC behind them.
    fn checked_block(&mut self, bytes: usize) -> Result<(), Broken> {
        let (first, _) = self.parameters()?;
        self.skip(bytes)?;
        if first & HAS_CRC == 0 { Ok(()) } else { self.check_crc() }
    }

    fn check_crc(&mut self) -> Result<(), Broken> {
        let (at, right) = (self.at, self.crc);
        let has = u16::from(self.byte()?) << 8 | u16::from(self.byte()?);
        self.crc = 0;
        if has == right { Ok(()) } else { Err(Broken::Crc { at, has, right }) }
    }

    /// The frames of configuration. Returns how many.
    fn frames(&mut self, part: &Part, is_compressed: bool) -> Result<usize, Broken> {
        let at = self.at;
        let (first, frames) = self.parameters()?;
        if first & HAS_CRC == 0 {
            return Err(Broken::Unchecked { at });
        }
        for n in 1..=frames {
            match is_compressed {
                true => self.compressed(part.frame_bytes.next_multiple_of(8))?,
                false => self.skip(part.frame_bytes)?,
            }
            if first & CRC_AT_END == 0 || n == frames {
                self.check_crc()?;
            }
            self.skip(usize::from(first & BETWEEN))?;
        }
        Ok(frames)
    }

    /// So many bytes in a code without prefixes: 0 a zero, 10 and four bits one of a few, 11 and eight bits
    /// any; filled up to a byte.
    fn compressed(&mut self, bytes: usize) -> Result<(), Broken> {
        let (mut word, mut bits) = (0_u32, 0);
        let mut take = |walk: &mut Self, count: u32| -> Result<u32, Broken> {
            while bits < count {
                word = word << 8 | u32::from(walk.byte()?);
                bits += 8;
            }
            bits -= count;
            Ok(word >> bits & ((1 << count) - 1))
        };
        for _ in 0..bytes {
            if take(self, 1)? == 1 {
                let rest = if take(self, 1)? == 1 { 8 } else { 4 };
                take(self, rest)?;
            }
        }
        Ok(())
    }
}

/// One byte more.
fn crc(crc: u16, byte: u8) -> u16 {
    (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x8005 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What ecppack makes of `.device LFE5U-25F` alone, up to its frames.
    fn plain() -> Vec<u8> {
        let mut file = vec![0xff, 0, 0xff, 0xff, 0xff, 0xbd, 0xb3, 0xff, 0xff, 0xff, 0xff, 0x3b, 0, 0, 0];
        file.extend([0xe2, 0, 0, 0, 0x41, 0x11, 0x10, 0x43, 0x22, 0, 0, 0, 0x40, 0, 0, 0, 0x46, 0, 0, 0]);
        file.extend([0x82, 0x91, 0x1d, 0x8a]);
        file
    }

    fn with_frames(frames: u16) -> Vec<u8> {
        let mut file = plain();
        let mut since = file.len() - 24;
        let end = file.len();
        file[end - 2..].copy_from_slice(&frames.to_be_bytes());
        for _ in 0..frames {
            file.extend([0; 74]);
            let sum = file[since..].iter().fold(0, |sum, byte| crc(sum, *byte));
            file.extend(sum.to_be_bytes());
            since = file.len();
            file.push(0xff);
        }
        file.extend([0x5e, 0, 0, 0, 0xff, 0xff]);
        file
    }

    #[test]
    fn the_crc_is_that_of_the_catalogue_and_of_ecppack() {
        // CRC-16/UMTS of "123456789".
        assert_eq!(b"123456789".iter().fold(0, |sum, byte| crc(sum, *byte)), 0xfee8);
        // As ecppack 0.11 writes it: behind the first frame of an empty LFE5U-25F (7 562 frames) b1d4, behind
        // the next d902.
        let mut first = plain();
        let end = first.len();
        first[end - 2..].copy_from_slice(&[0x1d, 0x8a]);
        first.extend([0; 74]);
        assert_eq!(first[end - 24..].iter().fold(0, |sum, byte| crc(sum, *byte)), 0xb1d4);
        let second = [&[0xff][..], &[0; 74]].concat();
        assert_eq!(second.iter().fold(0, |sum, byte| crc(sum, *byte)), 0xd902);
    }

    #[test]
    fn a_whole_bitstream_is_known_by_its_part() {
        let checked = check(&with_frames(7_562)).unwrap();
        assert_eq!((checked.part.name, checked.frames, checked.is_compressed), ("LFE5U-25F", 7_562, false));
    }

    #[test]
    fn compressed_frames_end_where_their_bits_do() {
        // From ecppack --compress: dictionary, then 80 zeros in 10 bytes, the CRC, a byte between.
        let mut file = plain();
        file.truncate(file.len() - 4);
        file.extend([0x02, 0, 0, 0, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, 0xb8, 0x91, 0x1d, 0x8a]);
        file.extend([0; 10]);
        let until = file.len();
        file.extend([0x5a, 0xa1, 0xff]);
        // The other 7 561 are alike.
        for _ in 1..0x1d8a {
            file.extend([0; 10]);
            file.extend([0xcc, 0xe8, 0xff]);
        }
        file.extend([0x5e, 0, 0, 0]);
        let checked = check(&file).unwrap();
        assert_eq!((checked.part.name, checked.frames, checked.is_compressed), ("LFE5U-25F", 7_562, true));
        file[until] ^= 1;
        assert_eq!(check(&file), Err(Broken::Crc { at: until, has: 0x5ba1, right: 0x5aa1 }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good = with_frames(2);
        assert_eq!(check(&good), Err(Broken::Frames { part: "LFE5U-25F", has: 2, needs: 7_562 }));
        let mut unchecked = good.clone();
        unchecked[36] &= !HAS_CRC;
        assert_eq!(check(&unchecked), Err(Broken::Unchecked { at: 36 }));
        assert!(Broken::Unchecked { at: 36 }.to_string().contains("nothing was compared"));
        assert_eq!(check(b"hello"), Err(Broken::NoPreamble));
        assert_eq!(check(&good[..60]), Err(Broken::CutOff));
        assert_eq!(check(&good[..good.len() - 6]), Err(Broken::Undone));
        assert_eq!(check(&plain()[..11]), Err(Broken::Empty));
        let mut other = good.clone();
        other[19] = 0x12;
        assert_eq!(check(&other), Err(Broken::Part(0x1211_1043)));
        let mut bent = good.clone();
        bent[60] ^= 0x10;
        assert!(matches!(check(&bent), Err(Broken::Crc { .. })));
        assert!(Broken::CutOff.to_string().contains("cut off"));
    }

    proptest! {
        #[test]
        fn a_bent_bit_of_a_frame_is_seen(at in 40_usize..180, bit in 0_u8..8) {
            let mut file = with_frames(2);
            prop_assume!(at < file.len() - 7);
            // The byte between two frames counts, too.
            file[at] ^= 1 << bit;
            let is_seen = matches!(check(&file), Err(Broken::Crc { .. }));
            prop_assert!(is_seen);
        }

        #[test]
        fn no_bytes_make_it_fail(rest in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = check(&rest);
            let _ = check(&[&plain()[..15], &rest[..]].concat());
            let _ = check(&[&plain()[..23], &[0x02; 12], &[0xb8], &rest[..]].concat());
        }
    }
}
