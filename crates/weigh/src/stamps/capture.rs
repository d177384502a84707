//! Stamps of a capture: on the interface that packets leave by, or at the other end.

use super::Reader;
use crate::WeighError;
use crate::frames::NUMBER_AT;
use port::{Address, For, Instruction, Port, PortKind, Wish};
use units::Picos;
use wire::{Signature, parse};

/// Bytes kept of each frame: headers and signature.
const SNAP: usize = 96;
/// Frames that the ring holds.
const SLOTS: &str = "16384";

/// What of a frame is looked at (classic BPF: linux/filter.h).
const LOAD_BYTE: u16 = 0x30;
const IF_EQUAL: u16 = 0x15;
const IF_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
/// SKF_AD_OFF + SKF_AD_PKTTYPE, and what is there of a frame that leaves.
const PACKET_TYPE: u32 = 0xffff_f000 + 4;
const OUTGOING: u32 = 4;
const ALL: u32 = 0x0004_0000;

/// A capture; see the module.
pub struct Capture {
    port: Box<dyn Port>,
}

impl Capture {
    /// On the interface `interface` of the namespace that this thread is in. Only each `each`-th packet (a
    /// power of two) is looked at.
    ///
    /// # Errors
    /// No privilege (CAP_NET_RAW), or no such interface.
    pub fn open(interface: &str, is_outgoing: bool, each: u64) -> Result<Self, WeighError> {
        let address = Address::new(PortKind::Packet, interface)
            .with("outgoing", if is_outgoing { "yes" } else { "no" })
            .with("slots", SLOTS);
        let mut port = port::open(&address, &Wish { snap: Some(SNAP), ..Wish::receive() })?;
        port.filter(&program(is_outgoing, each))?;
        Ok(Self { port })
    }
}

/// UDP over IPv4 whose number ends in zeros, and which leaves where that is asked for.
fn program(is_outgoing: bool, each: u64) -> Vec<Instruction> {
    let one = |code, jt, jf, k| Instruction { code, jt, jf, k };
    let mut program = Vec::new();
    let mask = (each.clamp(1, 256) - 1) as u32;
    let mut tests: Vec<(u32, u16, u32)> = Vec::new();
    if is_outgoing {
        tests.push((PACKET_TYPE, IF_EQUAL, OUTGOING));
    }
    tests.extend([(12, IF_EQUAL, 0x08), (13, IF_EQUAL, 0x00), (23, IF_EQUAL, u32::from(parse::UDP))]);
    if mask > 0 {
        tests.push((NUMBER_AT as u32, IF_BITS, mask));
    }
    let whole = tests.len() * 2;
    for (index, (at, code, k)) in tests.into_iter().enumerate() {
        program.push(one(LOAD_BYTE, 0, 0, at));
        // The refusal is the last instruction, behind the acceptance.
        let refuse = (whole - index * 2 - 2 + 1) as u8;
        program.push(if code == IF_EQUAL { one(code, 0, refuse, k) } else { one(code, refuse, 0, k) });
    }
    program.push(one(RETURN, 0, 0, ALL));
    program.push(one(RETURN, 0, 0, 0));
    program
}

impl Reader for Capture {
    fn read(&mut self, found: &mut dyn FnMut(Option<(u64, u64)>)) -> Result<usize, WeighError> {
        let read = self.port.receive(256, &mut |frame| {
            let signature = Signature::find(frame.data);
            found(signature.map(|signature| (signature.sent_unix_ns, frame.stamp.as_unix_nanos())));
        })?;
        if read == 0 {
            self.port.wait(For::Receive, Picos::from_millis(1))?;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program returns for these bytes.
    fn run(program: &[Instruction], frame: &[u8], packet_type: u32) -> u32 {
        let (mut at, mut a) = (0, 0u32);
        loop {
            let one = program[at];
            at += 1;
            match one.code {
                LOAD_BYTE if one.k == PACKET_TYPE => a = packet_type,
                LOAD_BYTE => a = u32::from(frame[one.k as usize]),
                IF_EQUAL => at += usize::from(if a == one.k { one.jt } else { one.jf }),
                IF_BITS => at += usize::from(if a & one.k != 0 { one.jt } else { one.jf }),
                RETURN => return one.k,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn one_of_so_many_datagrams_that_leave_is_kept() {
        let mut frame = [0u8; 64];
        (frame[12], frame[23]) = (0x08, 17);
        for (each, number, packet_type, is_kept) in [
            (1, 3, OUTGOING, true),
            (64, 64, OUTGOING, true),
            (64, 65, OUTGOING, false),
            (256, 0, OUTGOING, true),
            (256, 128, OUTGOING, false),
            (1, 3, 0, false),
        ] {
            frame[NUMBER_AT] = number;
            let kept = run(&program(true, each), &frame, packet_type) > 0;
            assert_eq!(kept, is_kept, "{each} {number} {packet_type}");
        }
        frame[NUMBER_AT] = 8;
        assert!(run(&program(false, 8), &frame, 3) > 0);
        frame[23] = 6;
        assert_eq!(run(&program(false, 8), &frame, 3), 0, "TCP");
    }
}
