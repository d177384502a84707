//! The module as one thing: who it is, its registers, its time. All ports of one address in one process share
//! it.

use super::link::HEAD;
use super::process::{Process, SimulatorSetup};
use super::register::Register;
use super::registers::{
    CAPTURED_TICK, CAPTURED_TIME, COMMAND, COMMAND_CAPTURE, COMMAND_FORGET, COMMAND_NS_SET, CONTROL,
    CONTROL_LIVE, LAYOUT_HASH, LINK, LINK_DEPARTURES, LINK_PATIENCE, LINK_RECEIVED, NS_FRACTION, NS_VALUE,
    NS_WHOLE, STATUS, STATUS_FORGETTING, STATUS_IDLE, STATUS_WIRE, VERSION, VERSION_MAJOR, VERSION_MINOR,
};
use super::session::{Core, Hello, Session};
use super::time::{Captured, Exchange, Offset, TICK_NS, narrowest};
use super::transport::Transport;
use super::writes::{self, Place};
use crate::PortError;
use clock::Deadline;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wire::signature::EPOCH_UNIX_NS;

/// The letters TARE.
const MAGIC_WORD: u32 = 0x5441_5245;
/// Of the registers' description, that this program was made for.
const MAJOR: u64 = 1;
/// Bytes of Ethernet's header, which an MTU does not count.
const ETHERNET: usize = 14;
/// Exchanges to find the narrowest.
const EXCHANGES: usize = 16;
/// For a module to become idle after it was told to forget.
const IDLE_PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(1);
/// A board sends nothing unasked any more when it has heard nothing from the host for so long: five seconds.
const HOST_PATIENCE_TICKS: u64 = 5 * 125_000_000;

/// A module that was found.
#[derive(Debug)]
pub struct Module {
    session: Session,
    hello: Hello,
    version: (u64, u64),
    /// Settings cannot be read back.
    set: Mutex<Set>,
    /// Where the memories' next word goes, as this program wrote it.
    place: Mutex<Place>,
    /// What was captured is read before it is captured again.
    capture: Mutex<()>,
}

#[derive(Debug, Default)]
struct Set {
    is_ready: bool,
    listeners: u32,
    next_handle: usize,
}

impl Module {
    /// Speaks with what is behind `transport`, and makes sure that it is a module that this program knows.
    ///
    /// # Errors
    /// Nobody answers, or it is something else or of another version.
    pub(super) fn greet(
        name: &str,
        transport: Transport,
        process: Option<Process>,
    ) -> Result<Self, PortError> {
        let mut session = Session::new(name, transport, process)?;
        let hello = match session.core().hello() {
            Ok(hello) => hello,
            Err(error) => {
                let said = session.last_words();
                let Some(last) = said.lines().rfind(|line| !line.trim().is_empty()) else {
                    return Err(error);
                };
                let why = format!("the simulator ended at once: {}", last.trim());
                return Err(PortError::Unavailable { what: name.to_owned(), why });
            }
        };
        let refuse = |why: String| PortError::Unavailable { what: name.to_owned(), why };
        if hello.magic != MAGIC_WORD {
            let why = format!(
                "the device that replies is not a Tare module: its magic word is {:#010x}, not \
                 {MAGIC_WORD:#010x}",
                hello.magic
            );
            return Err(refuse(why));
        }
        let mut module = Self {
            session,
            hello,
            version: (0, 0),
            set: Mutex::default(),
            place: Mutex::default(),
            capture: Mutex::default(),
        };
        let version = module.read(&VERSION)?;
        module.version = (VERSION_MAJOR.of(version), VERSION_MINOR.of(version));
        if module.version.0 != MAJOR {
            let why = format!(
                "its registers have version {}.{}, but this program knows version {MAJOR}; load a bitstream of \
                 this release (tare fpga load), or build the simulator anew (make module-sim)",
                module.version.0, module.version.1
            );
            return Err(refuse(why));
        }
        if hello.layout != LAYOUT_HASH {
            let why = format!(
                "its register layout ({:#010x}) differs from this program's ({LAYOUT_HASH:#010x}); both must \
                 be from the same release: load its bitstream (tare fpga load), or build the simulator anew \
                 (make module-sim)",
                hello.layout
            );
            return Err(refuse(why));
        }
        Ok(module)
    }

    /// Starts a simulator and greets it.
    ///
    /// # Errors
    /// There is none, or it is of another release.
    pub(super) fn simulate(name: &str, setup: SimulatorSetup) -> Result<Self, PortError> {
        let failed = |error| PortError::System { what: name.to_owned(), error };
        let (transport, other) = Transport::pair().map_err(failed)?;
        let process = Process::start(setup, other)?;
        Self::greet(name, transport, Some(process))
    }

    /// Takes the wire for up from now on, whatever the module says of it.
    pub(super) fn trust_wire(&self) {
        self.core().state().trusts_wire = true;
    }

    pub(super) fn core(&self) -> &Core {
        self.session.core()
    }

    /// As users write it: `fpga:sim`.
    pub fn name(&self) -> &str {
        self.core().name()
    }

    pub fn hello(&self) -> Hello {
        self.hello
    }

    /// Of its registers' description: major, minor.
    pub fn version(&self) -> (u64, u64) {
        self.version
    }

    /// Whether its time is a simulation's.
    pub fn is_simulated(&self) -> bool {
        self.core().is_simulated()
    }

    /// Number of the simulator's process.
    pub fn process_id(&self) -> Option<u32> {
        self.session.process_id()
    }

    /// What is wrong, if nothing goes any more.
    pub fn trouble(&self) -> Option<PortError> {
        self.core().trouble()
    }

    /// What it told to be wrong since this program began to listen: kinds of errors by number, and how often.
    pub fn errors(&self) -> Vec<(u8, u64)> {
        self.core().state().errors.iter().map(|(why, count)| (*why, *count)).collect()
    }

    /// The value of a register that can be read.
    ///
    /// # Errors
    /// It does not answer.
    pub fn read(&self, register: &Register) -> Result<u64, PortError> {
        Ok(self.read_all(&[register])?.first().copied().unwrap_or_default())
    }

    /// The values of several, asked for at once.
    ///
    /// # Errors
    /// It does not answer, or one of them cannot be read.
    pub fn read_all(&self, registers: &[&Register]) -> Result<Vec<u64>, PortError> {
        let addresses: Vec<u32> = registers.iter().flat_map(|register| register.words()).collect();
        let mut words = self.core().read(&addresses)?.into_iter();
        let mut value = |register: &&Register| {
            register
                .words()
                .enumerate()
                .fold(0, |value, (n, _)| value | u64::from(words.next().unwrap_or_default()) << (32 * n))
        };
        Ok(registers.iter().map(&mut value).collect())
    }

    /// Writes registers, in this order, in as few frames of the link as do it. Those may be sent again, and do
    /// the same then.
    ///
    /// # Errors
    /// It does not answer (then it may not be known whether it was done), or one of them cannot be written.
    pub fn write(&self, values: &[(&Register, u64)]) -> Result<(), PortError> {
        // What goes into the memories is of one writer at a time.
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let all = writes::batches(&mut place, values);
        let written = all.iter().try_for_each(|batch| self.core().write(batch));
        if written.is_err() {
            *place = Place::default();
        }
        written
    }

    /// How far its clock is from the host's, by the narrowest of several exchanges.
    ///
    /// # Errors
    /// It does not answer.
    pub fn offset(&self) -> Result<Offset, PortError> {
        let exchanges = (0..EXCHANGES).map(|_| self.exchange()).collect::<Result<Vec<_>, _>>()?;
        match narrowest(&exchanges) {
            Some(exchange) => Ok(exchange.offset()),
            None => Ok(Offset { ahead_ns: 0, bound: units::Picos::ZERO }),
        }
    }

    /// Clock and tick of one cycle, between two readings of the host's clock.
    ///
    /// # Errors
    /// It does not answer.
    pub fn exchange(&self) -> Result<Exchange, PortError> {
        let _capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        let before_unix_ns = clock::unix_ns();
        self.write(&[(&COMMAND, COMMAND_CAPTURE.place(1))])?;
        let after_unix_ns = clock::unix_ns();
        let values = self.read_all(&[&CAPTURED_TIME, &CAPTURED_TICK])?;
        let captured = Captured { ns: values[0], tick: values[1] };
        Ok(Exchange { before_unix_ns, after_unix_ns, captured })
    }

    /// Stops what goes on and throws away what is queued. Returns how many frames that were.
    ///
    /// # Errors
    /// It does not answer, or does not become idle.
    pub fn stop(&self) -> Result<u64, PortError> {
        self.write(&[(&CONTROL, 0), (&COMMAND, COMMAND_FORGET.place(1))])?;
        let until = Deadline::after(IDLE_PATIENCE);
        loop {
            let values = self.read_all(&[&STATUS, &super::registers::FORGOTTEN])?;
            if STATUS_IDLE.of(values[0]) == 1 && STATUS_FORGETTING.of(values[0]) == 0 {
                return Ok(values[1]);
            }
            if until.is_over() {
                return Err(self.core().wrong("it does not become idle after the forget command"));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Sets its clock to the host's: to within the bound of the narrowest exchange, or, simulated, to some time
    /// near now.
    ///
    /// # Errors
    /// It does not answer.
    pub fn set_clock(&self) -> Result<(), PortError> {
        let set = |ahead_ns: i64| {
            let now = clock::unix_ns().saturating_sub(EPOCH_UNIX_NS).saturating_add_signed(-ahead_ns);
            self.write(&[(&NS_VALUE, now), (&COMMAND, COMMAND_NS_SET.place(1))])
        };
        self.write(&[(&NS_WHOLE, TICK_NS), (&NS_FRACTION, 0)])?;
        set(0)?;
        if !self.is_simulated() {
            // How long the way there took is known now.
            set(self.offset()?.ahead_ns)?;
        }
        Ok(())
    }

    /// Everything as ports need it, once: nothing queued, its clock set, frames the host's, and a conversation
    /// from its beginning.
    fn make_ready(&self) -> Result<(), PortError> {
        self.stop()?;
        self.core().hello()?;
        let patience = if self.is_simulated() { 0 } else { HOST_PATIENCE_TICKS };
        self.write(&[(&LINK, LINK_DEPARTURES.place(1)), (&LINK_PATIENCE, patience)])?;
        self.set_clock()?;
        let captured = self.exchange()?.captured;
        let status = self.read(&STATUS)?;
        let mut state = self.core().state();
        state.time = captured;
        state.wire(STATUS_WIRE.of(status) == 1);
        drop(state);
        self.write(&[(&CONTROL, CONTROL_LIVE.place(1))])
    }

    /// Whether a frame of this length fits the link.
    fn check_link(&self, length: usize) -> Result<(), PortError> {
        let Some(interface) = &self.core().interface() else { return Ok(()) };
        let needed = HEAD + length - ETHERNET;
        if interface.mtu as usize >= needed {
            return Ok(());
        }
        let why = format!(
            "on the link, frames of {length} bytes have {HEAD} more, and the MTU of {name} is {}; raise it: ip link set {name} mtu {needed}",
            interface.mtu,
            name = interface.name,
        );
        Err(PortError::Unavailable { what: self.name().to_owned(), why })
    }

    /// A port begins to use it, for frames of this length to send and perhaps to listen. Returns the handle's
    /// number.
    pub(super) fn join(&self, longest: usize, listens: bool) -> Result<usize, PortError> {
        self.check_link(longest)?;
        let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        if !set.is_ready {
            self.make_ready()?;
            set.is_ready = true;
        }
        if listens {
            set.listeners += 1;
            self.tell_unasked(set.listeners)?;
        }
        set.next_handle += 1;
        Ok(set.next_handle)
    }

    /// A port does not use it any more.
    pub(super) fn leave(&self, listened: bool) {
        let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        if listened {
            set.listeners -= 1;
            // Whoever goes can do nothing about a module that is gone.
            let _ = if self.trouble().is_none() { self.tell_unasked(set.listeners) } else { Ok(()) };
        }
    }

    fn tell_unasked(&self, listeners: u32) -> Result<(), PortError> {
        let received = LINK_RECEIVED.place(u64::from(listeners > 0));
        self.write(&[(&LINK, LINK_DEPARTURES.place(1) | received)])
    }
}

impl Drop for Module {
    /// A board keeps nothing of this host: what is queued does not leave later, and nothing is told to nobody.
    fn drop(&mut self) {
        let is_ready = self.set.lock().unwrap_or_else(PoisonError::into_inner).is_ready;
        if is_ready && !self.is_simulated() && self.trouble().is_none() {
            let _ = self.write(&[(&CONTROL, 0), (&COMMAND, COMMAND_FORGET.place(1)), (&LINK, 0)]);
        }
    }
}
