//! Rules as people write them.
//!
//! ```text
//! # comment
//! drop from 198.18.0.0/24 proto udp dport 53
//! pass from fd00::/8 to 2001:db8::/32 proto tcp sport 1024-65535
//! drop all
//! default pass      (for packets that no rule matches or can look at; may stand anywhere, once)
//! other   pass      (for frames that are neither IPv4 nor IPv6)
//! ```
//!
//! The parts of a rule may stand in any order, each at most once.

use crate::error::RuleError;
use crate::rule::{Action, Ports, Prefix, Protocol, Rule, Rules};
use std::net::IpAddr;

const RULE: &str = "'pass' or 'drop', then 'all' or any of 'from PREFIX', 'to PREFIX', 'proto NAME', 'sport PORTS', 'dport PORTS'";

/// What was wrong, and what would be right.
type Problem = (String, String);

fn problem<T>(problem: impl Into<String>, expected: impl Into<String>) -> Result<T, Problem> {
    Err((problem.into(), expected.into()))
}

impl Rules {
    /// Reads rules; `file` is the name that errors begin with.
    ///
    /// # Errors
    /// The first line that is wrong, and what would be right.
    pub fn parse(text: &str, file: &str) -> Result<Self, RuleError> {
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            reader.line(index + 1, line).map_err(|(problem, expected)| RuleError {
                file: file.to_owned(),
                line: index + 1,
                problem,
                expected,
            })?;
        }
        Ok(reader.rules)
    }
}

#[derive(Default)]
struct Reader {
    rules: Rules,
    default_at: Option<usize>,
    other_at: Option<usize>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        match words.next() {
            None => Ok(()),
            Some(word @ "default") => {
                self.rules.default = only_action(word, words)?;
                once(word, &mut self.default_at, number)
            }
            Some(word @ "other") => {
                self.rules.other = only_action(word, words)?;
                once(word, &mut self.other_at, number)
            }
            Some(word) => self.rule(number, action(word)?, words),
        }
    }

    fn rule<'a>(
        &mut self,
        number: usize,
        action: Action,
        words: impl Iterator<Item = &'a str>,
    ) -> Result<(), Problem> {
        if self.rules.rules.len() >= Rules::MOST {
            return problem(
                format!("is rule number {}", Rules::MOST + 1),
                format!("at most {}", Rules::MOST),
            );
        }
        self.rules.rules.push(rule(action, words)?);
        self.rules.lines.push(number as u32);
        Ok(())
    }
}

fn once(word: &str, at: &mut Option<usize>, number: usize) -> Result<(), Problem> {
    match at.replace(number) {
        None => Ok(()),
        Some(first) => problem(format!("'{word}' is already in line {first}"), "it once"),
    }
}

fn action(word: &str) -> Result<Action, Problem> {
    match word {
        "pass" => Ok(Action::Pass),
        "drop" => Ok(Action::Drop),
        _ => problem(format!("'{}' is not an action", shown(word)), RULE),
    }
}

fn only_action<'a>(what: &str, mut words: impl Iterator<Item = &'a str>) -> Result<Action, Problem> {
    match (words.next(), words.next()) {
        (Some("pass"), None) => Ok(Action::Pass),
        (Some("drop"), None) => Ok(Action::Drop),
        _ => problem(format!("'{what}' has one word after it"), format!("'{what} pass' or '{what} drop'")),
    }
}

fn rule<'a>(action: Action, words: impl Iterator<Item = &'a str>) -> Result<Rule, Problem> {
    let mut rule = Rule { action, ..Rule::default() };
    let mut words = words.peekable();
    let mut seen: Vec<&str> = Vec::new();
    if words.peek().is_none() {
        return problem(format!("'{action}' has no condition"), format!("'{action} all' if all are meant"));
    }
    while let Some(word) = words.next() {
        if seen.contains(&word) {
            return problem(format!("'{}' stands twice", shown(word)), "it once");
        }
        seen.push(word);
        if word == "all" {
            continue;
        }
        let value = |words: &mut std::iter::Peekable<_>, expected: &str| match Iterator::next(words) {
            Some(value) => Ok(value),
            None => problem(format!("nothing stands after '{word}'"), format!("'{word} {expected}'")),
        };
        match word {
            "from" => rule.from = prefix(value(&mut words, PREFIX)?)?,
            "to" => rule.to = prefix(value(&mut words, PREFIX)?)?,
            "proto" => rule.protocol = protocol(value(&mut words, "udp")?)?,
            "sport" => rule.sport = ports(value(&mut words, "53")?)?,
            "dport" => rule.dport = ports(value(&mut words, "53")?)?,
            _ => return problem(format!("'{}' is not part of a rule", shown(word)), RULE),
        }
    }
    if seen.contains(&"all") && seen.len() > 1 {
        return problem("'all' and a condition contradict each other", "one of them");
    }
    check(&rule, seen.contains(&"sport") || seen.contains(&"dport"))?;
    Ok(rule)
}

/// What must hold between the parts.
fn check(rule: &Rule, names_ports: bool) -> Result<(), Problem> {
    if let (Some(from), Some(to)) = (rule.from, rule.to)
        && from.is_ipv4() != to.is_ipv4()
    {
        return problem(
            format!("{from} and {to} are never in one packet"),
            "two IPv4 prefixes or two IPv6 prefixes",
        );
    }
    match rule.protocol {
        Some(protocol) if names_ports && !protocol.has_ports() => {
            problem(format!("{protocol} has no ports"), "'proto tcp', udp, sctp, dccp or udplite")
        }
        None if names_ports => problem(
            "ports without a protocol",
            "'proto tcp' or 'proto udp' (or sctp, dccp, udplite) next to them",
        ),
        _ => Ok(()),
    }
}

const PREFIX: &str = "198.18.0.0/24, fd00::/8 or any";

fn prefix(word: &str) -> Result<Option<Prefix>, Problem> {
    if word == "any" {
        return Ok(None);
    }
    let (address, length) = match word.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (word, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return problem(format!("'{}' is no address", shown(word)), PREFIX);
    };
    let widest: u8 = if address.is_ipv4() { 32 } else { 128 };
    let length = match length.map(number::<u8>) {
        None => widest,
        Some(Some(length)) if length <= widest => length,
        Some(_) => {
            return problem(
                format!("'{}' has no valid length", shown(word)),
                format!("a length from 0 to {widest}, as in {PREFIX}"),
            );
        }
    };
    match Prefix::new(address, length) {
        Some(prefix) => Ok(Some(prefix)),
        None => problem(
            format!("'{word}' has bits beyond its length"),
            format!("{} or {address}", Prefix::around(address, length)),
        ),
    }
}

fn protocol(word: &str) -> Result<Option<Protocol>, Problem> {
    if word == "any" {
        return Ok(None);
    }
    let named = Protocol::NAMES.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    match named.or_else(|| number::<u8>(word)) {
        Some(protocol) => Ok(Some(Protocol(protocol))),
        None => {
            let names: Vec<&str> = Protocol::NAMES.iter().map(|(name, _)| *name).collect();
            problem(
                format!("'{}' is not a protocol", shown(word)),
                format!("a number from 0 to 255, or one of {}", names.join(", ")),
            )
        }
    }
}

fn ports(word: &str) -> Result<Option<Ports>, Problem> {
    const EXPECTED: &str = "a port from 0 to 65535 or a range such as 1024-2047";
    if word == "any" {
        return Ok(None);
    }
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    match (number::<u16>(first), number::<u16>(last)) {
        (Some(first), Some(last)) if first <= last => {
            Ok(Some(Ports { first, last }).filter(|ports| !ports.are_all()))
        }
        (Some(first), Some(last)) => problem(format!("'{word}' runs backwards"), format!("{last}-{first}")),
        _ => problem(format!("'{}' is no port", shown(word)), EXPECTED),
    }
}

/// Digits only: no sign, no blanks.
fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    let plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| word.parse().ok()).flatten()
}

/// What was typed, cut and harmless.
fn shown(word: &str) -> String {
    let mut text: String = word.chars().take(40).flat_map(char::escape_debug).collect();
    if word.chars().nth(40).is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        Rules::parse(text, "rules.txt").unwrap_err().to_string()
    }

    #[test]
    fn rules_read_as_they_are_written() {
        let text = "# head\n\ndrop from 198.18.0.0/24 proto udp dport 53 # dns\n\
                    pass proto 6 sport 1024-65535 from fd00::/8 to 2001:db8::1\ndrop all\ndefault drop\nother pass\n";
        let rules = Rules::parse(text, "r").unwrap();
        assert_eq!(rules.lines, [3, 4, 5]);
        assert_eq!((rules.default, rules.other), (Action::Drop, Action::Pass));
        let words: Vec<String> = rules.rules.iter().map(ToString::to_string).collect();
        assert_eq!(
            words,
            [
                "drop from 198.18.0.0/24 proto udp dport 53",
                "pass from fd00::/8 to 2001:db8::1/128 proto tcp sport 1024-65535",
                "drop all"
            ]
        );
    }

    #[test]
    fn an_error_names_its_line_and_says_what_would_be_right() {
        let six = "drop all\n".repeat(6);
        assert_eq!(
            error(&format!("{six}drop from 198.18.0.5/24")),
            "rules.txt:7: '198.18.0.5/24' has bits beyond its length, write 198.18.0.0/24 or 198.18.0.5"
        );
        assert_eq!(
            error("drop dport 53"),
            "rules.txt:1: ports without a protocol, write 'proto tcp' or 'proto udp' (or sctp, dccp, udplite) next to them"
        );
        assert_eq!(error("drop proto udp dport 9-7"), "rules.txt:1: '9-7' runs backwards, write 7-9");
        for (text, part) in [
            ("block all", "'block' is not an action"),
            ("drop", "'drop' has no condition"),
            ("drop from", "nothing stands after 'from'"),
            ("drop from 1.2.3", "is no address"),
            ("drop from 1.2.3.4/33", "a length from 0 to 32"),
            ("drop from fd00::/129", "a length from 0 to 128"),
            ("drop from 1.2.3.4/+8", "a length from 0 to 32"),
            ("drop from 1.2.3.4 from 1.2.3.4", "'from' stands twice"),
            ("drop from 1.2.3.4 to fd00::1", "are never in one packet"),
            ("drop proto foo", "'foo' is not a protocol"),
            ("drop proto 256", "'256' is not a protocol"),
            ("drop proto icmp dport 5", "icmp has no ports"),
            ("drop proto udp dport 65536", "'65536' is no port"),
            ("drop all proto udp", "contradict each other"),
            ("default drop\ndefault drop", "rules.txt:2: 'default' is already in line 1"),
            ("default maybe", "'default pass' or 'default drop'"),
            ("drop everything", "'everything' is not part of a rule"),
        ] {
            assert!(error(text).contains(part), "{text}: {}", error(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_what_is_read_prints_back(text in "[a-z0-9:./# \n-]{0,200}") {
            if let Ok(rules) = Rules::parse(&text, "f") {
                let again = Rules::parse(&rules.to_string(), "f").unwrap();
                prop_assert_eq!(again.rules, rules.rules);
            }
        }
    }
}
