use super::*;

const MAC: Mac = Mac([2, 0, 0, 0, 0, 2]);

fn address(number: u32) -> IpAddr {
    std::net::Ipv4Addr::from(0xc612_0000 + number).into()
}

#[test]
fn who_floods_with_requests_does_not_fill_the_table() {
    let (mut neighbours, mut counters) = (Neighbours::new(), Counters::default());
    let now = Instant::EPOCH + Picos::from_secs(1);
    for number in 0..5_000 {
        neighbours.heard(address(number), MAC, false, now, &mut counters);
    }
    assert_eq!(counters.crowded, 5_000 - MOST_UNASKED as u64);
    // There is room for who is wanted.
    for number in 10_000..10_000 + (MOST - MOST_UNASKED) as u32 {
        assert_eq!(neighbours.route(address(number), now, &mut |_, _| {}), Route::Asking);
    }
    let more = neighbours.route(address(99_999), now, &mut |_, _| {});
    assert_eq!(more, Route::Unreachable(Unreachable::Crowded));
    // Who only asked is forgotten, who is wanted is asked for again.
    neighbours.tick(now + FRESH, &mut |_, _| {}, &mut counters);
    assert_eq!(neighbours.entries.len(), MOST - MOST_UNASKED);
}

#[test]
fn a_neighbour_that_asked_first_is_asked_again_once_it_is_wanted() {
    let (mut neighbours, mut counters) = (Neighbours::new(), Counters::default());
    let now = Instant::EPOCH + Picos::from_secs(1);
    neighbours.heard(address(1), MAC, false, now, &mut counters);
    let mut asked = Vec::new();
    let mut ask = |address, at| asked.push((address, at));
    assert_eq!(neighbours.route(address(1), now, &mut ask), Route::Ready(MAC));
    neighbours.tick(now + FRESH, &mut ask, &mut counters);
    assert_eq!(asked, [(address(1), Some(MAC))]);
}

#[test]
fn who_does_not_answer_is_told_from_who_stopped() {
    let (mut neighbours, mut counters) = (Neighbours::new(), Counters::default());
    let mut now = Instant::EPOCH + Picos::from_secs(1);
    let mut no_ask = |_, _| {};
    for number in [1, 2] {
        neighbours.route(address(number), now, &mut no_ask);
    }
    let silent = |neighbours: &Neighbours| -> Vec<(IpAddr, bool)> {
        neighbours.silent().iter().map(|one| (one.at, one.was_there)).collect()
    };
    assert_eq!(silent(&neighbours), [(address(1), false), (address(2), false)]);
    neighbours.heard(address(1), MAC, true, now, &mut counters);
    // Who only asked us is no business of ours.
    neighbours.heard(address(3), MAC, false, now, &mut counters);
    assert_eq!(silent(&neighbours), [(address(2), false)]);
    for _ in 0..40 {
        now = now + APART;
        neighbours.tick(now, &mut no_ask, &mut counters);
        neighbours.route(address(2), now, &mut no_ask);
    }
    assert_eq!(silent(&neighbours), [(address(1), true), (address(2), false)]);
}
