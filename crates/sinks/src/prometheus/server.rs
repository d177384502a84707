//! The page that Prometheus scrapes: one thread, at most [`CONNECTIONS`] at a time.

use super::{protobuf, text};
use crate::metrics::Cumulative;
use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Further ones wait in the kernel's queue.
const CONNECTIONS: usize = 16;
/// How long the last answers may take once the server is to end.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What the sink's thread changes and scrapes read.
#[derive(Default)]
pub struct Page {
    state: Mutex<Contents>,
    scraped: Condvar,
}

#[derive(Default)]
struct Contents {
    figures: Cumulative,
    /// The figures of the whole run were read.
    read_to_the_end: bool,
}

impl Page {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        // A panic of a reader leaves figures that are still figures.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn change(&self, change: impl FnOnce(&mut Cumulative)) {
        change(&mut self.lock().figures);
    }

    /// Waits until the end of the run was scraped; `false`: nobody came.
    pub fn wait_for_last_scrape(&self, patience: Duration) -> bool {
        let waited =
            self.scraped.wait_timeout_while(self.lock(), patience, |contents| !contents.read_to_the_end);
        waited.unwrap_or_else(PoisonError::into_inner).0.read_to_the_end
    }

    fn render(&self, as_protobuf: bool) -> (&'static str, Vec<u8>) {
        let mut contents = self.lock();
        if contents.figures.is_over() {
            contents.read_to_the_end = true;
            self.scraped.notify_all();
        }
        match as_protobuf {
            true => (protobuf::CONTENT_TYPE, protobuf::render(&contents.figures)),
            false => (text::CONTENT_TYPE, text::render(&contents.figures).into_bytes()),
        }
    }
}

/// A server at work; it ends when it is dropped.
pub struct Server {
    at: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    over: Receiver<()>,
}

impl Server {
    pub fn start(listener: std::net::TcpListener, path: String, page: Arc<Page>) -> io::Result<Self> {
        let at = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, over) = channel();
        let serve = move || {
            runtime.block_on(serve(listener, path, page, stopped));
            let _ = tell.send(());
        };
        std::thread::Builder::new().name("tare-scrapes".to_owned()).spawn(serve)?;
        Ok(Self { at, stop: Some(stop), over })
    }

    pub fn address(&self) -> SocketAddr {
        self.at
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        // Whoever reads slower than that does not get the rest.
        let _ = self.over.recv_timeout(LAST_ANSWERS);
    }
}

async fn serve(
    listener: std::net::TcpListener,
    path: String,
    page: Arc<Page>,
    stopped: oneshot::Receiver<()>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let listener = Limited { listener, room: Arc::new(Semaphore::new(CONNECTIONS)) };
    let router = Router::new().fallback(answer).with_state(Arc::new((path, page)));
    let until = async {
        let _ = stopped.await;
    };
    // It ends with `until`; errors of single connections are not its own.
    let _ = axum::serve(listener, router).with_graceful_shutdown(until).await;
}

async fn answer(
    State(site): State<Arc<(String, Arc<Page>)>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let (path, page) = site.as_ref();
    if uri.path() != path {
        return (StatusCode::NOT_FOUND, format!("The figures are at {path}\n")).into_response();
    }
    if method != Method::GET {
        return (StatusCode::METHOD_NOT_ALLOWED, "GET them\n").into_response();
    }
    let accept = headers.get_all(ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    let (kind, body) = page.render(accept.into_iter().any(protobuf::is_asked_for));
    ([(CONTENT_TYPE, kind)], body).into_response()
}

/// Accepts while there is room.
struct Limited {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl Listener for Limited {
    type Io = Guest;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guest, SocketAddr) {
        let room = self.room.clone().acquire_owned().await.expect("the semaphore is never closed");
        let (stream, from) = Listener::accept(&mut self.listener).await;
        (Guest { stream, _room: room }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection, which gives its room back when it ends.
struct Guest {
    stream: TcpStream,
    _room: OwnedSemaphorePermit,
}

impl AsyncRead for Guest {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Guest {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
