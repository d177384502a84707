//! A listener with a bound on connections: each holds one permit until it is closed.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Further connections wait in the kernel's queue.
const CONNECTIONS: usize = 128;

pub struct Limited {
    listener: TcpListener,
    permits: Arc<Semaphore>,
}

impl Limited {
    pub fn new(listener: TcpListener) -> Self {
        Self { listener, permits: Arc::new(Semaphore::new(CONNECTIONS)) }
    }
}

impl axum::serve::Listener for Limited {
    type Io = Held;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Held, SocketAddr) {
        let permit = self.permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        // axum's own: waits a second after such errors as a lack of descriptors.
        let (stream, from) = axum::serve::Listener::accept(&mut self.listener).await;
        (Held { stream, _permit: permit }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection and its permit.
pub struct Held {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, to)
    }
}

impl AsyncWrite for Held {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
