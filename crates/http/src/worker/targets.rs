//! Where connections lead: endpoints and the addresses of their names, and what lies between.

use plan::Plan;
use std::net::IpAddr;
use std::sync::Arc;
use units::{Cause, Instant};

use crate::connection::Route;
use crate::endpoint::{EndpointId, Endpoints, Known};
use crate::request::connect_request;
use crate::resolver::Asker;
use crate::tls::{ClientConfig, Layer};
use crate::tunnel::Tunnel;
use crate::worker::dial::Dialer;

/// Why TLS was not made ready, although there was a need for it.
const NO_TLS: &str = if cfg!(feature = "tls") {
    "a redirect leads to https, but this host trusts no certificate authority; give --ca FILE or --insecure"
} else {
    "a redirect leads to https, but this tare was built without TLS; build it with --features tls"
};

/// See the module; each thread has its own.
pub(crate) struct Targets {
    pub(crate) endpoints: Endpoints,
    pub(crate) dialer: Dialer,
    pub(crate) asker: Asker,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl Targets {
    /// What lies between the socket and the target. A target that wants TLS never gets a connection without it.
    pub(crate) fn route(&mut self, endpoint: EndpointId, plan: &Plan) -> Result<Route, (Cause, String)> {
        let endpoint = self.endpoints.get(endpoint);
        if !endpoint.key.tls {
            return Ok(Route::default());
        }
        let (Some(name), Some(config)) = (&endpoint.server_name, &self.tls) else {
            return Err((Cause::RedirectTls, NO_TLS.to_owned()));
        };
        let layer = Layer::new(config, name).map_err(|error| (Cause::TlsProtocol, error.to_string()))?;
        let tunnel = plan
            .connection
            .proxy
            .is_some()
            .then(|| Box::new(Tunnel::new(connect_request(plan, &endpoint.key))));
        Ok(Route { tunnel, tls: Some(Box::new(layer)) })
    }

    /// Asks for a name's addresses on behalf of a connection.
    pub(crate) fn ask(&mut self, endpoint: EndpointId, slot: u32) {
        let name = self.endpoints.get(endpoint).name;
        let entry = self.endpoints.name(name);
        entry.waiting.push(slot);
        if !std::mem::replace(&mut entry.asked, true) {
            self.asker.ask(&entry.host, entry.port);
        }
    }

    /// Names whose answer is older than the plan allows are asked for again, beside the traffic.
    pub(crate) fn refresh(&mut self, plan: &Plan, now: Instant) {
        let Some(every) = plan.resolve.every else { return };
        for name in self.endpoints.names() {
            if let Known::Addresses(_, since) = &mut name.state {
                let literal = name.host.parse::<IpAddr>().is_ok();
                if !literal && !name.asked && now.since(*since) >= every {
                    name.asked = true;
                    *since = now;
                    self.asker.ask(&name.host, name.port);
                }
            }
        }
    }
}
