//! What waits for the end of a run, packed: as the JSON that it may become there, compressed.

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::BufReader;

/// Things that are packed together. Even, so that pairs are of one pack.
pub(crate) const PACK: usize = 64;

pub(crate) fn pack<T: Serialize>(things: &[T]) -> Box<[u8]> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut packer, things).expect("memory takes everything");
    packer.finish().expect("memory takes every byte").into_boxed_slice()
}

/// What [`pack`] packed.
pub(crate) fn unpack<T: DeserializeOwned>(pack: &[u8]) -> Vec<T> {
    serde_json::from_reader(BufReader::new(ZlibDecoder::new(pack))).expect("what was packed here is whole")
}
