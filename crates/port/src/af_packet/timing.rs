//! Readies a socket for launch times: the queueing discipline's clock and errors (SO_TXTIME), and stamps of
//! what leaves, the card's where it has them.

use super::launch::Launch;
use super::setting::{Setting, failed};
use super::socket::{Plain, Socket};
use super::timed::{Rooms, Timed};
use crate::card_clock::CardClock;
use crate::interface::{Interface, StampGuard, Times};
use crate::{Choice, PortError, StampedBy};

/// What the queue of stamps may hold: one takes less than a kibibyte.
const STAMPS: i32 = 32 << 20;
/// SOF_TXTIME_DEADLINE_MODE, SOF_TXTIME_REPORT_ERRORS of linux/net_tstamp.h.
const DEADLINE: u32 = 1;
const REPORT_ERRORS: u32 = 2;

/// struct sock_txtime.
#[repr(C)]
#[derive(Clone, Copy)]
struct SockTxtime {
    clock: libc::clockid_t,
    flags: u32,
}

// SAFETY: two integers, without a gap.
unsafe impl Plain for SockTxtime {}

/// The way out for frames with launch times, and what keeps the card stamping.
///
/// # Errors
/// Nothing keeps launch times there, or the kernel refuses.
pub fn outlet(
    socket: &Socket,
    interface: &Interface,
    setting: &Setting,
    choices: &mut Vec<Choice>,
) -> Result<(Timed, Option<StampGuard>), PortError> {
    let (launch, chosen) = Launch::find(interface, setting)?;
    choices.extend(chosen);
    let set = |option, value: i32| socket.set(libc::SOL_SOCKET, option, value);
    let is_deadline = matches!(&launch.times, Times::Etf(etf) if etf.deadline);
    let flags = REPORT_ERRORS | if is_deadline { DEADLINE } else { 0 };
    let txtime = SockTxtime { clock: launch.clock, flags };
    socket.set(libc::SOL_SOCKET, libc::SO_TXTIME, txtime).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM) => PortError::Privilege {
            what: format!("{}: launch times", setting.name),
            capability: "CAP_NET_ADMIN",
        },
        _ => failed(setting, "launch times (SO_TXTIME)", error),
    })?;
    let stamps = |error| failed(setting, "stamps of what leaves", error);
    set(libc::SO_RCVBUFFORCE, STAMPS).or_else(|_| set(libc::SO_RCVBUF, STAMPS)).map_err(stamps)?;
    let (card, guard) = card(interface, setting, choices)?;
    let by = match card {
        Some(_) => libc::SOF_TIMESTAMPING_TX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE,
        None => libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE,
    };
    let flags = by | libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    set(libc::SO_TIMESTAMPING, flags as i32).map_err(stamps)?;
    let room = |option| socket.read_i32(libc::SOL_SOCKET, option).map(i32::unsigned_abs);
    let rooms = Rooms {
        send: room(libc::SO_SNDBUF).map_err(stamps)?,
        receive: room(libc::SO_RCVBUF).map_err(stamps)?,
    };
    // One more, which belongs to what sends: whether the link is there is asked when stamps do not come.
    let own = Interface::find(&interface.name)?;
    let longest = interface.longest(true);
    Ok((Timed::new((own, longest), launch, rooms, card, setting.departures), guard))
}

/// The clock of the card that stamps what leaves, if it can and its clock can be compared.
fn card(
    interface: &Interface,
    setting: &Setting,
    choices: &mut Vec<Choice>,
) -> Result<(Option<CardClock>, Option<StampGuard>), PortError> {
    let mut choose = |by: StampedBy, why: String| {
        choices.push(Choice { what: "stamps of sent frames", chosen: by.name().to_owned(), why });
    };
    let refused = match setting.stamps {
        "driver" => "as requested: the kernel's, when the driver accepts the frame".to_owned(),
        _ if !interface.stamping.sent => {
            let driver = interface.driver.as_deref().unwrap_or("of this interface");
            format!(
                "the driver {driver} does not timestamp sent frames in hardware: the kernel does, when the \
                 driver accepts them"
            )
        }
        _ => {
            let found = CardClock::of(interface).and_then(|card| {
                let guard = StampGuard::switch_on(interface, false, true);
                guard
                    .map(|guard| (card, guard))
                    .map_err(|error| format!("they could not be switched on ({error})"))
            });
            match found {
                Ok((card, guard)) => {
                    choose(StampedBy::Hardware, card.words());
                    return Ok((Some(card), Some(guard)));
                }
                Err(why) => format!("the card's are not used: {why}"),
            }
        }
    };
    if setting.stamps == "hardware" {
        let what = format!("stamps=hardware for {}", setting.name);
        return Err(PortError::Unavailable { what, why: refused });
    }
    choose(StampedBy::Driver, refused);
    Ok((None, None))
}
