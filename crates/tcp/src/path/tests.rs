use super::*;

#[test]
fn round_trip_times_are_smoothed_as_rfc_6298_says() {
    let mut path = Path::v4(1500);
    assert_eq!((path.mss, path.rto_ms(false), path.rto_ms(true)), (1460, 1000, 3000));
    path.sample(80_000);
    // SRTT 80 ms, RTTVAR 40 ms; 4 * 40 < 200: RTO = 80 + 200.
    assert_eq!((path.srtt_us, path.rttvar_us, path.rto_ms(true)), (80_000, 40_000, 280));
    path.sample(400_000);
    // RTTVAR = (3 * 40 + 320) / 4 = 110; SRTT = (7 * 80 + 400) / 8 = 120; RTO = 120 + 440.
    assert_eq!((path.srtt_us, path.rttvar_us, path.rto_ms(false)), (120_000, 110_000, 560));
}

#[test]
fn a_timeout_is_never_less_than_200_ms_nor_more_than_120_s() {
    let mut path = Path::v6(1500);
    assert_eq!((path.mss, path.default_mss), (1440, 1220));
    path.sample(0);
    assert_eq!((path.srtt_us, path.rto_ms(false)), (1, 201));
    for _ in 0..100 {
        path.sample(u32::MAX);
    }
    assert_eq!(path.rto_ms(false), 120_000);
}
