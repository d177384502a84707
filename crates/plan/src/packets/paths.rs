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

/// Keys whose values are files.
const FILES: [&str; 5] = ["replay", "gaps", "lengths", "pcap", "rules"];
/// Keys whose values are ports: those that are files begin with this.
const PORTS: [&str; 6] = ["port", "servers", "send", "receive", "input", "output"];
/// The one of them that is read.
const INPUT: &str = "input";
const KIND: &str = "pcap:";

/// The text with each file's path as it is seen from the working directory.
pub fn absolute(text: &str) -> String {
    text.split_inclusive('\n').map(|line| rewritten(line).unwrap_or_else(|| line.to_owned())).collect()
}

/// Files that a text names and that are read.
pub fn read(text: &str) -> Vec<PathBuf> {
    text.lines().filter_map(file_of).collect()
}

fn file_of(line: &str) -> Option<PathBuf> {
    let (key, _) = line.split_once(" = ")?;
    let table: toml::Table = line.parse().ok().filter(|_| FILES.contains(&key) || key == INPUT)?;
    let value = table.get(key)?.as_str()?;
    let place = if key == INPUT { value.strip_prefix(KIND)? } else { value };
    (place != "-").then(|| PathBuf::from(place))
}

/// The line with an absolute path, if it names a file by a relative one.
fn rewritten(line: &str) -> Option<String> {
    let (key, _) = line.split_once(" = ")?;
    if !FILES.contains(&key) && !PORTS.contains(&key) {
        return None;
    }
    let table: toml::Table = line.parse().ok()?;
    let value = table.get(key)?.as_str()?;
    let (kind, place) = match value.strip_prefix(KIND) {
        Some(place) if PORTS.contains(&key) => (KIND, place),
        _ if FILES.contains(&key) => ("", value),
        _ => return None,
    };
    // `-` is the standard input or output.
    let path = std::path::absolute(Path::new(place)).ok().filter(|_| place != "-")?;
    Some(format!("{key} = {}\n", quoted(&format!("{kind}{}", path.to_str()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_absolute_paths_and_all_else_stays() {
        let here = std::env::current_dir().unwrap();
        let here = here.display();
        let text = "[send]\nport = \"pcap:out.pcap\"\nreceive = \"packet:veth0\"\nreplay = \"a b/trace.pcapng\"\n\
                    gaps = \"/etc/gaps\"\nsend = \"pcap:-\"\ngap = \"5 ns\"\n\n[limits]\nfail_if = [\"rules = 1\"]\n";
        let expected = format!(
            "[send]\nport = \"pcap:{here}/out.pcap\"\nreceive = \"packet:veth0\"\nreplay = \"{here}/a b/trace.pcapng\"\n\
             gaps = \"/etc/gaps\"\nsend = \"pcap:-\"\ngap = \"5 ns\"\n\n[limits]\nfail_if = [\"rules = 1\"]\n"
        );
        assert_eq!(absolute(text), expected);
        assert_eq!(absolute(&expected), expected);
        assert_eq!(read(text), ["a b/trace.pcapng", "/etc/gaps"].map(PathBuf::from));
        assert_eq!(
            read("[gaps]\ninput = \"pcap:a\"\n[forward]\noutput = \"pcap:b\"\ninput = \"veth0\"\n"),
            [PathBuf::from("a")]
        );
    }
}
