//! `record`: a port whose frames, both ways, are also written to a pcapng file. What is sent is stamped when it is handed
//! over, what is received as the port behind stamps it.

use crate::about::{About, Choice};
use crate::pcap::{Described, Statistics, Style, Writer};
use crate::{
    Address, Counters, DropPlace, For, Frame, Instruction, Offload, Port, PortError, Slot, Stamp, Wish,
};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use units::Picos;

struct Record {
    inner: Box<dyn Port>,
    about: About,
    log: Log,
}

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
    Ok(Box::new(Record { inner, about, log: Log { writer: Some(writer), failed: None } }))
}

/// A file for each queue: `out-1.pcapng`.
fn of_queue(path: &Path, wish: &Wish) -> PathBuf {
    if wish.queues <= 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().map_or_else(String::new, |end| format!(".{}", end.to_string_lossy()));
    path.with_file_name(format!("{stem}-{}{end}", wish.queue))
}

impl Log {
    fn write(&mut self, stamp: Stamp, length: usize, data: &[u8]) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.frame(stamp, length, data, 0) {
            self.failed = Some(error);
            self.writer = None;
        }
    }

    fn trouble(&mut self) -> Result<(), PortError> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Port for Record {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        self.log.trouble()?;
        let (now, log) = (Stamp(clock::unix_ns()), &mut self.log);
        self.inner.transmit(most, &mut |slot| {
            write(slot);
            if slot.length > 0 && slot.length <= slot.data.len() {
                log.write(now, slot.length, &slot.data[..slot.length]);
            }
        })
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        self.log.trouble()?;
        let log = &mut self.log;
        self.inner.receive(most, &mut |frame| {
            let now = || Stamp(clock::unix_ns());
            let stamp = if frame.stamp == Stamp::NONE { now() } else { frame.stamp };
            log.write(stamp, frame.length, frame.data);
            read(frame);
        })
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.log.trouble()?;
        let has_left = self.inner.flush(patience)?;
        self.log.writer.as_mut().map_or(Ok(()), Writer::flush)?;
        Ok(has_left)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        self.inner.wait(what, patience)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        self.inner.counters()
    }

    fn is_up(&mut self) -> bool {
        self.inner.is_up()
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.inner.trouble()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.descriptor()
    }

    fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
        self.inner.filter(program)
    }

    /// None: frames that are made behind this would not be in the file.
    fn offload(&mut self) -> Option<&mut dyn Offload> {
        None
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(writer) = self.log.writer.take() else { return };
        let statistics = self.inner.counters().map_or_else(|_| Statistics::default(), statistics);
        let _ = writer.finish(&statistics);
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
