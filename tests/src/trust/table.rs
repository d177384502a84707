//! Outcomes of many runs as a table, and whether they hold the bars.

use super::{Case, Finding, Outcome};
use std::fmt::Write;

/// Clean runs may be doubted, or not recover the truth, in so many of a hundred.
const DOUBTED: f64 = 0.02;
const NOT_RECOVERED: f64 = 0.05;
const WORDS: [&str; 3] = ["VALID", "DEGRADED", "INVALID"];

/// Counts of one name: truth told or off × the three words; those of a noisy machine apart.
#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    clean: bool,
    told: [u64; 3],
    off: [u64; 3],
    noisy: u64,
    noisy_false: u64,
    skipped: u64,
    broken: u64,
    recovered: u64,
    gross: u64,
}

/// See the module.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
    /// What stands below the table: runs that lied, were skipped, or broke.
    notes: Vec<String>,
}

impl Table {
    pub fn add(&mut self, case: &Case, outcome: &Outcome) {
        let index = self.rows.iter().position(|row| row.name == case.name).unwrap_or_else(|| {
            let row = Row { name: case.name.clone(), clean: case.clean, ..Row::default() };
            self.rows.push(row);
            self.rows.len() - 1
        });
        let note = self.rows[index].add(outcome);
        self.notes.extend(note.map(|note| format!("{}, {}: {note}", case.name, case.way)));
    }

    /// Lines for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for clean in [true, false] {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.clean == clean).collect();
            if rows.is_empty() {
                continue;
            }
            let title = if clean { "clean" } else { "sabotaged" };
            let _ = writeln!(text, "{}", head(title, clean));
            rows.iter().for_each(|row| text.push_str(&row.line()));
            text.push_str(&sum(&rows).line());
            text.push('\n');
        }
        self.notes.iter().for_each(|note| text += &format!("{note}\n"));
        text
    }

    /// Each bar, and whether it holds.
    pub fn bars(&self) -> Vec<(String, bool)> {
        let sabotaged = sum(&self.rows.iter().filter(|row| !row.clean).collect::<Vec<_>>());
        let clean = sum(&self.rows.iter().filter(|row| row.clean).collect::<Vec<_>>());
        let quiet = clean.quiet();
        let doubted = quiet - clean.told[0] - clean.off[0];
        let not_recovered = quiet - clean.recovered;
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        vec![
            (
                format!(
                    "{} of {} sabotaged runs are VALID and off (0 allowed)",
                    sabotaged.off[0],
                    sabotaged.quiet()
                ),
                sabotaged.off[0] == 0,
            ),
            (
                format!("{doubted} of {quiet} clean runs are not VALID (2 % allowed)"),
                share(doubted, quiet) <= DOUBTED,
            ),
            (
                format!("{} of {quiet} clean runs tell net to 5 % (95 % wanted)", clean.recovered),
                share(not_recovered, quiet) <= NOT_RECOVERED,
            ),
            (
                format!("{} runs could not be judged", sabotaged.broken + clean.broken),
                sabotaged.broken + clean.broken == 0,
            ),
        ]
    }

    /// A sentence about noise, if there was some.
    pub fn noise(&self) -> Option<String> {
        let all = sum(&self.rows.iter().collect::<Vec<_>>());
        (all.noisy > 0).then(|| {
            format!(
                "The machine was noisy (others had 10 % of a CPU, or 1 % was stolen) in {} of {} runs: \
                 they are counted apart; \
                 {} of them are VALID and off.",
                all.noisy,
                all.noisy + all.quiet(),
                all.noisy_false
            )
        })
    }
}

impl Row {
    /// Counts it; what is worth a line of its own.
    fn add(&mut self, outcome: &Outcome) -> Option<String> {
        match outcome {
            Outcome::Skipped(why) => {
                self.skipped += 1;
                Some(format!("SKIPPED: {why}"))
            }
            Outcome::Broken(why) => {
                self.broken += 1;
                Some(format!("BROKEN: {}", why.lines().next().unwrap_or_default()))
            }
            Outcome::Judged(finding) => self.judge(finding),
        }
    }

    fn judge(&mut self, finding: &Finding) -> Option<String> {
        if finding.noise.is_some() {
            self.noisy += 1;
            self.noisy_false += u64::from(finding.is_false());
            return finding.is_false().then(|| finding.line());
        }
        let word = WORDS.iter().position(|word| *word == finding.word()).unwrap_or(WORDS.len() - 1);
        let is_told = finding.off().is_empty();
        let counts = if is_told { &mut self.told } else { &mut self.off };
        counts[word] += 1;
        let recovered = finding.recovered(&finding.judged.net);
        self.recovered += u64::from(recovered);
        self.gross += u64::from(finding.recovered(&finding.judged.gross));
        let remarkable = finding.is_false() || self.clean && (word > 0 || !recovered);
        remarkable.then(|| finding.line())
    }

    fn quiet(&self) -> u64 {
        self.told.iter().chain(&self.off).sum()
    }

    fn line(&self) -> String {
        let number = |count: u64| if count == 0 { ".".to_owned() } else { count.to_string() };
        let mut line = format!("{:<34}", self.name);
        for count in self.told.iter().chain(&self.off).chain([&self.noisy, &self.skipped]) {
            line += &format!("{:>10}", number(*count));
        }
        if self.clean {
            line += &format!("{:>10}{:>10}", number(self.recovered), number(self.gross));
        }
        line.trim_end().to_owned() + "\n"
    }
}

fn head(title: &str, clean: bool) -> String {
    let mut first = format!("{:<34}{:>30}{:>30}", "", "net is right", "net is off");
    let mut second = format!("{title:<34}");
    for word in WORDS.iter().chain(&WORDS).chain(&["noisy", "skipped"]) {
        second += &format!("{word:>10}");
    }
    if clean {
        first += &format!("{:>40}", "within 5 %");
        second += &format!("{:>10}{:>10}", "net", "gross");
    }
    format!("{first}\n{second}")
}

fn sum(rows: &[&Row]) -> Row {
    let mut sum =
        Row { name: "all".into(), clean: rows.first().is_some_and(|row| row.clean), ..Row::default() };
    for row in rows {
        for word in 0..WORDS.len() {
            sum.told[word] += row.told[word];
            sum.off[word] += row.off[word];
        }
        sum.noisy += row.noisy;
        sum.noisy_false += row.noisy_false;
        sum.skipped += row.skipped;
        sum.broken += row.broken;
        sum.recovered += row.recovered;
        sum.gross += row.gross;
    }
    sum
}
