//! What only frames have, of several runs as one: counts add, and what does not is told.

use crate::read::StoredRun;
use measure::packets::{
    PacketReport, PlaceCount, PortReport, ReceivedReport, ScriptReport, SizeRow, StreamRow,
};

/// Incidents that are listed of all runs together.
const MOST_INCIDENTS: usize = 20;

/// `None` if no run has frames. What cannot be added up stands in `notes`.
pub(crate) fn merge_packets(runs: &[StoredRun], notes: &mut Vec<String>) -> Option<PacketReport> {
    let first = runs.iter().find_map(|run| run.result.packets.as_ref())?;
    let mut all = PacketReport { command: first.command.clone(), ..PacketReport::default() };
    let mut lacks: Vec<&str> = Vec::new();
    for run in runs {
        let Some(packets) = &run.result.packets else { continue };
        packets.ports.iter().for_each(|port| add_port(&mut all.ports, port));
        all.script = sum(all.script.take(), packets.script.as_ref(), add_script);
        packets.sizes.iter().for_each(|row| add_size(&mut all.sizes, row));
        if let Some(received) = &packets.received {
            add_received(all.received.get_or_insert_default(), received, &run.result.run);
        }
        let spreads = packets.received.as_ref().is_some_and(|received| received.one_way_ns.count > 0);
        for (is_there, what) in [
            (packets.gaps.is_some() || packets.handed_over.is_some(), "gaps"),
            (spreads, "one-way times"),
            (!packets.flows.is_empty() || packets.other_flows > 0, "flows"),
            (!packets.tables.is_empty(), "tables"),
        ] {
            if is_there && !lacks.contains(&what) {
                lacks.push(what);
            }
        }
    }
    let others = runs.iter().filter_map(|run| run.result.packets.as_ref());
    if others.clone().all(|packets| packets.time == first.time) {
        all.time = first.time;
    }
    if others.clone().any(|packets| packets.command != first.command) || others.clone().count() < runs.len() {
        notes.push(
            "the merged runs are of different commands: figures of frames are of some alone".to_owned(),
        );
    }
    if !lacks.is_empty() {
        notes.push(format!("not added up of frames: {}; see the report of each run", lacks.join(", ")));
    }
    Some(all)
}

fn sum<T: Clone>(all: Option<T>, one: Option<&T>, add: impl FnOnce(T, &T) -> T) -> Option<T> {
    match (all, one) {
        (None, one) => one.cloned(),
        (all, None) => all,
        (Some(all), Some(one)) => Some(add(all, one)),
    }
}

fn add_counts<const N: usize>(counts: [(&mut u64, u64); N]) {
    for (sum, count) in counts {
        *sum = sum.saturating_add(count);
    }
}

/// A port is the same in all runs if its side, name and queue are.
fn add_port(all: &mut Vec<PortReport>, one: &PortReport) {
    let is_same =
        |port: &&mut PortReport| port.role == one.role && port.name == one.name && port.queue == one.queue;
    let Some(into) = all.iter_mut().find(is_same) else {
        all.push(one.clone());
        return;
    };
    add_counts([
        (&mut into.sent, one.sent),
        (&mut into.sent_bytes, one.sent_bytes),
        (&mut into.received, one.received),
        (&mut into.received_bytes, one.received_bytes),
        (&mut into.merged, one.merged),
        (&mut into.held, one.held),
        (&mut into.full, one.full),
    ]);
    for PlaceCount { place, frames } in &one.drops {
        match into.drops.iter_mut().find(|known| known.place == *place) {
            Some(known) => known.frames = known.frames.saturating_add(*frames),
            None => into.drops.push(PlaceCount { place: place.clone(), frames: *frames }),
        }
    }
    for choice in &one.choices {
        if !into.choices.contains(choice) {
            into.choices.push(choice.clone());
        }
    }
    if into.stamps != one.stamps {
        into.stamps.clear();
    }
    if into.clock != one.clock {
        into.clock = None;
    }
}

fn add_script(mut all: ScriptReport, one: &ScriptReport) -> ScriptReport {
    add_counts([
        (&mut all.calls, one.calls),
        (&mut all.frames, one.frames),
        (&mut all.time_ns, one.time_ns),
        (&mut all.late, one.late),
    ]);
    all.longest_ns = all.longest_ns.max(one.longest_ns);
    all.failed = all.failed.or_else(|| one.failed.clone());
    all
}

fn add_size(all: &mut Vec<SizeRow>, one: &SizeRow) {
    match all.binary_search_by_key(&one.size, |row| row.size) {
        Ok(at) => all[at].frames = all[at].frames.saturating_add(one.frames),
        Err(at) => all.insert(at, *one),
    }
}

fn add_received(all: &mut ReceivedReport, one: &ReceivedReport, name: &str) {
    add_counts([
        (&mut all.signed, one.signed),
        (&mut all.unsigned, one.unsigned),
        (&mut all.lost, one.lost),
        (&mut all.lost_here, one.lost_here),
        (&mut all.outstanding, one.outstanding),
        (&mut all.duplicated, one.duplicated),
        (&mut all.reordered, one.reordered),
        (&mut all.corrupted, one.corrupted),
        (&mut all.too_old, one.too_old),
        (&mut all.mixed, one.mixed),
        (&mut all.merged, one.merged),
    ]);
    let room = MOST_INCIDENTS.saturating_sub(all.incidents.len());
    all.incidents.extend(one.incidents.iter().take(room).map(|incident| format!("{name}: {incident}")));
    for row in &one.streams {
        match all.streams.iter_mut().find(|known| known.stream == row.stream) {
            Some(known) => add_stream(known, row),
            None => all.streams.push(row.clone()),
        }
    }
}

fn add_stream(all: &mut StreamRow, one: &StreamRow) {
    add_counts([
        (&mut all.received, one.received),
        (&mut all.duplicated, one.duplicated),
        (&mut all.reordered, one.reordered),
    ]);
    all.lost = all.lost.zip(one.lost).map(|(sum, lost)| sum.saturating_add(lost));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::RunResult;
    use std::path::PathBuf;

    fn run(name: &str, packets: &str) -> StoredRun {
        let text = format!(r#"{{"run":"{name}","packets":{packets}}}"#);
        let result: RunResult = serde_json::from_str(&text).unwrap();
        StoredRun {
            folder: PathBuf::from("/nonexistent"),
            result,
            plan: String::new(),
            environment: String::new(),
        }
    }

    #[test]
    fn losses_and_drops_of_frames_add_and_what_does_not_is_told() {
        let of = |lost: u64, place: &str| {
            format!(
                r#"{{"command":"send","gaps":{{"count":9}},
                "ports":[{{"role":"in","name":"mem:a","received":9,"drops":[{{"place":"{place}","frames":2}}]}}],
                "received":{{"signed":440,"lost":{lost},"duplicated":3,"reordered":4,"corrupted":5,
                "one_way_ns":{{"count":9,"p50":7}},"incidents":["stream 0: frame 1 is lost"],
                "streams":[{{"stream":0,"received":440,"lost":{lost}}}]}}}}"#
            )
        };
        let runs = [run("a", &of(60, "rx.ring")), run("b", &of(61, "rx.ring")), run("c", &of(1, "fault"))];
        let mut notes = Vec::new();
        let all = merge_packets(&runs, &mut notes).unwrap();
        let received = all.received.unwrap();
        assert_eq!((received.signed, received.lost, received.streams[0].lost), (1_320, 122, Some(122)));
        assert_eq!((received.duplicated, received.reordered, received.corrupted), (9, 12, 15));
        assert_eq!((received.one_way_ns.count, &*received.incidents[2]), (0, "c: stream 0: frame 1 is lost"));
        let drops = |place: &str, frames| PlaceCount { place: place.to_owned(), frames };
        assert_eq!((all.ports.len(), all.ports[0].received), (1, 27));
        assert_eq!(all.ports[0].drops, [drops("rx.ring", 4), drops("fault", 2)]);
        assert!(all.gaps.is_none());
        assert_eq!(notes, ["not added up of frames: gaps, one-way times; see the report of each run"]);
    }

    #[test]
    fn where_there_are_no_frames_there_is_nothing_to_add() {
        let mut notes = Vec::new();
        assert_eq!(merge_packets(&[run("a", "null")], &mut notes), None);
        assert!(notes.is_empty());
    }
}
