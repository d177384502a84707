//! What a module says of itself: whether its wire is up, its clock, what it counted.

use super::device::Module;
use super::link::Why;
use super::register::{Field, Register};
use super::registers::{
    CAPABILITIES, COUNTERS, LINK_ERRORS0 as RECEIVED_LENGTH, STATUS, STATUS_IDLE, STATUS_WIRE,
};
use super::time::Offset;
use crate::PortError;

/// What a wire of 1 Gb/s has at most in a second.
const FRAMES_PER_S: f64 = 1_488_095.0;
const BYTES_PER_S: f64 = 125e6;
const TICKS_PER_S: f64 = 125e6;

/// What was read.
pub struct Status {
    status: u64,
    capabilities: u64,
    pub offset: Offset,
    pub counters: Vec<(&'static Register, u64)>,
}

impl Status {
    /// # Errors
    /// The module does not answer.
    pub fn look(module: &Module) -> Result<Self, PortError> {
        let counters: Vec<&Register> = COUNTERS.iter().collect();
        let values = module.read_all(&[&[&STATUS, &CAPABILITIES], &counters[..]].concat())?;
        Ok(Self {
            status: values[0],
            capabilities: values[1],
            offset: module.offset()?,
            counters: counters.into_iter().zip(values.into_iter().skip(2)).collect(),
        })
    }

    pub fn is_up(&self) -> bool {
        STATUS_WIRE.of(self.status) == 1
    }

    pub fn is_idle(&self) -> bool {
        STATUS_IDLE.of(self.status) == 1
    }

    /// What it was made with, and how much of it.
    pub fn capabilities(&self) -> impl Iterator<Item = (&'static Field, u64)> {
        CAPABILITIES.fields.iter().map(|field| (field, field.of(self.capabilities)))
    }
}

/// `sent`; an error of the link with its name: `link_errors3 length`.
pub fn named(register: &Register) -> String {
    if register.name == RECEIVED_LENGTH.name {
        return format!("{} received_length", register.name);
    }
    match Why::counted_by(register).and_then(Why::name) {
        Some(why) => format!("{} {why}", register.name),
        None => register.name.to_owned(),
    }
}

/// The one field of a counter.
pub fn counter(register: &Register) -> &'static Field {
    &register.fields[0]
}

/// When a counter is at its start again if all the wire carries is counted. A sum of lateness grows fastest if
/// all frames are due at once, as each is a frame later than the one before: of n frames it is n² / 2 times the
/// ticks of one.
pub fn wraps_after_s(field: &Field) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

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
