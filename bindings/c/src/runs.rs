//! Runs: a plan in, a result out.

#![allow(non_camel_case_types)] // as C writes types

use crate::error::Error;
use crate::guard::{guard, text as c_text};
use crate::pointers::{given, out, text};
use crate::table::Table;
use run::hosted::{Ended, Row, Run, Wishes};
use run::said_once;
use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use units::Picos;

/// A run, in a thread of the library's own. The program owns it until tare_run_close. Any number of threads may
/// use it at once: one waits, for instance, and another stops it.
pub type tare_run = u64;

/// What is to be kept of a run: tare_run_options_init writes the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tare_run_options {
    /// sizeof(tare_run_options), by which the library knows the version of the header.
    pub size: u32,
    /// Keep the run among those that `tare runs` lists; by default false.
    pub save: bool,
    /// A run that is INVALID has status 0; by default false.
    pub accept_invalid: bool,
    /// Keep the run in this folder; NULL (the default) is none.
    pub out: *const c_char,
}

/// A run and its texts, which stay until it is closed.
struct Held {
    run: Run,
    result: OnceLock<CString>,
    row: Mutex<CString>,
}

static RUNS: Table<Arc<Held>> = Table::new(3, "run");

/// Writes the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_run_options_init(options: *mut tare_run_options) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        *unsafe { out(options, "options") }? = defaults();
        Ok(())
    })
}

/// Starts what a plan says, a TOML text as `tare run` takes it. `options` may be NULL for the defaults. The run
/// is the program's, which closes it. TARE_ERROR_PLAN names the line and key that is wrong; ports and files are
/// opened later, and what is wrong with them is told by tare_run_result. Signals stay the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_run_start(
    plan: *const c_char,
    options: *const tare_run_options,
    run: *mut tare_run,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (plan, run) = unsafe { (text(plan, "plan")?, out(run, "run")?) };
        let options = match options.is_null() {
            true => defaults(),
            // SAFETY: as the header says.
            false => *unsafe { given(options, "options") }?,
        };
        // SAFETY: as the header says.
        let wishes = unsafe { wishes(&options) }?;
        let started = Run::start(plan, "libtare", &wishes);
        let started = started.map_err(|failure| Error::Plan(said_once(&failure.into_error())))?;
        let held = Held { run: started, result: OnceLock::new(), row: Mutex::default() };
        *run = RUNS.insert(Arc::new(held))?;
        Ok(())
    })
}

/// Ends a run early. Returns at once; the result is complete, and says that the run was interrupted.
#[unsafe(no_mangle)]
pub extern "C" fn tare_run_stop(run: tare_run) -> i32 {
    guard(|| {
        RUNS.shared(run)?.run.stop();
        Ok(())
    })
}

/// Waits until the run is over, for at most `patience_ns`. *over says whether it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_run_wait(run: tare_run, patience_ns: u64, over: *mut bool) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let over = unsafe { out(over, "over") }?;
        *over = RUNS.shared(run)?.run.outcome(Picos::from_nanos(patience_ns)).is_some();
        Ok(())
    })
}

/// Waits for the next interval of the run, for at most `patience_ns`. *row is it as JSON, as in `intervals` of
/// the result; NULL if none came in that time, or the run has none left. The text is the library's, and stays
/// until the next call for this run, whichever thread makes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_run_row(run: tare_run, patience_ns: u64, row: *mut *const c_char) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let row = unsafe { out(row, "row") }?;
        *row = std::ptr::null();
        let held = RUNS.shared(run)?;
        if let Row::Interval(interval) = held.run.row(Picos::from_nanos(patience_ns)) {
            let mut kept = held.row.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = json(&interval)?;
            *row = kept.as_ptr();
        }
        Ok(())
    })
}

/// Waits until the run is over. *result is its result as JSON, as result.json has it; the text is the
/// library's, and stays until the run is closed. *status is the exit status that `tare run` would have: 0
/// good, 3 a threshold failed, 4 INVALID, 5 the target could not be reached, 130 interrupted. TARE_ERROR_PLAN
/// if a port or file cannot be had, TARE_ERROR_UNREACHABLE if nobody answers: nothing was sent then, and
/// there is no result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_run_result(run: tare_run, result: *mut *const c_char, status: *mut i32) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (result, status) = unsafe { (out(result, "result")?, out(status, "status")?) };
        *result = std::ptr::null();
        let held = RUNS.shared(run)?;
        let outcome = held.run.outcome(Picos::MAX);
        let outcome = outcome.ok_or_else(|| Error::Panic("a run has no end".to_owned()))?;
        let Ended { result: figures, status: ending } = outcome.as_ref().map_err(Error::from)?;
        let text = match held.result.get() {
            Some(text) => text,
            None => {
                let text = json(figures)?;
                held.result.get_or_init(|| text)
            }
        };
        (*result, *status) = (text.as_ptr(), ending.code().into());
        Ok(())
    })
}

/// Closes a run. One that is not over is stopped first, and waited for. Its texts are gone then.
#[unsafe(no_mangle)]
pub extern "C" fn tare_run_close(run: tare_run) -> i32 {
    guard(|| {
        let held = RUNS.remove_shared(run)?;
        held.run.stop();
        let _ = held.run.outcome(Picos::MAX);
        Ok(())
    })
}

fn defaults() -> tare_run_options {
    let size = size_of::<tare_run_options>() as u32;
    tare_run_options { size, save: false, accept_invalid: false, out: std::ptr::null() }
}

/// # Safety
/// `out` is NULL or a text.
unsafe fn wishes(options: &tare_run_options) -> Result<Wishes, Error> {
    let size = size_of::<tare_run_options>();
    if options.size as usize != size {
        let expected = format!("{size}, as tare_run_options_init writes it");
        return Err(Error::Value { what: "options.size", value: options.size.into(), expected });
    }
    let out = match options.out.is_null() {
        true => None,
        // SAFETY: the caller says that it is a text.
        false => Some(PathBuf::from(unsafe { text(options.out, "options.out") }?)),
    };
    Ok(Wishes { save: options.save, out, accept_invalid: options.accept_invalid })
}

fn json(value: &impl serde::Serialize) -> Result<CString, Error> {
    let text = serde_json::to_string(value);
    text.map(c_text).map_err(|error| Error::Panic(format!("the result cannot be written as JSON: {error}")))
}
