use super::*;

const fn ms(millis: u64) -> Picos {
    Picos::from_millis(millis)
}

#[test]
fn a_slow_way_is_waited_for_longer_and_a_time_that_was_asked_for_is_kept() {
    let by_itself = Patience { drain: None, is_signed: true };
    assert!(!by_itself.is_over(ms(1_900), ms(1_900), ms(400)), "a device may hold frames for a second");
    assert!(by_itself.is_over(ms(2_000), ms(2_000), ms(400)));
    assert!(!by_itself.is_over(ms(2_000), ms(2_000), ms(1_000)), "three times a second");
    assert!(!by_itself.is_over(ms(5_000), ms(10), ms(400)), "frames still come");
    assert!(by_itself.is_over(ms(60_000), ms(10), ms(400)), "but not for ever");
    let asked = Patience { drain: Some(ms(50)), is_signed: true };
    assert!(!asked.is_over(ms(49), ms(49), ms(1)) && asked.is_over(ms(50), ms(0), ms(400)));
    // Where all have come, copies may follow.
    let is_enough = |quiet, longest| by_itself.is_enough(ms(quiet), ms(100), ms(longest));
    assert!(!is_enough(19, 1) && is_enough(20, 1) && !is_enough(59, 30) && is_enough(60, 30));
    assert!(is_enough(2_000, 5_000) && !asked.is_enough(ms(2_000), ms(2_000), ms(1)));
    assert!(!by_itself.is_enough(ms(5), ms(1_999), ms(30)), "copies still come");
    assert!(by_itself.is_enough(ms(5), ms(2_000), ms(30)), "but may do so for ever");
}

#[test]
fn the_trail_knows_what_had_left_by_when_in_a_fixed_room() {
    let mut trail = Trail::default();
    // A frame each 100 µs, for 100 s: far more steps than marks.
    for number in 0..1_000_000u64 {
        trail.note(number * 100_000, number);
    }
    assert!(trail.marks.len() <= MARKS);
    for at in [1_000_000_000u64, 50_000_000_000, 99_000_000_000] {
        let (first, exact) = (trail.first_since(at), at / 100_000);
        let step = 2 * trail.step_ns / 100_000;
        assert!(first <= exact && exact - first <= step, "{first} {exact} {step}");
    }
    assert_eq!(trail.first_since(0), 0);
}
