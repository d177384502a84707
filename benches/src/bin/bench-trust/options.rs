//! What was typed.

use tare_system_tests::trust::{self, Case};

/// Every so many-th run is in the quick subset; no row of the table is a multiple of it, so that modes take
/// turns.
const QUICK: usize = 7;

#[derive(Debug, Default)]
pub struct Options {
    pub quick: bool,
    pub list: bool,
    pub no_bars: bool,
    pub only: Vec<String>,
    pub trust: trust::Options,
}

impl Options {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => options.quick = true,
                "--list" => options.list = true,
                "--no-bars" => options.no_bars = true,
                "--ahead" => options.trust.ahead = true,
                "--step-clock" => options.trust.step_clock = true,
                "--only" => options.only.push(words.next().ok_or("--only needs a part of a name")?),
                _ => {
                    return Err(format!(
                        "{word} is unknown; expected --quick, --only WORDS, --list, --ahead, --step-clock, \
                         --no-bars"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// Whether this case shall be made: `--only` names parts of its name and way, of which one is enough; each
    /// may have several words, of which each must be there.
    pub fn wants(&self, number: usize, case: &Case) -> bool {
        let text = format!("{}, {}", case.name, case.way);
        let named = |words: &String| words.split('+').all(|word| text.contains(word));
        (!self.quick || number.is_multiple_of(QUICK)) && (self.only.is_empty() || self.only.iter().any(named))
    }
}
