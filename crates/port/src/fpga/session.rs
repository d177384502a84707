//! A conversation with a module: frames of the link go out in order with their numbers, and a thread hears what
//! comes.
//!
//! ```text
//!   handles ── Out: number, buffer ──► transport ──► module
//!              State: credits, queues, answers ◄── reader thread ◄──
//! ```
//!
//! Where both locks are held, Out was locked first.

use super::link::{self, HEAD, Head, LONGEST, Said, kind};
use super::process::Process;
use super::state::{Answer, Pending, State};
use super::transport::{Bell, Transport};
use super::writes::Batch;
use crate::PortError;
use crate::interface::Interface;
use clock::{Deadline, Stopwatch};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use units::Picos;

/// How often something is asked before nobody is said to be there.
const TRIES: u32 = 4;
/// The reader looks this often whether it shall end, and keeps a board from thinking that the host has
/// vanished.
const LOOK: Duration = Duration::from_millis(200);
/// Before a mark is tried again that was one too many.
const NAP: Duration = Duration::from_millis(1);

/// What the module says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Hash of the sources it was built from.
    pub build: u32,
    /// Hash of its registers' description.
    pub layout: u32,
    pub magic: u32,
}

/// What the two ends and the reader share.
#[derive(Debug)]
pub(super) struct Core {
    /// As users know it: `fpga:sim`.
    name: String,
    transport: Transport,
    simulated: bool,
    out: Mutex<Out>,
    state: Mutex<State>,
    changed: Condvar,
    closing: AtomicBool,
    wake: Bell,
}

/// The way to the module, for one frame at a time.
#[derive(Debug)]
pub(super) struct Out {
    /// Of the next frame.
    number: u16,
    buffer: Box<[u8; LONGEST]>,
}

/// A session; it ends, and a simulator with it, when the last handle goes.
#[derive(Debug)]
pub(super) struct Session {
    core: Arc<Core>,
    reader: Option<JoinHandle<()>>,
    process: Option<Process>,
}

impl Session {
    /// Begins to listen. Nothing has been said yet.
    ///
    /// # Errors
    /// The system has no descriptor or thread left.
    pub fn new(name: &str, transport: Transport, process: Option<Process>) -> Result<Self, PortError> {
        let failed = |error| PortError::System { what: name.to_owned(), error };
        let core = Arc::new(Core {
            name: name.to_owned(),
            simulated: transport.interface.is_none(),
            transport,
            out: Mutex::new(Out { number: 0, buffer: Box::new([0; LONGEST]) }),
            state: Mutex::default(),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
            wake: Bell::new().map_err(failed)?,
        });
        let own = core.clone();
        let reader = std::thread::Builder::new().name("module".to_owned()).spawn(move || own.listen());
        Ok(Self { core, reader: Some(reader.map_err(failed)?), process })
    }

    pub fn core(&self) -> &Core {
        &self.core
    }

    /// What the simulator said when it ended, after an error that its end may have caused. Without one,
    /// nothing.
    pub fn last_words(&mut self) -> String {
        self.process.as_mut().map(Process::end).unwrap_or_default()
    }

    /// Number of the simulator's process.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.core.closing.store(true, Ordering::Release);
        self.core.wake.ring();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        self.core.transport.hang_up();
    }
}

impl Core {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The one that the link goes by, if it is no socket.
    pub fn interface(&self) -> Option<&Interface> {
        self.transport.interface.as_ref()
    }

    /// Takes in what the kernel dropped of what the module said. Each is a gap in its numbers, too, as soon as
    /// something comes behind it, so for a handle the greater of both counts.
    pub fn count_dropped(&self) {
        let dropped = self.transport.dropped();
        self.state().dropped(dropped);
    }

    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn out(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something is wrong with the device at the other end.
    pub fn wrong(&self, problem: impl Into<String>) -> PortError {
        PortError::Device { port: self.name.clone(), problem: problem.into() }
    }

    /// What is wrong, if nothing goes any more.
    pub fn trouble(&self) -> Option<PortError> {
        let over = self.state().over.clone();
        over.map(|problem| self.wrong(problem)).or_else(|| self.transport.interface.as_ref()?.trouble())
    }

    /// Waits until `is_so` of the state, for at most `patience`. Returns whether it came.
    pub fn wait_until(&self, patience: Duration, mut is_so: impl FnMut(&State) -> bool) -> bool {
        let until = Deadline::after(patience);
        let mut state = self.state();
        loop {
            if is_so(&state) {
                return true;
            }
            let left = until.left();
            if left.is_zero() || state.over.is_some() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Says hello: the module knows this host then, and grants it credits anew.
    ///
    /// # Errors
    /// Nobody answers, or whoever does is no module.
    pub fn hello(&self) -> Result<Hello, PortError> {
        match self.ask(kind::HELLO, 0, &[])? {
            Answer::Hello { build, layout, magic } => Ok(Hello { build, layout, magic }),
            other => Err(self.wrong(format!("its reply to hello is {other:?}"))),
        }
    }

    /// Reads words of registers.
    ///
    /// # Errors
    /// Nobody answers, or there is no such register.
    pub fn read(&self, addresses: &[u32]) -> Result<Vec<u32>, PortError> {
        let mut values = Vec::with_capacity(addresses.len());
        for some in addresses.chunks(link::MOST_WORDS) {
            let body = link::words(some.iter().map(|address| (*address, 0)));
            let Answer::Words(words) = self.ask(kind::READ, 0, &body)? else {
                return Err(self.wrong("its reply to a read is of another kind"));
            };
            if !words.iter().map(|(address, _)| address).eq(some) {
                return Err(self.wrong("its reply to a read is about other registers"));
            }
            values.extend(words.into_iter().map(|(_, value)| value));
        }
        Ok(values)
    }

    /// Writes words of registers, in order. They are written once more if no answer comes, unless that would do
    /// something else.
    ///
    /// # Errors
    /// Nobody answers, or there is no such register.
    pub fn write(&self, batch: &Batch) -> Result<(), PortError> {
        let body = link::words(batch.words.iter().copied());
        let Some(what) = batch.once else { return self.ask(kind::WRITE, 0, &body).map(drop) };
        // It may be late.
        match self.try_once(kind::WRITE, 0, &body, self.transport.patience * TRIES)? {
            Some(_) => Ok(()),
            None => Err(self.wrong(format!(
                "no reply came to a write of {what}, so it is unknown whether it was done; Tare does not \
                 repeat it, because it could be done twice"
            ))),
        }
    }

    /// Waits until everything that was handed over has left, for at most `patience`. Returns whether it has.
    ///
    /// # Errors
    /// The link takes nothing.
    pub fn drain(&self, patience: Duration) -> Result<bool, PortError> {
        let until = Deadline::after(patience);
        loop {
            let number = self.mark()?;
            let left = until.left();
            self.wait_until(left, |state| matches!(state.waiting.get(&number), Some(Some(_))));
            match self.state().waiting.remove(&number).flatten() {
                // Only so many marks may wait.
                Some(Answer::Refused { .. }) if !until.is_over() => std::thread::sleep(NAP),
                Some(answer) => return Ok(matches!(answer, Answer::Marked { .. })),
                None => return Ok(false),
            }
        }
    }

    /// Puts a mark behind all frames that were handed over, which comes back when they have left.
    fn mark(&self) -> Result<u16, PortError> {
        let mut out = self.out();
        let number = out.number;
        self.state().waiting.insert(number, None);
        self.send(&mut out, kind::MARK, 0, number.into(), &[])?;
        Ok(number)
    }

    /// Asks until an answer comes.
    fn ask(&self, kind: u8, value: u64, body: &[u8]) -> Result<Answer, PortError> {
        for _ in 0..TRIES {
            if let Some(answer) = self.try_once(kind, value, body, self.transport.patience)? {
                return Ok(answer);
            }
        }
        let last = self.state().last_error.as_ref().map(|error| format!(" (last heard: {error})"));
        Err(self.wrong(match self.simulated {
            true => "the simulator does not reply".to_owned(),
            false => format!("no module replies on this interface{}", last.unwrap_or_default()),
        }))
    }

    /// Asks, and waits for the answer for at most `patience`.
    fn try_once(
        &self,
        kind: u8,
        value: u64,
        body: &[u8],
        patience: Duration,
    ) -> Result<Option<Answer>, PortError> {
        let mut out = self.out();
        let number = out.number;
        self.state().waiting.insert(number, None);
        let sent = self.send(&mut out, kind, 0, value, body);
        drop(out);
        let is_there = |state: &State| matches!(state.waiting.get(&number), Some(Some(_)));
        let has_come = sent.is_ok() && self.wait_until(patience, is_there);
        let answer = self.state().waiting.remove(&number).flatten();
        sent?;
        match answer.filter(|_| has_come) {
            Some(Answer::Refused { why, value }) => Err(self.wrong(why.says(value))),
            Some(answer) => Ok(Some(answer)),
            None => self.trouble().map_or(Ok(None), Err),
        }
    }

    fn send(&self, out: &mut Out, kind: u8, detail: u32, value: u64, body: &[u8]) -> Result<(), PortError> {
        out.buffer[HEAD..HEAD + body.len()].copy_from_slice(body);
        self.send_buffer(out, kind, detail, value, body.len())
    }

    /// Sends the body that lies in the buffer.
    fn send_buffer(
        &self,
        out: &mut Out,
        kind: u8,
        detail: u32,
        value: u64,
        length: usize,
    ) -> Result<(), PortError> {
        let head = Head {
            to: self.transport.module,
            from: self.transport.own,
            kind,
            number: out.number,
            detail,
            value,
        };
        if let Some(room) = out.buffer.first_chunk_mut() {
            head.write(room, length as u16);
        }
        let whole = (HEAD + length).max(link::SHORTEST);
        out.buffer[HEAD + length..whole].fill(0);
        self.transport.send(&out.buffer[..whole]).map_err(|error| self.unsent(error))?;
        out.number = out.number.wrapping_add(1);
        Ok(())
    }

    fn unsent(&self, error: io::Error) -> PortError {
        let simulator_is_gone = matches!(error.raw_os_error(), Some(libc::EPIPE | libc::ECONNRESET));
        match (self.trouble(), simulator_is_gone) {
            (Some(trouble), _) => trouble,
            (None, true) => self.wrong("the simulator has ended"),
            (None, false) => PortError::System { what: self.name.clone(), error },
        }
    }

    /// Hands a frame over that lies in the buffer of `out` ([`Out::body`]).
    ///
    /// # Errors
    /// The link takes nothing.
    pub fn frame(
        &self,
        out: &mut Out,
        leaves: link::Leaves,
        signature_at: Option<u16>,
        pending: impl FnOnce(u16) -> Pending,
    ) -> Result<(), PortError> {
        let pending = pending(out.number);
        let (detail, value) = leaves.words(signature_at);
        // Before it is sent: its departure may be told of at once.
        self.state().sent(pending);
        let sent = self.send_buffer(out, kind::FRAME, detail, value, pending.bytes);
        if sent.is_err() {
            self.state().unsent();
        }
        sent
    }

    /// The reader: until the session closes, or the other end does.
    fn listen(&self) {
        let mut room = vec![0; 2 * LONGEST];
        let mut quiet_since = Stopwatch::start();
        while !self.closing.load(Ordering::Acquire) {
            match self.transport.receive(&mut room) {
                Ok(Some(0)) => return self.over("the simulator has ended"),
                Ok(Some(length)) => self.hear(&room[..length]),
                Ok(None) => {
                    if let Err(error) = self.transport.wait(&self.wake, LOOK) {
                        return self.over(&error.to_string());
                    }
                    quiet_since = self.stay_known(quiet_since);
                }
                // An interface that is down may come back.
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {}
                Err(error) => return self.over(&error.to_string()),
            }
        }
    }

    /// A board forgets a host that says nothing for long.
    fn stay_known(&self, quiet_since: Stopwatch) -> Stopwatch {
        if self.simulated || quiet_since.elapsed() < LOOK {
            return quiet_since;
        }
        // Nobody waits for the answer. Whoever holds the way is saying something.
        if let Ok(mut out) = self.out.try_lock() {
            let _ =
                self.send(&mut out, kind::READ, 0, 0, &link::words([(super::registers::MAGIC.address, 0)]));
        }
        Stopwatch::start()
    }

    fn hear(&self, frame: &[u8]) {
        let heard = Head::read(frame).and_then(|(head, body)| Ok((head, Said::read(&head, body)?)));
        match heard {
            Ok((head, said)) => self.state().hear(&head, said),
            // A simulator has nothing else to say.
            Err(broken) if self.simulated => return self.over(&broken.to_string()),
            // On an interface there may be other talk of the same EtherType.
            Err(broken) => self.state().last_error = Some(broken.to_string()),
        }
        self.changed.notify_all();
    }

    fn over(&self, why: &str) {
        let mut state = self.state();
        state.over = Some(why.to_owned());
        state.handles.values().for_each(|handle| handle.bell.ring());
        drop(state);
        self.changed.notify_all();
    }
}

impl Out {
    /// Where a frame for the module is put.
    pub fn body(&mut self) -> &mut [u8] {
        &mut self.buffer[HEAD..]
    }
}

/// As much of a patience as one wait can have.
pub(super) fn limited(patience: Picos) -> Duration {
    patience.as_std().min(Duration::from_secs(3_600))
}
