//! Interfaces of this host that lose their link while a run uses them.
//!
//! What was on its way then is sent again after a time-out of TCP's, 200 ms and more: neither the target nor
//! the network beyond this host took that time. The kernel counts each loss (`carrier_down_count`), so that a
//! short one between two looks is seen as well.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// On a host with more interfaces than this, the rest is not looked at.
const MOST: usize = 256;

/// An interface when it was looked at first and last.
#[derive(Clone, Copy, Debug)]
struct Link {
    sent_at_first: u64,
    losses: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Links(BTreeMap<PathBuf, Link>);

impl Links {
    /// The interfaces under `root`/sys/class/net.
    pub fn new(root: &Path) -> Self {
        let folder = std::fs::read_dir(root.join("sys/class/net")).into_iter().flatten();
        let interfaces = folder.flatten().take(MOST).map(|entry| entry.path());
        Self(
            interfaces
                .filter_map(|path| {
                    let link = Link { sent_at_first: sent(&path)?, losses: losses(&path)? };
                    Some((path, link))
                })
                .collect(),
        )
    }

    /// Times since the last call that an interface lost its link over which something was sent since the first.
    pub fn lost(&mut self) -> u64 {
        self.0
            .iter_mut()
            .map(|(path, link)| {
                let now = losses(path).unwrap_or(link.losses);
                let lost = now.saturating_sub(std::mem::replace(&mut link.losses, now));
                let is_used = || sent(path).is_some_and(|sent| sent > link.sent_at_first);
                if lost > 0 && is_used() { lost } else { 0 }
            })
            .sum()
    }
}

fn losses(interface: &Path) -> Option<u64> {
    number(&interface.join("carrier_down_count"))
}

fn sent(interface: &Path) -> Option<u64> {
    number(&interface.join("statistics/tx_packets"))
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}
