//! The whole job over rings in memory: what was sent is counted, kept and told.

use super::*;
use crate::job::Findings;
use crate::signed::testing;
use port::pcap::Reader;
use port::{For, Instruction};
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Phase, Record};

/// Running totals of all threads.
#[derive(Clone, Default)]
struct Totals(Arc<Mutex<(u64, u64, u64)>>);

impl Record for Totals {
    fn event(&mut self, _: &Event) {}
    fn missed(&mut self, _: Miss, count: u64) {
        self.0.lock().unwrap().1 += count;
    }
    fn frames(&mut self, _: Fate, count: u64, _: Bytes) {
        self.0.lock().unwrap().0 += count;
    }
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, counters: &EngineCounters) {
        let mut totals = self.0.lock().unwrap();
        totals.2 = totals.2.max(counters.offered);
    }
}

fn settings() -> Settings {
    Settings::new("mem:test".parse().unwrap())
}

fn keep(path: &Path, rotation: Rotation) -> Option<Keeping> {
    Some(Keeping { path: path.to_owned(), rotation, buffer: 4_000_000 })
}

/// Runs a capture while `send` is at work on the other end; it ends by itself, or when `send` is done.
fn captured(settings: Settings, send: impl FnOnce(&mut dyn Port)) -> (Findings, Totals) {
    let (mut ours, theirs) = port::mem::stamped_pair(1_024, 2_000, || port::mem::Stamping::Launch);
    run_on(settings, Box::new(theirs), || send(&mut ours))
}

fn run_on(settings: Settings, port: Box<dyn Port>, send: impl FnOnce()) -> (Findings, Totals) {
    let is_ended_by_us = settings.frames.is_none();
    let capture = Capture::with_ports(settings, HostClock::monotonic(), vec![port]).unwrap();
    let (control, totals) = (Arc::new(JobControl::default()), Totals::default());
    let mut make = |_: Instant| -> crate::Recorders { vec![Box::new(totals.clone())] };
    let running = Box::new(capture).start(control.clone(), &mut make).unwrap();
    send();
    if is_ended_by_us {
        control.interrupt();
    }
    (running.join(), totals)
}

/// Frames wait in the port from when it is there: a rate is of the time since.
#[test]
fn a_capture_begins_when_its_port_is_there() {
    let clock = HostClock::monotonic();
    let (_ours, theirs) = port::mem::pair(64, 2_000);
    let before = clock.now();
    let capture = Capture::with_ports(settings(), clock, vec![Box::new(theirs)]).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let started = clock.now();
    let mut begun = started;
    let mut make = |origin: Instant| -> crate::Recorders {
        begun = origin;
        vec![Box::new(Totals::default())]
    };
    let control = Arc::new(JobControl::default());
    let running = Box::new(capture).start(control.clone(), &mut make).unwrap();
    control.interrupt();
    running.join();
    assert!(begun >= before && started.since(begun) >= Picos::from_millis(30), "{begun:?}");
}

/// Sends all of these, each stamped with its time.
fn send_all(port: &mut dyn Port, frames: &[(Vec<u8>, u64)]) {
    let mut rest = frames;
    while !rest.is_empty() {
        let mut next = 0;
        let taken = port.transmit(rest.len().min(256), &mut |slot| {
            let (bytes, stamp) = &rest[next];
            slot.data[..bytes.len()].copy_from_slice(bytes);
            slot.length = bytes.len();
            slot.launch = Stamp(*stamp);
            next += 1;
        });
        rest = &rest[taken.unwrap()..];
        port.wait(For::Transmit, Picos::from_millis(100)).unwrap();
    }
}

fn row(count: u64) -> Vec<(Vec<u8>, u64)> {
    (0..count).map(|number| testing::frame(number, 0, 60 + (number % 200) as usize)).collect()
}

fn read_back(path: &Path) -> Vec<(Vec<u8>, u64)> {
    let mut reader = Reader::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        frames.push((frame.data.to_vec(), frame.stamp.0));
    }
    frames
}

#[test]
fn what_was_sent_is_in_the_file_byte_for_byte_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.pcapng", "a.pcap"] {
        let path = folder.path().join(name);
        let frames = row(20_000);
        let settings =
            Settings { frames: Some(20_000), file: keep(&path, Rotation::default()), ..settings() };
        let (findings, totals) = captured(settings, |port| send_all(port, &frames));
        assert!(read_back(&path) == frames, "{name} differs");
        assert_eq!(*totals.0.lock().unwrap(), (20_000, 0, 20_000));
        let report = findings.report;
        assert_eq!((report.ports[0].received, &report.ports[0].drops), (20_000, &Vec::new()));
        assert_eq!(report.sizes.iter().map(|row| row.frames).sum::<u64>(), 20_000);
        assert_eq!((report.flows.len(), report.flows[0].frames, report.other_flows), (1, 20_000, 0));
        let received = report.received.unwrap();
        assert_eq!((received.signed, received.lost, received.incidents.len()), (20_000, 0, 0));
        assert!(findings.labels.is_empty(), "{:?}", findings.labels);
    }
}

#[test]
fn it_takes_as_many_frames_as_it_was_told_to_and_no_more() {
    let (findings, totals) =
        captured(Settings { frames: Some(777), ..settings() }, |port| send_all(port, &row(1_000)));
    assert_eq!((findings.report.ports[0].received, totals.0.lock().unwrap().0), (777, 777));
}

#[test]
fn a_filter_lets_pass_what_it_says_and_counts_the_rest() {
    let mut frames = row(100);
    for (bytes, _) in frames.iter_mut().take(30) {
        bytes[23] = 6;
    }
    let filter = Some(compile("udp").unwrap());
    let (findings, _) = captured(Settings { filter, ..settings() }, |port| send_all(port, &frames));
    let port = &findings.report.ports[0];
    assert_eq!(port.received, 70);
    assert_eq!((port.drops[0].place.as_str(), port.drops[0].frames), ("rx.filter", 30));
}

#[test]
fn a_snap_length_keeps_the_start_and_the_whole_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let frames = row(300);
    let settings = Settings { snap: Some(64), file: keep(&path, Rotation::default()), ..settings() };
    captured(settings, |port| send_all(port, &frames));
    let mut reader = Reader::open(&path).unwrap();
    let mut count = 0;
    while let Some(frame) = reader.next().unwrap() {
        let (bytes, _) = &frames[count];
        assert_eq!((frame.data, frame.length), (&bytes[..bytes.len().min(64)], bytes.len()));
        count += 1;
    }
    assert_eq!(count, 300);
}

#[test]
fn files_change_at_the_frame_and_only_the_last_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let frames = row(1_050);
    let rotation = Rotation { frames: Some(100), keep: Some(3), ..Rotation::default() };
    let (findings, _) =
        captured(Settings { file: keep(&path, rotation), ..settings() }, |port| send_all(port, &frames));
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["a-00009.pcapng", "a-00010.pcapng", "a-00011.pcapng"]);
    let parts: Vec<_> = names.iter().map(|name| read_back(&folder.path().join(name))).collect();
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 50]);
    assert!(parts.concat() == frames[800..]);
    assert!(findings.notes[0].starts_with("1050 frames were written"), "{:?}", findings.notes);
    assert!(findings.notes[0].contains("in 11 files, of which the oldest 8 were removed"));
}

#[test]
fn files_are_no_longer_than_was_said_and_none_ends_early() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let rotation = Rotation { bytes: Some(20_000), ..Rotation::default() };
    let frames = row(1_000);
    captured(Settings { file: keep(&path, rotation), ..settings() }, |port| send_all(port, &frames));
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    let (mut all, last) = (Vec::new(), names.len() - 1);
    for (index, name) in names.iter().enumerate() {
        // The block of statistics at the end is not counted: it is of the file, not of the frames.
        let size = std::fs::metadata(name).unwrap().len();
        let tail = 200;
        assert!(size <= 20_000 + tail, "{name:?} has {size}");
        assert!(index == last || size > 19_600, "{name:?} has {size}");
        all.extend(read_back(name));
    }
    assert!(all == frames);
}

#[test]
fn files_change_when_their_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    // Frames are 10 µs apart: 100 in a millisecond.
    let rotation = Rotation { time: Some(Picos::from_millis(1)), ..Rotation::default() };
    let frames = row(250);
    captured(Settings { file: keep(&path, rotation), ..settings() }, |port| send_all(port, &frames));
    let count = |number| read_back(&folder.path().join(format!("a-0000{number}.pcapng"))).len();
    assert_eq!([count(1), count(2), count(3)], [100, 100, 50]);
}

#[test]
fn a_disk_that_is_full_is_told_and_what_is_lost_is_counted() {
    let file = keep(Path::new("/dev/full"), Rotation::default());
    let capture = Capture::with_ports(
        Settings { file, ..settings() },
        HostClock::monotonic(),
        vec![Box::new(port::mem::pair(8, 2_000).0)],
    );
    let said = capture.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("/dev/full: cannot be written: No space left on device"), "{said}");
}

#[test]
fn a_disk_that_is_too_slow_loses_nothing_but_what_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from(0o600)).unwrap();
    // A reader that takes nothing until it is told to.
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let from = path.clone();
    let reader = std::thread::spawn(move || {
        let mut fifo = std::fs::File::open(from).unwrap();
        let _ = wait.recv_timeout(Duration::from_secs(20));
        let mut bytes = Vec::new();
        fifo.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let frames: Vec<_> = (0..20_000).map(|number| testing::frame(number, 0, 1_000)).collect();
    let file = Some(Keeping { path: path.clone(), rotation: Rotation::default(), buffer: 1_000_000 });
    let settings = Settings { frames: Some(20_000), file, ..settings() };
    let (findings, totals) = captured(settings, |port| {
        send_all(port, &frames);
        go.send(()).unwrap();
    });
    let bytes = reader.join().unwrap();
    let back = folder.path().join("back.pcapng");
    std::fs::write(&back, bytes).unwrap();
    let kept = read_back(&back).len() as u64;
    let port = &findings.report.ports[0];
    assert_eq!((port.received, totals.0.lock().unwrap().0), (20_000, 20_000));
    assert_eq!((port.drops[0].place.as_str(), port.drops[0].frames), ("rx.disk", 20_000 - kept));
    // A chunk that is being filled is no room yet: a quarter of the whole at most.
    assert!((700..10_000).contains(&kept), "{kept} frames of 1 kB found room in 1 MB");
    assert!(findings.labels[0].starts_with("the disk was too slow: "), "{:?}", findings.labels);
}

#[test]
fn gaps_are_measured_and_said_as_caliper_does() {
    // 13 560 ns apart, but two that are 10 ns off: mean error 20 / 100, mean square 200 / 100.
    let mut at = 1_767_225_600_000_000_000;
    let frames: Vec<_> = (0..101)
        .map(|number| {
            at += match number {
                10 => 13_570,
                20 => 13_550,
                _ => 13_560,
            };
            (vec![0; 60], at)
        })
        .collect();
    let gaps = Some(Requested::Even(Picos::from_nanos(13_560)));
    let (findings, _) = captured(Settings { gaps, frames: Some(101), ..settings() }, |port| {
        send_all(port, &frames);
    });
    let report = findings.report.gaps.unwrap();
    assert_eq!((report.count, report.error.unwrap().max_ns, report.stamps.as_str()), (100, 10.0, "software"));
    assert_eq!(findings.notes, ["mean 13560.00 var 2.00 avgerr 0.20"]);
}

#[test]
fn no_gap_leads_over_a_frame_without_a_timestamp() {
    // 1 ms apart; the first and the fifth have none, which is told by 0.
    let frames: Vec<_> =
        (0..10).map(|n| (vec![0; 60], if n % 4 == 0 && n < 8 { 0 } else { n * 1_000_000 })).collect();
    let gaps = Some(Requested::Nothing);
    let (findings, _) =
        captured(Settings { gaps, frames: Some(10), ..settings() }, |port| send_all(port, &frames));
    let report = findings.report.gaps.unwrap();
    assert_eq!((report.count, report.max_ns), (2 + 4, 1e6), "{:?}", findings.notes);
    assert!(
        findings.notes.iter().any(|note| note.contains("(0 stands for none): 2;")),
        "{:?}",
        findings.notes
    );
}

#[test]
fn one_frame_has_no_gap_and_that_is_said() {
    let gaps = Some(Requested::Nothing);
    let (findings, _) =
        captured(Settings { gaps, frames: Some(1), ..settings() }, |port| send_all(port, &row(1)));
    assert_eq!(findings.notes, ["no gap was measured: a gap needs two frames with a time"]);
    assert_eq!(findings.report.gaps.unwrap().count, 0);
}

/// What a port with this fault in front of it leaves of 200 signed frames.
fn broken(fault: &str) -> measure::packets::ReceivedReport {
    let name = format!("mem,stamp=launch:broken-{fault}");
    let mut sender = port::open(&name.parse().unwrap(), &Wish::default()).unwrap();
    let address: Address = format!("fault,on=receive,{fault}:{name}").parse().unwrap();
    let receiver = port::open(&address, &Wish::receive()).unwrap();
    let frames: Vec<_> = (0..200).map(|number| testing::frame(number, 0, 60)).collect();
    let (findings, _) = run_on(settings(), receiver, || {
        send_all(sender.as_mut(), &frames);
        std::thread::sleep(Duration::from_millis(300));
    });
    findings.report.received.unwrap()
}

#[test]
fn a_port_that_drops_one_frame_is_told_of_and_nothing_else() {
    let report = broken("drop=at=17");
    assert_eq!((report.lost, report.duplicated, report.reordered, report.corrupted), (1, 0, 0, 0));
    assert_eq!(report.incidents, ["stream 0: frame 17 is lost"]);
}

#[test]
fn a_port_that_swaps_two_frames_is_told_of_and_nothing_else() {
    let report = broken("reorder=at=17");
    assert_eq!((report.lost, report.duplicated, report.reordered, report.corrupted), (0, 0, 1, 0));
    assert_eq!(report.incidents.len(), 1, "{:?}", report.incidents);
    assert!(
        report.incidents[0].starts_with("stream 0: frame 17 came after frame 18"),
        "{:?}",
        report.incidents
    );
}

#[test]
fn a_port_that_doubles_one_frame_is_told_of_and_nothing_else() {
    let report = broken("duplicate=at=17");
    assert_eq!((report.lost, report.duplicated, report.reordered, report.corrupted), (0, 1, 0, 0));
    assert_eq!(report.incidents, ["stream 0: frame 17 came twice"]);
}

#[test]
fn a_filter_of_the_port_is_told_apart_from_one_that_runs_here() {
    /// Takes filters, and lets everything pass all the same.
    struct Filtering(Box<dyn Port>, Arc<Mutex<usize>>);
    impl Port for Filtering {
        fn about(&self) -> &port::About {
            self.0.about()
        }
        fn transmit(
            &mut self,
            most: usize,
            write: &mut dyn FnMut(&mut port::Slot<'_>),
        ) -> Result<usize, PortError> {
            self.0.transmit(most, write)
        }
        fn receive(
            &mut self,
            most: usize,
            read: &mut dyn FnMut(&port::Frame<'_>),
        ) -> Result<usize, PortError> {
            self.0.receive(most, read)
        }
        fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
            self.0.flush(patience)
        }
        fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
            self.0.wait(what, patience)
        }
        fn counters(&mut self) -> Result<&port::Counters, PortError> {
            self.0.counters()
        }
        fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
            *self.1.lock().unwrap() = program.len();
            Ok(())
        }
    }
    let (mut ours, theirs) = port::mem::stamped_pair(1_024, 2_000, || port::mem::Stamping::Launch);
    let given = Arc::new(Mutex::new(0));
    // Frames of long ago came before the port had its filter: they are looked at here.
    let mut frames = row(10);
    frames[3].0[23] = 6;
    send_all(&mut ours, &frames);
    let settings = Settings { filter: Some(compile("udp").unwrap()), ..settings() };
    let port = Box::new(Filtering(Box::new(theirs), given.clone()));
    let (findings, _) = run_on(settings, port, || std::thread::sleep(Duration::from_millis(50)));
    assert!(*given.lock().unwrap() > 0);
    assert_eq!(findings.report.ports[0].received, 9);
}

/// Of a port there would be no room; a file can wait.
#[test]
fn frames_of_a_file_wait_for_a_disk_that_is_slower() {
    for (is_patient, lost) in [(true, false), (false, true)] {
        let (to_disk, chunks) = chunk::way(2);
        let disk = std::thread::spawn(move || {
            let mut frames = 0;
            while let Ok(chunk) = chunks.recv() {
                std::thread::sleep(Duration::from_millis(20));
                frames += chunk.frames;
                chunk.release();
            }
            frames
        });
        let filler = chunk::Filler::new(Format::PcapNg, usize::MAX, None, 2, to_disk);
        let mut filler = if is_patient { filler.with_patience() } else { filler };
        for n in 0..2_000 {
            filler.frame(Stamp(n), 1_500, &[0; 1_500], Instant::EPOCH);
        }
        filler.hand_over();
        let unwritten = filler.unwritten;
        drop(filler);
        assert_eq!(disk.join().unwrap() + unwritten, 2_000);
        assert_eq!(unwritten > 0, lost, "{unwritten}");
    }
}

#[test]
fn what_numbers_cannot_tell_is_said() {
    let capture = |frames: Vec<(Vec<u8>, u64)>| {
        let (mut ours, theirs) = port::mem::stamped_pair(1_024, 2_000, || port::mem::Stamping::Launch);
        send_all(&mut ours, &frames);
        let settings = Settings { signatures: true, ..settings() };
        let (findings, _) =
            run_on(settings, Box::new(theirs), || std::thread::sleep(Duration::from_millis(50)));
        findings.notes.join("; ")
    };
    assert!(!capture(row(10)).contains("has number"), "they begin with 0");
    let notes = capture(row(10).split_off(3));
    assert!(notes.contains("the first frame with a signature has number 3"), "{notes}");
    assert!(!notes.contains("replayed"), "{notes}");
    let late = row(10).into_iter().map(|(bytes, at)| (bytes, at + 5_000_000_000)).collect();
    assert!(capture(late).contains("a recording that was replayed"));
}
