//! `prometheus://ADDRESS:PORT/metrics`: a page that Prometheus scrapes while the run goes on, and once after
//! it.
//!
//! ```text
//! rows ─► Cumulative ─► /metrics ◄─ GET ─ Prometheus
//!                       text 0.0.4, or protobuf with native histograms for one that asks for it
//! ```
//!
//! Only on loopback unless `?public=1`: whoever reaches it reads it. After the run it stays until the final
//! figures were scraped, at most `?linger=15s`. docs/sinks.md has the names and the buckets.

mod names;
mod native;
mod protobuf;
mod server;
mod text;

pub(crate) use names::{name, number};
pub(crate) use native::{BucketSpan, SCHEMA, ZERO_THRESHOLD, spans};

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::metrics::Cumulative;
use crate::place::{Address, Place, SinkKind};
use server::{Page, Server};
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use store::RunResult;
use units::Picos;

/// Of "Tare" on a telephone's keys, in the range where exporters live.
const PORT: u16 = 9827;
/// Prometheus looks every 15 s in most set-ups.
const LINGER: Picos = Picos::from_secs(15);
const LONGEST_LINGER: Picos = Picos::from_secs(300);

pub const KIND: SinkKind = SinkKind {
    schemes: &["prometheus"],
    form: "prometheus://ADDRESS[:PORT][/PATH]",
    about: "a page that Prometheus scrapes",
    address: Address::Url,
    options: &["public", "linger"],
    open,
};

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    let (url, public) = (place.url(), place.flag("public")?);
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let at: Vec<SocketAddr> = (host, url.port().unwrap_or(PORT))
        .to_socket_addrs()
        .map_err(|why| place.wrong(format!("{host} is not an address to listen on ({why})")))?
        .collect();
    if !public && at.iter().any(|at| !at.ip().is_loopback()) {
        return Err(place.wrong(
            "anyone on the network could read this; name an address of 127.0.0.0/8, or add ?public=1",
        ));
    }
    let linger = place.time("linger")?.unwrap_or(LINGER);
    if linger > LONGEST_LINGER {
        return Err(place.wrong(format!("linger is at most {LONGEST_LINGER}")));
    }
    let path = if url.path().len() > 1 { url.path() } else { "/metrics" };
    Ok(Box::new(Scraped {
        place: place.clone(),
        at,
        path: path.to_owned(),
        linger: Duration::from_nanos(linger.as_nanos()),
        page: Arc::default(),
        server: None,
    }))
}

struct Scraped {
    place: Place,
    at: Vec<SocketAddr>,
    path: String,
    linger: Duration,
    page: Arc<Page>,
    server: Option<Server>,
}

impl Scraped {
    fn trouble(&self, why: &std::io::Error) -> SinkError {
        match why.kind() {
            ErrorKind::AddrInUse => {
                self.place.refused("another program listens there; name another port, or 0 for a free one")
            }
            ErrorKind::AddrNotAvailable => self.place.refused("this host does not have that address"),
            ErrorKind::PermissionDenied => {
                self.place.refused("ports below 1024 need privileges; name another")
            }
            _ => self.place.refused(why.to_string()),
        }
    }

    /// What could not be known before; once. That it cannot be printed changes nothing.
    fn tell(&self, what: std::fmt::Arguments<'_>) {
        let _ = writeln!(std::io::stderr(), "tare: {}: {what}", self.place.shown());
    }
}

impl Exporter for Scraped {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.page.change(|figures| *figures = Cumulative::new(run));
        let listener = TcpListener::bind(self.at.as_slice()).map_err(|why| self.trouble(&why))?;
        let server = Server::start(listener, self.path.clone(), self.page.clone());
        let server = server.map_err(|why| self.trouble(&why))?;
        if self.at.iter().all(|at| at.port() == 0) {
            self.tell(format_args!("scrape http://{}{}", server.address(), self.path));
        }
        self.server = Some(server);
        Ok(())
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        self.page.change(|figures| figures.add(row));
        Ok(())
    }

    fn end_takes(&self) -> Duration {
        self.linger + Duration::from_secs(2)
    }

    fn end(&mut self, result: &RunResult) -> Result<(), SinkError> {
        self.page.change(|figures| figures.end(result));
        // Who pressed Ctrl-C does not want to wait.
        let lingers = !self.linger.is_zero() && !result.is_interrupted();
        if lingers && !self.page.wait_for_last_scrape(Duration::from_millis(100)) {
            let s = self.linger.as_secs_f64();
            self.tell(format_args!("waits for one more scrape, at most {s} s (?linger=0s does not)"));
            if !self.page.wait_for_last_scrape(self.linger) {
                self.tell(format_args!("nobody read the final figures"));
            }
        }
        self.server = None;
        Ok(())
    }
}
