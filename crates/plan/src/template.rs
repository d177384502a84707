//! Placeholders in URLs, headers and bodies, compiled once and rendered without allocating.
//!
//! | placeholder | becomes |
//! |---|---|
//! | `{seq}` | the request's position in the whole schedule, from 0 |
//! | `{seq:8}` | the same with at least 8 digits: zeros in front |
//! | `{random:hex:16}` | 16 random digits `0-9a-f` |
//! | `{random:dec:8}` | 8 random digits `0-9` |
//! | `{random:alnum:12}` | 12 random `0-9A-Za-z` |
//! | `{uuid}` | a random UUID (version 4, RFC 9562 §5.4) |
//! | `{now_ms}` | milliseconds since 1970-01-01 UTC |
//! | `{line:FILE}` | a line of FILE; what a URL can not hold of it is percent-encoded there |
//!
//! `{{seq}}` is the text `{seq}`. A brace that begins no `{name}` or `{name:…}` stays as it is, so JSON needs
//! no escapes; a `{name}` that is unknown is an error rather than a surprise at the target.

use crate::suggest::nearest;
use thiserror::Error;

/// Where rendering takes its values from. Everything random must come from the plan's seed.
pub trait TemplateContext {
    /// Position of this request in the whole schedule.
    fn seq(&mut self) -> u64;
    /// The next 64 random bits.
    fn random(&mut self) -> u64;
    /// Milliseconds since 1970-01-01 UTC.
    fn now_ms(&mut self) -> u64;
    /// Appends a line of the file with this number in the table given to `compile_with`; false if it cannot be
    /// read.
    fn line(&mut self, file: usize, out: &mut Vec<u8>) -> bool;
}

/// Where in a request a text stands: what a line of a file may bring there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// What no target may hold (RFC 3986 §2) is percent-encoded.
    Target,
    /// A control character would end the field, and perhaps begin another.
    Field,
    /// Anything.
    Body,
}

/// A line of a file that can not stand where its placeholder does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    #[error("cannot be read")]
    Unreadable { file: usize },
    #[error("has a control character, which is not allowed in a header")]
    Control { file: usize },
}

impl Unfit {
    /// The number of the file.
    pub const fn file(self) -> usize {
        match self {
            Self::Unreadable { file } | Self::Control { file } => file,
        }
    }
}

/// A text with its placeholders found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(Vec<u8>),
    Seq { width: usize },
    Random { alphabet: Alphabet, length: u16 },
    Uuid,
    NowMs,
    Line { file: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alphabet {
    Hex,
    Dec,
    Alnum,
}

/// A placeholder that cannot be filled. `column` counts characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("has the placeholder '{placeholder}' at column {column}, {problem}; expected {expected}")]
pub struct TemplateError {
    pub column: usize,
    pub placeholder: String,
    pub problem: String,
    pub expected: String,
}

const NAMES: [&str; 5] = ["seq", "random", "uuid", "now_ms", "line"];
const RANDOM: &str = "{random:hex:16}, {random:dec:8} or {random:alnum:12}, of 1 to 1024 characters";
const LONGEST_RANDOM: u16 = 1024;

impl Template {
    pub fn compile(text: &str) -> Result<Self, TemplateError> {
        Self::compile_with(text, &mut Vec::new())
    }

    /// Numbers the files of `{line:FILE}` by their position in `files`, adding those not there yet, so that
    /// several templates can share one table.
    pub fn compile_with(text: &str, files: &mut Vec<String>) -> Result<Self, TemplateError> {
        Self::compile_by(text, files, Unknown::IsAnError)
    }

    /// A text that was not written for placeholders, such as a file: what is none is text.
    pub fn compile_loosely(text: &str, files: &mut Vec<String>) -> Self {
        Self::compile_by(text, files, Unknown::IsText).expect("nothing is an error here")
    }

    fn compile_by(text: &str, files: &mut Vec<String>, unknown: Unknown) -> Result<Self, TemplateError> {
        let mut segments = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            let is_text = |p: &str| unknown == Unknown::IsText && segment(p, &mut Vec::new()).is_err();
            if let Some(inside) = rest.strip_prefix('{').and_then(placeholder).filter(|p| escaped(rest, p))
                && !is_text(inside)
            {
                // `{{` comes first: the outer braces of an escape enclose a whole placeholder.
                literal.push_str(inside);
                rest = &rest[inside.len() + 2..];
            } else if let Some(found) = placeholder(rest).filter(|found| !is_text(found)) {
                let column = text[..text.len() - rest.len()].chars().count() + 1;
                let segment = segment(found, files).map_err(|(problem, expected)| TemplateError {
                    column,
                    placeholder: found.to_owned(),
                    problem,
                    expected,
                })?;
                push_literal(&mut segments, &mut literal);
                segments.push(segment);
                rest = &rest[found.len()..];
            } else {
                literal.push('{');
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        push_literal(&mut segments, &mut literal);
        Ok(Self { segments })
    }

    /// A text in which braces mean nothing.
    pub fn literal(text: &str) -> Self {
        Self { segments: vec![Segment::Literal(text.as_bytes().to_vec())] }
    }

    /// The text, if nothing in it changes from one request to the next.
    pub fn constant(&self) -> Option<&[u8]> {
        match self.segments.as_slice() {
            [] => Some(b""),
            [Segment::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends the text with every placeholder filled. Does not allocate once `out` is long enough, unless a
    /// line has to be encoded.
    pub fn render(
        &self,
        out: &mut Vec<u8>,
        context: &mut dyn TemplateContext,
        position: Position,
    ) -> Result<(), Unfit> {
        for segment in &self.segments {
            match segment {
                Segment::Literal(text) => out.extend_from_slice(text),
                Segment::Seq { width } => push_padded(out, context.seq(), *width),
                Segment::NowMs => push_decimal(out, context.now_ms()),
                Segment::Random { alphabet, length } => push_random(out, *alphabet, *length, context),
                Segment::Uuid => push_uuid(out, context.random(), context.random()),
                Segment::Line { file } => {
                    let start = out.len();
                    if !context.line(*file, out) {
                        return Err(Unfit::Unreadable { file: *file });
                    }
                    match position {
                        Position::Target => encode(out, start),
                        Position::Field if out[start..].iter().any(|byte| is_control(*byte)) => {
                            return Err(Unfit::Control { file: *file });
                        }
                        Position::Field | Position::Body => {}
                    }
                }
            }
        }
        Ok(())
    }
}

/// What becomes of a `{name}` that is no placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    IsAnError,
    IsText,
}

/// RFC 9110 §5.5: a field's value may hold tabs, but no other control character.
const fn is_control(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

/// Percent-encodes what stands in `out` from `start` on and can not stand in a request target.
fn encode(out: &mut Vec<u8>, start: usize) {
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let needs = |text: &[u8], at: usize| match text[at] {
        b'%' => !(is_hex(text.get(at + 1)) && is_hex(text.get(at + 2))),
        byte => byte <= b' ' || byte >= 0x7f || b"\"#<>\\^`{|}".contains(&byte),
    };
    if !(start..out.len()).any(|at| needs(out, at)) {
        return;
    }
    let raw = out.split_off(start);
    for (at, byte) in raw.iter().enumerate() {
        if needs(&raw, at) {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]]);
        } else {
            out.push(*byte);
        }
    }
}

fn push_literal(segments: &mut Vec<Segment>, literal: &mut String) {
    if !literal.is_empty() {
        segments.push(Segment::Literal(std::mem::take(literal).into_bytes()));
    }
}

/// The `{name}` or `{name:…}` that `text` begins with, braces included.
fn placeholder(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?;
    let name = inside.bytes().take_while(|b| b.is_ascii_lowercase() || *b == b'_').count();
    let rest = &inside[name..];
    let arguments = match rest.strip_prefix(':') {
        Some(arguments) => 1 + arguments.find(['{', '}'])?,
        None => 0,
    };
    let closed = rest[arguments..].starts_with('}');
    (name > 0 && closed).then(|| &text[..name + arguments + 2])
}

/// Whether `{{name}}` is closed by two braces.
fn escaped(text: &str, inside: &str) -> bool {
    text[1 + inside.len()..].starts_with('}')
}

fn segment(placeholder: &str, files: &mut Vec<String>) -> Result<Segment, (String, String)> {
    let inside = &placeholder[1..placeholder.len() - 1];
    let (name, arguments) = match inside.split_once(':') {
        Some((name, arguments)) => (name, Some(arguments)),
        None => (inside, None),
    };
    match (name, arguments) {
        ("seq", None) => Ok(Segment::Seq { width: 1 }),
        ("seq", Some(width)) => seq_segment(width),
        ("uuid", None) => Ok(Segment::Uuid),
        ("now_ms", None) => Ok(Segment::NowMs),
        ("random", Some(arguments)) => random_segment(arguments),
        ("random", None) => Err(("which lacks its kind and length".into(), RANDOM.into())),
        ("line", Some(file)) if !file.is_empty() => Ok(Segment::Line { file: number_of(file, files) }),
        ("line", _) => Err(("which names no file".into(), "{line:FILE}".into())),
        ("uuid" | "now_ms", Some(_)) => Err(("which takes no ':'".into(), format!("{{{name}}}"))),
        _ => Err(unknown(placeholder, name)),
    }
}

/// The longest number has 20 digits.
fn seq_segment(width: &str) -> Result<Segment, (String, String)> {
    let width = width.parse().ok().filter(|width| (1..=20).contains(width));
    let wrong =
        || ("which has no usable width".to_owned(), "{seq}, or {seq:8} for at least 8 digits".to_owned());
    width.map(|width| Segment::Seq { width }).ok_or_else(wrong)
}

fn random_segment(arguments: &str) -> Result<Segment, (String, String)> {
    let wrong = |problem: String| (problem, RANDOM.to_owned());
    let (kind, length) = arguments.split_once(':').ok_or_else(|| wrong("which has no length".to_owned()))?;
    let alphabet = match kind {
        "hex" => Alphabet::Hex,
        "dec" => Alphabet::Dec,
        "alnum" => Alphabet::Alnum,
        _ => return Err(wrong(format!("which has the unknown kind '{kind}'"))),
    };
    let length = length.parse().ok().filter(|length| (1..=LONGEST_RANDOM).contains(length));
    let length = length.ok_or_else(|| wrong("which has no usable length".to_owned()))?;
    Ok(Segment::Random { alphabet, length })
}

fn unknown(placeholder: &str, name: &str) -> (String, String) {
    let expected = match nearest(name, NAMES) {
        Some("random") => RANDOM.to_owned(),
        Some("line") => "{line:FILE}".to_owned(),
        Some(near) => format!("{{{near}}}"),
        None => "{seq}, {uuid}, {now_ms}, {random:hex:16} or {line:FILE}".to_owned(),
    };
    ("which is unknown".to_owned(), format!("{expected}, or {{{placeholder}}} for the text itself"))
}

fn number_of(file: &str, files: &mut Vec<String>) -> usize {
    files.iter().position(|known| known == file).unwrap_or_else(|| {
        files.push(file.to_owned());
        files.len() - 1
    })
}

pub fn push_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// With at least so many digits.
fn push_padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let start = out.len();
    push_decimal(out, number);
    let missing = width.saturating_sub(out.len() - start);
    out.splice(start..start, std::iter::repeat_n(b'0', missing));
}

impl Alphabet {
    const fn letters(self) -> &'static [u8] {
        match self {
            Self::Hex => b"0123456789abcdef",
            Self::Dec => b"0123456789",
            Self::Alnum => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        }
    }

    /// Letters taken from one 64-bit draw: few enough that no letter is favoured by more than 1 in 10⁹
    /// (62⁵ / 2⁶⁴ = 5·10⁻¹¹, 10⁹ / 2⁶⁴ = 5·10⁻¹¹); 16 hexadecimal digits are exact.
    const fn letters_each_draw(self) -> u16 {
        match self {
            Self::Hex => 16,
            Self::Dec => 9,
            Self::Alnum => 5,
        }
    }
}

/// Reads a draw as the fraction draw/2⁶⁴: each letter is the next digit of that fraction in base n.
fn push_random(out: &mut Vec<u8>, alphabet: Alphabet, length: u16, context: &mut dyn TemplateContext) {
    let letters = alphabet.letters();
    let mut left = length;
    while left > 0 {
        let mut fraction = context.random();
        let now = left.min(alphabet.letters_each_draw());
        for _ in 0..now {
            let product = u128::from(fraction) * letters.len() as u128;
            out.push(letters[(product >> 64) as usize]);
            fraction = product as u64;
        }
        left -= now;
    }
}

/// 122 random bits, version 4 in the 7th byte, variant 10 in the 9th.
fn push_uuid(out: &mut Vec<u8>, high: u64, low: u64) {
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    for index in 0..32 {
        if matches!(index, 8 | 12 | 16 | 20) {
            out.push(b'-');
        }
        let word = if index < 16 { high } else { low };
        let nibble = (word >> (60 - 4 * (index % 16))) & 0xf;
        out.push(Alphabet::Hex.letters()[nibble as usize]);
    }
}

#[cfg(test)]
mod tests;
