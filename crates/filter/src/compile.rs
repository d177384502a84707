//! From rules to tables: one half for IPv4, one for IPv6.
//!
//! ```text
//! source ─ longest prefix ─► class ─┬─ best: the first rule that looks at nothing else, of all prefixes that
//!                                   │        hold the source
//!                                   └─ tuples: rules of these prefixes that look at more, as hash tables
//!                                        (destination length, protocol, port blocks), each with the first
//!                                        rule behind it
//! ```
//!
//! A class has its answer at once if its best rule stands before all its tuples; so it is wherever rules name
//! sources only. Otherwise each tuple whose first rule stands before the best so far costs one look-up. A rule
//! that some earlier rule of its own or a shorter prefix covers wholly is left out: no frame can reach it.
//!
//! A port range is cut into aligned blocks (at most 30), each an entry: that bounds look-ups by the number of
//! block sizes rather than of rules.
//!
//! Codes: a rule is `2 · index + (1 if it drops)`, so that lesser is earlier; the code after the last rule is
//! `default`.

pub(crate) mod half;
pub(crate) mod search;
pub(crate) mod table;

use crate::rule::{Ports, Rule};

/// `2 · index + drops`.
pub(crate) const fn code(index: usize, drops: bool) -> u32 {
    (index as u32) << 1 | drops as u32
}

/// An aligned block of ports: `port & mask == first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub first: u16,
    pub mask: u16,
}

/// The fewest aligned blocks that make up the ports; one that holds all for `None`.
pub(crate) fn blocks(ports: Option<Ports>) -> Vec<Block> {
    let Some(ports) = ports else { return vec![Block { first: 0, mask: 0 }] };
    let (mut first, end) = (u32::from(ports.first), u32::from(ports.last) + 1);
    let mut blocks = Vec::new();
    while first < end {
        let aligned = if first == 0 { 1 << 16 } else { 1 << first.trailing_zeros() };
        let mut size: u32 = aligned;
        while first + size > end {
            size /= 2;
        }
        blocks.push(Block { first: first as u16, mask: (0x1_0000 - size) as u16 });
        first += size;
    }
    blocks
}

/// Whether a rule can match packets of this family.
pub(crate) fn is_of(rule: &Rule, ipv4: bool) -> bool {
    [rule.from, rule.to].iter().flatten().all(|prefix| prefix.is_ipv4() == ipv4)
}

/// Whether nothing but the source decides.
pub(crate) fn names_source_only(rule: &Rule) -> bool {
    rule.to.is_none_or(|to| to.length() == 0)
        && rule.protocol.is_none()
        && rule.sport.is_none()
        && rule.dport.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: u16, last: u16) -> Vec<(u16, u16)> {
        blocks(Some(Ports { first, last })).into_iter().map(|b| (b.first, b.mask)).collect()
    }

    #[test]
    fn ranges_are_cut_into_the_fewest_aligned_blocks() {
        assert_eq!(of(53, 53), [(53, 0xffff)]);
        assert_eq!(
            of(1024, 65535),
            [
                (1024, 0xfc00),
                (2048, 0xf800),
                (4096, 0xf000),
                (8192, 0xe000),
                (16384, 0xc000),
                (32768, 0x8000)
            ]
        );
        assert_eq!(of(0, 65535), [(0, 0)]);
        assert_eq!(of(1, 65534).len(), 30);
        assert_eq!(of(65535, 65535), [(65535, 0xffff)]);
    }

    #[test]
    fn blocks_hold_exactly_the_ports_of_their_range() {
        for (first, last) in [(0, 0), (5, 1000), (1023, 40000), (80, 81), (65000, 65535)] {
            let blocks = blocks(Some(Ports { first, last }));
            for port in 0..=u16::MAX {
                let count = blocks.iter().filter(|b| port & b.mask == b.first).count();
                assert_eq!(count, usize::from(first <= port && port <= last), "{port} of {first}-{last}");
            }
        }
    }
}
