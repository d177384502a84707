//! Recordings that are read while they are sent, because they are larger than what may be held in memory.

use super::*;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// Frames of 1514 bytes, a microsecond apart, packed as they are written: only a small file is on the disk.
fn packed(file: &Path, packer: &str, frames: u32) {
    need(packer);
    let out = fs::File::create(file).expect("a scratch file");
    let mut packer =
        Command::new(packer).args(["-1", "-c"]).stdin(Stdio::piped()).stdout(out).spawn().expect(packer);
    let mut pipe = std::io::BufWriter::with_capacity(1 << 20, packer.stdin.take().expect("a pipe"));
    for word in [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 262_144, 1] {
        pipe.write_all(&word.to_le_bytes()).expect("the packer reads");
    }
    let mut frame = vec![0; 16 + 1_514];
    frame[16..28].copy_from_slice(&[2, 0, 0, 0, 0, 0x99, 2, 0, 0, 0, 0, 1]);
    frame[28..30].copy_from_slice(&[0x88, 0xb5]);
    for n in 0..frames {
        let nanoseconds = n * 1_000;
        for (place, word) in
            [1_700_000_000 + nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000, 1_514, 1_514]
                .into_iter()
                .enumerate()
        {
            frame[place * 4..][..4].copy_from_slice(&word.to_le_bytes());
        }
        // Each has its number.
        frame[30..34].copy_from_slice(&n.to_be_bytes());
        pipe.write_all(&frame).expect("the packer reads");
    }
    drop(pipe);
    assert!(packer.wait().expect("it ends").success());
}

#[test]
fn a_recording_larger_than_memory_leaves_whole() {
    let _guard = beside_others();
    need("prlimit");
    let folder = scratch();
    let file = folder.path().join("large.pcap.zst");
    // 1.2 GB of frames for a process that may have 800 MB of addresses.
    packed(&file, "zstd", 800_000);
    assert!(fs::metadata(&file).expect("it is there").len() < 100_000_000);
    let out = folder.path().join("run");
    let load = format!(
        "send mem:a --receive mem:a --replay {} --speed 0.5 --accept-invalid --out {}",
        file.display(),
        out.display()
    );
    let run = Tare::packets(&load).through("prlimit --as=800000000 --").run();
    assert_eq!((run.total("offered"), run.total("bytes_out")), (800_000, 800_000 * 1_514), "{run}");
    assert_eq!((run.total("done"), run.total("missed")), (800_000, 0), "{run}");
    let told = fs::read_to_string(out.join("environment.json")).expect("it was written");
    assert!(told.contains("read while it is sent"), "{told}");
    // Several threads cannot.
    let refused =
        Tare::packets(&format!("send mem:b --queues 2 --read-ahead 8MB --replay {}", file.display())).run();
    assert!(
        refused.code == Some(2) && refused.stderr.contains("several threads cannot read it"),
        "{refused}"
    );
}

#[test]
fn what_is_read_while_it_is_sent_is_the_same_as_from_memory() {
    let _guard = beside_others();
    let folder = scratch();
    let file = folder.path().join("a.pcap.gz");
    packed(&file, "gzip", 6_000);
    let sent = |name: &str, how: &str| {
        let out = folder.path().join(name);
        let load =
            format!("send pcap:{} {how} --vary dst-mac=02:00:00:00:00:77,02:00:00:00:00:78", out.display());
        let run = Tare::packets(&load).run();
        assert_eq!(run.total("done"), 18_000, "{run}");
        let fields = "frame.len frame.md5_hash";
        (dissected(&out, fields), run)
    };
    let replay = format!("--replay {} --loop 3 --speed 0.01 --accept-invalid", file.display());
    let (wanted, _) = sent("memory.pcap", &replay);
    let (got, _) = sent("tape.pcap", &format!("{replay} --read-ahead 4MB"));
    assert_eq!(wanted.len(), 18_000);
    assert!(got == wanted, "each round its own address, and every frame the same");
    // The same without its times, by rate and as fast as it goes.
    let frames = format!("--pcap {} -n 18000 --accept-invalid", file.display());
    for rate in ["200k", "max"] {
        let (got, _) = sent("frames.pcap", &format!("{frames} --rate {rate} --read-ahead 4MB"));
        assert!(got == wanted, "{rate}");
    }
}

#[test]
fn a_reader_that_is_too_slow_is_named_and_a_damaged_end_is_too() {
    let _guard = beside_others();
    let folder = scratch();
    let file = folder.path().join("a.pcap.zst");
    packed(&file, "zstd", 200_000);
    // All is due in 0.2 us: whatever reads it is too slow.
    let load =
        format!("send mem:a --receive mem:a --speed 1000000 --read-ahead 4MB --replay {}", file.display());
    let run = Tare::packets(&load).run();
    assert_eq!((run.code, run.total("done")), (Some(4), 200_000), "{run}");
    assert!(run.result["notes"].to_string().contains("the recording was read too slowly"), "{run}");
    let bytes = fs::read(&file).expect("it is there");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("room");
    let run = Tare::packets(&load).run();
    assert!(run.code == Some(4) && run.total("done") < 200_000, "{run}");
    assert!(run.to_string().contains("a.pcap.zst"), "{run}");
    let refused = Tare::packets("send mem:a --rate 1k --read-ahead 64MB").run();
    assert!(refused.code == Some(2) && refused.stderr.contains("--read-ahead needs --replay"), "{refused}");
}

/// A connection, a question by ARP in front of it, and a datagram of the server: who sent each, and when.
const TALK: [(&str, u64, &str); 8] = [
    ("client", 0, "arp --src 198.18.0.1 --dst 198.18.0.2 --dst-mac ff:ff:ff:ff:ff:ff"),
    ("server", 10, "arp --src 198.18.0.2 --dst 198.18.0.1 --dst-mac 02:00:00:00:00:01"),
    ("client", 20, "tcp --sport 80 --dport 5000 --tcp-flags S"),
    ("server", 35, "tcp --sport 5000 --dport 80 --tcp-flags SA"),
    ("client", 50, "tcp --sport 80 --dport 5000 --tcp-flags A"),
    ("server", 51, "udp --sport 53 --dport 4000"),
    ("client", 70, "icmp"),
    ("server", 95, "icmp"),
];

/// Writes that down, and says where.
fn talk(folder: &Path) -> std::path::PathBuf {
    let file = folder.join("talk.pcap");
    let mut writer = Writer::create(&file, Style::of_name(&file)).expect("a scratch file");
    for (n, (who, milliseconds, what)) in TALK.iter().enumerate() {
        let one = folder.join(format!("{n}.pcap"));
        let (own, other, ips) = match *who {
            "client" => ("02:00:00:00:00:01", "02:00:00:00:00:02", "--src 198.18.0.1 --dst 198.18.0.2"),
            _ => ("02:00:00:00:00:02", "02:00:00:00:00:01", "--src 198.18.0.2 --dst 198.18.0.1"),
        };
        let more = if what.starts_with("arp") { String::new() } else { format!("{ips} --dst-mac {other}") };
        let load = format!("send pcap:{} -n 1 --src-mac {own} {more} --proto {what}", one.display());
        let run = Tare::packets(&load).run();
        assert_eq!(run.total("done"), 1, "{run}");
        let mut reader = port::pcap::Reader::open(&one).expect("it was written");
        let frame = reader.next().expect("it reads").expect("a frame");
        writer
            .frame(Stamp(5_000_000_000 + milliseconds * 1_000_000), frame.length, frame.data, 0)
            .expect("room");
    }
    writer.finish(&Statistics::default()).expect("room");
    file
}

#[test]
fn clients_and_servers_leave_by_two_ports_at_the_times_of_one_recording() {
    let _guard = beside_others();
    need("tshark");
    let folder = scratch();
    let file = talk(folder.path());
    let fields = "eth.src eth.dst ip.src tcp.flags.str udp.dstport frame.time_epoch tcp.checksum.status";
    let played = |how: &str| {
        let (one, two) = (folder.path().join("one.pcap"), folder.path().join("two.pcap"));
        let load = format!(
            "send pcap:{} --servers pcap:{} --replay {} {how}",
            one.display(),
            two.display(),
            file.display()
        );
        let run = Tare::packets(&format!("{load} --accept-invalid")).run();
        ([dissected(&one, fields), dissected(&two, fields)], run)
    };
    let who = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
    for (how, rounds) in [
        ("", 1),
        ("--loop 3", 3),
        ("--loop 3 --split clients=198.18.0.1", 3),
        ("--loop 2 --split ports=5000,53", 2),
    ] {
        let (seen, run) = played(how);
        assert_eq!(run.total("done"), 8 * rounds, "{run}");
        for (side, name) in seen.iter().zip(["client", "server"]) {
            let due: Vec<u64> = TALK.iter().filter(|(who, ..)| *who == name).map(|(_, at, _)| *at).collect();
            assert_eq!(side.len() as u64, due.len() as u64 * rounds, "{how} {name} {side:?}");
            let mac = who[usize::from(name == "server")];
            assert!(side.iter().all(|row| row[0] == mac), "{how} {name} {side:?}");
        }
        let told = run.result["packets"]["tables"].as_array().cloned().unwrap_or_default();
        let table = told.iter().find(|table| table["key"] == "sides").expect("figures of both sides");
        assert_eq!(
            (&table["rows"][0][1], &table["rows"][1][1]),
            (&(4.0 * rounds as f64).into(), &(4.0 * rounds as f64).into())
        );
    }
    // Both files by one clock: a round is 95 ms and the mean gap of 95/7 ms; at this speed five times as long.
    let (seen, run) = played("--loop 2 --speed 0.2");
    let at = |row: &Vec<String>| row[5].parse::<f64>().expect("a time") * 1e3;
    let first = at(&seen[0][0]);
    // A frame is stamped when it is handed over, less what is spun: as late as the run says, and no more.
    let late = run.float("/own_lateness_ns/max") / 1e6 + 2.0;
    for (side, name) in seen.iter().zip(["client", "server"]) {
        let due: Vec<u64> = TALK.iter().filter(|(who, ..)| *who == name).map(|(_, at, _)| *at).collect();
        for (n, row) in side.iter().enumerate() {
            let wanted = 5.0 * ((n / 4) as f64 * (95.0 + 95.0 / 7.0) + due[n % 4] as f64);
            let seen = at(row) - first;
            // A round without the gap would be 68 ms short, an origin of its own 50 ms.
            assert!((seen - wanted).abs() < late, "{name} {n}: {seen} ms, not {wanted} within {late}: {run}");
        }
    }
    // Each side has its own new addresses, where its frames have them.
    let vary = "--vary dst-mac=02:00:00:00:00:88 --client-vary src=198.18.0.77 --server-vary dst-mac=02:00:00:00:00:77 --server-vary dport=99";
    let (seen, run) = played(vary);
    assert_eq!(run.total("done"), 8, "{run}");
    let column =
        |side: usize, n: usize| -> Vec<&str> { seen[side].iter().map(|row| row[n].as_str()).collect() };
    assert_eq!(column(0, 1), ["02:00:00:00:00:88"; 4]);
    assert_eq!(column(0, 2), ["", "198.18.0.77", "198.18.0.77", "198.18.0.77"]);
    assert_eq!(column(1, 1), ["02:00:00:00:00:77"; 4]);
    assert_eq!(column(1, 4), ["", "", "99", ""]);
    for (how, said) in [
        ("--client-vary vlan=7", "--client-vary vlan: no frame of the clients has a header of VLAN"),
        ("--split half", "is no way to tell clients from servers"),
        ("--receive mem:a", "each port only sends"),
    ] {
        let (_, refused) = played(how);
        assert!(refused.code == Some(2) && refused.stderr.contains(said), "{how}: {refused}");
    }
}

#[test]
fn a_split_recording_is_the_same_as_from_memory() {
    let _guard = beside_others();
    let folder = scratch();
    let talk = talk(folder.path());
    // The talk again and again: 6 MB, a frame each 10 us.
    let file = folder.path().join("long.pcap");
    let mut frames = Vec::new();
    let mut reader = port::pcap::Reader::open(&talk).expect("it was written");
    while let Some(frame) = reader.next().expect("it reads") {
        frames.push(frame.data.to_vec());
    }
    let mut writer = Writer::create(&file, Style::of_name(&file)).expect("a scratch file");
    for n in 0..20_000 {
        let frame = &frames[n % frames.len()];
        writer.frame(Stamp(5_000_000_000 + n as u64 * 10_000), frame.len(), frame, 0).expect("room");
    }
    writer.finish(&Statistics::default()).expect("room");
    let sent = |how: &str| {
        let (one, two) = (folder.path().join("one.pcap"), folder.path().join("two.pcap"));
        let load = format!(
            "send pcap:{} --servers pcap:{} --replay {} --accept-invalid --server-vary ttl=1,2,3 {how}",
            one.display(),
            two.display(),
            file.display()
        );
        let run = Tare::packets(&load).run();
        let done = run.total("done");
        (done, dissected(&one, "frame.md5_hash"), dissected(&two, "frame.md5_hash"))
    };
    for how in ["--loop 2", "-n 33333"] {
        let wanted = sent(how);
        assert_eq!(wanted.0, if how == "--loop 2" { 40_000 } else { 33_333 });
        assert!(sent(&format!("{how} --read-ahead 4MB")) == wanted, "{how}");
    }
}
