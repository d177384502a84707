//! What is worth telling about a run besides its figures: bounded, whatever happens.

/// Different sentences kept.
const KEPT: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub struct Notes {
    /// Why connections failed, in the words of the system or the TLS library; each once.
    pub details: Vec<String>,
    /// Offsets of lines that are no requests, and what is wrong with them.
    pub bad_lines: Vec<(u64, String)>,
}

impl Notes {
    pub fn detail(&mut self, text: &str) {
        if self.details.len() < KEPT && !self.details.iter().any(|known| known == text) {
            self.details.push(text.to_owned());
        }
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: Self) {
        other.details.iter().for_each(|text| self.detail(text));
        self.bad_lines.extend(other.bad_lines);
        self.bad_lines.sort();
        self.bad_lines.dedup();
        self.bad_lines.truncate(2 * KEPT);
    }
}
