//! What waits for the end of a run, packed: as the JSON that it may become there, a field at a time,
//! compressed.
//! Values of one field are alike, so that takes a third less than one thing behind another.
//!
//! ```text
//! {a: 1, b: 7} {a: 2} {a: 3, b: 9}  ─►  fields [[a, b], [a]], of [0, 1, 0], values {a: [1, 2, 3], b: [7, 9]}
//! ```

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::vec::IntoIter;

const WHOLE: &str = "what was packed here is whole";
/// Things that are packed together. Even, so that pairs are of one pack.
pub(crate) const PACK: usize = 64;

/// See the module.
#[derive(Default, Serialize, Deserialize)]
struct Columns {
    /// Names of the fields, once for each set of them that there is.
    fields: Vec<Vec<String>>,
    /// Which of these each thing has.
    of: Vec<usize>,
    values: BTreeMap<String, Vec<Value>>,
    /// Fields that are such things themselves.
    inner: BTreeMap<String, Columns>,
}

impl Columns {
    fn of(things: impl IntoIterator<Item = Value>) -> Self {
        let mut columns = Self::default();
        for thing in things {
            let Value::Object(thing) = thing else {
                unreachable!("what is packed has names for what it holds")
            };
            let has = |fields: &Vec<String>| fields.iter().eq(thing.keys());
            let at = columns.fields.iter().position(has).unwrap_or_else(|| {
                columns.fields.push(thing.keys().cloned().collect());
                columns.fields.len() - 1
            });
            columns.of.push(at);
            for (name, value) in thing {
                columns.values.entry(name).or_default().push(value);
            }
        }
        let inner = columns.values.extract_if(.., |_, column| column.iter().all(Value::is_object));
        columns.inner = inner.map(|(name, column)| (name, Self::of(column))).collect();
        columns
    }

    fn things(self) -> Vec<Value> {
        let Self { fields, of, values, inner } = self;
        let inner = inner.into_iter().map(|(name, columns)| (name, columns.things()));
        let mut values: BTreeMap<String, IntoIter<Value>> =
            values.into_iter().chain(inner).map(|(name, column)| (name, column.into_iter())).collect();
        let mut next =
            |name: &String| (name.clone(), values.get_mut(name).and_then(Iterator::next).expect(WHOLE));
        of.into_iter()
            .map(|at| Value::Object(fields[at].iter().map(&mut next).collect::<Map<_, _>>()))
            .collect()
    }
}

pub(crate) fn pack<T: Serialize>(things: &[T]) -> Box<[u8]> {
    let values = things.iter().map(|thing| serde_json::to_value(thing).expect("memory takes everything"));
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut packer, &Columns::of(values)).expect("memory takes everything");
    packer.finish().expect("memory takes every byte").into_boxed_slice()
}

/// What [`pack`] packed.
pub(crate) fn unpack<T: DeserializeOwned>(pack: &[u8]) -> Vec<T> {
    let columns: Columns = serde_json::from_reader(BufReader::new(ZlibDecoder::new(pack))).expect(WHOLE);
    columns.things().into_iter().map(|thing| serde_json::from_value(thing).expect(WHOLE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Thing {
        count: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        share: Option<f64>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        within: Option<Box<Thing>>,
    }

    #[test]
    fn things_come_back_with_the_fields_that_they_had() {
        let thing = |n: u64| Thing {
            // Beyond what a double holds.
            count: u64::MAX - n,
            share: (!n.is_multiple_of(3)).then_some(n as f64 / 7.0),
            names: if n.is_multiple_of(2) { vec![format!("\"{n}\"\n")] } else { Vec::new() },
            within: None,
        };
        let around =
            |n: u64| Thing { within: (!n.is_multiple_of(5)).then(|| Box::new(thing(n + 1))), ..thing(n) };
        let things: Vec<Thing> = (0..64).map(around).collect();
        assert_eq!(unpack::<Thing>(&pack(&things)), things);
        assert_eq!(unpack::<Thing>(&pack::<Thing>(&[])), []);
    }

    #[test]
    fn what_is_alike_takes_little_room() {
        let thing =
            |n: u64| Thing { count: 1_000_000 + n % 7, share: Some(0.25), names: Vec::new(), within: None };
        let things: Vec<Thing> = (0..64).map(thing).collect();
        assert!(pack(&things).len() < 64 * 4, "{}", pack(&things).len());
    }
}
