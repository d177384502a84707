//! Counters of rules as a table of the result.

use filter::{Hit, Hits, Rules};
use measure::packets::{Cell, Column, Table};

/// Rules that the table names; all others are one row.
const MOST_ROWS: usize = 200;

/// The busiest rules in the order of the file, then the ends that are no rule.
pub fn rules_table(rules: &Rules, hits: &Hits, gone: Hit) -> Table {
    let column = |name: &str, unit: &str| Column { name: name.to_owned(), unit: unit.to_owned() };
    let mut shown: Vec<usize> = (0..rules.rules.len()).collect();
    if shown.len() > MOST_ROWS {
        shown.sort_by_key(|&index| std::cmp::Reverse(hits.rules()[index].frames));
        shown.truncate(MOST_ROWS);
        shown.sort_unstable();
    }
    let row = |line: Cell, words: String, hit: Hit| {
        vec![line, Cell::Words(words), Cell::Figure(hit.frames as f64), Cell::Figure(hit.bytes as f64)]
    };
    let mut rows: Vec<_> = shown
        .iter()
        .map(|&index| {
            let line = Cell::Words(rules.line(index).to_string());
            row(line, rules.rules[index].to_string(), hits.rules()[index])
        })
        .collect();
    if shown.len() < rules.rules.len() {
        let sum = |hits: &mut dyn Iterator<Item = &Hit>| {
            hits.fold(Hit::default(), |a, b| Hit { frames: a.frames + b.frames, bytes: a.bytes + b.bytes })
        };
        let all = sum(&mut hits.rules().iter());
        let named = sum(&mut shown.iter().map(|&index| &hits.rules()[index]));
        let rest = Hit { frames: all.frames - named.frames, bytes: all.bytes - named.bytes };
        rows.push(row(Cell::Nothing, format!("{} other rules", rules.rules.len() - shown.len()), rest));
    }
    rows.push(row(Cell::Nothing, format!("default {}", rules.default), hits.default()));
    rows.push(row(Cell::Nothing, format!("other {} (neither IPv4 nor IPv6)", rules.other), hits.other()));
    rows.push(row(Cell::Nothing, "malformed (dropped)".to_owned(), hits.malformed()));
    if gone != Hit::default() {
        rows.push(row(Cell::Nothing, "rules that were replaced".to_owned(), gone));
    }
    Table {
        key: "rules".to_owned(),
        title: "Rules".to_owned(),
        columns: vec![
            column("line", ""),
            column("rule", ""),
            column("frames", "count"),
            column("bytes", "bytes"),
        ],
        rows,
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_all_rows_are_all_frames_that_were_decided() {
        let text: String = (0..1_000).map(|n| format!("drop from 10.0.{}.{}\n", n >> 8, n & 255)).collect();
        let rules = Rules::parse(&text, "r").unwrap();
        let hits = Hits::from_rows((0..1_003).map(|frames| Hit { frames, bytes: frames * 60 }).collect());
        let table = rules_table(&rules, &hits, Hit { frames: 7, bytes: 0 });
        assert_eq!(table.rows.len(), 200 + 1 + 3 + 1);
        let frames: f64 =
            table.rows.iter().map(|row| if let Cell::Figure(f) = row[2] { f } else { 0.0 }).sum();
        // 0 + 1 + … + 1002 and the 7 of replaced rules.
        assert_eq!(frames, 502_503.0 + 7.0);
        assert_eq!(table.rows[0][0], Cell::Words("801".to_owned()), "the busiest are the last 200");
    }
}
