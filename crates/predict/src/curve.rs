//! From what was weighed to what a plan will take: interpolation.
//!
//! ```text
//!   time for each unit                      1/peak(x) = Σ wᵢ · 1/peakᵢ        Σ wᵢ = 1
//!     │          ●  1518 B
//!     │      ·  (w = (s − 64) / (1518 − 64), also beyond 1518)
//!     │  ●  64 B
//!     └────────────── size                  cost(x, r) = Σ wᵢ · costᵢ(r · peakᵢ / peak(x))
//! ```
//!
//! - Times add up, rates do not: so 1/peak is what lies on a straight line between two sizes, between
//!   keep-alive and a connection for each request, and between plain and TLS.
//! - What a unit costs falls as the rate rises (more is done for each wake-up), so it is looked up at the same
//!   share of the peak.
//! - Between two rates that were weighed, times lie on a straight line; below the lowest and above the highest
//!   they stay what they were there. Lateness above the highest rate is not known: it grows as long as the run
//!   lasts.
//! - `n` threads carry `n / weighed threads` times as much, as far as there are CPUs. That holds for engine
//!   threads, which share nothing, and not for what they load: a target on the same machine takes its CPUs from
//!   the same ones.

use crate::{Demand, FrameDemand, RequestDemand, Supply};
use profile::{Capability, Point, Profile, Refused};

/// CPU time for each unit, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub user_ns: f64,
    pub system_ns: f64,
    /// `None` where it could not be told apart from the system's.
    pub softirq_ns: Option<f64>,
}

impl Cost {
    pub fn total_ns(&self) -> f64 {
        self.user_ns + self.system_ns + self.softirq_ns.unwrap_or(0.0)
    }
}

/// What the profile says of a demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// What is sent, in the profile's words; the mixture's largest part where it is one.
    pub key: String,
    /// Capabilities with their weights, or why there is nothing to go by.
    parts: Result<Vec<(f64, Capability)>, String>,
    /// Engine threads that the plan will have, and CPUs for them.
    threads: u32,
    cpus: u32,
}

impl Estimate {
    /// Looks up what the demand is made of.
    pub fn of(demand: &Demand, profile: Result<&Profile, &Refused>, supply: &Supply) -> Self {
        let cpus = match demand.cpus.len() as u32 {
            0 => supply.cpus(),
            pinned => pinned.min(supply.cpus()),
        }
        .max(1);
        let wanted = wanted(demand, profile.ok());
        let largest = wanted.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let key = largest.map_or_else(|| demand.command.to_owned(), |(_, key)| key.clone());
        let parts = match (profile, wanted.is_empty()) {
            (_, true) => Err(format!("tare {} is not weighed", demand.command)),
            (Err(refused), _) => Err(refused.to_string()),
            (Ok(profile), _) => parts(&wanted, profile, demand),
        };
        Self { key, parts, threads: demand.threads_of(supply.cpus()), cpus }
    }

    /// Why there is no estimate.
    pub fn refusal(&self) -> Option<&str> {
        self.parts.as_ref().err().map(String::as_str)
    }

    /// The highest rate at which verdicts stay VALID.
    pub fn peak_per_s(&self) -> Option<f64> {
        self.harmonic(|capability| Some(capability.peak_per_s))
    }

    /// Rate as fast as it goes.
    pub fn saturated_per_s(&self) -> Option<f64> {
        self.harmonic(|capability| capability.saturated_per_s)
    }

    /// What was loaded when it was weighed limited one of the parts.
    pub fn is_lower_bound(&self) -> bool {
        self.parts().iter().any(|(_, capability)| capability.is_lower_bound)
    }

    /// What a unit takes at that rate.
    pub fn cost(&self, per_second: f64) -> Option<Cost> {
        let share = per_second / self.peak_per_s()?;
        let mut sum = Cost { softirq_ns: Some(0.0), ..Cost::default() };
        for (weight, capability) in self.parts() {
            let at = between(&capability.points, share * capability.peak_per_s)?;
            sum.user_ns += weight * at.user_ns;
            sum.system_ns += weight * at.system_ns;
            sum.softirq_ns = sum.softirq_ns.zip(at.softirq_ns).map(|(sum, at)| sum + weight * at);
        }
        Some(sum)
    }

    /// Lateness that one in a hundred exceeds at that rate, of the part that has most; `None` beyond what was
    /// weighed.
    pub fn lateness_p99_ns(&self, per_second: f64) -> Option<f64> {
        let share = per_second / self.peak_per_s()?;
        let of = |capability: &Capability| {
            let at = share * capability.peak_per_s;
            let highest = capability.points.iter().map(|point| point.offered_per_s).fold(0.0, f64::max);
            (at <= highest * 1.001).then(|| between(&capability.points, at))?
        };
        let all: Option<Vec<f64>> = self
            .parts()
            .iter()
            .map(|(_, capability)| of(capability).map(|at| at.lateness_p99_ns as f64))
            .collect();
        all?.into_iter().reduce(f64::max)
    }

    /// Resident memory with that many connections, in bytes.
    pub fn memory_bytes(&self, connections: u32) -> Option<f64> {
        let of = |capability: &Capability| {
            let each = capability.memory_per_connection_bytes.unwrap_or(0.0);
            Some(capability.memory_bytes? as f64 + each * f64::from(connections))
        };
        self.parts().iter().filter_map(|(_, capability)| of(capability)).reduce(f64::max)
    }

    /// What it was weighed against, and with how many threads.
    pub fn basis(&self) -> String {
        let mut against: Vec<String> = self
            .parts()
            .iter()
            .map(|(_, capability)| format!("{} against {}", capability.key, capability.against))
            .collect();
        against.dedup();
        against.join(" and ")
    }

    fn parts(&self) -> &[(f64, Capability)] {
        self.parts.as_deref().unwrap_or_default()
    }

    /// One over the weighted sum of times, for the plan's threads.
    fn harmonic(&self, rate: impl Fn(&Capability) -> Option<f64>) -> Option<f64> {
        let mut time = 0.0;
        for (weight, capability) in self.parts() {
            let threads = self.threads.min(self.cpus);
            let scale = f64::from(threads) / f64::from(capability.threads.max(1));
            time += weight / (rate(capability)? * scale);
        }
        (time > 0.0 && time.is_finite()).then_some(1.0 / time)
    }
}

/// Keys with their weights; empty where nothing of the kind is weighed.
fn wanted(demand: &Demand, profile: Option<&Profile>) -> Vec<(f64, String)> {
    match (&demand.requests, &demand.frames) {
        (Some(requests), _) => of_requests(requests),
        (None, Some(frames)) if demand.command != "pace" => of_frames(frames, profile),
        (None, _) => Vec::new(),
    }
}

/// Between the four corners: keep-alive or a new connection, plain or TLS.
fn of_requests(requests: &RequestDemand) -> Vec<(f64, String)> {
    let (new, tls) = (requests.opened_per_request, requests.tls_share);
    let corners = [
        ((1.0 - new) * (1.0 - tls), "http.keep_alive"),
        (new * (1.0 - tls), "http.new_connection"),
        ((1.0 - new) * tls, "http.tls"),
        (new * tls, "http.tls_new_connection"),
    ];
    corners
        .into_iter()
        .filter(|(weight, _)| *weight > 0.0)
        .map(|(weight, key)| (weight, key.to_owned()))
        .collect()
}

/// Between the two sizes that are nearest, of the first kind of port that was weighed.
fn of_frames(frames: &FrameDemand, profile: Option<&Profile>) -> Vec<(f64, String)> {
    let size = frames.mean_size;
    let unknown =
        |kind: &str| vec![(1.0, format!("send.{kind}.{:.0}", if size.is_nan() { 64.0 } else { size }))];
    let Some(profile) = profile else { return frames.kinds.first().map_or(Vec::new(), |kind| unknown(kind)) };
    for kind in &frames.kinds {
        let sizes = weighed_sizes(profile, kind);
        let key = |size: u32| format!("send.{kind}.{size}");
        match sizes[..] {
            [] => {}
            [only] => return vec![(1.0, key(only))],
            _ if size.is_nan() => return vec![(1.0, key(sizes[0]))],
            _ => {
                let above = sizes.partition_point(|known| f64::from(*known) < size);
                let upper = above.clamp(1, sizes.len() - 1);
                let (low, high) = (sizes[upper - 1], sizes[upper]);
                // Below the smallest nothing is won: a frame is never shorter than 64 bytes on the way.
                let weight = ((size - f64::from(low)) / f64::from(high - low)).max(0.0);
                let both = [(1.0 - weight, key(low)), (weight, key(high))];
                return both.into_iter().filter(|(weight, _)| *weight != 0.0).collect();
            }
        }
    }
    frames.kinds.first().map_or(Vec::new(), |kind| unknown(kind))
}

fn weighed_sizes(profile: &Profile, kind: &str) -> Vec<u32> {
    let size = |key: &str| key.strip_prefix("send.")?.strip_prefix(kind)?.strip_prefix('.')?.parse().ok();
    let mut sizes: Vec<u32> =
        profile.capabilities.iter().filter_map(|capability| size(&capability.key)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn parts(
    wanted: &[(f64, String)],
    profile: &Profile,
    demand: &Demand,
) -> Result<Vec<(f64, Capability)>, String> {
    let host = demand.requests.as_ref().and_then(|requests| requests.host.as_deref());
    let missing = |key: &str| {
        let what = if key.starts_with("http.") { "http" } else { "packets" };
        format!("{key} was not weighed yet; run `tare weigh {what}`")
    };
    wanted
        .iter()
        .map(|(weight, key)| {
            let found = best(profile, key, host).filter(|capability| capability.peak_per_s > 0.0);
            found.map(|capability| (*weight, capability.clone())).ok_or_else(|| missing(key))
        })
        .collect()
}

/// What was weighed against the plan's own host, or else against anything.
fn best<'a>(profile: &'a Profile, key: &str, host: Option<&str>) -> Option<&'a Capability> {
    let of_host = |capability: &&Capability| {
        host.is_some_and(|host| capability.key == key && names_host(&capability.against, host))
    };
    profile.capabilities.iter().find(of_host).or_else(|| profile.capability(key))
}

/// Whether `against` is a URL with that host.
fn names_host(against: &str, host: &str) -> bool {
    plan::TargetUrl::parse(against).is_ok_and(|url| url.host == host)
}

/// The values at a rate, on straight lines between the points; at the ends what is there.
pub(crate) fn between(points: &[Point], per_second: f64) -> Option<Point> {
    let mut sorted: Vec<&Point> = points.iter().filter(|point| point.offered_per_s > 0.0).collect();
    sorted.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    let above = sorted.partition_point(|point| point.offered_per_s < per_second);
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return None };
    if above == 0 {
        return Some(**first);
    }
    let Some(high) = sorted.get(above) else { return Some(**last) };
    let low = sorted[above - 1];
    let share = (per_second - low.offered_per_s) / (high.offered_per_s - low.offered_per_s);
    let line = |a: f64, b: f64| a + (b - a) * share;
    Some(Point {
        offered_per_s: per_second,
        achieved_per_s: line(low.achieved_per_s, high.achieved_per_s),
        user_ns: line(low.user_ns, high.user_ns),
        system_ns: line(low.system_ns, high.system_ns),
        softirq_ns: low.softirq_ns.zip(high.softirq_ns).map(|(a, b)| line(a, b)),
        lateness_p50_ns: line(low.lateness_p50_ns as f64, high.lateness_p50_ns as f64) as u64,
        lateness_p99_ns: line(low.lateness_p99_ns as f64, high.lateness_p99_ns as f64) as u64,
        is_valid: low.is_valid && high.is_valid,
    })
}
