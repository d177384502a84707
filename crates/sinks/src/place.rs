//! What `--to` names: a kind, an address, options.
//!
//! ```text
//! csv:FILE?OPTION=VALUE            kinds that write a file; - is standard output
//! redis://USER:PASSWORD@HOST/…     kinds that talk to a server
//! ```

use crate::exporter::{Exporter, SinkError};
use crate::kinds::KINDS;
use crate::optional::left_out;
use std::path::{Path, PathBuf};
use units::Picos;
use url::Url;

/// One kind of sink: a line in [`KINDS`].
pub struct SinkKind {
    /// What its URLs begin with: `redis`, `rediss`.
    pub schemes: &'static [&'static str],
    /// How it is written, for people: `redis://[USER:PASSWORD@]HOST[:PORT][/DB]`.
    pub form: &'static str,
    /// What goes there, in a few words.
    pub about: &'static str,
    pub address: Address,
    /// Names of the options that may follow a `?`.
    pub options: &'static [&'static str],
    /// Looks at the place without opening it: only what is wrong with the URL is an error here.
    pub open: fn(&Place) -> Result<Box<dyn Exporter>, SinkError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// `KIND:FILE`
    File,
    /// `KIND://HOST…`
    Url,
}

/// A place that `--to` names. Whatever has to do with its kind is checked by [`SinkKind::open`].
#[derive(Clone)]
pub struct Place {
    kind: &'static SinkKind,
    shown: String,
    scheme: String,
    path: PathBuf,
    url: Option<Url>,
    options: Vec<(String, String)>,
}

/// Options whose values are nobody's business.
const SECRETS: &[&str] = &["password", "token", "p"];

/// Arrow IPC was a kind once.
const ARROW: &str = "there is no Arrow sink; parquet:FILE has the same table, and jsonl:FILE?events=1 streams \
                     events as lines (FILE may be -)";

impl Place {
    /// Reads what was typed.
    pub fn parse(text: &str) -> Result<Self, SinkError> {
        let wrong = |problem: String| SinkError::Url { url: without_secrets(text), problem };
        let (scheme, rest) = text.split_once(':').ok_or_else(|| wrong(unknown("")))?;
        let kind = kind_of(scheme).ok_or_else(|| wrong(unknown(scheme)))?;
        let mut place = Self {
            kind,
            shown: without_secrets(text),
            scheme: scheme.to_ascii_lowercase(),
            path: PathBuf::new(),
            url: None,
            options: Vec::new(),
        };
        match kind.address {
            Address::File => place.file(rest),
            Address::Url => place.network(text),
        }
        .map_err(wrong)?;
        place.known_options()?;
        Ok(place)
    }

    /// A file of this kind, whatever is in its name.
    ///
    /// # Panics
    /// If there is no kind of file with this scheme.
    pub fn of_file(scheme: &str, path: &Path) -> Self {
        let kind = kind_of(scheme).filter(|kind| kind.address == Address::File);
        Self {
            kind: kind.expect("the scheme is one of a kind of file"),
            shown: format!("{scheme}:{}", path.display()),
            scheme: scheme.to_owned(),
            path: path.to_owned(),
            url: None,
            options: Vec::new(),
        }
    }

    /// The same file, by a path that may be another; what is shown stays.
    pub fn reached_by(self, path: &Path) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    fn file(&mut self, rest: &str) -> Result<(), String> {
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (path, options) = match rest.rsplit_once('?') {
            Some((path, query)) if query.contains('=') || !Path::new(rest).exists() => (path, query),
            _ => (rest, ""),
        };
        if path.is_empty() {
            return Err(format!("names no file; write {}, or - for standard output", self.kind.form));
        }
        self.path = PathBuf::from(path);
        self.options = pairs(options);
        Ok(())
    }

    fn network(&mut self, text: &str) -> Result<(), String> {
        let form = self.kind.form;
        let url = Url::parse(text).map_err(|why| format!("is not a URL ({why}); write {form}"))?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(format!("names no host; write {form}"));
        }
        self.options = url.query_pairs().map(|(name, value)| (name.into(), value.into())).collect();
        self.url = Some(url);
        Ok(())
    }

    fn known_options(&self) -> Result<(), SinkError> {
        let known = self.kind.options;
        match self.options.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) if known.is_empty() => Err(self.wrong(format!("there is no option {name} here"))),
            Some((name, _)) => {
                Err(self.wrong(format!("there is no option {name}; known are {}", known.join(", "))))
            }
        }
    }

    pub fn kind(&self) -> &'static SinkKind {
        self.kind
    }

    /// As it was typed, but without passwords: for messages and the result.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// In lower case: which of the kind's schemes it is.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The file of a kind with [`Address::File`]; empty for others.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is `-`.
    pub fn is_stdout(&self) -> bool {
        os::output::is_stdout(&self.path)
    }

    /// The URL of a kind with [`Address::Url`], with everything in it.
    ///
    /// # Panics
    /// For a kind of file.
    pub fn url(&self) -> &Url {
        self.url.as_ref().expect("a kind that has an address in the network was parsed as a URL")
    }

    /// User and password of the URL, percent-decoded; empty if there is none.
    pub fn user(&self) -> (String, String) {
        let Some(url) = &self.url else { return Default::default() };
        (decoded(url.username()), decoded(url.password().unwrap_or_default()))
    }

    /// The value of an option; the last if it was given twice.
    pub fn option(&self, name: &str) -> Option<&str> {
        debug_assert!(self.kind.options.contains(&name), "{name} is not in the kind's list");
        self.options.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// `?events=1`
    pub fn flag(&self, name: &str) -> Result<bool, SinkError> {
        match self.option(name) {
            None | Some("0" | "no" | "false") => Ok(false),
            Some("" | "1" | "yes" | "true") => Ok(true),
            Some(other) => Err(self.wrong(format!("{name}={other} is neither 1 nor 0"))),
        }
    }

    /// `?maxlen=100000`
    pub fn number(&self, name: &str) -> Result<Option<u64>, SinkError> {
        let parse = |text: &str| {
            text.parse::<units::Count>()
                .map(units::Count::get)
                .map_err(|why| self.wrong(format!("{name}: {why}")))
        };
        self.option(name).map(parse).transpose()
    }

    /// `?expire=7d`
    pub fn time(&self, name: &str) -> Result<Option<Picos>, SinkError> {
        let parse = |text: &str| text.parse::<Picos>().map_err(|why| self.wrong(format!("{name}: {why}")));
        self.option(name).map(parse).transpose()
    }

    /// Something is wrong with what was typed: `--to redis://host: …`.
    pub fn wrong(&self, problem: impl Into<String>) -> SinkError {
        SinkError::Url { url: self.shown.clone(), problem: problem.into() }
    }

    /// It does not take it, and will not.
    pub fn refused(&self, problem: impl Into<String>) -> SinkError {
        SinkError::Refused { sink: self.shown.clone(), problem: printable(&problem.into()) }
    }

    /// Nobody answers now.
    pub fn unreachable(&self, problem: impl Into<String>) -> SinkError {
        SinkError::Unreachable { sink: self.shown.clone(), problem: printable(&problem.into()) }
    }
}

/// The words of a server may be anything, and end up on a terminal.
fn printable(words: &str) -> String {
    const MOST: usize = 1_000;
    let mut shown: String = words.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if words.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// Without what is secret.
impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Place({})", self.shown)
    }
}

impl std::str::FromStr for Place {
    type Err = SinkError;

    fn from_str(text: &str) -> Result<Self, SinkError> {
        Self::parse(text)
    }
}

fn kind_of(scheme: &str) -> Option<&'static SinkKind> {
    KINDS.iter().find(|kind| kind.schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
}

fn unknown(scheme: &str) -> String {
    if scheme.eq_ignore_ascii_case("arrow") {
        return ARROW.to_owned();
    }
    if let Some(why) = left_out(scheme) {
        return why;
    }
    let all: Vec<&str> = KINDS.iter().flat_map(|kind| kind.schemes).copied().collect();
    let what = if scheme.is_empty() {
        "names no kind".to_owned()
    } else {
        format!("{scheme} is not a kind of sink")
    };
    format!("{what}; there are {}", all.join(", "))
}

fn pairs(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into(), value.into())).collect()
}

fn decoded(text: &str) -> String {
    // `+` is not a space before the host.
    let plus = text.replace('+', "%2B");
    url::form_urlencoded::parse(format!("v={plus}").as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

/// A URL with passwords and tokens hidden; also of something that is no URL.
pub fn without_secrets(text: &str) -> String {
    let (address, query) = match text.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (text, None),
    };
    let mut shown = hide_password(address, text);
    if let Some(query) = query {
        let hide = |pair: &str| match pair.split_once('=') {
            Some((name, _)) if SECRETS.contains(&name.to_ascii_lowercase().as_str()) => format!("{name}=***"),
            _ => pair.to_owned(),
        };
        shown.push('?');
        // A password with a `?` in it was hidden with what is before it.
        if !shown.contains("***") || !query.contains('@') {
            shown.push_str(&query.split('&').map(hide).collect::<Vec<_>>().join("&"));
        } else {
            shown.push_str("***");
        }
    }
    shown
}

/// `redis://user:secret@host` → `redis://user:***@host`
fn hide_password(address: &str, whole: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let end = rest.find('/').filter(|slash| !rest[*slash..].contains('@')).unwrap_or(rest.len());
    // `redis://:se?cret@host`: the @ is behind what looks like a query.
    if rest.contains(':') && whole[address.len()..].contains('@') {
        return format!("{scheme}://***");
    }
    let Some(at) = rest[..end].rfind('@') else { return address.to_owned() };
    let user = rest[..at].split_once(':').map_or(&rest[..at], |(user, _)| user);
    let password = if rest[..at].contains(':') { ":***" } else { "" };
    format!("{scheme}://{user}{password}{}", &rest[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Place::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn what_a_server_says_cannot_move_the_cursor_and_has_an_end() {
        let place: Place = "redis://127.0.0.1/x".parse().unwrap();
        assert_eq!(place.refused("no\u{1b}[31m\nway").problem(), "no [31m way");
        assert_eq!(place.unreachable("x".repeat(5_000)).problem().chars().count(), 1_001);
    }

    #[test]
    fn a_file_and_its_options() {
        let place = Place::parse("jsonl:/tmp/a b.jsonl?events=1").unwrap();
        assert_eq!(place.path(), Path::new("/tmp/a b.jsonl"));
        assert!(place.flag("events").unwrap() && !place.is_stdout());
        assert_eq!(Place::parse("csv:///tmp/x.csv").unwrap().path(), Path::new("/tmp/x.csv"));
        assert!(Place::parse("CSV:-").unwrap().is_stdout());
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        assert!(problem("x.csv").contains("names no kind; there are "), "{}", problem("x.csv"));
        assert!(problem("kafka://host").contains("kafka is not a kind of sink; there are "));
        let arrow = problem("arrow:-");
        assert!(arrow.starts_with("--to arrow:-: there is no Arrow sink; parquet:FILE "), "{arrow}");
        assert!(arrow.contains("jsonl:FILE?events=1"), "{arrow}");
        assert!(problem("csv:").contains("names no file; write csv:FILE"));
        assert!(problem("csv:a.csv?event=1").contains("no option event"));
        let flag = Place::parse("jsonl:a?events=maybe").unwrap().flag("events").unwrap_err();
        assert_eq!(flag.to_string(), "--to jsonl:a?events=maybe: events=maybe is neither 1 nor 0");
    }

    #[test]
    fn passwords_are_never_shown() {
        for (typed, shown) in [
            ("redis://:secret@h:1/0", "redis://:***@h:1/0"),
            ("redis://me:se%40cret@h/0?events=1", "redis://me:***@h/0?events=1"),
            ("redis://me@h", "redis://me@h"),
            ("redis://me:sec/ret@h", "redis://me:***@h"),
            ("redis://me:sec@ret@h/1", "redis://me:***@h/1"),
            ("influxdb2://h/o/b?token=secret&x=1", "influxdb2://h/o/b?token=***&x=1"),
            ("csv:a@b:c", "csv:a@b:c"),
        ] {
            assert_eq!(without_secrets(typed), shown);
        }
        // Whatever stands in a password, written as it is: none of its letters show.
        for (first, second) in "@:/?#&=%".chars().flat_map(|a| "@:/?#&=%".chars().map(move |b| (a, b))) {
            for (user, rest) in [("", "host"), ("me", "host:1/0"), ("", "host/0?events=1")] {
                let typed = format!("redis://{user}:Q{first}W{second}E@{rest}");
                let shown = without_secrets(&typed);
                assert!(!shown.contains(['Q', 'W', 'E']), "{typed} is shown as {shown}");
            }
        }
        for odd in ["redis://me:se?cret@h/0", "redis://:a?b&token=c@h", "redis://x:y:secret@"] {
            assert!(!without_secrets(odd).contains("cret"), "{}", without_secrets(odd));
        }
    }
}
