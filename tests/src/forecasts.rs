//! Forecasts beside what really happens: plans of different kinds, their peaks found by running them.
//!
//! ```text
//!   tare weigh ─► profile ─┐
//!   plan ──────────────────┴─► forecast ──┐
//!   plan at 30 %, 60 %, 150 % of it ─► verdict, side by side
//!   plan at rate after rate ─► its measured peak
//! ```

use crate::bed::TestBed;
use crate::process::{Process, text_of, wait_until};
use crate::{Run, Tare};
use predict::{Demand, Forecast, Outlook, Supply};
use profile::{Machine, Profile};
use std::fmt::Write;
use std::path::Path;
use weigh::peak::{self, Effort, Held};

/// Words of every run: short, because there are many.
const SHORT: &str = "--duration 700ms";

/// A plan without its rate.
pub struct Case {
    pub name: &'static str,
    /// `http …` or `send …`; the rate is put behind it.
    words: String,
    /// In the generator's namespace of a bed.
    bed: Option<TestBed>,
    target: Option<Server>,
    /// Shares of the predicted peak at which it is run.
    pub shares: &'static [f64],
}

/// `tare target` that writes nothing down, as the one that was weighed against.
struct Server {
    _process: Process,
    url: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start(words: &str) -> Self {
        let folder = crate::scratch();
        let said = folder.path().join("stdout");
        let mut argv = vec![crate::binary().display().to_string()];
        argv.extend(format!("target --no-truth --size 600 --for 600s {words}").split(' ').map(str::to_owned));
        let process = Process::start(&argv, |command| {
            command.stdout(std::fs::File::create(&said).expect("a scratch file"));
        });
        let mut url = String::new();
        wait_until("the target's 'listening on'", || {
            let text = text_of(&said);
            url = text.trim().strip_prefix("listening on ").map(|url| format!("{url}/")).unwrap_or_default();
            !url.is_empty() && text.ends_with('\n')
        });
        Self { _process: process, url, _folder: folder }
    }
}

/// CPUs for the generator and for the target, as `tare weigh http` parts them.
fn cpus() -> (&'static str, &'static str) {
    let several = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if several { ("--cpus 0", "--cpus 1") } else { ("", "") }
}

/// The kinds of HTTP load that are weighed, each for itself.
pub fn of_http() -> Vec<Case> {
    vec![
        http_case("http, keep-alive", false, "", &[0.3, 0.6, 1.5]),
        http_case("http, new connection", false, "--no-keep-alive", &[0.5, 1.5]),
        http_case("https, keep-alive", true, "--insecure", &[0.5, 1.5]),
        http_case("https, new connection", true, "--insecure --no-keep-alive", &[0.5, 1.5]),
    ]
}

/// HTTP load that lies between two kinds that are weighed: its forecast is right only if both are.
pub fn of_http_between() -> Vec<Case> {
    let four = "--requests-per-connection 4";
    vec![
        http_case("http, 4 requests a connection", false, four, &[0.3, 0.6, 1.5]),
        http_case("https, 4 requests a connection", true, &format!("--insecure {four}"), &[0.5, 1.5]),
    ]
}

fn http_case(name: &'static str, tls: bool, words: &str, shares: &'static [f64]) -> Case {
    let (own, others) = cpus();
    let target = Server::start(format!("{others}{}", if tls { " --tls" } else { "" }).trim());
    let words = format!("http {own} --parallel 64 --warmup 150ms {words} {}", target.url);
    Case { name, words, bed: None, target: Some(target), shares }
}

/// Frames by ways that were weighed, one of a size between.
pub fn of_frames() -> Vec<Case> {
    let case = |name, words: &str, bed: Option<TestBed>| Case {
        name,
        words: words.to_owned(),
        bed,
        target: None,
        shares: &[0.5, 1.5],
    };
    let nobody = "-m 02:00:00:00:00:99";
    vec![
        case("send mem, 64 B", "send mem:forecast --size 64", None),
        case("send packet, 64 B", &format!("send packet:gen0 --size 64 {nobody}"), Some(TestBed::pair())),
        case("send packet, 512 B", &format!("send packet:gen0 --size 512 {nobody}"), Some(TestBed::pair())),
    ]
}

impl Case {
    fn command(&self, rate: f64) -> String {
        format!("{} {SHORT} --rate {}", self.words, rate.round().max(1.0) as u64)
    }

    fn tare(&self, words: &str, state: &Path) -> Tare {
        let tare = Tare::new(words).env("XDG_STATE_HOME", state.display().to_string());
        match &self.bed {
            Some(bed) => tare.inside(bed.generator()),
            None => tare,
        }
    }

    /// What is forecast of it at that rate, from the plan as the program itself prints it.
    pub fn forecast(&self, rate: f64, state: &Path) -> Forecast {
        let printed = self.tare(&format!("{} --print-plan", self.command(rate)), state).start();
        let plan = printed.finish_unchecked();
        assert_eq!(plan.code, Some(0), "{plan}");
        let demand = Demand::of_file(&plan.stdout, self.name).expect("what it prints is a plan");
        let profile = Profile::of(&Machine::read(), &state.join("tare"));
        Forecast::of(&demand, profile.as_ref(), &Supply::read(None))
    }

    pub fn run(&self, rate: f64, state: &Path) -> Run {
        self.tare(&format!("{} --json --no-progress --no-save", self.command(rate)), state).run()
    }

    /// The highest rate at which its verdict stays VALID, looked for from `start` on.
    pub fn peak(&self, start: f64, state: &Path) -> Option<f64> {
        let effort = Effort { confirmations: 1, repeats: 2, width: 0.08, most_trials: 14 };
        peak::search(start, effort, |rate| Some(held(&self.run(rate, state)))).peak_per_s
    }

    /// Whether a server or a bed of its own stands behind it.
    pub fn has_server(&self) -> bool {
        self.target.is_some()
    }
}

/// Whether the rate held, and was answered.
fn held(run: &Run) -> Held {
    let criteria = run.criteria();
    let find = |name: &str| criteria.iter().find(|criterion| criterion.name == name);
    let holds = |name: &str| find(name).is_none_or(|criterion| criterion.holds);
    let kept_up = holds("achieved.share") && holds("rate.kept");
    let spare = if run.result["engine"] == "http" { 0.75 } else { 0.85 };
    let at_ease = find("cpu.thread").is_some_and(|criterion| criterion.value < spare);
    match (run.word(), kept_up, at_ease) {
        ("VALID", true, _) => Held::Yes,
        ("VALID", false, _) | (_, false, true) => Held::Target,
        (_, true, true) => Held::Disturbed,
        _ => Held::Generator,
    }
}

/// One plan at one rate.
pub struct Row {
    pub name: &'static str,
    pub rate: f64,
    pub share: f64,
    pub forecast: Outlook,
    pub word: String,
    /// It kept its rate, and was late only because something else had the CPU.
    pub is_disturbed: bool,
    /// What was said of it.
    pub says: String,
}

impl Row {
    /// Right, or in the grey zone where nothing is forecast.
    pub fn is_right(&self) -> bool {
        match self.forecast {
            Outlook::Valid => self.word == "VALID" || self.is_disturbed,
            Outlook::Invalid => self.word != "VALID",
            Outlook::Grey => true,
            Outlook::Unknown => false,
        }
    }
}

/// What came of one case.
pub struct CaseFindings {
    pub name: &'static str,
    pub predicted: Option<f64>,
    pub measured: Option<f64>,
    pub rows: Vec<Row>,
}

impl CaseFindings {
    /// Predicted ÷ measured.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.predicted? / self.measured?)
    }
}

/// Forecasts and runs of one case. The profile is in `state`.
pub fn compare(case: &Case, state: &Path) -> CaseFindings {
    let predicted = case.forecast(1_000.0, state).peak_per_s;
    let Some(peak) = predicted else {
        return CaseFindings { name: case.name, predicted, measured: None, rows: Vec::new() };
    };
    let row = |share: &f64| {
        let rate = peak * share;
        let forecast = case.forecast(rate, state);
        // What somebody else spoils is made again, as in the weighing.
        let mut run = case.run(rate, state);
        for _ in 0..2 {
            if held(&run) == Held::Disturbed {
                run = case.run(rate, state);
            }
        }
        let (word, is_disturbed) = (run.word().to_owned(), held(&run) == Held::Disturbed);
        let (forecast, says) = (forecast.outlook, forecast.says);
        Row { name: case.name, rate, share: *share, forecast, word, is_disturbed, says }
    };
    let rows = case.shares.iter().map(row).collect();
    CaseFindings { name: case.name, predicted, measured: case.peak(peak, state), rows }
}

/// For people.
pub fn table(found: &[CaseFindings]) -> String {
    let mut text = format!(
        "{:<30} {:>12} {:>12} {:>7}\n",
        "Peak with VALID verdicts", "predicted/s", "measured/s", "ratio"
    );
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.0}"));
    for one in found {
        let ratio = one.ratio().map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        let _ = writeln!(
            text,
            "{:<30} {:>12} {:>12} {:>7}",
            one.name,
            number(one.predicted),
            number(one.measured),
            ratio
        );
    }
    let _ = writeln!(
        text,
        "\n{:<30} {:>12} {:>7}  {:<9} {:<9} right",
        "Plan", "rate/s", "share", "forecast", "verdict"
    );
    for row in found.iter().flat_map(|one| &one.rows) {
        let _ = writeln!(
            text,
            "{:<30} {:>12.0} {:>6.0}%  {:<9} {:<9} {}",
            row.name,
            row.rate,
            row.share * 100.0,
            row.forecast,
            row.word,
            match (row.is_right(), row.is_disturbed) {
                (true, true) => "yes, but for neighbours",
                (true, false) => "yes",
                (false, _) => "NO",
            }
        );
    }
    text
}
