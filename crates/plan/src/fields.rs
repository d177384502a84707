//! Every field of a plan: its path in TOML and the flag that sets it.

use crate::file::{
    CONNECTION_FLAGS, ENGINE_FLAGS, EXPECT_FLAGS, LIMITS_FLAGS, LOAD_FLAGS, REQUEST_FLAGS, RESOLVE_FLAGS,
    STOP_FLAGS, TLS_FLAGS,
};
use crate::packets::FIELDS as OF_FRAMES;

/// A table of a plan as typed: what may stand in it, and how a person gives each of its keys on the command
/// line. A key without a flag is a table of its own.
macro_rules! typed_table {
    (
        $(#[$about:meta])*
        pub struct $File:ident, $FLAGS:ident of $table:literal {
            $($(#[$doc:meta])* $key:ident: $kind:ty $(, $flag:literal)?;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, ::serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $File {
            $($(#[$doc])* pub $key: Option<$kind>,)*
        }

        /// `(path in the TOML file, flag)`, in canonical order.
        pub(crate) const $FLAGS: &[(&str, &str)] =
            &[$($((concat!($table, ".", stringify!($key)), $flag),)?)*];
    };
}
pub(crate) use typed_table;

/// What stands outside all tables.
const OUTSIDE: &[(&str, &str)] = &[
    ("url", "URL"),
    ("file", "FILE"),
    ("order", "--order"),
    ("seed", "--seed"),
    ("requests", "[[requests]]"),
];

/// Of a plan for HTTP: `(path in the TOML file, how a person gives it on the command line)`, in canonical
/// order.
pub const FIELDS: [&[(&str, &str)]; 10] = [
    OUTSIDE,
    LOAD_FLAGS,
    STOP_FLAGS,
    REQUEST_FLAGS,
    EXPECT_FLAGS,
    CONNECTION_FLAGS,
    TLS_FLAGS,
    RESOLVE_FLAGS,
    ENGINE_FLAGS,
    LIMITS_FLAGS,
];

/// The flag for a TOML path. `request.headers[2]` has the flag of `request.headers`; what stands in
/// `[[requests]]` has none.
pub fn flag_of(path: &str) -> Option<&'static str> {
    let stem = path.split('[').next().unwrap_or(path);
    if stem == "requests" && path != stem {
        return None;
    }
    let mut all = FIELDS.into_iter().chain(OF_FRAMES).flatten();
    all.find(|(field, _)| *field == stem).map(|(_, flag)| *flag)
}

/// Paths whose last part is `key`: where a key that was put in the wrong section belongs.
pub fn sections_with(key: &str) -> Option<&'static str> {
    FIELDS.into_iter().flatten().map(|(field, _)| *field).find(|field| field.rsplit('.').next() == Some(key))
}
