//! A listener with a bound on connections: a further one takes the seat of one that was never answered, as it
//! asked for nothing; if there is none, of the one on which nothing has happened for the longest. Sockets that
//! are opened and left idle keep nobody out, and turn nobody out who was answered.

#![forbid(unsafe_code)]

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The connections that are open.
#[derive(Clone, Default)]
struct Seats {
    taken: Arc<Mutex<Vec<Arc<Seat>>>>,
    /// How often bytes were moved, on all of them.
    moves: Arc<AtomicU64>,
}

/// See above.
pub struct Limited {
    listener: TcpListener,
    connections: usize,
    seats: Seats,
}

impl Limited {
    /// At most `connections` at once.
    pub fn new(listener: TcpListener, connections: usize) -> Self {
        Self { listener, connections, seats: Seats::default() }
    }
}

impl axum::serve::Listener for Limited {
    type Io = Held;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Held, SocketAddr) {
        // axum's own: waits a second after such errors as a lack of descriptors.
        let (stream, from) = axum::serve::Listener::accept(&mut self.listener).await;
        let seat = Arc::new(Seat::default());
        self.seats.moved(&seat);
        let mut seats = self.seats.taken.lock().expect("nobody panics while holding it");
        if seats.len() >= self.connections
            && let Some(idlest) = (0..seats.len()).min_by_key(|at| seats[*at].state().claim())
        {
            seats.swap_remove(idlest).take_away();
        }
        seats.push(seat.clone());
        (Held { stream, seat, seats: self.seats.clone() }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// What a connection and the listener know of each other.
#[derive(Default)]
struct Seat(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of its last move.
    moved: u64,
    answered: bool,
    taken_away: bool,
    reader: Option<Waker>,
}

impl State {
    /// The smallest of all loses its seat.
    const fn claim(&self) -> (bool, u64) {
        (self.answered, self.moved)
    }
}

impl Seat {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics while holding it")
    }

    fn take_away(&self) {
        let mut state = self.state();
        state.taken_away = true;
        state.reader.take().into_iter().for_each(Waker::wake);
    }
}

impl Seats {
    fn moved(&self, seat: &Seat) {
        seat.state().moved = self.moves.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection in its seat.
pub struct Held {
    stream: TcpStream,
    seat: Arc<Seat>,
    seats: Seats,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut seats = self.seats.taken.lock().expect("nobody panics while holding it");
        seats.retain(|seat| !Arc::ptr_eq(seat, &self.seat));
    }
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        {
            let mut state = self.seat.state();
            if state.taken_away {
                // As if the other side had closed.
                return Poll::Ready(Ok(()));
            }
            state.reader = Some(cx.waker().clone());
        }
        let read = Pin::new(&mut self.stream).poll_read(cx, to);
        if read.is_ready() {
            self.seats.moved(&self.seat);
        }
        read
    }
}

impl AsyncWrite for Held {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, from);
        if written.is_ready() {
            self.seat.state().answered = true;
            self.seats.moved(&self.seat);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
