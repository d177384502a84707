use super::super::departures::{Departures, Ends, Pattern};
use super::super::outlet::Looks;
use super::super::source::{Recording, Room};
use super::super::streams::{Due, Timetable};
use super::*;
use crate::JobControl;
use plan::packets::send::Speed;
use port::Stamp;
use port::pcap::{Statistics, Style, Writer};
use proptest::prelude::*;
use schedule::Share;
use std::path::{Path, PathBuf};
use units::Instant;
use wire::template::{By, Changes, Field, Values, Vary};

const ORIGIN: Instant = Instant::from_picos(7_000_000_000_000);
const DOUBLE: Speed = Speed { up: 2, down: 1 };

/// UDP frames of different lengths, 3 µs apart and every seventh stamped before the one in front of it.
fn file(folder: &Path, frames: u64) -> PathBuf {
    let path = folder.join("a.pcap");
    let spec = wire::template::Spec {
        streams: vec![wire::template::StreamSpec {
            weight: 1,
            layers: vec![
                wire::template::Layer::ethernet(wire::template::Mac([2; 6]), wire::template::Mac([4; 6])),
                wire::template::Layer::ipv4([198, 18, 0, 1].into(), [198, 18, 0, 2].into()),
                wire::template::Layer::Udp { source: 5, destination: 6, checksum: true },
            ],
            sizes: wire::template::Sizes::Random { first: 80, last: 1_518 },
            ..wire::template::StreamSpec::default()
        }],
        seed: 3,
    };
    let template = Template::build(&spec).unwrap();
    let mut writer = Writer::create(&path, Style::of_name(&path)).unwrap();
    let (mut room, mut mark) = (vec![0; 2_048], 0);
    for n in 0..frames {
        let length = template.write(n, Times::default(), &mut room, &mut mark);
        let at = 1_000_000_000 + n * 3_000 - if n % 7 == 6 { 4_000 } else { 0 };
        writer.frame(Stamp(at), length, &room[..length], 0).unwrap();
    }
    writer.finish(&Statistics::default()).unwrap();
    path
}

fn changes() -> Changes {
    let values = Values::List(vec![53, 80, 443]);
    Changes {
        vary: vec![Vary { field: Field::PortDestination, values, by: By::Frame }],
        sign: true,
        seed: 1,
        may_lack: false,
    }
}

/// Everything that is due, and the bytes that leave.
fn played(mut timetable: Timetable, mut looks: Looks, most: usize) -> Vec<(u64, Instant, Vec<u8>)> {
    let mut all = Vec::new();
    let (mut room, mut mark) = (vec![0; 2_048], 0);
    while all.len() < most {
        timetable.look(ORIGIN);
        let Some(due) = timetable.draw() else {
            if timetable.is_waiting() {
                std::thread::yield_now();
                continue;
            }
            break;
        };
        let seq = due.departure.seq;
        while !looks.hold(seq, seq) {
            std::thread::yield_now();
        }
        let length = looks.write(&due, Times::default(), &mut room, &mut mark);
        all.push((seq, due.departure.due, room[..length].to_vec()));
    }
    all
}

fn taped(file: &Path, speed: Option<Speed>, loops: Option<u64>) -> (Tape, Looks, Arc<JobControl>) {
    let control = Arc::new(JobControl::default());
    let setup = TapeSetup {
        file: file.to_owned(),
        changes: changes(),
        speed,
        loops,
        side: None,
        frames: None,
        window_bytes: 4 << 20,
    };
    let (mut tape, ready) = setup.start(control.clone()).unwrap();
    ready.wait();
    let head = Template::from_frames(vec![vec![0; 60]]).unwrap();
    let (_, empty) = std::sync::mpsc::sync_channel(1);
    let (back, _) = std::sync::mpsc::sync_channel(1);
    let reel = std::mem::replace(&mut tape.reel, Reel::new(empty, back, 1, Arc::default()));
    (tape, Looks::new(Arc::new(head)).with_reel(Some(reel)), control)
}

fn held(file: &Path) -> (Recording, Looks) {
    let mut recording = Recording::read(file, Room::Whole).unwrap();
    let frames = std::mem::take(&mut recording.frames);
    (recording, Looks::new(Arc::new(Template::from_frames_with(frames, &changes()).unwrap())))
}

#[test]
fn what_is_read_while_it_is_sent_leaves_as_if_it_were_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), 5_000);
    for (loops, after, frames) in
        [(Some(3), None, None), (None, Some(Picos::from_micros(9_000)), None), (None, None, Some(7_001))]
    {
        let (recording, looks) = held(&file);
        let cycle = recording.times(DOUBLE).unwrap();
        let by_loops = loops.map(|loops| loops * cycle.len());
        let ends = Ends { after, frames: frames.or(by_loops) };
        let departures = Departures::new(Pattern::Cycle(cycle), ends, ORIGIN, Share::WHOLE);
        let wanted = played(departures.into(), looks, usize::MAX);
        let (mut tape, looks, control) = taped(&file, Some(DOUBLE), loops);
        tape.times.begin(ORIGIN, after, frames);
        let got = played(Timetable::Taped(tape.times), looks, usize::MAX);
        assert_eq!(got.len(), wanted.len());
        assert!(got == wanted, "the same numbers, times and bytes");
        assert_eq!(control.why(), None);
        let told = |of: &AtomicU64| of.load(Ordering::Relaxed);
        assert_eq!((told(&tape.report.backward), told(&tape.report.cut)), (recording.odd.backward, 0));
    }
}

#[test]
fn frames_without_times_go_round_and_round() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), 1_500);
    let even = |ends| Departures::new(Pattern::Even("1M".parse().unwrap()), ends, ORIGIN, Share::WHOLE);
    let ends = Ends { after: None, frames: Some(4_000) };
    let (_, looks) = held(&file);
    let wanted = played(even(ends).into(), looks, usize::MAX);
    let (_tape, looks, _) = taped(&file, None, None);
    assert!(played(even(ends).into(), looks, usize::MAX) == wanted);
}

#[test]
fn a_pause_moves_what_is_behind_it_and_what_is_put_back_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), 3_000);
    let at = |micros: u64| ORIGIN + Picos::from_micros(micros);
    let (recording, looks) = held(&file);
    let steer = |timetable: &mut Timetable| {
        let drawn: Vec<Due> = (0..200).filter_map(|_| timetable.draw()).collect();
        timetable.put_back(drawn[100].departure.seq);
        timetable.pause(at(400));
        let before: Vec<Due> = std::iter::from_fn(|| timetable.draw()).collect();
        assert!(timetable.is_paused() && before.iter().all(|due| due.departure.due < at(400)));
        timetable.resume(at(700));
        before.len()
    };
    let cycle = recording.times(DOUBLE).unwrap();
    let ends = Ends { after: None, frames: Some(cycle.len()) };
    let mut whole = Timetable::from(Departures::new(Pattern::Cycle(cycle), ends, ORIGIN, Share::WHOLE));
    let (mut tape, reel, _control) = taped(&file, Some(DOUBLE), Some(1));
    tape.times.begin(ORIGIN, None, None);
    let mut timetable = Timetable::Taped(tape.times);
    while timetable.peek().is_none() {
        timetable.look(ORIGIN);
    }
    assert_eq!(timetable.due_before(at(50)), whole.due_before(at(50)));
    assert_eq!(steer(&mut timetable), steer(&mut whole));
    assert!(timetable.set_rate(at(800), 0, "5".parse().unwrap()).is_err());
    assert!(played(timetable, reel, usize::MAX) == played(whole, looks, usize::MAX));
}

#[test]
fn what_was_not_sent_is_counted_although_it_was_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), 20_000);
    let (mut tape, mut looks, _control) = taped(&file, Some(DOUBLE), Some(2));
    tape.times.begin(ORIGIN, None, None);
    let mut timetable = Timetable::Taped(tape.times);
    timetable.look(ORIGIN);
    assert_eq!(timetable.skip_before(ORIGIN + Picos::from_micros(15)).0, 10);
    looks.let_go();
    assert_eq!(timetable.skip_before(Instant::FAR).0, 40_000 - 10);
    assert!(!timetable.is_waiting() && timetable.draw().is_none());
}

#[test]
fn a_file_that_ends_within_a_frame_ends_the_run_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), 9_000);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 10]).unwrap();
    let (mut tape, looks, control) = taped(&file, Some(DOUBLE), Some(1));
    tape.times.begin(ORIGIN, None, None);
    let sent = played(Timetable::Taped(tape.times), looks, usize::MAX);
    assert!(sent.len() < 9_000 && control.stops());
    let why = control.why().unwrap();
    assert!(why.contains("a.pcap"), "{why}");
}

/// Where each frame of a file begins: 24 bytes are in front of all, and 16 in front of each.
fn starts_of_frames(bytes: &[u8]) -> Vec<usize> {
    let length = |at: usize| u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    let next = |at: &usize| Some(at + 16 + length(*at)).filter(|end| *end < bytes.len());
    std::iter::successors(Some(24), next).collect()
}

#[test]
fn a_file_that_is_cut_off_between_two_frames_ends_the_run_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), 20_000);
    let (mut tape, looks, control) = taped(&file, Some(DOUBLE), Some(1));
    tape.times.begin(ORIGIN, None, None);
    // Only so much of it has been read as may be kept.
    let end = starts_of_frames(&std::fs::read(&file).unwrap())[15_000];
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(end as u64).unwrap();
    let sent = played(Timetable::Taped(tape.times), looks, usize::MAX);
    assert_eq!(sent.len(), 15_000);
    while !control.stops() {
        std::thread::yield_now();
    }
    let why = control.why().unwrap();
    assert!(why.contains("was cut off while it was read"), "{why}");
}

#[test]
fn a_frame_that_cannot_be_sent_is_told_by_its_number_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), 9_000);
    // Frame 7 001 is one of ARP, which has no room for a signature.
    let mut bytes = std::fs::read(&file).unwrap();
    let at = starts_of_frames(&bytes)[7_000] + 16;
    bytes[at + 12..at + 14].copy_from_slice(&[0x08, 0x06]);
    std::fs::write(&file, bytes).unwrap();
    let (mut tape, looks, control) = taped(&file, Some(DOUBLE), Some(1));
    tape.times.begin(ORIGIN, None, None);
    played(Timetable::Taped(tape.times), looks, usize::MAX);
    let why = control.why().unwrap();
    assert!(why.contains("frame 7001:"), "{why}");
}

#[test]
fn one_step_back_is_one_timestamp_before_that_in_front() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("back.pcap");
    let mut writer = Writer::create(&path, Style::of_name(&path)).unwrap();
    for n in 0..6_000u64 {
        // From the second on a second earlier than the first.
        let at = 5_000_000_000 + n * 1_000 - if n > 0 { 1_000_000_000 } else { 0 };
        writer.frame(Stamp(at), 60, &[0; 60], 0).unwrap();
    }
    writer.finish(&Statistics::default()).unwrap();
    let held = Recording::read(&path, Room::Whole).unwrap();
    assert_eq!((held.odd.backward, held.offsets[1], held.offsets[5_999]), (1, 0, 5_998_000));
    let control = Arc::new(JobControl::default());
    let setup = TapeSetup {
        file: path,
        changes: Changes::default(),
        speed: Some(DOUBLE),
        loops: Some(1),
        side: None,
        frames: None,
        window_bytes: 4 << 20,
    };
    let (mut tape, ready) = setup.start(control).unwrap();
    ready.wait();
    tape.times.begin(ORIGIN, None, None);
    drop(tape.reel);
    assert_eq!(tape.times.skip_before(Instant::FAR), 6_000);
    assert_eq!(tape.report.backward.load(Ordering::Relaxed), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_number_of_frames_and_rounds(frames in 1u64..2_600, loops in 1u64..4, up in 1u64..9) {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), frames);
        let speed = Speed { up, down: 1 };
        let (recording, looks) = held(&file);
        let cycle = recording.times(speed).unwrap();
        let ends = Ends { after: None, frames: Some(loops * frames) };
        let departures = Departures::new(Pattern::Cycle(cycle), ends, ORIGIN, Share::WHOLE);
        let (mut tape, reel, _control) = taped(&file, Some(speed), Some(loops));
        tape.times.begin(ORIGIN, None, None);
        let got = played(Timetable::Taped(tape.times), reel, usize::MAX);
        prop_assert!(got == played(departures.into(), looks, usize::MAX));
    }
}
