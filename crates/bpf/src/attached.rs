//! Who else has a program: by the number that the kernel gave it.

use crate::sys;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Processes and descriptors that are looked through, at most.
const MOST_PROCESSES: usize = 100_000;
const MOST_DESCRIPTORS: usize = 10_000;

/// A process that keeps a program at its place: it goes when the process closes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub process: u32,
    /// As `ps` shows it.
    pub name: String,
}

/// The name that a program was loaded with, by its number; `None` without privilege (CAP_SYS_ADMIN), or if it
/// has gone.
pub fn program_name(number: u32) -> Option<String> {
    let fd = sys::bpf_fd(sys::PROG_BY_ID, &mut sys::ById { number, ..Default::default() }).ok()?;
    let mut info = sys::ProgramInfo::default();
    let mut question = sys::InfoByFd {
        fd: fd.as_raw_fd() as u32,
        length: size_of::<sys::ProgramInfo>() as u32,
        info: sys::address_mut(&mut info),
    };
    sys::bpf(sys::INFO_BY_FD, &mut question).ok()?;
    let text: Vec<u8> = info.name.iter().copied().take_while(|byte| *byte != 0).collect();
    String::from_utf8(text).ok().filter(|name| !name.is_empty())
}

/// The process that holds the link by which this program is attached, as far as `/proc` shows it to us.
pub fn link_holder(program: u32) -> Option<Holder> {
    let processes = fs::read_dir("/proc").ok()?.take(MOST_PROCESSES).filter_map(Result::ok);
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find_map(|process| {
        holds(process, program).then(|| {
            let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            Holder { process, name: name.trim().to_owned() }
        })
    })
}

fn holds(process: u32, program: u32) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    descriptors.take(MOST_DESCRIPTORS).filter_map(Result::ok).any(|entry| {
        let is_bpf = fs::read_link(entry.path())
            .is_ok_and(|target| target.to_string_lossy().starts_with("anon_inode:bpf"));
        is_bpf && is_link_of(Path::new(&format!("/proc/{process}/fdinfo")).join(entry.file_name()), program)
    })
}

fn is_link_of(file: impl AsRef<Path>, program: u32) -> bool {
    fs::read_to_string(file).is_ok_and(|text| says(&text, program))
}

/// Whether a descriptor's lines are those of an XDP link with that program.
fn says(text: &str, program: u32) -> bool {
    let field = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| *name == key)
            .map(|(_, v)| v.trim())
    };
    field("link_type") == Some("xdp") && field("prog_id").and_then(|v| v.parse().ok()) == Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_known_by_its_kind_and_its_program() {
        let link = "pos:\t0\nflags:\t02000000\nlink_type:\txdp\nlink_id:\t7\nprog_tag:\tabcd\nprog_id:\t42\nifindex:\t3\n";
        assert!(says(link, 42));
        assert!(!says(link, 7), "the link's own number is another");
        assert!(!says(&link.replace("xdp", "raw_tracepoint"), 42));
        assert!(!says("prog_type:\t6\nprog_id:\t42\n", 42), "a program is no link");
    }
}
