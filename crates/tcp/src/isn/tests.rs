use super::*;
use core::net::Ipv4Addr;

const KEY: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];

#[test]
fn the_hash_is_that_of_its_authors() {
    // The paper's appendix A: key 00 01 … 0f, message 00 01 … 0e.
    let message: [u8; 15] = core::array::from_fn(|at| at as u8);
    assert_eq!(siphash(KEY, &message), 0xa129_ca61_49be_45e5);
    // The reference implementation's first vector: the empty message.
    assert_eq!(siphash(KEY, &[]), 0x726f_db47_dd0e_0e31);
}

fn pair(port: u16) -> Pair {
    let address = |last| IpAddr::V4(Ipv4Addr::new(198, 18, 0, last));
    Pair { local: (address(1), port), remote: (address(2), 80) }
}

#[test]
fn numbers_of_a_pair_grow_by_one_each_4_us() {
    let secret = Secret::new(KEY);
    let first = isn(&secret, &pair(1024), Time::from_micros(0));
    assert_eq!(isn(&secret, &pair(1024), Time::from_micros(3)), first);
    assert_eq!(isn(&secret, &pair(1024), Time::from_micros(4_000_003)), first.wrapping_add(1_000_000));
}

#[test]
fn another_pair_and_another_secret_have_other_numbers() {
    let now = Time::from_micros(1);
    let mine = isn(&Secret::new(KEY), &pair(1024), now);
    assert_ne!(mine, isn(&Secret::new(KEY), &pair(1025), now));
    assert_ne!(mine, isn(&Secret::new([1, 2]), &pair(1024), now));
}
