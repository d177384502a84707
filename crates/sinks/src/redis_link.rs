//! A connection to one Redis: commands in, replies out, and what its refusals mean in words.

use crate::exporter::SinkError;
use crate::place::Place;
use crate::redis_wire::{Exceeded, Limits, Wire, trust};
use redis::{ErrorKind, RedisError, ServerError, Value};
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;

/// To be connected.
const CONNECT: Duration = Duration::from_secs(2);
/// For the replies to one round of commands. The longest that Tare asks for, a page of intervals with their
/// histograms, has some megabytes.
const REPLY: Limits =
    Limits { silence: Duration::from_secs(4), whole: Duration::from_secs(30), bytes: 64 << 20 };
/// Characters of a strange reply that are told.
const WORDS: usize = 60;
const PORT: u16 = 6_379;
/// Streams came with this version.
const OLDEST: u64 = 5;

/// Commands as Redis reads them (RESP: arrays of bulk strings), to be sent together. Keeps its memory.
#[derive(Debug, Default)]
pub struct Commands {
    bytes: Vec<u8>,
    count: usize,
}

impl Commands {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// A command of so many words, of which this is the first; the others follow.
    pub fn begin(&mut self, words: usize, name: &str) -> &mut Self {
        self.count += 1;
        self.length(b'*', words);
        self.word(name)
    }

    pub fn word(&mut self, word: impl AsRef<[u8]>) -> &mut Self {
        let word = word.as_ref();
        self.length(b'$', word.len());
        self.bytes.extend_from_slice(word);
        self.bytes.extend_from_slice(b"\r\n");
        self
    }

    pub fn number(&mut self, number: u64) -> &mut Self {
        let (digits, from) = digits(number);
        self.word(&digits[from..])
    }

    /// A whole command of words.
    pub fn command(&mut self, words: &[&str]) -> &mut Self {
        let (name, rest) = words.split_first().expect("a command has a name");
        self.begin(words.len(), name);
        rest.iter().for_each(|word| {
            self.word(word);
        });
        self
    }

    fn length(&mut self, kind: u8, length: usize) {
        let (digits, from) = digits(length as u64);
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&digits[from..]);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

/// Decimal digits at the end of the array, and where they begin.
fn digits(mut number: u64) -> ([u8; 20], usize) {
    let (mut digits, mut from) = ([0; 20], 20);
    loop {
        from -= 1;
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return (digits, from);
        }
    }
}

/// One Redis; connects when it is needed, and again after a failure.
pub struct Link {
    place: Place,
    host: String,
    port: u16,
    database: i64,
    tls: Option<Arc<ClientConfig>>,
    wire: Option<Wire>,
}

impl Link {
    /// Connects nowhere yet. `database` is the number in the URL's path.
    pub fn new(place: &Place, database: i64) -> Result<Self, SinkError> {
        let url = place.url();
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let tls = match (place.scheme() == "rediss", place.option("ca")) {
            (true, authority) => Some(trust(authority).map_err(|why| place.wrong(why))?),
            (false, Some(_)) => return Err(place.wrong("ca= is for rediss:// only")),
            (false, None) => None,
        };
        let (place, host, port) = (place.clone(), host.to_owned(), url.port().unwrap_or(PORT));
        Ok(Self { place, host, port, database, tls, wire: None })
    }

    pub fn is_connected(&self) -> bool {
        self.wire.is_some()
    }

    /// Connects, and looks whether this is a Redis that has streams.
    pub fn connect(&mut self) -> Result<(), SinkError> {
        let wire = Wire::open(&self.host, self.port, self.tls.as_ref(), CONNECT, REPLY);
        self.wire = Some(wire.map_err(|why| self.failed(&why.into(), None))?);
        let is_let_in = self.log_in().and_then(|()| self.check_version());
        is_let_in.inspect_err(|_| self.wire = None)
    }

    fn log_in(&mut self) -> Result<(), SinkError> {
        let (user, password) = self.place.user();
        if !password.is_empty() {
            let (of_user, alone) = (["AUTH", user.as_str(), &password], ["AUTH", password.as_str()]);
            let mut reply = self.try_out(if user.is_empty() { &alone[..] } else { &of_user[..] })?;
            // Before Redis 6 there were no users.
            if !user.is_empty() && is_about_arguments(&reply) {
                reply = self.try_out(&alone)?;
            }
            match reply {
                Value::ServerError(why) if why.code() == "LOADING" => return Err(refusal(&self.place, &why)),
                Value::ServerError(_) => return Err(wrong_password(&self.place)),
                Value::Okay => {}
                other => return Err(self.strange("AUTH", &other)),
            }
        }
        if self.database == 0 {
            return Ok(());
        }
        match self.try_out(&["SELECT", &self.database.to_string()])? {
            Value::Okay => Ok(()),
            Value::ServerError(why) if why.details().is_some_and(|said| said.contains("DB index")) => {
                Err(self
                    .place
                    .refused("it has no database with this number: name another (most have 0 to 15)"))
            }
            Value::ServerError(why) => Err(refusal(&self.place, &why)),
            other => Err(self.strange("SELECT", &other)),
        }
    }

    /// A user who may not ask for the version is let through: what does not work will say so.
    fn check_version(&mut self) -> Result<(), SinkError> {
        let info = match self.try_out(&["INFO", "server"])? {
            Value::ServerError(why) if is_about_rights(&why) => String::new(),
            Value::ServerError(why) => return Err(refusal(&self.place, &why)),
            Value::BulkString(text) => String::from_utf8_lossy(&text).into_owned(),
            other => return Err(self.strange("INFO", &other)),
        };
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("");
        let major = version.split('.').next().and_then(|major| major.parse::<u64>().ok());
        match major {
            Some(major) if major < OLDEST => Err(self.place.refused(format!(
                "this is Redis {version}, which has no streams; {OLDEST}.0 or newer is needed"
            ))),
            _ => Ok(()),
        }
    }

    /// Sends all commands at once and waits for all replies: one for each, in order; refusals are among them.
    /// After an error it is not known which of them were carried out.
    pub fn send(&mut self, commands: &Commands) -> Result<Vec<Value>, SinkError> {
        let Some(wire) = &mut self.wire else {
            return Err(self.place.unreachable("there is no connection"));
        };
        let replies = wire.round(&commands.bytes, commands.count);
        replies.map_err(|why| {
            let exceeded = self.wire.take().and_then(|mut wire| wire.exceeded());
            self.failed(&why, exceeded)
        })
    }

    /// Sends one command that must not be refused.
    pub fn ask(&mut self, words: &[&str]) -> Result<Value, SinkError> {
        match self.try_out(words)? {
            Value::ServerError(why) => Err(refusal(&self.place, &why)),
            value => Ok(value),
        }
    }

    /// Sends one command.
    fn try_out(&mut self, words: &[&str]) -> Result<Value, SinkError> {
        let mut command = Commands::default();
        command.command(words);
        self.send(&command)?.pop().ok_or_else(|| self.place.unreachable("the reply is missing"))
    }

    /// Of a reply that no Redis gives to this command.
    pub fn strange(&self, command: &str, reply: &Value) -> SinkError {
        let said: String = on_the_wire(reply).chars().take(WORDS).collect();
        self.place.refused(format!(
            "{} does not reply as Redis does: its reply to {command} was {said}",
            self.address()
        ))
    }

    fn address(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    fn failed(&self, why: &RedisError, exceeded: Option<Exceeded>) -> SinkError {
        let address = self.address();
        match exceeded {
            Some(Exceeded::Whole) => {
                let s = REPLY.whole.as_secs();
                return self.place.unreachable(format!("a reply from {address} did not end within {s} s"));
            }
            Some(Exceeded::Bytes) => {
                let mib = REPLY.bytes >> 20;
                return self.place.refused(format!(
                    "a reply from {address} is longer than {mib} MiB, which Redis would not send"
                ));
            }
            None => {}
        }
        match why.kind() {
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => self.place.refused(format!(
                "what listens on {address} does not reply as Redis does; is it another service, or does it \
                 require TLS (rediss://)?"
            )),
            _ if why.is_timeout() && self.place.scheme() == "rediss" => self.place.unreachable(format!(
                "{address} does not reply in time; does it speak TLS? If not, use redis://"
            )),
            _ if why.is_timeout() => self.place.unreachable(format!("{address} does not reply in time")),
            _ if why.is_connection_refusal() => {
                self.place.unreachable(format!("nothing listens on {address}; is Redis running?"))
            }
            _ if is_certificate(why) => self
                .place
                .refused(format!("its certificate is not trusted ({why}); name its authority with ?ca=FILE")),
            _ => self.place.unreachable(format!("the connection to {address} failed: {why}")),
        }
    }
}

/// A reply as it begins on the wire.
fn on_the_wire(reply: &Value) -> String {
    match reply {
        Value::Okay => "+OK".to_owned(),
        Value::SimpleString(text) => format!("+{text}"),
        Value::Int(number) => format!(":{number}"),
        Value::Nil => "$-1".to_owned(),
        Value::BulkString(text) => format!("${} {}", text.len(), String::from_utf8_lossy(text)),
        Value::Array(items) => format!("*{}", items.len()),
        other => format!("{other:?}"),
    }
}

/// AUTH has more words than this Redis knows.
fn is_about_arguments(reply: &Value) -> bool {
    let Value::ServerError(why) = reply else { return false };
    why.details().is_some_and(|details| details.contains("wrong number of arguments"))
}

fn is_about_rights(why: &ServerError) -> bool {
    why.code() == "NOPERM"
}

fn is_certificate(why: &RedisError) -> bool {
    let text = why.to_string().to_ascii_lowercase();
    text.contains("certificate") || text.contains("unknownissuer")
}

fn wrong_password(place: &Place) -> SinkError {
    let (user, password) = place.user();
    place.refused(match (user.is_empty(), password.is_empty()) {
        (_, true) => "it wants a password: write redis://:PASSWORD@HOST or redis://USER:PASSWORD@HOST",
        (true, false) => "wrong password, or it also requires a user name: redis://USER:PASSWORD@HOST",
        (false, false) => "wrong user name or password",
    })
}

/// A refusal in words, and whether it may pass.
pub fn refusal(place: &Place, why: &ServerError) -> SinkError {
    let details = why.details().unwrap_or_default();
    match why.code() {
        "NOAUTH" | "WRONGPASS" => wrong_password(place),
        "LOADING" => place.unreachable("it is still loading its data"),
        "BUSY" | "TRYAGAIN" | "MASTERDOWN" | "CLUSTERDOWN" => {
            place.unreachable(format!("it is busy: {details}"))
        }
        "OOM" => {
            place.refused("its memory is full (maxmemory): raise it, let old runs expire, or give ?maxlen=")
        }
        "MISCONF" => place.refused(format!("it refuses writes because it cannot save them: {details}")),
        "READONLY" => place.refused("it is a replica, which refuses writes: name its master"),
        "NOPERM" => place.refused(format!(
            "this user may not do that: {details}; it needs HSET, XADD, XINFO, SET and EXPIRE"
        )),
        "MOVED" | "CROSSSLOT" => place.refused("it is a cluster; name a single Redis server"),
        _ if details.contains("unknown command") => {
            place.refused(format!("it is too old ({details}); Redis {OLDEST}.0 or newer is needed"))
        }
        code => place.refused(format!("it refuses: {code} {details}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_bulk_strings() {
        // RESP as redis.io describes it: `*` words CRLF, then for each `$` length CRLF bytes CRLF.
        let mut commands = Commands::default();
        commands.begin(3, "XADD").word("k").number(1_200);
        commands.command(&["GET", "é"]);
        let expected = "*3\r\n$4\r\nXADD\r\n$1\r\nk\r\n$4\r\n1200\r\n*2\r\n$3\r\nGET\r\n$2\r\né\r\n";
        assert_eq!((commands.bytes.as_slice(), commands.count), (expected.as_bytes(), 2));
        assert_eq!(digits(u64::MAX).0, *b"18446744073709551615");
        assert_eq!(digits(0), ([[0; 19].as_slice(), b"0"].concat().try_into().unwrap(), 19));
    }
}
