//! What was typed, kept as text: `20k`, `10s`, `64KiB`, or a bare TOML or JSON number.

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// One value as it was typed. In TOML and JSON a string or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed(String);

impl Typed {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Typed {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl<'de> Deserialize<'de> for Typed {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(TypedVisitor)
    }
}

struct TypedVisitor;

impl Visitor<'_> for TypedVisitor {
    type Value = Typed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Typed, E> {
        Ok(text.into())
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<Typed, E> {
        Ok(number.to_string().into())
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<Typed, E> {
        Ok(number.to_string().into())
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Typed, E> {
        Ok(number.to_string().into())
    }
}

/// One value or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedList(pub Vec<Typed>);

impl<'de> Deserialize<'de> for TypedList {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = TypedList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<TypedList, E> {
                Ok(TypedList(vec![text.into()]))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<TypedList, E> {
                Ok(TypedList(vec![number.to_string().into()]))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<TypedList, E> {
                Ok(TypedList(vec![number.to_string().into()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TypedList, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = list.next_element()? {
                    all.push(item);
                }
                Ok(TypedList(all))
            }
        }
        source.deserialize_any(ListVisitor)
    }
}

/// Header lines in order: `["Name: value", …]`, `[["Name", "value"], …]` or `{ Name = "value", … }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderList(pub Vec<HeaderTyped>);

/// One header as typed: a whole line, or name and value apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderTyped {
    Line(String),
    Pair(String, String),
}

impl<'de> Deserialize<'de> for HeaderTyped {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct HeaderVisitor;
        impl<'de> Visitor<'de> for HeaderVisitor {
            type Value = HeaderTyped;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"Name: value\" or [\"Name\", \"value\"]")
            }
            fn visit_str<E: Error>(self, line: &str) -> Result<HeaderTyped, E> {
                Ok(HeaderTyped::Line(line.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<HeaderTyped, A::Error> {
                let name =
                    pair.next_element::<String>()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let value =
                    pair.next_element::<Typed>()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                match pair.next_element::<Typed>()? {
                    None => Ok(HeaderTyped::Pair(name, value.0)),
                    Some(_) => Err(A::Error::invalid_length(3, &self)),
                }
            }
        }
        source.deserialize_any(HeaderVisitor)
    }
}

impl<'de> Deserialize<'de> for HeaderList {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = HeaderList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of \"Name: value\", a list of [\"Name\", \"value\"], or a table")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<HeaderList, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = list.next_element()? {
                    all.push(item);
                }
                Ok(HeaderList(all))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HeaderList, A::Error> {
                let mut all = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Typed>()? {
                    // A date of TOML comes as a table.
                    if name.starts_with("$__toml") {
                        return Err(A::Error::custom("a date is no header: write it in quotes"));
                    }
                    all.push(HeaderTyped::Pair(name, value.0));
                }
                Ok(HeaderList(all))
            }
        }
        source.deserialize_any(ListVisitor)
    }
}

/// `Name: value`, however it was typed.
impl fmt::Display for HeaderTyped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Pair(name, value) => write!(f, "{name}: {value}"),
        }
    }
}
