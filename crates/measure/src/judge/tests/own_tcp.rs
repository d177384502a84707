//! A TCP of our own (`--via`).

use super::*;

/// What nothing else is judged by.
pub(super) const IDS: [Id; 2] = [Id::TcpRetransmitted, Id::TcpUnsent];

/// Of 10 000 requests; only one of its criteria fails.
fn fails(id: Id, word: Word, advice: &str, spoil: impl Fn(&mut EngineCounters)) {
    let (mut totals, health, mut conditions) = good();
    conditions.own_tcp = true;
    totals.counters.frames_out = 40_000;
    let before = judge(&totals, &health, &conditions);
    assert_eq!(before.word(), Word::Valid, "{:?}", before.failing());
    spoil(&mut totals.counters);
    let verdict = judge(&totals, &health, &conditions);
    let failing = verdict.failing();
    assert_eq!(failing.iter().map(|criterion| criterion.id).collect::<Vec<_>>(), [id]);
    assert_eq!(verdict.word(), word);
    assert!(failing[0].advice.contains(advice), "{}", failing[0].advice);
}

#[test]
fn retransmissions_of_more_than_one_request_in_a_thousand_degrade() {
    // 11 of 10 000 are 0.0011.
    fails(Id::TcpRetransmitted, Word::Degraded, "11 segments", |counters| counters.retransmitted = 11);
    let (mut totals, health, mut conditions) = good();
    conditions.own_tcp = true;
    totals.counters.retransmitted = 10;
    assert_eq!(judge(&totals, &health, &conditions).word(), Word::Valid);
}

/// 10 000 requests in 10 s over one connection: each segment that is sent again delays 200 of them.
#[test]
fn requests_that_wait_behind_a_retransmission_count() {
    let (mut totals, health, mut conditions) = good();
    (conditions.own_tcp, conditions.load) = (true, Loop::Open { gap: Some(Picos::from_millis(1)) });
    (totals.counters.retransmitted, totals.measured) = (1, Picos::from_secs(10));
    let word = |conditions: &Conditions| judge(&totals, &health, conditions).word();
    conditions.parallel = Some(1_000);
    assert_eq!(word(&conditions), Word::Valid);
    conditions.parallel = Some(1);
    assert_eq!(word(&conditions), Word::Degraded);
    conditions.load = Loop::Closed;
    assert_eq!(word(&conditions), Word::Valid);
}

#[test]
fn frames_that_never_left_degrade_and_many_invalidate() {
    fails(Id::TcpUnsent, Word::Degraded, "1 of 40000 frames", |counters| counters.frames_unsent = 1);
    // 401 of 40 000 are more than 1 %.
    fails(Id::TcpUnsent, Word::Invalid, "slots=", |counters| counters.frames_unsent = 401);
}

#[test]
fn frames_that_the_port_lost_count_as_dropped() {
    fails(Id::Dropped, Word::Degraded, "slots=", |counters| counters.frames_lost = 11);
}

#[test]
fn what_belongs_to_the_kernels_sockets_is_judged_of_those_alone() {
    let (mut totals, mut health, mut conditions) = good();
    let ids = |totals: &RunTotals, health: &HealthSummary, conditions: &Conditions| {
        let all = judge(totals, health, conditions);
        all.criteria().iter().map(|criterion| criterion.id).collect::<Vec<_>>()
    };
    let kernel = ids(&totals, &health, &conditions);
    assert!(kernel.contains(&Id::PortsLeft) && !kernel.contains(&Id::TcpRetransmitted));
    (conditions.own_tcp, health.ports_left_least) = (true, None);
    let own = ids(&totals, &health, &conditions);
    assert!(!own.contains(&Id::PortsLeft) && own.contains(&Id::TcpUnsent));
    add(&mut totals, |data| data.missed(Miss::NoPort, 1));
    let verdict = judge(&totals, &health, &conditions);
    let missed = verdict.criteria().iter().find(|criterion| criterion.id == Id::MissedByGenerator);
    assert!(missed.is_some_and(|criterion| criterion.advice.contains("ip= of --via")), "{missed:?}");
}
