//! Files that a run reads and writes: known before anything is opened, so that no output takes the place of an
//! input, or of another output.

use crate::options::Options;
use crate::run_sinks;
use crate::status::Failure;
use os::clash::{self, Written};
use plan::Plan;
use plan::packets::PacketPlan;
use port::Address;
use port::pcap::{number_of, numbered};
use sinks::Address::File;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct RunFiles {
    /// Files that the load is made of.
    pub inputs: Vec<PathBuf>,
    /// Others that are read, such as keys.
    read: Vec<PathBuf>,
    /// By the engine.
    written: Vec<Written>,
    /// Written as numbered files.
    rotated: Option<PathBuf>,
}

impl RunFiles {
    pub fn of_requests(plan: &Plan) -> Self {
        let mut read: Vec<PathBuf> = plan.tls.ca.iter().cloned().collect();
        if let Some((chain, key)) = &plan.tls.client {
            read.extend([chain.clone(), key.clone()]);
        }
        let mut files = Self { inputs: plan.files(), read, ..Self::default() };
        if let Some(port) = http::port_of_via(plan) {
            files.read.extend(port.password_file());
            files.written.extend(port.beside(1).into_iter().map(|file| (format!("--via {port}"), file)));
        }
        files
    }

    pub fn of_frames(plan: &PacketPlan) -> Self {
        let mut files = Self { inputs: plan.files(), ..Self::default() };
        for port in plan.ports() {
            // One that cannot be is refused when it is opened.
            let Ok(address) = port.address.parse::<Address>() else { continue };
            match address.file().map(PathBuf::from) {
                Some(file) if port.is_read => files.inputs.push(file),
                Some(file) => files.written.push((format!("{} {}", port.key, port.address), file)),
                None => {}
            }
            let beside = address.beside(plan.queues()).into_iter();
            files.written.extend(beside.map(|file| (format!("{} {}", port.key, port.address), file)));
        }
        match plan.kept() {
            Some((file, true)) => files.rotated = Some(file),
            Some((file, false)) => files.written.push(("--write".to_owned(), file)),
            None => {}
        }
        files
    }

    /// Refuses what would be overwritten. Nothing is touched.
    ///
    /// # Errors
    /// An output is an input, or another output.
    pub fn guard(&self, options: &Options) -> Result<(), Failure> {
        let mut written = self.written.clone();
        for place in run_sinks::places(options)?.iter().filter(|place| place.kind().address == File) {
            if !place.is_stdout() {
                written.push((format!("--to {}", place.shown()), place.path().to_owned()));
            }
        }
        for (flag, path) in [("--junit", &options.junit), ("--markdown", &options.markdown)] {
            written.extend(path.iter().map(|path| (flag.to_owned(), path.clone())));
        }
        let token = options.live.token.as_deref().and_then(|token| token.strip_prefix('@'));
        let more = options.reads.iter().cloned().chain(token.map(PathBuf::from));
        let read: Vec<PathBuf> = self.inputs.iter().chain(&self.read).cloned().chain(more).collect();
        let out = options.out.as_deref().filter(|_| options.save);
        let own = out.iter().flat_map(|out| store::RUN_FILES.iter().map(|name| out.join(name)));
        written.extend(own.map(|file| ("--out".to_owned(), file)));
        let rotated = self.numbered(&written, &read).into_iter();
        written.extend(rotated.map(|file| ("--write".to_owned(), file)));
        clash::check(&written, &read).map_err(Failure::wrong)
    }

    /// Files of a rotation that others may be: the first, those whose names are among `written` and `read`, and
    /// those that are there.
    fn numbered(&self, written: &[Written], read: &[PathBuf]) -> Vec<PathBuf> {
        let Some(file) = &self.rotated else { return Vec::new() };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let there = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
        let names = written.iter().map(|(_, path)| path).chain(read).filter_map(|path| path.file_name());
        let mut numbers = BTreeSet::from([1]);
        numbers.extend(names.filter_map(|name| number_of(file, name)));
        numbers.extend(there.filter_map(|entry| number_of(file, &entry.file_name())));
        numbers.into_iter().map(|number| numbered(file, number)).collect()
    }
}

/// The plan's text, and its ports' files by absolute paths.
pub fn text_from_anywhere(plan: &PacketPlan) -> String {
    plan.to_toml_from_anywhere(|address| {
        let address: Address = address.parse().ok()?;
        let is_file = address.file().is_some() || !address.beside(1).is_empty();
        is_file.then(|| address.from_anywhere().to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::packets::capture::CapturePlanFile;
    use plan::packets::send::SendPlanFile;

    fn refused(files: &RunFiles, options: &Options) -> String {
        files.guard(options).map_err(|failure| failure.into_error().to_string()).err().unwrap_or_default()
    }

    #[test]
    fn comparisons_know_the_keys_of_files() {
        for key in plan::packets::FILES {
            assert!(store::held::names_a_file(&format!("send.{key}"), "\"a\""), "{key}");
        }
        for key in plan::packets::PORTS {
            assert!(store::held::names_a_file(key, "\"pcap:a\""), "{key}");
        }
    }

    #[test]
    fn no_capture_is_written_that_is_read_and_none_twice() {
        let send = |text: &str| {
            let file = SendPlanFile::from_toml(&format!("[send]\n{text}\n"), "a test").unwrap();
            RunFiles::of_frames(&file.resolve().unwrap().1)
        };
        let capture = |text: &str| {
            let file = CapturePlanFile::from_toml(&format!("[capture]\n{text}\n"), "a test").unwrap();
            RunFiles::of_frames(&file.resolve().unwrap().1)
        };
        let none = Options::default();
        let junit = |file: &str| Options { junit: Some(file.into()), ..Options::default() };
        for files in [
            send("port = \"pcap:x\"\nreplay = \"x\""),
            send("port = \"pcap,format=pcap:x\"\nrate = \"1/s\"\n[frames]\npcap = \"x\""),
            send("port = \"record,file=x:pcap:./x\"\nrate = \"1/s\""),
            capture("port = \"pcap,interface=0:x\"\nwrite = \"x\""),
            capture("port = \"pcap:x-00001.pcap\"\nwrite = \"x.pcap\"\nrotate = \"5\""),
            capture("port = \"pcap:x-00017.pcap\"\nwrite = \"./x.pcap\"\nrotate = \"5\""),
            capture("port = \"record,file=x:pcap:x\""),
        ] {
            assert!(!refused(&files, &none).is_empty(), "{files:?}");
        }
        let files = send("port = \"trace,file=t:pcap:x\"\nrate = \"1/s\"\nreceive = \"pcap:y\"");
        assert_eq!(files.inputs, [PathBuf::from("y")]);
        for name in ["x", "y", "t"] {
            assert!(!refused(&files, &junit(name)).is_empty(), "{name}");
        }
        assert_eq!(
            refused(&files, &none) + &refused(&files, &junit("z")) + &refused(&files, &junit("-")),
            ""
        );
        assert_eq!(capture("port = \"pcap,interface=0:x\"").inputs, [PathBuf::from("x")]);
        let rotated = capture("port = \"pcap:y\"\nwrite = \"x.pcap\"\nrotate = \"5\"");
        assert!(!refused(&rotated, &junit("x-00100.pcap")).is_empty());
        assert_eq!(refused(&rotated, &junit("x-100.pcap")) + &refused(&rotated, &junit("x-.pcap")), "");
        let out = |file: &str| Options { out: Some("o".into()), save: true, ..junit(file) };
        assert!(!refused(&files, &out("o/intervals.jsonl")).is_empty());
        assert_eq!(refused(&files, &out("o/rows.csv")), "");
        let read = Options { reads: vec!["z".into()], ..junit("z") };
        assert!(!refused(&files, &read).is_empty());
        let mut read = junit("t2");
        read.live.token = Some("@t2".to_owned());
        assert!(!refused(&files, &read).is_empty());
    }
}
