//! Which Unix sockets of this network namespace are connected to which, by sock_diag(7) (linux/unix_diag.h).
//!
//! `/proc/net/unix` has the sockets, but not the other end of each.
//!
//! ```text
//!   request   family 1 protocol 1 pad 2 states 4 inode 4 show 4 cookie 8
//!   answer    family 1 type 1 state 1 pad 1 inode 4 cookie 8 | attributes
//!   attribute length 2 type 2 value
//! ```

use crate::sock_diag::{dump, u16_at, u32_at};
use std::io;

const AF_UNIX: u8 = 1;
/// `UDIAG_SHOW_NAME | UDIAG_SHOW_PEER`, and the attributes that come.
const SHOW: u32 = 0x5;
const NAME: u16 = 0;
const PEER: u16 = 2;
/// Length of what an answer has before its attributes, and of the head of an attribute.
const BODY: usize = 16;
const ATTRIBUTE: usize = 4;

/// A Unix socket that is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected {
    pub inode: u64,
    pub peer: u64,
    /// It has a name (a path): it was accepted from a listener that has it.
    pub is_named: bool,
}

/// All of them.
pub fn connected() -> io::Result<Vec<Connected>> {
    let mut found = Vec::new();
    dump(&request(), |body| found.extend(one(body)))?;
    Ok(found)
}

fn request() -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[0] = AF_UNIX;
    bytes[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
    bytes[12..16].copy_from_slice(&SHOW.to_ne_bytes());
    bytes
}

/// `None` for a socket that is not connected.
fn one(message: &[u8]) -> Option<Connected> {
    let inode = u64::from(u32_at(message, 4)?);
    let (mut peer, mut is_named) = (None, false);
    let mut rest = message.get(BODY..)?;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let length = usize::from(length);
        if length < ATTRIBUTE || length > rest.len() {
            break;
        }
        match kind {
            PEER => peer = u32_at(rest, ATTRIBUTE).map(u64::from),
            NAME => is_named = length > ATTRIBUTE,
            _ => (),
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Connected { inode, peer: peer.filter(|peer| *peer != 0)?, is_named })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sock_diag::testing::inode;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn both_ends_are_found_and_which_of_them_was_accepted() {
        let path = std::env::temp_dir().join(format!("tare-unix-pairs-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let (server, _) = listener.accept().unwrap();
        let _ = std::fs::remove_file(&path);
        let found = connected().unwrap();
        let of = |inode| found.iter().find(|one| one.inode == inode).copied();
        let (near, far) = (inode(&client), inode(&server));
        assert_eq!(of(near), Some(Connected { inode: near, peer: far, is_named: false }));
        assert_eq!(of(far), Some(Connected { inode: far, peer: near, is_named: true }));
        assert_eq!(of(inode(&listener)), None);
    }
}
