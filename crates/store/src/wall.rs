//! Wall-clock times as text: RFC 3339 in UTC. Only for names and labels; nothing is measured with it.

use std::time::{SystemTime, UNIX_EPOCH};

/// `2026-11-20T12:00:00Z`, to the second below.
pub fn rfc3339(at: SystemTime) -> String {
    let [year, month, day, hour, minute, second] = fields(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `2026-11-20T12-00-00Z`: the same, fit for a file name anywhere.
pub fn for_a_name(at: SystemTime) -> String {
    rfc3339(at).replace(':', "-")
}

/// Year, month, day, hour, minute, second. Times before 1970 count as 1970.
fn fields(at: SystemTime) -> [u64; 6] {
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    // Gregorian date from days since 1970-01-01, with years that begin on 1 March, so that the leap day is
    // the last of its year (Richards 2013, "Calendars", in the Explanatory Supplement, §15.11).
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    [year, month, day, second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates() {
        // Expected: GNU `date -u -d @N +%FT%TZ`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_795_176_000, "2026-11-20T12:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(for_a_name(UNIX_EPOCH), "1970-01-01T00-00-00Z");
    }
}
