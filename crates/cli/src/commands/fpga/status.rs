//! `tare fpga status`: what the module says of itself.

use super::{connect, print_json};
use clap::Args;
use port::PortError;
use port::fpga::Module;
use port::fpga::link::Why;
use port::fpga::status::{Status as Seen, counter, named, wraps_after_s};
use port::fpga::time::TICK_NS;
use report::{ModuleCapability, ModuleClock, ModuleCounter, ModuleStatus};
use run::terminal::print_all;
use run::{Failure, Status};

/// Show the module's version, link, clock and counters
#[derive(Args, Debug)]
pub struct StatusArgs {
    /// fpga:INTERFACE or fpga:sim
    #[arg(value_name = "PORT")]
    port: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &StatusArgs) -> Result<Status, Failure> {
    let module = connect(&args.port)?;
    let seen = status_of(&module).map_err(Failure::wrong)?;
    match args.json {
        true => print_json(&seen.json())?,
        false => print_all(&seen.text())?,
    }
    Ok(Status::Done)
}

fn status_of(module: &Module) -> Result<ModuleStatus, PortError> {
    let (seen, hello) = (Seen::look(module)?, module.hello());
    let counters = seen.counters.iter().map(|(register, value)| {
        let field = counter(register);
        ModuleCounter {
            name: register.name,
            label: named(register),
            error: Why::counted_by(register).and_then(Why::name),
            value: *value,
            unit: field.unit,
            bits: field.width,
            wraps_after_s: wraps_after_s(field),
            about: register.about,
        }
    });
    let has = |(field, value): (&'static port::fpga::register::Field, u64)| ModuleCapability {
        name: field.name,
        about: field.about,
        value,
    };
    Ok(ModuleStatus {
        port: module.name().to_owned(),
        is_simulated: module.is_simulated(),
        version: module.version(),
        build: hello.build,
        layout: hello.layout,
        capabilities: seen.capabilities().map(has).collect(),
        is_up: seen.is_up(),
        is_idle: seen.is_idle(),
        clock: ModuleClock {
            tick_ns: TICK_NS,
            ahead_ns: seen.offset.ahead_ns,
            bound_ns: seen.offset.bound.as_nanos(),
        },
        counters: counters.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::fpga::register::Register;
    use port::fpga::registers::{BYTES, COUNTERS, LATE_TICKS, LATEST, LINK_BAD, SENT};
    use report::long_time;

    #[test]
    fn counters_say_when_they_wrap() {
        // 2^48 / 1 488 095 s = 1.89e8 s; 2^48 / 125e6 s = 2.25e6 s = 26 days; 2^64 / 125e6 s = 1.476e11 s.
        assert_eq!(long_time(wraps_after_s(counter(&SENT))), "6 years");
        assert_eq!(long_time(wraps_after_s(counter(&BYTES))), "26 days");
        // 2^48 ticks in sum = 84 ticks · n² / 2, at 1 488 095 frames a second.
        assert_eq!(long_time(wraps_after_s(counter(&LATE_TICKS))), "1.7 seconds");
        assert_eq!(long_time(wraps_after_s(counter(&LATEST))), "4 676 years");
        // 2^32 / 1 488 095 s = 2 886 s.
        assert_eq!(long_time(wraps_after_s(counter(&LINK_BAD))), "48 minutes");
    }

    #[test]
    fn descriptions_say_what_is_computed() {
        let times = ["seconds", "minutes", "days", "years"];
        let told =
            |register: &&'static Register| times.iter().any(|unit| counter(register).about.contains(unit));
        let counters: Vec<&Register> = COUNTERS.iter().filter(told).collect();
        assert!(counters.len() > 20);
        for register in counters {
            let (field, about) = (counter(register), counter(register).about);
            assert!(about.contains(&long_time(wraps_after_s(field))), "{}: {about}", register.name);
            assert!(about.contains(&format!("{} bits", field.width)), "{}: {about}", register.name);
        }
    }
}
