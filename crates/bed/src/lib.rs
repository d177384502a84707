//! Network namespaces and veth pairs on one machine, to send packets through and to take away again.
//!
//! ```text
//!   ┌ generator ┐          ┌ sink ┐          ┌ generator ┐      ┌ middlebox ┐      ┌ sink ┐
//!   │      gen0 ├──veth────┤ sink0│    or    │      gen0 ├──────┤mid0   mid1├──────┤ sink0│
//!   └───────────┘          └──────┘          └───────────┘      └───────────┘      └──────┘
//!   198.18.0.1/24     198.18.0.2/24            a wire: one network, the middlebox has no address
//!   fd00:18::1/64     fd00:18::2/64            a router: 198.18.0.254 | 198.18.1.254, the sink is 198.18.1.2
//! ```
//!
//! [`Bed::up`] makes what a [`Topology`] says and writes down what it made; dropping the bed, or [`down`] with
//! its name, takes exactly that away. What a killed process left is taken away by the next `up`, or by `down`.
//!
//! [`TargetProcess`] is a target of HTTP requests beside it, in a process of its own.
//!
//! Links and addresses are set by `ip` of iproute2: whoever uses a bed needs its `ip netns exec` anyway, and it
//! keeps the names of namespaces as every other tool expects them.

#![deny(unsafe_code)]

mod address;
mod error;
mod ip;
mod make;
mod namespace;
mod offload;
mod privilege;
mod state;
mod target_process;
mod topology;

pub use address::{Mac, Network};
pub use error::BedError;
pub use namespace::{Interface, Namespace, Role};
pub use state::{State, all, down, find, remove_orphans};
pub use target_process::{TargetError, TargetProcess};
pub use topology::{Middlebox, Topology};

/// Namespaces and links that are there until this is dropped, or kept with [`Bed::keep`].
#[derive(Debug)]
pub struct Bed {
    state: State,
    is_kept: bool,
}

impl Bed {
    /// Makes the bed. What was made is taken away again if something fails.
    ///
    /// # Errors
    /// No privilege (CAP_NET_ADMIN and CAP_SYS_ADMIN), no `ip`, a name that is in use.
    pub fn up(topology: &Topology) -> Result<Self, BedError> {
        state::remove_orphans();
        let mut bed = Self { state: State::begin(topology)?, is_kept: false };
        bed.state.make(topology)?;
        Ok(bed)
    }

    pub fn name(&self) -> &str {
        &self.state.name
    }

    pub const fn state(&self) -> &State {
        &self.state
    }

    pub fn generator(&self) -> &Namespace {
        self.role(Role::Generator)
    }

    pub fn sink(&self) -> &Namespace {
        self.role(Role::Sink)
    }

    /// The namespace in the middle, if the topology has one.
    pub fn middlebox(&self) -> Option<&Namespace> {
        self.state.namespaces.iter().find(|namespace| namespace.role == Role::Middlebox)
    }

    fn role(&self, role: Role) -> &Namespace {
        let found = self.state.namespaces.iter().find(|namespace| namespace.role == role);
        found.expect("every bed has a generator and a sink")
    }

    /// Leaves the bed standing when this process ends; `tare lab down` takes it away.
    ///
    /// # Errors
    /// Its state file cannot be written; the bed is taken away.
    pub fn keep(mut self) -> Result<State, BedError> {
        self.state.owner = None;
        self.state.write()?;
        self.is_kept = true;
        Ok(self.state.clone())
    }

    /// Takes the bed away and says what was not possible, which dropping it cannot.
    ///
    /// # Errors
    /// A namespace is not the one that was made, or could not be removed.
    pub fn down(mut self) -> Result<(), BedError> {
        self.is_kept = true;
        self.state.remove()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = self.state.remove()
        {
            eprintln!("test bed '{}': {error}", self.state.name);
        }
    }
}
