//! The tables as one piece of memory that the kernel's program and this process share.
//!
//! ```text
//! v4: prefixes | classes | tuples | exact     v6: the same
//! ```

use crate::compile::half::Half;
use crate::compile::table::Table;
use crate::firewall::Firewall;

/// Where the tables of one family begin, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    pub prefixes: u32,
    pub classes: u32,
    pub tuples: u32,
    pub exact: u32,
}

/// The memory, and where what is.
pub struct Image {
    pub bytes: Vec<u8>,
    pub v4: Sections,
    pub v6: Sections,
}

impl Image {
    pub fn new(firewall: &Firewall) -> Self {
        let mut bytes = Vec::new();
        let v4 = half(&mut bytes, &firewall.v4);
        let v6 = half(&mut bytes, &firewall.v6);
        Self { bytes, v4, v6 }
    }
}

fn half<const P: usize, const T: usize, const E: usize>(
    bytes: &mut Vec<u8>,
    half: &Half<P, T, E>,
) -> Sections {
    Sections {
        prefixes: table(bytes, &half.prefixes),
        classes: append(bytes, half.classes.iter()),
        tuples: append(bytes, half.tuples.iter().flatten()),
        exact: table(bytes, &half.exact),
    }
}

fn table<const N: usize>(bytes: &mut Vec<u8>, table: &Table<N>) -> u32 {
    append(bytes, table.slots.iter().flatten())
}

fn append<'a>(bytes: &mut Vec<u8>, words: impl Iterator<Item = &'a u64>) -> u32 {
    // A section begins with a cache line, so that short ways stay within one.
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    let start = bytes.len() as u32;
    words.for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
    start
}
