//! epoll beside io_uring, on the keep-alive case. No bar: it shows what `--io auto` should choose here.

use anyhow::Result;

use super::{Bench, Case, closed};
use crate::tools::tare::Tare;
use crate::tools::{Load, Tool};

pub fn run(case: &Case, bench: &mut Bench) -> Result<()> {
    let Some(path) = bench.tare().map(ToOwned::to_owned) else { return Ok(()) };
    let tools: Vec<Box<dyn Tool>> = vec![
        Box::new(Tare::with(&path, "epoll", &["--io", "epoll"])),
        Box::new(Tare::with(&path, "io_uring", &["--io", "uring"])),
    ];
    closed::rounds(case, bench, &tools, Load::KeepAlive, false)
}
