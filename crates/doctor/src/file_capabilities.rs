//! The capabilities that a program's file gives to whoever runs it (capabilities(7), "File capabilities").
//!
//! ```text
//!   security.capability   revision and flags │ permitted, inheritable: bits 0 to 31 │ 32 to 63   4 bytes each
//! ```

use std::path::Path;

/// `VFS_CAP_FLAGS_EFFECTIVE` of linux/capability.h.
const EFFECTIVE: u32 = 1;
/// The longest form has a user behind all that.
const LONGEST: usize = 24;

/// What `setcap` sets and `getcap` shows; a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCapabilities {
    pub permitted: u64,
    pub inheritable: u64,
    /// They are in effect from the start.
    pub effective: bool,
}

impl FileCapabilities {
    /// None if the file, or the file system, has none.
    pub fn of(path: &Path) -> Self {
        let mut value = [0; LONGEST];
        let length = rustix::fs::getxattr(path, "security.capability", &mut value).unwrap_or(0);
        Self::read(&value[..length])
    }

    fn read(value: &[u8]) -> Self {
        let mut words = value
            .chunks_exact(4)
            .map(|word| u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
        let mut next = || words.next().unwrap_or(0);
        let [flags, permitted, inheritable, high_permitted, high_inheritable] =
            std::array::from_fn(|_| next());
        Self {
            permitted: permitted | high_permitted << 32,
            inheritable: inheritable | high_inheritable << 32,
            effective: flags & u64::from(EFFECTIVE) != 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.permitted | self.inheritable == 0
    }

    /// As `setcap` reads it: `cap_net_raw,cap_bpf+ep`, quoted if the shell needs it. Those without a name are
    /// numbers, which `setcap` takes as well.
    pub fn text(&self, name: impl Fn(u32) -> Option<&'static str>) -> String {
        let names = |set: u64| {
            let bits = (0..u64::BITS).filter(|bit| set & 1 << bit != 0);
            let names =
                bits.map(|bit| name(bit).map_or_else(|| bit.to_string(), |name| format!("cap_{name}")));
            names.collect::<Vec<_>>().join(",")
        };
        let effective = if self.effective { "e" } else { "" };
        let clauses = [
            (self.permitted & !self.inheritable, "p"),
            (self.inheritable & !self.permitted, "i"),
            (self.permitted & self.inheritable, "ip"),
        ];
        let clauses = clauses.into_iter().filter(|(set, _)| *set != 0);
        let clauses: Vec<String> =
            clauses.map(|(set, flags)| format!("{}+{effective}{flags}", names(set))).collect();
        if clauses.len() > 1 { format!("'{}'", clauses.join(" ")) } else { clauses.concat() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digits = hexadecimal.as_bytes().chunks(2);
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn name(bit: u32) -> Option<&'static str> {
        [(12, "net_admin"), (13, "net_raw"), (39, "bpf")]
            .iter()
            .find(|(own, _)| *own == bit)
            .map(|(_, name)| *name)
    }

    /// The values are what setcap of libcap 2.66 writes.
    #[test]
    fn what_setcap_wrote_is_read_and_told_as_it_was_typed() {
        // setcap cap_net_raw+p cap_bpf+i
        let found = FileCapabilities::read(&bytes("0000000200200000000000000000000080000000"));
        assert_eq!(found, FileCapabilities { permitted: 1 << 13, inheritable: 1 << 39, effective: false });
        assert_eq!(found.text(name), "'cap_net_raw+p cap_bpf+i'");
        // setcap cap_net_raw+ep
        let found = FileCapabilities::read(&bytes("0100000200200000000000000000000000000000"));
        assert_eq!(found.text(name), "cap_net_raw+ep");
        // setcap cap_net_admin,2+eip
        let found = FileCapabilities::read(&bytes("0100000204100000041000000000000000000000"));
        assert_eq!(found.text(name), "2,cap_net_admin+eip");
        assert!(FileCapabilities::read(&[]).is_empty() && !found.is_empty());
    }

    #[test]
    fn a_file_without_any_has_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(FileCapabilities::of(file.path()), FileCapabilities::default());
        assert_eq!(FileCapabilities::of(Path::new("/nonexistent")), FileCapabilities::default());
    }
}
