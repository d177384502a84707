//! From a plan to open ports and a pace in bits, frames or gaps.

use super::ends::End;
use super::job::{PaceJob, Settings};
use super::timetable::Pace;
use crate::{PacketError, lists};
use clock::HostClock;
use plan::packets::pace::PacePlan;
use plan::packets::send;
use port::{About, Address, PortKind};
use std::path::Path;
use std::sync::Arc;
use units::{Picos, Rate};

/// Bytes that a frame takes on the wire beside those that it has here: FCS, preamble, start delimiter, gap.
const ON_WIRE: usize = wire::FCS + wire::PREAMBLE_AND_GAP;

impl PaceJob {
    /// Opens both ports of the plan and reads its gaps.
    ///
    /// # Errors
    /// What is wrong with a port or the file, and what would be right.
    pub fn prepare(plan: &PacePlan, clock: HostClock) -> Result<Self, PacketError> {
        let Asked { gaps, input, output } = Asked::of(plan)?;
        let ends = (End::open(&input, true)?, End::open(&output, true)?);
        let pace = paced(plan, gaps, &ends.1.about)?;
        let settings = Settings {
            input,
            output,
            pace,
            is_relative: plan.relative,
            length: plan.duration,
            cpus: plan.cpus.clone(),
            priority: plan.priority,
            has_valve: plan.valve,
        };
        Self::between(settings, clock, ends.0, ends.1)
    }
}

impl PaceJob {
    /// Whether the files that the plan names would do.
    ///
    /// # Errors
    /// What [`Self::prepare`] would say.
    pub fn check_files(plan: &PacePlan) -> Result<(), PacketError> {
        Asked::of(plan).map(drop)
    }

    /// Whether [`Self::prepare`] would fail, as far as that can be told without opening a port.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(plan: &PacePlan) -> Result<(), PacketError> {
        let Asked { gaps, input, output } = Asked::of(plan)?;
        End::check(&input, true)?;
        paced(plan, gaps, &End::check(&output, true)?).map(drop)
    }
}

/// What is known before anything is opened: a file that cannot be read makes no interface.
struct Asked {
    gaps: Option<Arc<[Picos]>>,
    input: Address,
    output: Address,
}

impl Asked {
    fn of(plan: &PacePlan) -> Result<Self, PacketError> {
        let gaps = match &plan.pace {
            send::Pace::Gaps(file) => Some(gaps_of(file)?),
            _ => None,
        };
        let (input, output): (Address, Address) = (plan.input.parse()?, plan.output.parse()?);
        carries_frames("IN", &input)?;
        carries_frames("OUT", &output)?;
        Ok(Self { gaps, input, output })
    }
}

fn paced(plan: &PacePlan, gaps: Option<Arc<[Picos]>>, output: &About) -> Result<Pace, PacketError> {
    match gaps {
        Some(gaps) => Ok(Pace::List(gaps)),
        None => pace_of(&plan.pace, plan.line_bps.or(output.speed_bps), &plan.output),
    }
}

/// What a host's stack sends begins with ARP, which is no datagram of a socket.
fn carries_frames(end: &str, port: &Address) -> Result<(), PacketError> {
    match port.innermost().kind() {
        PortKind::Udp => Err(PacketError::Wrong(format!(
            "{end}: {port}: a socket carries only UDP payloads, and a host's stack sends more than that; name \
             an interface, such as packet:eth0"
        ))),
        _ => Ok(()),
    }
}

fn pace_of(pace: &send::Pace, speed: Option<u64>, port: &str) -> Result<Pace, PacketError> {
    let bits = |per_second, overhead| {
        let rate = Rate::per_second(per_second).ok_or_else(|| {
            PacketError::Wrong(format!("--rate: {per_second} bits a second is more than one each picosecond"))
        })?;
        Ok(Pace::Bits { rate, overhead })
    };
    match pace {
        send::Pace::Frames(rate) => Ok(Pace::Frames(*rate)),
        send::Pace::Gap(gap) => Rate::new(1, *gap)
            .map(Pace::Frames)
            .ok_or_else(|| PacketError::Wrong("--gap: is zero".to_owned())),
        send::Pace::Bits { per_second, on_wire } => {
            bits(*per_second, if *on_wire { ON_WIRE } else { wire::FCS })
        }
        send::Pace::Line { millionths } => {
            let speed = speed.ok_or_else(|| {
                PacketError::Wrong(format!(
                    "--rate: {port} does not report the speed of its link; give it by --line, e.g. --line 10G"
                ))
            })?;
            let share = u128::from(speed) * u128::from(*millionths) / 1_000_000;
            bits(u64::try_from(share).unwrap_or(u64::MAX).max(1), ON_WIRE)
        }
        _ => Err(PacketError::Wrong("--rate: live frames need a rate".to_owned())),
    }
}

/// The gaps of a file, of which one at least is above zero.
fn gaps_of(file: &Path) -> Result<Arc<[Picos]>, PacketError> {
    let gaps = lists::gaps(file).map_err(|error| PacketError::Wrong(format!("--gaps: {error}")))?;
    match gaps.iter().all(|gap| gap.is_zero()) {
        true => Err(PacketError::Wrong(format!(
            "{} has no gap above zero; write nanoseconds, one per line",
            file.display()
        ))),
        false => Ok(gaps.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn gaps_that_are_all_zero_are_no_pace() {
        let gaps: Vec<u64> =
            gaps_of(file("0\n2.5\n").path()).unwrap().iter().map(|gap| gap.as_picos()).collect();
        assert_eq!(gaps, [0, 2_500]);
        let said = gaps_of(file("0\n0\n").path()).unwrap_err().to_string();
        assert!(said.contains("has no gap above zero"), "{said}");
    }

    #[test]
    fn bits_count_preamble_and_gap_unless_they_are_of_frames_alone() {
        let bits = |pace| pace_of(&pace, Some(1_000_000_000), "packet:veth0").unwrap();
        let rate = Rate::per_second(500_000_000).unwrap();
        assert_eq!(bits(send::Pace::Line { millionths: 500_000 }), Pace::Bits { rate, overhead: 24 });
        let alone = send::Pace::Bits { per_second: 500_000_000, on_wire: false };
        assert_eq!(bits(alone), Pace::Bits { rate, overhead: 4 });
        let unknown =
            pace_of(&send::Pace::Line { millionths: 1 }, None, "packet:tun0").unwrap_err().to_string();
        assert!(
            unknown.contains("packet:tun0 does not report") && unknown.contains("--line 10G"),
            "{unknown}"
        );
    }
}
