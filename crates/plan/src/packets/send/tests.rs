//! What is typed of a run, what becomes of it, and what is said where it cannot be.

use super::*;
use crate::model::Shape;

#[test]
fn nothing_of_the_frames_goes_with_a_recording() {
    type Edit = fn(&mut FramesFile);
    let edits: [(Edit, &str); 4] = [
        (|frames| frames.dst = Some("198.18.0.2".into()), "--dst"),
        (|frames| frames.dst_mac = Some("02:00:00:00:00:01".into()), "--dst-mac"),
        (|frames| frames.size = Some("64".into()), "--size"),
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

#[test]
fn a_recording_is_played_again_and_rewritten() {
    let plan = read(
        "[send]\nport = \"packet:veth0\"\nreplay = \"trace.pcap.zst\"\nloops = 3\n[frames]\nsign = true\n\
         vary = [\"dst-mac=02:00:00:00:00:09\", \"src=198.18.0.1\", \"vlan=100\"]\n",
    )
    .unwrap();
    assert_eq!((plan.loops, plan.duration), (Some(3), None));
    let FrameSource::Taken { changes, .. } = plan.look.source() else { panic!("they are taken") };
    assert!(changes.sign && changes.vary.len() == 3);
    let said = refused(|send| send.loops = Some("3".into()));
    assert!(said.starts_with("--loop needs --replay FILE"), "{said}");
    let said =
        read("[send]\nport = \"mem:a\"\nreplay = \"x\"\n[frames]\nsign = true\nsize = 64\n").unwrap_err();
    assert!(said.contains("--vary and --sign change them"), "{said}");
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
fn a_recording_is_split_over_two_ports_and_the_plan_reads_back() {
    let text = "[send]\nport = \"packet:a\"\nreplay = \"x.pcap\"\nservers = \"packet:b\"\nsplit = \"ports\"\n\
                client_vary = \"dst-mac=02:00:00:00:00:02\"\nserver_vary = [\"src=198.18.0.1\", \"vlan=7\"]\n";
    let read = |text: &str| SendPlanFile::from_toml(text, "plan").unwrap().resolve();
    let (plan, packet) = read(text).unwrap();
    let split = plan.split.clone().unwrap();
    assert_eq!((split.servers.as_str(), split.by.to_string().as_str()), ("packet:b", "ports=0-1023"));
    assert_eq!((split.vary[0].len(), split.vary[1].len()), (1, 2));
    assert_eq!(read(&packet.to_toml()).unwrap().0, plan);
    for (edit, said) in [
        ("replay = \"x.pcap\"", "needs --replay FILE"),
        ("\"packet:b\"", "is the port of the clients"),
        ("servers = \"packet:b\"\n", "needs --servers PORT"),
        ("split = \"ports\"", "is no way to tell"),
        ("vlan=7", "varies src a second time"),
    ] {
        let with = match edit {
            "\"packet:b\"" => "\"packet:a\"",
            "split = \"ports\"" => "split = \"half\"",
            "vlan=7" => "src=198.18.0.2",
            _ => "",
        };
        let error = read(&text.replace(edit, with)).unwrap_err().to_string();
        assert!(error.contains(said), "{edit}: {error}");
    }
    for (more, said) in [
        ("receive = \"packet:c\"", "each port only sends"),
        ("relative = true", "both ports keep the times"),
        ("queues = 2", "one queue"),
    ] {
        let error = read(&text.replace("servers =", &format!("{more}\nservers ="))).unwrap_err().to_string();
        assert!(error.contains(said), "{more}: {error}");
    }
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

fn read(text: &str) -> Result<SendPlan, String> {
    let file = SendPlanFile::from_toml(text, "plan.toml").map_err(|error| error.to_string())?;
    let (plan, packet) = file.resolve().map_err(|error| error.to_string())?;
    let again = SendPlanFile::from_toml(&packet.to_toml(), "again.toml").unwrap().resolve().unwrap();
    assert_eq!((&again.0, again.1.to_toml()), (&plan, packet.to_toml()), "the canonical text reads back");
    Ok(plan)
}

#[test]
fn shapes_are_those_of_http_and_are_shown_whole() {
    let plan = |edit: fn(&mut SendFile)| file(edit).resolve().unwrap().0;
    let ramp = plan(|send| send.ramp = Some("10k..500k:30s".to_owned()));
    let rate = |text: &str| text.parse::<Rate>().unwrap();
    let shape = Shape::Ramp { from: rate("10k"), to: rate("500k"), over: Picos::from_secs(30) };
    assert_eq!((ramp.pace, ramp.duration), (Pace::Shape(shape), Some(Picos::from_secs(30))));
    // 1 k, 2 k and 3 k for 2 s each.
    let step = plan(|send| send.step = Some("1k+1k:2s..3k".to_owned()));
    assert_eq!(step.duration, Some(Picos::from_secs(6)));
    let poisson = plan(|send| (send.rate, send.poisson) = (Some("1gbit".into()), Some(true)));
    assert!(poisson.poisson && matches!(poisson.pace, Pace::Bits { .. }));
    for text in ["stages = \"1k:1s,0:1s,5k:2s\"", "sine = \"1k±500:2s\"", "rate = \"5k\"\npoisson = true"] {
        read(&format!("[send]\nport = \"packet:veth0\"\n{text}\n")).unwrap();
    }
    let said = refused(|send| (send.ramp, send.rate) = (Some("1..2:1s".to_owned()), Some("5".into())));
    assert!(said.starts_with("--rate contradicts --ramp"), "{said}");
    let said = refused(|send| (send.ramp, send.burst) = (Some("1..2:1s".to_owned()), Some("5".into())));
    assert!(said.starts_with("--burst contradicts --ramp"), "{said}");
    let said = refused(|send| (send.gap, send.poisson) = (Some("5".into()), Some(true)));
    assert!(said.starts_with("--poisson contradicts --gap"), "{said}");
    let said = refused(|send| send.stages = Some("0:5s".to_owned()));
    assert!(said.contains("has a rate of zero throughout"), "{said}");
}

const STREAMS: &str = "[send]\nport = \"packet:veth0\"\n[frames]\nsign = true\nsize = 128\n";

#[test]
fn streams_have_loads_of_their_own() {
    let plan = read(&format!(
        "{STREAMS}[[frames.stream]]\nname = \"voice\"\nrate = \"5k\"\npoisson = true\ndport = 5060\n\
         [[frames.stream]]\nramp = \"1k..9k:4s\"\nsize = 1518\nstart = \"2s\"\nduration = \"6s\"\ncount = 900\n"
    ))
    .unwrap();
    assert_eq!((&plan.pace, plan.duration), (&Pace::Streams, Some(DURATION)));
    let [voice, second] = plan.look.loads() else { panic!("two streams") };
    assert_eq!((voice.name.as_str(), voice.poisson, voice.ends()), ("voice", true, false));
    assert_eq!((second.name.as_str(), second.start), ("1", Picos::from_secs(2)));
    assert_eq!((second.duration, second.frames, second.ends()), (Some(Picos::from_secs(6)), Some(900), true));
    // Where all end, the run needs no time.
    let ends = read(&format!(
        "{STREAMS}[[frames.stream]]\nrate = \"5k\"\ncount = 10\n[[frames.stream]]\nstages = \"1k:2s\"\n"
    ));
    assert_eq!(ends.unwrap().duration, None);
}

#[test]
fn streams_that_cannot_be_are_refused_with_their_line() {
    let told = |lines: &str| read(&format!("{STREAMS}{lines}")).unwrap_err();
    let first = "[[frames.stream]]\nrate = \"5k\"\nname = \"a\"\n";
    for (lines, expected) in [
        (format!("{first}[[frames.stream]]\nsize = 64\n"), "frames.stream[1] needs a rate, gap, ramp"),
        (format!("{first}[[frames.stream]]\nweight = 3\nrate = \"1k\"\n"), "streams have either weights"),
        (format!("{first}[[frames.stream]]\nrate = \"1k\"\nname = \"a\"\n"), "is the name of two streams"),
        (format!("{first}[[frames.stream]]\nrate = \"max\"\n"), "is not possible for one of several streams"),
        (format!("{first}[[frames.stream]]\nrate = \"1k\"\nname = \"two words\"\n"), "is not a name"),
        (format!("{first}[[frames.stream]]\nrate = \"1k\"\ngap = 100\n"), "both say when frames leave"),
    ] {
        let said = told(&lines);
        assert!(said.contains(expected) && said.contains("plan.toml"), "{said}");
    }
    let both = STREAMS.replace("[frames]", "rate = \"1k\"\n[frames]");
    let said = read(&format!("{both}{first}")).unwrap_err();
    assert!(said.contains("its streams have separate loads"), "{said}");
}
