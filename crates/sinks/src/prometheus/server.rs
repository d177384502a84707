//! The page that Prometheus scrapes: one thread, at most [`CONNECTIONS`] at a time.

use super::{protobuf, text};
use crate::metrics::Cumulative;
use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use seats::Limited;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A further one takes the place of one that was never answered, or else of the one that was idle longest.
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
    let listener = Limited::new(listener, CONNECTIONS);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    /// The first line of the reply to a request on this connection.
    fn asked(connection: &mut TcpStream) -> String {
        connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        connection.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let (mut reply, mut piece) = (Vec::new(), [0; 4_096]);
        while !reply.windows(4).any(|end| end == b"\r\n\r\n") {
            match connection.read(&mut piece).unwrap_or(0) {
                0 => break,
                count => reply.extend_from_slice(&piece[..count]),
            }
        }
        String::from_utf8_lossy(&reply).lines().next().unwrap_or("nothing").to_owned()
    }

    #[test]
    fn connections_that_ask_for_nothing_keep_no_scraper_out() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server::start(listener, "/metrics".to_owned(), Arc::default()).unwrap();
        let connect = || TcpStream::connect(server.address()).unwrap();
        let mut kept = connect();
        assert_eq!(asked(&mut kept), "HTTP/1.1 200 OK");
        let mut idle: Vec<TcpStream> = (0..3 * CONNECTIONS).map(|_| connect()).collect();
        // Half a request is none.
        idle.iter_mut().for_each(|connection| connection.write_all(b"GET /metr").unwrap_or_default());
        assert_eq!(asked(&mut connect()), "HTTP/1.1 200 OK");
        assert_eq!(asked(&mut kept), "HTTP/1.1 200 OK", "a scraper keeps its connection");
    }
}
