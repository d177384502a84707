//! `forward --xdp` between veth pairs in namespaces of the test: what the far port refuses is missed, and never
//! forwarded. Needs root.

use bed::{Bed, Middlebox, Namespace, Topology};
use clock::HostClock;
use packet::forward::{Back, ForwardSetup, KernelForward};
use packet::{Findings, Job, JobControl, PacketError};
use port::interface::Interface;
use port::{For, Port, Wish};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use units::{Bytes, EngineCounters, Event, Fate, Miss, Phase, Picos, Record};

/// Frames by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    forwarded: u64,
    bytes: u64,
    missed: u64,
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Told>>);

impl Record for Kept {
    fn event(&mut self, event: &Event) {
        panic!("nothing is known of single frames: {event:?}");
    }
    fn missed(&mut self, why: Miss, count: u64) {
        assert_eq!(why, Miss::PortFull);
        self.0.lock().unwrap().missed += count;
    }
    fn frames(&mut self, fate: Fate, count: u64, bytes: Bytes) {
        assert_eq!(fate, Fate::Forwarded);
        let mut told = self.0.lock().unwrap();
        told.forwarded += count;
        told.bytes += bytes.get();
    }
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: units::Instant, _: &EngineCounters) {}
}

fn bed(gro: bool) -> Bed {
    let wire = Topology::unique().middlebox(Middlebox::Wire);
    Bed::up(&if gro { wire.with_gro() } else { wire }).unwrap()
}

fn open(bed: &Bed) -> Result<KernelForward, PacketError> {
    let setup =
        ForwardSetup { back: Back::Pass, duration: Some(Picos::from_secs(60)), ..ForwardSetup::default() };
    let middle = bed.middlebox().unwrap();
    middle.run_in(|| KernelForward::open("mid0", "mid1", setup, HostClock::monotonic())).unwrap()
}

fn received(namespace: &Namespace, interface: &str) -> u64 {
    let asked = namespace.run_in(|| Interface::find(interface).unwrap().statistics().unwrap());
    asked.unwrap().rx_packets
}

/// Sends this many frames into the bed, pausing after each `burst`; forwards meanwhile, and says what became of
/// them.
fn forwarded(bed: &Bed, frames: u64, burst: u64) -> (Told, Findings) {
    let job = Box::new(open(bed).unwrap());
    let (control, kept) = (Arc::new(JobControl::default()), Kept::default());
    let running = job.start(control.clone(), &mut |_| vec![Box::new(kept.clone())]).unwrap();
    let address = "packet:gen0".parse().unwrap();
    let mut gen0 = bed.generator().run_in(|| port::open(&address, &Wish::transmit()).unwrap()).unwrap();
    let before = received(bed.middlebox().unwrap(), "mid0");
    send(&mut *gen0, frames, burst);
    // All that arrived at the middlebox has been told (bounded): its own driver may have had no room for some.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) {
        let arrived = received(bed.middlebox().unwrap(), "mid0") - before;
        std::thread::sleep(Duration::from_millis(100));
        let told = *kept.0.lock().unwrap();
        if told.forwarded + told.missed == arrived && arrived > 0 {
            break;
        }
    }
    control.interrupt();
    let findings = running.join();
    let told = *kept.0.lock().unwrap();
    (told, findings)
}

fn send(port: &mut dyn Port, frames: u64, burst: u64) {
    let mut sent = 0;
    while sent < frames {
        let most = (frames - sent).min(burst).min(64);
        let taken = port.transmit(most as usize, &mut |slot| {
            slot.data[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
            slot.data[14..100].fill(7);
            slot.length = 100;
        });
        match taken.unwrap() {
            0 => drop(port.wait(For::Transmit, Picos::from_millis(100)).unwrap()),
            taken => sent += taken as u64,
        }
        if sent % burst == 0 {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
    assert!(port.flush(Picos::from_secs(2)).unwrap());
}

fn refused(findings: &Findings, port: usize) -> u64 {
    let places = &findings.report.ports[port].drops;
    places.iter().filter(|drop| drop.place == "tx.driver").map(|drop| drop.frames).sum()
}

#[test]
fn a_veth_that_takes_no_frames_of_programs_has_forwarded_none() {
    let bed = bed(false);
    let (told, findings) = forwarded(&bed, 1_000, 32);
    assert_eq!(told, Told { forwarded: 0, bytes: 0, missed: 1_000 });
    assert_eq!((refused(&findings, 0), refused(&findings, 1)), (0, 1_000));
    assert_eq!(received(bed.sink(), "sink0"), 0);
    let note = findings.notes.iter().find(|note| note.contains("refused every frame")).expect("a note");
    assert!(note.starts_with("mid1 ") && note.contains("tare lab up --gro"), "{note}");
}

#[test]
fn a_bed_with_gro_takes_them_all() {
    let bed = bed(true);
    let (told, findings) = forwarded(&bed, 1_000, 32);
    assert_eq!(told, Told { forwarded: 1_000, bytes: 100_000, missed: 0 });
    assert_eq!((refused(&findings, 0), refused(&findings, 1)), (0, 0));
    assert_eq!(received(bed.sink(), "sink0"), 1_000);
    assert!(!findings.notes.iter().any(|note| note.contains("refused")), "{:?}", findings.notes);
}

#[test]
fn what_is_forwarded_is_what_arrives_to_the_frame_when_there_is_too_much() {
    let bed = bed(true);
    let (told, findings) = forwarded(&bed, 100_000, 100_000);
    assert_eq!(told.forwarded, received(bed.sink(), "sink0"), "{told:?}");
    assert_eq!(told.missed, refused(&findings, 1), "{told:?}");
    assert!(told.forwarded > 0 && told.forwarded + told.missed <= 100_000, "{told:?}");
}

#[test]
fn a_second_one_is_told_who_is_there_and_what_to_do() {
    let bed = bed(true);
    let first = open(&bed).unwrap();
    let said = open(&bed).err().expect("the interface is taken").to_string();
    let process = format!("process {} (", std::process::id());
    assert!(said.starts_with("'mid0' has an XDP program already: 'tare_firewall' (number "), "{said}");
    assert!(
        said.contains(", native); ") && said.contains(&process) && said.contains("end that first"),
        "{said}"
    );
    drop(first);
    drop(open(&bed).expect("it is free again"));
}
