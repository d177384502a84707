//! The simulated FPGA module: what a host does wrong is told, counted, and changes nothing; what happens to its
//! wire is told. Needs root, and the simulator (`make module-sim`).

use bed::{Bed, Topology};
use port::fpga::link::{self, Head, Leaves, MODULE, Said, Why, kind};
use port::fpga::registers::{CONTROL, CONTROL_LIVE, MAGIC, SENT};
use port::{Address, For, PortError, Wish};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use units::Picos;

const LIMIT: Duration = Duration::from_secs(30);

fn simulator() -> PathBuf {
    if let Some(path) = std::env::var_os("TARE_MODULE_SIM") {
        return path.into();
    }
    let own = std::env::current_exe().expect("a running test knows its file");
    let target = own.ancestors().nth(3).expect("target/release/deps/x");
    target.join("module-sim/tare-module-sim")
}

/// A host that may do what no port does.
struct Host {
    socket: OwnedFd,
    child: Child,
    number: u16,
    /// Beats, since hello.
    granted: AtomicU64,
}

impl Host {
    fn new() -> Self {
        let kind = (AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (socket, other) = socketpair(kind.0, kind.1, kind.2, None).unwrap();
        let mut command = Command::new(simulator());
        command.args(["--host-fd", "0", "--loop"]).stdin(Stdio::from(other)).stderr(Stdio::null());
        let child = command.spawn().expect("the simulator is there: make module-sim");
        let mut host = Self { socket, child, number: 0, granted: AtomicU64::new(0) };
        let number = host.say(kind::HELLO, 0, 0, &[]);
        host.until(|head, said| (head.number == number && matches!(said, Said::Hello { .. })).then_some(()));
        host
    }

    fn head(&mut self, kind: u8, detail: u32, value: u64) -> Head {
        let number = self.number;
        self.number = number.wrapping_add(1);
        Head { to: MODULE, from: [2, 0, 0, 0, 0, 1], kind, number, detail, value }
    }

    fn say(&mut self, kind: u8, detail: u32, value: u64, body: &[u8]) -> u16 {
        let head = self.head(kind, detail, value);
        self.put(&head.frame(body));
        head.number
    }

    fn put(&self, bytes: &[u8]) {
        send(&self.socket, bytes, SendFlags::NOSIGNAL).unwrap();
    }

    /// The first of what comes from which `take` takes something.
    #[track_caller]
    fn until<T>(&self, mut take: impl FnMut(&Head, &Said<'_>) -> Option<T>) -> T {
        let until = Instant::now() + LIMIT;
        let mut room = [0; 4_096];
        loop {
            assert!(Instant::now() < until, "it does not come");
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            if poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&second)).unwrap() == 0 {
                continue;
            }
            let (_, length) = recv(&self.socket, &mut room, RecvFlags::empty()).unwrap();
            assert!(length > 0, "the simulator has ended");
            let (head, body) = Head::read(&room[..length]).unwrap();
            if let Said::Credit { total, .. } = Said::read(&head, body).unwrap() {
                self.granted.store(total, Ordering::Relaxed);
            }
            if let Some(taken) = take(&head, &Said::read(&head, body).unwrap()) {
                return taken;
            }
        }
    }

    /// Which error refuses this number, and with what value.
    #[track_caller]
    fn refusal(&self, number: u16) -> (Why, u64) {
        self.until(|head, said| match said {
            Said::Error { why, value, .. } if head.number == number => Some((*why, *value)),
            _ => None,
        })
    }

    fn read(&mut self, address: u32) -> u32 {
        let number = self.say(kind::READ, 0, 0, &link::words([(address, 0)]));
        self.until(|head, said| match said {
            Said::Read(body) if head.number == number => {
                link::read_words(body).next().map(|(_, value)| value)
            }
            _ => None,
        })
    }

    fn write(&mut self, address: u32, value: u32) {
        let number = self.say(kind::WRITE, 0, 0, &link::words([(address, value)]));
        self.until(|head, said| (head.number == number && matches!(said, Said::Written(_))).then_some(()));
    }

    /// It is as it was: it answers, and counted the error.
    #[track_caller]
    fn check(&mut self, why: Why, count: u32) {
        assert_eq!(self.read(MAGIC.address), 0x5441_5245, "after {why:?}");
        let counter = port::fpga::register::Register::named(&format!("link_errors{}", why.number()));
        assert_eq!(self.read(counter.expect("a counter for each").address), count, "{why:?}");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Its socket is open still: whoever ends the test early ends the simulator, too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_a_host_says_wrong_is_told_and_counted_and_the_module_still_answers() {
    let mut host = Host::new();
    host.write(CONTROL.address, CONTROL_LIVE.place(1) as u32);
    // Another version of the link.
    let mut head = host.head(kind::MARK, 0, 1).frame(&[]);
    head[14] = 2;
    host.put(&head);
    assert_eq!(host.refusal(host.number.wrapping_sub(1)), (Why::Version, 2));
    host.check(Why::Version, 1);
    // No such kind.
    let number = host.say(0x77, 0, 0, &[]);
    assert_eq!(host.refusal(number), (Why::Kind, 0x77));
    host.check(Why::Kind, 1);
    // Frames of no bytes, and of fewer than Ethernet has.
    for length in [0, 59] {
        let number = host.say(kind::FRAME, 0, 0, &vec![1; length]);
        assert_eq!(host.refusal(number), (Why::Length, length as u64));
    }
    // A frame that says that it has 10 000 bytes, and one longer than a wire takes.
    let mut long = host.head(kind::FRAME, 0, 0).frame(&[1; 60]);
    long[18..20].copy_from_slice(&10_000_u16.to_le_bytes());
    host.put(&long);
    assert_eq!(host.refusal(host.number.wrapping_sub(1)), (Why::Length, 10_000));
    let number = host.say(kind::FRAME, 0, 0, &[1; 1_519]);
    assert_eq!(host.refusal(number), (Why::Length, 1_519));
    host.check(Why::Length, 4);
    // A gap that no counter holds.
    let (detail, value) = Leaves::AfterStart(1 << 63).words(None);
    let number = host.say(kind::FRAME, detail, value, &[1; 60]);
    // Of the value, the upper 16 bits are told.
    assert_eq!(host.refusal(number), (Why::Time, 1 << 15));
    host.check(Why::Time, 1);
    // A signature that is not in the frame.
    let (detail, value) = Leaves::AtOnce.words(Some(22));
    let number = host.say(kind::FRAME, detail, value, &[1; 60]);
    assert_eq!(host.refusal(number).0, Why::Place);
    host.check(Why::Place, 1);
    // A register that is not there.
    let number = host.say(kind::READ, 0, 0, &link::words([(0xffc, 0)]));
    assert_eq!(host.refusal(number), (Why::Address, 0xffc));
    host.check(Why::Address, 1);
    // A frame when it is the generator's turn.
    host.write(CONTROL.address, 0);
    let number = host.say(kind::FRAME, 0, 0, &[1; 60]);
    assert_eq!(host.refusal(number).0, Why::State);
    host.check(Why::State, 1);
    // Numbers that were left out.
    let expected = host.number;
    host.number = host.number.wrapping_add(7);
    let number = host.say(kind::MARK, 0, 1, &[]);
    assert_eq!(host.refusal(number), (Why::Lost, expected.into()));
    // The frame of another version was not looked into: its number is missing, too.
    host.check(Why::Lost, 2);
    // None of all these frames left.
    assert_eq!(host.read(SENT.address), 0);
}

#[test]
fn a_host_that_ignores_credits_is_refused_and_nothing_is_overrun() {
    let mut host = Host::new();
    host.write(CONTROL.address, CONTROL_LIVE.place(1) as u32);
    host.read(MAGIC.address);
    let granted = host.granted.load(Ordering::Relaxed);
    assert!(granted > 1_000, "{granted}");
    // Frames that wait for a time that does not come soon: 190 beats each.
    let (detail, value) = Leaves::At(1 << 40).words(None);
    let fit = granted / link::beats(1_514);
    let numbers: Vec<u16> = (0..fit + 3).map(|_| host.say(kind::FRAME, detail, value, &[1; 1_514])).collect();
    for number in &numbers[fit as usize..] {
        assert_eq!(host.refusal(*number).0, Why::Credit);
    }
    host.check(Why::Credit, 3);
    // Those that fit are forgotten, one by one.
    use port::fpga::registers::{COMMAND, COMMAND_FORGET, FORGOTTEN};
    host.write(COMMAND.address, COMMAND_FORGET.place(1) as u32);
    let until = Instant::now() + LIMIT;
    while u64::from(host.read(FORGOTTEN.address)) < fit {
        assert!(Instant::now() < until, "{} of {fit} are forgotten", host.read(FORGOTTEN.address));
    }
    assert_eq!(host.read(SENT.address), 0);
}

#[test]
fn a_simulator_ends_when_its_host_goes_whatever_is_queued() {
    let mut host = Host::new();
    host.write(CONTROL.address, CONTROL_LIVE.place(1) as u32);
    let (detail, value) = Leaves::At(1 << 40).words(None);
    host.say(kind::FRAME, detail, value, &[1; 60]);
    // The host's end goes, as when it is killed.
    rustix::net::shutdown(&host.socket, rustix::net::Shutdown::Both).unwrap();
    let until = Instant::now() + LIMIT;
    while host.child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it goes on without a host");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_wire_that_goes_down_in_the_middle_is_told_and_comes_up_again() {
    let bed = Bed::up(&Topology::unique()).expect("namespaces can be made");
    let ip = |words: &str| {
        let name = &bed.generator().name;
        let status = Command::new("ip").args(["-n", name]).args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    };
    let open = |address: &str| port::open(&address.parse::<Address>().unwrap(), &Wish::default()).unwrap();
    let mut module = bed.generator().run_in(|| open("fpga,wire=gen0:sim")).unwrap();
    let mut other = bed.sink().run_in(|| open("packet:sink0")).unwrap();
    let mut send = || {
        module.transmit(1, &mut |slot| {
            slot.data[..100].fill(2);
            slot.data[12..14].copy_from_slice(&[0x88, 0xb6]);
            slot.length = 100;
        })
    };
    assert_eq!(send().unwrap(), 1);
    assert!(other.wait(For::Receive, Picos::from_secs(5)).unwrap());
    ip("link set gen0 down");
    let until = Instant::now() + LIMIT;
    let error = loop {
        match send() {
            Err(error) => break error,
            Ok(_) => assert!(Instant::now() < until, "nobody says that the link is down"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(matches!(error, PortError::Down { .. }), "{error}");
    ip("link set gen0 up");
    while send().is_err() {
        assert!(Instant::now() < until, "the link does not come up");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut arrived = 0;
    while arrived < 2 && Instant::now() < until {
        let _ = other.wait(For::Receive, Picos::from_millis(200));
        arrived += other.receive(64, &mut |_| {}).unwrap_or(0);
        let _ = send();
    }
    assert!(arrived >= 2, "frames pass again");
}

/// Carries frames between an interface and the simulator, which so looks like a board behind it.
fn relay(board: &mut dyn port::Port, host: &Host, stop: &AtomicBool) {
    let mut room = [0; 4_096];
    while !stop.load(Ordering::Relaxed) {
        board.receive(64, &mut |frame| host.put(frame.data)).unwrap();
        while let Ok((_, length)) = recv(&host.socket, &mut room, RecvFlags::DONTWAIT) {
            assert!(length > 0, "the simulator has ended");
            let taken = board.transmit(1, &mut |slot| {
                slot.data[..length].copy_from_slice(&room[..length]);
                slot.length = length;
            });
            assert_eq!(taken.unwrap(), 1);
        }
        let _ = board.wait(For::Receive, Picos::from_millis(1));
    }
}

#[test]
fn a_module_behind_an_interface_is_spoken_with_in_raw_frames() {
    let bed = Bed::up(&Topology::unique().mtu(1_536)).expect("namespaces can be made");
    let mut far = bed
        .sink()
        .run_in(|| port::open(&"packet:sink0".parse().unwrap(), &Wish::default()))
        .unwrap()
        .unwrap();
    let (host, stop) = (Host::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| relay(&mut *far, &host, &stop));
        let result = std::panic::catch_unwind(|| bed.generator().run_in(by_interface).unwrap());
        stop.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn by_interface() {
    let address: Address = "fpga:gen0".parse().unwrap();
    let module = port::fpga::connect(&address).unwrap();
    assert!(!module.is_simulated() && module.process_id().is_none());
    assert_eq!(module.read(&MAGIC).unwrap(), 0x5441_5245);
    let wish = Wish { departures: true, ..Wish::default() };
    let mut port = port::open(&address, &wish).unwrap();
    // Its clock was set to this host's: as near as an exchange of frames tells.
    let time = port.own_time().unwrap().unwrap();
    assert!(!time.simulated && time.bound > Picos::ZERO, "{time:?}");
    let (first, frames) = (time.now.0 + 1_000_000, 200_u64);
    let (mut sent, mut departures, mut came) = (0, Vec::new(), 0);
    let until = Instant::now() + LIMIT;
    while departures.len() < frames as usize {
        assert!(Instant::now() < until, "{sent} sent, {came} came, {:?}", module.errors());
        while sent < frames {
            let taken = port.transmit((frames - sent) as usize, &mut |slot| {
                slot.data[..1_514].fill(3);
                slot.length = 1_514;
                slot.launch = port::Stamp(first + sent * 16_000);
                sent += 1;
            });
            if taken.unwrap() == 0 {
                break;
            }
        }
        came += port.receive(64, &mut |frame| assert_eq!(frame.length, 1_514)).unwrap();
        port.departed(64, &mut |departed| departures.push(*departed)).unwrap();
        let _ = port.wait(For::Receive, Picos::from_millis(1)).unwrap();
    }
    for (n, departed) in departures.iter().enumerate() {
        assert_eq!(departed.number, n as u64);
        // Launch times are rounded down to a tick.
        let early = departed.launch.0 - departed.start.0 + departed.late.as_nanos();
        assert!(early < 8, "{departed:?}");
    }
    while came < frames as usize && port.wait(For::Receive, Picos::from_secs(2)).unwrap() {
        came += port.receive(64, &mut |_| {}).unwrap();
    }
    assert_eq!((came as u64, module.errors()), (frames, Vec::new()));
    // Who comes by another way says hello once more, which would end this session: it may not.
    let second = port::fpga::connect(&"fpga,carrier=no:gen0".parse().unwrap()).map(drop).unwrap_err();
    let own = format!("process {} uses it", std::process::id());
    assert!(second.is_users() && second.to_string().contains(&own), "{second}");
    assert_eq!(module.read(&MAGIC).unwrap(), 0x5441_5245);
    // A link whose frames are too short for the wire's longest says so.
    drop(port);
    drop(module);
    let status = Command::new("ip").args(["link", "set", "gen0", "mtu", "1500"]).status().unwrap();
    assert!(status.success());
    // A program that another test starts at this moment holds a copy of the module's lock until its own code
    // runs.
    let until = Instant::now() + Duration::from_secs(10);
    let error = loop {
        let error = port::open(&address, &Wish::default()).map(|_| ()).unwrap_err().to_string();
        if !error.contains("uses it") || Instant::now() > until {
            break error;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(error.contains("ip link set gen0 mtu 1532"), "{error}");
}
