//! Forecasts on numbers by hand.

use crate::*;
use profile::{Capability, Machine, Point, Refused};

fn point(offered_per_s: f64, user_ns: f64, system_ns: f64, lateness_p99_ns: u64) -> Point {
    Point {
        offered_per_s,
        achieved_per_s: offered_per_s,
        user_ns,
        system_ns,
        softirq_ns: Some(500.0),
        lateness_p50_ns: lateness_p99_ns / 2,
        lateness_p99_ns,
        is_valid: true,
    }
}

fn capability(key: &str, peak_per_s: f64, points: Vec<Point>) -> Capability {
    Capability {
        key: key.into(),
        against: "embedded target".into(),
        threads: 1,
        peak_per_s,
        saturated_per_s: Some(peak_per_s * 1.1),
        memory_bytes: Some(8 << 20),
        memory_per_connection_bytes: Some(4_096.0),
        points,
        ..Capability::default()
    }
}

fn profile() -> Profile {
    let mut profile = Profile::new(Machine::default(), "0.1.0");
    profile.put(capability(
        "http.keep_alive",
        100_000.0,
        vec![point(20_000.0, 2_000.0, 7_500.0, 4_000), point(80_000.0, 1_000.0, 6_500.0, 20_000)],
    ));
    profile.put(capability("http.new_connection", 25_000.0, vec![point(20_000.0, 4_000.0, 30_000.0, 9_000)]));
    profile.put(capability("send.packet.64", 1_000_000.0, vec![point(500_000.0, 100.0, 800.0, 300)]));
    profile.put(capability("send.packet.1518", 500_000.0, vec![point(250_000.0, 100.0, 1_800.0, 700)]));
    profile
}

fn supply() -> Supply {
    Supply {
        usable: vec![0, 1],
        strange_ips: Vec::new(),
        memory_bytes: Some(1 << 30),
        descriptors: Some(20_000),
        ports: Some(28_232),
        time_wait_buckets: Some(1_000_000),
        accept_queue: Some(4_096),
        ..Supply::default()
    }
}

/// Without the last digits, which binary fractions of rates leave.
fn near(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn http(load: &str) -> Demand {
    Demand::of_file(&format!("url = \"http://127.0.0.1/\"\n{load}\n"), "plan").unwrap()
}

fn forecast(demand: &Demand) -> Forecast {
    Forecast::of(demand, Ok(&profile()), &supply())
}

#[test]
fn below_and_beyond_the_grey_zone_a_word_is_forecast() {
    let word = |rate: &str| forecast(&http(&format!("load.rate = \"{rate}\""))).outlook;
    assert_eq!(word("79k"), Outlook::Valid);
    assert_eq!(word("80k"), Outlook::Grey);
    assert_eq!(word("120k"), Outlook::Grey);
    assert_eq!(word("121k"), Outlook::Invalid);
}

#[test]
fn cpu_and_lateness_lie_on_lines_between_what_was_weighed() {
    let found = forecast(&http("load.rate = \"50k\""));
    // Half way between 20 000 and 80 000: user 1.5 µs, system 7 µs, softirq 0.5 µs: 9 µs · 50 000/s = 0.45
    // CPUs.
    let cpu = found.figure("cpu").unwrap();
    assert!((cpu.needs.unwrap() - 0.45).abs() < 1e-9, "{cpu:?}");
    assert_eq!(found.figure("lateness").unwrap().needs, Some(12_000.0));
    assert_eq!((found.share.map(near), found.peak_per_s.map(near)), (Some(0.5), Some(100_000.0)));
    // Beyond the highest rate that was weighed nothing is known of it.
    assert_eq!(forecast(&http("load.rate = \"95k\"")).figure("lateness").unwrap().outlook, Outlook::Unknown);
}

#[test]
fn times_add_up_and_rates_do_not() {
    // A connection for each four requests: 3/4 · 10 µs + 1/4 · 40 µs = 17.5 µs: 57 142.9/s.
    let found = forecast(&http("load.rate = \"10k\"\nconnection.requests_per_connection = 4"));
    assert!((found.peak_per_s.unwrap() - 1e9 / 17_500.0).abs() < 0.01, "{found:?}");
    assert_eq!(found.key, "http.keep_alive");
}

#[test]
fn sizes_between_those_weighed_take_a_time_between() {
    let peak = |size: &str| {
        let text = format!("[send]\nport = \"packet:veth0\"\nrate = 1000\n[frames]\nsize = {size}\n");
        near(forecast(&Demand::of_file(&text, "plan").unwrap()).peak_per_s.unwrap())
    };
    assert_eq!(peak("64"), 1e6);
    assert_eq!(peak("1518"), 5e5);
    // 64 + 1454/2 = 791: 1.5 µs.
    assert!((peak("791") - 1e9 / 1_500.0).abs() < 1e-3);
    // Beyond on the same line: 1518 + 1454 = 2972: 3 µs.
    assert!((peak("2972") - 1e9 / 3_000.0).abs() < 1e-3);
}

#[test]
fn more_threads_carry_more_as_far_as_there_are_cpus() {
    let peak = |threads: u32| {
        forecast(&http(&format!("load.rate = \"1k\"\nengine.threads = {threads}"))).peak_per_s.map(near)
    };
    assert_eq!((peak(1), peak(2), peak(4)), (Some(1e5), Some(2e5), Some(2e5)));
    let four = forecast(&http("load.rate = \"1k\"\nengine.threads = 4"));
    assert_eq!((four.figure("threads").unwrap().outlook, four.outlook), (Outlook::Grey, Outlook::Grey));
}

#[test]
fn a_source_address_that_is_not_this_machines_is_invalid() {
    let asked = |ip: &str| {
        let demand = http(&format!("load.rate = \"1k\"\nconnection.source_ips = [\"{ip}\"]"));
        let supply = supply().for_demand(&demand);
        Forecast::of(&demand, Ok(&profile()), &supply)
    };
    let figure = |forecast: &Forecast| forecast.figure("source IPs").map(|figure| figure.outlook);
    assert_eq!(figure(&asked("127.0.0.1")), None);
    assert_eq!(figure(&asked("198.18.255.254")), Some(Outlook::Invalid));
}

#[test]
fn a_cpu_that_may_not_be_used_is_invalid() {
    let named =
        |cpus: &str| forecast(&http(&format!("load.rate = \"1k\"\nengine.cpus = \"{cpus}\""))).outlook;
    assert_eq!(named("0-1"), Outlook::Valid);
    assert_eq!(named("1,7"), Outlook::Invalid);
}

#[test]
fn without_a_profile_no_rate_is_forecast_but_limits_are() {
    let demand = http("load.rate = \"10k\"\nload.parallel = 30000");
    let found = Forecast::of(&demand, Err(&Refused::None), &supply());
    assert_eq!(found.figures[0].outlook, Outlook::Unknown);
    assert!(found.figures[0].says.contains("was not weighed yet; run `tare weigh`"), "{found}");
    // 30 000 connections + 32 + 16 of 20 000 descriptors.
    let descriptors = found.figure("descriptors").unwrap();
    assert_eq!((descriptors.needs, descriptors.outlook), (Some(30_048.0), Outlook::Invalid));
    assert_eq!(found.outlook, Outlook::Invalid);
    let few = Forecast::of(&http("load.rate = \"10k\"\nload.parallel = 64"), Err(&Refused::None), &supply());
    assert_eq!((few.outlook, few.peak_per_s), (Outlook::Unknown, None));
}

#[test]
fn what_was_not_weighed_is_named() {
    let text = "url = \"https://127.0.0.1/\"\nload.rate = \"1k\"\n";
    let found = forecast(&Demand::of_file(text, "plan").unwrap());
    assert_eq!(found.outlook, Outlook::Unknown);
    assert!(found.says.contains("http.tls was not weighed yet; run `tare weigh http`"), "{found}");
    let passive = forecast(&Demand::of_file("[capture]\nport = \"packet:veth0\"\n", "plan").unwrap());
    assert!(passive.says.contains("tare capture is not weighed"), "{passive}");
}

#[test]
fn ports_wait_for_a_minute_unless_they_may_be_taken_again() {
    let plan = |host: &str| {
        let text = format!(
            "url = \"http://{host}/\"\nload.rate = \"1k\"\nconnection.keep_alive = false\nstop.duration = \"90s\"\n"
        );
        Demand::of_file(&text, "plan").unwrap()
    };
    let needs = |host: &str, reuse| {
        let found = Forecast::of(&plan(host), Ok(&profile()), &Supply { reuse, ..supply() });
        let ports = found.figure("ports").unwrap();
        (near(ports.needs.unwrap()), ports.outlook)
    };
    // 1 000/s · 60 s; on loopback 1 000/s · 1 s.
    assert_eq!(needs("198.18.0.1", TimeWaitReuse::Loopback), (60_000.0, Outlook::Grey));
    assert_eq!(needs("127.0.0.1", TimeWaitReuse::Loopback), (1_000.0, Outlook::Valid));
    assert_eq!(needs("198.18.0.1", TimeWaitReuse::Always), (1_000.0, Outlook::Valid));
    assert_eq!(needs("127.0.0.1", TimeWaitReuse::Never), (60_000.0, Outlook::Grey));
    let buckets = Supply { time_wait_buckets: Some(5_000), reuse: TimeWaitReuse::Never, ..supply() };
    let few = Forecast::of(&plan("198.18.0.1"), Ok(&profile()), &buckets);
    assert_eq!(few.figure("ports").unwrap().needs, Some(5_000.0));
}

#[test]
fn a_full_table_of_connections_is_foreseen() {
    let demand = http(
        "load.rate = \"1k\"\nload.parallel = 10\nconnection.keep_alive = false\nstop.duration = \"30s\"",
    );
    let with = |max, count| {
        let conntrack = Some(Conntrack { max, count, time_wait_s: 120, udp_s: 30 });
        let found = Forecast::of(&demand, Ok(&profile()), &Supply { conntrack, ..supply() });
        let figure = found.figure("conntrack").unwrap().clone();
        (near(figure.needs.unwrap()), figure.outlook)
    };
    // 10 open and 1 000/s · 30 s.
    assert_eq!(with(65_536, 100), (30_010.0, Outlook::Valid));
    assert_eq!(with(20_000, 100), (30_010.0, Outlook::Invalid));
    assert_eq!(with(20_000, 0), (30_010.0, Outlook::Grey));
}

#[test]
fn a_closed_loop_is_not_forecast() {
    let found = forecast(&http("load.parallel = 16"));
    assert_eq!((found.outlook, found.asked_per_s), (Outlook::Grey, None));
    assert!(found.says.contains("at most 110 000/s"), "{found}");
}

#[test]
fn bursts_meet_the_shortest_queue() {
    let text = "[send]\nport = \"packet:veth0\"\nrate = 1000\nburst = 512\n[frames]\nsize = 64\n";
    let demand = Demand::of_file(text, "plan").unwrap();
    let with = |ring| {
        let found = Forecast::of(&demand, Ok(&profile()), &Supply { ring, ..supply() });
        found.figure("queue").map(|figure| figure.outlook)
    };
    assert_eq!(
        (with(Some(256)), with(Some(1_024)), with(None)),
        (Some(Outlook::Grey), Some(Outlook::Valid), None)
    );
    let found = Forecast::of(&demand, Ok(&profile()), &Supply { ring: Some(256), ..supply() });
    // 256 slots at 1 000/s.
    assert!(found.figure("ring").unwrap().says.contains("256 ms"), "{found}");
}

#[test]
fn what_was_loaded_may_have_been_the_limit() {
    let mut profile = profile();
    let mut bound = profile.capability("http.keep_alive").unwrap().clone();
    bound.is_lower_bound = true;
    profile.put(bound);
    let found = Forecast::of(&http("load.rate = \"150k\""), Ok(&profile), &supply());
    assert_eq!(found.outlook, Outlook::Grey, "{found}");
}

#[test]
fn a_weighing_of_the_same_host_is_preferred() {
    let mut profile = profile();
    let own = Capability {
        against: "http://127.0.0.1:8080/".into(),
        ..capability("http.keep_alive", 50_000.0, vec![point(10_000.0, 1.0, 1.0, 1)])
    };
    profile.put(own);
    let found = Forecast::of(&http("load.rate = 5"), Ok(&profile), &supply());
    assert_eq!(found.peak_per_s.map(near), Some(50_000.0));
}

proptest::proptest! {
    #[test]
    fn more_is_never_forecast_better(a in 1.0..300_000.0f64, b in 1.0..300_000.0f64) {
        let (low, high) = (a.min(b), a.max(b));
        let share = |rate: f64| Outlook::of_share(rate / 100_000.0);
        proptest::prop_assert!(share(low) <= share(high));
    }

    #[test]
    fn what_is_between_two_points_is_between_their_values(rate in 0.0..200_000.0f64) {
        let points = [point(20_000.0, 2_000.0, 7_500.0, 4_000), point(80_000.0, 1_000.0, 6_500.0, 20_000)];
        let found = curve::between(&points, rate).unwrap();
        proptest::prop_assert!((1_000.0..=2_000.0).contains(&found.user_ns));
        proptest::prop_assert!((4_000..=20_000).contains(&found.lateness_p99_ns));
    }
}

/// A command that would end at once: whatever the CPUs could do, it is no plan for this machine.
#[test]
fn what_would_not_start_makes_any_forecast_invalid() {
    let demand = Demand::of_file("[send]\nport = \"mem:a\"\nrate = \"1k\"\nframes = 10\n", "plan").unwrap();
    let with = |refused: Option<&str>| {
        let supply = Supply { refused: refused.map(str::to_owned), ..Supply::default() };
        Forecast::of(&demand, Err(&Refused::None), &supply)
    };
    let refused = with(Some("there is no interface 'veth9'"));
    assert_eq!(refused.outlook, Outlook::Invalid);
    assert_eq!(refused.says, "start: there is no interface 'veth9'");
    assert_eq!(refused.figure("start").map(|figure| figure.outlook), Some(Outlook::Invalid));
    assert!(with(None).figure("start").is_none());
}
