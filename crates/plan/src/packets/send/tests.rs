//! What is typed of a run, what becomes of it, and what is said where it cannot be.

use super::*;

#[test]
fn nothing_of_the_frames_goes_with_a_recording() {
    type Edit = fn(&mut FramesFile);
    let edits: [(Edit, &str); 6] = [
        (|frames| frames.dst = Some("198.18.0.2".into()), "--dst"),
        (|frames| frames.dst_mac = Some("02:00:00:00:00:01".into()), "--dst-mac"),
        (|frames| frames.size = Some("64".into()), "--size"),
        (|frames| frames.sign = Some(true), "--sign"),
        (|frames| frames.vary = Some(crate::typed::TypedList(vec!["dport=9,53".into()])), "--vary"),
        (|frames| frames.ttl = Some("64".into()), "--ttl"),
    ];
    for (edit, flag) in edits {
        let mut file = file(|send| send.replay = Some("trace.pcap".to_owned()));
        edit(&mut file.frames);
        let said = file.resolve().unwrap_err().to_string();
        assert!(said.starts_with(&format!("{flag} contradicts --replay")), "{said}");
    }
    // What a stored plan says by default asks for nothing.
    let (plan, packet) = file(|send| send.replay = Some("trace.pcap".to_owned())).resolve().unwrap();
    let text = packet.to_toml();
    let again = SendPlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap().0;
    assert_eq!(again, plan);
}

fn file(edit: impl FnOnce(&mut SendFile)) -> SendPlanFile {
    let mut file = SendPlanFile::default();
    file.send.port = Some("packet:veth0".to_owned());
    edit(&mut file.send);
    file
}

fn pace(text: &str) -> Pace {
    file(|send| send.rate = Some(text.into())).resolve().unwrap().0.pace
}

fn refused(edit: impl FnOnce(&mut SendFile)) -> String {
    file(edit).resolve().unwrap_err().to_string()
}

#[test]
fn rates_are_frames_bits_or_shares_of_the_line() {
    assert_eq!(pace("2M"), Pace::Frames(Rate::per_second(2_000_000).unwrap()));
    assert_eq!(pace("30/min"), Pace::Frames(Rate::new(1, Picos::from_secs(2)).unwrap()));
    assert_eq!(pace("1gbit"), Pace::Bits { per_second: 1_000_000_000, on_wire: true });
    assert_eq!(pace("2.5Gbit/s:l2"), Pace::Bits { per_second: 2_500_000_000, on_wire: false });
    assert_eq!(pace("100mbit:l1"), Pace::Bits { per_second: 100_000_000, on_wire: true });
    assert_eq!(pace("50%"), Pace::Line { millionths: 500_000 });
    assert_eq!(pace("0.0125%"), Pace::Line { millionths: 125 });
    assert_eq!(pace("max"), Pace::Max);
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    for (rate, problem) in [
        ("fast", "is not a number"),
        ("101%", "more than the line"),
        ("0bit", "is zero"),
        ("5:l2", "no unit of bits"),
    ] {
        let said = refused(|send| send.rate = Some(rate.into()));
        assert!(said.starts_with(&format!("--rate: '{rate}'")) && said.contains(problem), "{said}");
        assert!(said.contains("1gbit"), "{said}");
    }
    let said = refused(|send| send.gap = Some("0".into()));
    assert!(said.starts_with("--gap (-d): '0' is zero"), "{said}");
    let said = refused(|send| (send.gap, send.rate) = (Some("5".into()), Some("5".into())));
    assert!(said.contains("--rate contradicts --gap (-d)"), "{said}");
    let said = refused(|send| send.speed = Some("2".into()));
    assert!(said.contains("--speed needs --replay"), "{said}");
    let said = refused(|send| send.cpus = Some("3-1".into()));
    assert!(said.contains("--cpus: '3-1' has the range 3-1, which ends before it starts"), "{said}");
    let said = refused(|send| send.port = None);
    assert!(said.starts_with("PORT needs a port"), "{said}");
    let said = refused(|send| send.queues = Some("0".into()));
    assert!(said.contains("--queues: '0' is zero"), "{said}");
}

#[test]
fn gaps_are_nanoseconds_unless_they_say_otherwise() {
    let gap = |text: &str| file(|send| send.gap = Some(text.into())).resolve().unwrap().0.pace;
    assert_eq!(gap("13560"), Pace::Gap(Picos::from_nanos(13_560)));
    assert_eq!(gap("2.5"), Pace::Gap(Picos::from_picos(2_500)));
    assert_eq!(gap("100us"), Pace::Gap(Picos::from_micros(100)));
}

#[test]
fn a_run_has_an_end() {
    let plan = |edit: fn(&mut SendFile)| file(edit).resolve().unwrap().0;
    assert_eq!(plan(|_| {}).duration, Some(Picos::from_secs(10)));
    assert_eq!(plan(|send| send.frames = Some("5k".into())).duration, None);
    assert_eq!(plan(|send| send.replay = Some("x.pcap".into())).duration, None);
    assert_eq!(plan(|send| send.duration = Some("2".into())).duration, Some(Picos::from_secs(2)));
}

#[test]
fn the_canonical_text_reads_back_as_the_same_plan() {
    let edits: [fn(&mut SendFile); 6] = [
        |_| {},
        |send| (send.rate, send.burst) = (Some("1gbit:l2".into()), Some("32".into())),
        |send| (send.gap, send.relative) = (Some("13560".into()), Some(true)),
        |send| (send.replay, send.speed) = (Some("a \"b\".pcap".into()), Some("0.5".into())),
        |send| {
            (send.gaps, send.cpus, send.queues) = (Some("gaps".into()), Some("0-1".into()), Some("2".into()))
        },
        |send| {
            (send.rate, send.line, send.length) =
                (Some("12.5%".into()), Some("10G".into()), Some("18".into()))
        },
    ];
    for edit in edits {
        let (plan, packet) = file(edit).resolve().unwrap();
        let text = packet.to_toml();
        let (again, packet_again) = SendPlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap();
        assert_eq!(again, plan, "{text}");
        assert_eq!(packet_again.hash(), packet.hash());
    }
    let error = SendPlanFile::from_toml("[send]\nport = \"x\"\nrate = \"quick\"\n", "plan.toml").unwrap();
    let said = error.resolve().unwrap_err().to_string();
    assert!(said.starts_with("plan.toml, line 3: send.rate: 'quick'"), "{said}");
    let said = SendPlanFile::from_toml("[send]\nrat = 1\n", "plan.toml").unwrap_err().to_string();
    assert!(said.contains("unknown key `send.rat`"), "{said}");
}
