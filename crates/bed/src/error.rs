//! What keeps a test bed from being made or removed.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum BedError {
    #[error(
        "'{name}' is not a valid name for a test bed: 1 to 32 of a-z, 0-9 and '-', beginning with a letter or \
         digit"
    )]
    Name { name: String },
    #[error("{what} {value} is not possible: {expected}")]
    Setting { what: &'static str, value: u64, expected: &'static str },
    #[error(
        "there is already a test bed '{name}': remove it with 'tare lab down --name {name}', or choose another \
         --name"
    )]
    Exists { name: String },
    #[error(
        "there is a namespace '{namespace}' that no test bed made: it is left alone; choose another --name"
    )]
    Foreign { namespace: String },
    #[error("there is no test bed '{name}'{there_are}")]
    Unknown { name: String, there_are: String },
    #[error(
        "the namespace '{namespace}' is not the one that was made (it is {found}, not {made}): it is left \
         alone; if you do not need it, remove it with 'ip netns del {namespace}', then run 'tare lab down' \
         again"
    )]
    Changed { namespace: String, made: u64, found: u64 },
    #[error("the test bed '{name}' belongs to process {pid}, which is still running: end that first")]
    InUse { name: String, pid: u32 },
    #[error("a test bed needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run it as root ({what}: {error})")]
    Privilege { what: &'static str, error: io::Error },
    #[error("a test bed needs {missing}, which this process does not have: run it as root")]
    Missing { missing: String },
    #[error("the parts of a test bed are recorded in {}, which cannot be created: {error}; run it as root", folder.display())]
    Notes { folder: PathBuf, error: io::Error },
    #[error("`ip` is not installed: apt-get install iproute2")]
    NoIp,
    #[error("ip {command}: {message}")]
    Ip { command: String, message: String },
    #[error("{what} {interface}: {error}")]
    Interface { what: &'static str, interface: String, error: io::Error },
    #[error("{what}: {error}")]
    System { what: &'static str, error: io::Error },
    #[error("{}: {problem}", file.display())]
    File { file: PathBuf, problem: String },
}
