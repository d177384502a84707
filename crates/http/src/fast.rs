//! The fast path of `--via`: the same requests over the same TCP, for plans whose requests never change.
//!
//! ```text
//!              ┌ launch: due departures, each to an idle lane or a new one ┐
//!   one turn ──┤ transmit: all their frames in one call; that is when they are sent
//!              └ receive: frames where they lie ─► tcp step ─► Http1 ─► outcome ─► recorder
//! ```
//!
//! What the general path does for each connection, this does only for those with a request on their way: a
//! connection that waits is a record and a lane of 32 bytes. Responses are read where the port has put them, by
//! the same protocol ([`Http1`](crate::http1::Http1)), so that they mean the same on both paths. Requests are
//! not kept: each was written before the run, and a segment that has to be sent again is made from it again.
//!
//! | file | its part |
//! |---|---|
//! | `choose` | which plans can go this way, and why not the others |
//! | `lanes` | connections: idle ones by target, requests on their way by deadline |
//! | `desk` | what sessions tell: it reads responses and settles requests |
//! | `turn` | the loop |

pub(crate) mod choose;
mod desk;
mod lanes;
mod turn;

pub(crate) use turn::{Fast, FastParts};

#[cfg(test)]
mod tests;
