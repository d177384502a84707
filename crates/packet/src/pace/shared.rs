//! One port for two threads: one receives, the other transmits. For ports that cannot be opened twice, as a tap
//! and `mem`.
//!
//! Each call holds a lock; waiting does not.

use port::StampClock;
use port::{About, Counters, Departed, For, Frame, Instruction, OwnTime, Port, PortError, Slot};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Picos;

/// One of the two handles.
pub struct Shared {
    port: Arc<Mutex<Box<dyn Port>>>,
    about: About,
    /// The port's own descriptor, to wait without the lock.
    descriptor: Option<OwnedFd>,
    counters: Counters,
}

/// Where a port has no descriptor, it is asked again this often.
const NAP: Picos = Picos::from_micros(20);

impl Shared {
    /// Both handles of a port.
    pub fn both(port: Box<dyn Port>) -> (Self, Self) {
        let about = port.about().clone();
        let descriptor = || port.descriptor().and_then(|fd| fd.try_clone_to_owned().ok());
        let (one, other) = (descriptor(), descriptor());
        let port = Arc::new(Mutex::new(port));
        let handle = |descriptor| Self {
            port: port.clone(),
            about: about.clone(),
            descriptor,
            counters: Counters::default(),
        };
        (handle(one), handle(other))
    }

    /// One more handle.
    pub fn again(&self) -> Self {
        Self {
            port: self.port.clone(),
            about: self.about.clone(),
            descriptor: self.descriptor.as_ref().and_then(|fd| fd.try_clone().ok()),
            counters: Counters::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Port>> {
        self.port.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls the descriptor with no lock held.
    fn polled(&self, what: For, patience: Picos) -> Result<bool, PortError> {
        let Some(descriptor) = &self.descriptor else { return self.asked_again(what, patience) };
        let flags = if what == For::Receive { PollFlags::IN } else { PollFlags::OUT };
        let mut fds = [PollFd::new(descriptor, flags)];
        let nanos = patience.as_nanos();
        let patience =
            Timespec { tv_sec: (nanos / 1_000_000_000) as _, tv_nsec: (nanos % 1_000_000_000) as _ };
        match poll(&mut fds, Some(&patience)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(PortError::System {
                what: format!("waiting for {}", self.about.name),
                error: error.into(),
            }),
        }
    }

    fn asked_again(&self, what: For, patience: Picos) -> Result<bool, PortError> {
        for _ in 0..=patience.as_picos() / NAP.as_picos() {
            if self.lock().wait(what, Picos::ZERO)? {
                return Ok(true);
            }
            std::thread::sleep(NAP.as_std());
        }
        Ok(false)
    }
}

impl Port for Shared {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        self.lock().transmit(most, write)
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        self.lock().receive(most, read)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.lock().flush(patience)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        self.polled(what, patience)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        let counters = self.lock().counters()?.clone();
        self.counters = counters;
        Ok(&self.counters)
    }

    fn is_up(&mut self) -> bool {
        self.lock().is_up()
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.lock().trouble()
    }

    fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.descriptor.as_ref().map(AsFd::as_fd)
    }

    fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
        self.lock().filter(program)
    }

    fn own_time(&mut self) -> Result<Option<OwnTime>, PortError> {
        self.lock().own_time()
    }

    fn stamp_clock(&mut self) -> Option<StampClock> {
        self.lock().stamp_clock()
    }

    fn departed(&mut self, most: usize, read: &mut dyn FnMut(&Departed)) -> Result<usize, PortError> {
        self.lock().departed(most, read)
    }
}
