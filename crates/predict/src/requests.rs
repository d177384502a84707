//! The demand of a plan for HTTP.

use crate::{AskedRate, Demand, RequestDemand};
use plan::{Body, Load, Plan, RequestSource, Shape, TargetUrl};
use station::Addresses;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::Path;
use units::{Picos, Rate};

/// Lines of a URL file that are looked at for their scheme.
const LINES: usize = 1_000;
/// Ports of each address of `--via` that no other host has: 1024 to 65535.
const PORTS_EACH: u64 = 64_512;
/// Recorded times that are looked at.
const RECORDED: usize = 10_000_000;

impl Demand {
    /// Of a plan for HTTP. Reads the files that the plan names for its URLs and times; one that cannot be read
    /// leaves open what it would have said.
    pub fn of_http(plan: &Plan) -> Self {
        let (rate, connections) = match &plan.load {
            Load::Closed { connections } => (AskedRate::AsFastAsItGoes, Some(*connections)),
            Load::Open { arrivals, connections } => {
                (highest(&arrivals.shape, plan.stop.duration), *connections)
            }
        };
        Self {
            command: "http",
            rate,
            length_s: plan.stop.duration.map(|length| (length + plan.stop.warmup).as_secs_f64()),
            // One thread drives a port.
            threads: if plan.connection.via.is_some() { Some(1) } else { plan.engine.threads },
            cpus: plan.engine.cpus.clone(),
            requests: Some(requests(plan, connections)),
            frames: None,
            leaves_by: Vec::new(),
            comes_by: Vec::new(),
        }
    }
}

fn requests(plan: &Plan, connections: Option<u32>) -> RequestDemand {
    let connection = &plan.connection;
    let urls = Urls::of(&plan.source);
    let opened_per_request = match (connection.keep_alive, connection.requests_per_connection) {
        (false, _) => 1.0,
        (true, Some(count)) => 1.0 / f64::from(count.max(1)),
        (true, None) => 0.0,
    };
    let host = connection.proxy.as_ref().map(|(host, _)| host.clone()).or(urls.first_host);
    let fixed: Vec<IpAddr> = plan
        .resolve
        .fixed
        .iter()
        .filter(|(name, ..)| Some(name) == host.as_ref())
        .map(|(.., address)| *address)
        .collect();
    let is_here = |host: &String| {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    };
    let mut beside = Vec::new();
    if plan.request.body != Body::None {
        beside.push("bodies that are sent");
    }
    if plan.request.templates {
        beside.push("templates");
    }
    if connection.pipeline > 1 {
        beside.push("pipelining");
    }
    if connection.via.is_some() {
        beside.push("the TCP of --via instead of the kernel's");
    }
    RequestDemand {
        connections: connections.unwrap_or(connection.max_open),
        names_connections: connections.is_some(),
        opened_per_request,
        tls_share: urls.tls_share,
        source_ips: connection.source_ips.clone(),
        target_addresses: fixed.len().max(1) as u32,
        host: host.clone(),
        is_loopback: match fixed.is_empty() {
            true => host.as_ref().is_some_and(is_here),
            false => fixed.iter().all(IpAddr::is_loopback),
        },
        is_unix: connection.unix.is_some(),
        own_ports: connection.via.as_deref().map(|via| own_ports(via, connection.share_address)),
        beside,
    }
}

/// Ports of the addresses of `--via`; those of one address if it cannot be read, which is refused elsewhere.
fn own_ports(via: &str, is_shared: bool) -> u64 {
    let addresses = via.parse::<station::Via>().map_or(1, |via| via.ranges().map(Addresses::count).sum());
    let each = if is_shared { port::Reserved::each_of(addresses) as u64 } else { PORTS_EACH };
    addresses as u64 * each
}

/// The highest rate of a shape within `length`.
pub(crate) fn highest(shape: &Shape, length: Option<Picos>) -> AskedRate {
    let per_second = match shape {
        Shape::Constant(rate) | Shape::Poisson(rate) => rate.as_per_second_f64(),
        Shape::Ramp { from, to, over } => ramp(*from, *to, *over, length),
        Shape::Step { from, by, every, to } => {
            // A step that begins when the run ends is not taken.
            let until = |length: Picos| length.as_picos().saturating_sub(1) / every.as_picos().max(1);
            let steps = length.map_or(u64::MAX, until);
            (from.as_per_second_f64() + by.as_per_second_f64() * steps as f64).min(to.as_per_second_f64())
        }
        Shape::Stages(stages) => {
            let rates = stages.iter().filter_map(|stage| stage.to).map(Rate::as_per_second_f64);
            rates.fold(0.0, f64::max)
        }
        Shape::Sine { mean, amplitude, .. } => mean.as_per_second_f64() + amplitude.as_per_second_f64(),
        Shape::Burst { size, every } => size.get() as f64 / every.as_secs_f64(),
        Shape::At(path) => {
            return recorded(path).map_or_else(
                || AskedRate::NotKnown("the file of times cannot be read".to_owned()),
                AskedRate::PerSecond,
            );
        }
    };
    AskedRate::PerSecond(per_second)
}

/// A ramp that the run's end cuts off does not get to its top.
fn ramp(from: Rate, to: Rate, over: Picos, length: Option<Picos>) -> f64 {
    let (from, to) = (from.as_per_second_f64(), to.as_per_second_f64());
    let share = match length {
        Some(length) if length < over => length.as_secs_f64() / over.as_secs_f64(),
        _ => 1.0,
    };
    from.max(from + (to - from) * share)
}

/// The most that fall into one second of a file with an offset in seconds on each line.
fn recorded(path: &Path) -> Option<f64> {
    let lines = BufReader::new(os::input::open_regular(path).ok()?).lines();
    let (mut second, mut count, mut most) = (0u64, 0u64, 0u64);
    for line in lines.take(RECORDED) {
        let Ok(at) = line.ok()?.trim().parse::<f64>() else { continue };
        if at as u64 != second {
            (second, count) = (at as u64, 0);
        }
        count += 1;
        most = most.max(count);
    }
    (most > 0).then_some(most as f64)
}

/// What the URLs say beforehand.
#[derive(Default)]
struct Urls {
    tls_share: f64,
    first_host: Option<String>,
}

impl Urls {
    fn of(source: &RequestSource) -> Self {
        match source {
            RequestSource::Url(url) => Self::count(std::iter::once(url.clone())),
            RequestSource::Inline { requests, .. } => {
                Self::count(requests.iter().map(|line| line.url.clone()))
            }
            RequestSource::File { path, .. } => match os::input::open_regular(path) {
                Ok(file) => {
                    let lines = BufReader::new(file).lines().map_while(Result::ok);
                    Self::count(lines.take(LINES).filter_map(|line| url_in(&line)))
                }
                Err(_) => Self::default(),
            },
        }
    }

    fn count(urls: impl Iterator<Item = String>) -> Self {
        let (mut all, mut secure, mut first_host) = (0u32, 0u32, None);
        for url in urls {
            all += 1;
            secure += u32::from(url.starts_with("https://"));
            first_host = first_host.or_else(|| TargetUrl::parse(&url).ok().map(|url| url.host.to_owned()));
        }
        let tls_share = if all == 0 { 0.0 } else { f64::from(secure) / f64::from(all) };
        Self { tls_share, first_host }
    }
}

/// The URL of a line of a file: the line itself, or the value of its key `url`.
fn url_in(line: &str) -> Option<String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    if !line.starts_with('{') {
        return Some(line.split_ascii_whitespace().next()?.to_owned());
    }
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(value.get("url")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::PlanFile;

    fn demand(text: &str) -> Demand {
        Demand::of_http(&PlanFile::from_toml(text, "plan").unwrap().resolve().unwrap())
    }

    #[test]
    fn the_highest_rate_of_every_shape() {
        let rate = |load: &str| {
            demand(&format!("url = \"http://127.0.0.1/\"\n[load]\n{load}\n[stop]\nduration = \"10s\"\n"))
                .rate
                .per_second()
        };
        assert_eq!(rate("rate = \"400\""), Some(400.0));
        assert_eq!(rate("rate = \"90/min\"\npoisson = true"), Some(1.5));
        assert_eq!(rate("step = \"100+50:2s..900\""), Some(300.0));
        assert_eq!(rate("stages = \"100:5s,700:5s,50:5s\""), Some(700.0));
        assert_eq!(rate("sine = \"500±200:10s\""), Some(700.0));
        assert_eq!(rate("burst = \"50:100ms\""), Some(500.0));
        assert_eq!(rate("parallel = 4"), None);
    }

    #[test]
    fn a_tcp_of_our_own_has_ports_of_its_own_and_no_sockets() {
        let demand = demand(
            "url = \"http://198.18.0.2/\"\n[load]\nparallel = 200000\n\
             [connection]\nvia = \"packet:eth1,ip=198.18.0.10-12/24\"\n",
        );
        // Three addresses with 64 512 ports each.
        assert_eq!(demand.requests.as_ref().and_then(|requests| requests.own_ports), Some(193_536));
        assert_eq!(demand.threads, Some(1));
        // What the kernel has of either says nothing.
        let supply = crate::Supply { ports: Some(10), descriptors: Some(10), ..crate::Supply::default() };
        let forecast = crate::Forecast::of(&demand, Err(&profile::Refused::None), &supply);
        let ports = forecast.figure("ports").expect("it has ports");
        assert_eq!((ports.outlook, ports.has), (crate::Outlook::Invalid, Some(193_536.0)));
        assert!(forecast.figure("descriptors").is_none());
    }

    #[test]
    fn addresses_shared_with_the_host_have_a_block_of_ports_each() {
        let ports = |range: &str| {
            let text = format!(
                "url = \"http://198.18.0.2/\"\n[load]\nparallel = 20000\n\
                 [connection]\nvia = \"packet:eth1,ip=198.18.0.{range}/24\"\nshare_address = true\n"
            );
            let demand = demand(&text);
            let forecast =
                crate::Forecast::of(&demand, Err(&profile::Refused::None), &crate::Supply::default());
            let ports = forecast.figure("ports").expect("it has ports");
            (ports.has, ports.outlook)
        };
        assert_eq!(ports("10"), (Some(4_096.0), crate::Outlook::Invalid));
        assert_eq!(ports("10-12"), (Some(12_288.0), crate::Outlook::Invalid));
        // A run listens on 16 384 ports at most: 1638 of each of ten addresses.
        assert_eq!(ports("10-19"), (Some(16_380.0), crate::Outlook::Invalid));
    }

    #[test]
    fn a_ramp_that_is_cut_off_does_not_reach_its_top() {
        let of = |count| Rate::per_second(count).unwrap();
        // 100 + (500 − 100) · 10 s / 40 s = 200.
        let half = ramp(of(100), of(500), Picos::from_secs(40), Some(Picos::from_secs(10)));
        assert!((half - 200.0).abs() < 1e-9);
        assert!((ramp(of(500), of(100), Picos::from_secs(40), None) - 500.0).abs() < 1e-9);
    }

    #[test]
    fn recorded_times_are_counted_by_the_second() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times");
        std::fs::write(&path, "0.1\n0.2\n1.0\n1.1\n1.9\n2.5\n").unwrap();
        assert_eq!(recorded(&path), Some(3.0));
        assert_eq!(recorded(&folder.path().join("none")), None);
    }

    #[test]
    fn connections_and_schemes_are_told() {
        let text = "url = \"https://127.0.0.1/\"\n[load]\nrate = \"1k\"\nparallel = 8\n[connection]\n\
                    requests_per_connection = 4\nsource_ips = [\"127.0.0.2\", \"127.0.0.3\"]\n";
        let found = demand(text).requests.unwrap();
        assert_eq!((found.connections, found.names_connections), (8, true));
        assert_eq!((found.opened_per_request, found.tls_share), (0.25, 1.0));
        assert_eq!((found.source_ips.len(), found.is_loopback), (2, true));
        let remote =
            demand("url = \"http://198.18.0.1/\"\n[load]\nrate = \"1k\"\n[connection]\nkeep_alive = false\n");
        let found = remote.requests.unwrap();
        assert!(!found.is_loopback && !found.names_connections && found.opened_per_request == 1.0);
    }

    #[test]
    fn a_file_of_urls_may_be_mixed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("urls");
        std::fs::write(&path, "# two\nhttp://a/\n{\"url\": \"https://b/\"}\n\n").unwrap();
        let urls = Urls::of(&RequestSource::File { path, order: plan::LineOrder::Random });
        assert_eq!((urls.tls_share, urls.first_host.as_deref()), (0.5, Some("a")));
    }
}
