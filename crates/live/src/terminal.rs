//! The view that fills a terminal while a run goes on.
//!
//! ```text
//! cli ─ show(Update) ─► [latest only] ─► thread: draw once a second, read keys ─► wish()
//!                                          └─► screen.rs: puts the terminal back, whatever happens
//! ```

mod draw;
mod keys;
mod screen;

use crate::{About, LiveError, Signals, Update, Wish};
use keys::{Action, action};
use os::aside::step_aside;
use ratatui::crossterm::event::{self, Event};
use screen::Screen;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often keys and updates are looked for.
const PATIENCE: Duration = Duration::from_millis(100);
/// Seconds for which a message stays.
const MESSAGE_STAYS: u8 = 6;

/// What is shown now.
#[derive(Debug, Default)]
pub(crate) struct View {
    about: About,
    update: Option<Update>,
    /// The picture stands.
    is_paused: bool,
    has_help: bool,
    message: String,
    /// Updates until the message goes.
    message_stays: u8,
}

#[derive(Debug, Default)]
struct Inbox {
    update: Option<Update>,
    message: Option<String>,
}

/// See the module.
pub struct Terminal {
    inbox: Arc<Mutex<Inbox>>,
    wishes: Receiver<Wish>,
    leave: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Takes the terminal at standard error. `cpus` are left to the engine.
    pub fn start(about: About, signals: Signals, cpus: &[u32]) -> Result<Self, LiveError> {
        let screen = Screen::enter().map_err(LiveError::Terminal)?;
        let inbox = Arc::new(Mutex::new(Inbox::default()));
        let leave = Arc::new(AtomicBool::new(false));
        let (wish, wishes) = channel();
        let (there, told, cpus) = (inbox.clone(), leave.clone(), cpus.to_vec());
        let thread = std::thread::Builder::new().name("tare-view".to_owned()).spawn(move || {
            step_aside(&cpus);
            let mut looper = Looper {
                view: View { about, ..View::default() },
                inbox: there,
                wish,
                signals: signals.clone(),
                leave: told,
            };
            looper.run(screen);
            if signals.stop.load(Ordering::SeqCst) {
                signals.restored.store(true, Ordering::SeqCst);
            }
        });
        Ok(Self { inbox, wishes, leave, thread: Some(thread.map_err(LiveError::Thread)?) })
    }

    /// The run so far.
    pub fn show(&self, update: Update) {
        self.inbox().update = Some(update);
    }

    /// A sentence for a while.
    pub fn tell(&self, message: String) {
        self.inbox().message = Some(message);
    }

    /// What was asked for since.
    pub fn wish(&self) -> Option<Wish> {
        self.wishes.try_recv().ok()
    }

    /// Whether the screen is still in use: the view has not been left.
    pub fn is_there(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn inbox(&self) -> std::sync::MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.leave.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Looper {
    view: View,
    inbox: Arc<Mutex<Inbox>>,
    wish: Sender<Wish>,
    signals: Signals,
    leave: Arc<AtomicBool>,
}

impl Looper {
    /// Until the run is over or is to be, or the terminal has gone.
    fn run(&mut self, mut screen: Screen) {
        let mut is_stale = true;
        while !self.leave.load(Ordering::Relaxed) && !self.signals.stop.load(Ordering::Relaxed) {
            is_stale |= self.take();
            if std::mem::take(&mut is_stale) && screen.draw(|frame| draw::draw(frame, &self.view)).is_err() {
                return;
            }
            match event::poll(PATIENCE) {
                Ok(false) => {}
                Ok(true) => match event::read() {
                    Ok(Event::Key(key)) => is_stale |= self.act(action(key)),
                    Ok(Event::Resize(..)) => is_stale = true,
                    Ok(_) => {}
                    Err(_) => return,
                },
                Err(_) => return,
            }
        }
    }

    /// What came in since; whether it changes the picture.
    fn take(&mut self) -> bool {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let message = inbox.message.take();
        let update = if self.view.is_paused { None } else { inbox.update.take() };
        drop(inbox);
        let is_new = message.is_some() || update.is_some();
        if let Some(message) = message {
            self.say(message);
        }
        if update.is_some() {
            self.view.update = update;
            self.view.message_stays = self.view.message_stays.saturating_sub(1);
            if self.view.message_stays == 0 {
                self.view.message.clear();
            }
        }
        is_new
    }

    fn say(&mut self, message: String) {
        (self.view.message, self.view.message_stays) = (message, MESSAGE_STAYS);
    }

    /// Does what a key asks for; whether that changes the picture.
    fn act(&mut self, action: Action) -> bool {
        let view = &mut self.view;
        match action {
            Action::Nothing => return false,
            Action::Pause => view.is_paused = !view.is_paused,
            Action::Help => view.has_help = !view.has_help,
            Action::Back => (view.has_help, view.is_paused) = (false, false),
            Action::Stop => self.signals.stop.store(true, Ordering::SeqCst),
            Action::Wish(wish) => match view.about.fixed_rate.clone() {
                Some(why) => self.say(why),
                // The run has ended: then nobody listens.
                None => drop(self.wish.send(wish)),
            },
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looper(fixed_rate: Option<&str>) -> (Looper, Receiver<Wish>) {
        let (wish, wishes) = channel();
        let about = About { fixed_rate: fixed_rate.map(str::to_owned), ..About::default() };
        let looper = Looper {
            view: View { about, ..View::default() },
            inbox: Arc::default(),
            wish,
            signals: Signals::default(),
            leave: Arc::default(),
        };
        (looper, wishes)
    }

    fn update() -> Update {
        Update { result: Arc::default(), timeline: Arc::default() }
    }

    #[test]
    fn a_paused_view_takes_no_update_until_it_goes_on() {
        let (mut looper, _wishes) = looper(None);
        looper.act(Action::Pause);
        looper.inbox.lock().unwrap().update = Some(update());
        assert!(!looper.take());
        assert!(looper.view.update.is_none());
        looper.act(Action::Pause);
        assert!(looper.take() && looper.view.update.is_some());
    }

    #[test]
    fn a_rate_that_is_fixed_says_why() {
        let (mut fixed, wishes) = looper(Some("a closed loop has no rate"));
        assert!(fixed.act(Action::Wish(Wish::Faster)));
        assert_eq!(fixed.view.message, "a closed loop has no rate");
        assert!(wishes.try_recv().is_err());
        let (mut free, wishes) = looper(None);
        free.act(Action::Wish(Wish::Slower));
        assert_eq!(wishes.try_recv(), Ok(Wish::Slower));
    }

    #[test]
    fn stopping_is_what_a_signal_does() {
        let (mut looper, _wishes) = looper(None);
        looper.act(Action::Stop);
        assert!(looper.signals.stop.load(Ordering::SeqCst));
    }
}
