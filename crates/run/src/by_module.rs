//! What a run by the FPGA module (`--via fpga:sim`) leaves in its result.

use http::Module;
use std::collections::BTreeMap;
use store::RunResult;
use store::schema::{Tcp, Via};

/// Bytes of the module's longest IP packet.
const MTU: u64 = 1_500;

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
    if let Some(wrong) = counted("frames_wrong", "frame") {
        notes.push(format!(
            "{wrong} of the module had wrong lengths or checksums, which is a bug in the module"
        ));
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
            figures: "opened 0".parse().expect("figures"),
        }
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
