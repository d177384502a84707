use super::*;
use crate::By;

/// 1 000/s for 10 s, from the origin on.
fn steered(ends: Ends, is_replay: bool) -> (JobControl, Arc<Steering>) {
    let template = Arc::new(Template::from_frames(vec![vec![0; 60]]).unwrap());
    let state = State {
        rate: Rate::per_second(1_000).filter(|_| !is_replay),
        has_rate: !is_replay,
        may_go_max: false,
        rates: Vec::new(),
        made: None,
        size: "64".to_owned(),
        template,
        is_paused: false,
        marks: 0,
    };
    let steering = Steering {
        clock: HostClock::monotonic(),
        progress: vec![Arc::default()],
        prepared: Arc::default(),
        names: vec!["0".to_owned()],
        about: About::default(),
        line_bps: None,
        has_any_size: false,
        is_replay,
        ends,
        all_sent: Arc::default(),
        state: Mutex::new(state),
    };
    let (control, steering) = (JobControl::default(), Arc::new(steering));
    control.begin(at(0));
    register_shared(&control, &steering);
    (control, steering)
}

fn at(millis: u64) -> Instant {
    Instant::from_picos(5_000_000_000_000) + Picos::from_millis(millis)
}

const FOR_TEN_SECONDS: Ends = Ends { after: Some(Picos::from_secs(10)), frames: None };

/// What changes nothing any more is refused, and not in the result.
fn is_refused(control: &JobControl, now: Instant, why: &str) {
    for line in ["set rate 2k", "set rate=2k", "faster", "set rate max", "pause", "toggle"] {
        let told = control.ask(line, now, By::Socket).unwrap_err();
        assert!(told.contains(why), "{line}: {told}");
    }
    assert!(control.changes().is_empty() && control.change_after(0).is_none());
}

#[test]
fn a_load_that_has_ended_is_not_changed() {
    // A change takes effect 50 ms after it is asked for.
    let (control, _) = steered(FOR_TEN_SECONDS, false);
    is_refused(&control, at(9_950), "the load ends before this could take effect");
    control.ask("set rate 2k", at(9_949), By::Socket).unwrap();
    let (control, steering) = steered(FOR_TEN_SECONDS, false);
    steering.all_sent.end(10, 0);
    is_refused(&control, at(100), "the load has ended");
    let by_count = Ends { after: None, frames: Some(7) };
    let (control, steering) = steered(by_count, false);
    control.ask("pause", at(100), By::Socket).unwrap();
    assert_eq!(control.forget_after(at(149)), 1);
    let (control, other) = (JobControl::default(), steering);
    register_shared(&control, &other);
    other.progress[0].show(7, Instant::FAR);
    is_refused(&control, at(200), "the load has ended");
}

#[test]
fn what_cannot_be_kept_for_the_result_is_not_done() {
    let (control, steering) = steered(FOR_TEN_SECONDS, false);
    let change = schedule::LoadChange { number: 0, at: at(60), action: Action::Pause };
    while control.room_for(1).is_ok() {
        control.changed_load(&change, "dport", "1", "2", By::Socket);
    }
    for line in ["set rate 2k", "set rate=2k", "faster", "pause"] {
        let told = control.ask(line, at(100), By::Socket).unwrap_err();
        assert!(told.contains("keeps at most 4096"), "{line}: {told}");
    }
    assert!(control.change_after(0).is_none());
    let state = steering.state();
    assert_eq!((state.rate, state.is_paused), (Rate::per_second(1_000), false));
}

#[test]
fn a_replay_is_faster_by_its_speed() {
    let (control, _) = steered(FOR_TEN_SECONDS, true);
    for line in ["set rate 2k", "set rate=2k", "faster"] {
        let told = control.ask(line, at(100), By::Socket).unwrap_err();
        assert!(told.contains("--speed 2") && !told.contains("--rate"), "{line}: {told}");
    }
}
