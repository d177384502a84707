//! The module's other wire, over which it writes its results to a Redis by itself
//! (`hdl/session/session_redis.sv`). It ends at a new tap of this host, whose address is the Redis's.

use crate::interface::Interface;
use crate::{Address, PortError, PortKind};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fmt;
use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// All of them.
pub const OPTIONS: [&str; 7] =
    ["redis", "redis_tap", "redis_port", "redis_ip", "redis_user", "redis_password", "redis_database"];
const USUAL_DEVICE: &str = "redis0";
const USUAL_PORT: u16 = 6_379;
/// Cycles at the end in which it waits for replies: microseconds of TCP's clock on this wire.
const LINGER: u32 = 5_000_000;
/// The module's memory for it.
const LONGEST_GREETING: usize = 255;
const FORM: &str = "redis=198.18.1.1/24";

/// What an address says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisWire {
    tap: String,
    /// Address and prefix of the tap.
    given: String,
    pub server: SocketAddrV4,
    pub own: Ipv4Addr,
    mask: u32,
    pub database: u32,
    greeting: Greeting,
}

/// Commands with which each connection begins: their bytes, and how many they are.
#[derive(Clone, Default, PartialEq, Eq)]
struct Greeting {
    bytes: Vec<u8>,
    commands: u8,
}

/// Without the password.
impl fmt::Debug for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Greeting").field("commands", &self.commands).finish_non_exhaustive()
    }
}

impl Greeting {
    fn add(&mut self, words: &[&str]) {
        self.bytes.extend(format!("*{}\r\n", words.len()).bytes());
        for word in words {
            self.bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
        }
        self.commands += 1;
    }
}

impl RedisWire {
    /// Reads the options, and the password. `None`: there is no such wire.
    ///
    /// # Errors
    /// A value cannot be, or is in the way of the load's; or the password cannot be read.
    pub fn read(address: &Address) -> Result<Option<Self>, PortError> {
        let Some(given) = address.option("redis") else {
            return match OPTIONS.iter().find(|name| address.option(name).is_some()) {
                Some(option) => Err(address.wrong(&format!("has {option}, but no redis"), FORM)),
                None => Ok(None),
            };
        };
        let wrong = |problem: &str, expected: &str| Err(address.wrong(problem, expected));
        let parts = given.split_once('/');
        let parts = parts.and_then(|(ip, length)| Some((ip.parse().ok()?, length.parse::<u32>().ok()?)));
        let Some((ip, length @ 1..=30)) = parts else {
            return wrong(&format!("'{given}' is no IPv4 address with a prefix length up to 30"), FORM);
        };
        let ip: Ipv4Addr = ip;
        if ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || ip.is_broadcast() {
            return wrong(&format!("{ip} cannot be the address of a device"), FORM);
        }
        let mask = u32::MAX << (32 - length);
        let port = address.read::<u16>("redis_port", "6379")?.unwrap_or(USUAL_PORT);
        if port == 0 {
            return wrong("has the port 0", "redis_port=6379");
        }
        let next = Ipv4Addr::from_bits(ip.to_bits().wrapping_add(1));
        let own = address.read::<Ipv4Addr>("redis_ip", "198.18.1.2")?.unwrap_or(next);
        let is_host = !matches!(own.to_bits() & !mask, 0) && own.to_bits() & !mask != !mask;
        if own == ip || (own.to_bits() ^ ip.to_bits()) & mask != 0 || !is_host {
            let problem = format!("has {own} for the module, which is no other address of {given}");
            return wrong(&problem, "redis_ip=198.18.1.2");
        }
        let tap = address.option("redis_tap").unwrap_or(USUAL_DEVICE).to_owned();
        // The kernel would put a number in the place of a '%'.
        if tap.is_empty()
            || tap.len() > 15
            || tap.contains(['/', '%', ':'])
            || tap.contains(char::is_whitespace)
        {
            return wrong(&format!("'{tap}' is no device name"), "redis_tap=redis0");
        }
        if address.option("tap") == Some(tap.as_str()) {
            return wrong(&format!("has one device, {tap}, for both wires"), "redis_tap=redis0");
        }
        let database = address.read("redis_database", "2")?.unwrap_or(0);
        let greeting = greeting(address, database)?;
        let (given, server) = (given.to_owned(), SocketAddrV4::new(ip, port));
        Ok(Some(Self { tap, given, server, own, mask, database, greeting }))
    }

    /// Whether an address is of this wire's subnet: then this host would look for it here.
    pub fn covers(&self, address: Ipv4Addr) -> bool {
        (address.to_bits() ^ self.server.ip().to_bits()) & self.mask == 0
    }

    /// Makes the tap. Returns it, and what the simulation must know.
    pub(super) fn open(&self, address: &Address) -> Result<Opened, PortError> {
        if Interface::find(&self.tap).is_ok() {
            let problem = format!("says redis_tap={}, which exists already", self.tap);
            return Err(address.wrong(&problem, "another name, with redis= in another subnet"));
        }
        // With one address on two devices, replies would go to the other.
        if UdpSocket::bind((*self.server.ip(), 0)).is_ok() {
            let problem =
                format!("says redis={}, which is an address of this host already", self.server.ip());
            return Err(address.wrong(&problem, "redis= in another subnet, such as 198.18.9.1/24"));
        }
        let device = Address::new(PortKind::Tap, &self.tap).with("address", &self.given);
        let tap: OwnedFd = crate::tap::make(&device, &self.tap, false)?.into();
        let all = [
            ("redis_passed", "1".to_owned()),
            ("redis_tap_address", self.server.ip().to_string()),
            ("redis_port", self.server.port().to_string()),
            ("redis_address", self.own.to_string()),
            ("redis_mac", super::hex(&own_mac(self.own))),
            ("redis_from", another_port().to_string()),
            // Redis lives in this host's time: a microsecond of it is about a cycle of the simulation.
            ("redis_micro", "1".to_owned()),
            ("redis_linger", LINGER.to_string()),
        ];
        let arguments = all.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect();
        Ok(Opened { tap, arguments, greeting: self.greeting.clone() })
    }
}

fn greeting(address: &Address, database: u32) -> Result<Greeting, PortError> {
    let mut greeting = Greeting::default();
    let user = address.option("redis_user");
    match address.option("redis_password") {
        Some(file) => {
            let text = os::input::read_to_string(Path::new(file))
                .map_err(|error| PortError::System { what: format!("redis_password={file}"), error })?;
            let password = text.lines().next().unwrap_or_default();
            if password.is_empty() {
                let problem = format!("has redis_password={file}, whose first line is empty");
                return Err(address.wrong(&problem, "the password on the first line of that file"));
            }
            greeting.add(&["AUTH"].into_iter().chain(user).chain([password]).collect::<Vec<_>>());
        }
        None if user.is_some() => {
            return Err(address.wrong("has redis_user, but no redis_password", "redis_password=FILE"));
        }
        None => {}
    }
    if database > 0 {
        greeting.add(&["SELECT", &database.to_string()]);
    }
    match greeting.bytes.len() {
        0..=LONGEST_GREETING => Ok(greeting),
        _ => Err(address.wrong(
            "has a user and a password that are too long for the module",
            "fewer than 190 bytes together",
        )),
    }
}

/// The port before that of the first connection: Redis's host still has the connection of the last run.
fn another_port() -> u64 {
    const FIRST: u64 = 20_000;
    const COUNT: u64 = 40_000;
    FIRST + clock::unix_ns() / 1_000_000 * 997 % COUNT
}

/// Locally administered, with the address in it.
fn own_mac(own: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = own.octets();
    [0x02, 0x52, a, b, c, d]
}

/// A wire that is there.
pub(super) struct Opened {
    tap: OwnedFd,
    pub arguments: Vec<String>,
    greeting: Greeting,
}

impl Opened {
    /// Gives the process at the other end of a socket the descriptor, and what nobody else may see.
    pub fn hand_over(&self, mut socket: &UnixStream) -> std::io::Result<()> {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        let descriptors = [self.tap.as_fd()];
        let has_room = ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        debug_assert!(has_room, "the room is for one");
        let sizes = [self.greeting.bytes.len() as u8, self.greeting.commands];
        sendmsg(socket, &[IoSlice::new(&sizes)], &mut ancillary, SendFlags::NOSIGNAL)?;
        socket.write_all(&self.greeting.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<RedisWire>, String> {
        RedisWire::read(&text.parse().expect("an address")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_module_is_beside_its_redis_unless_it_is_told_where() {
        let usual = read("fpga,redis=198.18.1.1/24:sim").expect("a wire").expect("a wire");
        assert_eq!((usual.server.to_string(), usual.tap.as_str()), ("198.18.1.1:6379".to_owned(), "redis0"));
        assert_eq!(usual.own, Ipv4Addr::new(198, 18, 1, 2));
        assert!(usual.covers(Ipv4Addr::new(198, 18, 1, 200)) && !usual.covers(Ipv4Addr::new(198, 18, 0, 1)));
        let other = "fpga,redis=198.18.1.1/29,redis_ip=198.18.1.6,redis_port=7000,redis_tap=r:sim";
        let other = read(other).expect("a wire").expect("a wire");
        assert_eq!((other.own, other.server.port()), (Ipv4Addr::new(198, 18, 1, 6), 7_000));
        assert_eq!(read("fpga:sim"), Ok(None));
    }

    #[test]
    fn what_cannot_be_a_wire_is_refused() {
        for (options, words) in [
            ("redis_port=7000", "has redis_port, but no redis"),
            ("redis=198.18.1.1", "no IPv4 address with a prefix length"),
            ("redis=198.18.1.1/31", "up to 30"),
            ("redis=fd00\\:\\:1/64", "no IPv4 address"),
            ("redis=198.18.1.1/24,redis_port=0", "port 0"),
            ("redis=198.18.1.1/24,redis_ip=198.18.1.1", "no other address"),
            ("redis=198.18.1.1/24,redis_ip=198.18.2.2", "no other address"),
            ("redis=198.18.1.254/24", "198.18.1.255"),
            ("redis=224.0.0.1/24", "cannot be the address of a device"),
            ("redis=198.18.1.1/24,redis_tap=", "'' is no device name"),
            ("redis=198.18.1.1/24,redis_tap=r%d", "'r%d' is no device name"),
            ("redis=198.18.1.1/24,redis_user=me", "no redis_password"),
            ("redis=198.18.1.1/24,redis_database=-1", "redis_database"),
            ("redis=198.18.1.1/24,tap=redis0,address=198.18.0.1/24", "for both wires"),
        ] {
            let said = read(&format!("fpga,{options}:sim")).expect_err(options);
            assert!(said.contains(words), "{options}: {said}");
        }
    }

    #[test]
    fn a_connection_begins_with_who_it_is_and_where() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("password");
        let of = |options: &str| {
            let text = format!("fpga,redis=198.18.1.1/24,redis_password={}{options}:sim", file.display());
            let address: Address = text.parse().expect("an address");
            RedisWire::read(&address).map(|wire| wire.expect("a wire").greeting)
        };
        assert!(of("").is_err(), "there is no file");
        std::fs::write(&file, "\nsecond\n").expect("room");
        assert!(of("").unwrap_err().to_string().contains("first line is empty"));
        std::fs::remove_file(&file).expect("it is there");
        assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
        assert!(of("").unwrap_err().to_string().contains("is not a regular file"), "nobody is waited for");
        std::fs::remove_file(&file).expect("it is there");
        std::fs::write(&file, "s3cret\nnever sent\n").expect("room");
        let both = of(",redis_user=me,redis_database=2").expect("a greeting");
        let text = String::from_utf8(both.bytes).expect("text");
        assert_eq!(text, "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\ns3cret\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n");
        assert!(!format!("{:?}", of("")).contains("s3cret"));
        assert_eq!((both.commands, of("").expect("a greeting").commands), (2, 1));
        std::fs::write(&file, "x".repeat(300)).expect("room");
        assert!(of("").unwrap_err().to_string().contains("too long"));
    }
}
