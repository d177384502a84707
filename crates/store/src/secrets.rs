//! What a plan and a command line say without what only its owner should know: results and reports are things
//! to send around. `plan.toml` alone is complete, and only its owner can read it.
//!
//! Hidden are the user of basic auth, user information and telling parameters of URLs, values of telling
//! headers, and request bodies.

use std::fmt::Write;

/// What stands where something is hidden.
pub const HIDDEN: &str = "***";

/// Names with one of these in them are of secrets.
const PARTS: [&str; 14] = [
    "auth",
    "token",
    "key",
    "secret",
    "cookie",
    "session",
    "passw",
    "passphrase",
    "signature",
    "credential",
    "bearer",
    "jwt",
    "csrf",
    "xsrf",
];
/// Names that are of secrets as a whole.
const WHOLE: [&str; 6] = ["pass", "pw", "pwd", "sid", "sig", "pin"];

/// Whether a header, parameter or key of this name has a value that others should not see.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    WHOLE.contains(&name.as_str()) || PARTS.iter().any(|part| name.contains(part))
}

/// The text with passwords and telling parameters of the URLs in it hidden.
pub fn in_urls(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        match word.contains("://") {
            true => in_parameters(&in_authorities(word), &mut shown),
            false => shown.push_str(word),
        }
    }
    shown
}

/// `http://user:password@host` → `http://user:***@host`; a URL may be a parameter of another.
fn in_authorities(word: &str) -> String {
    let mut shown = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find("://") {
        let (scheme, after) = rest.split_at(at + 3);
        shown.push_str(scheme);
        let authority = after.find(['/', '?', '#']).unwrap_or(after.len());
        rest = after;
        if let Some(at) = after[..authority].rfind('@') {
            if let Some((user, _)) = after[..at].split_once(':') {
                shown.push_str(user);
                shown.push(':');
            }
            shown.push_str(HIDDEN);
            rest = &after[at..];
        }
    }
    shown + rest
}

/// `?token=abc&x=1` → `?token=***&x=1`
fn in_parameters(word: &str, shown: &mut String) {
    let mut rest = word;
    while let Some(at) = rest.find(['?', '&']) {
        let (before, pair) = rest.split_at(at + 1);
        shown.push_str(before);
        rest = pair;
        let name = &pair[..pair.find(['=', '?', '&', '#', '/']).unwrap_or(pair.len())];
        if is_secret_name(name) && pair[name.len()..].starts_with('=') {
            shown.push_str(name);
            shown.push('=');
            shown.push_str(HIDDEN);
            let value = &pair[name.len() + 1..];
            rest = &value
                [value.find(|c: char| c == '&' || c == '#' || c.is_whitespace()).unwrap_or(value.len())..];
        }
    }
    shown.push_str(rest);
}

/// `Name: value`, the value hidden if the name says so.
pub fn in_header(header: &str) -> String {
    match header.split_once(':') {
        Some((name, _)) if is_secret_name(name) => format!("{name}: {HIDDEN}"),
        _ => in_urls(header),
    }
}

/// The words of a command for people, the program first; quoted for a shell. Options of `tare http` that carry
/// secrets are known; what a word after `--to` may show is for its own kind to say.
pub fn in_command(words: &[String]) -> String {
    let mut shown = String::new();
    let mut before = "";
    // There -d is a gap in nanoseconds, and no body.
    let has_gaps = words.get(1).is_some_and(|command| GAPS.contains(&command.as_str()));
    for word in words {
        let safe = if has_gaps && is_gap(before, word) { word.clone() } else { in_word(before, word) };
        let is_plain = !safe.contains(|c: char| " \t\n'\"$&|;<>()*?{}\\`#~!".contains(c)) && !safe.is_empty();
        let gap = if shown.is_empty() { "" } else { " " };
        // Writing to a String does not fail.
        let _ = match is_plain {
            true => write!(shown, "{gap}{safe}"),
            false => write!(shown, "{gap}'{}'", safe.replace('\'', "'\\''")),
        };
        before = word;
    }
    shown
}

/// Options whose values are hidden whole.
const HIDING: [&str; 6] = ["--user", "--live-token", "-u", "--body", "--data", "-d"];

/// Commands of which -d is a gap.
const GAPS: [&str; 3] = ["send", "pace", "gaps"];

/// `-d 13560`, `-d13560`.
fn is_gap(before: &str, word: &str) -> bool {
    let value = if before == "-d" { Some(word) } else { word.strip_prefix("-d") };
    value.is_some_and(|value| !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

fn in_word(before: &str, word: &str) -> String {
    // Short flags without a value may stand before one that has one: -ku name:password.
    let is_of = |option: &str| match option.strip_prefix("--") {
        Some(_) => before == option,
        None => is_short(before) && before.ends_with(&option[1..]),
    };
    if HIDING.iter().any(|option| is_of(option)) {
        return hidden_value(word);
    }
    if before == "--proxy" {
        return in_address(word);
    }
    if is_of("-H") || before == "--header" {
        return in_header(word);
    }
    if let Some((option, value)) = word.split_once('=').filter(|(option, _)| option.starts_with("--")) {
        return match option {
            "--header" => format!("{option}={}", in_header(value)),
            "--proxy" => format!("{option}={}", in_address(value)),
            _ if HIDING.contains(&option) => format!("{option}={}", hidden_value(value)),
            _ => in_urls(word),
        };
    }
    // -uNAME:PASSWORD, -H'Name: value', -d'body'
    let value_at = word.find(['u', 'd', 'H']).filter(|at| is_short(&word[..=*at]) && word.len() > at + 1);
    match value_at {
        Some(at) if word.as_bytes()[at] == b'H' => format!("{}{}", &word[..=at], in_header(&word[at + 1..])),
        Some(at) => format!("{}{}", &word[..=at], hidden_value(&word[at + 1..])),
        None => in_urls(word),
    }
}

/// `user:password@host:port`, with or without a scheme.
fn in_address(value: &str) -> String {
    match value.contains("://") {
        true => in_urls(value),
        false => in_urls(&format!("http://{value}")).split_off("http://".len()),
    }
}

/// A value that names a file is none itself.
fn hidden_value(value: &str) -> String {
    if value.starts_with('@') { value.to_owned() } else { HIDDEN.to_owned() }
}

/// One dash and letters of which all but the last are flags without a value.
fn is_short(word: &str) -> bool {
    let Some(letters) = word.strip_prefix('-') else { return false };
    let flags = letters.len().saturating_sub(1);
    letters.is_ascii() && !letters.is_empty() && letters[..flags].bytes().all(|flag| b"46kq".contains(&flag))
}

/// The text of a plan without its secrets; all else of it, comments too, as it is.
pub fn in_plan(plan: &str) -> String {
    let mut shown = String::with_capacity(plan.len());
    Scan::of(plan).for_each(|piece| match piece {
        Piece::Other(text) => shown.push_str(text),
        Piece::Value { key, quotes, text } => {
            shown.push_str(quotes);
            shown.push_str(&shown_value(key, text));
            shown.push_str(quotes);
        }
    });
    shown
}

fn shown_value(key: &str, text: &str) -> String {
    match key.rsplit('.').next().unwrap_or(key) {
        "user" | "basic_auth" | "body" if !text.is_empty() => HIDDEN.to_owned(),
        "headers" => in_header(text),
        // [tls] names the file with the client's key.
        "key" => text.to_owned(),
        other if is_secret_name(other) => HIDDEN.to_owned(),
        _ => in_urls(text),
    }
}

/// Files that the plan names by paths which depend on the folder one is in, in the plan's order.
pub fn relative_files(plan: &str) -> Vec<String> {
    const KEYS: [&str; 8] = ["file", "body_file", "body_stream", "at", "ca", "cert", "key", "unix"];
    let mut files = Vec::new();
    Scan::of(plan).for_each(|piece| {
        if let Piece::Value { key, text, .. } = piece
            && KEYS.contains(&key.rsplit('.').next().unwrap_or(key))
            && !text.is_empty()
            && !text.starts_with('/')
        {
            files.push(text.to_owned());
        }
    });
    files
}

/// A part of a TOML text.
enum Piece<'a> {
    Other(&'a str),
    /// What stands between the quotes of a string, and the key that it belongs to, as both are written.
    Value {
        key: &'a str,
        quotes: &'a str,
        text: &'a str,
    },
}

/// TOML as far as strings, keys and comments go; of what is no TOML at least nothing is lost.
struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    fn of(rest: &'a str) -> Self {
        Self { rest }
    }

    fn for_each(mut self, mut take: impl FnMut(Piece<'a>)) {
        let mut key = "";
        while let Some(at) = self.rest.find(['"', '\'', '#', '=']) {
            let (before, from) = self.rest.split_at(at);
            take(Piece::Other(before));
            match from.as_bytes()[0] {
                b'=' => {
                    if let Some(bare) = last_word(before) {
                        key = bare;
                    }
                    take(Piece::Other("="));
                    self.rest = &from[1..];
                }
                b'#' => {
                    let (comment, rest) = from.split_at(from.find('\n').unwrap_or(from.len()));
                    take(Piece::Other(comment));
                    self.rest = rest;
                }
                _ => key = self.string(from, key, &mut take),
            }
        }
        take(Piece::Other(self.rest));
    }

    /// A string, and which key is the one of the next value.
    fn string(&mut self, from: &'a str, key: &'a str, take: &mut impl FnMut(Piece<'a>)) -> &'a str {
        let quote = &from[..1];
        let is_long = from[1..].starts_with(quote) && from[2..].starts_with(quote);
        let quotes = if is_long { &from[..3] } else { quote };
        let inside = &from[quotes.len()..];
        let end = end_of_string(inside, quotes);
        let text = &inside[..end];
        self.rest = inside[end..].strip_prefix(quotes).unwrap_or(&inside[end..]);
        if self.rest.trim_start_matches([' ', '\t']).starts_with('=') {
            [quotes, text, quotes].into_iter().for_each(|part| take(Piece::Other(part)));
            return text;
        }
        take(Piece::Value { key, quotes, text });
        key
    }
}

/// The bare key that ends here.
fn last_word(text: &str) -> Option<&str> {
    let text = text.trim_end_matches([' ', '\t']);
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let word = text.rfind(|c: char| !is_bare(c)).map_or(text, |at| {
        let width = text[at..].chars().next().map_or(1, char::len_utf8);
        &text[at + width..]
    });
    (!word.is_empty()).then_some(word)
}

/// Where the closing quotes are, or the end of the text.
fn end_of_string(inside: &str, quotes: &str) -> usize {
    let has_escapes = quotes.starts_with('"');
    let mut at = 0;
    while at < inside.len() {
        if inside[at..].starts_with(quotes) {
            // Up to two quotes may stand right before the closing ones.
            let more = inside[at + quotes.len()..]
                .bytes()
                .take_while(|b| quotes.len() == 3 && *b == quotes.as_bytes()[0]);
            return at + more.take(2).count();
        }
        let letter = inside[at..].chars().next().map_or(1, char::len_utf8);
        at += letter;
        if has_escapes && inside.as_bytes()[at - letter] == b'\\' {
            at += inside[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    inside.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_show_neither_users_nor_telling_parameters() {
        for (typed, shown) in [
            ("http://bob:Q@h:80/a?x=1", "http://bob:***@h:80/a?x=1"),
            ("https://Q@h", "https://***@h"),
            ("http://bob:Q@Q'Q@h/", "http://bob:***@h/"),
            ("http://h/?a=1&api_key=Q&sig=Q#top", "http://h/?a=1&api_key=***&sig=***#top"),
            ("http://h/?u=http://me:Q@b/&token=Q", "http://h/?u=http://me:***@b/&token=***"),
            ("see http://a:Q@h/ and http://b:Q@i/", "see http://a:***@h/ and http://b:***@i/"),
            ("http://h/a@b", "http://h/a@b"),
            ("no URL: a@b", "no URL: a@b"),
        ] {
            assert_eq!(in_urls(typed), shown);
            assert_eq!(in_urls(shown), shown, "what is hidden stays as it is");
        }
    }

    #[test]
    fn a_gap_is_no_secret() {
        let shown = |words: &str| in_command(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(shown("tare send eth0 -d 13560 -n 9"), "tare send eth0 -d 13560 -n 9");
        assert_eq!(shown("tare gaps a.pcap -d13560.5"), "tare gaps a.pcap -d13560.5");
        assert_eq!(shown("tare http -d 13560"), "tare http -d '***'");
        assert_eq!(shown("tare send eth0 -d Q"), "tare send eth0 -d '***'");
    }

    #[test]
    fn commands_show_no_secret_in_any_spelling() {
        let shown = |words: &str| in_command(&words.split('|').map(str::to_owned).collect::<Vec<_>>());
        for (typed, expected) in [
            ("tare|http|-u|bob:Q|http://h/", "tare http -u '***' http://h/"),
            ("tare|-kqubob:Q|--user=Q|--live-token=Q", "tare '-kqu***' '--user=***' '--live-token=***'"),
            ("tare|-ku|bob:Q", "tare -ku '***'"),
            ("tare|-H|X-Api-Key: Q|-H|Accept: a", "tare -H 'X-Api-Key: ***' -H 'Accept: a'"),
            (
                "tare|-HCookie:Q|--header=X-Amz-Security-Token: Q",
                "tare '-HCookie: ***' '--header=X-Amz-Security-Token: ***'",
            ),
            (
                "tare|-d|{\"p\":\"Q\"}|--body=Q|-dQ|--data|@a.json",
                "tare -d '***' '--body=***' '-d***' --data @a.json",
            ),
            (
                "tare|--duration|10s|--resolve|auth.example:80:::1",
                "tare --duration 10s --resolve auth.example:80:::1",
            ),
            (
                "tare|--proxy|bob:Q@p:3128|--proxy=http://bob:Q@p:3128|--proxy|p:3128",
                "tare --proxy 'bob:***@p:3128' '--proxy=http://bob:***@p:3128' --proxy p:3128",
            ),
            ("tare|-z|1s|http://bob:Q@h/?token=Q", "tare -z 1s 'http://bob:***@h/?token=***'"),
        ] {
            assert_eq!(shown(typed), expected);
        }
    }

    #[test]
    fn a_plan_shows_all_but_its_secrets() {
        let plan = "url = \"http://bob:Q@h/?token=Q\" # a comment with \" in it\nseed = 1\n\n[request]\n\
             headers = [\"Accept: a\",\n  \"Proxy-Authorization: Q\", 'X-Session-Id: Q']\n\
             body = \"\"\"Q\nQ \\\"\"\" Q\"\"\"\nuser = \"bob:\\\"Q\"\n\"user\" = 'Q'\n\
             expect = { status = [\"200\"] }\n[tls]\nkey = \"client.pem\"\n\n\
             [[requests]]\nbody = \"{\\\"p\\\": \\\"Q\\\"}\"\nrequest.body = '''Q\n''Q'''\nname = \"a\"\n";
        let shown = in_plan(plan);
        assert!(!shown.contains('Q'), "{shown}");
        assert_eq!(shown.matches("***").count(), 9, "{shown}");
        for kept in [
            "# a comment with \" in it\nseed = 1\n",
            "\"Accept: a\",\n",
            "[\"200\"]",
            "\"client.pem\"",
            "name = \"a\"\n",
        ] {
            assert!(shown.contains(kept), "{kept} in {shown}");
        }
        let harmless = "url = \"http://h/\"\n[load]\nrate = \"1k/s\"\nbody = \"\"\n";
        assert_eq!(in_plan(harmless), harmless);
        for broken in ["user = \"Q", "user = '''Q\n", "=\"\\", "é = 'a'='"] {
            assert!(!in_plan(broken).contains('Q'), "{broken}");
        }
    }

    #[test]
    fn files_that_depend_on_the_folder_are_told() {
        let plan = "file = \"urls.txt\"\n[request]\nbody_file = \"/tmp/b\"\nbody = \"x\"\n[tls]\nca = \"./ca.pem\"\n";
        assert_eq!(relative_files(plan), ["urls.txt", "./ca.pem"]);
    }
}
