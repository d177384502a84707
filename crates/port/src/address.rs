//! Where a port is, as users write it.
//!
//! ```text
//!   packet:veth0                      KIND:PLACE
//!   xdp,mode=copy:veth0               KIND,OPTION=VALUE:PLACE
//!   fault,drop=1%,seed=7:packet:veth0 a wrapper, and the port behind it
//!   eth0                              auto:eth0
//!   run/in.pcapng                     pcap:run/in.pcapng
//! ```
//!
//! A comma or colon within a value is written `\,` and `\:`; brackets protect colons (`local=[fd00::1]`).

use crate::{PortError, PortKind};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The option that names a file of a secret.
const PASSWORD: &str = "redis_password";

/// A port's address, with kinds and names of options that exist. Values are checked by [`Address::check`] and
/// when it is opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    kind: PortKind,
    options: Vec<(String, String)>,
    rest: Rest,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Rest {
    Place(String),
    Port(Box<Address>),
}

impl Address {
    /// A plain one, without options.
    ///
    /// # Panics
    /// If the kind is a wrapper.
    pub fn new(kind: PortKind, place: &str) -> Self {
        assert!(!kind.wraps(), "a wrapper has a port behind it, not a place");
        Self { kind, options: Vec::new(), rest: Rest::Place(place.to_owned()) }
    }

    /// The same with an option more.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.options.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn kind(&self) -> PortKind {
        self.kind
    }

    /// What comes after the kind: the interface, the file, the peer. Empty for a wrapper.
    pub fn place(&self) -> &str {
        match &self.rest {
            Rest::Place(place) => place,
            Rest::Port(_) => "",
        }
    }

    /// The port behind a wrapper.
    pub fn inner(&self) -> Option<&Self> {
        match &self.rest {
            Rest::Place(_) => None,
            Rest::Port(inner) => Some(inner),
        }
    }

    /// The port behind all wrappers.
    pub fn innermost(&self) -> &Self {
        self.inner().map_or(self, Self::innermost)
    }

    /// The network interface behind all wrappers, if there is one.
    pub fn interface(&self) -> Option<&str> {
        let port = self.innermost();
        port.kind.has_interface().then(|| port.place())
    }

    /// The file of a capture that it is, behind all wrappers; `-` is a stream.
    pub fn file(&self) -> Option<&Path> {
        let port = self.innermost();
        (port.kind == PortKind::Pcap).then(|| Path::new(port.place()))
    }

    /// Files that its wrappers write, with so many queues.
    pub fn beside(&self, queues: u32) -> Vec<PathBuf> {
        let mut files = self.inner().map_or_else(Vec::new, |inner| inner.beside(queues));
        match (self.kind, self.kind.wraps().then(|| self.named_file()).flatten()) {
            (PortKind::Record, Some(file)) if queues > 1 => {
                files.extend((0..queues).map(|queue| crate::record::numbered(Path::new(file), queue)));
            }
            (_, file) => files.extend(file.map(PathBuf::from)),
        }
        files
    }

    fn named_file(&self) -> Option<&str> {
        self.options.iter().find(|(name, _)| name == "file").map(|(_, value)| value.as_str())
    }

    /// The file with the password for the Redis of an FPGA module, if it is given one.
    pub fn password_file(&self) -> Option<PathBuf> {
        let option = self.innermost().options.iter().find(|(name, _)| name == PASSWORD);
        option.map(|(_, file)| PathBuf::from(file))
    }

    /// The same from any folder: its files have absolute paths.
    #[must_use]
    pub fn from_anywhere(mut self) -> Self {
        let absolute = |path: &str| {
            let path = std::path::absolute(path).ok().filter(|_| path != "-")?;
            path.to_str().map(str::to_owned)
        };
        if self.kind.wraps() {
            for (_, value) in self.options.iter_mut().filter(|(name, _)| name == "file") {
                *value = absolute(value).unwrap_or_else(|| std::mem::take(value));
            }
        }
        for (_, value) in self.options.iter_mut().filter(|(name, _)| name == PASSWORD) {
            *value = absolute(value).unwrap_or_else(|| std::mem::take(value));
        }
        self.rest = match self.rest {
            Rest::Port(inner) => Rest::Port(Box::new(inner.from_anywhere())),
            Rest::Place(place) if self.kind == PortKind::Pcap => {
                Rest::Place(absolute(&place).unwrap_or(place))
            }
            place @ Rest::Place(_) => place,
        };
        self
    }

    /// The value of an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        debug_assert!(self.kind.options().iter().any(|(known, _)| *known == name), "{name} is in no list");
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The network namespace that it is in, if that is another than this process's.
    pub fn namespace(&self) -> Option<&str> {
        let can = self.kind.options().iter().any(|(name, _)| *name == "netns");
        can.then(|| self.option("netns")).flatten()
    }

    /// A file of the network namespace that it is in.
    pub fn namespace_file(&self) -> std::path::PathBuf {
        self.namespace().map_or_else(|| "/proc/self/ns/net".into(), crate::namespace::path)
    }

    /// The value of an option, read; `expected` says what would be right.
    ///
    /// # Errors
    /// `Address` if it cannot be read.
    pub fn read<T: FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, PortError> {
        let Some(text) = self.option(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            let problem = format!("'{text}' is no value for {name}");
            self.wrong(&problem, &format!("{name}={expected}"))
        })
    }

    /// One of several words; the first is the default.
    ///
    /// # Errors
    /// `Address` if it is another word.
    pub fn word(&self, name: &str, words: &[&'static str]) -> Result<&'static str, PortError> {
        let Some(text) = self.option(name) else { return Ok(words[0]) };
        let found = words.iter().find(|word| **word == text);
        found.copied().ok_or_else(|| {
            let problem = format!("'{text}' is no value for {name}{}", meant(text, words.iter().copied()));
            self.wrong(&problem, &format!("{name}={}", words.join(" or ")))
        })
    }

    /// Checks what can be known of options without opening anything.
    ///
    /// # Errors
    /// `Address` for an option whose value cannot be.
    pub fn check(&self) -> Result<(), PortError> {
        match self.kind {
            PortKind::Fault => crate::fault::check(self)?,
            PortKind::Record => crate::record::check(self)?,
            PortKind::Trace => crate::trace::check(self).map(drop)?,
            _ => {}
        }
        self.inner().map_or(Ok(()), Self::check)
    }

    /// An error about this address.
    pub fn wrong(&self, problem: &str, expected: &str) -> PortError {
        PortError::Address {
            address: self.to_string(),
            problem: problem.to_owned(),
            expected: expected.to_owned(),
        }
    }

    fn parse(text: &str) -> Result<Self, PortError> {
        let fail = |problem: String, expected: String| PortError::Address {
            address: text.to_owned(),
            problem,
            expected,
        };
        if text.is_empty() {
            return Err(fail("is empty".to_owned(), forms()));
        }
        let (head, rest) = split_head(text);
        let Some(rest) = rest else { return Self::bare(text, fail) };
        let mut parts = split_options(head);
        let word = parts.remove(0);
        let Some(kind) = PortKind::from_word(&word) else {
            if looks_like_file(text) {
                return Ok(Self::new(PortKind::Pcap, text));
            }
            let words = PortKind::ALL.iter().map(|kind| kind.word());
            return Err(fail(format!("there is no kind of port '{word}'{}", meant(&word, words)), forms()));
        };
        let options = parts.iter().map(|part| option(kind, part)).collect::<Result<Vec<_>, _>>();
        let options = options.map_err(|(problem, expected)| fail(problem, expected))?;
        if let Some(twice) = twice(&options) {
            return Err(fail(format!("{twice} is given twice"), format!("one {twice}=…")));
        }
        if rest.is_empty() {
            return Err(fail(format!("says no {}", kind.place().to_lowercase()), kind.form()));
        }
        let rest = match kind.wraps() {
            true => Rest::Port(Box::new(Self::parse(rest)?)),
            false => Rest::Place(rest.to_owned()),
        };
        Ok(Self { kind, options, rest })
    }

    /// Without a colon: an interface or a file.
    fn bare(text: &str, fail: impl Fn(String, String) -> PortError) -> Result<Self, PortError> {
        if looks_like_file(text) {
            return Ok(Self::new(PortKind::Pcap, text));
        }
        let first = split_options(text).remove(0);
        match PortKind::from_word(&first) {
            Some(kind) => Err(fail(format!("says no {}", kind.place().to_lowercase()), kind.form())),
            None if text.contains(',') || text.contains(char::is_whitespace) => {
                Err(fail("is neither an interface nor KIND:PLACE".to_owned(), forms()))
            }
            None => Ok(Self::new(PortKind::Auto, text)),
        }
    }
}

/// `mem:NAME, pcap:FILE, …`
fn forms() -> String {
    let forms: Vec<String> = PortKind::ALL.iter().map(|kind| kind.form()).collect();
    format!("one of {}", forms.join(", "))
}

fn looks_like_file(text: &str) -> bool {
    text.contains('/') || [".pcap", ".pcapng", ".cap"].iter().any(|end| text.ends_with(end))
}

/// Splits at the first colon that is neither escaped nor in brackets.
fn split_head(text: &str) -> (&str, Option<&str>) {
    let (mut escaped, mut depth) = (false, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => depth += 1,
            ']' => depth -= 1,
            ':' if depth <= 0 => return (&text[..at], Some(&text[at + 1..])),
            _ => {}
        }
    }
    (text, None)
}

/// Splits at commas that are not escaped, and takes the escapes away.
fn split_options(head: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = head.chars();
    while let Some(letter) = letters.next() {
        if letter == ',' {
            parts.push(String::new());
            continue;
        }
        let letter = if letter == '\\' { letters.next().unwrap_or('\\') } else { letter };
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts
}

/// `name=value`, or `name` alone, which is `name=yes`.
fn option(kind: PortKind, part: &str) -> Result<(String, String), (String, String)> {
    let (name, value) = part.split_once('=').unwrap_or((part, "yes"));
    let known = || kind.options().iter().map(|(name, _)| *name);
    if known().any(|known| known == name) {
        return Ok((name.to_owned(), value.to_owned()));
    }
    let list = known().map(|name| format!("{name}=…")).collect::<Vec<_>>().join(", ");
    let expected = if list.is_empty() { format!("{kind} without options") } else { list };
    Err((format!("{kind} has no option '{name}'{}", meant(name, known())), expected))
}

fn twice(options: &[(String, String)]) -> Option<&str> {
    let again = |at: usize| options[..at].iter().any(|(name, _)| *name == options[at].0);
    (1..options.len()).find(|at| again(*at)).map(|at| options[at].0.as_str())
}

/// ` (did you mean 'packet'?)`, if a word is near.
fn meant<'a>(typed: &str, words: impl Iterator<Item = &'a str>) -> String {
    let near = words
        .map(|word| (strsim::osa_distance(typed, word), word))
        .filter(|(distance, word)| *distance <= word.len().div_ceil(3) && *distance < typed.len())
        .min_by_key(|(distance, _)| *distance);
    near.map_or_else(String::new, |(_, word)| format!(" (did you mean '{word}'?)"))
}

impl FromStr for Address {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Self, PortError> {
        Self::parse(text.trim())
    }
}

/// The form that is read back as the same address.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        for (name, value) in &self.options {
            write!(f, ",{name}={}", escaped(value))?;
        }
        match &self.rest {
            Rest::Place(place) => write!(f, ":{place}"),
            Rest::Port(inner) => write!(f, ":{inner}"),
        }
    }
}

fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for letter in value.chars() {
        if matches!(letter, ',' | ':' | '\\' | '[' | ']') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Address {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn kinds_options_and_wrappers_are_read() {
        let address = read("fault,drop=1%,seed=7:xdp,mode=copy:veth0");
        assert_eq!(address.kind(), PortKind::Fault);
        assert_eq!(address.option("drop"), Some("1%"));
        assert_eq!(address.option("hold"), None);
        let inner = address.inner().unwrap();
        assert_eq!(
            (inner.kind(), inner.place(), inner.option("mode")),
            (PortKind::Xdp, "veth0", Some("copy"))
        );
        assert_eq!(address.interface(), Some("veth0"));
    }

    #[test]
    fn a_bare_word_is_an_interface_and_a_path_is_a_file() {
        assert_eq!(read("eth0"), Address::new(PortKind::Auto, "eth0"));
        assert_eq!(read("eth0.100"), Address::new(PortKind::Auto, "eth0.100"));
        assert_eq!(read("in.pcapng"), Address::new(PortKind::Pcap, "in.pcapng"));
        assert_eq!(read("./a:b"), Address::new(PortKind::Pcap, "./a:b"));
        assert_eq!(read("udp:[fd00::2]:9").place(), "[fd00::2]:9");
        assert_eq!(read("udp,local=[fd00::1]:[fd00::2]:9").option("local"), Some("[fd00::1]"));
    }

    #[test]
    fn escapes_hold_commas_and_colons() {
        let address = read(r"record,file=a\:b\,c.pcapng:mem:a");
        assert_eq!(address.option("file"), Some("a:b,c.pcapng"));
        assert_eq!(read(&address.to_string()), address);
    }

    #[test]
    fn files_are_found_behind_wrappers_and_options() {
        let address = read(r"record,file=a\:b.pcapng:fault,drop=1%:pcap,interface=0:dir/in");
        assert_eq!(address.file(), Some(Path::new("dir/in")));
        assert_eq!(address.beside(1), [PathBuf::from("a:b.pcapng")]);
        assert_eq!(address.beside(2), ["a:b-0.pcapng", "a:b-1.pcapng"].map(PathBuf::from));
        assert_eq!(read("trace,file=t:veth0").beside(2), [PathBuf::from("t")]);
        assert_eq!((read("veth0").file(), read("in.pcap").file()), (None, Some(Path::new("in.pcap"))));
        let there = address.from_anywhere();
        let here = std::env::current_dir().unwrap();
        assert_eq!(there.file(), Some(here.join("dir/in").as_path()));
        assert_eq!(there.beside(1), [here.join("a:b.pcapng")]);
        assert_eq!(read(&there.to_string()), there);
        assert_eq!(read("pcap:-").from_anywhere(), read("pcap:-"));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (text, problem, expected) in [
            ("packt:veth0", "there is no kind of port 'packt' (did you mean 'packet'?)", "packet:INTERFACE"),
            ("mem", "says no name", "mem:NAME"),
            ("mem:", "says no name", "mem:NAME"),
            ("", "is empty", "pcap:FILE"),
            ("fault,drp=1%:mem:a", "fault has no option 'drp' (did you mean 'drop'?)", "drop=…"),
            ("xdp,mode=copy,mode=copy:veth0", "mode is given twice", "one mode=…"),
            ("live,mode=copy:veth0", "live has no option 'mode'", "netns=…"),
            ("fault,drop=1%:", "says no port", "fault:PORT"),
            ("fault:mem", "says no name", "mem:NAME"),
            ("two words", "is neither an interface", "auto:INTERFACE"),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.is_users());
            let said = error.to_string();
            assert!(said.contains(problem) && said.contains(expected), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(value in "[ -~]{0,12}", place in "[a-z0-9:\\[\\]./]{1,12}") {
            let inner = Address::new(PortKind::Udp, &place).with("local", &value);
            let address = Address {
                kind: PortKind::Record,
                options: vec![("file".to_owned(), value)],
                rest: Rest::Port(Box::new(inner)),
            };
            prop_assert_eq!(read(&address.to_string()), address);
        }

        #[test]
        fn no_text_makes_it_fail_otherwise(text in ".{0,40}") {
            let _ = text.parse::<Address>();
        }
    }
}
