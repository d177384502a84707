use super::*;
use clock::HostClock;
use std::sync::Arc;
use units::Departure;
use wire::Template;
use wire::template::{Layer, Mac, Sizes, Spec, StreamSpec};

const fn at(micros: u64) -> Instant {
    Instant::from_picos(micros * 1_000_000)
}

fn called(blame: &mut Blame, from: u64, until: u64, due: u64) {
    blame.called(Call { from: at(from), until: at(until) }, at(due));
}

#[test]
fn a_script_is_blamed_for_the_time_it_took_after_a_frame_was_due() {
    let mut blame = Blame::default();
    // The first call is over before its frame is due, and whoever wakes late is not the script.
    for frame in 0..10_000 {
        let due = 1_000 * (frame + 1);
        called(&mut blame, due - 100, due - 50, due);
        assert!(!blame.is_of(at(due), at(due + 200)), "frame {frame}");
        assert!(blame.calls.len() <= 1);
    }
    // Of 100 µs, 50 were the script's, then 49.
    let mut blame = Blame::default();
    called(&mut blame, 1_020, 1_070, 1_000);
    assert!(blame.is_of(at(1_000), at(1_100)));
    assert!(!blame.is_of(at(1_000), at(1_102)));
    // Of a call that went on when it became due, the part behind that.
    assert!(blame.is_of(at(1_050), at(1_090)));
    assert!(!blame.is_of(at(1_050), at(1_092)));
}

#[test]
fn a_script_that_is_slower_than_the_load_is_blamed_however_far_it_is_behind() {
    // Each call takes 900 of 1 000 µs, for 500 µs of load.
    let mut blame = Blame::default();
    for call in 0..3 * REMEMBERED as u64 {
        let (from, due) = (1_000 * call, 500 * call);
        called(&mut blame, from, from + 900, due);
        assert!(blame.is_of(at(due), at(from + 1_000)), "call {call}");
    }
    assert_eq!(blame.calls.len(), REMEMBERED);
    // One that takes a tenth is not.
    let mut blame = Blame::default();
    for call in 0..3 * REMEMBERED as u64 {
        let (from, due) = (1_000 * call, 500 * call);
        called(&mut blame, from, from + 100, due);
        assert!(call == 0 || !blame.is_of(at(due), at(from + 1_000)), "call {call}");
    }
}

/// Frames of 100 bytes as a script leaves them.
fn made(text: &str, fixed: bool) -> Result<Vec<u8>, String> {
    let ethernet = Layer::ethernet(Mac([2; 6]), Mac([4; 6]));
    let ip = Layer::ipv4([198, 18, 0, 1].into(), [198, 18, 0, 2].into());
    let layers = vec![ethernet, ip, Layer::Udp { source: 5, destination: 6, checksum: true }];
    let stream = StreamSpec { weight: 1, layers, sizes: Sizes::Fixed(100), ..StreamSpec::default() };
    let template = Template::build(&Spec { streams: vec![stream], seed: 1 }).unwrap();
    let plan = ScriptPlan { name: "a.lua".to_owned(), text: text.to_owned() };
    let looks = Looks::new(Arc::new(template));
    let mut scripted = Scripted::load(&plan, 1_514, 0, 1, 1, fixed)?;
    let due = Due { departure: Departure { seq: 0, due: at(1_000) }, of: None };
    assert_eq!(scripted.prepare(&looks, &[due], &HostClock::calibrate())?, 1);
    let mut room = vec![0; 1_514];
    let length = scripted.write(&looks, &due, Times::default(), &mut room, &mut 0);
    room.truncate(length);
    Ok(room)
}

#[test]
fn lengths_follow_the_size_and_checksums_do_unless_they_are_as_is() {
    let plain = made("function burst(b) end", false).unwrap();
    let longer = made("function burst(b) b:set_size(1, 200) end", false).unwrap();
    let as_is = made("function burst(b) b:set_size(1, 200) b:as_is(1) end", false).unwrap();
    let half = |frame: &[u8], at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    // IPv4's length, UDP's, and IPv4's checksum.
    let of = |frame: &[u8]| (frame.len(), half(frame, 16), half(frame, 38), half(frame, 24));
    assert_eq!((of(&plain).0, of(&plain).1, of(&plain).2), (96, 82, 62));
    assert_eq!((of(&longer).0, of(&longer).1, of(&longer).2), (196, 182, 162));
    assert_eq!(of(&as_is), (196, 182, 162, of(&plain).3));
    assert_ne!(of(&longer).3, of(&plain).3);
    let written = made("function burst(b) b:set16(1, 16, 5) b:as_is(1) end", false).unwrap();
    assert_eq!(of(&written), (96, 5, 62, of(&plain).3));
}

#[test]
fn sizes_stay_where_a_rate_is_worked_out_from_them() {
    let text = "function burst(b)\nb:set_size(1, 100)\nb:set_size(1, 200) end";
    assert_eq!(made(text, false).map(|frame| frame.len()), Ok(196));
    let said = made(text, true).unwrap_err();
    assert!(said.starts_with("a.lua:3: set_size needs --rate in frames per second"), "{said}");
}
