//! Whatever stands in `latency.hlog`, its reader ends, and every histogram that it gives is one. The input is
//! read twice: as the file, and as the bytes of one histogram in it (mutations of compressed text rarely get
//! that far).

#![no_main]

use base64::Engine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    check(input);
    let encoded = base64::engine::general_purpose::STANDARD.encode(input);
    check(format!("Tag=latency,0.000,1.000,1.000,{encoded}\n").as_bytes());
});

fn check(text: &[u8]) {
    for entry in store::HlogReader::new(text) {
        let histogram = entry.histogram;
        let counted: u128 = histogram.iter_recorded().map(|bucket| u128::from(bucket.count_at_value())).sum();
        // Counters stay at their largest rather than overflow.
        assert!(counted >= u128::from(histogram.len()));
        assert!(histogram.value_at_quantile(0.5) <= histogram.max());
    }
}
