//! ICMPv6: echo (RFC 4443 §4; see [`crate::echo`]) and neighbour discovery's solicitation and advertisement
//! (RFC 4861 §4.3, §4.4).
//!
//! ```text
//!  0    1    2        4                     8
//! ┌────┬────┬────────┬──────────┬──────────┬─────────────────┐
//! │type│code│checksum│identifier│ sequence │ payload         │  echo
//! ├────┼────┼────────┼──────────┴──────────┼────────┬────────┤
//! │type│code│checksum│ R S O, reserved     │ target │options │  neighbour discovery
//! └────┴────┴────────┴─────────────────────┴────────┴────────┘
//!                                           8        24
//! ```

use crate::WireError;
use crate::bytes::{array, check, half, need, put_half, put_word, word};
use crate::checksum::{self, Pseudo};
use crate::echo::{Echo, Types};
use crate::ethernet::Mac;
use core::fmt;
use core::net::Ipv6Addr;

pub use crate::echo::LENGTH;

const NAME: &str = "ICMPv6";
/// Its number in IPv6's next header.
pub const PROTOCOL: u8 = 58;

pub mod field {
    pub use crate::echo::field::{CHECKSUM, CODE, KIND};
    use core::ops::Range;
    pub const FLAGS: usize = 4;
    pub const TARGET: Range<usize> = 8..24;
    pub const OPTIONS: usize = 24;
}

/// Of a solicitation or advertisement with the sender's Ethernet address.
pub const NEIGHBOUR_LENGTH: usize = 32;
pub const ECHO_REQUEST: u8 = 128;
pub const ECHO_REPLY: u8 = 129;
const TYPES: Types = Types { request: ECHO_REQUEST, reply: ECHO_REPLY };
pub const SOLICITATION: u8 = 135;
pub const ADVERTISEMENT: u8 = 136;

/// A message that has at least eight bytes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// # Errors
    /// `Short`.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        Ok(Self(bytes))
    }

    pub fn kind(&self) -> u8 {
        self.0[field::KIND]
    }

    pub fn code(&self) -> u8 {
        self.0[field::CODE]
    }

    pub fn checksum(&self) -> u16 {
        half(self.0, field::CHECKSUM)
    }

    /// # Errors
    /// `Checksum`, with the one that would be right.
    pub fn verify(&self, pseudo: &Pseudo) -> Result<(), WireError> {
        checksum::verify(NAME, self.0, field::CHECKSUM, pseudo.sum(PROTOCOL, self.0.len()))
    }

    /// The Ethernet address in the options of neighbour discovery, of the kind that is asked for (1: source, 2:
    /// target).
    fn link_address(&self, kind: u8) -> Option<Mac> {
        let mut rest = self.0.get(field::OPTIONS..)?;
        loop {
            let [is, eighths, ..] = *rest else { return None };
            let length = usize::from(eighths) * 8;
            // A length of 0 would never end (RFC 4861 §4.6).
            if length == 0 || length > rest.len() {
                return None;
            }
            if is == kind {
                return Some(Mac(array(rest, 2)));
            }
            rest = &rest[length..];
        }
    }
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    Echo(Echo),
    /// Who has `target`?
    Solicitation {
        target: Ipv6Addr,
        source: Option<Mac>,
    },
    /// `target` is at `link`.
    Advertisement {
        target: Ipv6Addr,
        link: Option<Mac>,
        router: bool,
        solicited: bool,
        override_: bool,
    },
}

impl Repr {
    /// # Errors
    /// `Field` for other messages, `Short` for neighbour discovery without a target.
    pub fn parse(view: &View<'_>) -> Result<Self, WireError> {
        let (bytes, kind) = (view.0, view.kind());
        check(view.code() == 0, NAME, "code", view.code(), "0")?;
        if let Some(echo) = Echo::read(bytes, TYPES) {
            return Ok(Self::Echo(echo));
        }
        let known = matches!(kind, SOLICITATION | ADVERTISEMENT);
        check(known, NAME, "type", kind, "128, 129 (echo), 135 or 136 (neighbour discovery)")?;
        need(NAME, bytes, field::TARGET.end)?;
        let target = Ipv6Addr::from(array::<16>(bytes, field::TARGET.start));
        if kind == SOLICITATION {
            return Ok(Self::Solicitation { target, source: view.link_address(1) });
        }
        let flags = word(bytes, field::FLAGS) >> 29;
        Ok(Self::Advertisement {
            target,
            link: view.link_address(2),
            router: flags & 4 != 0,
            solicited: flags & 2 != 0,
            override_: flags & 1 != 0,
        })
    }

    /// Bytes of the message without an echo's payload.
    pub const fn length(&self) -> usize {
        match self {
            Self::Echo(_) => LENGTH,
            Self::Solicitation { source: Some(_), .. } | Self::Advertisement { link: Some(_), .. } => {
                NEIGHBOUR_LENGTH
            }
            Self::Solicitation { .. } | Self::Advertisement { .. } => field::OPTIONS,
        }
    }

    /// Writes the message, which fills `room` (an echo's payload is there already), with its checksum.
    ///
    /// # Errors
    /// `Short`, if there is no room.
    pub fn emit(&self, room: &mut [u8], pseudo: &Pseudo) -> Result<(), WireError> {
        need(NAME, room, self.length())?;
        room[field::CODE] = 0;
        match *self {
            Self::Echo(echo) => echo.write(room, TYPES),
            Self::Solicitation { target, source } => neighbour(room, SOLICITATION, 0, target, source),
            Self::Advertisement { target, link, router, solicited, override_ } => {
                let flags = u32::from(router) << 31 | u32::from(solicited) << 30 | u32::from(override_) << 29;
                neighbour(room, ADVERTISEMENT, flags, target, link);
            }
        }
        put_half(room, field::CHECKSUM, 0);
        let total = checksum::sum(room) + pseudo.sum(PROTOCOL, room.len());
        put_half(room, field::CHECKSUM, checksum::finish(total));
        Ok(())
    }
}

fn neighbour(room: &mut [u8], kind: u8, flags: u32, target: Ipv6Addr, link: Option<Mac>) {
    room[field::KIND] = kind;
    put_word(room, field::FLAGS, flags);
    room[field::TARGET].copy_from_slice(&target.octets());
    if let Some(mac) = link {
        room[field::OPTIONS] = if kind == SOLICITATION { 1 } else { 2 };
        room[field::OPTIONS + 1] = 1;
        room[field::OPTIONS + 2..NEIGHBOUR_LENGTH].copy_from_slice(&mac.0);
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Echo(echo) => write!(f, "ICMPv6 {echo}"),
            Self::Solicitation { target, .. } => write!(f, "ICMPv6 who has {target}"),
            Self::Advertisement { target, link: Some(mac), .. } => write!(f, "ICMPv6 {target} is at {mac}"),
            Self::Advertisement { target, .. } => write!(f, "ICMPv6 {target} is there"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn pseudo() -> Pseudo {
        Pseudo::V6 { source: "fd00::1".parse().unwrap(), destination: "fd00::2".parse().unwrap() }
    }

    /// By hand: fd00 + 0001 + fd00 + 0002 + 003a + 0008 (pseudo) + 8000 + 0102 + 0304 = 27e4b → 7e4d; ~7e4d =
    /// 81b2.
    const ECHO: [u8; 8] = [128, 0, 0x81, 0xb2, 1, 2, 3, 4];

    #[test]
    fn raw_bytes_of_an_echo_are_read_and_written_back() {
        let view = View::new(&ECHO).unwrap();
        view.verify(&pseudo()).unwrap();
        assert!(View::new(&[128, 0, 0x81, 0xb2, 1, 2, 3, 5]).unwrap().verify(&pseudo()).is_err());
        assert_eq!((view.kind(), view.code(), view.checksum()), (128, 0, 0x81b2));
        let repr = Repr::parse(&view).unwrap();
        assert_eq!(repr.to_string(), "ICMPv6 echo request identifier 258 sequence 772");
        let mut room = [0xff; 8];
        repr.emit(&mut room, &pseudo()).unwrap();
        assert_eq!(room, ECHO);
    }

    #[test]
    fn neighbours_ask_and_answer() {
        let target = "fd00::2".parse().unwrap();
        let mac = Mac([2, 0, 0, 0, 0, 2]);
        for repr in [
            Repr::Solicitation { target, source: Some(mac) },
            Repr::Solicitation { target, source: None },
            Repr::Advertisement { target, link: Some(mac), router: false, solicited: true, override_: true },
            Repr::Advertisement { target, link: None, router: true, solicited: false, override_: false },
        ] {
            let mut room = [0xff; NEIGHBOUR_LENGTH];
            let room = &mut room[..repr.length()];
            repr.emit(room, &pseudo()).unwrap();
            let view = View::new(room).unwrap();
            view.verify(&pseudo()).unwrap();
            assert_eq!(Repr::parse(&view), Ok(repr));
        }
    }

    #[test]
    fn an_option_without_length_ends_the_search() {
        let mut room = [0; NEIGHBOUR_LENGTH];
        let target = "fd00::2".parse().unwrap();
        Repr::Solicitation { target, source: Some(Mac([2; 6])) }.emit(&mut room, &pseudo()).unwrap();
        room[25] = 0;
        let read = Repr::parse(&View::new(&room).unwrap()).unwrap();
        assert_eq!(read, Repr::Solicitation { target, source: None });
        // So does one that is longer than what is left.
        room[25] = 2;
        let read = Repr::parse(&View::new(&room).unwrap()).unwrap();
        assert_eq!(read, Repr::Solicitation { target, source: None });
    }

    #[test]
    fn an_option_is_found_behind_others() {
        let mut room = [0; NEIGHBOUR_LENGTH + 16];
        let target = "fd00::2".parse().unwrap();
        Repr::Solicitation { target, source: None }.emit(&mut room, &pseudo()).unwrap();
        room[24..26].copy_from_slice(&[14, 2]); // a nonce (RFC 3971 §5.3.2) of 16 bytes
        room[40..].copy_from_slice(&[1, 1, 2, 0, 0, 0, 0, 7]);
        let read = Repr::parse(&View::new(&room).unwrap()).unwrap();
        assert_eq!(read, Repr::Solicitation { target, source: Some(Mac([2, 0, 0, 0, 0, 7])) });
    }

    #[test]
    fn other_messages_are_told_by_their_type() {
        let error = Repr::parse(&View::new(&[1, 0, 0, 0, 0, 0, 0, 0]).unwrap()).unwrap_err().to_string();
        let with_code = Repr::parse(&View::new(&[128, 1, 0, 0, 0, 0, 0, 0]).unwrap());
        assert_eq!(with_code.unwrap_err().to_string(), "ICMPv6: code is 1; expected 0");
        assert_eq!(error, "ICMPv6: type is 1; expected 128, 129 (echo), 135 or 136 (neighbour discovery)");
    }
}
