//! The live page: a server of its own thread, and the one drawing that all viewers share.
//!
//! ```text
//! show(Update) ─► [latest only] ─► draw once ─► [latest only] ─► each viewer's event stream
//! end(report)  ─► viewers are told, fetch the report, and the server goes: leave()
//! ```

use crate::server::{Shared, State, router};
use crate::{Address, LiveError, Token, Update};
use os::aside::step_aside;
use seats::Limited;
use std::future::IntoFuture;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use units::Picos;

/// A further one takes the place of one that was never answered, or else of the one that was idle longest.
const CONNECTIONS: usize = 128;
/// How long viewers that are there at the end may take to fetch the report.
const FETCH: Duration = Duration::from_secs(5);
/// How long answers under way may take once the server closes.
const CLOSE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(20);
/// The longest time between two drawings.
const MOST_PAUSE: Duration = Duration::from_secs(10);

/// See the module.
pub struct Page {
    address: SocketAddr,
    shared: Arc<Shared>,
    updates: watch::Sender<Option<Update>>,
    /// Viewers that were there when the run ended.
    left_to_fetch: usize,
    close: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

fn listen(address: Address, token: Option<&Token>) -> Result<std::net::TcpListener, LiveError> {
    match token {
        None if !address.is_loopback() => Err(LiveError::Open { address: address.wanted() }),
        _ => address.listen(),
    }
}

impl Page {
    /// Whether [`Self::start`] could: its address is taken for a moment.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(address: Address, token: Option<&Token>) -> Result<(), LiveError> {
        listen(address, token).map(drop)
    }

    /// Serves a page that says nothing yet. `cpus` are left to the engine. Refuses an address that others can
    /// reach, unless there is a token.
    pub fn start(address: Address, token: Option<Token>, cpus: &[u32]) -> Result<Self, LiveError> {
        let listener = listen(address, token.as_ref())?;
        let bound = listener.local_addr().map_err(LiveError::Thread)?;
        listener.set_nonblocking(true).map_err(LiveError::Thread)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(LiveError::Thread)?;
        let listener = {
            let _inside = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener).map_err(LiveError::Thread)?;
            Limited::new(listener, CONNECTIONS)
        };
        let shared = Arc::new(Shared::new(bound, token));
        let (updates, latest) = watch::channel(None);
        let (close, closed) = oneshot::channel();
        let (there, cpus) = (shared.clone(), cpus.to_vec());
        let thread = std::thread::Builder::new().name("tare-live".to_owned()).spawn(move || {
            step_aside(&cpus);
            serve(runtime, listener, there, latest, closed);
        });
        let thread = Some(thread.map_err(LiveError::Thread)?);
        Ok(Self { address: bound, shared, updates, left_to_fetch: 0, close: Some(close), thread })
    }

    /// Where a browser finds it; with the token, which is a secret.
    pub fn url(&self) -> String {
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => rustix::system::uname().nodename().to_string_lossy().into_owned(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            ip => ip.to_string(),
        };
        let token = self.shared.token().map_or_else(String::new, |token| format!("?token={}", token.text()));
        format!("http://{host}:{}/{token}", self.address.port())
    }

    /// Whether an update is wanted now: `is_new` if there is a newer one than the last that was shown.
    pub fn wants(&self, is_new: bool) -> bool {
        self.shared.was_asked() || (is_new && self.shared.viewers() > 0)
    }

    /// The run so far.
    pub fn show(&self, update: Update) {
        self.updates.send_replace(Some(update));
    }

    /// The run is over: from now on the page is the report.
    pub fn end(&mut self, report_html: String) {
        self.left_to_fetch = self.shared.viewers();
        self.shared.state.send_replace(State::Ended { report: report_html.into() });
    }

    /// Waits until those who watched have the report (5 s at most) and for as long as is asked for beyond; at
    /// once when `hurry` is set. Then closes.
    pub fn leave(mut self, linger: Picos, hurry: &AtomicBool) {
        let steps = |time: Duration| time.as_millis().div_ceil(STEP.as_millis());
        let (fetching, whole) = (steps(FETCH), steps(linger.as_std()));
        for step in 0..whole.max(fetching) {
            let all_have_it = self.shared.fetched() >= self.left_to_fetch || step >= fetching;
            if hurry.load(Ordering::Relaxed) || (all_have_it && step >= whole) {
                break;
            }
            std::thread::sleep(STEP);
        }
        self.close();
    }

    fn close(&mut self) {
        // Gone already: then there is nothing to close.
        let _ = self.close.take().map(|close| close.send(()));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.close();
    }
}

fn serve(
    runtime: Runtime,
    listener: Limited,
    shared: Arc<Shared>,
    latest: watch::Receiver<Option<Update>>,
    closed: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        tokio::spawn(draw(shared.clone(), latest));
        let (tell, told) = oneshot::channel::<()>();
        let serving = axum::serve(listener, router(shared.clone())).with_graceful_shutdown(async {
            let _ = told.await;
        });
        let server = tokio::spawn(serving.into_future());
        let _ = closed.await;
        let _ = tell.send(());
        // Before the end streams have no end of their own.
        if shared.has_ended() {
            let _ = tokio::time::timeout(CLOSE, server).await;
        }
    });
}

/// Draws each update once, for all. Takes no more than 1 % of a CPU: a picture that costs more than 10 ms (that
/// of a long run) comes less often than once a second.
async fn draw(shared: Arc<Shared>, mut latest: watch::Receiver<Option<Update>>) {
    while latest.changed().await.is_ok() {
        let before = cpu_time();
        let Some(update) = latest.borrow_and_update().clone() else { continue };
        let drawing = report::live_main(&update.result, &update.timeline);
        shared.draw(drawing, &report::title(&update.result));
        tokio::time::sleep(pause_after(cpu_time().saturating_sub(before))).await;
    }
}

/// After a drawing that took so much CPU time.
fn pause_after(drawing: Duration) -> Duration {
    // Those that come each second need no pause below 10 ms.
    (drawing * 99).saturating_sub(Duration::from_millis(10)).min(MOST_PAUSE)
}

/// Of this thread.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    use store::RunResult;

    fn page() -> Page {
        Page::start("127.0.0.1:0".parse().unwrap(), None, &[]).unwrap()
    }

    fn ask(page: &Page, path: &str) -> BufReader<TcpStream> {
        let mut socket = TcpStream::connect(page.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(socket, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        BufReader::new(socket)
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        for _ in 0..1_000 {
            if is_so() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it did not come within 5 s");
    }

    fn update(target: &str) -> Update {
        let result = RunResult { target: target.to_owned(), ..RunResult::default() };
        Update { result: Arc::new(result), timeline: Arc::default() }
    }

    #[test]
    fn updates_are_wanted_only_while_somebody_looks() {
        let page = page();
        assert!(!page.wants(true));
        let events = ask(&page, "/events");
        wait_until(|| page.shared.viewers() == 1);
        assert!(page.wants(false), "a new viewer gets the past at once");
        assert!(!page.wants(false) && page.wants(true));
        drop(events);
        // The server sees that it has gone when it writes next.
        wait_until(|| {
            page.show(update("t"));
            page.shared.viewers() == 0
        });
        assert!(!page.wants(true));
    }

    #[test]
    fn sockets_that_are_left_idle_keep_nobody_out() {
        let mut page = page();
        let mut watching = ask(&page, "/events");
        wait_until(|| page.shared.viewers() == 1);
        // More than the server holds; those that it gives up are the first of them.
        let idle: Vec<_> = (0..300).map(|_| TcpStream::connect(page.address).unwrap()).collect();
        page.end("<p>report</p>".to_owned());
        let mut report = String::new();
        ask(&page, "/").read_to_string(&mut report).unwrap();
        assert!(report.ends_with("<p>report</p>"), "{report}");
        let mut events = String::new();
        watching.read_to_string(&mut events).unwrap();
        assert!(events.contains("event: end"), "{events}");
        drop(idle);
    }

    #[test]
    fn a_viewer_that_does_not_read_holds_nobody_up() {
        let mut page = page();
        let _slow = ask(&page, "/events");
        let mut quick = ask(&page, "/events");
        wait_until(|| page.shared.viewers() == 2);
        // Far more than the kernel holds for one that does not read.
        let mut line = String::new();
        page.show(update("first"));
        while !line.contains("first") {
            line.clear();
            assert!(quick.read_line(&mut line).unwrap() > 0);
        }
        for round in 0..60 {
            page.shared.draw(format!("{}round-{round}.", "x".repeat(200_000)), "t");
            while !line.contains(&format!("round-{round}.")) {
                line.clear();
                assert!(quick.read_line(&mut line).unwrap() > 0, "round {round}");
            }
        }
        page.end("<p>report</p>".to_owned());
        let mut rest = String::new();
        quick.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("event: end"));
        let mut report = String::new();
        ask(&page, "/").read_to_string(&mut report).unwrap();
        assert!(report.ends_with("<p>report</p>"));
        let hurry = AtomicBool::new(true);
        page.leave(Picos::from_secs(60), &hurry);
    }

    #[test]
    fn drawing_takes_a_hundredth_of_a_cpu_at_most() {
        let pause = |millis| pause_after(Duration::from_millis(millis)).as_millis();
        // 50 ms of drawing and 4 940 ms of pause, less than 1 % of 5 s.
        assert_eq!([pause(0), pause(10), pause(50), pause(500)], [0, 980, 4_940, 10_000]);
    }

    #[test]
    fn an_address_that_others_reach_is_refused_without_a_token() {
        let open = || "0.0.0.0:0".parse().unwrap();
        assert!(matches!(Page::start(open(), None, &[]), Err(LiveError::Open { .. })));
        // The message names what was asked for.
        for (typed, named) in [("0.0.0.0:9000", "0.0.0.0:9000"), ("0.0.0.0", "0.0.0.0:8273")] {
            let refused = Page::start(typed.parse().unwrap(), None, &[]).err().unwrap().to_string();
            assert!(refused.contains(&format!("--live {named}:")), "{refused}");
        }
        let page = Page::start(open(), Some(Token::read("0123456789ab").unwrap()), &[]).unwrap();
        assert!(page.url().ends_with("/?token=0123456789ab") && !page.url().contains("0.0.0.0"));
    }
}
