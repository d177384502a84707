//! Firewall rules.

#![allow(non_camel_case_types)] // as C writes types

use crate::error::Error;
use crate::guard::guard;
use crate::pointers::{given, out, slice, slice_out, text};
use crate::ports::tare_burst;
use crate::table::Table;
use filter::{Decision, Firewall, Judge, Rules};
use std::ffi::c_char;
use std::sync::Arc;

/// Compiled rules. The program owns them until tare_rules_close. Any number of threads may use them at once.
pub type tare_rules = u64;

/// What became of a frame, as one number: 2 * i + (1 if it is dropped), where i is the index of the rule that
/// decided, from 0; of N rules, i = N stands for the line "default", N + 1 for "other", N + 2 for a frame
/// that is malformed.
pub type tare_decision = u32;

/// A rule decided.
pub const TARE_BY_RULE: u32 = 0;
/// No rule matched, or none could look at what the frame carries: the line "default" decided.
pub const TARE_BY_DEFAULT: u32 = 1;
/// The frame is neither IPv4 nor IPv6: the line "other" decided.
pub const TARE_BY_OTHER: u32 = 2;
/// The frame's headers are cut off or contradict themselves.
pub const TARE_BY_MALFORMED: u32 = 3;

/// A decision in full.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tare_reason {
    /// TARE_BY_RULE and so on.
    pub by: u32,
    /// The rule's index from 0 and its line from 1, if a rule decided; else both are 0.
    pub rule: u32,
    pub line: u32,
    pub drops: bool,
}

pub(crate) static RULES: Table<Arc<Firewall>> = Table::new(2, "set of rules");

/// Compiles rules, one a line: "drop from 198.18.0.0/24 proto udp dport 53", "default pass". The rules are the
/// program's, which closes them. TARE_ERROR_RULES names the line that is wrong, and says what would be right.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_rules_compile(rules: *const c_char, compiled: *mut tare_rules) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (rules, compiled) = unsafe { (text(rules, "rules")?, out(compiled, "compiled")?) };
        let rules = Rules::parse(rules, "rules").map_err(|error| Error::Rules(error.to_string()))?;
        let firewall = Firewall::compile(&rules).map_err(|error| Error::Rules(error.to_string()))?;
        *compiled = RULES.insert(Arc::new(firewall))?;
        Ok(())
    })
}

/// Closes rules. A thread that is using them finishes its call.
#[unsafe(no_mangle)]
pub extern "C" fn tare_rules_close(rules: tare_rules) -> i32 {
    guard(|| RULES.remove_shared(rules).map(drop))
}

/// Decides for one frame of `length` bytes, from its Ethernet header on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_rules_judge(
    rules: tare_rules,
    frame: *const u8,
    length: usize,
    decision: *mut tare_decision,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (frame, decision) = unsafe { (slice(frame, length, "frame")?, out(decision, "decision")?) };
        *decision = code(RULES.shared(rules)?.decide(frame));
        Ok(())
    })
}

/// Decides for all frames of a burst: cheaper than one by one. `decisions` has room for burst->count of them,
/// or is NULL; *passed says how many frames pass.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_rules_judge_burst(
    rules: tare_rules,
    burst: *const tare_burst,
    decisions: *mut tare_decision,
    passed: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (burst, passed) = unsafe { (given(burst, "burst")?, out(passed, "passed")?) };
        let (count, stride) = (burst.count as usize, burst.stride as usize);
        // SAFETY: as the header says of a burst.
        let lengths = unsafe { slice(burst.lengths, count, "burst->lengths") }?;
        if let Some(index) = lengths.iter().position(|length| *length > burst.stride) {
            return Err(Error::BeyondRow { index, length: lengths[index], stride: burst.stride });
        }
        // SAFETY: as the header says of a burst.
        let data = unsafe { slice(burst.data.cast_const(), count * stride, "burst->data") }?;
        let decisions: &mut [tare_decision] = match decisions.is_null() {
            true => &mut [],
            // SAFETY: as the header says.
            false => unsafe { slice_out(decisions, count, "decisions") }?,
        };
        let frames = lengths.iter().enumerate();
        let frames = frames.map(|(index, length)| &data[index * stride..][..*length as usize]);
        let (mut index, mut pass) = (0, 0);
        bursts::judge(&*RULES.shared(rules)?, frames, |decision| {
            pass += u32::from(!decision.action().is_drop());
            if let Some(room) = decisions.get_mut(index) {
                *room = code(decision);
            }
            index += 1;
        });
        *passed = pass;
        Ok(())
    })
}

/// Says what a decision of these rules means.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_rules_explain(
    rules: tare_rules,
    decision: tare_decision,
    reason: *mut tare_reason,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let reason = unsafe { out(reason, "reason") }?;
        let firewall = RULES.shared(rules)?;
        let ends = firewall.rules().rules.len() + 2;
        if (decision >> 1) as usize > ends {
            let expected = format!("at most {}, as these rules decide", 2 * ends + 1);
            return Err(Error::Value { what: "decision", value: decision.into(), expected });
        }
        let decision = Decision::from_code(decision);
        let (by, rule) = match firewall.judge(decision) {
            Judge::Rule(index) => (TARE_BY_RULE, Some(index)),
            Judge::Default => (TARE_BY_DEFAULT, None),
            Judge::Other => (TARE_BY_OTHER, None),
            Judge::Malformed => (TARE_BY_MALFORMED, None),
        };
        let line = rule.and_then(|index| firewall.rules().lines.get(index as usize)).copied();
        *reason = tare_reason {
            by,
            rule: rule.unwrap_or(0),
            line: line.unwrap_or(0),
            drops: decision.action().is_drop(),
        };
        Ok(())
    })
}

fn code(decision: Decision) -> tare_decision {
    decision.slot() << 1 | u32::from(decision.action().is_drop())
}
