//! A body that comes from a file, in chunked pieces (RFC 9112 section 7.1), read when there is room to send them.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The file is read in pieces of this size.
const PIECE: usize = 32 * 1024;
/// Room for a piece's size in hexadecimal, CR and LF.
const HEAD: usize = 10;

/// See the module. The memory for a piece is that of all.
pub(crate) struct Upload {
    file: Option<Arc<File>>,
    memory: Vec<u8>,
}

/// A piece of the body, ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub framed: &'a [u8],
    /// Bytes of the file that it has.
    pub length: u64,
    /// It ends the body.
    pub is_last: bool,
}

impl Upload {
    pub(crate) fn new(file: Option<Arc<File>>) -> Self {
        Self { file, memory: Vec::new() }
    }

    /// The piece that begins at this byte of the file.
    pub(crate) fn next(&mut self, at: u64) -> std::io::Result<Piece<'_>> {
        self.memory.resize(HEAD + PIECE + 2, 0);
        let length = match &self.file {
            Some(file) => file.read_at(&mut self.memory[HEAD..HEAD + PIECE], at)?,
            None => 0,
        };
        if length == 0 {
            return Ok(Piece { framed: b"0\r\n\r\n", length: 0, is_last: true });
        }
        let mut head = [0; HEAD];
        let mut rest = &mut head[..];
        write!(rest, "{length:x}\r\n")?;
        let used = HEAD - rest.len();
        self.memory[HEAD - used..HEAD].copy_from_slice(&head[..used]);
        self.memory[HEAD + length..HEAD + length + 2].copy_from_slice(b"\r\n");
        let framed = &self.memory[HEAD - used..HEAD + length + 2];
        Ok(Piece { framed, length: length as u64, is_last: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_leaves_in_chunks_of_32_kib() {
        let mut file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..40_000u32).map(|n| n as u8).collect();
        file.write_all(&content).unwrap();
        let mut upload = Upload::new(Some(Arc::new(file)));
        // 32 KiB are 8000 in hexadecimal; 40 000 - 32 768 = 7 232 = 1c40.
        let first = [b"8000\r\n", &content[..32_768], b"\r\n"].concat();
        assert_eq!(upload.next(0).unwrap(), Piece { framed: &first, length: 32_768, is_last: false });
        let second = [b"1c40\r\n", &content[32_768..], b"\r\n"].concat();
        assert_eq!(upload.next(32_768).unwrap(), Piece { framed: &second, length: 7_232, is_last: false });
        let last = Piece { framed: b"0\r\n\r\n", length: 0, is_last: true };
        assert_eq!(upload.next(40_000).unwrap(), last);
    }
}
