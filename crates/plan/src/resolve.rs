//! From what was typed to a plan: every check and every default is here.
//!
//! | absent | becomes |
//! |---|---|
//! | load | closed loop, 10 connections |
//! | stop | 10 s, or as long as a ramp, step or sine needs; stages and recorded times end by themselves |
//! | timeout | 30 s |
//! | grace | the timeout, at most 5 s |
//! | method | GET, or POST with a body |
//! | seed | 1, so that runs repeat |
//! | order | random |
//! | max_open | `parallel`, or 10 000 |
//! | TLS | 1.2 to 1.3, ALPN `http/1.1`, sessions resumed |

mod connection;
mod limits;
mod load;
mod request;
mod source;
mod tls;

use crate::checks::Problem;
use crate::error::{Note, PlanError};
use crate::file::PlanFile;
use crate::model::{EnginePlan, Family, IoChoice, Plan, ResolvePlan};
use crate::table::Table;
use std::net::IpAddr;

const DEFAULT_SEED: u64 = 1;
const MOST_THREADS: u32 = 1024;

impl PlanFile {
    /// Checks everything and fills in the defaults.
    pub fn resolve(self) -> Result<Plan, PlanError> {
        self.resolve_with_notes().map(|(plan, _)| plan)
    }

    /// As `resolve`; the notes say what was decided for the user, for the start of a run.
    pub fn resolve_with_notes(self) -> Result<(Plan, Vec<Note>), PlanError> {
        let mut resolver =
            Resolver { file: &self, table: Table::new("", self.origin.as_ref()), notes: Vec::new() };
        let plan = resolver.plan()?;
        Ok((plan, resolver.notes))
    }
}

struct Resolver<'a> {
    file: &'a PlanFile,
    /// Of paths: a plan for HTTP has many tables.
    table: Table<'a>,
    notes: Vec<Note>,
}

impl Resolver<'_> {
    fn plan(&mut self) -> Result<Plan, PlanError> {
        let request = self.request()?;
        let source = self.source(&request)?;
        self.check_expect_continue(&request, &source)?;
        let load = self.load()?;
        let stop = self.stop(&load, request.timeout)?;
        Ok(Plan {
            connection: self.connection(&load, &request)?,
            tls: self.tls()?,
            resolve: self.names()?,
            engine: self.engine()?,
            seed: self.seed()?,
            limits: self.limits(&stop)?,
            source,
            request,
            load,
            stop,
        })
    }

    fn seed(&self) -> Result<u64, PlanError> {
        let Some(typed) = &self.file.seed else { return Ok(DEFAULT_SEED) };
        let text = typed.as_str();
        text.parse().map_err(|_| self.table.wrong("seed", text, "is not a seed", "a whole number below 2^64"))
    }

    fn names(&self) -> Result<ResolvePlan, PlanError> {
        let section = &self.file.resolve;
        let family = self.table.choice(
            "resolve.family",
            section.family.as_deref(),
            &[("any", Family::Any), ("ipv4", Family::Ipv4), ("ipv6", Family::Ipv6)],
        )?;
        let mut fixed = Vec::new();
        for (index, text) in section.fixed.iter().flatten().enumerate() {
            let field = format!("resolve.fixed[{index}]");
            let (host, port, addresses) = fixed_name(text).map_err(|p| self.table.refuse(&field, text, p))?;
            for address in addresses {
                self.check_family(&field, address, family)?;
                fixed.push((host.clone(), port, address));
            }
        }
        let every = self.table.time("resolve.every", &section.every)?;
        Ok(ResolvePlan { fixed, family: family.unwrap_or(Family::Any), every })
    }

    /// An address of the wrong kind for `--ipv4` or `--ipv6`.
    fn check_family(&self, field: &str, address: IpAddr, family: Option<Family>) -> Result<(), PlanError> {
        let why = match (family, address) {
            (Some(Family::Ipv4), IpAddr::V6(_)) => format!("{address} is not an IPv4 address"),
            (Some(Family::Ipv6), IpAddr::V4(_)) => format!("{address} is not an IPv6 address"),
            _ => return Ok(()),
        };
        Err(self.table.both(field, "resolve.family", why))
    }

    fn engine(&self) -> Result<EnginePlan, PlanError> {
        let section = &self.file.engine;
        let io = self.table.choice(
            "engine.io",
            section.io.as_deref(),
            &[("auto", IoChoice::Auto), ("epoll", IoChoice::Epoll), ("uring", IoChoice::IoUring)],
        )?;
        Ok(EnginePlan {
            threads: self.table.number("engine.threads", &section.threads, 1, MOST_THREADS)?,
            cpus: self.table.cpus("engine.cpus", &section.cpus)?,
            spin: self.table.spin("engine.spin", section.spin.as_deref())?,
            priority: self.table.priority("engine.priority", section.priority.as_deref())?,
            io: io.unwrap_or(IoChoice::Auto),
        })
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(Note(text.into()));
    }
}

/// `host:port:address[,address…]`; IPv6 addresses may stand in brackets.
fn fixed_name(text: &str) -> Result<(String, u16, Vec<IpAddr>), Problem> {
    const EXPECTED: &str = "HOST:PORT:ADDRESS[,ADDRESS…], e.g. example.org:443:127.0.0.1";
    let wrong = |problem: String| Problem::new(problem, EXPECTED);
    let mut parts = text.splitn(3, ':');
    let (Some(host), Some(port), Some(addresses)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong("has fewer than three parts".to_owned()));
    };
    if host.is_empty() {
        return Err(wrong("has no host".to_owned()));
    }
    let port = port.parse().ok().filter(|port| *port != 0);
    let port = port.ok_or_else(|| wrong("has a port that is not from 1 to 65535".to_owned()))?;
    let mut list = Vec::new();
    for address in addresses.split(',') {
        let bare = address.trim().trim_start_matches('[').trim_end_matches(']');
        list.push(bare.parse().map_err(|_| wrong(format!("has '{address}', which is not an IP address")))?);
    }
    Ok((host.to_ascii_lowercase(), port, list))
}
