//! The catalogue on real folders: what is listed, what is cached, and what is removed.

use catalogue::{Catalogue, CatalogueError, State, Tag};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use store::schema::{Totals, Verdict, Word};
use store::{Distribution, RunResult};

/// A state folder of this test.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn open(&self) -> Catalogue {
        Catalogue::open_at(self.path()).unwrap()
    }

    /// A finished run in the runs folder; `minute` is the one in which it began.
    fn run(&self, minute: u32, p99: u64) -> PathBuf {
        let name = format!("2026-11-20T12-{minute:02}-00Z-http-{minute:04x}");
        let folder = self.path().join("runs").join(&name);
        keep(&folder, &name, minute, p99);
        folder
    }

    fn names(&self) -> Vec<String> {
        self.open().entries().iter().map(|entry| entry.name.clone()).collect()
    }
}

fn keep(folder: &Path, name: &str, minute: u32, p99: u64) {
    let result = RunResult {
        schema: store::schema::SCHEMA.to_owned(),
        run: name.to_owned(),
        started_at: format!("2026-11-20T12:{minute:02}:00Z"),
        target: "http://127.0.0.1:8080/".to_owned(),
        verdict: Verdict { word: Word::Degraded, criteria: Vec::new() },
        totals: Totals { offered: 200, done: 190, failed: 6, missed: 4, ..Totals::default() },
        latency_ns: Distribution { count: 190, p50: 1_000, p99, ..Distribution::default() },
        ..RunResult::default()
    };
    fs::create_dir_all(folder).unwrap();
    let mut text = Vec::new();
    store::write_json(&result, &mut text).unwrap();
    fs::write(folder.join("result.json"), text).unwrap();
    fs::write(folder.join("plan.toml"), "url = \"http://127.0.0.1:8080/\"\n").unwrap();
    fs::write(folder.join("intervals.jsonl"), "").unwrap();
}

fn tag(word: &str) -> Tag {
    word.parse().unwrap()
}

#[test]
fn nothing_kept_is_an_empty_list() {
    let home = Home::new();
    assert!(home.open().entries().is_empty());
    assert!(matches!(home.open().find("last"), Err(CatalogueError::Empty)));
    let nowhere = Catalogue::open_at(&home.path().join("nowhere")).unwrap();
    assert!(nowhere.entries().is_empty() && !home.path().join("nowhere").exists());
}

#[test]
fn newest_first_with_the_figures_of_the_result() {
    let home = Home::new();
    home.run(1, 5_000);
    home.run(2, 7_000);
    let runs = home.open();
    let newest = &runs.entries()[0];
    assert_eq!(newest.name, "2026-11-20T12-02-00Z-http-0002");
    assert_eq!((newest.word(), newest.latency_p99_ns), ("DEGRADED", Some(7_000)));
    // (6 + 4) / 200
    assert_eq!(newest.not_done_share, Some(0.05));
    assert!(newest.mentions("127.0.0.1") && newest.mentions("HTTP") && !newest.mentions("nginx"));
}

#[test]
fn a_run_has_the_name_of_its_folder() {
    let home = Home::new();
    let (first, second) = (home.run(1, 5_000), home.run(2, 7_000));
    let (baseline, renamed) = (first.with_file_name("my-baseline"), first.with_file_name("renamed"));
    fs::create_dir(&baseline).unwrap();
    for name in ["result.json", "plan.toml", "intervals.jsonl"] {
        fs::copy(first.join(name), baseline.join(name)).unwrap();
    }
    fs::rename(&second, &renamed).unwrap();
    let runs = home.open();
    let folder_of = |typed: &str| runs.folder_of(typed).unwrap();
    assert_eq!((folder_of("my-baseline"), folder_of("renamed")), (baseline, renamed.clone()));
    // The name that it was given is its own as long as its folder has it, and otherwise leads to where it is
    // today.
    assert_eq!((folder_of("0001"), folder_of("0002")), (first, renamed));
    let names: Vec<&str> = runs.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["renamed", "my-baseline", "2026-11-20T12-01-00Z-http-0001"]);
    assert_eq!(runs.entries()[1].run, "2026-11-20T12-01-00Z-http-0001");
}

/// A reader that waits for a pipe waits for ever: the list is made in another thread, which may be left behind.
#[test]
fn pipes_are_not_opened() {
    let home = Home::new();
    let whole = home.run(1, 5_000);
    let piped = |name: &str, file: &str| {
        let folder = whole.with_file_name(name);
        fs::create_dir(&folder).unwrap();
        for name in ["result.json", "plan.toml", "intervals.jsonl"].iter().filter(|name| **name != file) {
            fs::copy(whole.join(name), folder.join(name)).unwrap();
        }
        assert!(Command::new("mkfifo").arg(folder.join(file)).status().unwrap().success());
    };
    for (name, file) in [
        ("a", "result.json"),
        ("b", "intervals.jsonl"),
        ("c", "plan.toml"),
        ("d", "tags.json"),
        ("e", "latency.hlog"),
    ] {
        piped(name, file);
    }
    let (say, said) = std::sync::mpsc::channel();
    let path = home.path().to_owned();
    std::thread::spawn(move || say.send(Catalogue::open_at(&path).unwrap().entries().to_vec()));
    let entries = said.recv_timeout(Duration::from_secs(20)).expect("the list waits for a pipe");
    let of = |name: &str| entries.iter().find(|entry| entry.name == name).unwrap();
    assert_eq!((of("a").state, of("b").state), (State::Unreadable, State::Finished));
    assert!(of("a").trouble.contains("not a regular file"), "{}", of("a").trouble);
    assert_eq!(entries.len(), 6);
}

#[test]
fn runs_of_the_same_second_are_in_the_order_of_their_plans() {
    let home = Home::new();
    let folders: Vec<PathBuf> =
        ["b", "c", "a"].iter().map(|name| home.path().join("runs").join(name)).collect();
    for (at, folder) in folders.iter().enumerate() {
        keep(folder, &folder.file_name().unwrap().to_string_lossy(), 1, 5_000);
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(at as u64);
        File::options().write(true).open(folder.join("plan.toml")).unwrap().set_modified(time).unwrap();
    }
    assert_eq!(home.names(), ["a", "c", "b"]);
}

#[test]
fn the_index_follows_the_folders() {
    let home = Home::new();
    let (first, second) = (home.run(1, 5_000), home.run(2, 7_000));
    assert_eq!(home.names().len(), 2);
    assert!(home.path().join("index.sqlite").is_file());
    // Changed, gone, and new.
    keep(&first, "2026-11-20T12-01-00Z-http-0001", 1, 6_000_000);
    fs::remove_dir_all(&second).unwrap();
    home.run(3, 8_000);
    let runs = home.open();
    let p99: Vec<_> = runs.entries().iter().map(|entry| entry.latency_p99_ns.unwrap()).collect();
    assert_eq!(p99, [8_000, 6_000_000]);
}

#[test]
fn entries_come_from_the_index_while_nothing_changes() {
    let home = Home::new();
    let run = home.run(1, 5_000);
    home.open();
    // The same length and the same time as before, so that only the index can know the old figure.
    let file = run.join("result.json");
    let (text, time) = (fs::read_to_string(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
    fs::write(&file, text.replace("5000", "9000")).unwrap();
    File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_eq!(home.open().entries()[0].latency_p99_ns, Some(5_000));
}

#[test]
fn an_index_that_is_damaged_or_of_another_version_is_made_anew() {
    let home = Home::new();
    home.run(1, 5_000);
    home.run(2, 6_000);
    home.open();
    let index = home.path().join("index.sqlite");
    let clean = || {
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(home.path().join(format!("index.sqlite{suffix}")));
        }
    };
    let is_good = || {
        let database = rusqlite::Connection::open(&index).unwrap();
        database.query_row("SELECT count(*) FROM list", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(is_good(), 2);
    for damage in [&b"this is no database at all, and long enough to be taken for one"[..], b"", &[0; 8192]] {
        clean();
        fs::write(&index, damage).unwrap();
        assert_eq!(home.names().len(), 2);
        assert_eq!(is_good(), 2, "{} bytes of damage", damage.len());
    }
    let database = rusqlite::Connection::open(&index).unwrap();
    database.execute_batch("PRAGMA user_version = 99; DROP TABLE runs; CREATE TABLE runs (x)").unwrap();
    drop(database);
    assert_eq!(home.names().len(), 2);
    assert_eq!(is_good(), 2);
    // Pages in the middle of the file.
    clean();
    let mut bytes = fs::read(&index).unwrap();
    bytes[4096..].fill(0xa5);
    fs::write(&index, bytes).unwrap();
    assert_eq!(home.names().len(), 2);
    assert_eq!(home.names().len(), 2);
}

#[test]
fn without_an_index_all_is_the_same() {
    let home = Home::new();
    home.run(1, 5_000);
    fs::create_dir(home.path().join("index.sqlite")).unwrap();
    assert_eq!(home.names(), ["2026-11-20T12-01-00Z-http-0001"]);
}

#[test]
fn tags_are_in_the_folder_and_in_the_list() {
    let home = Home::new();
    let run = home.run(1, 5_000);
    home.run(2, 5_000);
    assert_eq!(home.open().tag(&run, &[tag("before")], &[]).unwrap(), ["before"]);
    fs::remove_file(home.path().join("index.sqlite")).unwrap();
    let runs = home.open();
    assert_eq!(runs.find("before").unwrap().folder, run);
    assert_eq!(runs.tag(&run, &[], &[tag("before")]).unwrap(), Vec::<String>::new());
    assert!(home.open().find("before").is_err());
    let name = tag("2026-11-20T12-02-00Z-http-0002");
    assert!(matches!(runs.tag(&run, &[name], &[]), Err(CatalogueError::ReservedTag(_))));
}

#[test]
fn prune_spares_what_is_new_tagged_running_or_elsewhere() {
    let home = Home::new();
    let runs: Vec<PathBuf> = (1..=6).map(|minute| home.run(minute, 5_000)).collect();
    home.open().tag(&runs[0], &[tag("base")], &[]).unwrap();
    // The newest but one is still running: it has no result, and its program holds the lock.
    fs::remove_file(runs[4].join("result.json")).unwrap();
    let held = File::open(runs[4].join("intervals.jsonl")).unwrap();
    held.lock().unwrap();
    let catalogue = home.open();
    assert_eq!(catalogue.find("0005").unwrap().state, State::Running);
    let pruned = |keep, only: Option<&Tag>, tagged| {
        let found = catalogue.prunable(keep, only, tagged);
        found.into_iter().map(|entry| entry.name[26..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(pruned(2, None, false), ["0003", "0002"]);
    assert_eq!(pruned(2, None, true), ["0003", "0002", "0001"]);
    assert_eq!(pruned(0, Some(&tag("base")), false), ["0001"]);
    assert!(pruned(9, None, true).is_empty());
    assert!(matches!(catalogue.remove(&runs[4]), Err(CatalogueError::Running(_))));
    // Not only closed: a child that another test has forked keeps the descriptor until its exec.
    held.unlock().unwrap();
    assert_eq!(home.open().find("0005").unwrap().state, State::Killed);
    home.open().remove(&runs[4]).unwrap();
    assert!(!runs[4].exists());
}

#[test]
fn links_and_other_folders_are_never_removed() {
    let home = Home::new();
    home.run(1, 5_000);
    let outside = tempfile::tempdir().unwrap();
    keep(outside.path(), "outside", 2, 5_000);
    let link = home.path().join("runs/link");
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    assert!(matches!(home.open().remove(&link), Err(CatalogueError::Link(_))));
    assert!(outside.path().join("result.json").exists());
    let empty = home.path().join("runs/empty");
    fs::create_dir(&empty).unwrap();
    fs::write(empty.join("thesis.txt"), "years of work").unwrap();
    assert!(matches!(home.open().remove(&empty), Err(CatalogueError::NotARun(_))));
    // A link within a run goes; what it leads to stays.
    let run = home.run(3, 5_000);
    std::os::unix::fs::symlink(outside.path(), run.join("link")).unwrap();
    home.open().remove(&run).unwrap();
    assert!(!run.exists() && outside.path().join("result.json").exists());
}

#[test]
fn outside_of_the_runs_folder_only_tares_own_files_go() {
    let home = Home::new();
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("out");
    keep(&folder, "2026-11-20T12-09-00Z-http-beef", 9, 5_000);
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let removed = home.open().remove(&folder).unwrap();
    assert_eq!(removed.left, 1);
    assert!(folder.join("notes.txt").exists() && !folder.join("result.json").exists());
    keep(&folder, "2026-11-20T12-09-00Z-http-beef", 9, 5_000);
    fs::remove_file(folder.join("notes.txt")).unwrap();
    assert_eq!(home.open().remove(&folder).unwrap().left, 0);
    assert!(!folder.exists());
}

#[test]
fn what_a_crash_left_of_a_removal_is_not_listed_and_goes_with_the_next() {
    let home = Home::new();
    let run = home.run(1, 5_000);
    let left = home.path().join("runs/.removing-x");
    keep(&left, "x", 0, 5_000);
    assert_eq!(home.names().len(), 1);
    home.open().remove(&run).unwrap();
    assert!(!left.exists());
}

#[test]
fn several_at_once_see_the_same() {
    let home = Home::new();
    (0..20).for_each(|minute| drop(home.run(minute, 5_000)));
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..5).map(|_| home.names().len()).max())).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Some(20));
        }
    });
}
