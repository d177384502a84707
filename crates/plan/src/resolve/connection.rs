//! `[connection]`: how connections live.

use super::Resolver;
use crate::checks::Problem;
use crate::error::PlanError;
use crate::model::{Close, ConnectionPlan, Family, HttpVersion, Load, RequestPlan, ViaPath};
use crate::target_url::{Scheme, TargetUrl, UrlProblem};
use crate::typed::Typed;
use std::net::IpAddr;
use std::path::PathBuf;
use units::Bytes;

const DEFAULT_MAX_OPEN: u32 = 10_000;
/// More than the ports of 250 local addresses carry to one target.
const MOST_CONNECTIONS: u32 = 1 << 24;
const MOST_PIPELINED: u32 = 1 << 16;

impl Resolver<'_> {
    pub(super) fn connection(&self, load: &Load, request: &RequestPlan) -> Result<ConnectionPlan, PlanError> {
        let typed = &self.file.connection;
        let throttle: Option<Bytes> = self.table.parse("connection.throttle", &typed.throttle)?;
        self.table.not_zero(
            "connection.throttle",
            &typed.throttle,
            throttle.is_some_and(|limit| limit.get() == 0),
            "something above zero",
        )?;
        let (proxy, proxy_login) = self.proxy()?.unzip();
        let plan = ConnectionPlan {
            keep_alive: typed.keep_alive.unwrap_or(true),
            requests_per_connection: self.table.number(
                "connection.requests_per_connection",
                &typed.requests_per_connection,
                1,
                u32::MAX,
            )?,
            close: self.close()?,
            pipeline: self.pipeline()?,
            ramp: self.table.parse("connection.ramp_connections", &typed.ramp_connections)?,
            max_open: self.max_open(load)?,
            open_all: typed.open_all.unwrap_or(false),
            source_ips: self.source_ips()?,
            proxy,
            proxy_login: proxy_login.flatten(),
            unix: self.unix()?,
            via: self.file.connection.via.clone(),
            via_path: self.via_path()?,
            share_address: self.share_address()?,
            no_delay: typed.no_delay.unwrap_or(true),
            throttle,
        };
        self.check_reuse(&plan, request)?;
        self.check_close(&plan)?;
        self.check_unix(&plan)?;
        self.check_via(&plan)?;
        Ok(plan)
    }

    /// Connections, or bounds of them.
    pub(super) fn connections(&self, field: &str, typed: &Option<Typed>) -> Result<Option<u32>, PlanError> {
        self.table.number(field, typed, 1, MOST_CONNECTIONS)
    }

    fn pipeline(&self) -> Result<u32, PlanError> {
        let typed = &self.file.connection.pipeline;
        Ok(self.table.number("connection.pipeline", typed, 1, MOST_PIPELINED)?.unwrap_or(1))
    }

    /// The load's own number of connections is the bound where there is one.
    fn max_open(&self, load: &Load) -> Result<u32, PlanError> {
        let typed = self.connections("connection.max_open", &self.file.connection.max_open)?;
        let (Load::Closed { connections } | Load::Open { connections: Some(connections), .. }) = load else {
            return Ok(typed.unwrap_or(DEFAULT_MAX_OPEN));
        };
        match typed {
            Some(most) if most != *connections => {
                let why = format!("the load already has {connections} connections");
                Err(self.table.both("connection.max_open", "load.parallel", why))
            }
            _ => Ok(*connections),
        }
    }

    fn source_ips(&self) -> Result<Vec<IpAddr>, PlanError> {
        let family = match self.file.resolve.family.as_deref() {
            Some("ipv4") => Some(Family::Ipv4),
            Some("ipv6") => Some(Family::Ipv6),
            _ => None,
        };
        let mut all = Vec::new();
        for (index, text) in self.file.connection.source_ips.iter().flatten().enumerate() {
            let field = format!("connection.source_ips[{index}]");
            let wrong = |problem| self.table.wrong(&field, text, problem, "a local address, e.g. 127.0.0.2");
            let address: IpAddr = text.trim().parse().map_err(|_| wrong("is not an IP address"))?;
            if all.contains(&address) {
                return Err(wrong("is given twice"));
            }
            self.check_family(&field, address, family)?;
            all.push(address);
        }
        Ok(all)
    }

    /// Host and port, and the login if there is one.
    #[expect(clippy::type_complexity, reason = "taken apart at its only call")]
    fn proxy(&self) -> Result<Option<((String, u16), Option<String>)>, PlanError> {
        let Some(text) = &self.file.connection.proxy else { return Ok(None) };
        let wrong = |problem: String| {
            self.table.wrong("connection.proxy", text, problem, "HOST:PORT or http://USER:PASSWORD@HOST:PORT")
        };
        let url = if text.contains("://") { text.clone() } else { format!("http://{text}") };
        let parsed = TargetUrl::parse(&url).map_err(|problem| match problem {
            UrlProblem::PortOutOfRange => wrong("has a port that is not from 1 to 65535".to_owned()),
            UrlProblem::HostCharacter { .. } => {
                wrong("has a character that is not allowed in a host".to_owned())
            }
            other => wrong(other.to_string()),
        })?;
        if parsed.scheme == Scheme::Https {
            return Err(wrong("asks for TLS to the proxy itself, which is not supported".to_owned()));
        }
        if parsed.path_and_query != "/" {
            return Err(wrong("has more than user, password, host and port".to_owned()));
        }
        if parsed.userinfo.is_some_and(|login| !login.contains(':')) {
            return Err(wrong("has a user without ':' and a password".to_owned()));
        }
        let has_port = url.trim_end_matches('/').ends_with(&format!(":{}", parsed.port));
        if !has_port {
            return Err(wrong("has no port".to_owned()));
        }
        Ok(Some(((parsed.host.to_owned(), parsed.port), parsed.userinfo.map(str::to_owned))))
    }

    fn via_path(&self) -> Result<ViaPath, PlanError> {
        let (field, typed) = ("connection.via_path", self.file.connection.via_path.as_deref());
        let words = [("auto", ViaPath::Auto), ("general", ViaPath::General), ("fast", ViaPath::Fast)];
        let path = self.table.choice(field, typed, &words)?;
        match (&self.file.connection.via, typed) {
            (None, Some(text)) => {
                Err(self.table.wrong(field, text, "is of --via alone", "it together with --via PORT,ip=…"))
            }
            _ => Ok(path.unwrap_or_default()),
        }
    }

    fn close(&self) -> Result<Close, PlanError> {
        let words = Close::ALL.map(|close| (close.word(), close));
        let typed = self.file.connection.close.as_deref();
        Ok(self.table.choice("connection.close", typed, &words)?.unwrap_or_default())
    }

    fn share_address(&self) -> Result<bool, PlanError> {
        match (&self.file.connection.via, self.file.connection.share_address.unwrap_or(false)) {
            (None, true) => Err(self.table.wrong(
                "connection.share_address",
                "true",
                "is of --via alone",
                "it together with --via PORT,ip=…",
            )),
            (_, shares) => Ok(shares),
        }
    }

    fn unix(&self) -> Result<Option<PathBuf>, PlanError> {
        // sun_path holds 108 bytes, the last a NUL (unix(7)).
        const LONGEST: usize = 107;
        let Some(text) = &self.file.connection.unix else { return Ok(None) };
        if text.is_empty() || text.len() > LONGEST {
            let problem = Problem::new("cannot be a socket's path", format!("1 to {LONGEST} bytes"));
            return Err(self.table.refuse("connection.unix", text, problem));
        }
        Ok(Some(text.into()))
    }

    fn check_reuse(&self, plan: &ConnectionPlan, request: &RequestPlan) -> Result<(), PlanError> {
        let requests = plan.requests_per_connection;
        if !plan.keep_alive && plan.pipeline > 1 {
            let why = "a connection that closes after one request cannot have several in flight";
            return Err(self.table.both("connection.pipeline", "connection.keep_alive", why));
        }
        if !plan.keep_alive && requests.is_some_and(|requests| requests > 1) {
            let why = "without keep-alive each connection carries one request";
            return Err(self.table.both("connection.requests_per_connection", "connection.keep_alive", why));
        }
        if !plan.keep_alive && plan.open_all {
            let why = "without keep-alive no connection stays open";
            return Err(self.table.both("connection.open_all", "connection.keep_alive", why));
        }
        if let Some(requests) = requests.filter(|requests| *requests < plan.pipeline) {
            let why = format!("a connection that carries {requests} cannot have {} in flight", plan.pipeline);
            return Err(self.table.both("connection.pipeline", "connection.requests_per_connection", why));
        }
        if plan.pipeline > 1 && request.version == HttpVersion::Http10 {
            return Err(self.table.both("connection.pipeline", "request.http", "HTTP/1.0 has no pipelining"));
        }
        if plan.pipeline > 1 && request.expect_continue {
            let why = "nothing can be sent behind a request that waits for a 100 response";
            return Err(self.table.both("connection.pipeline", "request.expect_continue", why));
        }
        Ok(())
    }

    fn check_close(&self, plan: &ConnectionPlan) -> Result<(), PlanError> {
        let refuse =
            |problem, advice| Err(self.table.wrong("connection.close", plan.close.word(), problem, advice));
        match plan.close {
            Close::Server if plan.keep_alive => refuse(
                "needs a target that is asked to close, which only a connection per request does",
                "it together with --no-keep-alive",
            ),
            Close::Rst if plan.unix.is_some() => {
                refuse("is of TCP: a Unix socket has no reset", "fin or server, or leave --unix out")
            }
            _ => Ok(()),
        }
    }

    /// What belongs to the kernel's sockets cannot be had without them.
    fn check_via(&self, plan: &ConnectionPlan) -> Result<(), PlanError> {
        if plan.via.is_none() {
            return Ok(());
        }
        let threads = self.table.number("engine.threads", &self.file.engine.threads, 1, u32::MAX)?;
        let threads = threads.is_some_and(|threads| threads > 1);
        let io = self.file.engine.io.as_deref().is_some_and(|io| io != "auto");
        let others = [
            ("connection.unix", plan.unix.is_some(), "a Unix socket is the kernel's"),
            (
                "connection.source_ips",
                !plan.source_ips.is_empty(),
                "ip= of --via says which addresses connections leave from",
            ),
            ("connection.no_delay", !plan.no_delay, "its TCP has no Nagle algorithm"),
            ("engine.threads", threads, "one thread drives a port"),
            ("engine.io", io, "its connections are not sockets"),
        ];
        match others.into_iter().find(|(_, is_set, _)| *is_set) {
            Some((other, _, why)) => Err(self.table.both("connection.via", other, why)),
            None => Ok(()),
        }
    }

    fn check_unix(&self, plan: &ConnectionPlan) -> Result<(), PlanError> {
        if plan.unix.is_none() {
            return Ok(());
        }
        // A canonical text has an empty list.
        let fixed = self.file.resolve.fixed.as_ref().is_some_and(|list| !list.is_empty());
        let others = [
            ("connection.proxy", plan.proxy.is_some(), "a Unix socket cannot use a proxy"),
            ("connection.source_ips", !plan.source_ips.is_empty(), "a Unix socket has no local IP address"),
            ("resolve.fixed", fixed, "a Unix socket needs no address look-up"),
        ];
        match others.into_iter().find(|(_, is_set, _)| *is_set) {
            Some((other, _, why)) => Err(self.table.both("connection.unix", other, why)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::PlanFile;

    #[test]
    fn connections_that_close_at_once_cannot_all_be_open() {
        let text = "url = \"http://h/\"\n[connection]\nkeep_alive = false\nopen_all = true\n";
        let refused = PlanFile::from_toml(text, "a test").expect("a plan").resolve().unwrap_err();
        assert!(refused.to_string().contains("open_all"), "{refused}");
    }

    #[test]
    fn the_canonical_text_of_a_plan_for_a_unix_socket_is_a_plan() {
        let text = "url = \"http://h/\"\n[connection]\nunix = \"/run/a.sock\"\n";
        let plan = PlanFile::from_toml(text, "a test").expect("a plan").resolve().expect("a whole one");
        let again = PlanFile::from_toml(&plan.to_toml(), "a test").expect("a plan").resolve();
        assert_eq!(again.expect("a whole one"), plan);
        let text = format!("{text}[resolve]\nfixed = [\"h:80:127.0.0.1\"]\n");
        let refused = PlanFile::from_toml(&text, "a test").expect("a plan").resolve().unwrap_err();
        assert!(refused.to_string().contains("resolve.fixed"), "{refused}");
    }

    #[test]
    fn an_end_is_refused_where_it_cannot_be_and_in_the_plan_where_it_is_not_the_usual_one() {
        let plan = |connection: &str| {
            let text = format!("url = \"http://h/\"\n[connection]\n{connection}");
            PlanFile::from_toml(&text, "a test").expect("a plan").resolve()
        };
        for (connection, why) in [
            ("close = \"server\"\n", "--no-keep-alive"),
            ("close = \"rst\"\nunix = \"/s\"\n", "a Unix socket has no reset"),
            ("close = \"rts\"\n", "did you mean rst?"),
        ] {
            let refused = plan(connection).unwrap_err().to_string();
            assert!(refused.contains("connection.close") && refused.contains(why), "{refused}");
        }
        let usual = plan("").expect("it can be");
        assert_eq!(plan("close = \"fin\"\n").expect("it can be").hash(), usual.hash());
        let server = plan("close = \"server\"\nkeep_alive = false\n").expect("it can be");
        let text = server.to_toml();
        assert!(text.contains("\nclose = \"server\"\n"), "{text}");
        assert_eq!(
            PlanFile::from_toml(&text, "its own").expect("a plan").resolve().expect("it can be"),
            server
        );
    }
}
