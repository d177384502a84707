//! [`schedule::Control`] with the words that a run understands while it goes on, and what was changed by hand.
//!
//! ```text
//!   socket, keys ─► ask ─► JobControl ─► changes()                    for the result
//!                             └─ on("reload", …), shows("rate", …)    what a command understands and shows
//! ```
//!
//! What cannot be kept for the result is refused where that is possible. Of what nobody asks for (a file that
//! is read again) only so much is kept, the last included, and the rest is counted.

use measure::packets::Change;
use schedule::LoadChange;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use units::{Instant, Picos};

/// The longest that a thread sleeps: changes, the end and Ctrl-C are seen by then.
pub(crate) const NAP: Picos = Picos::from_millis(10);
/// Changes of the load that a run remembers, each field one; what comes after is refused.
const MOST_CHANGES: usize = 4_096;
/// Marks that it remembers, and everything else: of each so many.
const MOST_OTHERS: usize = 1_024;
/// Lines that are kept until they are told.
const MOST_SAID: usize = 1_024;
/// A longer line is no command.
pub const LONGEST_LINE: usize = 1_024;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The control socket (`tare ctl`).
    Socket,
    /// A key on the terminal.
    Key,
    /// A signal (SIGHUP).
    Signal,
    /// A file that was written again.
    File,
}

impl By {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Socket => "ctl",
            Self::Key => "key",
            Self::Signal => "signal",
            Self::File => "file",
        }
    }
}

/// One command on its way to whoever understands it.
#[derive(Clone, Copy, Debug)]
pub struct ControlCommand<'a> {
    /// What followed the command's own words: `2M` of `set rate 2M`.
    pub rest: &'a str,
    pub now: Instant,
    pub by: By,
}

/// What is said to a command: one line. An error says what would be right.
pub type Answer = Result<String, String>;

type Handler = Box<dyn Fn(&JobControl, &ControlCommand<'_>) -> Answer + Send + Sync>;
type Shower = Box<dyn Fn() -> String + Send + Sync>;

/// A command that a run understands.
struct Word {
    words: &'static str,
    usage: &'static str,
    handler: std::sync::Arc<Handler>,
}

/// What is kept for the result.
#[derive(Default)]
struct Kept {
    rows: Vec<Row>,
    /// Others, for which there was no room.
    unlisted: u64,
}

#[derive(Clone)]
struct Row {
    change: Change,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// From the time of this change on; `true`: the result says from which frame on, too.
    Load(LoadChange, bool),
    Mark,
    Other,
}

impl Kept {
    fn count(&self, is: impl Fn(&Kind) -> bool) -> usize {
        self.rows.iter().filter(|row| is(&row.kind)).count()
    }
}

/// See the module.
pub struct JobControl {
    threads: schedule::Control,
    origin: OnceLock<Instant>,
    kept: Mutex<Kept>,
    /// Whether the result has what was changed: nothing is changed any more.
    is_concluded: RwLock<bool>,
    said: Mutex<Vec<String>>,
    words: Mutex<Vec<Word>>,
    shows: Mutex<Vec<(&'static str, Shower)>>,
}

impl Default for JobControl {
    fn default() -> Self {
        Self {
            threads: schedule::Control::of_threads_that_sleep(NAP),
            origin: OnceLock::new(),
            kept: Mutex::default(),
            is_concluded: RwLock::default(),
            said: Mutex::default(),
            words: Mutex::default(),
            shows: Mutex::default(),
        }
    }
}

/// All that threads ask, they ask that one.
impl Deref for JobControl {
    type Target = schedule::Control;

    fn deref(&self) -> &schedule::Control {
        &self.threads
    }
}

impl fmt::Debug for JobControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("halt", &self.halt())
            .field("why", &self.why())
            .finish_non_exhaustive()
    }
}

/// Nobody panics while holding one of these for more than a push.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JobControl {
    /// The moment from which times of changes count; a job says it when it starts.
    pub fn begin(&self, origin: Instant) {
        let _ = self.origin.set(origin);
    }

    /// Keeps a change for the result, with its time.
    pub fn changed(&self, at: Instant, what: &str, from: &str, to: &str, by: By) {
        self.keep(at, Kind::Other, (what, from, to), by);
    }

    /// The same of a mark.
    ///
    /// # Errors
    /// There are too many.
    pub fn marked(&self, at: Instant, what: &str, by: By) -> Result<(), String> {
        if lock(&self.kept).count(|kind| *kind == Kind::Mark) >= MOST_OTHERS {
            return Err(format!("the run already has {MOST_OTHERS} marks, the maximum"));
        }
        self.keep(at, Kind::Mark, ("mark", "", what), by);
        Ok(())
    }

    /// To be asked before the load is changed: whether the result has room for `count` more changes of it.
    ///
    /// # Errors
    /// It has none.
    pub fn room_for(&self, count: usize) -> Result<(), String> {
        let known = lock(&self.kept).count(|kind| matches!(kind, Kind::Load(..)));
        match known + count > MOST_CHANGES {
            true => Err(format!(
                "{known} fields and rates were already changed; a run keeps at most {MOST_CHANGES}"
            )),
            false => Ok(()),
        }
    }

    /// Keeps a change of the load that has no first frame.
    pub fn changed_from(&self, change: &LoadChange, what: &str, from: &str, to: &str, by: By) {
        self.keep(change.at, Kind::Load(*change, false), (what, from, to), by);
    }

    /// The same of a change of the load: the result then says from which frame on it holds.
    pub fn changed_load(&self, change: &LoadChange, what: &str, from: &str, to: &str, by: By) {
        self.keep(change.at, Kind::Load(*change, true), (what, from, to), by);
    }

    fn keep(&self, at: Instant, kind: Kind, (what, from, to): (&str, &str, &str), by: By) {
        let at_s = at.since(self.origin().unwrap_or(at)).as_secs_f64();
        let (what, from, to, by) = (what.to_owned(), from.to_owned(), to.to_owned(), by.name().to_owned());
        let change = Change { at_s, what, from, to, by, first_frame: None };
        let mut kept = lock(&self.kept);
        if kind == Kind::Other && kept.count(|kind| *kind == Kind::Other) >= MOST_OTHERS {
            // The newest is always there.
            kept.unlisted += 1;
            if let Some(last) = kept.rows.iter().rposition(|row| row.kind == Kind::Other) {
                kept.rows.remove(last);
            }
        }
        kept.rows.push(Row { change, kind });
    }

    /// The moment from which times of changes count, once it is known.
    pub fn origin(&self) -> Option<Instant> {
        self.origin.get().copied()
    }

    /// Everything that was changed so far, in the order of time.
    pub fn changes(&self) -> Vec<Change> {
        let with_first = |row: &Row| {
            let first_frame = match &row.kind {
                Kind::Load(change, true) => self.first_of(change),
                _ => None,
            };
            Change { first_frame, ..row.change.clone() }
        };
        let mut changes: Vec<Change> = lock(&self.kept).rows.iter().map(with_first).collect();
        changes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        changes
    }

    /// How many changes are in no list.
    pub fn unlisted(&self) -> u64 {
        lock(&self.kept).unlisted
    }

    /// The same as `changes`, for the findings of a job: whatever is asked for from now on is refused.
    pub fn conclude(&self) -> Vec<Change> {
        // Who is being answered is waited for: what is answered is in the list.
        *self.is_concluded.write().unwrap_or_else(PoisonError::into_inner) = true;
        self.changes()
    }

    /// Forgets changes of the load that would have taken effect after it `ended`, and says how many.
    pub fn forget_after(&self, ended: Instant) -> usize {
        let mut kept = lock(&self.kept);
        let before = kept.rows.len();
        kept.rows.retain(|row| !matches!(&row.kind, Kind::Load(change, _) if change.at > ended));
        before - kept.rows.len()
    }

    /// Tells the user at once, in one line.
    pub fn say(&self, line: String) {
        let mut said = lock(&self.said);
        if said.len() < MOST_SAID {
            said.push(line);
        }
    }

    /// What was said since this was last asked for.
    pub fn said(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.said))
    }

    /// From now on the run understands `words` (`reload`, `set rate`); `usage` is how it is written, for those
    /// who ask for help. The last one that was told of the same words is asked.
    ///
    /// ```
    /// # use packet::{JobControl, By};
    /// # use units::Instant;
    /// let control = JobControl::default();
    /// control.on("reload", "reload", |_, _| Ok("12 rules".to_owned()));
    /// assert_eq!(control.ask("reload", Instant::EPOCH, By::Socket), Ok("12 rules".to_owned()));
    /// ```
    pub fn on(
        &self,
        words: &'static str,
        usage: &'static str,
        handler: impl Fn(&Self, &ControlCommand<'_>) -> Answer + Send + Sync + 'static,
    ) {
        let handler: std::sync::Arc<Handler> = std::sync::Arc::new(Box::new(handler));
        let mut known = lock(&self.words);
        known.retain(|word| word.words != words);
        known.push(Word { words, usage, handler });
    }

    /// `show` tells this figure, too.
    pub fn shows(&self, name: &'static str, figure: impl Fn() -> String + Send + Sync + 'static) {
        let mut shows = lock(&self.shows);
        shows.retain(|(known, _)| *known != name);
        shows.push((name, Box::new(figure)));
    }

    /// Does what a line asks for, whoever wrote it.
    ///
    /// # Errors
    /// What was wrong with it, and what would be right.
    pub fn ask(&self, line: &str, now: Instant, by: By) -> Answer {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = lock(&self.words)
            .iter()
            .filter_map(|word| Some((rest_of(&line, word.words)?.to_owned(), word.handler.clone())))
            .min_by_key(|(rest, _)| rest.len());
        let is_concluded = self.is_concluded.read().unwrap_or_else(PoisonError::into_inner);
        if *is_concluded && !matches!(line.as_str(), "show" | "help") {
            return Err("the run is over; start another".to_owned());
        }
        if let Some((rest, handler)) = found {
            return handler(self, &ControlCommand { rest: &rest, now, by });
        }
        match line.as_str() {
            "show" => Ok(self.shown(now)),
            "help" => Ok(self.help()),
            "stop" => {
                self.changed(now, "stop", "", "", by);
                self.interrupt();
                Ok("the run ends".to_owned())
            }
            "" => Err(format!("there is no command on the line; {}", self.help())),
            other => Err(format!("'{}' is not a command of this run; {}", cut(other), self.help())),
        }
    }

    /// The commands that this run understands, in a sentence.
    fn help(&self) -> String {
        let mut usages = vec!["show", "stop"];
        let words = lock(&self.words);
        usages.extend(words.iter().map(|word| word.usage));
        format!("it understands: {}", usages.join(", "))
    }

    /// All figures as one line of JSON.
    fn shown(&self, now: Instant) -> String {
        let mut figures = serde_json::Map::new();
        if let Some(origin) = self.origin.get() {
            figures.insert("at".to_owned(), format!("{:.3} s", now.since(*origin).as_secs_f64()).into());
        }
        for (name, figure) in lock(&self.shows).iter() {
            figures.insert((*name).to_owned(), figure().into());
        }
        let kept = lock(&self.kept);
        figures.insert("changes".to_owned(), (kept.rows.len() as u64 + kept.unlisted).into());
        serde_json::Value::Object(figures).to_string()
    }
}

/// What follows `words` in `line`, if it begins with them.
fn rest_of<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(words)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(' ') }
}

fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedule::Halt;

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Picos::from_millis(millis)
    }

    #[test]
    fn the_longest_words_are_asked_and_get_the_rest() {
        let control = JobControl::default();
        control.on("set", "set NAME VALUE", |_, asked| Err(format!("no {}", asked.rest)));
        control.on("set rate", "set rate RATE", |control, asked| {
            control.changed(asked.now, "rate", "1", asked.rest, asked.by);
            Ok(format!("rate {}", asked.rest))
        });
        control.shows("rate", || "1/s".to_owned());
        control.begin(at(500));
        let ask = |line| control.ask(line, at(2_000), By::Socket);
        assert_eq!(ask("  set   rate 2M "), Ok("rate 2M".to_owned()));
        assert_eq!(ask("set size 64"), Err("no size 64".to_owned()));
        let unknown = ask("settle").unwrap_err();
        assert!(
            unknown.contains("'settle' is not a command") && unknown.contains("set rate RATE"),
            "{unknown}"
        );
        let shown: serde_json::Value = serde_json::from_str(&ask("show").unwrap()).unwrap();
        assert_eq!(shown, serde_json::json!({ "at": "1.500 s", "changes": 1, "rate": "1/s" }));
        let changes = control.changes();
        assert_eq!((changes[0].at_s, changes[0].to.as_str(), changes[0].by.as_str()), (1.5, "2M", "ctl"));
    }

    #[test]
    fn every_change_is_kept_refused_or_counted() {
        let control = JobControl::default();
        let change = |n: usize| LoadChange { number: n, at: at(n as u64), action: schedule::Action::Pause };
        (0..2_000).for_each(|n| control.changed(at(n), "rules", "", &n.to_string(), By::File));
        let marks = (0..2_000).filter(|n| control.marked(at(*n), "x", By::Socket).is_ok()).count();
        assert_eq!((marks, control.unlisted()), (MOST_OTHERS, 2_000 - MOST_OTHERS as u64));
        for n in 0..MOST_CHANGES {
            control.room_for(1).unwrap();
            control.changed_load(&change(n), "dport", "1", &n.to_string(), By::Socket);
        }
        assert!(control.room_for(1).unwrap_err().contains("4096") && control.room_for(0).is_ok());
        let changes = control.changes();
        let last = |what: &str| changes.iter().rfind(|change| change.what == what).unwrap().to.clone();
        assert_eq!(
            (changes.len(), last("dport"), last("rules")),
            (2 * MOST_OTHERS + MOST_CHANGES, "4095".into(), "1999".into())
        );
        let shown: serde_json::Value =
            serde_json::from_str(&control.ask("show", at(1), By::Key).unwrap()).unwrap();
        assert_eq!(shown["changes"], 2_000 + MOST_OTHERS + MOST_CHANGES);
    }

    #[test]
    fn what_the_result_has_is_all_there_is() {
        let control = JobControl::default();
        control.on("set", "set", |control, asked| {
            control.changed(asked.now, "rate", "1", asked.rest, asked.by);
            Ok("done".to_owned())
        });
        let late = LoadChange { number: 0, at: at(60), action: schedule::Action::Pause };
        control.changed_from(&late, "state", "sending", "paused", By::Key);
        control.ask("set 2", at(10), By::Socket).unwrap();
        assert_eq!((control.forget_after(at(60)), control.forget_after(at(59))), (0, 1));
        assert_eq!(control.conclude().len(), 1);
        for line in ["set 3", "stop"] {
            assert!(control.ask(line, at(70), By::Key).unwrap_err().contains("the run is over"));
        }
        assert!(control.ask("show", at(70), By::Key).is_ok() && !control.stops());
        assert_eq!(control.changes().len(), 1);
    }

    #[test]
    fn stop_ends_the_run_as_the_users_wish() {
        let control = JobControl::default();
        control.ask("stop", at(1), By::Key).unwrap();
        assert!(control.stops() && control.halt() == Halt::Interrupted && control.why().is_none());
    }
}
