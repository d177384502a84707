//! What the page's server answers.
//!
//! | path | answer |
//! |---|---|
//! | `/` | the page with all that is known by now; after the end, the report |
//! | `/events` | server-sent events: `update` with a new drawing each second, `end` when the report is there |
//!
//! Every request must name this machine (or bring the token, where there is one); every answer forbids scripts,
//! fonts and pictures from elsewhere.

use crate::Token;
use crate::address::names_loopback;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State as With};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{Stream, unfold};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// Viewers at once; further ones are told to wait.
const VIEWERS: usize = 32;
/// How long a new viewer's page waits for its first drawing.
const FIRST: Duration = Duration::from_millis(1_500);
/// Without a new drawing for so long, viewers are told that the run is still there.
const QUIET: Duration = Duration::from_secs(5);
/// The fields of an event.
const EVENT: &[u8] = b"event: ";
const DATA: &[u8] = b"data: ";
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const SCRIPT: &str = include_str!("live.js");

/// What viewers are shown.
#[derive(Clone, Debug, Default)]
pub enum State {
    /// No interval has ended yet.
    #[default]
    Waiting,
    Running {
        title: Arc<str>,
        /// The drawing as an event, shared by all viewers: it is large, and there is one of it.
        event: Bytes,
    },
    Ended {
        report: Bytes,
    },
}

/// Between the run's threads and the server's.
pub struct Shared {
    pub state: watch::Sender<State>,
    token: Option<Token>,
    /// Only programs of this machine can reach it.
    is_loopback: bool,
    /// Cookies are shared by all ports of a host.
    cookie: String,
    asked: AtomicBool,
    viewers: AtomicUsize,
    fetched: AtomicUsize,
}

impl Shared {
    pub fn new(bound: SocketAddr, token: Option<Token>) -> Self {
        Self {
            state: watch::Sender::new(State::Waiting),
            token,
            is_loopback: bound.ip().is_loopback(),
            cookie: format!("tare_live_{}", bound.port()),
            asked: AtomicBool::new(false),
            viewers: AtomicUsize::new(0),
            fetched: AtomicUsize::new(0),
        }
    }

    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Somebody new came since this was asked last.
    pub fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && self.asked.swap(false, Ordering::Relaxed)
    }

    pub fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    /// How many took the report.
    pub fn fetched(&self) -> usize {
        self.fetched.load(Ordering::Relaxed)
    }

    pub fn has_ended(&self) -> bool {
        matches!(*self.state.borrow(), State::Ended { .. })
    }

    /// A new drawing for all.
    pub fn draw(&self, main: String, title: &str) {
        let running = State::Running { title: title.into(), event: event("update", main) };
        self.state.send_if_modified(|state| match state {
            State::Ended { .. } => false,
            _ => {
                *state = running;
                true
            }
        });
    }

    fn cookie_of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.cookie).map(|(_, value)| value)
    }

    /// Who may watch: whoever can reach a loopback address under its own name, or has the token.
    fn admits(&self, uri: &Uri, headers: &HeaderMap) -> Admission {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if self.is_loopback && !names_loopback(host) {
            return Admission::WrongName;
        }
        let Some(token) = &self.token else { return Admission::Free };
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let asked = uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("token="));
        if asked.is_some_and(|asked| token.is(asked)) {
            return Admission::WithCookie;
        }
        let known = [bearer, self.cookie_of(headers)].into_iter().flatten().any(|text| token.is(text));
        if known { Admission::Free } else { Admission::NoToken }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    Free,
    /// By the address that was printed: from now on a cookie will do.
    WithCookie,
    WrongName,
    NoToken,
}

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/events", get(events))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is only / and /events\n") })
        .layer(from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// In front of everything.
async fn guard(With(shared): With<Arc<Shared>>, request: Request, next: Next) -> Response {
    let admission = shared.admits(request.uri(), request.headers());
    let mut response = match admission {
        Admission::WrongName => {
            (StatusCode::MISDIRECTED_REQUEST, "this page answers only to localhost and 127.0.0.1\n")
                .into_response()
        }
        Admission::NoToken => {
            let said = "a token is needed: open the address that tare printed, or send Authorization: Bearer TOKEN\n";
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], said).into_response()
        }
        Admission::Free | Admission::WithCookie => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let (Admission::WithCookie, Some(token)) = (admission, shared.token()) {
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", shared.cookie, token.text());
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            headers.insert(header::SET_COOKIE, value);
        }
    }
    response
}

async fn page(With(shared): With<Arc<Shared>>) -> Response {
    let mut state = shared.state.subscribe();
    if !matches!(*state.borrow_and_update(), State::Ended { .. }) {
        // What is there may be as old as the last viewer.
        shared.asked.store(true, Ordering::Relaxed);
        let _ = tokio::time::timeout(FIRST, state.changed()).await;
    }
    let state = state.borrow().clone();
    match state {
        State::Ended { report } => {
            shared.fetched.fetch_add(1, Ordering::Relaxed);
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], report).into_response()
        }
        State::Running { title, event } => {
            Html(report::page_shell(&title, &data(&event), SCRIPT)).into_response()
        }
        State::Waiting => {
            let main = "<p>The run is about to begin: its first figures come after a second.</p>";
            Html(report::page_shell("tare", main, SCRIPT)).into_response()
        }
    }
}

async fn events(With(shared): With<Arc<Shared>>) -> Response {
    let Some(viewer) = Viewer::enter(shared.clone()) else {
        let said = format!("{VIEWERS} are watching already\n");
        return (StatusCode::SERVICE_UNAVAILABLE, said).into_response();
    };
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream(viewer))).into_response()
}

/// As server-sent events have it: each line of `text` behind the name of its field. A carriage return would end
/// a line as well. Made in the text's own memory: there are hundreds of kilobytes of it, each second.
fn event(name: &str, text: String) -> Bytes {
    let mut event = text.into_bytes();
    let length = event.len();
    let lines = event.iter().filter(|byte| **byte == b'\n').count() + 1;
    let head = EVENT.len() + name.len();
    let whole = head + length + lines * (DATA.len() + 1) - (lines - 1) + 2;
    event.resize(whole, b'\n');
    // From behind, so that nothing is overwritten before it has moved.
    let mut to = whole - 2;
    for from in (0..length).rev() {
        match event[from] {
            b'\n' => {
                to -= DATA.len() + 1;
                event[to] = b'\n';
                event[to + 1..to + 1 + DATA.len()].copy_from_slice(DATA);
            }
            byte => {
                to -= 1;
                event[to] = if byte == b'\r' { b' ' } else { byte };
            }
        }
    }
    event[head..to].copy_from_slice(&[b"\n", DATA].concat());
    event[..EVENT.len()].copy_from_slice(EVENT);
    event[EVENT.len()..head].copy_from_slice(name.as_bytes());
    event.into()
}

/// The text in an event.
fn data(event: &[u8]) -> String {
    let lines = event.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(DATA));
    String::from_utf8_lossy(&lines.collect::<Vec<_>>().join(&b'\n')).into_owned()
}

/// Counts while it is there.
struct Viewer(Arc<Shared>);

impl Viewer {
    fn enter(shared: Arc<Shared>) -> Option<Self> {
        let viewer = Self(shared);
        // Counted first: what is one too many leaves again.
        let before = viewer.0.viewers.fetch_add(1, Ordering::Relaxed);
        (before < VIEWERS).then_some(viewer)
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The latest state at once and whenever it changes. A viewer that is slower than that sees fewer of them; the
/// report is the last.
fn stream(viewer: Viewer) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let mut state = viewer.0.state.subscribe();
    state.mark_changed();
    viewer.0.asked.store(true, Ordering::Relaxed);
    unfold(Some((viewer, state)), |watching| async move {
        let (viewer, mut state) = watching?;
        let Ok(changed) = tokio::time::timeout(QUIET, state.changed()).await else {
            return Some((Ok(Bytes::from_static(b":\n\n")), Some((viewer, state))));
        };
        changed.ok()?;
        let now = state.borrow_and_update().clone();
        Some(match now {
            State::Waiting => (Ok(Bytes::from_static(b": about to begin\n\n")), Some((viewer, state))),
            State::Running { event, .. } => (Ok(event), Some((viewer, state))),
            State::Ended { .. } => (Ok(event("end", "the run has ended".to_owned())), None),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn a_loopback_page_answers_to_its_own_names_only() {
        let shared = Shared::new("127.0.0.1:8273".parse().unwrap(), None);
        let admission = |host| shared.admits(&Uri::from_static("/"), &headers(&[(header::HOST, host)]));
        assert_eq!(admission("localhost:8273"), Admission::Free);
        assert_eq!(admission("127.0.0.1:9000"), Admission::Free, "the port may have been forwarded");
        assert_eq!(admission("rebound.example:8273"), Admission::WrongName);
        assert_eq!(shared.admits(&Uri::from_static("/"), &HeaderMap::new()), Admission::WrongName);
    }

    #[test]
    fn a_token_comes_in_the_address_a_cookie_or_a_header() {
        let token = Token::read("0123456789ab").unwrap();
        let shared = Shared::new("0.0.0.0:8273".parse().unwrap(), Some(token));
        let bare = || (header::HOST, "host.example:8273");
        let admission = |uri, more: Vec<(HeaderName, &str)>| {
            let all: Vec<_> = std::iter::once(bare()).chain(more).collect();
            shared.admits(&Uri::from_static(uri), &headers(&all))
        };
        assert_eq!(admission("/", vec![]), Admission::NoToken);
        assert_eq!(admission("/?token=0123456789ab", vec![]), Admission::WithCookie);
        assert_eq!(admission("/?a=b&token=0123456789ab", vec![]), Admission::WithCookie);
        assert_eq!(admission("/?token=0123456789aX", vec![]), Admission::NoToken);
        let cookie = |text| admission("/events", vec![(header::COOKIE, text)]);
        assert_eq!(cookie("a=b; tare_live_8273=0123456789ab"), Admission::Free);
        assert_eq!(cookie("tare_live_8274=0123456789ab"), Admission::NoToken);
        let bearer = |text| admission("/events", vec![(header::AUTHORIZATION, text)]);
        assert_eq!(bearer("Bearer 0123456789ab"), Admission::Free);
        assert_eq!(bearer("0123456789ab"), Admission::NoToken);
    }

    #[test]
    fn viewers_are_counted_and_bounded() {
        let shared = Arc::new(Shared::new("127.0.0.1:1".parse().unwrap(), None));
        let all: Vec<_> = (0..VIEWERS).map(|_| Viewer::enter(shared.clone()).unwrap()).collect();
        assert!(Viewer::enter(shared.clone()).is_none());
        assert_eq!(shared.viewers(), VIEWERS);
        drop(all);
        assert_eq!(shared.viewers(), 0);
    }

    #[test]
    fn nothing_is_drawn_over_the_report() {
        let shared = Shared::new("127.0.0.1:1".parse().unwrap(), None);
        shared.draw("<p>a\rb\n</p>".to_owned(), "t");
        let drawn = |state: &State| match state {
            State::Running { event, .. } => (event.clone(), data(event)),
            other => panic!("{other:?}"),
        };
        let (bytes, text) = drawn(&shared.state.borrow());
        assert_eq!(&bytes[..], b"event: update\ndata: <p>a b\ndata: </p>\n\n");
        assert_eq!(text, "<p>a b\n</p>");
        shared.state.send_replace(State::Ended { report: Bytes::from_static(b"report") });
        shared.draw("late".to_owned(), "t");
        assert!(shared.has_ended());
    }
}
