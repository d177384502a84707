//! A run of which Redis has only what the FPGA module wrote there, read back.

use crate::redis::Server;
use store::schema::Interval;

/// What the FPGA module writes by itself: 40 places of 32 bytes, of which some are empty.
fn module_entry(events: &[(u64, u8, u32)]) -> Vec<u8> {
    let mut bytes = vec![255; 40 * 32];
    for ((due, outcome, done), place) in events.iter().zip(bytes.chunks_exact_mut(32)) {
        place.fill(0);
        place[..6].copy_from_slice(&due.to_le_bytes()[..6]);
        place[6] = *outcome;
        place[10..12].copy_from_slice(&200_u16.to_le_bytes());
        place[16..20].copy_from_slice(&10_u32.to_le_bytes());
        place[24..28].copy_from_slice(&(done / 2).to_le_bytes());
        place[28..].copy_from_slice(&done.to_le_bytes());
    }
    bytes
}

#[test]
fn what_the_module_wrote_is_a_run() {
    let server = Server::start("");
    let mut client = server.client();
    // Two a second, from tick 1 000 on, each done after 10 000 ticks (80 us); the third number is missing.
    let done = |n: u64| (1_000 + n * 62_500_000, 0, 10_000);
    let missed = (1_000 + 3 * 62_500_000, 1, 0);
    let entries = [(1, vec![done(0), done(1)]), (2, vec![done(2), missed, done(4)]), (4, vec![done(5)])];
    for (number, events) in entries {
        let mut command = ::redis::cmd("XADD");
        command.arg("tare:board:module").arg(format!("{number}-0")).arg("events").arg(module_entry(&events));
        command.query::<()>(&mut client).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    sinks::fetch_redis(&format!("redis://127.0.0.1:{}/board", server.port), folder.path()).unwrap();
    let result = store::load_run(folder.path()).unwrap().result;
    assert_eq!((result.totals.offered, result.totals.done, result.totals.missed), (6, 5, 1));
    assert_eq!((result.run.as_str(), result.partial), ("board", false));
    // Within the histogram's three digits.
    assert!(result.latency_ns.max.abs_diff(80_000) <= 80, "{:?}", result.latency_ns);
    let said = format!("{:?}", result.labels);
    assert!(said.contains("6 departures") && said.contains("1 of its 4 commands"), "{said}");
    let text = std::fs::read_to_string(folder.path().join("intervals.jsonl")).unwrap();
    let rows: Vec<Interval> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.iter().map(|row| row.offered).collect::<Vec<_>>(), [2, 2, 2]);

    ::redis::cmd("XADD")
        .arg("tare:odd:module")
        .arg("1-0")
        .arg("other")
        .arg("x")
        .query::<()>(&mut client)
        .unwrap();
    let odd = sinks::fetch_redis(&format!("redis://127.0.0.1:{}/odd", server.port), folder.path());
    assert!(odd.unwrap_err().to_string().contains("is not what the module writes"));
}
