//! The firewall as an XDP program: the same tables in the kernel's memory, and code made for them.
//!
//! ```text
//! Firewall ─ image ─► shared memory ◄── program: headers ─► lookup ─► count ─► drop, redirect to the other
//!                     counters of each CPU ◄──────────────────────────┘        port, or pass on
//!                     what the other port refused ◄─ tracepoints (refusals)
//! ```
//!
//! New rules are a new program with memory of its own, which takes the old one's place at once: each frame is
//! decided by one set of rules, and none passes undecided. The old program's counters are read after that.

mod headers;
mod image;
mod lookup;
mod refusals;

pub use refusals::Refusals;

use crate::firewall::{Decision, Firewall};
use crate::hits::{ENDS, Hit, Hits};
use bpf::Register::{R0, R1, R2, R3, R7, R8, R10};
use bpf::{
    Action, Assembler, BpfError, Condition, Helper, Instruction, License, Link, Map, MapKind, MapSpec,
    Outcome, Program, Shared, Size, XdpMode,
};
use headers::{Exits, stack};
use image::Image;
use lookup::Tables;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where frames go that may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// Out of the interface with this index.
    Interface(u32),
    /// On to this host's own stack.
    Host,
}

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    #[error(transparent)]
    Bpf(#[from] BpfError),
    #[error(
        "these rules need up to {tuples} look-ups for one packet, but the kernel's program allows {most}: \
         write fewer different prefix lengths of 'to' and port ranges for one source, or filter without --xdp"
    )]
    TooDeep { tuples: usize, most: usize },
    #[error("these rules need {bytes} bytes of tables, but the kernel's program can use {most}")]
    TooLarge { bytes: usize, most: usize },
}

/// The kernel proves that the program ends by walking through it: this many rounds are well within its
/// patience.
const MOST_TUPLES: usize = 256;
/// The kernel's limit on offsets into one value.
const MOST_BYTES: usize = 1 << 29;
/// Bytes of a counter: frames, bytes.
const ROW: usize = 16;

/// Whether a program can look up so many tables, and have so many bytes of tables and of counters.
const fn fit(tuples: usize, tables: usize, counters: usize) -> Result<(), XdpError> {
    let bytes = if tables > counters { tables } else { counters };
    if tuples > MOST_TUPLES {
        return Err(XdpError::TooDeep { tuples, most: MOST_TUPLES });
    }
    if bytes > MOST_BYTES { Err(XdpError::TooLarge { bytes, most: MOST_BYTES }) } else { Ok(()) }
}

/// A loaded program with its tables and counters.
pub struct Loaded {
    program: Program,
    firewall: Arc<Firewall>,
    counters: Shared,
    cpus: usize,
    /// Bytes from one CPU's counters to the next one's.
    stride: usize,
}

impl Loaded {
    /// Loads the program; it is attached nowhere yet.
    ///
    /// # Errors
    /// `Privilege`, or rules that a program cannot hold.
    pub fn new(firewall: Arc<Firewall>, onward: Onward) -> Result<Self, XdpError> {
        Self::watched(firewall, onward, None)
    }

    /// The same, with what becomes of the frames that it sends on.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn watched(
        firewall: Arc<Firewall>,
        onward: Onward,
        refusals: Option<&Refusals>,
    ) -> Result<Self, XdpError> {
        let image = Image::new(&firewall);
        let cpus = bpf::possible_cpus()?;
        // Counters of two CPUs are never in one cache line.
        let stride = ((firewall.rules().rules.len() + ENDS) * ROW).next_multiple_of(128);
        let all = stride * cpus;
        fit(firewall.cost().tuples, image.bytes.len(), all)?;
        let tables = Map::create(&MapSpec::memory("tare_rules", image.bytes.len() as u32))?;
        tables.share()?.write(0, &image.bytes);
        let counters = Map::create(&MapSpec::memory("tare_hits", all as u32))?;
        let devices = match onward {
            Onward::Host => None,
            Onward::Interface(index) => Some(device(index)?),
        };
        let parts =
            Parts { firewall: &firewall, tables: &tables, counters: &counters, refusals, cpus, stride };
        let code = parts.program(&image, devices.as_ref())?;
        let program = Program::load_xdp_frags("tare_firewall", &code, License::Apache)?;
        let counters = counters.share()?;
        Ok(Self { program, firewall, counters, cpus, stride })
    }

    /// Attaches it to the interface with this index, until the link is dropped.
    ///
    /// # Errors
    /// `Unsupported` if the driver has no XDP of this kind.
    pub fn attach(&self, interface: u32, mode: XdpMode) -> Result<Link, XdpError> {
        Ok(self.program.attach_xdp(interface, mode)?)
    }

    /// Takes the place of the program at `link`.
    pub fn take_over(&self, link: &Link) -> Result<(), XdpError> {
        Ok(link.replace(&self.program)?)
    }

    /// Runs it by hand on a frame that goes nowhere.
    pub fn run(&self, frame: &[u8], repeat: u32) -> Result<Outcome, XdpError> {
        Ok(self.program.run(frame, repeat)?)
    }

    pub const fn firewall(&self) -> &Arc<Firewall> {
        &self.firewall
    }

    /// What was counted so far, over all CPUs.
    pub fn hits(&self) -> Hits {
        Hits::from_rows(self.rows().map(|(_, hit)| hit).collect())
    }

    /// The same in two sums: what went on, and what was dropped.
    pub fn sums(&self) -> (Hit, Hit) {
        let mut sums = (Hit::default(), Hit::default());
        for (drops, hit) in self.rows() {
            let sum = if drops { &mut sums.1 } else { &mut sums.0 };
            sum.frames += hit.frames;
            sum.bytes += hit.bytes;
        }
        sums
    }

    /// Whether each row drops, and what it counted.
    fn rows(&self) -> impl Iterator<Item = (bool, Hit)> {
        let rules = self.firewall.rules();
        let ends = [rules.default.is_drop(), rules.other.is_drop(), true];
        let drops = rules.rules.iter().map(|rule| rule.action.is_drop()).chain(ends);
        drops.enumerate().map(|(row, drops)| (drops, self.row(row)))
    }

    fn row(&self, row: usize) -> Hit {
        let word =
            |cpu: usize, at: usize| self.counters.u64_at(cpu * self.stride + at).load(Ordering::Relaxed);
        (0..self.cpus).fold(Hit::default(), |sum, cpu| Hit {
            frames: sum.frames + word(cpu, row * ROW),
            bytes: sum.bytes + word(cpu, row * ROW + 8),
        })
    }
}

/// A map with the one interface that frames go to.
fn device(index: u32) -> Result<Map, BpfError> {
    let spec = MapSpec { kind: MapKind::Devices, ..MapSpec::array("tare_out", 4, 1) };
    let map = Map::create(&spec)?;
    map.update(&0u32.to_ne_bytes(), &index.to_ne_bytes())?;
    Ok(map)
}

/// What a program is made of.
struct Parts<'a> {
    firewall: &'a Firewall,
    tables: &'a Map,
    counters: &'a Map,
    refusals: Option<&'a Refusals>,
    cpus: usize,
    stride: usize,
}

/// `2 · slot + drops`, the other way round than [`Decision::from_code`].
fn code(decision: Decision) -> i32 {
    (decision.slot() << 1) as i32 | i32::from(decision.action().is_drop())
}

impl Parts<'_> {
    fn program(&self, image: &Image, devices: Option<&Map>) -> Result<Vec<Instruction>, BpfError> {
        let mut a = Assembler::new();
        let [v4, v6, hidden, other, malformed] = std::array::from_fn(|_| a.label());
        let exits = Exits { v4, v6, hidden, other, malformed };
        let (decided, broken) = (a.label(), a.label());
        headers::read(&mut a, exits);
        a.bind(exits.v4);
        let tables = |at| Tables { map: self.tables, at, decided, broken };
        lookup::ipv4(&mut a, &tables(image.v4), &self.firewall.v4);
        a.bind(exits.v6);
        lookup::ipv6(&mut a, &tables(image.v6), &self.firewall.v6);
        let [hidden, other, malformed] = self.firewall.ends();
        a.bind(exits.hidden).mov(R7, code(hidden)).jump(decided);
        a.bind(exits.other).mov(R7, code(other)).jump(decided);
        a.bind(exits.malformed).mov(R7, code(malformed)).bind(decided);
        self.count(&mut a, broken);
        let pass = a.label();
        a.jump_if(Condition::AnyBit, R7, 1, pass);
        match devices {
            Some(map) => {
                a.load_map(R1, map.as_fd()).mov(R2, 0).mov(R3, 0).call(Helper::RedirectMap);
                self.handed_over(&mut a);
                a.exit();
            }
            None => _ = a.mov(R0, Action::Pass as i32).exit(),
        }
        a.bind(pass).mov(R0, Action::Drop as i32).exit();
        a.bind(broken).mov(R0, Action::Aborted as i32).exit();
        a.assemble()
    }

    /// Counts a frame that was sent on (`R0` says so) or could not be.
    fn handed_over(&self, a: &mut Assembler) {
        let Some(refusals) = self.refusals else { return };
        let (done, nowhere) = (a.label(), a.label());
        a.mov(R7, R0);
        refusals::words_of_this_cpu(a, refusals.map(), self.cpus, done);
        a.jump_if(Condition::NotEqual, R7, Action::Redirect as i32, nowhere);
        let add = |a: &mut Assembler, at| {
            a.load(Size::Double, R2, R1, at).add(R2, 1).store(Size::Double, R1, at, R2);
        };
        add(a, refusals::HANDED);
        a.jump(done).bind(nowhere);
        add(a, refusals::REFUSED);
        a.bind(done).mov(R0, R7);
    }

    /// Counts the frame in the row of code `R7`, in this CPU's counters: nobody else writes there.
    fn count(&self, a: &mut Assembler, broken: bpf::Label) {
        let rows = self.firewall.rules().rules.len() + ENDS;
        a.store(Size::Word, R10, stack::ANY, R7).load(Size::Word, R7, R10, stack::ANY);
        a.mov(R8, R7).shr(R8, 1);
        a.jump_if(Condition::GreaterOrEqual, R8, rows as i32, broken);
        a.call(Helper::Cpu).jump_if(Condition::GreaterOrEqual, R0, self.cpus as i32, broken);
        a.mul(R0, self.stride as i32).shl(R8, 4);
        a.load_map_value(R1, self.counters.as_fd(), 0).add(R1, R0).add(R1, R8);
        a.load(Size::Double, R2, R1, 0).add(R2, 1).store(Size::Double, R1, 0, R2);
        a.load(Size::Double, R3, R10, stack::LENGTH);
        a.load(Size::Double, R2, R1, 8).add(R2, R3).store(Size::Double, R1, 8, R2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_as_many_tables_and_bytes_as_the_kernel_lets_it() {
        let most = 512 << 20;
        assert!(fit(256, most, most).is_ok());
        assert!(matches!(fit(257, 1, 1), Err(XdpError::TooDeep { tuples: 257, most: 256 })));
        for (tables, counters) in [(most + 1, 1), (1, most + 1)] {
            let error = fit(1, tables, counters);
            assert!(matches!(error, Err(XdpError::TooLarge { bytes, .. }) if bytes == most + 1));
        }
    }
}
