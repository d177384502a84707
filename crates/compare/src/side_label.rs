//! What a side is called.

/// A, B … Z, and then numbers.
pub fn side_label(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at @ 0..26) => char::from(b'A' + at).to_string(),
        _ => format!("side {}", at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_have_letters() {
        let labels = [0, 25, 26].map(side_label);
        assert_eq!(labels, ["A", "Z", "side 27"]);
    }
}
