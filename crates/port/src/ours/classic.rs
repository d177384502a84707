//! The match as classic BPF (the kernel's filter of sockets), whose loads fail the frame where it ends early.
//!
//! The kernel takes the outer tag out of a frame before a packet socket sees it: offsets are those of frames
//! without, and the tag is asked for by itself.

use super::{ARP, DISCOVERY, ETHERNET, ICMPV6, IPV4, IPV6, Match, TCP};
use crate::Instruction;
use std::ops::RangeInclusive;

const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// The half word at X + k.
const LOAD_HALF_BEHIND: u16 = 0x48;
/// X = 4 × (the low four bits of the byte at k).
const LOAD_HEADER_LENGTH: u16 = 0xb1;
const SUB: u16 = 0x14;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_GREATER: u16 = 0x25;
const IF_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
/// Ancillary data (linux/filter.h): SKF_AD_OFF + SKF_AD_VLAN_TAG, SKF_AD_VLAN_TAG_PRESENT.
const VLAN_TAG: u32 = 0xffff_f000 + 44;
const HAS_VLAN_TAG: u32 = 0xffff_f000 + 48;
const ALL: u32 = u32::MAX;

/// Where a jump leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Next,
    Pass,
    Take,
    V4,
    V6,
    Discovery,
}

/// Instructions with places that are not known yet.
#[derive(Default)]
struct Code {
    steps: Vec<(u16, u32, To, To)>,
    places: Vec<(To, usize)>,
}

impl Code {
    fn plain(&mut self, code: u16, k: u32) -> &mut Self {
        self.branch(code, k, To::Next, To::Next)
    }

    fn branch(&mut self, code: u16, k: u32, then: To, otherwise: To) -> &mut Self {
        self.steps.push((code, k, then, otherwise));
        self
    }

    fn here(&mut self, place: To) {
        self.places.push((place, self.steps.len()));
    }

    /// By way of A, which is lost.
    fn within(&mut self, own: &RangeInclusive<u32>, then: To, otherwise: To) {
        self.plain(SUB, *own.start()).branch(IF_GREATER, own.end() - own.start(), otherwise, then);
    }

    fn v6(&mut self, at: usize, (prefix, own): &([u32; 3], RangeInclusive<u32>), then: To, otherwise: To) {
        for (word, offset) in prefix.iter().zip([0, 4, 8]) {
            self.plain(LOAD_WORD, (at + offset) as u32).branch(IF_EQUAL, *word, To::Next, otherwise);
        }
        self.plain(LOAD_WORD, (at + 12) as u32).within(own, then, otherwise);
    }

    fn instructions(self) -> Vec<Instruction> {
        let place = |to: To| self.places.iter().find(|(name, _)| *name == to).map(|(_, at)| *at);
        let distance = |from: usize, to: To| place(to).map_or(0, |at| at - from - 1);
        let step = |(at, (code, k, then, otherwise)): (usize, &(u16, u32, To, To))| {
            let (then, otherwise) = (distance(at, *then), distance(at, *otherwise));
            match *code {
                JUMP => Instruction { code: JUMP, jt: 0, jf: 0, k: then as u32 },
                code => Instruction { code, jt: then as u8, jf: otherwise as u8, k: *k },
            }
        };
        self.steps.iter().enumerate().map(step).collect()
    }
}

pub(super) fn program(own: &Match) -> Vec<Instruction> {
    let (mut code, at) = (Code::default(), ETHERNET);
    let is_tagged = if own.vlan.is_some() { (To::Next, To::Pass) } else { (To::Pass, To::Next) };
    code.plain(LOAD_BYTE, HAS_VLAN_TAG).branch(IF_BITS, 1, is_tagged.0, is_tagged.1);
    if let Some(vlan) = own.vlan {
        code.plain(LOAD_HALF, VLAN_TAG).plain(AND, 0x0fff).branch(IF_EQUAL, vlan.into(), To::Next, To::Pass);
    }
    code.plain(LOAD_HALF, 12);
    if own.v6.is_some() {
        code.branch(IF_EQUAL, IPV6.into(), To::V6, To::Next);
    }
    if let Some(range) = &own.v4 {
        code.branch(IF_EQUAL, IPV4.into(), To::V4, To::Next);
        if own.segments_only {
            code.branch(JUMP, 0, To::Pass, To::Next);
        } else {
            code.branch(IF_EQUAL, ARP.into(), To::Next, To::Pass);
            code.plain(LOAD_WORD, (at + 24) as u32).within(range, To::Take, To::Next);
            code.plain(LOAD_WORD, (at + 14) as u32).within(range, To::Take, To::Pass);
        }
        code.here(To::V4);
        v4(&mut code, own, range);
    } else {
        code.branch(JUMP, 0, To::Pass, To::Next);
    }
    if let Some(range) = &own.v6 {
        code.here(To::V6);
        v6(&mut code, own, range);
    }
    code.here(To::Take);
    code.plain(RETURN, ALL);
    code.here(To::Pass);
    code.plain(RETURN, 0);
    code.instructions()
}

fn ports(own: &Match) -> RangeInclusive<u32> {
    u32::from(*own.ports.start())..=u32::from(*own.ports.end())
}

fn v4(code: &mut Code, own: &Match, range: &RangeInclusive<u32>) {
    let at = ETHERNET as u32;
    let other = if own.segments_only { To::Pass } else { To::Take };
    if own.has_all_ports() && !own.segments_only {
        code.plain(LOAD_WORD, at + 16).within(range, To::Take, To::Pass);
        return;
    }
    code.plain(LOAD_WORD, at + 16).within(range, To::Next, To::Pass);
    code.plain(LOAD_BYTE, at + 9).branch(IF_EQUAL, TCP.into(), To::Next, other);
    code.plain(LOAD_HALF, at + 6).branch(IF_BITS, 0x1fff, other, To::Next);
    code.plain(LOAD_HEADER_LENGTH, at).plain(LOAD_HALF_BEHIND, at + 2).within(
        &ports(own),
        To::Take,
        To::Pass,
    );
}

fn v6(code: &mut Code, own: &Match, range: &([u32; 3], RangeInclusive<u32>)) {
    let at = ETHERNET;
    if own.has_all_ports() && !own.segments_only {
        code.v6(at + 24, range, To::Take, To::Discovery);
    } else {
        let (elsewhere, other) =
            if own.segments_only { (To::Pass, To::Pass) } else { (To::Discovery, To::Take) };
        code.v6(at + 24, range, To::Next, elsewhere);
        code.plain(LOAD_BYTE, (at + 6) as u32).branch(IF_EQUAL, TCP.into(), To::Next, other);
        code.plain(LOAD_HALF, (at + 42) as u32).within(&ports(own), To::Take, To::Pass);
    }
    if own.segments_only {
        return;
    }
    code.here(To::Discovery);
    let kinds = u32::from(*DISCOVERY.start())..=u32::from(*DISCOVERY.end());
    code.plain(LOAD_BYTE, (at + 6) as u32).branch(IF_EQUAL, ICMPV6.into(), To::Next, To::Pass);
    code.plain(LOAD_BYTE, (at + 40) as u32).within(&kinds, To::Next, To::Pass);
    code.v6(at + 48, range, To::Take, To::Pass);
}
