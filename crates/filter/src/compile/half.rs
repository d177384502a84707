//! The tables of one family.
//!
//! ```text
//! prefixes  IPv4: source:32 | aim:25 | leaf:1 | length:6    IPv6: source:128, then aim:32 | leaf:1 | length:8
//! classes   best:32 | first tuple:32
//! tuples    rest:24 | protocol mask:8 | next:32,  then the destination's mask and the ports' masks
//! exact     IPv4: tuple:32 | destination:32,  code:24 | protocol:8 | destination port:16 | source port:16
//! ```
//!
//! `aim`: a code or a class, see [`aim`]. `leaf`: no longer prefix lies within this one, the search is over.
//! `rest`: the least code in this tuple and all after it.

use super::search::{self, Step};
use super::table::{Table, hash_exact4, hash_exact6, hash_prefix4, hash_prefix6};
use super::{Block, blocks, code, is_of, names_source_only};
use crate::error::CompileError;
use crate::rule::{Rules, mask};
use std::collections::HashMap;

/// Entries over all tuples of one family.
const MOST_ENTRIES: usize = 4_000_000;

/// What both families have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Half<const P: usize, const T: usize, const E: usize> {
    /// How to search the source; and the class where no prefix is found is 0.
    pub steps: Vec<Step>,
    pub prefixes: Table<P>,
    pub classes: Vec<u64>,
    /// Tuple 0 is none.
    pub tuples: Vec<[u64; T]>,
    pub exact: Table<E>,
    /// Tuples that a packet may have to be looked up in, at most.
    pub longest_chain: usize,
    /// Rules that no packet of this family can reach.
    pub unreachable: usize,
}

pub(crate) type Half4 = Half<1, 2, 2>;
pub(crate) type Half6 = Half<3, 4, 4>;

/// A prefix of sources with what its rules say.
#[derive(Default)]
struct Node {
    /// The least code of rules that name this source only.
    plain: Option<u32>,
    /// Indices of rules that look at more.
    complex: Vec<u32>,
}

/// A tuple in the making: what it looks at, the one behind it, and the least code in all from it on.
struct Tuple {
    shape: Shape,
    next: u32,
    rest: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Shape {
    destination: u8,
    protocol: bool,
    sport: u16,
    dport: u16,
}

/// One entry: the tuple, what it looks for, and the code of its first rule.
type Entries = HashMap<(u32, u128, u64), u32>;

/// Everything before it is packed.
struct Draft {
    /// Prefix, its class, whether no longer one lies within.
    prefixes: Vec<(u128, u8, u32, bool)>,
    steps: Vec<Step>,
    /// Best code and first tuple.
    classes: Vec<(u32, u32)>,
    tuples: Vec<Tuple>,
    entries: Entries,
    unreachable: usize,
}

impl Draft {
    fn new(rules: &Rules, ipv4: bool) -> Result<Self, CompileError> {
        let nodes = nodes(rules, ipv4);
        let mut weights = [0; 129];
        nodes.keys().for_each(|&(_, length)| weights[usize::from(length)] += 1);
        let end = Tuple {
            shape: Shape { destination: 0, protocol: false, sport: 0, dport: 0 },
            next: 0,
            rest: u32::MAX,
        };
        let mut draft = Self {
            prefixes: Vec::with_capacity(nodes.len()),
            steps: search::steps(&weights),
            classes: Vec::with_capacity(nodes.len()),
            tuples: vec![end],
            entries: Entries::new(),
            unreachable: 0,
        };
        draft.sweep(rules, nodes)?;
        Ok(draft)
    }

    /// Goes over all prefixes and markers, parents before children, so that each knows what it inherits.
    fn sweep(&mut self, rules: &Rules, nodes: HashMap<(u128, u8), Node>) -> Result<(), CompileError> {
        let mut all: Vec<((u128, u8), Option<Node>)> = Vec::with_capacity(nodes.len());
        let mut markers = std::collections::HashSet::new();
        for &(bits, length) in nodes.keys() {
            for shorter in search::markers(&self.steps, length) {
                let marker = (bits & mask(shorter), shorter);
                if !nodes.contains_key(&marker) {
                    markers.insert(marker);
                }
            }
        }
        all.extend(markers.into_iter().map(|marker| (marker, None)));
        all.extend(nodes.into_iter().map(|(prefix, node)| (prefix, Some(node))));
        all.sort_unstable_by_key(|(prefix, _)| *prefix);
        // Indices into `self.prefixes` of those that hold the present one, the longest last.
        let mut above: Vec<usize> = Vec::new();
        for ((bits, length), node) in all {
            while let Some(&top) = above.last() {
                let (of, wide, _, _) = self.prefixes[top];
                if (bits ^ of) & mask(wide) == 0 {
                    break;
                }
                above.pop();
            }
            let parent = above.last().map(|&top| {
                self.prefixes[top].3 = false;
                self.prefixes[top].2
            });
            let class = match (node, parent) {
                (Some(node), parent) => self.class(rules, node, parent)?,
                (None, parent) => parent.unwrap_or(0),
            };
            above.push(self.prefixes.len());
            self.prefixes.push((bits, length, class, true));
        }
        Ok(())
    }

    /// Makes the class of a prefix below the class `parent`.
    fn class(&mut self, rules: &Rules, node: Node, parent: Option<u32>) -> Result<u32, CompileError> {
        let (above, first) = match parent {
            Some(parent) => self.classes[parent as usize],
            None => (code(rules.rules.len(), rules.default.is_drop()), 0),
        };
        let best = node.plain.map_or(above, |plain| plain.min(above));
        self.unreachable += usize::from(node.plain.is_some_and(|plain| plain > above));
        let first = self.chain(rules, &node.complex, best, first)?;
        self.classes.push((best, first));
        Ok(self.classes.len() as u32 - 1)
    }

    /// Makes the tuples of a prefix, before those that it inherits from `first` on. Returns the first.
    fn chain(&mut self, rules: &Rules, complex: &[u32], best: u32, first: u32) -> Result<u32, CompileError> {
        let mut shapes: HashMap<Shape, Vec<(u32, u128, u64)>> = HashMap::new();
        for &index in complex {
            let rule = &rules.rules[index as usize];
            let own = code(index as usize, rule.action.is_drop());
            if own > best {
                self.unreachable += 1;
                continue;
            }
            let (to, length) = rule.to.map_or((0, 0), |to| (to.bits(), to.length()));
            for sport in blocks(rule.sport) {
                for dport in blocks(rule.dport) {
                    let protocol = rule.protocol.map(|protocol| protocol.0);
                    let shape = Shape {
                        destination: length,
                        protocol: protocol.is_some(),
                        sport: sport.mask,
                        dport: dport.mask,
                    };
                    shapes.entry(shape).or_default().push((own, to, word(protocol, sport, dport)));
                }
            }
        }
        let mut shapes: Vec<_> = shapes.into_iter().collect();
        let least = |entries: &[(u32, u128, u64)]| entries.iter().map(|(code, _, _)| *code).min();
        shapes.sort_unstable_by_key(|(shape, entries)| (least(entries), *shape));
        let mut next = first;
        // From the last to the first, so that each knows the one behind it.
        for (shape, entries) in shapes.into_iter().rev() {
            let least = least(&entries).unwrap_or(u32::MAX);
            let rest = least.min(self.tuples[next as usize].rest);
            let tuple = self.tuples.len() as u32;
            self.tuples.push(Tuple { shape, next, rest });
            for (code, to, word) in entries {
                let entry = self.entries.entry((tuple, to, word)).or_insert(code);
                *entry = code.min(*entry);
                if self.entries.len() > MOST_ENTRIES {
                    return Err(CompileError::TooWide {
                        line: rules.line((code >> 1) as usize),
                        most: MOST_ENTRIES,
                    });
                }
            }
            next = tuple;
        }
        Ok(next)
    }

    /// Tuples from this class on.
    fn longest_chain(&self) -> usize {
        let mut lengths = vec![0_usize; self.tuples.len()];
        // A tuple's next was made before it.
        for (index, tuple) in self.tuples.iter().enumerate().skip(1) {
            lengths[index] = lengths[tuple.next as usize] + 1;
        }
        lengths.into_iter().max().unwrap_or(0)
    }
}

/// What a prefix leads to: its answer at once (`code << 1 | 1`) where no tuple can change it, else its class
/// (`class << 1`). That spares most packets a look into the classes.
fn aim(classes: &[(u32, u32)], class: u32) -> u32 {
    match classes[class as usize] {
        (best, 0) => best << 1 | 1,
        _ => class << 1,
    }
}

/// Protocol and ports as in [`crate::fields::Tail`].
fn word(protocol: Option<u8>, sport: Block, dport: Block) -> u64 {
    u64::from(protocol.unwrap_or(0)) << 32 | u64::from(dport.first) << 16 | u64::from(sport.first)
}

/// What each source prefix says itself; the one of length 0 is always there.
fn nodes(rules: &Rules, ipv4: bool) -> HashMap<(u128, u8), Node> {
    let mut nodes: HashMap<(u128, u8), Node> = HashMap::new();
    nodes.entry((0, 0)).or_default();
    for (index, rule) in rules.rules.iter().enumerate().filter(|(_, rule)| is_of(rule, ipv4)) {
        let prefix = rule.from.map_or((0, 0), |from| (from.bits(), from.length()));
        let node = nodes.entry(prefix).or_default();
        match names_source_only(rule) {
            true => _ = node.plain.get_or_insert(code(index, rule.action.is_drop())),
            false => node.complex.push(index as u32),
        }
    }
    nodes
}

impl<const P: usize, const T: usize, const E: usize> Half<P, T, E> {
    fn pack(
        draft: Draft,
        prefix: impl Fn(u128, u8, u32, bool) -> [u64; P],
        hash_prefix: impl Fn(&[u64; P]) -> u64,
        tuple: impl Fn(u64, u64, u128) -> [u64; T],
        entry: impl Fn(u32, u128, u64, u32) -> [u64; E],
        hash_entry: impl Fn(&[u64; E]) -> u64,
    ) -> Result<Self, CompileError> {
        let crowded = |entries| CompileError::Crowded { entries, steps: super::table::MOST_STEPS };
        let longest_chain = draft.longest_chain();
        let prefixes: Vec<[u64; P]> = draft
            .prefixes
            .iter()
            .filter(|(_, length, _, _)| *length > 0)
            .map(|&(bits, length, class, leaf)| prefix(bits, length, aim(&draft.classes, class), leaf))
            .collect();
        let exact: Vec<[u64; E]> =
            draft.entries.iter().map(|(&(t, to, word), &code)| entry(t, to, word, code)).collect();
        let tuples = draft.tuples.iter().map(|t| {
            let protocol = if t.shape.protocol { 0xff } else { 0 };
            let first = u64::from(t.rest & 0xff_ffff) << 40 | protocol << 32 | u64::from(t.next);
            let ports = u64::from(t.shape.dport) << 16 | u64::from(t.shape.sport);
            tuple(first, ports, mask(t.shape.destination))
        });
        Ok(Self {
            prefixes: Table::new(&prefixes, hash_prefix).ok_or_else(|| crowded(prefixes.len()))?,
            exact: Table::new(&exact, hash_entry).ok_or_else(|| crowded(exact.len()))?,
            tuples: tuples.collect(),
            classes: draft
                .classes
                .iter()
                .map(|&(best, first)| u64::from(best) << 32 | u64::from(first))
                .collect(),
            steps: draft.steps,
            longest_chain,
            unreachable: draft.unreachable,
        })
    }
}

/// Source and length of a slot, without aim and leaf.
pub(crate) const PREFIX4: u64 = 0xffff_ffff_0000_003f;
pub(crate) const LEAF4: u32 = 6;
pub(crate) const AIM4: u32 = 7;
pub(crate) const AIM4_BITS: u32 = 25;
/// Protocol and ports of a slot, without the code.
pub(crate) const TAIL: u64 = 0xff_ffff_ffff;

impl Half4 {
    pub fn compile(rules: &Rules) -> Result<Self, CompileError> {
        Self::pack(
            Draft::new(rules, true)?,
            |bits, length, aim, leaf| {
                let source = (bits >> 96) as u64;
                [source << 32 | u64::from(aim) << AIM4 | u64::from(leaf) << LEAF4 | u64::from(length)]
            },
            |slot| hash_prefix4(slot[0] & PREFIX4),
            |first, ports, to| [first, ((to >> 96) as u64) << 32 | ports],
            |tuple, to, word, code| {
                [u64::from(tuple) << 32 | (to >> 96) as u64, u64::from(code) << 40 | word]
            },
            |slot| hash_exact4(slot[0], slot[1] & TAIL),
        )
    }
}

pub(crate) const LEAF6: u32 = 8;
pub(crate) const AIM6: u32 = 9;

impl Half6 {
    pub fn compile(rules: &Rules) -> Result<Self, CompileError> {
        Self::pack(
            Draft::new(rules, false)?,
            |bits, length, aim, leaf| {
                let last = u64::from(aim) << AIM6 | u64::from(leaf) << LEAF6 | u64::from(length);
                [(bits >> 64) as u64, bits as u64, last]
            },
            |slot| hash_prefix6(slot[0], slot[1], slot[2] & 0xff),
            |first, ports, to| [first, ports, (to >> 64) as u64, to as u64],
            |tuple, to, word, code| {
                [(to >> 64) as u64, to as u64, u64::from(tuple) << 32 | u64::from(code), word]
            },
            |slot| hash_exact6(slot[0], slot[1], slot[2] >> 32 << 40 ^ slot[3]),
        )
    }
}
