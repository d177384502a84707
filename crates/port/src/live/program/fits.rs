//! What a program can make of a template, before it is written.

use super::{MOST_STREAMS, Obstacle, cannot};
use wire::template::Stream;

/// # Errors
/// The first thing of these streams that a program cannot make.
pub(super) fn check(streams: &[Stream]) -> Result<(), Obstacle> {
    if streams.is_empty() || streams.len() > MOST_STREAMS {
        return Err(cannot(format!("{} streams; the program makes 1 to {MOST_STREAMS}", streams.len())));
    }
    let shortest =
        streams.iter().flat_map(Stream::shapes).map(|shape| usize::from(shape.length)).min().unwrap_or(0);
    if shortest < 14 {
        return Err(cannot(format!("a frame of {shortest} bytes has no Ethernet header")));
    }
    match streams.iter().all(Stream::is_plain) {
        true => Ok(()),
        false => Err(cannot("tunnels and wrong checksums if frames differ; use packet: or xdp:")),
    }
}
