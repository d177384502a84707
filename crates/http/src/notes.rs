//! What is worth telling about a run besides its figures: bounded, whatever happens.

use session::Account;

use crate::module::Module;
use crate::protocol::Unserved;

/// Different sentences kept.
const KEPT: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub struct Notes {
    /// Why connections failed, in the words of the system or the TLS library; each once.
    pub details: Vec<String>,
    /// Offsets of lines that are no requests, and what is wrong with them.
    pub bad_lines: Vec<(u64, String)>,
    /// Requests that were sent again: pipelined behind an answer that closed the connection, pipelined on one
    /// that broke, or sent on an idle one that the target had closed.
    pub behind_last: u64,
    pub behind_broken: u64,
    pub reused: u64,
    /// Connections that were closed since bytes came on them that no request asked for.
    pub surplus: u64,
    /// Requests whose body was sent though no 100 (Continue) had come.
    pub without_continue: u64,
    /// Those whose time was over before, so that their body was never sent.
    pub never_continued: u64,
    /// Connections that were reset since the target was to close them and had not.
    pub unclosed: u64,
    /// What the sessions of a port did.
    pub tcp: Option<Account>,
    /// What those of the FPGA module did.
    pub module: Option<Module>,
}

impl Notes {
    pub fn detail(&mut self, text: &str) {
        if self.details.len() < KEPT && !self.details.iter().any(|known| known == text) {
            self.details.push(text.to_owned());
        }
    }

    pub fn sent_again(&mut self, why: Option<Unserved>) {
        match why {
            Some(Unserved::BehindLast) => self.behind_last += 1,
            Some(Unserved::BehindBroken) => self.behind_broken += 1,
            Some(Unserved::Reused) => self.reused += 1,
            None => {}
        }
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: Self) {
        other.details.iter().for_each(|text| self.detail(text));
        self.behind_last += other.behind_last;
        self.behind_broken += other.behind_broken;
        self.reused += other.reused;
        self.surplus += other.surplus;
        self.without_continue += other.without_continue;
        self.never_continued += other.never_continued;
        self.unclosed += other.unclosed;
        // One thread drives a port.
        self.tcp = self.tcp.take().or(other.tcp);
        self.module = self.module.take().or(other.module);
        self.bad_lines.extend(other.bad_lines);
        self.bad_lines.sort();
        self.bad_lines.dedup();
        self.bad_lines.truncate(2 * KEPT);
    }
}
