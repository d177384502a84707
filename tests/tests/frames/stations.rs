//! Crate `station` opposite the kernel: addresses that the generator's kernel does not have are found and
//! pinged from the other namespace, and those that the other namespace has are left alone.

use port::{For, Match, Wish};
use station::{Counters, Link, Outbox, Probing, Route, Station, StationError, Via};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tare_system_tests::bed::{Namespace, Topology, run_in};
use tare_system_tests::{TestBed, beside_others};
use units::Picos;

fn bed() -> TestBed {
    TestBed::up(Topology::unique().ipv6().without_neighbours())
}

/// `port` with these addresses, at the generator's interface.
fn via(bed: &TestBed, port: &str, more: &str) -> Via {
    let generator = bed.generator();
    format!("{port},netns={}:{}{more}", generator.name, generator.interface().name)
        .parse()
        .expect("a station")
}

/// A port with a station, driven by hand.
struct Host {
    port: Box<dyn port::Port>,
    station: Station,
    out: Outbox,
    began: Instant,
}

impl Host {
    fn open(via: &Via) -> Self {
        Self::open_for(via, Some(via.ours()))
    }

    fn open_for(via: &Via, ours: Option<Match>) -> Self {
        let port = port::open(&via.port, &Wish { ours, ..Wish::default() }).expect("a port");
        let link = Link::of(via, port.about()).expect("a link");
        Self { port, station: Station::new(via, &link), out: Outbox::new(), began: Instant::now() }
    }

    fn now(&self) -> units::Instant {
        units::Instant::EPOCH + Picos::from_nanos(self.began.elapsed().as_nanos() as u64)
    }

    /// One batch in, and what is in the outbox out.
    fn turn(&mut self) {
        let now = self.now();
        self.station.tick(now, &mut self.out);
        self.out.send(&mut *self.port).expect("the port transmits");
        self.port.wait(For::Receive, Picos::from_millis(1)).expect("the port waits");
        let (station, out) = (&mut self.station, &mut self.out);
        self.port
            .receive(64, &mut |frame| {
                station.take(frame, now, out);
            })
            .expect("the port receives");
        self.out.send(&mut *self.port).expect("the port transmits");
    }

    /// What the station counted, and frames that the port handed it.
    fn counters(&mut self) -> (Counters, u64) {
        let received = self.port.counters().expect("the port counts").received;
        (self.station.counters().clone(), received)
    }

    fn probe(&mut self) -> Result<(), StationError> {
        loop {
            let next = match self.station.probe(self.now(), &mut self.out)? {
                Probing::Done => break,
                Probing::Until(next) => next,
            };
            self.turn();
            while self.now() < next {
                self.turn();
            }
        }
        self.turn();
        Ok(())
    }

    /// Goes on until there is a way, or none.
    fn route(&mut self, to: IpAddr) -> Route {
        loop {
            match self.station.route(to, self.now(), &mut self.out) {
                Route::Asking => self.turn(),
                found => return found,
            }
            assert!(self.began.elapsed() < Duration::from_secs(30), "still asking for {to}");
        }
    }
}

/// A station that is at work until this is dropped.
struct Running {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<(Counters, u64)>>,
}

impl Running {
    fn start(mut host: Host) -> Self {
        let (stop, stopped): (_, Receiver<()>) = channel();
        let thread = std::thread::spawn(move || {
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                host.turn();
            }
            host.counters()
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }

    fn end(mut self) -> (Counters, u64) {
        drop(self.stop.take());
        self.thread.take().expect("it runs once").join().expect("the station goes on to its end")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

fn ping(from: &Namespace, words: &str) {
    let said = run_in(from, &format!("ping -c 3 -i 0.1 -W 5 {words}"));
    assert!(said.contains(" 0% packet loss"), "{said}");
}

fn known(at: &Namespace, address: &str) -> String {
    let known = run_in(at, &format!("ip neigh show {address}"));
    known.split_whitespace().skip_while(|word| *word != "lladdr").nth(1).unwrap_or_default().to_owned()
}

#[test]
fn the_kernel_finds_and_pings_own_addresses() {
    let _beside = beside_others();
    let bed = bed();
    for (port, mtu) in [("packet", 1_472), ("xdp,mode=copy", 1_400)] {
        let more = ",ip=198.18.0.77-79/24,ip=fd00:18::77-fd00:18::79/64";
        let mut host = Host::open(&via(&bed, port, more));
        host.probe().expect("nobody has these addresses");
        let mac = host.station.mac().to_string();
        let running = Running::start(host);
        for address in ["198.18.0.77", "198.18.0.79", "fd00:18::77", "fd00:18::79"] {
            ping(bed.sink(), address);
            assert_eq!(known(bed.sink(), address), mac, "{port} {address}");
        }
        ping(bed.sink(), &format!("-M do -s {mtu} 198.18.0.78"));
        let (counters, received) = running.end();
        assert_eq!((counters.others, received >= 20), (0, true), "{port}: {counters:?}");
        assert_eq!(counters.echoes, 15, "{port}: {counters:?}");
        assert!(counters.asked >= 5 && counters.all_bad().next().is_none(), "{port}: {counters:?}");
        for address in ["198.18.0.77", "198.18.0.78", "198.18.0.79", "fd00:18::77", "fd00:18::79"] {
            bed.ip(bed.sink(), &format!("neigh del {address} dev {}", bed.sink().interface().name));
        }
    }
}

#[test]
fn a_station_finds_the_kernel_and_who_is_not_there() {
    let _beside = beside_others();
    let bed = bed();
    let far = bed.sink().interface();
    let mut host = Host::open(&via(&bed, "packet", ",ip=198.18.0.77/24,ip=fd00:18::77/64"));
    let mac = station::Mac(far.mac.0);
    for address in [IpAddr::from(far.ipv4.expect("an address")), far.ipv6.expect("an address").into()] {
        assert_eq!(host.route(address), Route::Ready(mac), "{address}");
    }
    let nobody = Route::Unreachable(station::Unreachable::NoReply);
    assert_eq!(host.route("198.18.0.200".parse().expect("an address")), nobody);
    assert_eq!(host.station.counters().unanswered, 1);
}

#[test]
fn an_address_of_the_other_namespace_is_left_to_it() {
    let _beside = beside_others();
    let bed = bed();
    let far = bed.sink().interface();
    let (v4, v6) = (far.ipv4.expect("an address"), far.ipv6.expect("an address"));
    for (more, address) in
        [(format!(",ip={v4}/24"), v4.to_string()), (format!(",ip=198.18.0.99/24,ip={v6}/64"), v6.to_string())]
    {
        let mut host = Host::open(&via(&bed, "packet", &more));
        let error = host.probe().expect_err("the kernel has it").to_string();
        let expected = format!("{address} is in use: {} answers for it", far.mac);
        assert!(error.starts_with(&expected), "{error}");
    }
}

/// Two stations in a VLAN of the same veth pair; the kernel takes the tag out of frames before packet sockets
/// see them.
#[test]
fn stations_in_a_vlan_find_each_other_and_no_others() {
    let _beside = beside_others();
    let bed = bed();
    let near = via(&bed, "packet", ",ip=198.18.7.77/24,ip=fd00:7::77/64,vlan=7");
    let sink = bed.sink();
    let far = |vlan: &str, last: u8| {
        let (name, interface) = (&sink.name, &sink.interface().name);
        let text =
            format!("packet,netns={name}:{interface},ip=198.18.7.{last}/24,ip=fd00:7::{last}/64{vlan}");
        text.parse::<Via>().expect("a station")
    };
    let mut host = Host::open(&near);
    host.probe().expect("nobody has these addresses");
    let there = Host::open(&far(",vlan=7", 2));
    let mac = there.station.mac();
    let elsewhere = [Host::open(&far(",vlan=8", 3)), Host::open(&far("", 4))];
    let running = Running::start(there);
    let others = elsewhere.map(Running::start);
    for address in ["198.18.7.2", "fd00:7::2"] {
        assert_eq!(host.route(address.parse().expect("an address")), Route::Ready(mac), "{address}");
    }
    for address in ["198.18.7.3", "198.18.7.4", "fd00:7::3"] {
        let route = host.route(address.parse().expect("an address"));
        assert_eq!(route, Route::Unreachable(station::Unreachable::NoReply), "{address}");
    }
    assert!(running.end().0.asked >= 2);
    for other in others {
        assert_eq!(other.end(), (Counters::default(), 0), "the kernel's filter keeps other VLANs out");
    }
}

/// While the XDP program takes the frames of own addresses, the kernel's connections through the same queue of
/// the same interface go on.
#[test]
fn the_kernel_goes_on_beside_an_xdp_port_with_own_addresses() {
    const BYTES: usize = 4_000_000;
    let _beside = beside_others();
    let bed = bed();
    let (generator, sink) = (bed.generator(), bed.sink());
    let mut host = Host::open(&via(&bed, "xdp,mode=copy", ",ip=198.18.0.77/24,ip=fd00:18::77/64"));
    host.probe().expect("nobody has these addresses");
    let began = host.counters().1;
    let running = Running::start(host);
    let address = generator.interface().ipv4.expect("an address");
    let listener = generator.run_in(|| TcpListener::bind((address, 0))).expect("inside").expect("a listener");
    let at = listener.local_addr().expect("an address");
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut back = stream.try_clone().expect("the same connection");
        std::io::copy(&mut stream, &mut back).expect("all is sent back")
    });
    let mut stream = sink.run_in(|| TcpStream::connect(at)).expect("inside").expect("a connection");
    let mut writer = stream.try_clone().expect("the same connection");
    let sent: Vec<u8> = (0..BYTES).map(|at| (at * 31 % 251) as u8).collect();
    let written = sent.clone();
    let writing = std::thread::spawn(move || {
        writer.write_all(&written).expect("all is written");
        writer.shutdown(Shutdown::Write).expect("the connection is open");
    });
    for address in ["198.18.0.77", "fd00:18::77"] {
        ping(sink, address);
        // The kernel's own addresses answer, too.
        ping(sink, &generator.interface().ipv4.expect("an address").to_string());
    }
    let mut received = Vec::new();
    stream.read_to_end(&mut received).expect("all comes back");
    writing.join().expect("it was written");
    assert_eq!(echo.join().expect("it was echoed"), BYTES as u64);
    assert!(received == sent, "{} bytes of {BYTES}, or others", received.len());
    let (counters, frames) = running.end();
    assert_eq!((counters.echoes, counters.others), (6, 0), "{counters:?}");
    // Six echo requests, and who asked for the addresses.
    let own = frames - began;
    assert!((6..40).contains(&own), "{own} frames were redirected");
    let kernel = bed.kernel(generator, "rx_packets");
    assert!(kernel > BYTES as u64 / 1_460, "{kernel} frames came in all");
}
