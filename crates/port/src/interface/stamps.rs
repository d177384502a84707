//! A card's stamping, switched on for as long as somebody needs it and then set back.
//!
//! Several ports of this process may need it at the same interface: the last of them sets it back, and only if
//! nobody else has changed it meanwhile.

use super::Interface;
use super::ethtool::Stamps;
use super::netlink::Netlink;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// By an interface's index and its namespace's: how it was before, how it was set, and who still needs it.
static USERS: Mutex<Option<HashMap<(u32, u64), Use>>> = Mutex::new(None);

struct Use {
    before: Stamps,
    set: Stamps,
    users: usize,
}

/// As long as this lives, the card stamps.
#[derive(Debug)]
pub(crate) struct StampGuard {
    netlink: Netlink,
    name: String,
    key: (u32, u64),
}

impl StampGuard {
    /// Has the card stamp every received frame, or those that leave, or both.
    ///
    /// # Errors
    /// The driver cannot, or there is no privilege (CAP_NET_ADMIN).
    pub fn switch_on(interface: &Interface, received: bool, sent: bool) -> io::Result<Self> {
        // Asked in the namespace of this thread, which is that of the interface.
        let netlink = Netlink::open()?;
        let key = (interface.index, namespace());
        let mut users = lock();
        let users = users.get_or_insert_default();
        // What the driver does not tell was off, as far as anybody knows.
        let now = Stamps::read(&netlink, &interface.name).unwrap_or(Stamps::OFF);
        let mut set = now;
        if !now.has(received, sent) {
            set = now.with(received, sent).write(&netlink, &interface.name)?;
        }
        if !set.has(received, sent) {
            let _ = now.write(&netlink, &interface.name);
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let entry = users.entry(key).or_insert(Use { before: now, set, users: 0 });
        (entry.set, entry.users) = (set, entry.users + 1);
        Ok(Self { netlink, name: interface.name.clone(), key })
    }
}

impl Drop for StampGuard {
    fn drop(&mut self) {
        let mut users = lock();
        let Some(map) = users.as_mut() else { return };
        let Some(entry) = map.get_mut(&self.key) else { return };
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        let (before, set) = (entry.before, entry.set);
        map.remove(&self.key);
        if before != set && Stamps::read(&self.netlink, &self.name).is_ok_and(|now| now == set) {
            // An interface that is gone has nothing to be set back.
            let _ = before.write(&self.netlink, &self.name);
        }
    }
}

fn lock() -> MutexGuard<'static, Option<HashMap<(u32, u64), Use>>> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of this thread's network namespace.
fn namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |found| found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_such_a_card_is_left_alone_and_says_so() {
        let lo = Interface::find("lo").unwrap();
        assert!(StampGuard::switch_on(&lo, true, false).is_err());
        assert!(!lock().as_ref().is_some_and(|users| users.contains_key(&(lo.index, namespace()))));
    }
}
