//! `record`: a port whose frames, both ways, are also written to a pcapng file. What is sent is stamped when it
//! is handed over, what is received as the port behind stamps it.

use crate::about::Choice;
use crate::pcap::{Described, Statistics, Style, Writer};
use crate::witness::{Watched, Way, Witness};
use crate::{Address, Counters, DropPlace, Port, PortError, Stamp, Wish};
use std::path::{Path, PathBuf};

/// The file, and what went wrong with it: the traffic goes on without it, and it is told once.
struct Log {
    writer: Option<Writer>,
    failed: Option<PortError>,
}

/// Checks the options without opening anything.
pub(crate) fn check(address: &Address) -> Result<(), PortError> {
    address.read::<u32>("snap", "96")?;
    match address.option("file") {
        Some(file) if !file.is_empty() => Ok(()),
        _ => Err(address.wrong("says no file", "record,file=out.pcapng:PORT")),
    }
}

/// Wraps a port that is open.
pub(crate) fn wrap(address: &Address, wish: &Wish, inner: Box<dyn Port>) -> Result<Box<dyn Port>, PortError> {
    check(address)?;
    let path = of_queue(Path::new(address.option("file").unwrap_or_default()), wish);
    let snap = address.read("snap", "96")?.unwrap_or(0);
    let name = inner.about().interface.clone().unwrap_or_else(|| inner.about().name.clone());
    let described = Described { name, filter: String::new(), snap };
    let writer = Writer::create(&path, Style { described, ..Style::of_name(&path) })?;
    let mut about = inner.about().clone();
    about.name = address.to_string();
    let (chosen, why) = (path.display().to_string(), "asked for".to_owned());
    about.choices.push(Choice { what: "record", chosen, why });
    Ok(Box::new(Watched::new(inner, about, Log { writer: Some(writer), failed: None })))
}

/// A file for each queue: `out-1.pcapng`.
fn of_queue(path: &Path, wish: &Wish) -> PathBuf {
    if wish.queues <= 1 { path.to_owned() } else { numbered(path, wish.queue) }
}

/// Of one queue among several.
pub(crate) fn numbered(path: &Path, queue: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().map_or_else(String::new, |end| format!(".{}", end.to_string_lossy()));
    path.with_file_name(format!("{stem}-{queue}{end}"))
}

impl Witness for Log {
    fn saw(&mut self, _: Way, stamp: Stamp, length: usize, data: &[u8]) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.frame(stamp, length, data, 0) {
            self.failed = Some(error);
            self.writer = None;
        }
    }

    fn trouble(&mut self) -> Result<(), PortError> {
        self.writer.as_mut().map_or(Ok(()), Writer::begin)?;
        self.failed.take().map_or(Ok(()), Err)
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.writer.as_mut().map_or(Ok(()), Writer::flush)
    }

    fn end(&mut self, totals: Option<&Counters>) {
        let Some(writer) = self.writer.take() else { return };
        writer.end_if_begun(&totals.map_or_else(Statistics::default, statistics));
    }
}

/// What a port's counters say, as the end of a pcapng file has it.
pub(crate) fn statistics(counters: &Counters) -> Statistics {
    let lost = |places: &[DropPlace]| places.iter().map(|place| counters.dropped(*place)).sum();
    Statistics {
        received: counters.received,
        dropped_by_interface: lost(&[DropPlace::ReceiveDriver]),
        dropped_by_kernel: lost(&[DropPlace::ReceiveRing, DropPlace::ReceiveKernel]),
    }
}
