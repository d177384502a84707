//! The tables as text: one per case, medians over rounds, and the case's bars below.

use crate::bars::Judged;
use crate::cases::{Case, Column};
use crate::runs::Runs;

/// One case's table.
pub fn case(case: &Case, runs: &Runs, judged: &[Judged]) -> String {
    let mut lines: Vec<Vec<String>> = vec![heads(case)];
    for row in runs.rows(case.name) {
        lines.push(cells(case, runs, row));
    }
    let mut text = format!("\n{}: {}\n{}", case.name, case.title, align(&lines));
    for row in runs.rows(case.name) {
        for note in runs.notes(case.name, row) {
            text += &format!("  {row}: {note}\n");
        }
    }
    for bar in judged.iter().filter(|j| j.case == case.name) {
        text += &format!("  {}\n", bar.line());
    }
    text
}

fn heads(case: &Case) -> Vec<String> {
    std::iter::once("").chain(case.columns.iter().map(|c| c.head)).map(str::to_owned).collect()
}

fn cells(case: &Case, runs: &Runs, row: &str) -> Vec<String> {
    let cell = |column: &Column| match runs.median(case.name, row, column.figure) {
        Some(value) => grouped(value, column.decimals),
        None => "–".to_owned(),
    };
    std::iter::once(row.to_owned()).chain(case.columns.iter().map(cell)).collect()
}

/// `12 345.6`: digits in groups of three.
fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out += fraction;
    }
    out
}

/// First column to the left, the others to the right.
fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |c: usize| lines.iter().map(|l| l[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        text += &format!("  {:<w$}", line[0], w = widths[0]);
        for (cell, w) in line.iter().zip(&widths).skip(1) {
            text += &format!("  {cell:>w$}");
        }
        text = text.trim_end().to_owned() + "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(1_234_567.891, 1), "1 234 567.9");
        assert_eq!(grouped(999.0, 0), "999");
        assert_eq!(grouped(-1000.5, 1), "-1 000.5");
    }

    #[test]
    fn columns_line_up() {
        let lines = [["", "a/s"], ["wrk", "12 345"], ["h2load", "1"]].map(|l| l.map(str::to_owned).to_vec());
        assert_eq!(align(&lines), "             a/s\n  wrk     12 345\n  h2load       1\n");
    }
}
