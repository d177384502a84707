//! Which frames of a file are read, where it has those of several interfaces: all, or one interface's.
//!
//! A capture of both directions of a wire has an interface for each. One after the other they are no sequence,
//! and the gaps between them mean nothing: where gaps are looked for, one must be chosen.

use super::reader::{Captured, Reader};
use crate::{Address, PortError, Wish};
use std::path::Path;

/// See the module.
pub(super) struct Only {
    pub file: String,
    /// Name or number, as typed.
    chosen: Option<String>,
    /// Frames of a second interface are refused.
    is_one: bool,
    /// The interface of the first frame.
    first: Option<(u32, String)>,
}

impl Only {
    pub fn of(address: &Address, wish: &Wish) -> Self {
        Self {
            file: address.place().to_owned(),
            chosen: address.option("interface").map(str::to_owned),
            is_one: wish.one_interface,
            first: None,
        }
    }

    /// Looks through a file for what would be refused later: only as far as it must, and not at all where one
    /// interface is described.
    ///
    /// # Errors
    /// Frames of several interfaces where one must be chosen, or no frame of the chosen one.
    pub fn check(&self, path: &Path) -> Result<(), PortError> {
        if self.chosen.is_none() && !self.is_one {
            return Ok(());
        }
        let mut looking = Self { file: self.file.clone(), chosen: self.chosen.clone(), first: None, ..*self };
        let mut reader = Reader::open(path)?;
        // What is wrong with the file itself is told when it is read.
        while let Ok(Some(frame)) = reader.next() {
            let is_taken = looking.takes(&frame)?;
            let is_settled = if self.chosen.is_some() { is_taken } else { reader.interfaces().len() < 2 };
            if is_settled {
                return Ok(());
            }
        }
        let Some(chosen) = &self.chosen else { return Ok(()) };
        let there: Vec<String> =
            reader.interfaces().iter().zip(0..).map(|(one, n)| shown(n, &one.name)).collect();
        Err(self.wrong(format!(
            "has no frame of interface '{chosen}'; its interfaces are {}",
            there.join(" and ")
        )))
    }

    /// Whether a frame is one of those that are read.
    ///
    /// # Errors
    /// It is of another interface than those before it, and only one's can be read.
    pub fn takes(&mut self, frame: &Captured<'_>) -> Result<bool, PortError> {
        if self.chosen.is_some() {
            return Ok(self.wants(frame.interface, frame.name));
        }
        if !self.is_one {
            return Ok(true);
        }
        match &self.first {
            None => self.first = Some((frame.interface, frame.name.to_owned())),
            // Sections begin anew with their numbers; a name stays.
            Some((number, name))
                if name == frame.name && (!name.is_empty() || *number == frame.interface) => {}
            Some((number, name)) => {
                let first = if name.is_empty() { number.to_string() } else { name.clone() };
                return Err(self.wrong(format!(
                    "has frames of several interfaces, {} and {}, and gaps between those mean nothing; choose one: \
                     pcap,interface={first}:{}",
                    shown(*number, name),
                    shown(frame.interface, frame.name),
                    self.file
                )));
            }
        }
        Ok(true)
    }

    /// Whether frames of this interface would be read, where one of several may be.
    pub fn wants(&self, number: u32, name: &str) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| name == chosen || chosen.parse() == Ok(number))
    }

    fn wrong(&self, problem: String) -> PortError {
        PortError::File { file: self.file.clone(), problem }
    }
}

/// `'eth0' (0)`
fn shown(number: u32, name: &str) -> String {
    if name.is_empty() { format!("number {number}") } else { format!("'{name}' ({number})") }
}
