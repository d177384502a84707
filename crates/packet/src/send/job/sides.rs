//! A recording whose clients and servers leave by two ports, each by a thread of its own: one clock, one
//! origin, and the times of the one recording.
//!
//! ```text
//! recording ─ Splitter ─┬─► clients: frames, times ─► PORT
//!                       └─► servers: frames, times ─► --servers PORT
//! ```

use super::super::departures::{Cycle, Ends, Pattern};
use super::super::sender::SenderReport;
use super::super::source::{self, Recording};
use super::super::split::Splitter;
use super::super::tape::TapeSetup;
use super::findings::Handed;
use crate::PacketError;
use measure::packets::{Cell, Column, Table};
use plan::packets::send::{Pace, SendPlan};
use plan::packets::split::{Side, SplitPlan};
use std::sync::Arc;
use units::Picos;
use wire::Template;
use wire::template::Changes;

/// Frames that tell what the whole looks like.
const HEAD: usize = 4_096;

/// What one of the two ports sends.
pub struct SideJob {
    pub side: Side,
    pub template: Arc<Template>,
    /// Its times; none where they are read while they are sent.
    pub pattern: Option<Pattern>,
    pub tape: Option<TapeSetup>,
    pub ends: Ends,
}

/// Parts a recording; what is left of it looks like the whole. `tape` is how it is read while it is sent, where
/// it is not in memory.
///
/// # Errors
/// One side has no frames, or none with a field that is to vary.
pub fn of(
    plan: &SendPlan,
    split: &SplitPlan,
    recording: &mut Recording,
    tape: Option<&TapeSetup>,
) -> Result<Vec<SideJob>, PacketError> {
    let mut splitter = Splitter::new(split.by.clone());
    let sides: Vec<Side> = recording.frames.iter().map(|frame| splitter.side(frame)).collect();
    let head = recording.frames[..recording.frames.len().min(HEAD)].to_vec();
    let frames = std::mem::replace(&mut recording.frames, head);
    let mut parts = [Vec::new(), Vec::new()];
    for (frame, side) in frames.into_iter().zip(&sides) {
        parts[*side as usize].push(frame);
    }
    let timing = Timing { plan, sides: &sides, recording };
    Side::BOTH.into_iter().zip(parts).map(|(side, frames)| part(split, side, frames, &timing, tape)).collect()
}

/// When all frames of the recording leave.
struct Timing<'a> {
    plan: &'a SendPlan,
    sides: &'a [Side],
    recording: &'a Recording,
}

fn part(
    split: &SplitPlan,
    side: Side,
    frames: Vec<Vec<u8>>,
    timing: &Timing<'_>,
    tape: Option<&TapeSetup>,
) -> Result<SideJob, PacketError> {
    let changes = changes(timing.plan, split, side);
    if let Some(tape) = tape {
        // What there is so far looks like the rest, if there is any.
        let frames = if frames.is_empty() { vec![vec![0; 60]] } else { frames };
        let template = Arc::new(Template::from_frames_with(frames, &changes).map_err(source::wrong)?);
        let tape = TapeSetup {
            changes,
            side: Some((split.by.clone(), side)),
            frames: timing.plan.frames,
            window_bytes: tape.window_bytes / 2,
            ..tape.clone()
        };
        let ends = Ends { after: timing.plan.duration, frames: None };
        return Ok(SideJob { side, template, pattern: None, tape: Some(tape), ends });
    }
    if frames.is_empty() {
        return Err(none_of(side));
    }
    let template = Template::from_frames_with(frames, &changes).map_err(source::wrong)?;
    for vary in split.vary_of(side) {
        let name = vary.field.name();
        let mut streams = template.streams().iter();
        if !streams.any(|stream| stream.variations().iter().any(|known| known.field == name)) {
            return Err(PacketError::Wrong(format!(
                "--{}-vary {name}: no frame of the {} has a header of {}; leave it out",
                side.name().trim_end_matches('s'),
                side.name(),
                vary.field.header()
            )));
        }
    }
    let problem = "its timestamps give no times to replay, so it cannot be split over two ports";
    let (cycle, ends) = timing.of(side).ok_or_else(|| PacketError::Wrong(problem.to_owned()))?;
    let (template, pattern) = (Arc::new(template), Some(Pattern::Cycle(cycle)));
    Ok(SideJob { side, template, pattern, tape: None, ends })
}

/// Says that one of the two ports would send nothing.
pub fn none_of(side: Side) -> PacketError {
    PacketError::Wrong(format!(
        "--split: no frame of the recording is from the {}; leave out --servers, or give another rule, e.g. clients=10.0.0.0/8",
        side.name()
    ))
}

/// What varies of all, and of this side; where both name a field, the side's values hold.
fn changes(plan: &SendPlan, split: &SplitPlan, side: Side) -> Changes {
    let (mut all, own) = (source::changes(plan), split.vary_of(side));
    all.vary.retain(|vary| own.iter().all(|own| own.field != vary.field));
    all.vary.extend(own.iter().cloned());
    Changes { may_lack: true, ..all }
}

impl Timing<'_> {
    /// The side's times within those of all, and how many of its frames there are.
    fn of(&self, side: Side) -> Option<(Cycle, Ends)> {
        let Pace::Replay { speed, .. } = &self.plan.pace else { return None };
        let whole = self.recording.times(*speed)?;
        let is_here = |(_, of): &(&u64, &Side)| **of == side;
        let own = self.recording.offsets.iter().zip(self.sides).filter(is_here);
        let starts: Vec<Picos> = own.map(|(ns, _)| speed.faster(*ns)).collect();
        let once = starts.len() as u64;
        let cycle = Cycle::of_part(starts, whole.total())?;
        let of_all = match (self.plan.frames, self.plan.loops) {
            (Some(frames), _) => Some(frames),
            (None, Some(loops)) => Some(whole.len().saturating_mul(loops)),
            (None, None) => self.plan.duration.is_none().then(|| whole.len()),
        };
        let among = |frames: u64| {
            let rest = &self.sides[..(frames % whole.len()) as usize];
            (frames / whole.len()).saturating_mul(once) + rest.iter().filter(|of| **of == side).count() as u64
        };
        Some((cycle, Ends { after: self.plan.duration, frames: of_all.map(among) }))
    }
}

/// Figures of both ports, as a table of the result.
pub(super) fn table(handed: &Handed, senders: &[SenderReport]) -> Option<Table> {
    let names =
        ["side", "sent", "volume", "missed", "failed", "gap error p50", "gap error p99", "gap error max"];
    let unit = |name: &str| match name {
        "side" => "",
        "volume" => "bytes",
        name if name.starts_with("gap") => "ns",
        _ => "count",
    };
    let row = |(side, sender): (&Side, &SenderReport)| {
        let counts = [sender.port.sent, sender.port.sent_bytes, sender.missed, sender.failed];
        let words = format!("{} ({})", side.name(), sender.port.name);
        let error = sender.gaps.as_ref().and_then(|gaps| handed.of_stream(gaps)).and_then(|gaps| gaps.error);
        let errors = error.map(|error| [error.p50_ns, error.p99_ns, error.max_ns].map(Cell::Figure));
        std::iter::once(Cell::Words(words))
            .chain(counts.map(|count| Cell::Figure(count as f64)))
            .chain(errors.unwrap_or([Cell::Nothing, Cell::Nothing, Cell::Nothing]))
            .collect()
    };
    let column = |name: &&str| Column { name: (*name).to_owned(), unit: unit(name).to_owned() };
    (handed.sides.len() == senders.len() && !senders.is_empty()).then(|| Table {
        key: "sides".to_owned(),
        title: "Clients and servers".to_owned(),
        columns: names.iter().map(column).collect(),
        rows: handed.sides.iter().zip(senders).map(row).collect(),
        notes: vec!["gap errors when frames were handed over".to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send::departures::Departures;
    use crate::send::tape::Odd;
    use plan::packets::send::SendPlanFile;
    use schedule::{Schedule, Share};
    use units::Instant;

    /// From A to B, or back, over UDP to port 9.
    fn datagram(is_client: bool) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, u8::from(is_client)]);
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14..24].copy_from_slice(&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17]);
        let (source, destination) = if is_client { (1, 2) } else { (2, 1) };
        (frame[26], frame[29], frame[30], frame[33]) = (10, source, 10, destination);
        let ports = if is_client { [4, 0, 0, 9] } else { [0, 9, 4, 0] };
        frame[34..38].copy_from_slice(&ports);
        frame[38..40].copy_from_slice(&[0, 8]);
        frame
    }

    fn sides(more: &str) -> Result<Vec<SideJob>, PacketError> {
        let text =
            format!("[send]\nport = \"mem:a\"\nservers = \"mem:b\"\nreplay = \"x\"\nspeed = 2\n{more}");
        let (plan, _) = SendPlanFile::from_toml(&text, "plan").unwrap().resolve().unwrap();
        let split = plan.split.clone().unwrap();
        // Clients at 0, 2 and 6 us, servers at 1 and 5 us; the mean gap is 1.5 us.
        let mut recording = Recording {
            frames: [true, false, true, false, true].map(datagram).to_vec(),
            offsets: vec![0, 1_000, 2_000, 5_000, 6_000],
            odd: Odd::default(),
            cut: 0,
            interfaces: 1,
            is_whole: true,
        };
        of(&plan, &split, &mut recording, None)
    }

    const ORIGIN: Instant = Instant::from_picos(9_000_000_000_000);

    /// In nanoseconds; paused and resumed between these, if at all.
    fn due(side: &SideJob, paused: Option<(u64, u64)>) -> Vec<u64> {
        let pattern = side.pattern.clone().unwrap();
        let mut departures = Departures::new(pattern, side.ends, ORIGIN, Share::WHOLE);
        if let Some((from, to)) = paused {
            departures.pause(ORIGIN + Picos::from_nanos(from));
            departures.resume(ORIGIN + Picos::from_nanos(to));
        }
        std::iter::from_fn(|| departures.next()).map(|next| next.due.since(ORIGIN).as_nanos()).collect()
    }

    #[test]
    fn both_sides_keep_the_times_of_the_whole() {
        let both = sides("loops = 2\n").unwrap();
        assert_eq!(both.iter().map(|side| side.ends.frames).collect::<Vec<_>>(), [Some(6), Some(4)]);
        // Twice as fast, and the second round 3.75 us after the first.
        assert_eq!(due(&both[0], None), [0, 1_000, 3_000, 3_750, 4_750, 6_750]);
        assert_eq!(due(&both[1], None), [500, 2_500, 4_250, 6_250]);
        // A pause moves both by its length: they stay in step.
        assert_eq!(due(&both[0], Some((700, 1_700))), [0, 2_000, 4_000, 4_750, 5_750, 7_750]);
        assert_eq!(due(&both[1], Some((700, 1_700))), [500, 3_500, 5_250, 7_250]);
        // Of seven frames two are of the second round: one each.
        let seven = sides("frames = 7\n").unwrap();
        assert_eq!(seven.iter().map(|side| side.ends.frames).collect::<Vec<_>>(), [Some(4), Some(3)]);
        let timed = sides("duration = \"1s\"\n").unwrap();
        assert!(timed.iter().all(|side| side.ends.frames.is_none() && side.ends.after.is_some()));
    }

    #[test]
    fn what_no_frame_has_cannot_vary_and_a_side_needs_frames() {
        let refused = |more: &str| sides(more).err().unwrap().to_string();
        let vlan = refused("client_vary = \"vlan=7\"\n");
        assert!(vlan.starts_with("--client-vary vlan: no frame of the clients"), "{vlan}");
        let nobody = refused("split = \"servers=192.0.2.1\"\n");
        assert!(nobody.contains("no frame of the recording is from the servers"), "{nobody}");
        let varied = sides("server_vary = [\"dport=7\"]\n").unwrap();
        assert_eq!(varied[0].template.streams()[0].variations().len(), 0);
        assert_eq!(varied[1].template.streams()[0].variations().len(), 1);
    }
}
