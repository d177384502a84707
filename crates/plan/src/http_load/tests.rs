use super::*;
use crate::{HttpVersion, LineOrder, Load, Plan, RequestSource, Shape};
use units::{Bytes, Fraction, Picos};

fn planned(line: &str) -> Plan {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match parse(&words).unwrap() {
        HttpLoadCommand::Load(args) => plan_file(&args, 1).unwrap().resolve().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn parallel_is_a_closed_loop_of_new_connections() {
    let plan = planned("-parallel 5 -fetches 1000 urls.txt");
    assert_eq!(plan.load, Load::Closed { connections: 5 });
    assert_eq!(plan.stop.requests.map(|count| count.get()), Some(1_000));
    assert_eq!(plan.stop.duration, None);
    assert!(plan.stop.grace >= Picos::from_secs(86_400), "the last fetch may take as long as it likes");
    assert!(!plan.connection.keep_alive && !plan.tls.resumption && plan.tls.insecure);
    assert_eq!(plan.request.version, HttpVersion::Http10);
    assert!(plan.request.idle_timeout && !plan.request.templates && !plan.request.same_checksum);
    assert_eq!(plan.request.timeout, Picos::from_secs(60));
    assert!(matches!(plan.source, RequestSource::File { order: LineOrder::Random, .. }));
}

#[test]
fn rate_is_an_open_loop_at_exactly_that_rate() {
    let plan = planned("-rate 600 -jitter -seconds 10 -checksum -timeout 7 -throttle -proxy cache urls.txt");
    let Load::Open { arrivals, connections: None } = &plan.load else { panic!("{:?}", plan.load) };
    assert_eq!(arrivals.shape, Shape::Constant("600".parse().unwrap()));
    assert_eq!(arrivals.jitter, "10%".parse::<Fraction>().unwrap());
    assert_eq!((plan.stop.duration, plan.stop.grace), (Some(Picos::from_secs(10)), Picos::ZERO));
    assert!(plan.connection.max_open >= 1_000_000);
    assert!(plan.request.same_checksum);
    assert_eq!(plan.request.timeout, Picos::from_secs(7));
    assert_eq!(plan.connection.throttle.map(Bytes::get), Some(3_360));
    assert_eq!(plan.connection.proxy, Some(("cache".to_owned(), 80)));
}

#[test]
fn advice_speaks_of_the_options_that_http_load_has() {
    assert_eq!(own_words("lower --parallel"), "lower -parallel");
    assert_eq!(own_words("add --threads, or lower --rate"), "add -threads, or lower -rate");
}
