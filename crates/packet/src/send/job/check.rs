//! What would keep a run from starting, found without opening a port: the same steps as in `prepare`, up to
//! where this host would be changed or somebody asked.

use super::super::offload;
use super::super::source::{self, Recording, Room};
use super::SendJob;
use super::prepare::{self, Look, Times};
use crate::{PacketError, lists};
use plan::packets::send::{Pace, SendPlan};
use port::{About, Address, PortKind, check};
use std::path::Path;

/// Of a file that is longer, a look at a plan reads the beginning.
const SHORT: u64 = 64 << 20;

impl SendJob {
    /// Whether [`Self::prepare`] would fail, as far as that can be told beforehand.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(plan: &SendPlan) -> Result<(), PacketError> {
        if prepare::recorded(plan).0.is_some_and(is_read_once) {
            // Left for the run, and with it all that the frames decide.
            return Ok(plan.port.parse::<Address>().map(drop)?);
        }
        let Look { recording, tape, sides, template, spec, .. } = Look::of(plan)?;
        let address: Address = plan.port.parse()?;
        let known = |address: &Address, queue| {
            let about = check(address, &prepare::wish(plan, &template, plan.spin, queue));
            let about = about.map_err(|error| prepare::in_sizes(&plan.lengths, error))?;
            prepare::transmits(&about)?;
            Ok::<About, PacketError>(about)
        };
        let mut abouts =
            (0..plan.queues).map(|queue| known(&address, queue)).collect::<Result<Vec<_>, _>>()?;
        abouts.truncate(1);
        if let Some(split) = &plan.split {
            abouts.push(known(&split.servers.parse()?, 0)?);
        }
        prepare::fits(plan, &template, &sides, &abouts.iter().collect::<Vec<_>>())?;
        let Some(about) = abouts.first() else { return Ok(()) };
        let line_bps = plan.line_bps.or(about.speed_bps);
        let times = Times::of(plan, &template, spec.as_ref(), recording.as_ref(), line_bps)?;
        prepare::check_receiver(plan)?;
        if let Some(receiver) = &plan.receive {
            check(&receiver.parse()?, &prepare::receiving(template.longest()))?;
        }
        let makes_frames = address.innermost().kind() == PortKind::Live;
        if makes_frames {
            offload::check(plan, times.pattern.as_ref(), template.is_signed())?;
        }
        let port_has_frames = makes_frames || address.innermost().kind() == PortKind::Fpga;
        prepare::scripts(plan, about, &template, port_has_frames, tape.is_some()).map(drop)
    }

    /// Whether the files that the plan names would do, as far as that is known without a port, and without
    /// reading a long one to its end.
    ///
    /// # Errors
    /// What [`Self::prepare`] would say.
    pub fn check_files(plan: &SendPlan) -> Result<(), PacketError> {
        match prepare::recorded(plan).0 {
            Some(file) if is_read_once(file) => {}
            Some(file) if is_long(file) => {
                port::pcap::Reader::open(file)?.next_ethernet()?;
            }
            Some(file) => {
                let mut recording = Recording::read(file, Room::of(plan))?;
                source::check_times(plan, &recording)?;
                source::taken(plan, &mut recording)?;
            }
            None => {
                source::made(plan, |_| (None, None))?;
            }
        }
        match &plan.pace {
            Pace::Gaps(file) if !is_long(file) => lists::gaps(file).map(drop),
            _ => Ok(()),
        }
    }
}

/// Standard input, a pipe, a device: what a check reads is gone, and it may wait for a writer for ever.
fn is_read_once(file: &Path) -> bool {
    let is_other = || std::fs::metadata(file).is_ok_and(|file| !file.is_file() && !file.is_dir());
    file == Path::new("-") || is_other()
}

/// To read it would take a while.
fn is_long(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|file| file.len() > SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Typed;
    use plan::packets::send::SendPlanFile;

    fn said(edit: impl FnOnce(&mut SendPlanFile)) -> String {
        let mut file = SendPlanFile::default();
        file.send.port = Some("mem:checked".to_owned());
        edit(&mut file);
        let (plan, _) = file.resolve().expect("a plan");
        SendJob::check(&plan).map_or_else(|error| error.to_string(), |()| "it can start".to_owned())
    }

    #[test]
    fn what_would_not_start_is_told_and_nothing_is_made() {
        assert_eq!(said(|_| ()), "it can start");
        let none = "/nowhere/file.pcap";
        assert!(said(|file| file.send.replay = Some(none.to_owned())).contains("No such file"));
        assert!(said(|file| file.frames.pcap = Some(none.to_owned())).contains("No such file"));
        assert!(said(|file| file.send.gaps = Some(none.to_owned())).contains("a gap in nanoseconds"));
        assert!(said(|file| file.send.lengths = Some(none.to_owned())).contains("a payload"));
        assert!(
            said(|file| file.send.receive = Some("pcap:/nowhere/in.pcap".to_owned())).contains("/nowhere")
        );
        let at = |port: &str| said(|file| file.send.port = Some(port.to_owned()));
        assert!(at("udp:bogus").contains("has no address and port of a peer"), "{}", at("udp:bogus"));
        assert!(at("live:lo").contains("cannot send frames of XDP programs"), "{}", at("live:lo"));
        assert!(at("record,file=/nowhere/a.pcap:mem:x").contains("cannot be written"));
        assert!(
            at("pcap:/nowhere/out.pcap").contains("cannot be written"),
            "{}",
            at("pcap:/nowhere/out.pcap")
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcap");
        assert_eq!(at(&format!("pcap:{}", path.display())), "it can start");
        let two = said(|file| {
            file.send.port = Some(format!("pcap:{}", path.display()));
            file.send.queues = Some(Typed::from("2"));
        });
        assert!(two.contains("pcap has one queue, not 2"), "{two}");
        assert!(!path.exists(), "a check makes no file");
    }

    #[test]
    fn a_named_pipe_and_standard_input_are_left_for_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let pipe = pipe.display().to_string();
        for file in [pipe.as_str(), "-"] {
            assert_eq!(said(|plan| plan.send.replay = Some(file.to_owned())), "it can start");
            assert_eq!(said(|plan| plan.frames.pcap = Some(file.to_owned())), "it can start");
        }
        assert!(said(|plan| plan.send.gaps = Some(pipe.clone())).contains("is not a regular file"));
        assert_ne!(said(|plan| plan.send.replay = Some("/".to_owned())), "it can start");
    }

    #[test]
    fn a_frame_that_is_longer_than_the_interface_takes_is_refused_as_by_the_run() {
        let long = |port: &str, size: &str| {
            said(|file| {
                file.send.port = Some(port.to_owned());
                file.frames.size = Some(Typed::from(size));
            })
        };
        // The datagram, not the frame with its FCS, is what IPv4 has room for: 14 + 65 535 bytes.
        assert_eq!(long("udp:127.0.0.1:9", "1518"), "it can start");
        let tap = long("tap,mtu=1500:tare-none", "9000");
        assert!(tap.starts_with("a frame size of 9000 is more than tap,mtu=1500:tare-none accepts"), "{tap}");
        // A port behind another, and an option of it that this interface cannot keep.
        assert!(long("fault,drop=1%:packet:none9", "64").contains("there is no interface 'none9'"));
        assert!(long("packet,launch=auto:lo", "64").contains("launch=auto"));
        assert_eq!(long("packet:lo", "64"), "it can start");
    }
}
