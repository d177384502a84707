//! Flags of a sweep to its plan, and back.

use super::*;

fn file(edit: impl FnOnce(&mut SweepFile)) -> SweepPlanFile {
    let mut file = SweepPlanFile::default();
    file.sweep.send = Some("packet:veth0".to_owned());
    file.sweep.receive = Some("packet:veth1".to_owned());
    edit(&mut file.sweep);
    file
}

fn refused(edit: impl FnOnce(&mut SweepFile)) -> String {
    file(edit).resolve().unwrap_err().to_string()
}

#[test]
fn sizes_and_goals_have_those_of_the_rfcs_as_defaults() {
    let plan = file(|_| {}).resolve().unwrap().0;
    assert_eq!(plan.sizes, SIZES);
    let goals: Vec<(&str, u32)> =
        plan.goals.iter().map(|goal| (goal.name.as_str(), goal.loss.millionths())).collect();
    assert_eq!(goals, [("NDR", 0), ("PDR", 5_000)]);
    assert_eq!((plan.sum, plan.first_trial), (Picos::from_secs(3), Picos::from_millis(250)));
    let strict = file(|sweep| sweep.rfc2544 = Some(true)).resolve().unwrap().0;
    assert_eq!(
        (strict.trial, strict.sum, strict.exceed),
        (Picos::from_secs(60), Picos::from_secs(60), Fraction::ZERO)
    );
    let typed = file(|sweep| (sweep.goal, sweep.sizes) = (Some("1%, ndr".into()), Some("1518,64".into())));
    let plan = typed.resolve().unwrap().0;
    assert_eq!((plan.goals[1].name.as_str(), plan.sizes), ("1%", vec![64, 1518]));
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    let said = refused(|sweep| sweep.sizes = Some("64,9".into()));
    assert!(
        said.starts_with("--sizes: '64,9' has no such frame size") && said.contains("64,512,1518"),
        "{said}"
    );
    let said = refused(|sweep| (sweep.min_rate, sweep.max_rate) = (Some("10k".into()), Some("1k".into())));
    assert!(said.starts_with("--max-rate: '1k' is below --min-rate"), "{said}");
    let said = refused(|sweep| sweep.goal = Some("mdr".into()));
    assert!(said.starts_with("--goal: 'mdr'") && said.contains("ndr (no loss)"), "{said}");
    let said = refused(|sweep| sweep.goal = Some("100%".into()));
    assert!(said.contains("would accept the loss of every frame"), "{said}");
    let said = refused(|sweep| sweep.receive = None);
    assert!(said.starts_with("--receive needs a port"), "{said}");
    let said = refused(|sweep| sweep.trials = Some("0".into()));
    assert!(said.starts_with("--trials: '0' is zero") && said.contains("1 to 100"), "{said}");
    let said = refused(|sweep| sweep.max_rate = Some("max".into()));
    assert!(said.starts_with("--max-rate: 'max' cannot be the highest load"), "{said}");
    let said = refused(|sweep| sweep.first_trial_time = Some("2".into()));
    assert!(said.contains("--first-trial-time contradicts --trial-time"), "{said}");
    let said = refused(|sweep| sweep.exceed = Some("1".into()));
    assert!(said.contains("--exceed"), "{said}");
}

#[test]
fn the_canonical_text_reads_back_as_the_same_plan() {
    let edits: [fn(&mut SweepFile); 7] = [
        |sweep| sweep.resets = Some("hardware, power-cycle".into()),
        |sweep| {
            (sweep.recovery, sweep.overload_time) = (Some("3".into()), Some("2s".into()));
            (sweep.bidirectional, sweep.reverse_mac) = (Some(true), Some("02:00:00:00:00:07".into()));
        },
        |sweep| {
            (sweep.resets, sweep.reset_time) = (Some("2".into()), Some("20s".into()));
            sweep.reset_command = Some("echo 'a \"b\"'".into());
        },
        |_| {},
        |sweep| (sweep.goal, sweep.trials) = (Some("ndr,0.123%".into()), Some("5".into())),
        |sweep| (sweep.max_rate, sweep.min_rate) = (Some("10gbit".into()), Some("1/7s".into())),
        |sweep| {
            (sweep.rfc2544, sweep.width, sweep.cpus) = (Some(true), Some("2%".into()), Some("0,1".into()))
        },
    ];
    for edit in edits {
        let (plan, packet) = file(edit).resolve().unwrap();
        let text = packet.to_toml();
        let (again, packet_again) = SweepPlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap();
        assert_eq!((again, packet_again.hash()), (plan, packet.hash()), "{text}");
    }
}

#[test]
fn a_reset_command_asks_for_one_reset_and_rfc_2544_for_recovery() {
    let plan = file(|sweep| sweep.reset_command = Some("reboot".into())).resolve().unwrap().0;
    let resets = plan.resets.unwrap();
    assert_eq!((resets.count, resets.patience, plan.recovery), (1, Picos::from_secs(300), 0));
    let plan = file(|sweep| sweep.rfc2544 = Some(true)).resolve().unwrap().0;
    // 26.5: at least 60 s, a number of times. Nobody is asked to reset anything.
    assert_eq!((plan.recovery, plan.overload, plan.resets), (10, Picos::from_secs(60), None));
}

#[test]
fn what_belongs_to_a_test_that_is_not_made_is_refused() {
    let said = refused(|sweep| sweep.reset_time = Some("9s".into()));
    assert!(said.contains("--reset-time contradicts --resets"), "{said}");
    let said =
        refused(|sweep| (sweep.resets, sweep.reset_command) = (Some("0".into()), Some("reboot".into())));
    assert!(said.contains("--reset-command contradicts --resets"), "{said}");
    let said = refused(|sweep| sweep.resets = Some("power,,software".into()));
    assert!(said.starts_with("--resets: 'power,,software' is neither a number nor a list"), "{said}");
    let said = refused(|sweep| sweep.resets = Some("101".into()));
    assert!(said.starts_with("--resets: '101'"), "{said}");
    let said = refused(|sweep| sweep.reset_command = Some(" ".into()));
    assert!(said.starts_with("--reset-command: '' is empty"), "{said}");
    let said = refused(|sweep| sweep.reverse_mac = Some("02:00:00:00:00:07".into()));
    assert!(said.contains("--reverse-mac contradicts --bidirectional"), "{said}");
    let said = refused(|sweep| {
        (sweep.bidirectional, sweep.reverse_mac) = (Some(true), Some("02:00".into()));
    });
    assert!(said.starts_with("--reverse-mac: '02:00' is not a MAC address"), "{said}");
    let said = refused(|sweep| (sweep.bidirectional, sweep.resets) = (Some(true), Some("1".into())));
    assert!(said.contains("--bidirectional contradicts --resets"), "{said}");
}
