use super::*;
use arrow_ipc::reader::StreamReader;
use std::fs::{self, OpenOptions};
use std::path::Path;
use units::{Bytes, Group, Instant, Outcome, Picos};

fn events(count: u64) -> Vec<Event> {
    let event = |seq| Event {
        seq,
        due: Instant::EPOCH,
        sent: Instant::EPOCH,
        first_byte: Instant::FAR,
        done: Instant::EPOCH,
        bytes_out: Bytes::ZERO,
        bytes_in: Bytes::ZERO,
        outcome: Outcome::CutOff,
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group(0),
    };
    (0..count).map(event).collect()
}

fn opened(path: &Path) -> ArrowStream {
    let mut stream = ArrowStream::new(Place::of_file("arrow", path));
    stream.begin(&RunInfo::default()).unwrap();
    stream.start(7);
    stream
}

fn rows_of(bytes: &[u8]) -> usize {
    StreamReader::try_new(bytes, None).unwrap().map_while(Result::ok).map(|batch| batch.num_rows()).sum()
}

#[test]
fn a_stream_is_read_back_and_a_cut_one_up_to_its_last_whole_batch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrows");
    let mut stream = opened(&path);
    stream.events(0, &events(5)).unwrap();
    stream.events(1, &events(6)).unwrap();
    // As a run that is killed here leaves it.
    let unended = fs::read(&path).unwrap();
    assert_eq!(rows_of(&unended), 11);
    assert_eq!(rows_of(&unended[..unended.len() - 8]), 5);
    stream.flush().unwrap();
    assert_eq!(rows_of(&fs::read(&path).unwrap()), 11);
}

#[test]
fn a_run_without_events_has_an_empty_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrows");
    opened(&path).flush().unwrap();
    let bytes = fs::read(&path).unwrap();
    let reader = StreamReader::try_new(&bytes[..], None).unwrap();
    assert_eq!(reader.schema().metadata()["tare.origin_unix_ns"], "7");
    assert_eq!(rows_of(&bytes), 0);
}

/// /dev/full answers every write with ENOSPC; a disk gets room again.
#[test]
fn what_a_full_disk_did_not_take_is_not_half_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrows");
    let mut stream = opened(&path);
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let disk = std::mem::replace(&mut stream.to.as_mut().unwrap().file, full());
    let why = stream.events(0, &events(5)).unwrap_err().to_string();
    assert!(why.contains("a.arrows") && why.contains("No space left on device"), "{why}");
    // A device can not take half a message back, a file can.
    stream.broken = None;
    *stream.to.as_mut().unwrap() = To { file: disk, good: 0, rewinds: true };
    stream.events(0, &events(6)).unwrap();
    stream.flush().unwrap();
    assert_eq!(rows_of(&fs::read(&path).unwrap()), 6);
}

#[test]
fn a_device_that_is_full_takes_nothing_more() {
    let mut stream = opened(Path::new("/dev/full"));
    let why = stream.events(0, &events(5)).unwrap_err();
    assert_eq!(stream.events(0, &events(5)), Err(why));
    stream.flush().unwrap();
}
