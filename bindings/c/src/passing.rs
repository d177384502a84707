//! Frames from one port to another: what middleboxes are made of.

#![allow(non_camel_case_types)] // as C writes types

use crate::error::Error;
use crate::guard::guard;
use crate::pointers::{out, slice};
use crate::ports::{PORTS, tare_port};
use crate::rules::{RULES, tare_decision, tare_rules};
use bursts::{BurstPort, Forwarded};

/// What became of the frames of one tare_port_forward.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct tare_forwarded {
    /// Bytes of the frames that were received, and how many these were.
    pub received_bytes: u64,
    pub received: u32,
    /// Of these, frames that no rule drops.
    pub passed: u32,
    /// Of these, frames that the other port took: fewer where it had no room, or where they were too long.
    pub sent: u32,
}

/// Sends frames `first` to `first + count - 1` of the burst that `from` holds out of `to`, which may be
/// `from` itself, in this order and without those whose decision is odd: a drop. `decisions` has one for each
/// frame that is held, from frame 0 on, or is NULL: all are sent. *taken says for how many this is done:
/// fewer where there is no room for more now, or a frame behind them is too long. All stay held. A file that
/// is sent to keeps their stamps. TARE_ERROR_TOO_LONG if frame `first` is too long; TARE_ERROR_VALUE for
/// frames that are not held; TARE_ERROR_ORDER if none are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_pass(
    from: tare_port,
    to: tare_port,
    first: u32,
    count: u32,
    decisions: *const tare_decision,
    taken: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let taken = unsafe { out(taken, "taken") }?;
        *taken = 0;
        let (first, count) = (first as usize, count as usize);
        let decisions: &[tare_decision] = match decisions.is_null() {
            true => &[],
            // SAFETY: as the header says.
            false => unsafe { slice(decisions, first.saturating_add(count), "decisions") }?,
        };
        let drops = |index: usize| decisions.get(index).is_some_and(|decision| decision & 1 == 1);
        let sent = both(from, to, |from, to| Ok(from.pass(to, first, count, drops)?))?;
        *taken = sent as u32;
        Ok(())
    })
}

/// Takes up to `most` frames that have arrived at `from`, and sends those that pass `rules` out of `to`: a
/// whole burst by one call, of which nothing stays held. `rules` may be 0: all pass. `to` may be 0: they are
/// judged and counted, in place, and given up. Frames that `to` does not take are given up as well;
/// *forwarded says how many. Never waits. TARE_ERROR_ORDER if the last burst of `from` is still held;
/// TARE_ERROR_OVER if no frame will ever come again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_port_forward(
    from: tare_port,
    to: tare_port,
    rules: tare_rules,
    most: u32,
    forwarded: *mut tare_forwarded,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let forwarded = unsafe { out(forwarded, "forwarded") }?;
        *forwarded = told(Forwarded::default());
        let firewall = if rules == 0 { None } else { Some(RULES.shared(rules)?) };
        let (firewall, most) = (firewall.as_deref(), most as usize);
        let done = match to {
            0 => PORTS.alone(from, |from| Ok(from.forward(None, firewall, most)?)),
            to => {
                PORTS.alone(from, |from| PORTS.alone(to, |to| Ok(from.forward(Some(to), firewall, most)?)))
            }
        }?;
        *forwarded = told(done);
        Ok(())
    })
}

/// Uses two ports, or one for both.
fn both<R>(
    from: tare_port,
    to: tare_port,
    work: impl FnOnce(&mut BurstPort, Option<&mut BurstPort>) -> Result<R, Error>,
) -> Result<R, Error> {
    PORTS.alone(from, |port| match to == from {
        true => work(port, None),
        false => PORTS.alone(to, |other| work(port, Some(other))),
    })
}

fn told(done: Forwarded) -> tare_forwarded {
    let Forwarded { received, received_bytes, passed, sent } = done;
    tare_forwarded { received_bytes, received, passed, sent }
}
