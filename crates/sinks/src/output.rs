//! A file or standard output that takes whole records.

use crate::exporter::SinkError;
use crate::place::Place;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};

/// Where a kind of file writes. Nothing is buffered: a record that was written is there, also after a crash of
/// this program. A record that fits only partly is taken back, so that the next one starts on a line of its
/// own.
#[derive(Debug)]
pub struct Output {
    place: Place,
    to: Option<To>,
}

#[derive(Debug)]
enum To {
    Stdout(io::Stdout),
    /// With the length of its whole records.
    File(File, u64),
    /// A pipe or a device.
    Stream(File),
}

impl Output {
    /// Opens nothing yet.
    pub fn new(place: &Place) -> Self {
        Self { place: place.clone(), to: None }
    }

    /// A file with something in it is refused: no result is ever overwritten.
    pub fn open(&mut self) -> Result<(), SinkError> {
        let to = match self.place.is_stdout() {
            true => Ok(To::Stdout(io::stdout())),
            false => self.create().map_err(|why| self.cannot(&why)),
        };
        self.to = Some(to?);
        Ok(())
    }

    fn create(&self) -> io::Result<To> {
        let path = self.place.path();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        let found = file.metadata()?;
        match (found.is_file(), found.len()) {
            (true, 0) => Ok(To::File(file, 0)),
            (true, _) => Err(io::ErrorKind::AlreadyExists.into()),
            (false, _) => Ok(To::Stream(file)),
        }
    }

    /// Without the file the command is for nothing: status 2.
    fn cannot(&self, why: &io::Error) -> SinkError {
        self.place.wrong(match why.kind() {
            io::ErrorKind::AlreadyExists => "the file is not empty; remove it, or name another".to_owned(),
            io::ErrorKind::IsADirectory => "this is a folder; name a file in it".to_owned(),
            io::ErrorKind::NotFound => "its folder does not exist; create it first".to_owned(),
            io::ErrorKind::PermissionDenied => "must not be written; name a file elsewhere".to_owned(),
            _ => format!("can not be opened: {why}"),
        })
    }

    /// Writes one record, or nothing.
    pub fn write(&mut self, record: &[u8]) -> Result<(), SinkError> {
        let written = match &mut self.to {
            Some(To::Stdout(stdout)) => stdout.lock().write_all(record).and_then(|()| stdout.flush()),
            Some(To::Stream(file)) => file.write_all(record),
            Some(To::File(file, whole)) => write_whole(file, whole, record),
            None => Err(io::Error::other("it is not open")),
        };
        written.map_err(|why| self.failed(&why))
    }

    /// On disk for good.
    pub fn sync(&mut self) -> Result<(), SinkError> {
        let synced = match &mut self.to {
            Some(To::File(file, _)) => file.sync_all(),
            _ => Ok(()),
        };
        synced.map_err(|why| self.failed(&why))
    }

    fn failed(&self, why: &io::Error) -> SinkError {
        self.place.refused(match why.kind() {
            io::ErrorKind::StorageFull => "the disk is full: make room, or name a file elsewhere".to_owned(),
            io::ErrorKind::BrokenPipe => "its reader has closed it".to_owned(),
            _ => format!("can not be written: {why}"),
        })
    }
}

fn write_whole(file: &mut File, whole: &mut u64, record: &[u8]) -> io::Result<()> {
    match file.write_all(record) {
        Ok(()) => *whole += record.len() as u64,
        Err(why) => {
            // If even this fails the half record stays.
            let _ = file.set_len(*whole).and_then(|()| file.seek(SeekFrom::Start(*whole)));
            return Err(why);
        }
    }
    Ok(())
}
