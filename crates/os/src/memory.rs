//! Memory that stays where it is, and memory that goes back.

/// Keeps this process's memory from being swapped out, once it was touched.
///
/// # Errors
/// The limit on locked memory.
pub fn keep() -> std::io::Result<()> {
    // SAFETY: mlockall takes flags alone and changes no memory of this program.
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// From this size on a block is mapped by itself.
const LARGE: libc::c_int = 64 << 10;

/// Large blocks go back to the system as soon as they are free, from now on.
///
/// glibc's malloc begins so, but each large block that is freed raises the size from which on the next are
/// mapped, up to 32 MiB: they come from heaps then, and leave holes there when they go. Whoever makes
/// pictures of 100 KiB each second holds 40 MiB after an hour, of which little is in use. Setting the size
/// fixes it (mallopt(3)).
pub fn return_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two integers, and may be called at any time by any thread.
    unsafe {
        // It fails for sizes beyond the largest alone.
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    /// Whether a block is mapped by itself: then only its header of 16 bytes is in front of it in its first
    /// page.
    fn is_mapped(block: &[u8]) -> bool {
        block.as_ptr() as usize % 4_096 == 16
    }

    #[test]
    fn large_blocks_are_mapped_whatever_was_freed_before() {
        return_large_blocks();
        // This would raise the size to 4 MiB.
        drop(std::hint::black_box(vec![1_u8; 4 << 20]));
        // Some may find room in what a heap has free already.
        let blocks: Vec<Vec<u8>> = (0..32).map(|_| vec![1; 1 << 20]).collect();
        assert!(blocks.iter().filter(|block| is_mapped(block)).count() > 16);
        let small: Vec<Vec<u8>> = (0..32).map(|_| vec![1; 1 << 10]).collect();
        assert!(small.iter().filter(|block| is_mapped(block)).count() < 16);
    }
}
