use super::*;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;
use units::{Bytes, Group, Instant, Outcome, Picos};

fn events(from: u64, count: u64) -> Vec<Event> {
    let at = |us: u64| Instant::EPOCH + Picos::from_micros(us);
    let event = |seq| Event {
        seq,
        due: at(10 * seq),
        sent: at(10 * seq + 1),
        first_byte: at(10 * seq + 60 + seq % 13),
        done: at(10 * seq + 70 + seq % 13),
        bytes_out: Bytes::new(60),
        bytes_in: Bytes::new(180),
        outcome: Outcome::Status(200),
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group(0),
    };
    (from..from + count).map(event).collect()
}

fn opened(path: &Path) -> Parquet {
    let mut parquet = Parquet::new(Place::of_file("parquet", path));
    parquet.begin(&RunInfo { run: "the run".to_owned(), ..RunInfo::default() }).unwrap();
    parquet.start(1_795_176_000_000_000_000);
    parquet
}

fn rows_of(path: &Path) -> (u64, usize) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let groups = reader.metadata().num_row_groups();
    let rows = reader.build().unwrap().map(|batch| batch.unwrap().num_rows() as u64).sum();
    (rows, groups)
}

#[test]
fn rows_come_back_and_the_file_has_its_name_only_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut parquet = opened(&path);
    for batch in 0..40 {
        parquet.events(1, &events(batch * 4_096, 4_096)).unwrap();
    }
    parquet.events(0, &events(0, 3)).unwrap();
    assert!(!path.exists() && folder.path().join(".a.parquet.part").exists());
    parquet.flush().unwrap();
    // 163 843 rows; a row group has 131 072.
    assert_eq!(rows_of(&path), (40 * 4_096 + 3, 2));
    assert_eq!(parquet.gone(), Gone::default());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let named = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let value = |key: &str| named.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    assert_eq!(value("tare.run").as_deref(), Some("the run"));
    assert_eq!(value("tare.origin_unix_ns").as_deref(), Some("1795176000000000000"));
    assert_eq!(value("tare.schema").as_deref(), Some("tare.samples/1"));
}

#[test]
fn a_run_without_events_has_an_empty_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    opened(&path).flush().unwrap();
    assert_eq!(rows_of(&path), (0, 0));
}

/// A disk that is full in the middle of the second row group (ENOSPC is 28); tests/tests/samples.rs has a real one.
#[test]
fn what_is_before_a_failure_stays_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut parquet = opened(&path);
    for batch in 0..40 {
        parquet.events(1, &events(batch * 4_096, 4_096)).unwrap();
    }
    let why = parquet.fail(ParquetError::External(Box::new(io::Error::from_raw_os_error(28))));
    assert!(why.to_string().contains("No space left on device"), "{why}");
    assert!(why.to_string().contains("ends after 131072 events"), "{why}");
    assert_eq!(rows_of(&path), (131_072, 1));
    // 40 · 4 096 − 131 072
    assert_eq!(parquet.gone(), Gone { rows: 0, events: 32_768, why: why.problem() });
    assert_eq!(parquet.events(1, &events(0, 1)), Err(why));
    parquet.flush().unwrap();
    assert_eq!(parquet.gone(), Gone::default());
}

#[test]
fn a_folder_that_goes_away_loses_everything_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("in");
    fs::create_dir(&inner).unwrap();
    let mut parquet = opened(&inner.join("a.parquet"));
    parquet.events(0, &events(0, 10)).unwrap();
    fs::remove_dir_all(&inner).unwrap();
    let why = parquet.flush().unwrap_err().to_string();
    assert!(why.contains("a.parquet") && why.contains("it was removed while the run wrote to it"), "{why}");
}

#[test]
fn places_that_can_not_be_are_refused_by_name() {
    let place = Place::parse("parquet:-").unwrap();
    let why = (KIND.open)(&place).err().unwrap().to_string();
    assert_eq!(
        why,
        "--to parquet:-: Parquet needs a file; jsonl:-?events=1 streams events to standard output"
    );
    let mut parquet = Parquet::new(Place::parse("parquet:/nonexistent/a.parquet").unwrap());
    let why = parquet.begin(&RunInfo::default()).unwrap_err().to_string();
    assert!(why.starts_with("parquet:/nonexistent/a.parquet: No such file or directory"), "{why}");
    let mut folder = Parquet::new(Place::parse("parquet:/tmp").unwrap());
    assert!(folder.begin(&RunInfo::default()).unwrap_err().to_string().contains("is a folder"));
}

#[test]
fn a_run_that_never_ends_properly_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut parquet = opened(&folder.path().join("a.parquet"));
    parquet.events(0, &events(0, 10)).unwrap();
    drop(parquet);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_device_is_refused_and_stays_what_it_is() {
    // A socket stands for a device: making one needs no rights, and it is no file either.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mut parquet = Parquet::new(Place::of_file("parquet", &path));
    let refused = parquet.begin(&RunInfo::default()).unwrap_err();
    assert!(matches!(refused, SinkError::Url { .. }), "{refused}");
    assert!(!fs::metadata(&path).unwrap().is_file());
}
