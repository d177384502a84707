//! What the threads of a run and those who steer it share: whether to stop, and why; what was changed by hand;
//! and the words that the run understands while it goes on.
//!
//! ```text
//!   Ctrl-C ─► interrupt ─┐                       ┌─► stops()           every round of every thread
//!   a port fails ─► fail ┼─► Control ────────────┼─► turn(seen)        changes, in order, each with its time
//!   socket, keys ─► ask ─┘     │                 └─► changes()         for the result
//!                              └─ on("reload", …), shows("rate", …)    what a command understands and shows
//! ```
//!
//! A change of the load takes effect [`LEAD`] after it was asked for: by then every thread has seen it, so that
//! all threads change at the same point of the schedule.

use measure::packets::Change;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use units::{Instant, Picos, Rate};

/// A change holds this long after it was asked for: five times what a thread may sleep.
pub const LEAD: Picos = Picos::from_millis(50);
/// Changes that a run remembers; what comes after is refused.
const MOST_CHANGES: usize = 1_024;
/// A longer line is no command.
pub const LONGEST_LINE: usize = 1_024;

/// Why a run stops before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Halt {
    #[default]
    No,
    /// The user wants it.
    Interrupted,
    /// A port failed, an interface is gone…
    Failed,
    /// A limit of the plan came true that ends the run (`--abort-if`).
    Aborted,
}

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

/// A change of the load that all threads make at the same point of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub at: Instant,
    pub to: Course,
}

/// What a load is changed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    Rate(Rate),
    /// As fast as it goes.
    Max,
    /// Frame size, FCS included.
    Size(usize),
    Pause,
    Resume,
}

/// One command on its way to whoever understands it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What followed the command's own words: `2M` of `set rate 2M`.
    pub rest: &'a str,
    pub now: Instant,
    pub by: By,
}

/// What is said to a command: one line. An error says what would be right.
pub type Answer = Result<String, String>;

type Handler = Box<dyn Fn(&Control, &Asked<'_>) -> Answer + Send + Sync>;
type Shower = Box<dyn Fn() -> String + Send + Sync>;

/// A command that a run understands.
struct Word {
    words: &'static str,
    usage: &'static str,
    handler: std::sync::Arc<Handler>,
}

/// See the module.
#[derive(Default)]
pub struct Control {
    halt: AtomicU8,
    why: Mutex<Option<String>>,
    stop: AtomicBool,
    origin: OnceLock<Instant>,
    turns: Mutex<Vec<Turn>>,
    /// How many turns there are, for threads to see at a glance.
    told: AtomicUsize,
    changes: Mutex<Vec<Change>>,
    words: Mutex<Vec<Word>>,
    shows: Mutex<Vec<(&'static str, Shower)>>,
}

impl fmt::Debug for Control {
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

impl Control {
    pub fn halt(&self) -> Halt {
        match self.halt.load(Ordering::Relaxed) {
            0 => Halt::No,
            1 => Halt::Interrupted,
            2 => Halt::Failed,
            _ => Halt::Aborted,
        }
    }

    /// Whether threads shall end now.
    #[inline]
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The same as a flag, for calls that watch it themselves.
    pub const fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    pub fn interrupt(&self) {
        self.end(1, None);
    }

    pub fn fail(&self, why: String) {
        self.end(2, Some(why));
    }

    pub fn abort(&self, why: String) {
        self.end(3, Some(why));
    }

    fn end(&self, halt: u8, why: Option<String>) {
        if let Some(why) = why {
            lock(&self.why).get_or_insert(why);
        }
        let _ = self.halt.compare_exchange(0, halt, Ordering::Relaxed, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The first reason that was given.
    pub fn why(&self) -> Option<String> {
        lock(&self.why).clone()
    }

    /// The moment from which times of changes count; a job says it when it starts.
    pub fn begin(&self, origin: Instant) {
        let _ = self.origin.set(origin);
    }

    /// The load takes another course, from [`LEAD`] after `now` on, and never before an earlier change does.
    ///
    /// # Errors
    /// There were too many changes already.
    pub fn turn(&self, to: Course, now: Instant) -> Result<Turn, String> {
        let mut turns = lock(&self.turns);
        if turns.len() >= MOST_CHANGES {
            return Err(format!("the run was changed {MOST_CHANGES} times already"));
        }
        let at = turns.last().map_or(Instant::EPOCH, |last| last.at).max(now + LEAD);
        let turn = Turn { at, to };
        turns.push(turn);
        self.told.store(turns.len(), Ordering::Release);
        Ok(turn)
    }

    /// The first turn that a thread has not taken which has taken `seen`. Costs one load where there is none.
    #[inline]
    pub fn turn_after(&self, seen: usize) -> Option<Turn> {
        if self.told.load(Ordering::Acquire) <= seen {
            return None;
        }
        lock(&self.turns).get(seen).copied()
    }

    /// Keeps a change for the result, with its time.
    pub fn changed(&self, at: Instant, what: &str, from: &str, to: &str, by: By) {
        let at_s = at.since(self.origin.get().copied().unwrap_or(at)).as_secs_f64();
        let mut changes = lock(&self.changes);
        if changes.len() < MOST_CHANGES {
            let (what, from, to) = (what.to_owned(), from.to_owned(), to.to_owned());
            changes.push(Change { at_s, what, from, to, by: by.name().to_owned() });
        }
    }

    /// Everything that was changed so far, in the order of time: a job puts it into its findings.
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = lock(&self.changes).clone();
        changes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        changes
    }

    /// From now on the run understands `words` (`reload`, `set rate`); `usage` is how it is written, for those
    /// who ask for help. The last one that was told of the same words is asked.
    ///
    /// ```
    /// # use packet::{Control, By};
    /// # use units::Instant;
    /// let control = Control::default();
    /// control.on("reload", "reload", |_, _| Ok("12 rules".to_owned()));
    /// assert_eq!(control.ask("reload", Instant::EPOCH, By::Socket), Ok("12 rules".to_owned()));
    /// ```
    pub fn on(
        &self,
        words: &'static str,
        usage: &'static str,
        handler: impl Fn(&Self, &Asked<'_>) -> Answer + Send + Sync + 'static,
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
        if let Some((rest, handler)) = found {
            return handler(self, &Asked { rest: &rest, now, by });
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
            other => Err(format!("'{}' is no command of this run; {}", cut(other), self.help())),
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
        figures.insert("changes".to_owned(), lock(&self.changes).len().into());
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

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Picos::from_millis(millis)
    }

    #[test]
    fn turns_come_in_order_and_each_with_its_time() {
        let control = Control::default();
        let rate = Course::Rate(Rate::per_second(110).unwrap());
        assert_eq!(control.turn_after(0), None);
        let first = control.turn(rate, at(1_000)).unwrap();
        assert_eq!(first, Turn { at: at(1_050), to: rate });
        // Asked for by a thread whose clock was read earlier: it is not before the first.
        assert_eq!(control.turn(Course::Pause, at(990)).unwrap().at, at(1_050));
        assert_eq!((control.turn_after(0), control.turn_after(2)), (Some(first), None));
        for n in 2..MOST_CHANGES as u64 {
            control.turn(Course::Resume, at(n)).unwrap();
        }
        assert!(control.turn(Course::Pause, at(9)).unwrap_err().contains("1024 times"));
    }

    #[test]
    fn the_longest_words_are_asked_and_get_the_rest() {
        let control = Control::default();
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
        assert!(unknown.contains("'settle' is no command") && unknown.contains("set rate RATE"), "{unknown}");
        let shown: serde_json::Value = serde_json::from_str(&ask("show").unwrap()).unwrap();
        assert_eq!(shown, serde_json::json!({ "at": "1.500 s", "changes": 1, "rate": "1/s" }));
        let changes = control.changes();
        assert_eq!((changes[0].at_s, changes[0].to.as_str(), changes[0].by.as_str()), (1.5, "2M", "ctl"));
    }

    #[test]
    fn stop_ends_the_run_as_the_users_wish() {
        let control = Control::default();
        control.ask("stop", at(1), By::Key).unwrap();
        assert!(control.stops() && control.halt() == Halt::Interrupted && control.why().is_none());
    }
}
