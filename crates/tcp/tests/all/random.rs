//! Random events: what a peer could say to this record, near the edges where decisions are made, and nonsense.

use fastrand::Rng;
use tcp::{Arrived, Event, Exponents, Flags, Micros, Millis, Options, Record, State};
use wire::tcp::flag;

/// One of these.
fn one<T: Copy>(random: &mut Rng, of: &[T]) -> T {
    of[random.usize(..of.len())]
}

fn chance(random: &mut Rng, percent: u32) -> bool {
    random.u32(..100) < percent
}

/// A later time: often the same, seldom much later.
pub fn later(random: &mut Rng, now_us: u64) -> u64 {
    let range = one(random, &[1, 1, 100, 5_000, 50_000, 300_000, 3_000_000]);
    now_us + random.u64(..range)
}

pub fn event(random: &mut Rng, r: &Record) -> Event {
    let patience_ms = one(random, &[0, 50, 2000, 60_000]);
    match random.u32(..100) {
        _ if r.state == State::Closed && chance(random, 80) => {
            Event::Open { isn: number(random), patience_ms }
        }
        0..56 => Event::Segment(segment(random, r)),
        56..76 => {
            let len = one(random, &[0, 1, 100, 100, 100, 1448, 1460, 5000, u16::MAX]);
            Event::Send { len, close: chance(random, 5), patience_ms }
        }
        76..82 => Event::Answered,
        82..89 => Event::Flush,
        89 => Event::Window { open: random.bool() },
        90..96 => Event::Timer,
        96 => one(random, &[Event::Close, Event::Close, Event::Abort]),
        97 => Event::Open { isn: number(random), patience_ms },
        98 => Event::Unreachable { hard: random.bool(), seq: near(random, r.snd_una) },
        _ => Event::Mtu { mss: random.u16(..), seq: near(random, r.snd_una) },
    }
}

/// Numbers near a wrap are frequent.
fn number(random: &mut Rng) -> u32 {
    let near = one(random, &[0u32, 0x7fff_ffff, 0xffff_fff0]);
    if random.bool() { near.wrapping_add(random.u32(..64)) } else { random.u32(..) }
}

/// How many segments may be in flight: it may change between two steps.
pub fn burst(random: &mut Rng) -> u16 {
    one(random, &[0, 1, 2, 4, 10, u16::MAX])
}

fn near(random: &mut Rng, number: u32) -> u32 {
    number.wrapping_add(random.u32(..8)).wrapping_sub(random.u32(..8))
}

fn segment(random: &mut Rng, r: &Record) -> Arrived {
    let opening = r.state == State::SynSent;
    let flags = match random.u32(..100) {
        0..80 if opening => flag::SYN | flag::ACK,
        0..90 => flag::ACK | one(random, &[0, flag::PSH]),
        90..95 => flag::ACK | flag::FIN,
        95 => flag::RST,
        96 => flag::RST | flag::ACK,
        97 => one(random, &[flag::SYN, flag::SYN | flag::ACK]),
        _ => random.u8(..),
    };
    let edge =
        [r.rcv_nxt, r.ooo_start, r.ooo_start.wrapping_add(r.ooo_len), r.rcv_nxt.wrapping_add(65_535 << 7)];
    let edge = one(random, &edge);
    let seq = match random.u32(..100) {
        0..70 => r.rcv_nxt,
        70..85 => near(random, edge),
        85..94 => r.rcv_nxt.wrapping_add(random.u32(..4000)).wrapping_sub(1000),
        // More holes than are kept.
        94..97 => r.rcv_nxt.wrapping_add(random.u32(..4_000_000)),
        _ => number(random),
    };
    let ack = match random.u32(..100) {
        0..70 => r.snd_nxt(),
        70..80 => r.snd_una,
        80..90 => r.snd_una.wrapping_add(random.u32(..u32::from(r.in_flight) + 2)),
        90..97 => near(random, r.snd_una),
        _ => number(random),
    };
    let len = one(random, &[0, 0, 1, 10, 500, 1448, 1460, 65_495]);
    let len = if chance(random, 20) { random.u32(..3000) } else { len };
    let window = one(random, &[0, 1, 60, 512, 8192, u16::MAX, u16::MAX]);
    Arrived { seq, ack, flags, window, len, options: options(random, r) }
}

fn options(random: &mut Rng, r: &Record) -> Options {
    let value = match random.u32(..100) {
        0..90 => r.ts_recent.wrapping_add(random.u32(..3)),
        90..97 => near(random, r.ts_recent),
        _ => number(random),
    };
    let stamped = if r.state == State::SynSent { random.bool() } else { r.has(Flags::STAMPED) };
    Options {
        mss: chance(random, 70).then(|| one(random, &[0, 48, 536, 1460, u16::MAX])),
        shift: chance(random, 50).then(|| random.u8(..16)),
        sack_permitted: random.bool(),
        stamps: (stamped != chance(random, 2)).then(|| (value, random.u32(..))),
        sack: chance(random, 10).then(|| (random.u32(..), random.u32(..))),
        ..Options::default()
    }
}

/// Any bits.
pub fn record(random: &mut Rng) -> Record {
    let states = [
        State::Closed,
        State::SynSent,
        State::Established,
        State::FinWait1,
        State::FinWait2,
        State::Closing,
        State::LastAck,
        State::TimeWait,
    ];
    let mut flags = Flags::default();
    for (_, flag) in Flags::ALL {
        flags = if random.bool() { flags.with(flag) } else { flags };
    }
    Record {
        snd_una: number(random),
        snd_wnd: one(random, &[0, 1, 8192, u32::MAX]),
        snd_wl1: number(random),
        rcv_nxt: number(random),
        ooo_start: number(random),
        ooo_len: one(random, &[0, 1, 1000, u32::MAX]),
        ts_recent: number(random),
        sent: Micros::from_wrapped(random.u32(..)),
        deadline: Millis::from_wrapped(random.u32(..)),
        limit: Millis::from_wrapped(random.u32(..)),
        ack_by: Millis::from_wrapped(random.u32(..)),
        challenged: Millis::from_wrapped(random.u32(..)),
        left: random.u16(..),
        in_flight: random.u16(..),
        mss: random.u16(..),
        unacked: random.u16(..),
        flags,
        state: one(random, &states),
        incarnation: random.u8(..),
        retries: random.u8(..),
        exponents: Exponents::new(random.u8(..), random.u8(..)),
        wnd_log: random.u8(..),
    }
}
