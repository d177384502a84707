//! Reading HTTP/1 responses: incremental, bounded, no I/O, bodies passed on but never kept.
//!
//! ```text
//! bytes ──► Head ─┬─► Data* ─► End        Informational (1xx) may come before Head, any number of times
//!                 └─► End                 (204, 304, HEAD, Content-Length: 0)
//! ```
//!
//! However the bytes are split, the same items come out (`Data` pieces joined). Framing follows RFC 9112 §6:
//! Transfer-Encoding wins over Content-Length, differing lengths are an error, no length means "until close".

use units::Cause;

/// The largest head that is accepted, in bytes.
pub const HEAD_LIMIT: usize = 64 * 1024;
/// The most header fields that are accepted.
pub const FIELD_LIMIT: usize = 256;
/// The most bytes of trailers and of one chunk-size line.
const TRAILER_LIMIT: u32 = 16 * 1024;
const CHUNK_LINE_LIMIT: u32 = 4 * 1024;

/// What the reader must know about the request that is being answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// The request was HEAD (or CONNECT with a 2xx answer): no body follows whatever the head says.
    pub no_body: bool,
    /// Keep the Location field of a 3xx.
    pub location: bool,
    /// The request may be carried out twice (RFC 9110 §9.2.2).
    pub idempotent: bool,
}

/// A response head, reduced to what the engine acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Whether the connection may carry another request after this response.
    pub keep_alive: bool,
    pub framing: Framing,
}

/// How the body's end is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Empty,
    Length(u64),
    Chunked,
    UntilClose,
}

/// One step through a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A 1xx head.
    Informational(u16),
    Head(Head),
    /// A piece of the body, chunk framing removed.
    Data(&'a [u8]),
    /// The response is complete; the reader is ready for the next.
    End,
    /// All input is used up and the response is not complete.
    More,
}

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    #[error("the response head is not HTTP/1")]
    Head,
    #[error("the response head is larger than {HEAD_LIMIT} bytes or {FIELD_LIMIT} fields")]
    HeadTooLarge,
    #[error("Content-Length is not a number, or is given twice and differs")]
    Length,
    #[error("the chunk framing is broken")]
    Chunk,
}

impl FramingError {
    /// The outcome that it leads to.
    pub const fn cause(self) -> Cause {
        match self {
            Self::Head => Cause::FramingHead,
            Self::HeadTooLarge => Cause::FramingHeadTooLarge,
            Self::Length => Cause::FramingLength,
            Self::Chunk => Cause::FramingChunk,
        }
    }
}

/// Where the reader is between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Length(u64),
    Chunk(Chunk),
    UntilClose,
    /// The body is complete, `End` is still to be said.
    Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    /// In the hexadecimal size: value so far, digits so far.
    Size {
        size: u64,
        digits: u32,
    },
    /// In a chunk extension or before the LF of the size line.
    SizeRest {
        size: u64,
        line: u32,
    },
    Data {
        left: u64,
    },
    DataCr,
    DataLf,
    /// In the trailer section; `line` bytes in the current line, `total` in all.
    Trailer {
        line: u32,
        total: u32,
    },
}

/// Reads the responses of one connection, one after another.
#[derive(Debug)]
pub struct ResponseReader {
    state: State,
    /// The part of a head that has arrived; empty (and usually without memory) between heads.
    partial: Vec<u8>,
    location: Option<Box<str>>,
}

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseReader {
    pub const fn new() -> Self {
        Self { state: State::Head, partial: Vec::new(), location: None }
    }

    /// Whether a response has begun and is not complete.
    pub fn is_inside(&self) -> bool {
        self.state != State::Head || !self.partial.is_empty()
    }

    /// Whether its head is complete.
    pub fn is_in_body(&self) -> bool {
        self.state != State::Head
    }

    /// Whether the body that is being read ends with the connection.
    pub fn is_until_close(&self) -> bool {
        self.state == State::UntilClose
    }

    /// The Location field of the last head, if it was asked for.
    pub fn take_location(&mut self) -> Option<Box<str>> {
        self.location.take()
    }

    /// Whether what has come of a head can not be the beginning of one.
    pub fn is_foreign(&self) -> bool {
        const START: &[u8] = b"HTTP/";
        let seen = &self.partial[..self.partial.len().min(START.len())];
        !START.starts_with(seen)
    }

    /// Takes the next item from the front of `input`. After an error the connection is of no more use.
    pub fn next<'a>(&mut self, input: &mut &'a [u8], asked: RequestFacts) -> Result<Item<'a>, FramingError> {
        match self.state {
            State::Head => self.head(input, asked),
            State::Length(left) => Ok(self.length(input, left)),
            State::Chunk(chunk) => self.chunk(input, chunk),
            State::UntilClose if input.is_empty() => Ok(Item::More),
            State::UntilClose => Ok(Item::Data(std::mem::take(input))),
            State::Ending => {
                self.state = State::Head;
                Ok(Item::End)
            }
        }
    }

    /// The connection was closed by the target. True if that completes the response.
    pub fn close(&mut self) -> bool {
        let complete = matches!(self.state, State::UntilClose | State::Ending);
        self.state = State::Head;
        self.partial = Vec::new();
        complete
    }

    fn head<'a>(&mut self, input: &mut &'a [u8], asked: RequestFacts) -> Result<Item<'a>, FramingError> {
        if self.partial.is_empty() {
            // RFC 9112 §2.2: empty lines before a head are ignored.
            let blank = input.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            *input = &input[blank..];
            if input.is_empty() {
                return Ok(Item::More);
            }
            match self.parse(input, asked) {
                Ok(Some((head, used))) if used <= HEAD_LIMIT => {
                    *input = &input[used..];
                    return Ok(self.begin_body(head));
                }
                // Judged only when it is whole, so that the split of the bytes makes no difference.
                Err(error) if head_end(input).is_some_and(|end| end <= HEAD_LIMIT) => return Err(error),
                _ => {}
            }
        }
        self.collect(input)?;
        if !ends_head(&self.partial) {
            return Ok(Item::More);
        }
        let partial = std::mem::take(&mut self.partial);
        match self.parse(&partial, asked)? {
            Some((head, _)) => Ok(self.begin_body(head)),
            None => Err(FramingError::Head),
        }
    }

    /// Moves bytes from `input` to `partial`, up to and including the empty line that ends a head.
    fn collect(&mut self, input: &mut &[u8]) -> Result<(), FramingError> {
        while !input.is_empty() {
            let line = memchr::memchr(b'\n', input).map_or(input.len(), |at| at + 1);
            if self.partial.len() + line > HEAD_LIMIT {
                return Err(FramingError::HeadTooLarge);
            }
            let (taken, rest) = input.split_at(line);
            self.partial.extend_from_slice(taken);
            *input = rest;
            if ends_head(&self.partial) {
                break;
            }
        }
        Ok(())
    }

    /// `None` if the head is not complete.
    fn parse(&mut self, bytes: &[u8], asked: RequestFacts) -> Result<Option<(Parsed, usize)>, FramingError> {
        let mut fields = [const { std::mem::MaybeUninit::<httparse::Header<'_>>::uninit() }; FIELD_LIMIT];
        let mut response = httparse::Response::new(&mut []);
        let mut config = httparse::ParserConfig::default();
        // RFC 9112 §5.2: a user agent reads a folded line as one with spaces. §5.1 has servers refuse a space
        // before the colon, and proxies take it away; curl takes both.
        config.allow_obsolete_multiline_headers_in_responses(true);
        config.allow_spaces_after_header_name_in_responses(true);
        let status = config.parse_response_with_uninit_headers(&mut response, bytes, &mut fields);
        match status {
            Ok(httparse::Status::Complete(used)) => {
                let parsed = Parsed::read(&response, asked, &mut self.location)?;
                Ok(Some((parsed, used)))
            }
            Ok(httparse::Status::Partial) => Ok(None),
            Err(httparse::Error::TooManyHeaders) => Err(FramingError::HeadTooLarge),
            Err(_) => Err(FramingError::Head),
        }
    }

    fn begin_body(&mut self, parsed: Parsed) -> Item<'static> {
        let Parsed::Final(head) = parsed else {
            let Parsed::Informational(status) = parsed else { unreachable!("two variants") };
            return Item::Informational(status);
        };
        self.state = match head.framing {
            Framing::Empty | Framing::Length(0) => State::Ending,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunk(Chunk::Size { size: 0, digits: 0 }),
            Framing::UntilClose => State::UntilClose,
        };
        Item::Head(head)
    }

    fn length<'a>(&mut self, input: &mut &'a [u8], left: u64) -> Item<'a> {
        if input.is_empty() {
            return Item::More;
        }
        let taken = take(input, left);
        let left = left - taken.len() as u64;
        self.state = if left == 0 { State::Ending } else { State::Length(left) };
        Item::Data(taken)
    }

    fn chunk<'a>(&mut self, input: &mut &'a [u8], mut chunk: Chunk) -> Result<Item<'a>, FramingError> {
        loop {
            if let Chunk::Data { left } = chunk {
                if input.is_empty() {
                    self.state = State::Chunk(chunk);
                    return Ok(Item::More);
                }
                let taken = take(input, left);
                let left = left - taken.len() as u64;
                self.state = State::Chunk(if left == 0 { Chunk::DataCr } else { Chunk::Data { left } });
                return Ok(Item::Data(taken));
            }
            let Some((&byte, rest)) = input.split_first() else {
                self.state = State::Chunk(chunk);
                return Ok(Item::More);
            };
            *input = rest;
            match chunk.step(byte)? {
                Some(next) => chunk = next,
                None => {
                    self.state = State::Head;
                    return Ok(Item::End);
                }
            }
        }
    }
}

impl Chunk {
    /// The state after one byte of framing; `None` after the last.
    fn step(self, byte: u8) -> Result<Option<Self>, FramingError> {
        let next = match (self, byte) {
            (Self::Size { size, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if digits < 16 => {
                let digit = (byte as char).to_digit(16).expect("matched as a hexadecimal digit");
                Self::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
            }
            (Self::Size { size, digits }, b'\n') if digits > 0 => Self::after_size(size),
            (Self::Size { size, digits }, b'\r' | b';' | b' ' | b'\t') if digits > 0 => {
                Self::SizeRest { size, line: digits }
            }
            (Self::SizeRest { size, .. }, b'\n') => Self::after_size(size),
            (Self::SizeRest { size, line }, _) if line < CHUNK_LINE_LIMIT => {
                Self::SizeRest { size, line: line + 1 }
            }
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataCr | Self::DataLf, b'\n') => Self::Size { size: 0, digits: 0 },
            (Self::Trailer { line: 0, .. }, b'\n') => return Ok(None),
            (Self::Trailer { total, .. }, b'\n') => Self::Trailer { line: 0, total: total + 1 },
            (Self::Trailer { line: 0, total }, b'\r') => Self::Trailer { line: 0, total: total + 1 },
            (Self::Trailer { line, total }, _) if total < TRAILER_LIMIT => {
                Self::Trailer { line: line + 1, total: total + 1 }
            }
            _ => return Err(FramingError::Chunk),
        };
        match next {
            Self::Trailer { total, .. } if total >= TRAILER_LIMIT => Err(FramingError::Chunk),
            next => Ok(Some(next)),
        }
    }

    const fn after_size(size: u64) -> Self {
        if size == 0 { Self::Trailer { line: 0, total: 0 } } else { Self::Data { left: size } }
    }
}

/// Whether the bytes end with the empty line that ends a head.
fn ends_head(bytes: &[u8]) -> bool {
    bytes.ends_with(b"\n\r\n") || bytes.ends_with(b"\n\n")
}

/// The length of the head that the bytes begin with, its empty line included.
fn head_end(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).find(|end| ends_head(&bytes[..*end]))
}

/// Splits at most `most` bytes from the front of `input`.
fn take<'a>(input: &mut &'a [u8], most: u64) -> &'a [u8] {
    let count = usize::try_from(most).unwrap_or(usize::MAX).min(input.len());
    let (taken, rest) = input.split_at(count);
    *input = rest;
    taken
}

/// A parsed head.
enum Parsed {
    Informational(u16),
    Final(Head),
}

impl Parsed {
    fn read(
        response: &httparse::Response<'_, '_>,
        asked: RequestFacts,
        location: &mut Option<Box<str>>,
    ) -> Result<Self, FramingError> {
        let status = response.code.ok_or(FramingError::Head)?;
        if !(100..1000).contains(&status) {
            return Err(FramingError::Head);
        }
        // 101 switches to a protocol that no request of ours asks for: final, until close.
        if status < 200 && status != 101 {
            return Ok(Self::Informational(status));
        }
        let mut fields = Fields { keep_alive: response.version == Some(1), ..Fields::default() };
        for field in response.headers.iter() {
            fields.read(field)?;
            if asked.location && (300..400).contains(&status) && field.name.eq_ignore_ascii_case("location") {
                *location = std::str::from_utf8(field.value).ok().map(Into::into);
            }
        }
        let framing = fields.framing(status, asked);
        let keep_alive = fields.keep_alive && framing != Framing::UntilClose && status != 101;
        Ok(Self::Final(Head { status, keep_alive, framing }))
    }
}

/// What the header fields say about framing.
#[derive(Default)]
struct Fields {
    keep_alive: bool,
    length: Option<u64>,
    transfer_encoding: bool,
    chunked: bool,
}

impl Fields {
    fn read(&mut self, field: &httparse::Header<'_>) -> Result<(), FramingError> {
        // The length of the name tells most fields apart without comparing them.
        match field.name.len() {
            14 if field.name.eq_ignore_ascii_case("content-length") => self.content_length(field.value),
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                self.transfer_encoding = true;
                self.chunked = last_token(field.value).eq_ignore_ascii_case(b"chunked");
                Ok(())
            }
            10 if field.name.eq_ignore_ascii_case("connection") => {
                for token in field.value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                    if token.eq_ignore_ascii_case(b"close") {
                        self.keep_alive = false;
                    } else if token.eq_ignore_ascii_case(b"keep-alive") {
                        self.keep_alive = true;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// RFC 9110 §8.6: a list of equal lengths is one length.
    fn content_length(&mut self, value: &[u8]) -> Result<(), FramingError> {
        for part in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
            let length = decimal(part).ok_or(FramingError::Length)?;
            if self.length.is_some_and(|known| known != length) {
                return Err(FramingError::Length);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn framing(&self, status: u16, asked: RequestFacts) -> Framing {
        match self.length {
            _ if asked.no_body || status == 204 || status == 304 => Framing::Empty,
            _ if self.chunked => Framing::Chunked,
            _ if self.transfer_encoding => Framing::UntilClose,
            Some(length) => Framing::Length(length),
            None => Framing::UntilClose,
        }
    }
}

fn last_token(value: &[u8]) -> &[u8] {
    value.rsplit(|b| *b == b',').next().unwrap_or_default().trim_ascii()
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests;
