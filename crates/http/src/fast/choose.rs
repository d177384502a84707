//! Which plans can go by the fast path.

use plan::{Load, Plan, ViaPath};
use std::net::SocketAddr;
use std::sync::Arc;

use crate::endpoint::Endpoints;
use crate::rules::Wanted;
use crate::source::{Chooser, Fixed, Requests};

/// A lane counts its requests so far.
const MOST_SERVED: u16 = u16::MAX - 1;

/// Requests that never change, and where each leads.
pub(crate) struct Fixture {
    pub requests: Vec<Fixed>,
    /// The address of each endpoint.
    pub addresses: Vec<SocketAddr>,
}

/// What was chosen, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathChoice {
    pub fast: bool,
    pub reason: String,
}

/// Bytes that a segment carries if the target does not say how many (RFC 9293).
const LEAST_MSS: usize = 536;

/// Why a plan has to go by the general path, as far as the plan itself tells.
pub(crate) fn obstacle(plan: &Plan) -> Option<&'static str> {
    let (request, connection) = (&plan.request, &plan.connection);
    let obstacles = [
        (connection.pipeline > 1, "requests are pipelined"),
        (
            connection.requests_per_connection.is_some_and(|most| most > u32::from(MOST_SERVED)),
            "a connection has more requests than can be counted",
        ),
        (connection.proxy.is_some(), "there is a proxy"),
        (connection.throttle.is_some(), "reading is throttled"),
        (
            connection.ramp.is_some() && matches!(plan.load, Load::Closed { .. }),
            "--ramp-connections is given",
        ),
        (request.follow > 0, "redirects are followed"),
        (request.idle_timeout, "the timeout restarts with every byte"),
        (request.same_checksum, "bodies are compared"),
        (request.expect_continue, "requests wait for a 100 response"),
        (!matches!(request.body, plan::Body::None), "requests have bodies"),
        (plan.resolve.every.is_some(), "names are resolved again"),
    ];
    obstacles.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why)
}

/// The requests, and where they lead, if the fast path can carry them.
pub(crate) fn fixture(
    plan: &Plan,
    chooser: &mut Chooser,
    endpoints: &mut Endpoints,
) -> Result<Fixture, &'static str> {
    if let Some(why) = obstacle(plan) {
        return Err(why);
    }
    let requests = chooser.fixed(plan, endpoints)?;
    if requests.iter().any(|fixed| fixed.bytes.len() > usize::from(session::BURST) * LEAST_MSS) {
        return Err("a request is longer than what is sent at once");
    }
    if requests.iter().any(|fixed| !chooser.rules.of(&Wanted::Kept(fixed.rules)).is_of_status_alone()) {
        return Err("bodies are checked");
    }
    let mut addresses = Vec::new();
    let (names, tls): (Vec<_>, Vec<_>) =
        endpoints.iter_mut().map(|endpoint| (endpoint.name, endpoint.key.tls)).unzip();
    if tls.contains(&true) {
        return Err("a target wants TLS");
    }
    for name in names {
        let [address] = endpoints.name(name).addresses() else {
            return Err("a target's name has several addresses, or none is known");
        };
        addresses.push(*address);
    }
    Ok(Fixture { requests, addresses })
}

/// What is chosen of what can be had.
///
/// # Errors
/// The fast one is wanted, and cannot be had for this reason.
pub(crate) fn choose(plan: &Plan, requests: &Arc<Requests>) -> Result<PathChoice, &'static str> {
    let mut endpoints = Endpoints::new(None, None);
    requests.teach(&mut endpoints, plan);
    let obstacle = fixture(plan, &mut Chooser::new(requests, plan, 0), &mut endpoints).err();
    let choice = |fast, reason: &str| Ok(PathChoice { fast, reason: reason.to_owned() });
    match (plan.connection.via_path, obstacle) {
        (ViaPath::General, _) => choice(false, "asked for"),
        (ViaPath::Fast, None) => choice(true, "asked for"),
        (ViaPath::Fast, Some(why)) => Err(why),
        // `make bench-sessions`: over veth it carries more requests.
        (ViaPath::Auto, None) => choice(true, "the requests never change"),
        (ViaPath::Auto, Some(why)) => choice(false, why),
    }
}
