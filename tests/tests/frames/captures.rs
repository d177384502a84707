//! Capture files by others' word: what the ports write is read by tshark, capinfos and tcpdump; what tcpdump
//! and dumpcap write is read here; and a record of a port is what tcpdump saw on the same wire.

use bed::{Bed, Topology};
use port::pcap::{Described, Format, Reader, Rotating, Rotation, Statistics, Style, Writer};
use port::{Port, Stamp, Wish};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tare_system_tests::{beside_others, need, scratch};
use units::Picos;

const START: u64 = 1_700_000_000_123_456_789;

fn out_of(program: &str, arguments: &[&str]) -> String {
    need(program);
    let out =
        Command::new(program).args(arguments).env("LC_ALL", "C.UTF-8").output().expect("it can be started");
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(out.stdout).expect("text")
}

/// A UDP datagram of `length` bytes in all, numbered.
fn frame(number: u32, length: usize) -> Vec<u8> {
    let mut frame = vec![0x02, 0x18, 0, 0, 0, 0x99, 0x02, 0x18, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0];
    frame.extend((length as u16 - 14).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 99, 4, 0, 0, 9]);
    frame.extend((length as u16 - 34).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(number.to_be_bytes());
    frame.resize(length, number as u8);
    frame
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lengths 46 to 1514, 700 ns apart.
fn frames() -> Vec<(u64, Vec<u8>)> {
    (0..300_u32).map(|n| (START + u64::from(n) * 700, frame(n, 46 + (n as usize * 37) % 1_469))).collect()
}

fn write(path: &Path, style: Style) {
    let mut writer = Writer::create(path, style).expect("a scratch file");
    for (stamp, data) in frames() {
        writer.frame(Stamp(stamp), data.len(), &data, 2).expect("room");
    }
    let lost = Statistics { received: 1_000, dropped_by_interface: 5, dropped_by_kernel: 7 };
    writer.finish(&lost).expect("room");
}

/// Every frame of a file: nanoseconds since 1970, length on the wire, bytes.
fn read(path: &Path) -> Vec<(u64, usize, Vec<u8>)> {
    let mut reader = Reader::open(path).expect("a capture");
    let mut all = Vec::new();
    while let Some(f) = reader.next_ethernet().expect("a whole capture") {
        all.push((f.stamp.as_unix_nanos(), f.length, f.data.to_vec()));
    }
    all
}

#[test]
fn tshark_reads_every_format_as_it_was_written() {
    let _turn = beside_others();
    let folder = scratch();
    for (name, format, step) in [
        ("a.pcapng", Format::PcapNg, 1),
        ("a.pcap", Format::PcapNanos, 1),
        ("us.pcap", Format::PcapMicros, 1_000),
    ] {
        let path = folder.path().join(name);
        let described = Described { name: "veth0".into(), filter: "udp port 9".into(), snap: 0 };
        write(&path, Style { format, described, has_queues: format == Format::PcapNg });
        let path = path.to_str().expect("a plain name");
        let fields = ["frame.time_epoch", "frame.len", "frame.cap_len", "udp.dstport", "udp.payload"];
        let mut arguments = vec!["-r", path, "-T", "fields", "-o", "ip.check_checksum:FALSE"];
        fields.iter().for_each(|field| arguments.extend(["-e", field]));
        let said = out_of("tshark", &arguments);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 300, "{name}");
        for (line, (stamp, data)) in lines.iter().zip(frames()) {
            let stamp = stamp / step * step;
            let time = format!("{}.{:09}", stamp / 1_000_000_000, stamp % 1_000_000_000);
            let expected = format!("{time}\t{0}\t{0}\t9\t{1}", data.len(), hex(&data[42..]));
            // Some versions print fewer digits of microseconds.
            let short = expected.replacen(&time, time.trim_end_matches("000"), 1);
            assert!(**line == expected || **line == short, "{name}: {line} is not {expected}");
        }
        let malformed =
            out_of("tshark", &["-r", path, "-Y", "_ws.malformed || _ws.expert.severity >= 0x600000"]);
        assert_eq!(malformed, "", "{name}");
    }
}

#[test]
fn capinfos_finds_counts_times_interface_and_losses() {
    let _turn = beside_others();
    let folder = scratch();
    let path = folder.path().join("a.pcapng");
    let described = Described { name: "veth0".into(), filter: "udp port 9".into(), snap: 0 };
    write(&path, Style { described, ..Style::default() });
    let said = out_of("capinfos", &["-M", path.to_str().expect("a plain name")]);
    let bytes: usize = frames().iter().map(|(_, data)| data.len()).sum();
    for (key, value) in [
        ("File type:", "pcapng".to_owned()),
        ("File encapsulation:", "ether".to_owned()),
        ("File timestamp precision:", "nanoseconds (9)".to_owned()),
        ("Number of packets:", "300".to_owned()),
        ("Data size:", format!("{bytes} bytes")),
        ("Name =", "veth0".to_owned()),
        ("Filter string =", "udp port 9".to_owned()),
    ] {
        let line = said.lines().find(|line| line.contains(key)).unwrap_or_else(|| panic!("{key} in {said}"));
        assert!(line.contains(&value), "{line} is not {value}");
    }
    assert!(said.contains("Capture application: Tare") || said.contains("Tare 0."), "{said}");
    // What was lost, by tshark's own reading of the statistics block.
    let dropped = Reader::open(&path).and_then(|mut reader| {
        while reader.next()?.is_some() {}
        Ok(reader.interfaces()[0].dropped)
    });
    assert_eq!(dropped.expect("a capture"), Some(12));
}

#[test]
fn tcpdump_reads_files_of_a_rotation_each_by_itself() {
    let _turn = beside_others();
    let folder = scratch();
    let path = folder.path().join("r.pcapng");
    let rotation = Rotation { frames: Some(100), ..Rotation::default() };
    let mut files = Rotating::create(&path, Style::default(), rotation).expect("a scratch file");
    for (stamp, data) in frames() {
        files.frame(Stamp(stamp), data.len(), &data, 0).expect("room");
    }
    files.finish(&Statistics::default()).expect("room");
    for number in 1..=3 {
        let one = folder.path().join(format!("r-{number:05}.pcapng"));
        let said = out_of("tcpdump", &["-nn", "-r", one.to_str().expect("a plain name")]);
        assert_eq!(said.lines().count(), 100);
    }
}

/// A program that captures inside the bed's sink until it is ended.
struct Capturer(Child);

impl Capturer {
    fn start(bed: &Bed, program: &str, arguments: &[&str], file: &Path) -> Self {
        need(program);
        let mut command = bed.sink().command(program);
        let child = command.args(arguments).arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let capturer = Self(child.expect("it can be started"));
        let until = Instant::now() + Duration::from_secs(10);
        // It writes its header when it listens.
        while std::fs::metadata(file).map_or(0, |m| m.len()) == 0 {
            assert!(Instant::now() < until, "{program} does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(300));
        capturer
    }

    /// Ends it when `file` has so many bytes: what it has not read by then, it throws away.
    fn end(mut self, file: &Path, least: usize) {
        let until = Instant::now() + Duration::from_secs(5);
        while std::fs::metadata(file).map_or(0, |m| m.len()) < least as u64 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        let _ = self.0.wait();
    }
}

impl Drop for Capturer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn send(port: &mut dyn Port, frames: &[Vec<u8>]) {
    let mut sent = 0;
    for _ in 0..10_000 {
        if sent == frames.len() {
            break;
        }
        let mut next = sent;
        let most = (frames.len() - sent).min(32);
        sent += port
            .transmit(most, &mut |slot| {
                slot.data[..frames[next].len()].copy_from_slice(&frames[next]);
                slot.length = frames[next].len();
                next += 1;
            })
            .expect("frames are taken");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(sent, frames.len());
    assert!(port.flush(Picos::from_millis(2_000)).expect("it can be flushed"));
}

#[test]
fn what_tcpdump_and_dumpcap_write_is_read_and_equals_a_record_of_the_same_wire() {
    let _turn = beside_others();
    let folder = scratch();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let sent: Vec<Vec<u8>> = frames()
        .into_iter()
        .map(|(_, data)| data)
        .map(|mut f| {
            f.resize(f.len().max(60), 0);
            f
        })
        .collect();
    for (program, arguments, name, format, step) in [
        (
            "tcpdump",
            &["-Z", "root", "-U", "-i", "sink0", "--time-stamp-precision=nano", "-w"][..],
            "t.pcap",
            Format::PcapNanos,
            1,
        ),
        ("tcpdump", &["-Z", "root", "-U", "-i", "sink0", "-w"][..], "u.pcap", Format::PcapMicros, 1_000),
        ("dumpcap", &["-q", "-i", "sink0", "-w"][..], "d.pcapng", Format::PcapNg, 1),
    ] {
        let bed = Bed::up(&Topology::unique()).expect("namespaces can be made");
        let theirs = at(name);
        let capturer = Capturer::start(&bed, program, arguments, &theirs);
        let ours = at(&format!("{name}.pcapng"));
        let open = |text: String, wish: Wish| port::open(&text.parse()?, &wish);
        let mut receiver = bed
            .sink()
            .run_in(|| open(format!("record,file={}:packet:sink0", ours.display()), Wish::receive()))
            .expect("a namespace")
            .expect("a port");
        let mut sender = bed
            .generator()
            .run_in(|| open("packet:gen0".to_owned(), Wish::transmit()))
            .expect("a namespace")
            .expect("a port");
        let mut seen = Vec::new();
        for piece in sent.chunks(50) {
            send(&mut *sender, piece);
            let until = Instant::now() + Duration::from_secs(3);
            let goal = seen.len() + piece.len();
            while seen.len() < goal && Instant::now() < until {
                receiver.receive(64, &mut |f| seen.push(f.data.to_vec())).expect("frames");
            }
        }
        capturer.end(&theirs, sent.iter().map(|frame| frame.len() + 16).sum());
        drop(receiver);
        assert_eq!(Reader::open(&theirs).expect("a capture").format(), format);
        let (theirs, ours) = (read(&theirs), read(&ours));
        let bytes =
            |all: &[(u64, usize, Vec<u8>)]| -> Vec<Vec<u8>> { all.iter().map(|f| f.2.clone()).collect() };
        assert_eq!(seen, sent, "{program}");
        assert_eq!(bytes(&ours), sent, "{program}: the record");
        assert_eq!(bytes(&theirs), sent, "{program}: its file");
        // The kernel stamps a frame once, for all sockets that see it; microseconds cut off the rest.
        let same = ours.iter().zip(&theirs).filter(|(a, b)| a.0 / step == b.0 / step).count();
        assert!(same >= 290, "{program}: {same} of 300 stamps are the same");
    }
}

#[test]
fn a_replay_sends_the_same_bytes_again() {
    let _turn = beside_others();
    let folder = scratch();
    let (first, second) = (folder.path().join("1.pcapng"), folder.path().join("2.pcapng"));
    write(&first, Style::default());
    let mut source =
        port::open(&format!("pcap:{}", first.display()).parse().expect("an address"), &Wish::receive())
            .expect("a file");
    let mut sink =
        port::open(&format!("pcap:{}", second.display()).parse().expect("an address"), &Wish::transmit())
            .expect("a file");
    let mut all = Vec::new();
    while source.receive(100, &mut |f| all.push((f.stamp, f.data.to_vec()))).is_ok() {}
    for (stamp, data) in &all {
        let taken = sink.transmit(1, &mut |slot| {
            slot.data[..data.len()].copy_from_slice(data);
            (slot.length, slot.launch) = (data.len(), *stamp);
        });
        assert_eq!(taken.expect("room"), 1);
    }
    drop(sink);
    assert_eq!(read(&first), read(&second));
}
