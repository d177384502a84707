//! Whether the module's sessions can carry a plan, and as what.

use super::Module;
use super::due::{Dues, MOST_LISTED, ticks};
use crate::endpoint::Endpoints;
use crate::engine::{EngineError, limits};
use crate::source::{Chooser, Patterned, Requests};
use plan::{Arrivals, Body, Close, HttpVersion, LineOrder, Load, Plan, RequestSource, Shape, Spin, ViaPath};
use port::fpga::sessions::{
    CLEARING, Due, FIELD, Field, Gap, LONGEST_REQUEST, MOST_BYTES, MOST_REQUESTS, MOST_SESSIONS, Request,
    SessionLoad, SessionPort, TICK,
};
use schedule::{ScheduleError, Share};
use session::Via;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use units::{Fraction, Instant, Picos, Priority};

/// Ticks between two openings, unless the plan says how fast: 125 000 connections a second.
const OPEN_GAP: u64 = 1_000;
/// Ticks in which the last connection is made before the first departure: with the responder, and with a server
/// of this machine, of whose time these are a few milliseconds.
const SETTLING: u64 = 20_000;
const SETTLING_APART: u64 = 500_000;
/// The registers count 2^32 ticks: 34.36 s.
const LONGEST_WAIT: Picos = Picos::from_secs(34);
const TICKS_OF_MS: u64 = 125_000;
const TICKS_OF_MS_APART: u64 = 1_000;
const MILLISECOND: Picos = Picos::from_millis(1);
/// Ticks of an interval of the module's: 1 ms.
const ROW: u32 = 125_000;
/// The port of the first session, where nobody remembers the last run.
const FIRST_PORT: u16 = 10_000;
/// Registers of 48 bits.
const LAST_TICK: u64 = 1 << 47;

/// A plan as the module carries it out.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub port: SessionPort,
    pub load: SessionLoad,
    pub about: Module,
    /// Of a closed loop, none.
    pub dues: Option<Dues>,
    /// The tick that is the run's origin.
    pub origin: u64,
}

type Refused = (&'static str, String);

impl Fit {
    /// Of TCP's clock, which is as fast as the ticks only where the target lives in the same time.
    pub fn ticks_of_ms(&self, ms: u64) -> u64 {
        ms * if self.about.is_apart { TICKS_OF_MS_APART } else { TICKS_OF_MS }
    }

    /// # Errors
    /// The flag that the module cannot do, and why.
    pub fn of(plan: &Plan, via: &Via, requests: &Arc<Requests>) -> Result<Self, EngineError> {
        let port = SessionPort::read(&via.port)
            .map_err(|error| EngineError::Via(session::SessionError::from(error)))?;
        port.find_program().map_err(|error| EngineError::Via(session::SessionError::from(error)))?;
        let fit = || -> Result<Self, Refused> {
            if let Some((flag, why)) =
                lacking(plan).into_iter().find_map(|(is_so, flag, why)| is_so.then_some((flag, why)))
            {
                return Err((flag, why.to_owned()));
            }
            let own = own_address(via)?;
            let (target, made) = requests_of(plan, requests)?;
            if port.device().is_some_and(|device| device != *target.ip()) {
                let device = port.device().unwrap_or(Ipv4Addr::UNSPECIFIED);
                return Err((
                    "the target",
                    format!("reach only {device}, the address of their tap, not {}", target.ip()),
                ));
            }
            if let Some(redis) = port.redis().filter(|redis| redis.covers(*target.ip())) {
                let why =
                    format!("are not in the subnet of their Redis, {}, as {} is", redis.server, target.ip());
                return Err(("the target", why));
            }
            if own == *target.ip() {
                return Err((
                    "--via",
                    format!("are at {own}, which is the target's address too; give them another one (ip=)"),
                ));
            }
            let delay = TICK.saturating_mul(port.delay());
            if plan.connection.keep_alive && port.device().is_none() && delay >= plan.request.timeout {
                let why =
                    format!("would never be open: their responder waits for {delay:#}; give a longer time");
                return Err(("--timeout", why));
            }
            let sessions = sessions(plan)?;
            let open_gap = open_gap(plan)?;
            let is_apart = port.device().is_some();
            let settling = if is_apart { SETTLING_APART } else { SETTLING + 4 * port.delay() };
            let opened = CLEARING + u64::from(sessions) * open_gap + settling;
            let when = When::of(plan, if plan.connection.keep_alive { opened } else { CLEARING + SETTLING })?;
            let (mac, why_mac) = match via.mac {
                Some(mac) => (mac, "as given"),
                None => (via.derived_mac(), "made of the first address"),
            };
            let load = SessionLoad {
                target,
                own,
                mac: mac.0,
                port: if is_apart { another_port(sessions) } else { FIRST_PORT },
                sessions,
                each: !plan.connection.keep_alive,
                due: when.due.clone(),
                departures: when.departures,
                first: when.first,
                open_gap: open_gap as u32,
                timeout_ms: (plan.request.timeout.as_picos() / MILLISECOND.as_picos()) as u32,
                status: *plan.request.expect.status.first().unwrap_or(&(0, 999)),
                same: plan.request.same_checksum,
                rows: (when.origin, ROW),
                requests: made,
                secret: plan.seed as u32,
                end: when.end,
                key: String::new(),
            };
            let about = Module {
                port: port.name(),
                own,
                mac: mac.to_string(),
                why_mac,
                target,
                is_apart,
                each: load.each,
                open_gap: (when.dues.is_none() || plan.connection.keep_alive)
                    .then(|| TICK.saturating_mul(open_gap)),
                listed: matches!(when.due, Some(Due::Listed(_))).then_some(when.departures.into()),
                redis: port.redis().map(|redis| (redis.server, redis.database)),
                figures: Default::default(),
            };
            Ok(Self { port: port.clone(), load, about, dues: when.dues, origin: when.origin })
        };
        fit().map_err(|(flag, why)| EngineError::Module { flag, why })
    }
}

/// What the module has no part for.
fn lacking(plan: &Plan) -> Vec<(bool, &'static str, &'static str)> {
    let (request, connection, engine) = (&plan.request, &plan.connection, &plan.engine);
    let is_open = matches!(plan.load, Load::Open { .. });
    const ENGINE: &str = "run in the module, not on threads of this machine; leave it out";
    vec![
        (connection.via_path != ViaPath::Auto, "--via-path", "have their own path; leave it out"),
        (connection.close != Close::Fin, "--close", "close in order, by FIN; leave it out"),
        (connection.share_address, "--share-address", "use addresses that no other host has; leave it out"),
        (
            matches!(request.body, Body::Streamed(_)),
            "--body-stream",
            "send each body with its head; give it with -d",
        ),
        (request.version == HttpVersion::Http10, "--http", "speak HTTP/1.1; leave it out"),
        (request.expect_continue, "--expect-continue", "send each body with its head; leave it out"),
        (request.follow > 0, "--follow", "follow no redirects; leave it out"),
        (request.idle_timeout, "--idle-timeout", "apply --timeout to the whole response; leave it out"),
        (request.expect.body_contains.is_some(), "--expect-body", "do not read bodies; leave it out"),
        (
            request.expect.digest.is_some(),
            "--expect-md5, --expect-sha256",
            "sum bodies only by CRC-32; leave them out, or give --same-checksum",
        ),
        (request.expect.status.len() > 1, "--expect-status", "compare with one range; give one, such as 2xx"),
        (
            !request.timeout.as_picos().is_multiple_of(MILLISECOND.as_picos()),
            "--timeout",
            "count milliseconds; give a whole number of them",
        ),
        (request.timeout > LONGEST_WAIT, "--timeout", "count ticks in 32 bits; give at most 34s"),
        (connection.pipeline > 1, "--pipeline", "wait for each response; leave it out"),
        (
            connection.requests_per_connection.is_some(),
            "--requests-per-connection",
            "use a connection for all requests or for one; leave it out, or give --no-keep-alive",
        ),
        (
            connection.ramp.is_some() && !connection.keep_alive && is_open,
            "--ramp-connections",
            "open a connection when its request is due, with --no-keep-alive; leave it out",
        ),
        (connection.proxy.is_some(), "--proxy", "ask the target itself; leave it out"),
        (connection.throttle.is_some(), "--throttle", "read as fast as the wire; leave it out"),
        (
            plan.resolve.every.is_some(),
            "--resolve-every",
            "are given one address before the start; leave it out",
        ),
        (engine.spin != Spin::Auto, "--spin", ENGINE),
        (!engine.cpus.is_empty(), "--cpus", ENGINE),
        (engine.priority != Priority::Auto, "--priority", ENGINE),
    ]
}

/// One address, in the subnet of nobody: frames go to the target's MAC address, whatever is between.
fn own_address(via: &Via) -> Result<Ipv4Addr, Refused> {
    let refuse = |why: &str| Err(("--via", format!("{why}, such as fpga:sim,ip=198.18.0.2/24")));
    if via.v6.is_some() || via.gateway_v6.is_some() {
        return refuse("support only IPv4; give one IPv4 address");
    }
    if via.vlan.is_some() || via.gateway_v4.is_some() || via.mtu.is_some() {
        return refuse("have no VLAN, gateway or MTU; give only an address");
    }
    match (via.v4.as_ref().map(|range| range.count()), via.v4.as_ref().map(|range| range.first())) {
        (Some(1), Some(IpAddr::V4(own))) => Ok(own),
        _ => refuse("have one address; give one"),
    }
}

fn sessions(plan: &Plan) -> Result<u32, Refused> {
    let wanted = plan.load.most_connections(plan.connection.max_open);
    if wanted > MOST_SESSIONS {
        return Err((
            "--parallel",
            format!(
                "are {MOST_SESSIONS}, opened before the load, and the plan allows {wanted} connections; \
                 give --parallel 64"
            ),
        ));
    }
    Ok(wanted)
}

fn open_gap(plan: &Plan) -> Result<u64, Refused> {
    let Some(rate) = plan.connection.ramp else { return Ok(OPEN_GAP) };
    let ticks = rate.gap().as_picos() / TICK.as_picos();
    if !(1..=u64::from(u32::MAX)).contains(&ticks) {
        return Err((
            "--ramp-connections",
            "open connections 8 ns to 34 s apart; give another rate".to_owned(),
        ));
    }
    Ok(ticks)
}

/// When requests are due.
struct When {
    dues: Option<Dues>,
    due: Option<Due>,
    departures: u32,
    first: u64,
    origin: u64,
    end: u64,
}

impl When {
    fn of(plan: &Plan, first: u64) -> Result<Self, Refused> {
        let stop = &plan.stop;
        let Load::Open { arrivals, .. } = &plan.load else {
            let Some(requests) = stop.requests.filter(|_| stop.duration.is_none()) else {
                return Err((
                    "--duration",
                    "end a closed loop only after a number of requests; give --requests".to_owned(),
                ));
            };
            if !stop.warmup.is_zero() {
                return Err((
                    "--warmup",
                    "count requests from the first in a closed loop; leave it out".to_owned(),
                ));
            }
            let departures = number(requests.get(), "--requests")?;
            // The last request may be due whenever a session becomes free: there is no end but the timeouts'.
            return Ok(Self { dues: None, due: None, departures, first, origin: CLEARING, end: LAST_TICK });
        };
        let flag = if stop.duration.is_some() { "--duration" } else { "--requests" };
        let dues = dues(plan, arrivals)?;
        let departures = number(departures(plan, arrivals, &dues).map_err(wrong)?, flag)?;
        let last = match &dues {
            Dues::Even(gap) => gap.due(u64::from(departures)),
            other => other.numbers().map_err(wrong)?.due(u64::from(departures) - 1).saturating_add(1),
        };
        let end = first.saturating_add(last).saturating_add(ticks(stop.grace));
        if end > LAST_TICK {
            return Err((flag, "count ticks in 48 bits, 13 days; give less".to_owned()));
        }
        let due = dues.due(first).ok_or_else(|| (shape_flag(&arrivals.shape), GAPS.to_owned()))?;
        Ok(Self { dues: Some(dues), due: Some(due), departures, first, origin: first, end })
    }
}

const GAPS: &str = "have gaps of 8 ns to 34 s, in a fraction of 60 bits; give another rate";

fn wrong(error: ScheduleError) -> Refused {
    ("the load", format!("have no such due times: {error}"))
}

fn shape_flag(shape: &Shape) -> &'static str {
    match shape {
        Shape::Constant(_) => "--rate",
        Shape::Poisson(_) => "--poisson",
        Shape::Ramp { .. } => "--ramp",
        Shape::Step { .. } => "--step",
        Shape::Stages(_) => "--stages",
        Shape::Sine { .. } => "--sine",
        Shape::Burst { .. } => "--burst",
        Shape::At(_) => "--at",
    }
}

/// Computed by the module where its registers have the numbers for that, or listed.
fn dues(plan: &Plan, arrivals: &Arrivals) -> Result<Dues, Refused> {
    let flag = shape_flag(&arrivals.shape);
    if let Shape::Constant(rate) = arrivals.shape
        && arrivals.jitter == Fraction::ZERO
    {
        let (events, per) = rate.ratio();
        let gap = Gap::of(u128::from(events) * u128::from(TICK.as_picos()), u128::from(per.as_picos()));
        return gap.map(Dues::Even).ok_or_else(|| {
            let why = format!(
                "have gaps of 8 ns to 34 s, in a fraction of 32 bits, which {rate} is not; give another rate"
            );
            (flag, why)
        });
    }
    if schedule::smallest_gap(&arrivals.shape).is_some_and(|gap| gap < TICK) {
        return Err((flag, "have gaps of 8 ns and more; give a lower rate".to_owned()));
    }
    if let Some(shaped) = Dues::shaped(arrivals) {
        return Ok(shaped);
    }
    let listed = limits(plan, arrivals).and_then(|limits| Dues::listed(arrivals, limits, plan.seed));
    listed.map_err(wrong)?.ok_or_else(|| {
        let why = format!("take a list of at most {MOST_LISTED} due times for this load; give --requests");
        (flag, why)
    })
}

fn departures(plan: &Plan, arrivals: &Arrivals, dues: &Dues) -> Result<u64, ScheduleError> {
    if let Dues::Listed(list) = dues {
        return Ok(list.len() as u64);
    }
    let all = limits(plan, arrivals)?;
    Ok(schedule::share(arrivals, all, plan.seed, Instant::EPOCH, Share::WHOLE)?.skip_before(Instant::FAR))
}

fn number(departures: u64, flag: &'static str) -> Result<u32, Refused> {
    u32::try_from(departures).ok().filter(|count| *count > 0).ok_or_else(|| {
        (flag, format!("send 1 to {} requests, not {departures}; give another number", u32::MAX))
    })
}

/// The one target, and the requests in turn.
fn requests_of(plan: &Plan, requests: &Arc<Requests>) -> Result<(SocketAddrV4, Vec<Request>), Refused> {
    const TARGET: &str = "the target";
    let mut endpoints = Endpoints::new(None, None);
    requests.teach(&mut endpoints, plan);
    let mut chooser = Chooser::new(requests, plan, 0);
    let (made, is_all) =
        chooser.patterned(plan, &mut endpoints, (MOST_REQUESTS, FIELD as u32)).map_err(|why| {
            ("the requests", format!("make them from stored bytes, and cannot make these: {why}"))
        })?;
    let many = format!("have room for {MOST_REQUESTS} requests of {MOST_BYTES} bytes in all; give fewer");
    if !is_all || made.iter().map(|one| one.least.len()).sum::<usize>() > MOST_BYTES {
        return Err(("the requests", many));
    }
    let in_turn = match &plan.source {
        RequestSource::Url(_) => true,
        RequestSource::File { order, .. } | RequestSource::Inline { order, .. } => {
            *order == LineOrder::Sequential
        }
    };
    if made.len() > 1 && !in_turn {
        return Err(("--order", "use requests in turn; give --order sequential".to_owned()));
    }
    if made.iter().any(|one| one.has_own_rules) {
        return Err((
            "expect of a request",
            "expect the same of each response; give --expect-status".to_owned(),
        ));
    }
    let places: Vec<_> = endpoints.iter_mut().map(|endpoint| (endpoint.name, endpoint.key.tls)).collect();
    let [(name, is_tls)] = places[..] else {
        return Err((TARGET, "use one host and port; give requests to one".to_owned()));
    };
    if is_tls {
        return Err((TARGET, "have no TLS; give an http URL".to_owned()));
    }
    debug_assert!(made.iter().all(|one| one.endpoint == made[0].endpoint));
    let target = match endpoints.name(name).addresses() {
        [SocketAddr::V4(target)] => *target,
        _ => {
            return Err((
                TARGET,
                "use one IPv4 address; give it in the URL, or for the URL's name with --resolve".to_owned(),
            ));
        }
    };
    Ok((target, made.into_iter().map(request).collect::<Result<_, _>>()?))
}

/// A request with its field, which is where its two versions differ.
fn request(made: Patterned) -> Result<Request, Refused> {
    let refuse = |why: &str| Err(("the requests", why.to_owned()));
    let Patterned { least, greatest, .. } = made;
    if least.starts_with(b"HEAD ") || least.starts_with(b"CONNECT ") {
        return Err(("--method", "expect a body after the head of each response; give GET".to_owned()));
    }
    if least.len() > LONGEST_REQUEST {
        return refuse(&format!("have at most {LONGEST_REQUEST} bytes each; give shorter ones"));
    }
    const FIELDS: &str =
        "have one field of eight digits each: {seq:8} or {random:hex:8}, and no other placeholder";
    if least.len() != greatest.len() {
        return refuse(FIELDS);
    }
    let Some(place) = least.iter().zip(&greatest).position(|(one, other)| one != other) else {
        return Ok(Request { bytes: least, field: None });
    };
    let end =
        least.iter().zip(&greatest).rposition(|(one, other)| one != other).map_or(place, |last| last + 1);
    let field = match (&least[place..end], &greatest[place..end]) {
        (b"00000000", b"99999999") => Field::Sequence,
        (b"00000000", b"ffffffff") => Field::Random,
        _ => return refuse(FIELDS),
    };
    Ok(Request { bytes: least, field: Some((field, place)) })
}

/// Ports that the target does not remember from the last run.
fn another_port(sessions: u32) -> u16 {
    let room = u64::from(u16::MAX) + 1 - u64::from(FIRST_PORT) - u64::from(sessions);
    FIRST_PORT + (clock::unix_ns() / 1_000_000 * 997 % room) as u16
}
