//! Floating-point numbers in JSON: whole ones without `.0`, at most nine decimals, and `null` for what is no
//! number.

use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    let rounded = (value * 1e9).round() / 1e9;
    // Beyond 2⁵³ every f64 is whole but not every whole number is an f64.
    match rounded {
        r if !r.is_finite() && value.is_finite() => to.serialize_f64(*value),
        r if !r.is_finite() => to.serialize_none(),
        r if r.fract() == 0.0 && r.abs() < 9e15 => to.serialize_i64(r as i64),
        r => to.serialize_f64(r),
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The same for figures that may be absent.
pub mod option {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::serialize(value, to),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        Option::<f64>::deserialize(from)
    }
}

/// Of a count that is left out where there is none.
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Of what is left out where it is not so.
pub fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct One(#[serde(with = "super")] f64);

    #[test]
    fn whole_numbers_stay_whole_and_no_number_is_null() {
        for (value, text) in [
            (812.0, "812"),
            (0.0, "0"),
            (-2.0, "-2"),
            (0.1 + 0.2, "0.3"),
            (19_999.75, "19999.75"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(serde_json::to_string(&One(value)).unwrap(), text);
        }
        assert!(serde_json::from_str::<One>("null").unwrap().0.is_nan());
        assert_eq!(serde_json::from_str::<One>("7").unwrap().0, 7.0);
    }
}
