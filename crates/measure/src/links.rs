//! Interfaces of this host that lose their link while a run uses them.
//!
//! What was on its way then is sent again after a time-out of TCP's, 200 ms and more: neither the target nor
//! the network beyond this host took that time. The kernel counts each loss (`carrier_down_count`), so that a
//! short one between two looks is seen as well.

use crate::probe::Probe;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// On a host with more interfaces than this, the rest is not looked at.
const MOST: usize = 256;

/// An interface when it was looked at first and last.
#[derive(Clone, Copy, Debug)]
struct Link {
    sent_at_first: u64,
    losses: u64,
}

/// How often the link of an interface was lost since it was made; `None` if nobody tells.
pub type Losses = Box<dyn Fn() -> Option<u64> + Send>;

/// See the module.
#[derive(Default)]
pub(crate) struct Links {
    here: BTreeMap<PathBuf, Link>,
    /// Interfaces that the run uses for certain, which may be in other network namespaces, and their losses.
    used: Vec<(Losses, u64)>,
}

impl Links {
    /// The interfaces under `root`/sys/class/net.
    pub fn new(root: &Path) -> Self {
        let folder = std::fs::read_dir(root.join("sys/class/net")).into_iter().flatten();
        let interfaces = folder.flatten().take(MOST).map(|entry| entry.path());
        let here = interfaces
            .filter_map(|path| {
                let link = Link { sent_at_first: sent(&path)?, losses: losses(&path)? };
                Some((path, link))
            })
            .collect();
        Self { here, used: Vec::new() }
    }

    /// One more interface, which the run uses; `name` is that of it if it is among those of `new`.
    pub fn add(&mut self, name: Option<&str>, losses: Losses) {
        self.here.retain(|path, _| path.file_name().and_then(|own| own.to_str()) != name || name.is_none());
        let before = losses().unwrap_or(0);
        self.used.push((losses, before));
    }

    /// Times since the last call that an interface lost its link over which something was sent since the first.
    pub fn lost(&mut self) -> u64 {
        let lost = |(losses, before): &mut (Losses, u64)| {
            let now = losses().unwrap_or(*before);
            now.saturating_sub(std::mem::replace(before, now))
        };
        let used: u64 = self.used.iter_mut().map(lost).sum();
        let here: u64 = self
            .here
            .iter_mut()
            .map(|(path, link)| {
                let now = losses(path).unwrap_or(link.losses);
                let lost = now.saturating_sub(std::mem::replace(&mut link.losses, now));
                let is_used = || sent(path).is_some_and(|sent| sent > link.sent_at_first);
                if lost > 0 && is_used() { lost } else { 0 }
            })
            .sum();
        here + used
    }
}

impl Probe {
    /// Watches the link of one more interface, which the run uses: `losses` says how often it was lost.
    /// `name` is that of it if it is in the network namespace of this process.
    #[must_use]
    pub fn with_link(mut self, name: Option<&str>, losses: Losses) -> Self {
        self.links.add(name, losses);
        self
    }

    /// Watches no links but those that are named from now on.
    #[must_use]
    pub fn of_no_links(mut self) -> Self {
        self.links = Links::default();
        self
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("here", &self.here).finish_non_exhaustive()
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
