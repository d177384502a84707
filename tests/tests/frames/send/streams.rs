//! Loads whose rate changes, and several streams in one run.

use super::*;
use serde_json::Value;

#[test]
fn shapes_send_as_many_frames_as_they_say() {
    let _guard = beside_others();
    // The areas below the rates: 1 000/s to 9 000/s in half a second; 1, 2 and 3 thousand for 200 ms each;
    // 4 000 for 250 ms, down to nothing in 250 ms; one whole period around 2 000/s.
    for (shape, frames) in [
        ("--ramp 1k..9k:500ms", 2_500),
        ("--step 1k+1k:200ms..3k", 1_200),
        ("--stages 4k:250ms,0:250ms", 1_500),
        ("--sine 2k+-1k:500ms", 1_000),
    ] {
        let run = Tare::packets(&format!("send mem:a --receive mem:a {shape} --accept-invalid")).run();
        assert_eq!(
            (run.total("offered"), run.total("done") + run.total("missed")),
            (frames, frames),
            "{run}"
        );
    }
    // Poisson: the same seed, the same times; 2 000 ± 5·√2 000 in a second.
    let poisson = |more: &str| {
        let load = "send mem:a --receive mem:a --rate 4k --poisson -t 500ms --accept-invalid";
        let run = Tare::packets(&format!("{load} {more}")).run();
        assert!(run.criteria().iter().any(|criterion| criterion.name == "fidelity"), "{run}");
        run.total("offered")
    };
    let first = poisson("");
    assert!((1_776..=2_224).contains(&first) && first == poisson("") && first != poisson("--seed 2"));
}

/// A plan of two streams, a third that begins later, and what the run's table says of each.
fn streams(port: &str, more: &str, folder: &std::path::Path) -> (Tare, std::path::PathBuf) {
    let plan = format!(
        "[send]\nport = \"{port}\"\nduration = \"600ms\"\n{more}\n[frames]\nsign = true\nsize = 128\n\
         dst_mac = \"{NOBODY}\"\n\
         [[frames.stream]]\nname = \"voice\"\nrate = \"2k\"\ndport = 5060\n\
         [[frames.stream]]\nname = \"bulk\"\nramp = \"1k..9k:500ms\"\ndport = 80\nsize = 512\ncount = 1800\n\
         [[frames.stream]]\nname = \"late\"\ngap = 500000\ndport = 53\nstart = \"300ms\"\nduration = \"200ms\"\n"
    );
    let file = folder.join("streams.toml");
    fs::write(&file, plan).expect("a file");
    (Tare::packets(&format!("run {} --accept-invalid", file.display())), file)
}

/// Rows of the table of streams: name, and figures by the name of their column.
fn rows(run: &Run, key: &str) -> Vec<(String, Vec<(String, f64)>)> {
    let tables = run.result["packets"]["tables"].as_array().cloned().unwrap_or_default();
    let table = tables.iter().find(|table| table["key"] == key);
    let table = table.unwrap_or_else(|| panic!("no table {key}: {run}"));
    let names: Vec<String> = table["columns"].as_array().into_iter().flatten().map(name_of).collect();
    let rows = table["rows"].as_array().into_iter().flatten();
    rows.map(|row| {
        let name = row[0].as_str().unwrap_or_default().to_owned();
        let cells = row.as_array().into_iter().flatten();
        (name, names.iter().cloned().zip(cells.map(|cell| cell.as_f64().unwrap_or(f64::NAN))).collect())
    })
    .collect()
}

fn name_of(column: &Value) -> String {
    column["name"].as_str().unwrap_or_default().to_owned()
}

fn of(row: &(String, Vec<(String, f64)>), column: &str) -> f64 {
    let found = row.1.iter().find(|(name, _)| name == column);
    found.unwrap_or_else(|| panic!("no {column}: {row:?}")).1
}

#[test]
fn each_stream_has_its_own_frames_times_and_figures() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    // One frame in ten is lost on the way.
    let receive = format!("receive = \"packet,netns={}:sink0\"", bed.sink().name);
    let (tare, _) = streams("fault,drop=10%,seed=7:packet:gen0", &receive, folder.path());
    let run = tare.inside(bed.generator()).run();
    let (rows, times) = (rows(&run, "streams"), rows(&run, "stream_times"));
    assert_eq!(rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["voice", "bulk", "late"], "{run}");
    // 2 000/s and 600 ms; at most 1 800 of the ramp; 200 ms at 2 000/s.
    for (row, frames) in rows.iter().zip([1_200.0, 1_800.0, 400.0]) {
        assert_eq!(of(row, "sent") + of(row, "missed"), frames, "{run}");
        assert_eq!(of(row, "received") + of(row, "lost"), of(row, "sent"), "{run}");
        let share = of(row, "lost") / of(row, "sent");
        assert!((0.05..0.15).contains(&share), "{row:?}");
    }
    let is_timed = |row: &_| of(row, "one-way p50") > 0.0 && of(row, "gap error p50") >= 0.0;
    assert!(times.len() == 3 && times.iter().all(is_timed), "{times:?}");
    let sum = |column| rows.iter().map(|row| of(row, column)).sum::<f64>() as u64;
    assert_eq!(sum("lost"), run.int("packets.received.lost"), "{run}");
    assert_eq!(sum("sent"), run.total("done"), "{run}");
}

#[test]
fn queues_share_the_schedule_of_all_streams() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let (tare, _) = streams("packet:gen0", "queues = 2", folder.path());
    let (run, seen) = captured(&bed, 3_400, "udp.dstport frame.len", tare.inside(bed.generator()));
    let count = |port: &str, length: &str| seen.iter().filter(|row| row[..] == [port, length]).count();
    // Nothing is twice and nothing is missing, whichever queue it left by.
    assert_eq!([count("5060", "124"), count("80", "508"), count("53", "124")], [1_200, 1_800, 400], "{run}");
    let rows = rows(&run, "streams");
    assert_eq!(rows.iter().map(|row| of(row, "sent") as u64).collect::<Vec<_>>(), [1_200, 1_800, 400]);
    // What one thread sends ahead of another is no disorder of the way.
    let receive = format!("queues = 2\nreceive = \"packet,netns={}:sink0\"", bed.sink().name);
    let (tare, _) = streams("packet:gen0", &receive, folder.path());
    let run = tare.inside(bed.generator()).run();
    assert_eq!(run.int("packets.received.reordered"), 0, "{run}");
}

/// A plan with the streams of `rest`, as far as it sends what comes back over memory.
fn plan_of(folder: &std::path::Path, send: &str, frames: &str, rest: &str) -> Tare {
    let file = folder.join("plan.toml");
    let text = format!(
        "[send]\nport = \"mem:a\"\nreceive = \"mem:a\"\n{send}\n[frames]\nsize = 128\n{frames}\n{rest}\n"
    );
    fs::write(&file, text).expect("a file");
    Tare::packets(&format!("run {} --accept-invalid", file.display()))
}

const TWO: &str =
    "[[frames.stream]]\nname = \"a\"\nrate = \"2k\"\n[[frames.stream]]\nname = \"b\"\nrate = \"1k\"";

#[test]
fn damaged_frames_are_told_beside_the_losses_of_streams() {
    let _guard = beside_others();
    let folder = scratch();
    let broken = plan_of(folder.path(), "duration = \"300ms\"", "sign = true", TWO);
    let text = fs::read_to_string(folder.path().join("plan.toml")).expect("the plan");
    fs::write(
        folder.path().join("plan.toml"),
        text.replace("port = \"mem:a\"", "port = \"fault,corrupt=20%,seed=3:mem:a\""),
    )
    .expect("a file");
    let run = broken.run();
    let lost: f64 = rows(&run, "streams").iter().map(|row| of(row, "lost")).sum();
    let table = run.result["packets"]["tables"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|table| table["key"] == "streams");
    let notes = table.expect("a table")["notes"].to_string();
    assert!(run.int("packets.received.corrupted") > 100 && lost > 0.0, "{run}");
    assert!(notes.contains("that arrived damaged"), "{notes}");
}

#[test]
fn streams_that_take_turns_do_not_claim_that_they_missed_nothing() {
    let _guard = beside_others();
    let folder = scratch();
    let turns = "[[frames.stream]]\nweight = 2\n[[frames.stream]]\nweight = 1\ndport = 7";
    let send = "rate = \"200M\"\nduration = \"200ms\"";
    let run = plan_of(folder.path(), send, "sign = true", turns).run();
    assert!(run.total("missed") > 0, "{run}");
    assert!(rows(&run, "streams").iter().all(|row| of(row, "missed").is_nan()), "{run}");
}

#[test]
fn a_poisson_stream_ends_with_its_run() {
    let _guard = beside_others();
    let folder = scratch();
    let run = plan_of(folder.path(), "frames = 300", "sign = true", &format!("{TWO}\npoisson = true")).run();
    assert_eq!(run.total("done") + run.total("missed"), 300, "{run}");
}

#[test]
fn frames_of_a_capture_are_no_streams() {
    let _guard = beside_others();
    let folder = scratch();
    let file = folder.path().join("many.pcap");
    let make = format!("send pcap:{} -n 300 --rate 100k --size 100 --vary sport=1000..1299", file.display());
    assert_eq!(Tare::packets(&format!("{make} --accept-invalid")).run().total("done"), 300);
    let load = format!("send mem:a --receive mem:a --pcap {} --sign --rate 3k -n 900", file.display());
    let run = Tare::packets(&format!("{load} --accept-invalid")).run();
    assert_eq!((run.total("done"), run.int("packets.received.lost")), (900, 0), "{run}");
    // A meter of gaps for each would take a megabyte.
    assert!(run.int("generator.anon_peak_bytes") < 150_000_000, "{run}");
    let tables = run.result["packets"]["tables"].to_string();
    assert!(!tables.contains("\"streams\""), "{tables}");
}

#[test]
fn what_would_make_figures_of_streams_wrong_is_refused() {
    let _guard = beside_others();
    let folder = scratch();
    let refused = |send: &str, rest: &str, why: &str| {
        let run = plan_of(folder.path(), send, "", rest).start().finish_unchecked();
        assert!(run.code == Some(2) && run.stderr.contains(why), "{run}");
    };
    refused("duration = \"1s\"", &TWO.replacen("rate", "sign = true\nrate", 1), "1 of 2 streams are signed");
    refused("duration = \"1s\"", &format!("{TWO}\nstart = \"1s\""), "stream 'b' starts at 1.00 s");
}

#[test]
fn what_takes_one_load_only_says_so() {
    let _guard = beside_others();
    let folder = scratch();
    let (_, file) = streams("mem:a", "rate = \"1k\"", folder.path());
    let both = Tare::packets(&format!("run {}", file.display())).start().finish_unchecked();
    assert!(both.code == Some(2) && both.stderr.contains("its streams have separate loads"), "{both}");
}
