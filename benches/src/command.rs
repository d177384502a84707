//! A benchmark as a command: `--help`, options that each have a value, exit statuses; and the programs that it
//! starts.

use std::path::PathBuf;
use std::process::{Child, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// The program under test, beside the benchmark.
pub fn tare() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("tare")
}

/// Sets an option to its value; false if there is no such option.
pub type Set<O> = fn(&mut O, &str, &str) -> Result<bool>;

/// Reads the command line into `options`, and does the work.
pub fn run<O>(name: &str, help: &str, options: O, set: Set<O>, work: fn(&O) -> Result<()>) -> ExitCode {
    let (error, status) = match read(options, set) {
        Ok(None) => {
            print!("{help}");
            return ExitCode::SUCCESS;
        }
        Ok(Some(options)) => match work(&options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => (error, 1),
        },
        Err(error) => (error, 2),
    };
    eprintln!("{name}: {error:#}");
    ExitCode::from(status)
}

/// `None` if help was asked for.
fn read<O>(mut options: O, set: Set<O>) -> Result<Option<O>> {
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--help" || word == "-h" {
            return Ok(None);
        }
        let value = words.next().with_context(|| format!("{word}: a value after it, or --help"))?;
        if !set(&mut options, &word, &value).with_context(|| format!("{word} {value}"))? {
            bail!("{word}: no such option; --help lists them");
        }
    }
    Ok(Some(options))
}

/// A child that ends with this, and gets two seconds for that.
pub struct Ending(pub Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        for _ in 0..200 {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
