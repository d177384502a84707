//! `auto`: the best way to an interface that this machine has, and why not a better one.
//!
//! ```text
//!   transmit   xdp zero-copy ─► packet                  where a thread spins towards due times
//!              xdp zero-copy ─► xdp copy ─► packet      where it sends as much as it can
//!   receive    xdp zero-copy ─► xdp copy ─► packet
//! ```
//!
//! Where the host's own stack uses the interface (it has addresses, belongs to a bridge or a bond, or something
//! lies on it), nothing is taken from it: `packet` receives, for AF_XDP would take the frames away; and nobody
//! sends without a copy, for drivers give the whole queue to the socket then, its receiving side as well.
//!
//! The order is by measurement. Zero-copy wins wherever a driver has it. Of the two that copy, AF_XDP sends a
//! frame for about 0.7 of AF_PACKET's time and receives about twice as many; the gaps of AF_PACKET are a few
//! percent closer to what was asked for, since each frame leaves within its own system call.

use crate::interface::Interface;
use crate::{
    About, Address, Choice, Counters, Direction, For, Frame, Instruction, Offload, Port, PortError, PortKind,
    Slot, Wish,
};
use std::os::fd::BorrowedFd;
use units::Picos;

/// A way that is tried.
struct Candidate {
    kind: PortKind,
    mode: Option<&'static str>,
    /// Why it is taken if it can be had.
    why: &'static str,
}

const ZERO_COPY: Candidate = Candidate {
    kind: PortKind::Xdp,
    mode: Some("zerocopy"),
    why: "the driver passes frames without copying",
};
const XDP_COPY: Candidate = Candidate {
    kind: PortKind::Xdp,
    mode: Some("copy"),
    why: "of the methods that copy frames, it costs least per frame",
};
const PACKET: Candidate = Candidate {
    kind: PortKind::Packet,
    mode: None,
    why: "every interface supports it, and of the methods that copy frames, its gaps are the most even",
};

impl Candidate {
    fn address(&self, interface: &str) -> Address {
        let address = Address::new(self.kind, interface);
        self.mode.map_or(address.clone(), |mode| address.with("mode", mode))
    }
}

/// What a candidate was not even tried for.
struct Refused {
    chosen: String,
    why: String,
}

/// The ways to try, the best first, and those that are out of the question. `used` is how the host's own stack
/// uses the interface.
fn candidates(name: &str, wish: &Wish, used: Option<&str>) -> (Vec<Candidate>, Vec<Refused>) {
    let refuse = |candidate: &Candidate, why: &str| Refused {
        chosen: candidate.address(name).to_string(),
        why: why.to_owned(),
    };
    if let Some(used) = used.filter(|_| wish.direction.receives()) {
        let why = format!(
            "the host's own stack uses the interface ({used}), and AF_XDP would take its frames away from it"
        );
        return (vec![PACKET], vec![refuse(&ZERO_COPY, &why), refuse(&XDP_COPY, &why)]);
    }
    let (mut tried, mut refused) = (vec![ZERO_COPY, XDP_COPY, PACKET], Vec::new());
    let mut leave_out = |mode, why: &str| {
        if let Some(at) = tried.iter().position(|one| one.mode == mode) {
            refused.push(refuse(&tried.remove(at), why));
        }
    };
    if let Some(used) = used {
        let why = format!(
            "the host's own stack uses the interface ({used}), and a driver that sends without copying may \
             take its queue away from it"
        );
        leave_out(ZERO_COPY.mode, &why);
    }
    if wish.direction == Direction::Transmit && wish.busy {
        let why = "threads spin before due times, and of the methods that copy frames, AF_PACKET has the more \
                   even gaps";
        leave_out(XDP_COPY.mode, why);
    }
    (tried, refused)
}

/// The port that was chosen, which says what it was chosen over.
struct Chosen {
    port: Box<dyn Port>,
    about: About,
}

/// The same in the namespace of `auto`: the port that was chosen is known by an address that opens it again.
fn within(candidate: Address, auto: &Address) -> Address {
    auto.namespace().map_or(candidate.clone(), |name| candidate.with("netns", name))
}

/// Opens one queue of the interface by the best way that works.
///
/// # Errors
/// `NoInterface`, or what keeps even `packet` from it.
pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    let name = address.place();
    let interface = Interface::find(name)?;
    let used = interface.used_by_host()?;
    let (candidates, refused) = candidates(name, wish, used.as_deref());
    let refusal = |Refused { chosen, why }| Choice { what: "port refused", chosen, why };
    let mut choices: Vec<Choice> = refused.into_iter().map(refusal).collect();
    let mut last = None;
    for candidate in candidates {
        let address = within(candidate.address(name), address);
        match crate::open(&address, wish) {
            Ok(port) => {
                choices.push(Choice { what: "port", chosen: address.to_string(), why: candidate.why.into() });
                return Ok(Box::new(Chosen::new(port, choices)));
            }
            // No other way has another interface, or other frames.
            Err(error @ (PortError::NoInterface { .. } | PortError::TooLong { .. }))
                if candidate.kind == PortKind::Packet =>
            {
                return Err(error);
            }
            Err(error) => {
                choices.push(refusal(Refused { chosen: address.to_string(), why: error.to_string() }));
                last = Some(error);
            }
        }
    }
    Err(last.unwrap_or_else(|| address.wrong("has no way to open it", "packet:INTERFACE")))
}

/// See [`crate::check`]: what the last way says, which every interface has.
pub(crate) fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    crate::af_packet::check(&within(PACKET.address(address.place()), address), wish)
}

impl Chosen {
    fn new(port: Box<dyn Port>, mut choices: Vec<Choice>) -> Self {
        let mut about = port.about().clone();
        choices.append(&mut about.choices);
        about.choices = choices;
        Self { port, about }
    }
}

impl Port for Chosen {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        self.port.transmit(most, write)
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        self.port.receive(most, read)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.port.flush(patience)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        self.port.wait(what, patience)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        self.port.counters()
    }

    fn is_up(&mut self) -> bool {
        self.port.is_up()
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.port.trouble()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.port.descriptor()
    }

    fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
        self.port.filter(program)
    }

    fn offload(&mut self) -> Option<&mut dyn Offload> {
        self.port.offload()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USED: Option<&str> = Some("it belongs to 'br0'");

    fn order(wish: &Wish, used: Option<&str>) -> (Vec<String>, Vec<String>) {
        let (candidates, refused) = candidates("eth0", wish, used);
        let tried = candidates.iter().map(|candidate| candidate.address("eth0").to_string());
        (tried.collect(), refused.into_iter().map(|refused| refused.chosen).collect())
    }

    #[test]
    fn frames_of_the_hosts_own_stack_are_left_to_it() {
        for wish in [Wish::receive(), Wish::default(), Wish { busy: true, ..Wish::receive() }] {
            let (tried, refused) = order(&wish, USED);
            assert_eq!(tried, ["packet:eth0"]);
            assert_eq!(refused, ["xdp,mode=zerocopy:eth0", "xdp,mode=copy:eth0"]);
        }
        let (tried, refused) = order(&Wish::receive(), None);
        assert_eq!(tried, ["xdp,mode=zerocopy:eth0", "xdp,mode=copy:eth0", "packet:eth0"]);
        assert!(refused.is_empty());
        let (_, refused) = candidates("eth0", &Wish::receive(), USED);
        assert!(refused[0].why.contains("it belongs to 'br0'"), "{}", refused[0].why);
    }

    #[test]
    fn sending_takes_no_queue_from_the_hosts_own_stack() {
        let (tried, refused) = order(&Wish::transmit(), USED);
        assert_eq!(tried, ["xdp,mode=copy:eth0", "packet:eth0"]);
        assert_eq!(refused, ["xdp,mode=zerocopy:eth0"]);
        let (tried, _) = order(&Wish { busy: true, ..Wish::transmit() }, USED);
        assert_eq!(tried, ["packet:eth0"]);
        let (tried, _) = order(&Wish::transmit(), None);
        assert_eq!(tried, ["xdp,mode=zerocopy:eth0", "xdp,mode=copy:eth0", "packet:eth0"]);
    }

    #[test]
    fn due_times_are_kept_by_the_way_with_the_more_even_gaps() {
        let (tried, refused) = order(&Wish { busy: true, ..Wish::transmit() }, None);
        assert_eq!(tried, ["xdp,mode=zerocopy:eth0", "packet:eth0"]);
        assert_eq!(refused, ["xdp,mode=copy:eth0"]);
    }
}
