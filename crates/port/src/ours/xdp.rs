//! The match as a part of an XDP program.

use super::{ARP, DISCOVERY, ICMPV6, IPV4, IPV6, Match, TCP, VLAN};
use bpf::{Assembler, Condition, Label, Register, Register::*, Size, context};
use std::ops::RangeInclusive;

impl Match {
    /// Goes on behind this code with a frame that is ours, and to `pass` with any other. The context is in R6;
    /// R2 to R5 and R8 are used.
    pub(crate) fn assemble(&self, a: &mut Assembler, pass: Label) {
        let (take, at) = (a.label(), self.network() as i16);
        a.load(Size::Word, R2, R6, context::DATA).load(Size::Word, R3, R6, context::DATA_END);
        need(a, at, pass);
        if let Some(own) = self.vlan {
            load_half(a, R5, R2, 12);
            a.jump_if(Condition::NotEqual, R5, i32::from(VLAN), pass);
            load_half(a, R5, R2, 14);
            a.and(R5, 0x0fff).jump_if(Condition::NotEqual, R5, i32::from(own), pass);
        }
        let (arp, v4, v6) = (a.label(), a.label(), a.label());
        load_half(a, R5, R2, at - 2);
        if self.v4.is_some() {
            if !self.segments_only {
                a.jump_if(Condition::Equal, R5, i32::from(ARP), arp);
            }
            a.jump_if(Condition::Equal, R5, i32::from(IPV4), v4);
        }
        if self.v6.is_some() {
            a.jump_if(Condition::Equal, R5, i32::from(IPV6), v6);
        }
        a.jump(pass);
        if let Some(own) = &self.v4 {
            if !self.segments_only {
                a.bind(arp);
                need(a, at + 28, pass);
                for field in [24, 14] {
                    load_word(a, R5, R2, at + field);
                    if_within(a, R5, own, take);
                }
                a.jump(pass);
            }
            a.bind(v4);
            self.ipv4(a, own, (pass, take));
        }
        if self.v6.is_some() {
            a.bind(v6);
            self.ipv6(a, (pass, take));
        }
        a.bind(take);
    }

    fn ipv4(&self, a: &mut Assembler, own: &RangeInclusive<u32>, (pass, take): (Label, Label)) {
        let at = self.network() as i16;
        need(a, at + 20, pass);
        load_word(a, R5, R2, at + 16);
        unless_within(a, R5, own, pass);
        if self.has_all_ports() && !self.segments_only {
            a.jump(take);
            return;
        }
        let other = if self.segments_only { pass } else { take };
        a.load(Size::Byte, R5, R2, at + 9).jump_if(Condition::NotEqual, R5, i32::from(TCP), other);
        load_half(a, R5, R2, at + 6);
        a.jump_if(Condition::AnyBit, R5, 0x1fff, other);
        a.load(Size::Byte, R5, R2, at).and(R5, 0x0f).shl(R5, 2);
        a.mov(R4, R2).add(R4, R5).mov(R8, R4).add(R8, i32::from(at) + 4);
        a.jump_if(Condition::Greater, R8, R3, pass);
        load_half(a, R5, R4, at + 2);
        self.unless_port(a, R5, pass);
        a.jump(take);
    }

    fn ipv6(&self, a: &mut Assembler, (pass, take): (Label, Label)) {
        let at = self.network() as i16;
        let discovery = a.label();
        need(a, at + 40, pass);
        self.unless_v6(a, at + 24, if self.segments_only { pass } else { discovery });
        if !self.has_all_ports() || self.segments_only {
            let other = if self.segments_only { pass } else { take };
            a.load(Size::Byte, R5, R2, at + 6).jump_if(Condition::NotEqual, R5, i32::from(TCP), other);
            need(a, at + 44, pass);
            load_half(a, R5, R2, at + 42);
            self.unless_port(a, R5, pass);
        }
        a.jump(take);
        if self.segments_only {
            return;
        }
        a.bind(discovery);
        need(a, at + 64, pass);
        a.load(Size::Byte, R5, R2, at + 6).jump_if(Condition::NotEqual, R5, i32::from(ICMPV6), pass);
        a.load(Size::Byte, R5, R2, at + 40);
        let kinds = u32::from(*DISCOVERY.start())..=u32::from(*DISCOVERY.end());
        unless_within(a, R5, &kinds, pass);
        self.unless_v6(a, at + 48, pass);
    }

    /// To `other` if the address there is none of ours.
    fn unless_v6(&self, a: &mut Assembler, at: i16, other: Label) {
        let Some((prefix, own)) = &self.v6 else { return };
        for (word, offset) in prefix.iter().zip([0, 4, 8]) {
            load_word(a, R5, R2, at + offset);
            a.jump_if32(Condition::NotEqual, R5, word.cast_signed(), other);
        }
        load_word(a, R5, R2, at + 12);
        unless_within(a, R5, own, other);
    }

    fn unless_port(&self, a: &mut Assembler, port: Register, other: Label) {
        unless_within(a, port, &(u32::from(*self.ports.start())..=u32::from(*self.ports.end())), other);
    }
}

/// To `pass` if the frame has fewer bytes.
fn need(a: &mut Assembler, bytes: i16, pass: Label) {
    a.mov(R4, R2).add(R4, i32::from(bytes)).jump_if(Condition::Greater, R4, R3, pass);
}

fn load_half(a: &mut Assembler, to: Register, base: Register, at: i16) {
    a.load(Size::Half, to, base, at).to_big_endian(to, Size::Half);
}

fn load_word(a: &mut Assembler, to: Register, base: Register, at: i16) {
    a.load(Size::Word, to, base, at).to_big_endian(to, Size::Word);
}

/// What is in the register is lost: `value - first <= last - first`, unsigned, is one comparison.
fn if_within(a: &mut Assembler, value: Register, own: &RangeInclusive<u32>, then: Label) {
    a.sub32(value, own.start().cast_signed());
    a.jump_if32(Condition::LessOrEqual, value, (own.end() - own.start()).cast_signed(), then);
}

fn unless_within(a: &mut Assembler, value: Register, own: &RangeInclusive<u32>, then: Label) {
    a.sub32(value, own.start().cast_signed());
    a.jump_if32(Condition::Greater, value, (own.end() - own.start()).cast_signed(), then);
}
