//! Files that a canonical text names, by absolute paths.
//!
//! ```text
//! replay = "trace.pcapng"        ─► replay = "/home/me/trace.pcapng"
//! input = "pcap:trace.pcapng"    ─► input = "pcap:/home/me/trace.pcapng"
//! ```
//!
//! A canonical text has each key on a line of its own.

use super::lines::quoted;
use std::path::{Path, PathBuf};

/// Keys whose values are files that are read.
pub const FILES: [&str; 6] = ["replay", "gaps", "list", "lengths", "pcap", "rules"];
/// The key of a file that is written.
const KEPT: &str = "write";
/// Keys whose values are ports.
pub const PORTS: [&str; 6] = ["port", "servers", "send", "receive", "input", "output"];

/// A port of a plan, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPort {
    pub key: &'static str,
    pub address: String,
    /// Whether frames come from there, as far as the plan is about them.
    pub is_read: bool,
}

/// The text with each file's path as it is seen from the working directory; `port` does that for addresses.
pub fn absolute(text: &str, port: impl Fn(&str) -> Option<String>) -> String {
    text.split_inclusive('\n').map(|line| rewritten(line, &port).unwrap_or_else(|| line.to_owned())).collect()
}

/// Files that a text names and that are read.
pub fn read(text: &str) -> Vec<PathBuf> {
    let files = text.lines().filter_map(|line| value(line, &FILES)).map(|(_, value)| value);
    files.map(PathBuf::from).collect()
}

/// Ports that a text names.
pub fn ports(text: &str) -> Vec<PlannedPort> {
    let mut table = "";
    let mut ports = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = name;
        }
        if let Some((key, address)) = value(line, &PORTS) {
            let is_read = matches!(key, "receive" | "input") || (key == "port" && table != "send");
            ports.push(PlannedPort { key, address, is_read });
        }
    }
    ports
}

/// The file that a text keeps frames in, and whether it is rotated.
pub fn kept(text: &str) -> Option<(PathBuf, bool)> {
    let (_, file) = text.lines().find_map(|line| value(line, &[KEPT]))?;
    Some((PathBuf::from(file), text.lines().any(|line| line.starts_with("rotate = "))))
}

pub fn queues(text: &str) -> u32 {
    let queues = text.lines().find_map(|line| line.strip_prefix("queues = "));
    queues.and_then(|queues| queues.parse().ok()).unwrap_or(1)
}

/// The value of a line that has one of these keys.
fn value<'a>(line: &str, keys: &[&'a str]) -> Option<(&'a str, String)> {
    let (key, _) = line.split_once(" = ")?;
    let key = *keys.iter().find(|known| **known == key)?;
    let table: toml::Table = line.parse().ok()?;
    Some((key, table.get(key)?.as_str()?.to_owned()))
}

/// The line with an absolute path, if it names a file by a relative one.
fn rewritten(line: &str, port: impl Fn(&str) -> Option<String>) -> Option<String> {
    if let Some((key, address)) = value(line, &PORTS) {
        return Some(format!("{key} = {}\n", quoted(&port(&address)?)));
    }
    let (key, place) = value(line, &FILES).or_else(|| value(line, &[KEPT]))?;
    // `-` is the standard input or output.
    let path = std::path::absolute(Path::new(&place)).ok().filter(|_| place != "-")?;
    Some(format!("{key} = {}\n", quoted(path.to_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_absolute_paths_and_all_else_stays() {
        let here = std::env::current_dir().unwrap();
        let here = here.display();
        let text = "[send]\nport = \"pcap:out.pcap\"\nreceive = \"packet:veth0\"\nreplay = \"a b/trace.pcapng\"\n\
                    gaps = \"/etc/gaps\"\nlist = \"l\"\nwrite = \"-\"\ngap = \"5 ns\"\n\n\
                    [limits]\nfail_if = [\"rules = 1\"]\n";
        let expected = format!(
            "[send]\nport = \"pcap:/there\"\nreceive = \"packet:veth0\"\nreplay = \"{here}/a b/trace.pcapng\"\n\
             gaps = \"/etc/gaps\"\nlist = \"{here}/l\"\nwrite = \"-\"\ngap = \"5 ns\"\n\n\
             [limits]\nfail_if = [\"rules = 1\"]\n"
        );
        let port = |address: &str| (address == "pcap:out.pcap").then(|| "pcap:/there".to_owned());
        assert_eq!(absolute(text, port), expected);
        assert_eq!(absolute(&expected, port), expected);
        assert_eq!(read(text), ["a b/trace.pcapng", "/etc/gaps", "l"].map(PathBuf::from));
    }

    #[test]
    fn ports_are_read_or_written_as_the_command_has_it() {
        let found = |text: &str| -> Vec<(&str, String, bool)> {
            ports(text).into_iter().map(|port| (port.key, port.address, port.is_read)).collect()
        };
        for (table, is_read) in [("capture", true), ("gaps", true), ("send", false)] {
            let text = format!("[{table}]\nport = \"pcap:a\"\n");
            assert_eq!(found(&text), [("port", "pcap:a".to_owned(), is_read)], "{table}");
        }
        let text = "[forward]\ninput = \"a\"\noutput = \"b\"\n";
        assert_eq!(found(text), [("input", "a".to_owned(), true), ("output", "b".to_owned(), false)]);
        let text = "[capture]\nqueues = 2\nwrite = \"a\"\nrotate = \"5s\"\n";
        assert_eq!((kept(text), queues(text)), (Some((PathBuf::from("a"), true)), 2));
    }
}
