//! From what was typed to a plan: every check and every default is here.
//!
//! | absent | becomes |
//! |---|---|
//! | load | closed loop, 10 connections |
//! | stop | 10 s, or as long as a ramp, step or sine needs to show all of itself; stages and recorded times end by themselves |
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
use crate::error::{Note, Place, PlanError};
use crate::file::PlanFile;
use crate::model::{EnginePlan, Family, IoChoice, Plan, ResolvePlan, Spin};
use crate::suggest::nearest;
use crate::typed::Typed;
use std::net::IpAddr;
use units::{Count, ParseError, Priority};

const DEFAULT_SEED: u64 = 1;
const MOST_THREADS: u32 = 1024;
const MOST_CPU: u32 = 8191;

impl PlanFile {
    /// Checks everything and fills in the defaults.
    pub fn resolve(self) -> Result<Plan, PlanError> {
        self.resolve_with_notes().map(|(plan, _)| plan)
    }

    /// As `resolve`; the notes say what was decided for the user, for the start of a run.
    pub fn resolve_with_notes(self) -> Result<(Plan, Vec<Note>), PlanError> {
        let mut resolver = Resolver { file: &self, notes: Vec::new() };
        let plan = resolver.plan()?;
        Ok((plan, resolver.notes))
    }
}

struct Resolver<'a> {
    file: &'a PlanFile,
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
        text.parse()
            .map_err(|_| self.value("seed", text, Problem::new("is not a seed", "a whole number below 2^64")))
    }

    fn names(&self) -> Result<ResolvePlan, PlanError> {
        let section = &self.file.resolve;
        let family = self.choice(
            "resolve.family",
            section.family.as_deref(),
            &[("any", Family::Any), ("ipv4", Family::Ipv4), ("ipv6", Family::Ipv6)],
        )?;
        let mut fixed = Vec::new();
        for (index, text) in section.fixed.iter().flatten().enumerate() {
            let field = format!("resolve.fixed[{index}]");
            let (host, port, addresses) = fixed_name(text).map_err(|p| self.value(&field, text, p))?;
            for address in addresses {
                self.check_family(&field, address, family)?;
                fixed.push((host.clone(), port, address));
            }
        }
        let every = self.parsed("resolve.every", &section.every)?;
        self.not_zero(
            "resolve.every",
            &section.every,
            every.is_some_and(|every: units::Picos| every.is_zero()),
        )?;
        Ok(ResolvePlan { fixed, family: family.unwrap_or(Family::Any), every })
    }

    /// An address of the wrong kind for `--ipv4` or `--ipv6`.
    fn check_family(&self, field: &str, address: IpAddr, family: Option<Family>) -> Result<(), PlanError> {
        let why = match (family, address) {
            (Some(Family::Ipv4), IpAddr::V6(_)) => format!("{address} is not an IPv4 address"),
            (Some(Family::Ipv6), IpAddr::V4(_)) => format!("{address} is not an IPv6 address"),
            _ => return Ok(()),
        };
        Err(self.contradiction(field, "resolve.family", why))
    }

    fn engine(&self) -> Result<EnginePlan, PlanError> {
        let section = &self.file.engine;
        let threads = self.number("engine.threads", &section.threads)?;
        if let (Some(threads), Some(typed)) = (threads, &section.threads)
            && threads > MOST_THREADS
        {
            let problem = Problem::new("is too many", format!("at most {MOST_THREADS} threads"));
            return Err(self.value("engine.threads", typed.as_str(), problem));
        }
        let cpus = match &section.cpus {
            Some(typed) => {
                cpu_list(typed.as_str()).map_err(|p| self.value("engine.cpus", typed.as_str(), p))?
            }
            None => Vec::new(),
        };
        let spin = self.choice(
            "engine.spin",
            section.spin.as_deref(),
            &[("auto", Spin::Auto), ("never", Spin::Never), ("always", Spin::Always)],
        )?;
        let priority = self.choice(
            "engine.priority",
            section.priority.as_deref(),
            &[
                (Priority::Auto.word(), Priority::Auto),
                (Priority::Normal.word(), Priority::Normal),
                (Priority::RealTime.word(), Priority::RealTime),
            ],
        )?;
        let io = self.choice(
            "engine.io",
            section.io.as_deref(),
            &[("auto", IoChoice::Auto), ("epoll", IoChoice::Epoll), ("uring", IoChoice::IoUring)],
        )?;
        Ok(EnginePlan {
            threads,
            cpus,
            spin: spin.unwrap_or(Spin::Auto),
            priority: priority.unwrap_or_default(),
            io: io.unwrap_or(IoChoice::Auto),
        })
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(Note(text.into()));
    }

    fn place(&self, field: &str) -> Box<Place> {
        Box::new(self.file.place(field))
    }

    fn value(&self, field: &str, typed: &str, problem: Problem) -> PlanError {
        PlanError::Value {
            place: self.place(field),
            value: typed.to_owned(),
            problem: problem.problem,
            expected: problem.expected,
        }
    }

    fn contradiction(&self, field: &str, other: &str, why: impl Into<String>) -> PlanError {
        PlanError::Contradiction { place: self.place(field), other: self.place(other), why: why.into() }
    }

    fn missing(&self, field: &str, needs: impl Into<String>, why: impl Into<String>) -> PlanError {
        PlanError::Missing { place: self.place(field), needs: needs.into(), why: why.into() }
    }

    /// Reads a quantity of `units`, if one was typed.
    fn parsed<T>(&self, field: &str, typed: &Option<Typed>) -> Result<Option<T>, PlanError>
    where
        T: std::str::FromStr<Err = ParseError>,
    {
        let Some(typed) = typed else { return Ok(None) };
        let read = typed.as_str().parse();
        read.map(Some).map_err(|error: ParseError| {
            self.value(field, typed.as_str(), Problem::new(error.problem, error.expected))
        })
    }

    /// A number of things from 1 to 2³² − 1.
    fn number(&self, field: &str, typed: &Option<Typed>) -> Result<Option<u32>, PlanError> {
        let Some(count) = self.parsed::<Count>(field, typed)? else { return Ok(None) };
        self.not_zero(field, typed, count.get() == 0)?;
        self.small(field, typed, count).map(Some)
    }

    fn small(&self, field: &str, typed: &Option<Typed>, count: Count) -> Result<u32, PlanError> {
        let text = typed.as_ref().map_or("", |typed| typed.as_str());
        u32::try_from(count.get()).map_err(|_| {
            self.value(field, text, Problem::new("is too large", format!("at most {}", u32::MAX)))
        })
    }

    fn not_zero(&self, field: &str, typed: &Option<Typed>, is_zero: bool) -> Result<(), PlanError> {
        match typed {
            Some(typed) if is_zero => {
                Err(self.value(field, typed.as_str(), Problem::new("is zero", "something above zero")))
            }
            _ => Ok(()),
        }
    }

    /// One of a few words.
    fn choice<T: Copy>(
        &self,
        field: &str,
        typed: Option<&str>,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>, PlanError> {
        let Some(text) = typed else { return Ok(None) };
        if let Some((_, choice)) = choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim())) {
            return Ok(Some(*choice));
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let expected = match nearest(text, names.iter().copied()) {
            Some(near) => format!("{} (did you mean {near}?)", names.join(", ")),
            None => names.join(", "),
        };
        Err(self.value(field, text, Problem::new("is unknown", expected)))
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

/// `0,2-3`: numbers and ranges, each CPU once.
fn cpu_list(text: &str) -> Result<Vec<u32>, Problem> {
    const EXPECTED: &str = "numbers and ranges such as 0,2-3";
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu <= MOST_CPU);
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (Some(low), Some(high)) = (number(low), number(high)) else {
            return Err(Problem::new(format!("has '{part}', which is not a CPU"), EXPECTED));
        };
        if low > high {
            return Err(Problem::new(format!("has the range {part}, which ends before it starts"), EXPECTED));
        }
        for cpu in low..=high {
            if cpus.contains(&cpu) {
                return Err(Problem::new(format!("names CPU {cpu} twice"), EXPECTED));
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}
