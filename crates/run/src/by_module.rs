//! What a run by the FPGA module (`--via fpga:sim`) leaves in its result.

use http::Module;
use std::collections::BTreeMap;
use store::RunResult;
use store::schema::{SinkStatus, Tcp, Via};

/// Bytes of the module's longest IP packet.
const MTU: u64 = 1_500;
/// Redis's port, which URLs need not name.
const REDIS: u16 = 6_379;
/// Why an event is not in Redis: the key in the result, the simulation's figure, and words.
const LOSSES: [(&str, &str, &str); 3] = [
    ("no_room", "redis_dropped", "had no room in the module"),
    (
        "refused",
        "redis_refused",
        "were refused by Redis (see its maxmemory, protected-mode, password and the user's rights)",
    ),
    ("no_reply", "redis_unconfirmed", "had no reply at the end"),
];

/// Adds all of it.
pub fn tell(module: &Module, result: &mut RunResult) {
    result.generator.clock = "the simulated module's, in ticks of 8 ns".to_owned();
    result.notes.extend(notes(module));
    result.via = Some(Via {
        port: module.port.clone(),
        addresses: vec![module.own.to_string()],
        mac: module.mac.clone(),
        mac_reason: module.why_mac.to_owned(),
        mtu: MTU,
        ..Via::default()
    });
    result.tcp = Some(tcp(module));
}

fn tcp(module: &Module) -> Tcp {
    let count = |name: &str| module.figures.of(name);
    let some = |names: &[(&str, &str)]| -> BTreeMap<String, u64> {
        let all = names.iter().map(|(key, name)| ((*key).to_owned(), count(name)));
        all.filter(|(_, count)| *count > 0).collect()
    };
    Tcp {
        connected: count("opened"),
        retransmitted: count("retransmitted"),
        stray: count("stray"),
        segments_out: count("frames_out"),
        station: some(&[("arp", "arp"), ("echo", "echo"), ("foreign", "foreign")]),
        bad_frames: some(&[("bad", "bad")]),
        lost_frames: some(&[("rx.ring", "full")]),
        ..Tcp::default()
    }
}

/// What the module itself wrote to Redis, of so many departures and those of them that did not end. `None`: it
/// was to write nothing.
pub fn written(module: &Module, run: &str, offered: u64, cut_off: u64) -> Option<SinkStatus> {
    let (server, database) = module.redis?;
    let count = |name: &str| module.figures.of(name);
    let mut lost = LOSSES.map(|(key, name, what)| (key, count(name), what)).to_vec();
    lost.push(match module.figures.is_empty() {
        true => ("unknown", offered, "may be there or not, as the simulation ended without saying"),
        false => ("not_ended", cut_off, "had not ended when the run did"),
    });
    let port = if server.port() == REDIS { String::new() } else { format!(":{}", server.port()) };
    let database = if database == 0 { String::new() } else { format!("{database}/") };
    let said = lost.iter().filter(|(_, count, _)| *count > 0);
    let mut why: Vec<String> =
        said.map(|(_, count, what)| format!("{} {what}", report::count(*count))).collect();
    let is_short = LOSSES.iter().any(|(_, name, _)| count(name) > 0);
    if is_short || count("redis_ended") > 0 {
        why.push(connections(module));
    }
    Some(SinkStatus {
        url: format!("redis://{}{port}/{database}{run}", server.ip()),
        events: count("redis_stored"),
        events_lost: lost.iter().map(|(_, count, _)| count).sum(),
        events_lost_by: lost
            .into_iter()
            .filter(|one| one.1 > 0)
            .map(|one| (one.0.to_owned(), one.1))
            .collect(),
        trouble: why.join(", "),
        ..SinkStatus::default()
    })
}

/// How the module's connections to Redis fared, which says what to do.
fn connections(module: &Module) -> String {
    let count = |name: &str| module.figures.of(name);
    let (opened, ended) = (count("redis_opened"), count("redis_ended"));
    if opened == 0 && count("redis_found") == 0 {
        return "and no host replied to ARP for the Redis's address".to_owned();
    }
    if opened == 0 {
        return "and no connection was made: check that Redis listens there, not on 127.0.0.1 alone"
            .to_owned();
    }
    let causes = [
        ("redis_late", "without a reply in time"),
        ("redis_busy", "by LOADING or BUSY"),
        ("redis_wrong", "by what is no reply"),
        ("redis_denied", "by AUTH or SELECT: see redis_password=, redis_user= and redis_database="),
    ];
    let causes = causes.iter().filter(|(name, _)| count(name) > 0);
    let causes: Vec<String> = causes.map(|(name, how)| format!("{} {how}", count(name))).collect();
    let how = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
    format!("{} made, {ended} ended{how}", report::counted(opened, "connection"))
}

fn notes(module: &Module) -> Vec<String> {
    let mut notes = Vec::new();
    let counted = |name: &str, what: &str| {
        let count = module.figures.of(name);
        (count > 0).then(|| report::counted(count, what))
    };
    notes.push("the sessions of the simulated FPGA module made the load".to_owned());
    if let Some(count) = module.listed {
        notes.push(format!(
            "the module was given a list of {}: it computes even rates, ramps, steps and stages alone",
            report::counted(count, "due time")
        ));
    }
    if let Some(gap) = module.open_gap {
        notes.push(match module.each {
            true => format!("connections were opened at least {gap:#} apart (--ramp-connections)"),
            false => {
                format!("connections were opened {gap:#} apart, before the load, and are not part of it")
            }
        });
    }
    if module.is_apart {
        notes.push(
            "TCP's clock in the module ran 125 times as fast as simulated time, to match a server on this \
             host: in simulated time, timeouts came after 1/125 of the plan's values"
                .to_owned(),
        );
    }
    if !module.figures.is_empty() && module.figures.of("opened") == 0 {
        let mend = match module.is_apart {
            true => "check that a server listens there",
            false => "the run ended before the responder's delay= had passed, or --timeout is shorter",
        };
        notes.push(format!("no connection to {} was made: {mend}", module.target));
    }
    let wrong = module.figures.of("frames_wrong") + module.figures.of("redis_frames_wrong");
    if wrong > 0 {
        let wrong = report::counted(wrong, "frame");
        notes.push(format!(
            "{wrong} of the module had wrong lengths or checksums, which is a bug in the module"
        ));
    }
    if module.redis.is_some() {
        notes.push(
            "Redis ran in real time, in which a simulated second takes minutes: with a board, more may be lost"
                .to_owned(),
        );
    }
    if let Some(delayed) = counted("delayed", "departure") {
        notes.push(format!("{delayed} waited for another segment"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(is_apart: bool) -> Module {
        Module {
            port: "fpga:sim".to_owned(),
            own: "198.18.0.2".parse().expect("an address"),
            mac: "02:74:c6:12:00:02".to_owned(),
            why_mac: "as given",
            target: "198.18.0.1:80".parse().expect("a target"),
            is_apart,
            each: false,
            open_gap: Some(units::Picos::from_micros(8)),
            listed: None,
            redis: None,
            figures: "opened 0".parse().expect("figures"),
        }
    }

    #[test]
    fn what_redis_lacks_is_told_by_cause() {
        let of = |figures: &str| {
            let redis = Some(("198.18.1.1:7000".parse().expect("an address"), 2));
            let figures = figures.parse().expect("figures");
            written(&Module { redis, figures, ..module(false) }, "night", 50, 4).expect("it was to write")
        };
        let all = of("redis_stored 40 redis_dropped 3 redis_refused 0 redis_unconfirmed 2 redis_opened 2 \
                      redis_ended 1 redis_late 1");
        assert_eq!(
            (all.url.as_str(), all.events, all.events_lost),
            ("redis://198.18.1.1:7000/2/night", 40, 9)
        );
        let by: Vec<_> = all.events_lost_by.iter().map(|(key, count)| (key.as_str(), *count)).collect();
        assert_eq!(by, [("no_reply", 2), ("no_room", 3), ("not_ended", 4)]);
        assert_eq!(
            all.trouble,
            "3 had no room in the module, 2 had no reply at the end, 4 had not ended when the run did, 2 \
             connections made, 1 ended (1 without a reply in time)"
        );
        assert_eq!(of("redis_stored 40 redis_opened 1").trouble, "4 had not ended when the run did");
        assert!(
            of("redis_unconfirmed 7 redis_opened 0 redis_found 3")
                .trouble
                .contains("check that Redis listens")
        );
        assert!(of("redis_unconfirmed 7 redis_found 0").trouble.contains("no host replied to ARP"));
        let died = Module { redis: Some(("198.18.1.1:6379".parse().expect("one"), 0)), ..module(false) };
        let died = written(&Module { figures: Default::default(), ..died }, "night", 50, 4)
            .expect("it was to write");
        assert!(died.trouble.contains("without saying") && died.url == "redis://198.18.1.1/night");
        assert_eq!((died.events, died.events_lost), (0, 50));
        assert_eq!(written(&module(true), "night", 50, 4), None);
    }

    #[test]
    fn whose_time_it_was_and_that_nobody_listened_is_told() {
        let mut result = RunResult::default();
        tell(&module(true), &mut result);
        let notes = result.notes.join("\n");
        assert!(
            notes.contains("125 times as fast") && notes.contains("no connection to 198.18.0.1:80"),
            "{notes}"
        );
        assert!(result.generator.clock.contains("ticks of 8 ns"));
        assert_eq!(result.via.expect("it was told").addresses, ["198.18.0.2"]);
        let own = self::notes(&module(false)).join("\n");
        assert!(!own.contains("125 times") && own.contains("delay=") && !own.contains("listens"), "{own}");
    }
}
