//! What leaves: addresses, lengths, gaps and replayed bytes, by the kernel's counters, tcpdump and tshark.

use super::*;

#[test]
fn counts_equal_the_kernels_counters() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let before = (bed.kernel(bed.generator(), "tx_packets"), bed.kernel(bed.sink(), "rx_packets"));
    let run = send(&bed, &format!("-n 2000 --rate 20k --queues 2 -m {NOBODY}")).run();
    assert_eq!((run.total("offered"), run.total("done"), run.total("missed")), (2_000, 2_000, 0), "{run}");
    assert_eq!(bed.kernel(bed.generator(), "tx_packets") - before.0, 2_000);
    assert_eq!(bed.kernel(bed.sink(), "rx_packets") - before.1, 2_000);
    assert_eq!(run.total("bytes_out"), 2_000 * 60);
    // Each queue has 1 000 frames and so 999 gaps; nobody received, so they are those of the handing over.
    let gaps = &run.result["packets"]["gaps"];
    assert_eq!(
        (gaps["count"].as_u64(), gaps["error"]["count"].as_u64()),
        (Some(1_998), Some(1_998)),
        "{gaps}"
    );
    let at = gaps["measured_at"].as_str().unwrap_or_default();
    assert!(at.contains("gen0, when handed over") && gaps["stamps"] == "software", "{gaps}");
}

#[test]
fn gaps_of_bursts_are_judged_within_them_and_between() {
    let _guard = light();
    let bed = TestBed::pair();
    patiently(3, || {
        // Four at once, each 4 ms.
        let run = send(&bed, &format!("-n 400 --rate 1k --burst 4 -m {NOBODY}")).run();
        let gaps = &run.result["packets"]["gaps"];
        assert_eq!(gaps["count"].as_u64(), Some(399), "{run}");
        // Set against 1 ms, each would be wrong by 1 ms or more.
        let error = gaps["error"]["p50_ns"].as_f64().unwrap();
        assert!(error < 500_000.0, "{error}");
        // A hundred take longer than one gap, and none takes the next burst's time.
        let run = send(&bed, &format!("-n 2000 --rate 10k --burst 100 -m {NOBODY} --accept-invalid")).run();
        assert!(run.criterion("late.share").holds, "{run}");
    });
}

#[test]
fn lengths_and_addresses_are_those_that_were_asked_for() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let lengths = folder.path().join("lengths");
    fs::write(&lengths, "# of payload\n4\n100\n1472\n").unwrap();
    let load = send(
        &bed,
        &format!("-n 300 -d 100000 -L {} -i 198.18.0.9 -I 198.18.0.8 -m {NOBODY}", lengths.display()),
    );
    let fields = "frame.len ip.src ip.dst eth.dst udp.length _ws.expert";
    let (run, seen) = captured(&bed, 300, fields, load);
    assert_eq!((run.total("done"), seen.len()), (300, 300), "{run}");
    for (n, frame) in seen.iter().enumerate() {
        // Payload + 8 (UDP) + 20 (IPv4) + 14 (Ethernet); 60 is the least that Ethernet has.
        let length = [60, 142, 1_514][n % 3].to_string();
        let datagram = [12, 108, 1_480][n % 3].to_string();
        assert_eq!(frame[..5], [&length, "198.18.0.8", "198.18.0.9", NOBODY, &datagram], "frame {n}");
        assert_eq!(frame.get(5).map_or("", String::as_str), "", "tshark warns of frame {n}");
    }
}

#[test]
fn gaps_at_the_receiver_are_those_of_the_file() {
    let _guard = light();
    let bed = TestBed::pair();
    let folder = scratch();
    let gaps = folder.path().join("gaps");
    fs::write(&gaps, "200000\n400000\n1000us\n").unwrap();
    patiently(3, || {
        let load = send(&bed, &format!("-n 600 -D {} --relative -m {NOBODY}", gaps.display()));
        let (run, seen) = captured(&bed, 600, "frame.time_delta", load);
        assert_eq!((run.total("done"), seen.len()), (600, 600), "{run}");
        let mut errors: Vec<u64> = seen[1..]
            .iter()
            .enumerate()
            .map(|(n, frame)| {
                let gap = (frame[0].parse::<f64>().unwrap() * 1e9) as u64;
                gap.abs_diff([200_000, 400_000, 1_000_000][n % 3])
            })
            .collect();
        errors.sort_unstable();
        // A swapped or forgotten gap would be 200 000 ns off or more.
        assert!(errors[errors.len() / 2] < 100_000, "median error {} ns", errors[errors.len() / 2]);
    });
}

#[test]
fn a_hardware_address_is_asked_for_and_ours_is_answered() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let sinks = bed.sink().interface().mac.to_string();
    let load = send(&bed, "-n 4000 --rate 1k -i 198.18.0.2 -I 198.18.0.77 --answer-arp").start();
    wait_until("frames", || bed.kernel(bed.sink(), "rx_packets") > 100);
    let asked = bed.sink().command("bash").args(["-c", "echo x > /dev/udp/198.18.0.77/9"]).status();
    assert!(asked.expect("bash runs").success());
    let ours = bed.generator().interface().mac.to_string();
    wait_until("the answer", || run_in(bed.sink(), "ip neigh show 198.18.0.77").contains(&ours));
    let run = load.finish();
    assert_eq!(run.total("done"), 4_000, "{run}");
    let notes = run.result["notes"].to_string();
    assert!(notes.contains(&format!("198.18.0.2 is at {sinks}")), "{notes}");
    let nobody = send(&bed, "-n 10 -i 198.18.0.200").run();
    assert_eq!(nobody.code, Some(5), "{nobody}");
    assert!(nobody.stderr.contains("198.18.0.200") && nobody.stderr.contains("--dst-mac"), "{nobody}");
}

#[test]
fn frames_over_ipv6_find_their_neighbour() {
    let _guard = beside_others();
    let bed = TestBed::up(Topology::unique().ipv6());
    let load = send(&bed, "-n 200 --rate 1k -i fd00:18::2 -I fd00:18::1");
    let seen = |namespace: &Namespace| bed.kernel(namespace, "rx_packets");
    let before = seen(bed.sink());
    let run = load.run();
    assert_eq!(run.total("done"), 200, "{run}");
    assert!(seen(bed.sink()) - before >= 200);
}

#[test]
fn a_replay_gives_the_same_bytes() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let file = folder.path().join("made.pcapng");
    let made = Tare::packets(&format!(
        "send pcap:{} -n 300 --rate 10k --size random(64..1518) --payload random --vary sport=1024..2047",
        file.display()
    ))
    .run();
    assert_eq!(made.total("done"), 300, "{made}");
    let fields = "frame.len frame.md5_hash";
    let wanted = dissected(&file, fields);
    let (run, seen) =
        captured(&bed, 300, fields, send(&bed, &format!("--replay {} --speed 2", file.display())));
    assert_eq!(run.total("done"), 300, "{run}");
    assert_eq!(wanted.len(), 300);
    assert_eq!(seen, wanted);
    // Packed, twice, and to another address.
    need("gzip");
    assert!(Command::new("gzip").arg(&file).status().expect("gzip runs").success());
    let packed = format!("--replay {}.gz --speed 5 --loop 2", file.display());
    let rewritten = format!("{packed} --vary dst-mac=02:00:00:00:00:77 --vary dst=198.18.0.77");
    let fields = "frame.len eth.dst ip.dst udp.srcport";
    let (run, seen) = captured(&bed, 600, fields, send(&bed, &rewritten));
    assert_eq!((run.total("done"), seen.len()), (600, 600), "{run}");
    for (n, row) in seen.iter().enumerate() {
        let port = (1_024 + n % 300).to_string();
        let expected = [wanted[n % 300][0].as_str(), "02:00:00:00:00:77", "198.18.0.77", port.as_str()];
        assert_eq!(row[..], expected, "frame {n}");
    }
}

#[test]
fn what_is_wrong_with_a_recording_is_told_however_it_is_sent() {
    let _guard = beside_others();
    let folder = scratch();
    let file = folder.path().join("cut.pcap");
    let mut writer = Writer::create(&file, Style::of_name(&file)).expect("a scratch file");
    for milliseconds in [5, 4, 6] {
        writer.frame(Stamp(milliseconds * 1_000_000), 200, &[0; 60], 0).expect("room");
    }
    writer.finish(&Statistics::default()).expect("room");
    let notes = |how: &str| {
        let run = Tare::packets(&format!("send mem:cut {how} {}", file.display())).run();
        assert_eq!(run.total("done"), 3, "{run}");
        run.result["notes"].to_string()
    };
    let cut = "cut off when captured: 3;";
    let told = notes("--rate 1k -n 3 --pcap");
    assert!(told.contains(cut) && !told.contains("previous frame"), "{told}");
    let told = notes("--replay");
    assert!(told.contains(cut) && told.contains("timestamp before the previous frame's: 1;"), "{told}");
}
