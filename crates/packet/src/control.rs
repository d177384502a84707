//! [`schedule::Control`] with the words that a run understands while it goes on, and what was changed by hand.
//!
//! ```text
//!   socket, keys ─► ask ─► Control ─► changes()                       for the result
//!                             └─ on("reload", …), shows("rate", …)    what a command understands and shows
//! ```

use measure::packets::Change;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use units::{Instant, Picos};

/// The longest that a thread sleeps: changes, the end and Ctrl-C are seen by then.
pub(crate) const NAP: Picos = Picos::from_millis(10);
/// Changes that a run remembers; what comes after is refused.
const MOST_CHANGES: usize = 1_024;
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
pub struct Control {
    threads: schedule::Control,
    origin: OnceLock<Instant>,
    changes: Mutex<Vec<Change>>,
    words: Mutex<Vec<Word>>,
    shows: Mutex<Vec<(&'static str, Shower)>>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            threads: schedule::Control::of_threads_that_sleep(NAP),
            origin: OnceLock::new(),
            changes: Mutex::default(),
            words: Mutex::default(),
            shows: Mutex::default(),
        }
    }
}

/// All that threads ask, they ask that one.
impl Deref for Control {
    type Target = schedule::Control;

    fn deref(&self) -> &schedule::Control {
        &self.threads
    }
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
    /// The moment from which times of changes count; a job says it when it starts.
    pub fn begin(&self, origin: Instant) {
        let _ = self.origin.set(origin);
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
    use schedule::Halt;

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Picos::from_millis(millis)
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
