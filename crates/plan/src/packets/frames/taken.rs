//! Frames that are taken from a capture file, with fields that vary.

use super::values::Problem;
use super::{FrameSource, Frames, FramesFile, vary};
use crate::canonical::quoted;
use crate::error::PlanError;
use crate::table::Table;
use std::fmt::Write;
use wire::template::{Changes, Vary};

pub(super) fn resolve(file: &FramesFile, table: &Table<'_>, seed: u64) -> Result<Frames, PlanError> {
    let path = file.pcap.as_deref().unwrap_or_default();
    if path.trim().is_empty() {
        return Err(table.wrong("frames.pcap", path, "names no file", "a pcap or pcapng file"));
    }
    if let Some(other) = made(file) {
        let why = "frames come from a file or from these options, not both; --vary and --sign can change a file's frames";
        return Err(table.both("frames.pcap", &format!("frames.{other}"), why));
    }
    let mut text = format!("[frames]\nseed = {seed}\npcap = {}\n", quoted(path));
    let sign = file.sign.unwrap_or(false);
    let mut changes = Changes { sign, seed, ..Changes::default() };
    let mut shown = Vec::new();
    for typed in file.vary.iter().flat_map(|list| &list.0) {
        let (text, varied) = read_vary(typed.as_str(), "frames.vary", &changes.vary, table)?;
        shown.push(quoted(&text));
        changes.vary.push(varied);
    }
    if !shown.is_empty() {
        let _ = writeln!(text, "vary = [{}]", shown.join(", "));
    }
    let _ = writeln!(text, "sign = {sign}");
    Ok(Frames { source: FrameSource::Taken { file: path.into(), changes }, loads: Vec::new(), text })
}

/// A field of recorded frames that varies, beside those that do already; and its canonical text.
pub(in crate::packets) fn read_vary(
    typed: &str,
    key: &str,
    others: &[Vary],
    table: &Table<'_>,
) -> Result<(String, Vary), PlanError> {
    let wrong = |(problem, expected): Problem| table.wrong(key, typed, problem, expected);
    let is_ipv6 = typed
        .split_once('=')
        .is_some_and(|(name, values)| matches!(name.trim(), "src" | "dst") && values.contains(':'));
    let (name, varied) = vary::read(typed, is_ipv6, false).map_err(wrong)?;
    if others.iter().any(|known| known.field == varied.field) {
        let expected = "each field once".to_owned();
        return Err(wrong((format!("varies {name} a second time"), expected)));
    }
    let text = format!("{name}={}", varied.chosen);
    Ok((text, Vary { field: varied.field, values: varied.list, by: varied.chosen.by }))
}

/// A key that says how frames are made.
fn made(file: &FramesFile) -> Option<&'static str> {
    if file.stream.is_some() {
        return Some("stream");
    }
    let mut known = file.common();
    (known.vary, known.sign) = (None, None);
    let (_, keys) = known.over(&super::StreamFile::default());
    keys.first().copied()
}
