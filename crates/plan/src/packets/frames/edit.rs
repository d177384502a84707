//! Frames that are changed while a run goes on: some fields of some streams, and everything else as it was.
//!
//! ```text
//! canonical text ─► FramesFile ─ edits ─► FramesFile ─ resolve ─► Frames, or what is wrong with the edits
//! ```
//!
//! So a field that is changed means what it means in a plan, and is refused in the same words.

use super::stream::strangers;
use super::{FrameSource, Frames, FramesFile, StreamFile};
use crate::error::{Place, PlanError};
use crate::file::read_toml;
use crate::table::Table;
use crate::typed::{Typed, TypedList};
use serde::Deserialize;

/// One field that is changed: `dport=5060`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameEdit {
    /// `None`: of all streams.
    pub stream: Option<usize>,
    /// As a flag has it, without dashes in front: `dst-mac`.
    pub key: String,
    pub value: String,
}

#[derive(Debug, Default, Deserialize)]
struct Text {
    frames: FramesFile,
}

impl Frames {
    /// The same frames but for these fields. A field that no longer exists, such as a port after `proto=icmp`,
    /// goes.
    ///
    /// # Errors
    /// What is wrong and what would be right, in a sentence; `names` are those of the streams.
    pub fn edited(&self, edits: &[FrameEdit], names: &[String]) -> Result<Self, String> {
        let mut file = self.file()?;
        match &mut file.stream {
            Some(streams) => {
                for (number, stream) in streams.iter_mut().enumerate() {
                    edit(stream, &of_stream(edits, number))?;
                }
            }
            None => {
                let mut only = file.common();
                edit(&mut only, &of_stream(edits, 0))?;
                file.take_common(only);
            }
        }
        super::resolve(&file, &Table::new("frames", None)).map_err(|error| plainly(error, names))
    }

    /// What a field of a stream was typed as; `None` where it has its default.
    pub fn typed(&self, stream: usize, key: &str) -> Option<String> {
        let file = self.file().ok()?;
        let mut of_it = match file.stream {
            Some(mut streams) => (stream < streams.len()).then(|| streams.swap_remove(stream))?,
            None => file.common(),
        };
        if key == "vary" {
            let all: Vec<&str> = of_it.vary.iter().flat_map(|list| &list.0).map(Typed::as_str).collect();
            return (!all.is_empty()).then(|| all.join(" "));
        }
        of_it.field(&key.replace('-', "_"))?.as_ref().map(|typed| typed.as_str().to_owned())
    }

    /// Fields that are not what they are by themselves, as flags are called: `dport`, `vary ttl=1..9`.
    pub fn asked(&self) -> Vec<String> {
        let by_themselves = FramesFile::default().resolve().ok().and_then(|frames| frames.file().ok());
        let (Ok(file), Some(by_themselves)) = (self.file(), by_themselves) else { return Vec::new() };
        let is_made = matches!(self.source(), FrameSource::Made { .. });
        let mut by_themselves = by_themselves.common();
        let mut streams = file.stream.clone().unwrap_or_else(|| vec![file.common()]);
        let mut asked = Vec::new();
        for key in StreamFile::KEYS {
            let own = by_themselves.field(key).cloned().flatten();
            let differs = |stream: &mut StreamFile| stream.field(key).is_some_and(|field| *field != own);
            // Frames of a file have no fields but those that are changed.
            if is_made && streams.iter_mut().any(differs) {
                asked.push(key.replace('_', "-"));
            }
        }
        let varied = streams.iter().flat_map(|stream| &stream.vary).flat_map(|list| &list.0);
        asked.extend(varied.map(|typed| format!("vary {}", typed.as_str())));
        asked
    }

    fn file(&self) -> Result<FramesFile, String> {
        let read: Result<(Text, _), PlanError> = read_toml(self.to_toml(), "frames");
        read.map(|(text, _)| text.frames).map_err(|error| error.to_string())
    }
}

fn of_stream(edits: &[FrameEdit], number: usize) -> Vec<&FrameEdit> {
    edits.iter().filter(|edit| edit.stream.is_none_or(|stream| stream == number)).collect()
}

fn edit(stream: &mut StreamFile, edits: &[&FrameEdit]) -> Result<(), String> {
    let key = |edit: &FrameEdit| edit.key.replace('-', "_");
    for edit in edits {
        if edit.key == "vary" {
            vary(stream, &edit.value);
            continue;
        }
        match stream.field(&key(edit)) {
            Some(field) => *field = (edit.value != "none").then(|| Typed::from(edit.value.clone())),
            None => return Err(unknown(&edit.key)),
        }
        // A value replaces whatever varied.
        forget(stream, &edit.key);
    }
    let typed: Vec<String> = edits.iter().map(|edit| key(edit)).collect();
    let is_typed = |key: &str| typed.iter().any(|typed| typed == key);
    if is_typed("proto") {
        let strangers = strangers(stream).unwrap_or_default();
        drop_fields(stream, strangers.into_iter().filter(|key| !is_typed(key)));
    }
    // IPv4 has neither a label nor extensions.
    let is_ipv4 = |typed: &Option<Typed>| typed.as_ref().is_some_and(|typed| !typed.as_str().contains(':'));
    if is_typed("src") && is_ipv4(&stream.src) || is_typed("dst") && is_ipv4(&stream.dst) {
        drop_fields(stream, ["flow_label", "ipv6_ext"].into_iter().filter(|key| !is_typed(key)));
    }
    if is_typed("vlan") && stream.vlan.is_none() {
        drop_fields(stream, std::iter::once("pcp").filter(|key| !is_typed(key)));
    }
    Ok(())
}

fn drop_fields(stream: &mut StreamFile, keys: impl Iterator<Item = &'static str>) {
    for key in keys {
        if let Some(field) = stream.field(key) {
            *field = None;
        }
        forget(stream, &key.replace('_', "-"));
    }
}

/// `dport=9,53` of `vary` takes the place of what varied that field.
fn vary(stream: &mut StreamFile, value: &str) {
    let field = value.split('=').next().unwrap_or_default().trim().to_owned();
    forget(stream, &field);
    stream.vary.get_or_insert_with(TypedList::default).0.push(Typed::from(value));
}

fn forget(stream: &mut StreamFile, field: &str) {
    let is_same = |typed: &Typed| {
        let name = typed.as_str().split('=').next().unwrap_or_default().trim();
        name == field || field == "vlan" && name == "inner-vlan"
    };
    if let Some(list) = &mut stream.vary {
        list.0.retain(|typed| !is_same(typed));
    }
    stream.vary = stream.vary.take().filter(|list| !list.0.is_empty());
}

fn unknown(key: &str) -> String {
    let known: Vec<String> = StreamFile::KEYS.iter().map(|key| key.replace('_', "-")).collect();
    let key: String = key.chars().take(40).collect();
    format!("'{key}' is not a field that can be changed; write rate, vary, {}", known.join(", "))
}

/// Places as they were typed: `voice: dport`, without the path or the dashes of a flag.
fn plainly(mut error: PlanError, names: &[String]) -> String {
    let rename = |place: &mut Place| {
        let path = place.field.trim_start_matches("frames.").to_owned();
        let of_stream = path.strip_prefix("stream[").and_then(|rest| rest.split_once("]."));
        let named =
            of_stream.and_then(|(number, key)| Some((names.get(number.parse::<usize>().ok()?)?, key)));
        place.field = match named {
            Some((name, key)) => format!("{name}: {}", key.replace('_', "-")),
            None => path.replace('_', "-"),
        };
        (place.flag, place.line) = (None, None);
    };
    match &mut error {
        PlanError::Value { place, .. } | PlanError::Missing { place, .. } => rename(place),
        PlanError::Contradiction { place, other, .. } => {
            rename(place);
            rename(other);
        }
        _ => {}
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::FrameSource;
    use super::*;
    use wire::template::Layer;

    fn frames(toml: &str) -> Frames {
        let (text, _): (Text, _) = read_toml(toml, "test").unwrap();
        text.frames.resolve().unwrap()
    }

    fn set(stream: Option<usize>, key: &str, value: &str) -> FrameEdit {
        FrameEdit { stream, key: key.to_owned(), value: value.to_owned() }
    }

    fn ports(frames: &Frames) -> Vec<Option<(u16, u16)>> {
        let FrameSource::Made { spec, .. } = frames.source() else { panic!("frames are made") };
        let port = |layer: &Layer| match layer {
            Layer::Udp { source, destination, .. } | Layer::Tcp { source, destination, .. } => {
                Some((*source, *destination))
            }
            _ => None,
        };
        spec.streams.iter().map(|stream| stream.layers.iter().find_map(port)).collect()
    }

    #[test]
    fn what_is_edited_is_what_a_plan_with_it_has() {
        let plan = frames("[frames]\ndst = \"198.18.0.9\"\nvlan = 7\nvary = [\"dport=9,53\", \"id=1..5\"]\n");
        let edited =
            plan.edited(&[set(None, "dport", "5060"), set(None, "src-mac", "02:00:00:00:00:07")], &[]);
        let same = "[frames]\ndst = \"198.18.0.9\"\nvlan = 7\ndport = 5060\nvary = \"id=1..5\"\nsrc_mac = \"02:00:00:00:00:07\"\n";
        assert_eq!(edited.unwrap(), frames(same));
        let untagged =
            plan.edited(&[set(None, "vlan", "none"), set(None, "vary", "dport=7,8")], &[]).unwrap();
        let same = "[frames]\ndst = \"198.18.0.9\"\nvary = [\"id=1..5\", \"dport=7,8\"]\n";
        assert_eq!(untagged, frames(same));
        assert_eq!(plan.typed(0, "vlan").as_deref(), Some("7"));
        assert_eq!(plan.typed(0, "src-mac"), None);
        assert_eq!(plan.typed(0, "vary").as_deref(), Some("dport=9,53 id=1..5"));
    }

    #[test]
    fn what_was_asked_for_is_what_differs() {
        assert!(frames("[frames]").asked().is_empty());
        assert!(frames("[frames]\ndport = 9\nsign = true\nproto = \"udp\"").asked().is_empty());
        let some = frames("[frames]\nsize = 100\ndport = \"1..3\"\nvlan = 7\nvary = \"ttl=1..9\"");
        assert_eq!(some.asked(), ["vlan", "pcp", "dport", "size", "vary ttl=1..9"]);
        // As it is read back.
        let (again, _): (Text, _) = read_toml(some.to_toml(), "test").unwrap();
        assert_eq!(again.frames.resolve().unwrap().asked(), some.asked());
        let two = frames(
            "[[frames.stream]]\nweight = 1\n[[frames.stream]]\nweight = 2\nsrc_mac = \"02:00:00:00:00:07\"",
        );
        assert_eq!(two.asked(), ["src-mac"]);
    }

    #[test]
    fn a_protocol_drops_the_fields_of_the_one_before() {
        let udp = frames("[frames]\nsport = 7\ndport = 8\nvary = \"sport=1..9\"\n");
        let icmp = udp.edited(&[set(None, "proto", "icmp")], &[]).unwrap();
        assert_eq!(ports(&icmp), [None]);
        let tcp = udp.edited(&[set(None, "proto", "tcp"), set(None, "tcp-flags", "SA")], &[]).unwrap();
        assert_eq!(ports(&tcp), [Some((7, 8))]);
        assert_eq!(tcp.edited(&[set(None, "proto", "udp")], &[]).unwrap(), udp);
        let refused = icmp.edited(&[set(None, "proto", "icmp"), set(None, "dport", "5")], &[]).unwrap_err();
        assert!(refused.starts_with("dport needs --proto udp or tcp"), "{refused}");
        let six = frames("[frames]\nsrc = \"fd00::1\"\ndst = \"fd00::2\"\nflow_label = 5\n");
        let four = [set(None, "src", "198.18.0.1"), set(None, "dst", "198.18.0.2")];
        assert!(six.edited(&four, &[]).is_ok());
        assert!(six.edited(&four[..1], &[]).unwrap_err().contains("one is an IPv4 address"));
    }

    #[test]
    fn of_several_streams_those_that_are_named_change() {
        let two = frames(
            "[frames]\ndport = 9\n[[frames.stream]]\nname = \"voice\"\nrate = 100\n[[frames.stream]]\nname = \"bulk\"\nrate = 5\n",
        );
        let names = ["voice".to_owned(), "bulk".to_owned()];
        let one = two.edited(&[set(Some(1), "dport", "80")], &names).unwrap();
        assert_eq!(ports(&one), [Some((1_024, 9)), Some((1_024, 80))]);
        let all = two.edited(&[set(None, "dport", "80"), set(Some(0), "sport", "7")], &names).unwrap();
        assert_eq!(ports(&all), [Some((7, 80)), Some((1_024, 80))]);
        assert_eq!(all.loads(), two.loads());
        let refused = two.edited(&[set(Some(1), "dport", "70000")], &names).unwrap_err();
        assert!(refused.starts_with("bulk: dport: '70000' "), "{refused}");
        let refused = two.edited(&[set(None, "name", "x")], &names).unwrap_err();
        assert!(refused.starts_with("'name' is not a field that can be changed; write rate, vary, src-mac"));
    }
}
