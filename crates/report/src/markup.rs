//! Text as HTML.

/// Escapes text for HTML, in elements and in quoted attributes; control characters become spaces.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push('\n'),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A sentence in which flags (`--cpus`) are code, so that none is broken at its hyphens.
pub fn sentence(text: &str) -> String {
    let word = |word: &str| {
        let is_end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '-';
        match word.find("--") {
            Some(from) if word[..from].chars().all(is_end) && word.len() > from + 2 => {
                let flag = &word[from..];
                let to = from + flag.find(is_end).unwrap_or(flag.len());
                format!(
                    "{}<code>{}</code>{}",
                    escape(&word[..from]),
                    escape(&word[from..to]),
                    escape(&word[to..])
                )
            }
            _ => escape(word),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_all_that_html_gives_a_meaning() {
        assert_eq!(escape("<a b=\"c\">&'\u{1b}["), "&lt;a b=&quot;c&quot;&gt;&amp;&#39; [");
    }

    #[test]
    fn flags_are_code() {
        assert_eq!(
            sentence("pin (with --cpus), or <wait>"),
            "pin (with <code>--cpus</code>), or &lt;wait&gt;"
        );
        assert_eq!(sentence("a -- b, x--y: --rate"), "a -- b, x--y: <code>--rate</code>");
    }
}
