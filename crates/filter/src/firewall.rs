//! Compiled rules, and their decision for a frame in user space.

use crate::compile::half::{AIM4, AIM4_BITS, AIM6, Half, Half4, Half6, LEAF4, LEAF6, PREFIX4, TAIL};
use crate::compile::search;
use crate::compile::table::{hash_exact4, hash_exact6, hash_prefix4, hash_prefix6};
use crate::error::CompileError;
use crate::fields::{Fields, Tail, V4, V6};
use crate::hits::Hits;
use crate::rule::{Action, Rules, mask};

/// What becomes of a frame, and by which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision(u32);

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The rule with this index, from 0.
    Rule(u32),
    /// No rule matched, or none could look at what the frame carries.
    Default,
    /// Neither IPv4 nor IPv6.
    Other,
    Malformed,
}

impl Decision {
    #[inline]
    pub const fn action(self) -> Action {
        if self.0 & 1 == 1 { Action::Drop } else { Action::Pass }
    }

    /// The row of the counters: the rule's index, or one of the three behind the rules.
    #[inline]
    pub const fn slot(self) -> u32 {
        self.0 >> 1
    }

    /// `2 · slot + drops`, as the XDP program says it.
    pub const fn from_code(code: u32) -> Self {
        Self(code)
    }
}

/// What a look-up costs at most, and what the tables take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Hash tables by prefix length that a source is looked up in.
    pub lengths: usize,
    /// Further tables (destination, protocol, ports) for one packet; 0 where all rules name sources only.
    pub tuples: usize,
    /// Memory of the tables.
    pub bytes: usize,
    /// Rules that no packet reaches because an earlier rule of its source covers them.
    pub unreachable: usize,
}

impl Cost {
    /// More tables than this for one packet are slow: about 10 ns each.
    pub const MANY_TUPLES: usize = 32;

    /// What to know before traffic comes, for people.
    pub fn warning(&self) -> Option<String> {
        (self.tuples > Self::MANY_TUPLES).then(|| {
            format!(
                "a packet may need look-ups in {} tables, about 10 ns each: rules with the same source have \
                 destinations, protocols and port ranges of many different widths",
                self.tuples
            )
        })
    }
}

/// Rules as tables.
#[derive(Clone, Debug)]
pub struct Firewall {
    rules: Rules,
    pub(crate) v4: Half4,
    pub(crate) v6: Half6,
    hidden: Decision,
    other: Decision,
    malformed: Decision,
}

/// Codes must fit 24 bits, the three ends included.
const MOST: usize = Rules::MOST;

const fn fit(rules: usize) -> Result<(), CompileError> {
    if rules > MOST { Err(CompileError::TooMany { rules, most: MOST }) } else { Ok(()) }
}

impl Firewall {
    /// Makes the tables: about 0.1 s for 100 000 rules.
    ///
    /// # Errors
    /// More rules or port blocks than the tables hold.
    pub fn compile(rules: &Rules) -> Result<Self, CompileError> {
        let count = rules.rules.len();
        fit(count)?;
        Ok(Self {
            v4: Half4::compile(rules)?,
            v6: Half6::compile(rules)?,
            hidden: Decision(crate::compile::code(count, rules.default.is_drop())),
            other: Decision(crate::compile::code(count + 1, rules.other.is_drop())),
            malformed: Decision(crate::compile::code(count + 2, true)),
            rules: rules.clone(),
        })
    }

    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Counters for these rules, all zero.
    pub fn hits(&self) -> Hits {
        Hits::new(self.rules.rules.len())
    }

    pub fn judge(&self, decision: Decision) -> Judge {
        match (decision.slot() as usize).checked_sub(self.rules.rules.len()) {
            None => Judge::Rule(decision.slot()),
            Some(0) => Judge::Default,
            Some(1) => Judge::Other,
            Some(_) => Judge::Malformed,
        }
    }

    /// The index of the rule that decided, if one did.
    pub fn rule(&self, decision: Decision) -> Option<u32> {
        match self.judge(decision) {
            Judge::Rule(index) => Some(index),
            _ => None,
        }
    }

    /// Frames in which an IP packet may be hidden, those that are neither IPv4 nor IPv6, and malformed ones.
    pub const fn ends(&self) -> [Decision; 3] {
        [self.hidden, self.other, self.malformed]
    }

    /// What a look-up costs at most.
    pub fn cost(&self) -> Cost {
        Cost {
            lengths: search::depth(&self.v4.steps, 0).max(search::depth(&self.v6.steps, 0)),
            tuples: self.v4.longest_chain.max(self.v6.longest_chain),
            bytes: self.v4.bytes() + self.v6.bytes(),
            unreachable: self.v4.unreachable.max(self.v6.unreachable),
        }
    }

    /// Decides for a frame, from its Ethernet header on.
    #[inline]
    pub fn decide(&self, frame: &[u8]) -> Decision {
        self.decide_fields(&Fields::of(frame))
    }

    /// Reads the word that a decision will look at first, and does nothing with it: whoever decides for many
    /// packets touches for all of them before, so that the memory works on several at once.
    #[inline]
    pub fn touch(&self, fields: &Fields) -> u64 {
        match fields {
            Fields::V4(packet) => self.v4.touch(packet.source),
            Fields::V6(packet) => self.v6.touch(packet.source),
            Fields::Hidden | Fields::Other | Fields::Malformed => 0,
        }
    }

    #[inline]
    pub fn decide_fields(&self, fields: &Fields) -> Decision {
        match fields {
            Fields::V4(packet) => Decision(self.v4.decide(packet)),
            Fields::V6(packet) => Decision(self.v6.decide(packet)),
            Fields::Hidden => self.hidden,
            Fields::Other => self.other,
            Fields::Malformed => self.malformed,
        }
    }
}

impl<const P: usize, const T: usize, const E: usize> Half<P, T, E> {
    fn bytes(&self) -> usize {
        8 * (self.prefixes.slots.len() * P
            + self.classes.len()
            + self.tuples.len() * T
            + self.exact.slots.len() * E)
    }

    /// Best code and first tuple of what a prefix aims at: a code itself, or a class.
    #[inline]
    fn class(&self, aim: usize) -> (u32, usize) {
        if aim & 1 == 1 {
            return ((aim >> 1) as u32, 0);
        }
        let word = self.classes[aim >> 1];
        ((word >> 32) as u32, word as u32 as usize)
    }
}

/// Whether a tuple with these masks looks at ports that the packet does not have.
#[inline]
const fn lacks_ports(tail: Tail, masks: u64) -> bool {
    !tail.has_ports && masks & 0xffff_ffff != 0
}

impl Half4 {
    #[inline]
    fn decide(&self, packet: &V4) -> u32 {
        let (mut best, mut at) = self.class(self.find(packet.source));
        while at != 0 {
            let [first, second] = self.tuples[at];
            if (first >> 40) as u32 >= best {
                break;
            }
            let masks = (first & 0xff_0000_0000) | (second & 0xffff_ffff);
            if !lacks_ports(packet.tail, masks) {
                let key = (at as u64) << 32 | (second >> 32) & u64::from(packet.destination);
                best = best.min(self.entry(key, packet.tail.word & masks));
            }
            at = first as u32 as usize;
        }
        best
    }

    #[inline]
    fn touch(&self, source: u32) -> u64 {
        let Some(step) = self.steps.first() else { return 0 };
        let bits = u64::from(source) << 32 & (mask(step.length) >> 64) as u64;
        self.prefixes.candidates(hash_prefix4(bits | u64::from(step.length)))[0][0]
    }

    #[inline]
    fn find(&self, source: u32) -> usize {
        let (mut aim, mut at) = (0, 0);
        while let Some(step) = self.steps.get(at) {
            let bits = u64::from(source) << 32 & (mask(step.length) >> 64) as u64;
            let key = bits | u64::from(step.length);
            let slots = self.prefixes.candidates(hash_prefix4(key));
            let slot = slots.iter().take_while(|slot| slot[0] != 0).find(|slot| slot[0] & PREFIX4 == key);
            at = match slot {
                None => step.missed.into(),
                Some(&[slot]) => {
                    aim = (slot >> AIM4) as usize & ((1 << AIM4_BITS) - 1);
                    if slot >> LEAF4 & 1 == 1 {
                        break;
                    }
                    step.found.into()
                }
            };
        }
        aim
    }

    #[inline]
    fn entry(&self, key: u64, tail: u64) -> u32 {
        for slot in self.exact.candidates(hash_exact4(key, tail)) {
            if slot[0] == key && slot[1] & TAIL == tail {
                return (slot[1] >> 40) as u32;
            }
            if slot[0] == 0 {
                break;
            }
        }
        u32::MAX
    }
}

impl Half6 {
    #[inline]
    fn decide(&self, packet: &V6) -> u32 {
        let (mut best, mut at) = self.class(self.find(packet.source));
        let (high, low) = ((packet.destination >> 64) as u64, packet.destination as u64);
        while at != 0 {
            let [first, ports, to_high, to_low] = self.tuples[at];
            if (first >> 40) as u32 >= best {
                break;
            }
            let masks = (first & 0xff_0000_0000) | ports;
            if !lacks_ports(packet.tail, masks) {
                let found = self.entry(at as u64, high & to_high, low & to_low, packet.tail.word & masks);
                best = best.min(found);
            }
            at = first as u32 as usize;
        }
        best
    }

    #[inline]
    fn touch(&self, source: u128) -> u64 {
        let Some(step) = self.steps.first() else { return 0 };
        let bits = source & mask(step.length);
        let hash = hash_prefix6((bits >> 64) as u64, bits as u64, u64::from(step.length));
        self.prefixes.candidates(hash)[0][2]
    }

    #[inline]
    fn find(&self, source: u128) -> usize {
        let (mut aim, mut at) = (0, 0);
        while let Some(step) = self.steps.get(at) {
            let bits = source & mask(step.length);
            let (high, low, length) = ((bits >> 64) as u64, bits as u64, u64::from(step.length));
            let slots = self.prefixes.candidates(hash_prefix6(high, low, length));
            let slot = slots
                .iter()
                .take_while(|slot| slot[2] != 0)
                .find(|slot| slot[0] == high && slot[1] == low && slot[2] & 0xff == length);
            at = match slot {
                None => step.missed.into(),
                Some(slot) => {
                    aim = (slot[2] >> AIM6) as usize;
                    if slot[2] >> LEAF6 & 1 == 1 {
                        break;
                    }
                    step.found.into()
                }
            };
        }
        aim
    }

    #[inline]
    fn entry(&self, tuple: u64, high: u64, low: u64, tail: u64) -> u32 {
        for slot in self.exact.candidates(hash_exact6(high, low, tuple << 40 ^ tail)) {
            if slot[2] >> 32 == tuple && slot[0] == high && slot[1] == low && slot[3] == tail {
                return slot[2] as u32;
            }
            if slot[2] == 0 {
                break;
            }
        }
        u32::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firewall(text: &str) -> Firewall {
        Firewall::compile(&Rules::parse(text, "r").unwrap()).unwrap()
    }

    #[test]
    fn as_many_rules_as_are_allowed_have_codes_of_24_bits() {
        assert_eq!(fit(MOST), Ok(()));
        assert_eq!(fit(MOST + 1), Err(CompileError::TooMany { rules: 8_000_001, most: 8_000_000 }));
        assert!(crate::compile::code(MOST + 2, true) < 1 << 24);
    }

    #[test]
    fn what_no_rule_decides_has_its_own_judge() {
        let firewall =
            firewall("drop from 10.0.0.0/8\ndrop from 11.0.0.0/8\ndrop from 12.0.0.0/8\nother drop");
        let tail = Tail::new(1, None);
        let from = |source| Fields::V4(V4 { source, destination: 0, tail });
        for (fields, judge, action) in [
            (from(0x0c01_0203), Judge::Rule(2), Action::Drop),
            (from(0x0d01_0203), Judge::Default, Action::Pass),
            (Fields::V6(V6 { source: 0, destination: 0, tail }), Judge::Default, Action::Pass),
            (Fields::Hidden, Judge::Default, Action::Pass),
            (Fields::Other, Judge::Other, Action::Drop),
            (Fields::Malformed, Judge::Malformed, Action::Drop),
        ] {
            let decision = firewall.decide_fields(&fields);
            assert_eq!((firewall.judge(decision), decision.action()), (judge, action), "{fields:?}");
        }
    }

    #[test]
    fn the_memory_of_the_tables_is_told() {
        // A table has four slots or more, and 16 behind them. IPv4: one prefix in slots of one word, two
        // classes, no tuple but the first of two words, exact slots of two; IPv6: three, one, four and four.
        let (v4, v6) = (20 + 2 + 2 + 20 * 2, 20 * 3 + 1 + 4 + 20 * 4);
        assert_eq!(firewall("drop from 10.0.0.0/8").cost().bytes, (v4 + v6) * 8);
        // 33 entries have 128 slots: 144 with those behind them.
        let text: String = (0..33).map(|net| format!("drop from 10.{net}.0.0/16\n")).collect();
        assert_eq!(firewall(&text).cost().bytes, (144 + 34 + 2 + 20 * 2 + v6) * 8);
    }

    #[test]
    fn more_tables_than_many_are_warned_of() {
        let warning = |tuples| Cost { tuples, ..Cost::default() }.warning();
        assert_eq!(warning(Cost::MANY_TUPLES), None);
        assert!(warning(Cost::MANY_TUPLES + 1).unwrap().contains("33 tables"));
    }

    #[test]
    fn what_is_touched_is_what_the_search_looks_at_first() {
        let four: String = (0..100).map(|net| format!("drop from 10.{net}.0.0/16\n")).collect();
        let six: String = (0..100).map(|net| format!("drop from fd00:{net}::/32\n")).collect();
        let firewall = firewall(&(four + &six));
        // Not all are in the first slot of those that they may be in, but more than half of them.
        let tail = Tail::new(1, None);
        let (mut found4, mut found6) = (0, 0);
        for net in 0..100_u32 {
            let source = 0x0a00_0203 | net << 16;
            let touched = firewall.touch(&Fields::V4(V4 { source, destination: 0, tail }));
            found4 += u32::from(touched & PREFIX4 == u64::from(source & 0xffff_0000) << 32 | 16);
            let group = u32::from_str_radix(&net.to_string(), 16).unwrap();
            let source = u128::from(0xfd00_0000 | group) << 96 | 7;
            let touched = firewall.touch(&Fields::V6(V6 { source, destination: 0, tail }));
            found6 += u32::from(touched & 0xff == 32);
        }
        assert!(found4 > 50 && found6 > 50, "{found4} {found6}");
        assert_eq!(firewall.touch(&Fields::Other), 0);
    }
}
