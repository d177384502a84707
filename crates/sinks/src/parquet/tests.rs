use super::*;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
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

fn reader(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

fn rows(path: &Path) -> Vec<Row> {
    reader(path).into_iter().map(Result::unwrap).collect()
}

/// Rows that can be read, and row groups.
fn rows_of(path: &Path) -> (u64, usize) {
    (rows(path).len() as u64, reader(path).num_row_groups())
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
    let named = reader(&path).metadata().file_metadata().key_value_metadata().unwrap().clone();
    let value = |key: &str| named.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    assert_eq!(value("tare.run").as_deref(), Some("the run"));
    assert_eq!(value("tare.origin_unix_ns").as_deref(), Some("1795176000000000000"));
    assert_eq!(value("tare.schema").as_deref(), Some("tare.samples/1"));
}

/// Outcomes, nulls and lengths change from batch to batch, and a row group (131 072 rows) ends within one.
#[test]
fn nulls_and_texts_are_in_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut parquet = opened(&path);
    parquet.run.groups = vec!["buy".to_owned(), "look".to_owned()];
    let kind = |seq: u64, event: Event| match seq % 7 {
        0..4 => event,
        4 => Event { outcome: Outcome::Status(503), group: Group(1), ..event },
        5 => Event { outcome: Outcome::CutOff, first_byte: Instant::FAR, ..event },
        _ => Event {
            outcome: Outcome::Missed(units::Miss::NoPort),
            sent: Instant::FAR,
            first_byte: Instant::FAR,
            ..event
        },
    };
    let mut from = 0;
    for count in (0..33).flat_map(|turn| [4_096, 1 + turn]) {
        let mixed: Vec<Event> = events(from, count).into_iter().map(|event| kind(event.seq, event)).collect();
        parquet.events(9, &mixed).unwrap();
        from += count;
    }
    parquet.flush().unwrap();
    // 33 · 4 096 and 1 + 2 + … + 33
    assert_eq!(rows_of(&path), (135_168 + 561, 2));
    let at = |name: &str| COLUMNS.iter().position(|column| column.name == name).unwrap();
    let (first_byte, sent, latency, group) =
        (at("first_byte_ns"), at("sent_ns"), at("latency_ns"), at("group"));
    for (seq, row) in (0..).zip(rows(&path)) {
        let rest = seq % 7;
        let (key, class) = match rest {
            0..4 => ("200", "status"),
            4 => ("503", "status"),
            5 => ("cut_off", "cut_off"),
            _ => ("missed.no_port", "missed"),
        };
        assert_eq!(row.get_long(at("seq")).unwrap(), seq);
        assert_eq!(row.get_ushort(at("thread")).unwrap(), 9);
        assert_eq!(row.get_string(at("key")).unwrap(), key, "{seq}");
        assert_eq!(row.get_string(at("class")).unwrap(), class, "{seq}");
        assert_eq!(row.get_string(group).unwrap(), if rest == 4 { "look" } else { "buy" }, "{seq}");
        assert_eq!(row.is_null(sent).unwrap(), rest == 6, "{seq}");
        assert_eq!(row.is_null(first_byte).unwrap(), rest > 4, "{seq}");
        assert_eq!(row.is_null(latency).unwrap(), rest > 4, "{seq}");
        if rest < 5 {
            // As `events` makes them: 70 µs and a little more after the due time.
            assert_eq!(row.get_long(latency).unwrap(), 1_000 * (70 + seq % 13));
            assert_eq!(row.get_long(first_byte).unwrap(), 1_000 * (10 * seq + 60 + seq % 13));
        }
    }
}

/// Readers know columns by these names and types.
#[test]
fn the_schema_is_this() {
    let mut printed = Vec::new();
    parquet::schema::printer::print_schema(&mut printed, &schema().unwrap());
    let expected = "message schema {
  REQUIRED INT64 seq;
  REQUIRED INT32 thread (INTEGER(16,false));
  REQUIRED BOOLEAN warmup;
  REQUIRED INT64 due_ns;
  OPTIONAL INT64 sent_ns;
  OPTIONAL INT64 first_byte_ns;
  REQUIRED INT64 done_ns;
  OPTIONAL INT64 latency_ns;
  OPTIONAL INT64 service_ns;
  OPTIONAL INT64 lateness_ns;
  REQUIRED INT64 blocked_ns;
  OPTIONAL INT64 unread_ns;
  OPTIONAL INT64 tare_ns;
  OPTIONAL INT64 net_ns;
  REQUIRED INT64 bytes_out;
  REQUIRED INT64 bytes_in;
  REQUIRED BYTE_ARRAY class (STRING);
  REQUIRED BYTE_ARRAY key (STRING);
  OPTIONAL BYTE_ARRAY group (STRING);
}
";
    assert_eq!(String::from_utf8(printed).unwrap(), expected);
}

#[test]
fn a_run_without_events_has_an_empty_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    opened(&path).flush().unwrap();
    assert_eq!(rows_of(&path), (0, 0));
}

/// A disk that is full in the middle of the second row group (ENOSPC is 28); tests/tests/samples.rs has a real
/// one.
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
    assert!(
        why.ends_with("parquet:/nonexistent/a.parquet: its folder does not exist; create it first"),
        "{why}"
    );
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
fn a_file_that_another_run_is_writing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut first = opened(&path);
    first.events(0, &events(0, 10)).unwrap();
    let mut second = Parquet::new(Place::of_file("parquet", &path));
    let refused = second.begin(&RunInfo::default()).unwrap_err();
    assert!(matches!(refused, SinkError::Url { .. }), "{refused}");
    assert!(refused.to_string().ends_with("another run is writing it; name another file"), "{refused}");
    drop(second);
    first.events(0, &events(10, 10)).unwrap();
    first.flush().unwrap();
    assert_eq!(rows_of(&path), (20, 1));

    // It has ended: the next run may overwrite its file, and nothing of it before that run is over.
    let mut third = opened(&path);
    third.events(0, &events(0, 3)).unwrap();
    assert_eq!(rows_of(&path), (20, 1));
    third.flush().unwrap();
    assert_eq!(rows_of(&path), (3, 1));
}

#[test]
fn what_a_killed_run_left_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    fs::write(folder.path().join(".a.parquet.part"), [7; 100_000]).unwrap();
    let mut parquet = opened(&path);
    parquet.events(0, &events(0, 10)).unwrap();
    parquet.flush().unwrap();
    assert_eq!(rows_of(&path), (10, 1));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
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
