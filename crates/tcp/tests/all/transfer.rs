//! Whole uploads over a simulated path that delays, loses and overtakes, to a plain receiver: every byte comes
//! once, whatever the burst is. Time is virtual.

use fastrand::Rng;
use std::collections::BTreeMap;
use tcp::{Arrived, Event, Notice, Options, Path, Record, State, Time, step};
use wire::tcp::flag;

/// What the path and the receiver do.
#[derive(Clone, Copy, Debug)]
struct Trial {
    seed: u64,
    burst: u16,
    /// Lost in each direction, of a thousand.
    lost: u32,
    /// Added to the 10 ms of each direction, at random: segments overtake each other.
    jitter_us: u64,
    /// The receiver's window, at random one of these for each ACK.
    windows: &'static [u16],
    sack: bool,
}

const PLAIN: Trial = Trial { seed: 1, burst: 10, lost: 0, jitter_us: 0, windows: &[65_535], sack: true };
const DELAY_US: u64 = 10_000;
const ISN: u32 = 0xffff_8000;

/// The receiver: what is in order, and what came behind a hole, by its place in the stream.
#[derive(Default)]
struct Receiver {
    stream: Vec<u8>,
    behind: BTreeMap<usize, Vec<u8>>,
    /// The place of the segment behind a hole that came last.
    newest: usize,
    finished: bool,
    /// When an ACK that waits for a second segment is sent.
    ack_at: Option<u64>,
}

impl Receiver {
    /// Whether an ACK is sent at once.
    fn takes(&mut self, at: usize, bytes: Vec<u8>, fin: bool, now: u64) -> bool {
        let next = self.stream.len();
        if at > next {
            self.newest = at;
            self.behind.insert(at, bytes);
            return true;
        }
        let filled = !self.behind.is_empty();
        let known = (next - at).min(bytes.len());
        assert_eq!(self.stream[at..at + known], bytes[..known], "the same numbers, other bytes");
        let is_new = bytes.len() > known;
        self.stream.extend(&bytes[known..]);
        while let Some((at, bytes)) = self.behind.pop_first() {
            if at > self.stream.len() {
                self.behind.insert(at, bytes);
                break;
            }
            let known = (self.stream.len() - at).min(bytes.len());
            self.stream.extend(&bytes[known..]);
        }
        self.finished |= fin && at + bytes.len() == self.stream.len();
        let at_once = !is_new || filled || fin || self.ack_at.is_some();
        if !at_once {
            self.ack_at = Some(now + 40_000);
        }
        at_once
    }

    /// The run of bytes behind a hole that has the newest of them.
    fn block(&self) -> Option<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (at, bytes) in &self.behind {
            match runs.last_mut() {
                Some((_, end)) if at <= end => *end = (*end).max(at + bytes.len()),
                _ => runs.push((*at, at + bytes.len())),
            }
        }
        runs.into_iter().find(|(from, to)| (from..to).contains(&&self.newest))
    }
}

enum Wire {
    /// Place in the stream, its bytes, FIN.
    Up(usize, Vec<u8>, bool),
    Down(Arrived),
}

struct World {
    trial: Trial,
    random: Rng,
    path: Path,
    r: Record,
    now: u64,
    /// By time of arrival, and a number, so that what is sent first arrives first.
    wire: BTreeMap<(u64, u64), Wire>,
    sent: u64,
    receiver: Receiver,
    request: Vec<u8>,
    /// Bytes of the requests before this one.
    before: usize,
    told: Vec<Notice>,
    most_out: u32,
}

impl World {
    fn open(trial: Trial) -> Self {
        let path = Path { burst: trial.burst, stamps: false, sack: trial.sack, shift: 0, ..Path::v4(1500) };
        let mut world = Self {
            trial,
            random: Rng::with_seed(trial.seed),
            path,
            r: Record::default(),
            now: 1_000_000,
            wire: BTreeMap::new(),
            sent: 0,
            receiver: Receiver::default(),
            request: Vec::new(),
            before: 0,
            told: Vec::new(),
            most_out: 0,
        };
        world.does(Event::Open { isn: ISN, patience_ms: 0 });
        world.now += 2 * DELAY_US;
        let options = Options { mss: Some(1460), sack_permitted: true, ..Options::default() };
        let (seq, ack) = (u32::MAX, ISN.wrapping_add(1));
        let flags = flag::SYN | flag::ACK;
        world.does(Event::Segment(Arrived { seq, ack, flags, window: 65_535, len: 0, options }));
        world
    }

    fn does(&mut self, event: Event) {
        let made = step(&self.path, self.r, event, Time::from_micros(self.now));
        self.r = made.record;
        for notice in made.notices.iter() {
            if let Notice::Rtt { micros } = notice {
                self.path.sample(*micros);
            }
            self.told.push(*notice);
        }
        self.most_out = self.most_out.max(u32::from(self.r.in_flight));
        let Some(segment) = made.segment.filter(|segment| segment.flags & flag::SYN == 0) else { return };
        let at = segment.seq.wrapping_sub(ISN.wrapping_add(1)) as usize;
        let bytes = segment.payload.map_or_else(Vec::new, |payload| {
            let bytes = payload.of(&self.request).expect("a part of the request").to_vec();
            let place = self.before + self.request.len() - usize::from(payload.before_end);
            assert_eq!(at, place, "the number and the part of the request");
            bytes
        });
        let fin = segment.flags & flag::FIN != 0;
        if !bytes.is_empty() || fin {
            self.travels(Wire::Up(at, bytes, fin));
        }
    }

    fn travels(&mut self, what: Wire) {
        if self.random.u32(..1000) >= self.trial.lost {
            let time = self.now + DELAY_US + self.random.u64(..=self.trial.jitter_us);
            self.sent += 1;
            self.wire.insert((time, self.sent), what);
        }
    }

    fn acknowledges(&mut self) {
        self.receiver.ack_at = None;
        let number = |at: usize| ISN.wrapping_add(1).wrapping_add(at as u32);
        let place = self.receiver.stream.len();
        let block = self.receiver.block().filter(|_| self.trial.sack);
        let windows = self.trial.windows;
        let arrived = Arrived {
            seq: 0,
            ack: number(place + usize::from(self.receiver.finished)),
            flags: flag::ACK,
            window: windows[self.random.usize(..windows.len())],
            len: 0,
            options: Options {
                sack: block.map(|(from, to)| (number(from), number(to))),
                ..Options::default()
            },
        };
        self.travels(Wire::Down(arrived));
    }

    /// Lets the next thing happen: an arrival, the receiver's late ACK, or the record's timer.
    fn turn(&mut self) {
        for _ in 0..100 {
            if self.r.wants_flush() {
                self.does(Event::Flush);
            }
        }
        let timer = self.r.next_deadline().map(|deadline| u64::from(deadline.as_wrapped()) * 1000);
        let arrival = self.wire.first_key_value().map(|((time, _), _)| *time);
        let times = [timer, arrival, self.receiver.ack_at];
        self.now = times.into_iter().flatten().min().expect("something is due").max(self.now);
        if arrival.is_some_and(|time| time <= self.now) {
            match self.wire.pop_first().expect("an arrival").1 {
                Wire::Down(arrived) => self.does(Event::Segment(arrived)),
                Wire::Up(at, bytes, fin) => {
                    if self.receiver.takes(at, bytes, fin, self.now) {
                        self.acknowledges();
                    }
                }
            }
        } else if self.receiver.ack_at.is_some_and(|time| time <= self.now) {
            self.acknowledges();
        } else {
            self.does(Event::Timer);
        }
    }

    /// Sends requests of these sizes, the last one with FIN; and how long that took.
    fn uploads(&mut self, sizes: &[u16]) -> u64 {
        let began = self.now;
        let mut all: Vec<u8> = Vec::new();
        for (at, size) in sizes.iter().enumerate() {
            self.before += self.request.len();
            self.request = (0..*size).map(|_| self.random.u8(..)).collect();
            all.extend(&self.request);
            self.does(Event::Send { len: *size, close: at + 1 == sizes.len(), patience_ms: 0 });
            while self.r.left > 0 {
                self.turn();
                assert!(self.now - began < 3_600_000_000, "an hour: {:?} {:?}", self.trial, self.r);
            }
            self.does(Event::Answered);
        }
        while self.r.state != State::FinWait2 {
            self.turn();
        }
        assert!(self.receiver.finished && self.receiver.stream == all, "{:?}", self.trial);
        assert_eq!(self.count(|notice| *notice == Notice::Acked), sizes.len());
        self.now - began
    }

    fn count(&self, is: impl Fn(&Notice) -> bool) -> usize {
        self.told.iter().filter(|notice| is(notice)).count()
    }

    fn rtts(&self) -> impl Iterator<Item = u32> {
        self.told.iter().filter_map(|notice| match notice {
            Notice::Rtt { micros } => Some(*micros),
            _ => None,
        })
    }
}

const SIZES: [u16; 6] = [u16::MAX, 1, 1460, 1461, 30_000, u16::MAX];

#[test]
fn every_byte_comes_once_whatever_the_path_does() {
    for seed in 0..40 {
        for burst in [1, 2, 4, 10, u16::MAX] {
            let windows: &[u16] = if seed % 4 == 3 { &[0, 1000, 8192, 65_535] } else { &[65_535] };
            let (lost, jitter_us) = ([0, 20, 20, 100][seed as usize % 4], [0, 0, 3000][seed as usize % 3]);
            let trial = Trial { seed, burst, lost, jitter_us, windows, sack: seed % 2 == 0 };
            let mut world = World::open(trial);
            world.uploads(&SIZES);
            let most = (u32::from(burst) * 1460).min(65_535);
            assert!(world.most_out <= most, "{} bytes were out: {trial:?}", world.most_out);
            // Karn: a round trip that is too short was measured from what was sent twice.
            assert!(world.rtts().all(|rtt| u64::from(rtt) >= 2 * DELAY_US), "{trial:?}");
        }
    }
}

#[test]
fn a_path_without_loss_sends_nothing_twice_and_is_measured_right() {
    for burst in [1, 2, 3, 10, u16::MAX] {
        let mut world = World::open(Trial { burst, ..PLAIN });
        world.uploads(&SIZES);
        assert_eq!(world.count(|notice| *notice == Notice::Retransmitted), 0, "burst {burst}");
        // The receiver waits 40 ms for a second segment.
        assert!(world.rtts().all(|rtt| (20_000..=60_000).contains(&rtt)), "burst {burst}");
    }
}

#[test]
fn ten_segments_in_flight_are_ten_times_as_fast() {
    let time = |burst| World::open(Trial { burst, ..PLAIN }).uploads(&[u16::MAX, u16::MAX]);
    // 45 segments each. One by one, each waits for its delayed ACK: 20 + 40 ms; but for the last one, with FIN.
    assert_eq!(time(1), 89 * 60_000 + 20_000);
    // Ten at once: five flights of 20 ms, and a last segment whose ACK may wait for another.
    assert!(time(10) <= 2 * (5 * 20_000 + 40_000), "{} us", time(10));
}

#[test]
fn single_losses_are_repaired_without_a_timeout() {
    let mut timeouts = 0;
    for seed in 0..100 {
        let mut world = World::open(Trial { seed, lost: 2, ..PLAIN });
        let time = world.uploads(&[u16::MAX]);
        // The least timeout is 200 ms above the round-trip time; without any, the upload takes 140 ms or less.
        let lost = world.count(|notice| *notice == Notice::Retransmitted);
        timeouts += usize::from(lost > 0 && time > 250_000);
    }
    // Losses among the last three of a request, or of an ACK at its end, have no three duplicates.
    assert!(timeouts < 10, "{timeouts} of 100 uploads waited for a timeout");
}
