//! InfluxDB line protocol: `measurement,tag=value field=1i,other="text" 1795176000000000000`.
//!
//! | where | escaped by a backslash |
//! |---|---|
//! | measurement | comma, space |
//! | tag key, tag value, field key | comma, `=`, space |
//! | text field | `"`, `\` |
//!
//! A tag can hold no line end and end in no backslash, and can not be empty: line ends become spaces, the
//! backslash goes, and an empty tag is left out. Source: InfluxDB 1.8 reference, "line protocol".

use std::fmt::Write;

/// Points, one a line.
#[derive(Default)]
pub struct Lines(String);

impl Lines {
    /// Begins a point; it is complete once its time is given.
    pub fn point(&mut self, measurement: &str, tags: &[(&str, &str)]) -> Point<'_> {
        escape(&mut self.0, measurement, ", ");
        for (key, value) in tags {
            let value = value.replace(['\n', '\r'], " ");
            let value = value.trim_end_matches('\\');
            if !value.is_empty() {
                self.0.push(',');
                escape(&mut self.0, key, ",= ");
                self.0.push('=');
                escape(&mut self.0, value, ",= ");
            }
        }
        Point { text: &mut self.0, fields: 0 }
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}

/// A point whose fields are being written. A field without a value, or with one that is no number, is left out.
#[must_use = "a point needs its time"]
pub struct Point<'a> {
    text: &'a mut String,
    fields: usize,
}

impl Point<'_> {
    fn key(&mut self, key: &str) {
        self.text.push(if self.fields == 0 { ' ' } else { ',' });
        escape(self.text, key, ",= ");
        self.text.push('=');
        self.fields += 1;
    }

    /// A whole number. What is beyond the largest that there is (2⁶³ − 1) is kept as that.
    pub fn count(mut self, key: &str, value: Option<u64>) -> Self {
        if let Some(value) = value {
            self.key(key);
            push(self.text, format_args!("{}i", value.min(i64::MAX as u64)));
        }
        self
    }

    pub fn number(mut self, key: &str, value: Option<f64>) -> Self {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.key(key);
            push(self.text, format_args!("{value}"));
        }
        self
    }

    pub fn text_field(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        self.text.push('"');
        escape(self.text, value, "\"\\");
        self.text.push('"');
        self
    }

    /// Nanoseconds since 1970.
    pub fn at(self, unix_ns: u64) {
        debug_assert!(self.fields > 0, "a point has a field");
        push(self.text, format_args!(" {unix_ns}\n"));
    }

    /// When the server gets it.
    pub fn now(self) {
        self.text.push('\n');
    }
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a String takes all that is written");
}

fn escape(into: &mut String, text: &str, which: &str) {
    for c in text.chars() {
        if which.contains(c) {
            into.push('\\');
        }
        into.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of InfluxDB's own reference ("Special characters").
    #[test]
    fn escaped_as_the_reference_does() {
        let mut lines = Lines::default();
        lines.point("wea,ther", &[("loc, ation", "us=mid west")]).number("temp=rature", Some(82.0)).at(1);
        lines
            .point("weather", &[])
            .text_field("humor", r#"a "quote", a \ and, = "#)
            .count("n", Some(3))
            .now();
        let expected = concat!(
            r"wea\,ther,loc\,\ ation=us\=mid\ west temp\=rature=82 1",
            "\n",
            r#"weather humor="a \"quote\", a \\ and, = ",n=3i"#,
            "\n",
        );
        assert_eq!(lines.text(), expected);
    }

    #[test]
    fn what_a_tag_can_not_hold() {
        let mut lines = Lines::default();
        lines.point("m", &[("a", ""), ("b", "two\nlines\\")]).count("n", Some(u64::MAX)).at(0);
        assert_eq!(lines.text(), "m,b=two\\ lines n=9223372036854775807i 0\n");
    }

    #[test]
    fn fields_without_a_value_are_left_out() {
        let mut lines = Lines::default();
        let point = lines.point("m", &[]).count("a", None).number("b", Some(f64::NAN));
        point.number("c", Some(0.5)).number("d", Some(f64::INFINITY)).at(7);
        assert_eq!(lines.text(), "m c=0.5 7\n");
    }
}
