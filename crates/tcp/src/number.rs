//! Sequence numbers and timestamps: 32 bits that wrap around (RFC 9293 §3.4, RFC 7323 §4.2).

/// a < b modulo 2³²: b is at most 2³¹ − 1 ahead of a. (At a distance of 2³¹ each is before the other.)
pub(crate) const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// a > b modulo 2³².
pub(crate) const fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// How far a is ahead of b; negative if it is behind.
pub(crate) const fn ahead(a: u32, b: u32) -> i64 {
    a.wrapping_sub(b) as i32 as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_across_the_wrap() {
        assert!(before(0xffff_ffff, 0) && after(0, 0xffff_ffff));
        assert!(before(0x7fff_ffff, 0x8000_0000) && !before(5, 5) && !after(5, 5));
        assert_eq!((ahead(3, 0xffff_fffe), ahead(0xffff_fffe, 3)), (5, -5));
    }
}
