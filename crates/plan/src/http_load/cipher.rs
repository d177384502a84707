//! `-cipher str`: OpenSSL's cipher strings (openssl-ciphers(1)), as far as rustls has the suites.
//!
//! ```text
//! text ─► words ─► List (OpenSSL's add, delete, move, forbid) ─► suites by IANA's names, and what is left out
//! ```
//!
//! A list of names means these suites and no others. A string with keywords (`HIGH`, `ECDHE+AESGCM`, `!aNULL`)
//! means what it means to OpenSSL, where such strings choose suites of TLS 1.2 and leave those of TLS 1.3.
//!
//! http_load's three aliases stood for RC4-MD5, DES-CBC3-SHA and AES256-SHA, which no target should accept any
//! more. They keep their intent: fast, strong, strongest.

mod keywords;
mod missing;

use super::{Result, bail};
use keywords::{Has, Suite, TLS12, TLS13};

const ALIASES: [(&str, &[&str]); 3] = [
    (
        "fastsec",
        &[
            "TLS_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        ],
    ),
    (
        "highsec",
        &[
            "TLS_AES_256_GCM_SHA384",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        ],
    ),
    // TLS 1.3 alone: forward secrecy, no renegotiation, an encrypted certificate.
    ("paranoid", &["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]),
];

/// What a cipher string comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ciphers {
    /// IANA's names, in order of preference, each once.
    pub suites: Vec<String>,
    /// Names that are left out, each with the reason.
    pub left_out: Vec<String>,
}

/// Reads a cipher string.
///
/// # Errors
/// A word that OpenSSL does not know either, or nothing is left.
pub fn ciphers(text: &str) -> Result<Ciphers> {
    let words: Vec<&str> = text.split([':', ',', ' ', ';']).filter(|word| !word.is_empty()).collect();
    let mut list = List::default();
    let mut named: Vec<String> = Vec::new();
    let mut left_out = Vec::new();
    let mut has_keywords = false;
    for (at, word) in words.iter().enumerate() {
        if let Some((_, suites)) = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(word)) {
            named.extend(suites.iter().map(|suite| (*suite).to_owned()));
        } else if let Some(suite) = TLS13.into_iter().find(|suite| suite.eq_ignore_ascii_case(word)) {
            named.push(suite.to_owned());
        } else if let Some(suite) = Suite::named(word) {
            list.add(|one| one == suite);
            named.push(suite.iana.to_owned());
        } else if let Some(why) = missing::reason(word) {
            left_out.push(format!("{word} {why}"));
        } else {
            has_keywords = true;
            list.take(word, at == 0)?;
        }
    }
    let mut suites: Vec<String> = Vec::new();
    let tls13 = TLS13.map(str::to_owned).into_iter();
    let chosen: Vec<String> = match has_keywords {
        // Those of TLS 1.3 that are named come first; without a name all of them stay, as in OpenSSL.
        true => {
            let of_tls13 = |name: &&String| TLS13.contains(&name.as_str());
            let first: Vec<String> = match named.iter().any(|name| of_tls13(&name)) {
                true => named.iter().filter(of_tls13).cloned().collect(),
                false => tls13.collect(),
            };
            first.into_iter().chain(list.active.iter().map(|suite| suite.iana.to_owned())).collect()
        }
        false => named,
    };
    for suite in chosen {
        if !suites.contains(&suite) {
            suites.push(suite);
        }
    }
    let is_empty = suites.is_empty() || has_keywords && list.active.is_empty();
    match is_empty {
        false => Ok(Ciphers { suites, left_out }),
        true if !left_out.is_empty() => bail!("-cipher: {}; available are {}", left_out.join("; "), known()),
        true => bail!("-cipher: '{text}' leaves no cipher of {}", known()),
    }
}

/// Whether the string is one of http_load's aliases, which mean other suites than they did.
pub fn is_alias(text: &str) -> bool {
    ALIASES.iter().any(|(alias, _)| alias.eq_ignore_ascii_case(text))
}

/// OpenSSL's list: those chosen, in order, and those that a later word may still add.
struct List {
    active: Vec<&'static Suite>,
    inactive: Vec<&'static Suite>,
}

impl Default for List {
    fn default() -> Self {
        Self { active: Vec::new(), inactive: TLS12.iter().collect() }
    }
}

impl List {
    /// One word with a keyword.
    fn take(&mut self, word: &str, is_first: bool) -> Result<()> {
        if let Some(command) = word.strip_prefix('@') {
            return self.command(word, command);
        }
        if word.to_ascii_uppercase().starts_with("SUITEB") {
            return self.suite_b(word, is_first);
        }
        let (sign, rest) = match word.as_bytes()[0] {
            sign @ (b'!' | b'-' | b'+') => (sign, &word[1..]),
            _ => (b' ', word),
        };
        if rest == "DEFAULT" && sign == b' ' {
            if !is_first {
                bail!("-cipher: DEFAULT must come first");
            }
            self.add(|_| true);
            return Ok(());
        }
        let parts: Vec<Has> = rest.split('+').map(|part| selector(part, word)).collect::<Result<_>>()?;
        let fits = |suite: &Suite| parts.iter().all(|part| part(suite));
        match sign {
            b'!' => {
                self.active.retain(|suite| !fits(suite));
                self.inactive.retain(|suite| !fits(suite));
            }
            b'-' => {
                let (mut gone, kept): (Vec<_>, Vec<_>) = self.active.iter().partition(|suite| fits(suite));
                self.active = kept;
                // What was deleted last is the first to come back.
                gone.append(&mut self.inactive);
                self.inactive = gone;
            }
            b'+' => {
                let (moved, kept): (Vec<_>, Vec<_>) = self.active.iter().partition(|suite| fits(suite));
                self.active = kept.into_iter().chain(moved).collect();
            }
            _ => self.add(fits),
        }
        Ok(())
    }

    fn add(&mut self, fits: impl Fn(&Suite) -> bool) {
        let (added, kept): (Vec<_>, Vec<_>) = self.inactive.iter().partition(|suite| fits(suite));
        self.active.extend::<Vec<&Suite>>(added);
        self.inactive = kept;
    }

    fn command(&mut self, word: &str, command: &str) -> Result<()> {
        match command.split_once('=') {
            None if command == "STRENGTH" => {
                self.active.sort_by_key(|suite| std::cmp::Reverse(suite.bits));
                Ok(())
            }
            // Every suite here has at least 128 bits and forward secrecy: level 3, which only 4 and 5 exceed.
            Some(("SECLEVEL", "0" | "1" | "2" | "3")) => Ok(()),
            Some(("SECLEVEL", "4")) => {
                self.active.retain(|suite| suite.bits >= 192);
                self.inactive.retain(|suite| suite.bits >= 192);
                Ok(())
            }
            Some(("SECLEVEL", "5")) => {
                self.active.retain(|suite| suite.bits >= 256);
                self.inactive.retain(|suite| suite.bits >= 256);
                Ok(())
            }
            _ => bail!("-cipher: '{word}' is unknown; expected @STRENGTH or @SECLEVEL=0 to 5"),
        }
    }

    fn suite_b(&mut self, word: &str, is_first: bool) -> Result<()> {
        let bits: &[u16] = match word {
            "SUITEB128" => &[128, 256],
            "SUITEB128ONLY" => &[128],
            "SUITEB192" => &[256],
            _ => bail!("-cipher: '{word}' is unknown; expected SUITEB128, SUITEB128ONLY or SUITEB192"),
        };
        if !is_first {
            bail!("-cipher: {word} must stand alone");
        }
        for bits in bits {
            self.add(|suite| suite.is_ecdsa() && suite.is_gcm() && suite.bits == *bits);
        }
        self.inactive.clear();
        Ok(())
    }
}

/// What a part of `A+B` selects: a keyword, or a suite's name.
fn selector(part: &str, word: &str) -> Result<Has> {
    if let Some(has) = keywords::keyword(part) {
        return Ok(has);
    }
    if let Some(suite) = Suite::named(part) {
        return Ok(Box::new(move |one| one == suite));
    }
    if missing::reason(part).is_some() {
        return Ok(Box::new(|_| false));
    }
    match part == word {
        true => bail!("-cipher: '{word}' is not a cipher or a keyword of OpenSSL; available are {}", known()),
        false => bail!(
            "-cipher: '{part}' in '{word}' is not a cipher or a keyword of OpenSSL; available are {}",
            known()
        ),
    }
}

fn known() -> String {
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let names = TLS12.iter().map(|suite| suite.openssl);
    aliases.chain(names).chain(TLS13).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
