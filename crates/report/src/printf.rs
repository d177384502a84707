//! C's `%g` with its default precision: six significant digits, no trailing zeros, `e±XX` outside
//! 10⁻⁴ … 10⁶. Scripts that read http_load's output expect exactly this (C17 §7.21.6.1).

/// `value` as `printf("%g", value)` writes it in the C locale.
///
/// With the exponent X of the value rounded to six digits: `%e` style if X < −4 or X ≥ 6, else
/// `%f` style with 5 − X decimals; then trailing zeros go, and the point with them.
pub fn percent_g(value: f64) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    // Rust's `{:e}` rounds the exact binary value half to even, as glibc does.
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` always writes an e");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a whole exponent");
    if (-4..6).contains(&exponent) {
        let decimals = (5 - exponent) as usize;
        return without_trailing_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.abs())
}

fn without_trailing_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn known_forms() {
        // By hand from the standard's rule.
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (100_000.0, "100000"),
            (999_999.4, "999999"),
            (999_999.5, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (1e100, "1e+100"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(percent_g(value), text);
        }
    }

    /// Independent tool: bash's own `printf %g`, for values over all magnitudes, both signs, and ties.
    #[test]
    fn same_as_bash_printf() {
        let mut values: Vec<f64> = Vec::new();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for i in 0..800 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let mantissa = (state >> 11) as f64 / (1u64 << 53) as f64;
            let magnitude = 10f64.powi(i % 40 - 20);
            values.push(if i % 3 == 0 { -mantissa } else { mantissa } * magnitude);
        }
        values.extend([
            0.5,
            2.5,
            1.5,
            1e5,
            1e6,
            999_999.5,
            999_998.5,
            123_456.5,
            0.000_099_999_95,
            10.0,
            1e-300,
        ]);
        values.extend((0..60).map(|n| f64::from(n) * 1000.0 / 7.0));
        let script = "for v in \"$@\"; do printf '%g\\n' \"$v\"; done";
        let output = Command::new("bash")
            .args(["-c", script, "bash"])
            .args(values.iter().map(|v| format!("{v:.60e}")))
            .env("LC_ALL", "C")
            .output()
            .expect("bash is on every machine that builds this");
        let text = String::from_utf8(output.stdout).unwrap();
        let expected: Vec<&str> = text.lines().collect();
        assert_eq!(expected.len(), values.len());
        for (value, expected) in values.iter().zip(expected) {
            assert_eq!(percent_g(*value), expected, "{value:e}");
        }
    }
}
