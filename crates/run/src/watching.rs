//! Who looks at the run while it goes on: the live page and the terminal's view.
//!
//! Where nobody looks nothing is made ready. What is shown is the run *so far*: what is under way has no
//! outcome yet, and criteria that only a finished run can meet are not judged.

use crate::engine::Brief;
use crate::options::Live;
use crate::status::{Failure, complain};
use crate::terminal;
use live::{About, Address, Page, Signals, Terminal, Token, Update, Wish};
use schedule::{Action, Change, Control};
use std::cell::Cell;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use units::{Instant, Picos, Rate};

/// Rates that keys lead to lie between these, in requests per second.
const SLOWEST: f64 = 0.01;
const FASTEST: f64 = 10e6;
/// One press of a key.
const STEP: f64 = 1.1;
/// Presses that wait for the changes before them to take effect, each a tenth of a second.
const MOST_WAITING: i32 = 5;
/// So many changes of the rate are told one by one.
const TOLD: usize = 8;

fn read(asked: &Live) -> Result<(Picos, Option<Token>), Failure> {
    let linger = asked.linger.as_deref().map_or(Ok(Picos::ZERO), Picos::from_str);
    let linger = linger.map_err(|error| Failure::wrong(anyhow::anyhow!("--live-linger: {error}")))?;
    let token = asked.token.as_deref().map(Token::read).transpose().map_err(Failure::wrong)?;
    Ok((linger, token))
}

/// See the module.
pub struct Watching {
    page: Option<Page>,
    linger: Picos,
    view: Option<Terminal>,
    /// The rate that the plan has, if keys may change it.
    rate: Option<Rate>,
    /// Steps that keys asked for and that are still to be made; below 0: slower.
    waiting: Cell<i32>,
    pub signals: Signals,
}

impl Watching {
    /// Begins to serve. Nothing was sent yet: what is wrong is refused.
    pub fn start(asked: &Live, cpus: &[u32]) -> Result<Self, Failure> {
        let (linger, token) = read(asked)?;
        let page = asked.address.as_deref().map(|typed| {
            let address: Address = typed.parse()?;
            // Its pictures are large, and each is gone after a second.
            os::memory::return_large_blocks();
            Page::start(address, token, cpus)
        });
        let page = page.transpose().map_err(Failure::wrong)?;
        // Also of a quiet run: without its address a page is for nobody.
        if let Some(page) = &page {
            complain(&format!("live: {}", page.url()));
        }
        Ok(Self { page, linger, view: None, rate: None, waiting: Cell::new(0), signals: Signals::default() })
    }

    /// Whether [`Self::start`] could, without serving anything.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(asked: &Live) -> Result<(), Failure> {
        let (_, token) = read(asked)?;
        let address = asked.address.as_deref().map(str::parse::<Address>).transpose();
        let address = address.map_err(Failure::wrong)?;
        address.map_or(Ok(()), |address| Page::check(address, token.as_ref())).map_err(Failure::wrong)
    }

    /// Fills the terminal with a view of the run, if there is one that it can fill.
    pub fn open_view(&mut self, brief: &Brief) -> Result<(), Failure> {
        // Without the view there is a line of progress, as with --no-view.
        if !live::HAS_VIEW || !terminal::has_screen() {
            return Ok(());
        }
        let about = About {
            whole: brief.whole,
            warmup: brief.warmup,
            page: self.page.as_ref().map(Page::url),
            fixed_rate: brief.steerable.err().map(str::to_owned),
            letters: terminal::letters(),
            has_color: terminal::has_color(),
        };
        match Terminal::start(about, self.signals.clone(), &brief.cpus) {
            Ok(view) => (self.view, self.rate) = (Some(view), brief.steerable.ok()),
            // As with --no-view: a terminal that nobody sits at does not reply.
            Err(error) => complain(&format!("tare: no full-screen view: {error}")),
        }
        Ok(())
    }

    /// Whether anybody may look: there is a page or a view.
    pub fn is_possible(&self) -> bool {
        self.page.is_some() || self.view.is_some()
    }

    pub fn has_view(&self) -> bool {
        self.view.is_some()
    }

    /// Whether keys may change the rate.
    pub fn may_steer(&self) -> bool {
        self.rate.is_some()
    }

    /// Gives the terminal back.
    pub fn close_view(&mut self) {
        self.view = None;
    }

    /// Does what the keys asked for.
    pub fn steer(&self, control: &Control, now: Instant) {
        let (Some(view), Some(begun)) = (&self.view, self.rate) else { return };
        let (mut waiting, mut is_over) = (self.waiting.get(), false);
        while let Some(wish) = view.wish() {
            is_over |= !press(&mut waiting, wish);
        }
        if let Some(message) = step(&mut waiting, begun, control, now) {
            view.tell(if is_over { format!("{message}; some key presses were ignored") } else { message });
        }
        self.waiting.set(waiting);
    }

    /// Shows the run so far if anybody looks; `is_new`: an interval has ended since this was called last.
    pub fn look(&self, is_new: bool, so_far: impl FnOnce() -> Update) {
        let page = self.page.as_ref().filter(|page| page.wants(is_new));
        let view = self.view.as_ref().filter(|view| is_new && view.is_there());
        if page.is_none() && view.is_none() {
            return;
        }
        let update = so_far();
        if let Some(view) = view {
            view.show(update.clone());
        }
        if let Some(page) = page {
            page.show(update);
        }
    }

    /// The run is over; `report` is what it came to.
    pub fn end(&mut self, report: &str) {
        if let Some(page) = &mut self.page {
            page.end(report.to_owned());
        }
    }

    /// Waits until those who watch have the report, and as long as was asked for; `stop` ends the waiting.
    pub fn leave(self, stop: &AtomicBool) {
        if let Some(page) = self.page {
            page.leave(self.linger, stop);
        }
    }
}

/// Adds a press to those that wait; whether there was room. A key that is held down repeats faster than changes
/// take effect, and must not go on for long after it was let go.
fn press(waiting: &mut i32, wish: Wish) -> bool {
    let wanted = *waiting + if wish == Wish::Faster { 1 } else { -1 };
    *waiting = wanted.clamp(-MOST_WAITING, MOST_WAITING);
    *waiting == wanted
}

/// Makes one of the steps that wait, unless the last is still to take effect; what there is to say of it.
fn step(waiting: &mut i32, begun: Rate, control: &Control, now: Instant) -> Option<String> {
    let wish = match *waiting {
        0 => return None,
        1.. => Wish::Faster,
        _ => Wish::Slower,
    };
    let rate = control.rates().last().map_or(begun, |change| change.rate);
    let Some(next) = stepped(rate, wish) else {
        *waiting = 0;
        return Some("no further".to_owned());
    };
    // The last change has yet to take effect.
    if control.is_changing(now) {
        return None;
    }
    match control.change(Action::Rate(next), now) {
        Ok(_) => {
            *waiting -= waiting.signum();
            Some(format!("rate {} \u{2192} {}", said(rate), said(next)))
        }
        Err(why) => {
            *waiting = 0;
            Some(why.to_string())
        }
    }
}

/// A tenth faster or slower, rounded to three digits; `None` beyond what keys may ask for.
fn stepped(rate: Rate, wish: Wish) -> Option<Rate> {
    let now = rate.as_per_second_f64();
    let next = if wish == Wish::Faster { now * STEP } else { now / STEP };
    let digit = 10f64.powf(next.log10().floor() - 2.0);
    let next = (next / digit).round() * digit;
    let is_allowed = (SLOWEST..=FASTEST).contains(&next);
    is_allowed.then(|| Rate::new((next * 1e6).round() as u64, Picos::from_secs(1_000_000))).flatten()
}

fn said(rate: Rate) -> String {
    report::rate(rate.as_per_second_f64())
}

/// What sets a run apart whose rate was changed by hand: its plan alone does not reproduce it.
pub fn label_of(changes: &[Change], origin: Instant) -> Option<String> {
    let told = changes
        .iter()
        .take(TOLD)
        .map(|change| format!("{} after {:.1} s", said(change.rate), change.at.since(origin).as_secs_f64()));
    let told: Vec<String> = told.collect();
    let more = changes.len().checked_sub(TOLD).filter(|more| *more > 0);
    let more = more
        .map_or_else(String::new, |more| format!(", and {}", report::counted(more as u64, "more change")));
    (!changes.is_empty()).then(|| format!("the rate was changed by hand: {}{more}", told.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_tenth() {
        let rates = |from: u64, wish| {
            let mut rate = Rate::per_second(from).unwrap();
            let steps = std::iter::from_fn(|| {
                rate = stepped(rate, wish)?;
                // Rates are exact, their floats are not.
                Some((rate.as_per_second_f64() * 1e6).round() / 1e6)
            });
            steps.take(4).collect::<Vec<_>>()
        };
        assert_eq!(rates(1_000, Wish::Faster), [1_100.0, 1_210.0, 1_330.0, 1_460.0]);
        assert_eq!(rates(1_000, Wish::Slower), [909.0, 826.0, 751.0, 683.0]);
        assert_eq!(rates(1, Wish::Faster), [1.1, 1.21, 1.33, 1.46]);
        assert_eq!(rates(10_000_000, Wish::Faster), [0.0; 0]);
    }

    #[test]
    fn presses_in_quick_succession_all_count() {
        let (control, begun) = (http::control(), Rate::per_second(1_000).unwrap());
        let mut waiting = 0;
        // Three presses 50 ms apart, looked for every 10 ms: changes at 0, 0.1 and 0.2 s.
        for tick in 0..40 {
            if [0, 5, 10].contains(&tick) {
                assert!(press(&mut waiting, Wish::Faster));
            }
            step(&mut waiting, begun, &control, Instant::EPOCH + Picos::from_millis(10 * tick));
        }
        let rates: Vec<f64> = control.rates().iter().map(|change| change.rate.as_per_second_f64()).collect();
        assert_eq!((waiting, rates), (0, vec![1_100.0, 1_210.0, 1_330.0]));
    }

    #[test]
    fn a_key_that_was_held_down_soon_stops() {
        let mut waiting = 0;
        let counted = (0..30).filter(|_| press(&mut waiting, Wish::Faster)).count();
        assert_eq!((counted, waiting), (5, 5));
        assert!(press(&mut waiting, Wish::Slower) && waiting == 4);
        // At the highest rate nothing waits any more.
        let fastest = Rate::per_second(10_000_000).unwrap();
        let said = step(&mut waiting, fastest, &http::control(), Instant::EPOCH);
        assert_eq!((said.as_deref(), waiting), (Some("no further"), 0));
    }

    #[test]
    fn changes_are_told() {
        let at = |secs| Instant::EPOCH + Picos::from_secs(secs);
        let change = |secs, rate| Change { at: at(secs), rate: Rate::per_second(rate).unwrap() };
        assert_eq!(label_of(&[], at(0)), None);
        let told = label_of(&[change(12, 1_100), change(20, 1_000)], at(10)).unwrap();
        assert_eq!(told, "the rate was changed by hand: 1 100/s after 2.0 s, 1 000/s after 10.0 s");
        let many = label_of(&[change(12, 1_100); 10], at(10)).unwrap();
        assert!(many.ends_with(", and 2 more changes"), "{many}");
    }
}
