//! `tare fpga status`: what the module says of itself.

use super::{connect, print_json};
use clap::Args;
use port::fpga::Module;
use port::fpga::link::Why;
use port::fpga::register::{Access, Field, Register};
use port::fpga::registers::{
    ALL, CAPABILITIES, LINK_ERRORS0 as RECEIVED_LENGTH, STATUS, STATUS_IDLE, STATUS_WIRE,
};
use port::fpga::time::{Offset, TICK};
use report::count;
use run::terminal::print_all;
use run::{Failure, Status};
use serde_json::{Value, json};
use std::fmt::Write;

/// Registers from here on count what happens.
const COUNTERS: u32 = 0x100;
/// What a wire of 1 Gb/s has at most in a second.
const FRAMES_PER_S: f64 = 1_488_095.0;
const BYTES_PER_S: f64 = 125e6;
const TICKS_PER_S: f64 = 125e6;
/// Farther from the host's clock than this is a clock that nobody set.
const SET_WITHIN_NS: u64 = 3_600 * 1_000_000_000;

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
    let seen = Seen::look(&module).map_err(Failure::wrong)?;
    match args.json {
        true => print_json(&seen.json(&module))?,
        false => print_all(&seen.text(&module))?,
    }
    Ok(Status::Done)
}

/// What was read.
struct Seen {
    status: u64,
    capabilities: u64,
    offset: Offset,
    counters: Vec<(&'static Register, u64)>,
}

impl Seen {
    fn look(module: &Module) -> Result<Self, port::PortError> {
        let counters: Vec<&Register> = ALL.iter().filter(|register| register.address >= COUNTERS).collect();
        let values = module.read_all(&[&[&STATUS, &CAPABILITIES], &counters[..]].concat())?;
        Ok(Self {
            status: values[0],
            capabilities: values[1],
            offset: module.offset()?,
            counters: counters.into_iter().zip(values.into_iter().skip(2)).collect(),
        })
    }

    fn is_up(&self) -> bool {
        STATUS_WIRE.of(self.status) == 1
    }

    fn is_idle(&self) -> bool {
        STATUS_IDLE.of(self.status) == 1
    }

    fn text(&self, module: &Module) -> String {
        let (hello, (major, minor)) = (module.hello(), module.version());
        let mut text = format!("{}: Tare module {major}.{minor}\n", module.name());
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<13} {value}");
        };
        row("build", &format!("{:08x}", hello.build));
        row("registers", &format!("{:08x}", hello.layout));
        let has = CAPABILITIES.fields.iter().map(|field| {
            let value = field.of(self.capabilities);
            if field.name.ends_with("_log2") {
                format!("{} {}", count(1 << value), field.about.split(',').next().unwrap_or_default())
            } else {
                format!("{} {}", count(value), field.about)
            }
        });
        row("has", &has.collect::<Vec<_>>().join(", "));
        row("wire", if self.is_up() { "up" } else { "down" });
        row("is", if self.is_idle() { "idle" } else { "at work" });
        row("clock", &self.clock(module));
        text.push_str("\n  counter                             value  bits  wraps after\n");
        for (register, value) in &self.counters {
            let field = counter(register);
            let _ = writeln!(
                text,
                "  {:<20} {:>20}  {:>4}  {}",
                named(register),
                count(*value),
                field.width,
                words(wraps_after_s(field))
            );
        }
        text
    }

    fn clock(&self, module: &Module) -> String {
        let (ahead, bound) = (self.offset.ahead_ns, self.offset.bound);
        if module.is_simulated() {
            return format!("simulated, in steps of {TICK:#}; not wall-clock time");
        }
        if ahead.unsigned_abs() > SET_WITHIN_NS {
            return "not set; opening a port sets it to the host's clock".to_owned();
        }
        let way = if ahead < 0 { "behind" } else { "ahead of" };
        format!("{} ns {way} the host's clock, to within {} ns", ahead.unsigned_abs(), bound.as_nanos())
    }

    fn json(&self, module: &Module) -> Value {
        let (hello, (major, minor)) = (module.hello(), module.version());
        let has = CAPABILITIES.fields.iter();
        let has = has.map(|field| (field.name.to_owned(), json!(field.of(self.capabilities))));
        let counters = self.counters.iter().map(|(register, value)| {
            let field = counter(register);
            json!({
                "name": register.name, "error": Why::counted_by(register).and_then(Why::name), "value": value, "unit": field.unit, "bits": field.width,
                "wraps_after_s": wraps_after_s(field), "about": register.about,
            })
        });
        json!({
            "port": module.name(),
            "simulated": module.is_simulated(),
            "version": format!("{major}.{minor}"),
            "build": format!("{:08x}", hello.build),
            "layout": format!("{:08x}", hello.layout),
            "capabilities": has.collect::<serde_json::Map<_, _>>(),
            "wire": if self.is_up() { "up" } else { "down" },
            "idle": self.is_idle(),
            "clock": {
                "tick_ns": TICK.as_nanos(),
                "offset_ns": (!module.is_simulated()).then_some(self.offset.ahead_ns),
                "bound_ns": (!module.is_simulated()).then_some(self.offset.bound.as_nanos()),
            },
            "counters": counters.collect::<Vec<_>>(),
        })
    }
}

/// `sent`; an error of the link with its name: `link_errors3 length`.
pub(super) fn named(register: &Register) -> String {
    if register.name == RECEIVED_LENGTH.name {
        return format!("{} received_length", register.name);
    }
    match Why::counted_by(register).and_then(Why::name) {
        Some(why) => format!("{} {why}", register.name),
        None => register.name.to_owned(),
    }
}

/// The one field of a counter.
fn counter(register: &Register) -> &'static Field {
    register.fields.iter().find(|field| field.access == Access::Value).unwrap_or(&NOTHING)
}

static NOTHING: Field =
    Field { name: "value", low: 0, width: 32, access: Access::Value, unit: "", about: "" };

/// When a counter is at its start again if all the wire carries is counted. A sum of lateness grows fastest if
/// all frames are due at once, as each is a frame later than the one before: of n frames it is n² / 2 times the
/// ticks of one.
fn wraps_after_s(field: &Field) -> f64 {
    if field.unit == "ticks" && field.width < 64 {
        let frame_ticks = TICKS_PER_S / FRAMES_PER_S;
        return (2.0 * 2f64.powi(field.width as i32) / frame_ticks).sqrt() / FRAMES_PER_S;
    }
    let per_s = match field.unit {
        "bytes" => BYTES_PER_S,
        "ticks" => TICKS_PER_S,
        _ => FRAMES_PER_S,
    };
    2f64.powi(field.width as i32) / per_s
}

/// `48 minutes`, `6 years`.
fn words(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(365.25 * 86_400.0, "years"), (86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    let found = UNITS.iter().find(|(unit, _)| seconds >= 2.0 * unit);
    found.map_or_else(
        || if seconds < 10.0 { format!("{seconds:.1} seconds") } else { format!("{seconds:.0} seconds") },
        |(unit, name)| format!("{} {name}", count((seconds / unit).round() as u64)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::fpga::registers::{BYTES, LATE_TICKS, LATEST, LINK_BAD, SENT};

    #[test]
    fn counters_say_when_they_wrap() {
        // 2^48 / 1 488 095 s = 1.89e8 s; 2^48 / 125e6 s = 2.25e6 s = 26 days; 2^64 / 125e6 s = 1.476e11 s.
        assert_eq!(words(wraps_after_s(counter(&SENT))), "6 years");
        assert_eq!(words(wraps_after_s(counter(&BYTES))), "26 days");
        // 2^48 ticks in sum = 84 ticks · n² / 2, at 1 488 095 frames a second.
        assert_eq!(words(wraps_after_s(counter(&LATE_TICKS))), "1.7 seconds");
        assert_eq!(words(wraps_after_s(counter(&LATEST))), "4 676 years");
        // 2^32 / 1 488 095 s = 2 886 s.
        assert_eq!(words(wraps_after_s(counter(&LINK_BAD))), "48 minutes");
        assert_eq!((words(2_886.0), words(90.0)), ("48 minutes".to_owned(), "90 seconds".to_owned()));
    }

    #[test]
    fn descriptions_say_what_is_computed() {
        let times = ["seconds", "minutes", "days", "years"];
        let told = |register: &&Register| times.iter().any(|unit| counter(register).about.contains(unit));
        let counters = ALL.iter().filter(|register| register.address >= COUNTERS);
        let counters: Vec<&Register> = counters.filter(told).collect();
        assert!(counters.len() > 20);
        for register in counters {
            let (field, about) = (counter(register), counter(register).about);
            assert!(about.contains(&words(wraps_after_s(field))), "{}: {about}", register.name);
            assert!(about.contains(&format!("{} bits", field.width)), "{}: {about}", register.name);
        }
    }

    #[test]
    fn errors_of_the_link_have_their_names() {
        let of = |name: &str| named(Register::named(name).unwrap());
        assert_eq!(of("link_errors3"), "link_errors3 length");
        assert_eq!(
            (of("link_errors0"), of("link_bad")),
            ("link_errors0 received_length".to_owned(), "link_bad".to_owned())
        );
    }
}
