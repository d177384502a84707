//! A toy of a module for tests: it speaks the link's language at the other end of a socket, and its wire is a
//! cable to itself.

use super::link::{self, BEAT, Head, LONGEST, Leaves, MODULE, Report, Why, kind};
use super::registers::*;
use super::transport::Transport;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Ticks that a frame of 1518 bytes needs are enough for any here.
const FRAME_TICKS: u64 = 1_538;
const CREDITS: u64 = 2_048;

/// What is wrong with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trick {
    None,
    Magic(u32),
    Layout(u32),
    Major(u32),
    /// It grants nothing but what it grants first.
    Stingy,
    /// It refuses every frame.
    Refuses(Why),
    /// It tells no departure but every second.
    Forgetful,
    /// It tells departures a quarter of a second after the mark that followed the frames.
    Tardy,
    /// Every tenth frame is lost on the way to it.
    Loses,
    /// It hears every second question only.
    Deaf,
    /// Some of the frames that it received are lost on the way from it.
    Drops,
    /// It does all writes and answers every third.
    Mumbles,
}

/// What a test tells it meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum Tell {
    Wire(bool),
    Hang,
}

/// Address and value of each word, write by write.
type Written = Vec<Vec<(u32, u32)>>;

pub struct Toy {
    pub tell: Sender<Tell>,
    /// The words of each write that it heard.
    pub written: Arc<Mutex<Written>>,
    thread: Option<JoinHandle<()>>,
}

impl Toy {
    /// A toy, and the transport to it.
    pub fn new(trick: Trick) -> (Self, Transport) {
        let (mut transport, socket) = Transport::pair().unwrap();
        if matches!(trick, Trick::Deaf | Trick::Mumbles) {
            transport.patience = std::time::Duration::from_millis(20);
        }
        let (tell, told) = channel();
        let written = Arc::<Mutex<Written>>::default();
        let mut state = Inner {
            socket,
            trick,
            told,
            host: [0; 6],
            number: 0,
            registers: HashMap::new(),
            granted: 0,
            tick: 1_000,
            departures: 0,
            late_reports: Vec::new(),
            asked: 0,
            expected: 0,
            frames: 0,
            written: written.clone(),
        };
        let thread = std::thread::spawn(move || state.run());
        (Self { tell, written, thread: Some(thread) }, transport)
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        let _ = self.tell.send(Tell::Hang);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

struct Inner {
    socket: OwnedFd,
    trick: Trick,
    told: Receiver<Tell>,
    host: [u8; 6],
    number: u16,
    registers: HashMap<u32, u32>,
    granted: u64,
    tick: u64,
    departures: u32,
    /// What a tardy one has not told yet.
    late_reports: Vec<Report>,
    asked: u64,
    /// The number that comes next, and frames that came, or were lost.
    expected: u16,
    frames: u64,
    written: Arc<Mutex<Written>>,
}

impl Inner {
    fn run(&mut self) {
        rustix::net::sockopt::set_socket_timeout(
            &self.socket,
            rustix::net::sockopt::Timeout::Recv,
            Some(std::time::Duration::from_millis(2)),
        )
        .unwrap();
        let mut room = [0; LONGEST];
        loop {
            while let Ok(told) = self.told.try_recv() {
                match told {
                    Tell::Hang => return,
                    Tell::Wire(up) => {
                        let detail = u32::from(Why::Wire.number());
                        self.say(kind::ERROR, None, detail, up.into(), &[]);
                    }
                }
            }
            match recv(&self.socket, &mut room, RecvFlags::empty()) {
                Ok((_, 0)) => return,
                Ok((_, length)) => {
                    let (head, body) = Head::read(&room[..length]).unwrap();
                    self.hear(&head, body);
                }
                Err(_) => {}
            }
        }
    }

    fn say(&mut self, kind: u8, number: Option<u16>, detail: u32, value: u64, body: &[u8]) {
        // Only what nobody asked for has numbers of its own.
        let number = number.unwrap_or_else(|| {
            self.number = self.number.wrapping_add(1);
            self.number
        });
        if kind == kind::RECEIVED && self.trick == Trick::Drops && number.is_multiple_of(5) {
            return;
        }
        let bytes = Head { to: self.host, from: MODULE, kind, number, detail, value }.frame(body);
        let _ = send(&self.socket, &bytes, SendFlags::NOSIGNAL);
    }

    fn error(&mut self, number: u16, why: Why, of: u8, value: u64) {
        let detail = u32::from(why.number()) | u32::from(of) << 8;
        self.say(kind::ERROR, Some(number), detail, value, &[]);
    }

    fn grant(&mut self, beats: u64) {
        self.granted += beats;
        self.say(kind::CREDIT, None, beats as u32, self.granted, &[]);
    }

    fn hear(&mut self, head: &Head, body: &[u8]) {
        self.asked += 1;
        if self.trick == Trick::Deaf && matches!(head.kind, 1..=3) && self.asked % 2 == 1 {
            return;
        }
        if head.kind == kind::FRAME {
            self.frames += 1;
            if self.trick == Trick::Loses && self.frames.is_multiple_of(10) {
                return;
            }
        }
        if self.trick == Trick::Loses && head.kind != kind::HELLO && head.number != self.expected {
            self.error(head.number, Why::Lost, head.kind, self.expected.into());
        }
        self.expected = head.number.wrapping_add(1);
        let answer = head.kind | kind::ANSWER;
        match head.kind {
            kind::HELLO => {
                (self.host, self.granted, self.departures) = (head.from, 0, 0);
                let layout = if let Trick::Layout(layout) = self.trick { layout } else { LAYOUT_HASH };
                let magic = if let Trick::Magic(magic) = self.trick { magic } else { 0x5441_5245 };
                let value = u64::from(layout) | u64::from(magic) << 32;
                self.say(answer, Some(head.number), 0xb01d, value, &[]);
                self.grant(CREDITS);
            }
            kind::READ => {
                let pairs: Vec<_> =
                    link::read_words(body).map(|(address, _)| (address, self.register(address))).collect();
                self.say(answer, Some(head.number), pairs.len() as u32, 0, &link::words(pairs));
            }
            kind::WRITE => {
                let count = body.len() / BEAT;
                link::read_words(body).for_each(|(address, value)| self.write(address, value));
                let mut written = self.written.lock().unwrap();
                written.push(link::read_words(body).collect());
                let is_heard = self.trick != Trick::Mumbles || written.len().is_multiple_of(3);
                drop(written);
                if is_heard {
                    self.say(answer, Some(head.number), count as u32, 0, &[]);
                }
            }
            kind::FRAME => self.frame(head, body),
            kind::MARK => {
                self.say(answer, None, head.value as u32, self.tick, &[]);
                let late = std::mem::take(&mut self.late_reports);
                if !late.is_empty() {
                    std::thread::sleep(std::time::Duration::from_millis(250));
                }
                late.iter().for_each(|report| self.say(kind::DEPARTED, None, 1, 0, &report.bytes()));
            }
            other => self.error(head.number, Why::Kind, other, other.into()),
        }
    }

    fn register(&self, address: u32) -> u32 {
        match address {
            _ if address == VERSION.address => match self.trick {
                Trick::Major(major) => major << 16,
                _ => 1 << 16,
            },
            _ if address == STATUS.address => (STATUS_IDLE.place(1) | STATUS_WIRE.place(1)) as u32,
            _ => self.registers.get(&address).copied().unwrap_or_default(),
        }
    }

    fn write(&mut self, address: u32, value: u32) {
        self.registers.insert(address, value);
        if address == COMMAND.address && COMMAND_CAPTURE.of(value.into()) == 1 {
            self.tick += 10;
            let ns = self.tick * 8;
            for (register, value) in [(&CAPTURED_TICK, self.tick), (&CAPTURED_TIME, ns)] {
                for (n, address) in register.words().enumerate() {
                    self.registers.insert(address, (value >> (32 * n)) as u32);
                }
            }
        }
    }

    fn frame(&mut self, head: &Head, body: &[u8]) {
        if let Trick::Refuses(why) = self.trick {
            return self.error(head.number, why, kind::FRAME, body.len() as u64);
        }
        let (start_tick, late_ticks) = match Leaves::read(head.detail, head.value) {
            Leaves::At(tick) if tick >= self.tick => (tick, 0),
            Leaves::At(tick) => (self.tick, self.tick - tick),
            _ => (self.tick, 0),
        };
        self.tick = start_tick + FRAME_TICKS;
        if LINK_RECEIVED.of(self.register(LINK.address).into()) == 1 {
            self.say(kind::RECEIVED, None, 0, start_tick + 7, body);
        }
        let report = Report { start_tick, late_ticks, number: self.departures };
        self.departures += 1;
        if self.trick == Trick::Tardy {
            self.late_reports.push(report);
        } else if self.trick != Trick::Forgetful || self.departures.is_multiple_of(2) {
            let untold = if self.trick == Trick::Forgetful { u64::from(self.departures / 2) } else { 0 };
            self.say(kind::DEPARTED, None, 1, untold, &report.bytes());
        }
        if self.trick != Trick::Stingy {
            self.grant(link::beats(body.len()));
        }
    }
}
