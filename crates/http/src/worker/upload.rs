//! A body that comes from a file, read piece by piece when there is room to send it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The file is read in pieces of this size.
const PIECE: usize = 32 * 1024;

/// See the module. All pieces are read into the same memory.
pub(crate) struct Upload {
    file: Option<Arc<File>>,
    memory: Vec<u8>,
}

impl Upload {
    pub(crate) fn new(file: Option<Arc<File>>) -> Self {
        Self { memory: if file.is_some() { vec![0; PIECE] } else { Vec::new() }, file }
    }

    /// The piece that begins at this byte of the file; empty at its end.
    pub(crate) fn piece(&mut self, at: u64) -> std::io::Result<&[u8]> {
        let length = match &self.file {
            Some(file) => file.read_at(&mut self.memory, at)?,
            None => 0,
        };
        Ok(&self.memory[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_is_read_in_pieces_of_32_kib() {
        let mut file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..40_000u32).map(|n| n as u8).collect();
        file.write_all(&content).unwrap();
        let mut upload = Upload::new(Some(Arc::new(file)));
        assert_eq!(upload.piece(0).unwrap(), &content[..32_768]);
        assert_eq!(upload.piece(32_768).unwrap(), &content[32_768..]);
        assert_eq!(upload.piece(40_000).unwrap(), b"");
    }
}
