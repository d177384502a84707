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

/// The text without what stands behind a word that announces a credential, line by line: a report is a thing to
/// send around.
pub fn without_secrets(text: &str) -> String {
    const ANNOUNCERS: [&str; 7] =
        ["authorization", "cookie", "basic_auth", "basic-auth", "api-key", "api_key", "password"];
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        let lower = line.to_ascii_lowercase();
        let at = ANNOUNCERS.iter().filter_map(|word| lower.find(word).map(|at| at + word.len())).min();
        match at {
            Some(at) => {
                shown.push_str(&line[..at]);
                shown.push_str(" … (not shown in a report)\n");
            }
            None => {
                shown.push_str(line);
                shown.push('\n');
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_all_that_html_gives_a_meaning() {
        assert_eq!(escape("<a b=\"c\">&'\u{1b}["), "&lt;a b=&quot;c&quot;&gt;&amp;&#39; [");
    }

    #[test]
    fn secrets_stay_in_the_plan() {
        let plan =
            "basic_auth = \"me:secret\"\nmethod = \"GET\"\nheaders = [\"Authorization: Bearer secret\"]\n";
        let shown = without_secrets(plan);
        assert!(!shown.contains("secret") && shown.contains("method = \"GET\""), "{shown}");
    }
}
