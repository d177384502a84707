//! Files that are compressed by gzip or zstd, known by their first bytes, are unpacked as they are read.

use std::io::{self, Cursor, Read};

/// RFC 1952 §2.3.1 and RFC 8878 §3.1.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What is in `file`, unpacked if it is packed.
///
/// # Errors
/// It cannot be read.
pub(super) fn unpack(mut file: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let (is_gzip, is_zstd) = (head.starts_with(&GZIP), head.starts_with(&ZSTD));
    let whole = Cursor::new(head).chain(file);
    Ok(match (is_gzip, is_zstd) {
        // Of several parts one after another, too, as pigz and cat make them.
        (true, _) => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        (_, true) => Box::new(zstd::stream::read::Decoder::new(whole)?),
        _ => Box::new(whole),
    })
}
