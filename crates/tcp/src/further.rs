//! Out-of-order intervals: one in the record, and further ones beside it, for an owner that keeps them.
//!
//! ```text
//!   rcv_nxt                                          SACK blocks: B, C, A
//!      │ hole ├─ A ─┤ hole ├─ B ─┤ hole ├─ C ─┤       B changed last: it stands in the record
//! ```

use crate::number::ahead;
use crate::record::{Flags, Record};
use crate::spec::limit;

/// Most intervals of a connection.
pub const INTERVALS: usize = limit::INTERVALS as usize;
/// Most of them that the text of one segment joins or fills.
pub(crate) const REACHED: usize = limit::REACHED as usize;

/// The intervals of one connection that its record has no room for: empty as long as there is one hole at most.
/// They belong to the record: whoever forgets one forgets the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Further {
    /// Where each starts, and its bytes; the one that changed last first.
    all: [(u32, u32); INTERVALS - 1],
    count: u8,
}

impl Further {
    pub const NONE: Self = Self { all: [(0, 0); INTERVALS - 1], count: 0 };

    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds one; whether there was room.
    pub fn push(&mut self, start: u32, len: u32) -> bool {
        let Some(place) = self.all.get_mut(usize::from(self.count)) else { return false };
        *place = (start, len);
        self.count += 1;
        true
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.all.iter().take(usize::from(self.count)).copied()
    }
}

/// Distances from `rcv_nxt`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: i64,
    pub end: i64,
}

impl Span {
    pub fn touches(&self, other: &Self) -> bool {
        other.start <= self.end && other.end >= self.start
    }
}

/// All intervals of a connection, the one that changed last first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans {
    all: [Span; INTERVALS],
    count: usize,
}

impl Spans {
    pub fn of(record: &Record, further: &Further) -> Self {
        let mut spans = Self::default();
        if record.ooo_len > 0 {
            let first = (record.ooo_start, record.ooo_len);
            for (start, len) in core::iter::once(first).chain(further.iter()) {
                let start = ahead(start, record.rcv_nxt);
                spans.push(Span { start, end: start + i64::from(len) });
            }
        }
        spans
    }

    /// Puts them where they are kept; `base` is the `rcv_nxt` that they were counted from.
    pub fn keep(&self, base: u32, record: &mut Record, further: &mut Further) {
        let mut numbers =
            self.iter().map(|span| (base.wrapping_add(span.start as u32), (span.end - span.start) as u32));
        (record.ooo_start, record.ooo_len) = numbers.next().unwrap_or_default();
        *further = Further::NONE;
        for (start, len) in numbers {
            further.push(start, len);
        }
        if self.is_empty() {
            record.clear(Flags::OOO_FIN);
        }
    }

    pub fn push(&mut self, span: Span) {
        if let Some(place) = self.all.get_mut(self.count) {
            *place = span;
            self.count += 1;
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &Span> {
        self.all[..self.count].iter()
    }

    /// Where the last of them ends; 0 without any.
    pub fn end(&self) -> i64 {
        self.iter().map(|span| span.end).max().unwrap_or(0)
    }

    /// By where they start.
    pub fn ascending(mut self) -> Self {
        self.all[..self.count].sort_unstable_by_key(|span| span.start);
        self
    }

    /// Those for which `is` holds.
    pub fn only(&self, is: impl Fn(&Span) -> bool) -> Self {
        let mut some = Self::default();
        self.iter().filter(|span| is(span)).for_each(|span| some.push(*span));
        some
    }
}
