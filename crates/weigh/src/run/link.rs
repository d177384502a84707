//! Whether the generator's interface stayed what it was.

use crate::stage::Stage;
use port::Address;
use port::interface::LinkWatch;

/// An interface, and how often it had lost its link before.
pub struct Link {
    watch: LinkWatch,
    interface: String,
    losses: u64,
}

impl Link {
    /// `None` where nobody tells.
    pub fn of(stage: &Stage) -> Option<Self> {
        let address: Address = format!("packet:{}", stage.interface).parse().ok()?;
        let watch = stage.at_generator(|| LinkWatch::of(&address)).ok()??;
        let losses = watch.losses()?;
        Some(Self { watch, interface: stage.interface.clone(), losses })
    }

    /// What happened to it since.
    pub fn failure(&self) -> Option<String> {
        said(&self.interface, self.losses, self.watch.losses())
    }
}

/// No count is of an interface that is gone.
fn said(interface: &str, before: u64, after: Option<u64>) -> Option<String> {
    match after {
        None => Some(format!("{interface} was removed")),
        Some(after) if after > before => Some(format!("{interface} lost its link")),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_goes_down_or_away_is_seen() {
        assert_eq!(said("a", 3, Some(3)), None);
        assert_eq!(said("a", 3, Some(4)).unwrap(), "a lost its link");
        assert_eq!(said("a", 3, None).unwrap(), "a was removed");
        let link = Link::of(&Stage::loopback().unwrap()).unwrap();
        assert_eq!(link.failure(), None);
    }
}
