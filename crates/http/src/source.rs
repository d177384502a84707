//! Which request belongs to which departure. The choice depends on the seed and the sequence number alone, so
//! the same plan and seed send the same requests with any number of threads.
//!
//! A file means the same whatever its length: each line is read when its turn comes. Only what a file says as a
//! whole is found before the start: the names and the weights of its lines, if it has any.

mod chooser;
mod file;
mod fixed;
mod groups;
mod patterned;
mod values;

#[cfg(test)]
mod tests;

use plan::{LineOrder, Plan, RequestLine, RequestSource, TargetUrl};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::{Group, Instant, Miss};

pub use chooser::{Chooser, Staged};
use chooser::{Line, Unstaged};
use file::{check_file, endpoint_of, look_over, request_line};
pub use fixed::Fixed;
use groups::{Groups, Survey};
pub use patterned::Patterned;
use values::{Files, Values};

use crate::endpoint::{Endpoints, known_without_asking};
use crate::lines::{CHECKED_FIRST, Draws, LineCursor, LineFile, LinesError, Shuffle};
use crate::request::{Prepared, RequestError, Writer};
use crate::rules::Rules;
use crate::same::UrlKey;

/// Names that are known before the run begins.
const KNOWN_NAMES: usize = 64;

/// Why the requests of a plan could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Lines(#[from] LinesError),
    #[error("{{line:{name}}}: {}", placeholder_file(.error))]
    Placeholder { name: String, error: LinesError },
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(
        "{}, line {line}: weights apply only if the order is random; leave out the weights or --order", .path.display()
    )]
    Weights { path: PathBuf, line: u64 },
    #[error("more than {} different targets", Endpoints::MOST)]
    TooManyTargets,
}

/// A file of `{line:FILE}` holds any text, not requests.
fn placeholder_file(error: &LinesError) -> String {
    match error {
        LinesError::Empty { .. } => "the file has no line; expected some text on each line".to_owned(),
        LinesError::NotAFile { .. } => "not a regular file; expected a file of lines".to_owned(),
        LinesError::Open { source, .. } => format!("{source}; expected a file of lines"),
        other => other.to_string(),
    }
}

/// A file of so many bytes is looked through as a whole before the start.
const READ_WHOLE: u64 = 1 << 30;

/// The requests of a run, shared by its threads.
#[derive(Debug)]
pub struct Requests {
    pub writer: Writer,
    /// Names of the groups; empty if there is only one.
    pub groups: Vec<String>,
    group_of: Groups,
    from: From,
    seed: u64,
    /// A URL for each target that is known before the run begins.
    known: Vec<Box<str>>,
    files: Files,
    /// Bodies of the same URL are compared.
    compares: bool,
    /// Redirects are followed.
    follows: bool,
}

#[derive(Debug)]
enum From {
    /// The URL or the requests of the plan itself.
    Plan {
        lines: Vec<RequestLine>,
        order: LineOrder,
        /// Sums of the weights up to each request; empty if all are equal.
        weights: Vec<u64>,
    },
    File {
        file: Arc<LineFile>,
        kind: LineKind,
        /// More lines than were looked at before the start.
        is_long: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Url,
    Json,
}

impl Requests {
    /// Opens files and looks at what can be looked at. `endpoints` learns the targets that are found.
    pub fn open(plan: &Plan, endpoints: &mut Endpoints) -> Result<Self, SourceError> {
        Self::open_with(plan, endpoints, |_| true)
    }

    /// Whether [`Self::open`] would fail, as far as the beginning of a file that is not `short` tells.
    pub fn check(plan: &Plan, short: impl Fn(&Path) -> bool) -> Result<(), SourceError> {
        let mut endpoints = Endpoints::new(plan.connection.proxy.clone(), None);
        Self::open_with(plan, &mut endpoints, short).map(drop)
    }

    fn open_with(
        plan: &Plan,
        endpoints: &mut Endpoints,
        short: impl Fn(&Path) -> bool,
    ) -> Result<Self, SourceError> {
        let mut names = Vec::new();
        let writer = Writer::new(plan, &mut names)?;
        let mut known = Known::default();
        let mut check = |line: &RequestLine, endpoints: &mut Endpoints| -> Result<(), SourceError> {
            let endpoint = endpoint_of(&line.url, endpoints, plan)?;
            known.add(&line.url);
            writer.prepare(line, endpoint, Group(0), &mut names)?;
            Ok(())
        };
        let (from, group_of) = match &plan.source {
            RequestSource::Url(url) => {
                let lines = vec![RequestLine { url: url.clone(), ..Default::default() }];
                (From::Plan { lines, order: LineOrder::Sequential, weights: Vec::new() }, Groups::default())
            }
            RequestSource::Inline { requests, order } => {
                let (lines, weights) = (requests.clone(), weights(requests));
                let mut survey = Survey::default();
                lines.iter().for_each(|line| survey.add(line.name.as_deref(), || line.url.as_str().into()));
                (From::Plan { lines, order: *order, weights }, survey.groups())
            }
            RequestSource::File { path, order } => {
                let is_short = short(path);
                // Another order needs all lines.
                let order_now = if is_short { *order } else { LineOrder::Sequential };
                let mut file = LineFile::open(path, order_now, plan.seed)?;
                let (kind, count) = check_file(&file, plan, |line| check(line, endpoints))?;
                let group_of = if is_short { look_over(&mut file, *order, kind)? } else { Groups::default() };
                let is_long = count == CHECKED_FIRST;
                (From::File { file: Arc::new(file), kind, is_long }, group_of)
            }
        };
        if let From::Plan { lines, .. } = &from {
            lines.iter().try_for_each(|line| check(line, endpoints))?;
        }
        Ok(Self {
            groups: group_of.names.clone(),
            group_of,
            from,
            seed: plan.seed,
            known: known.urls,
            files: Files::open(names)?,
            compares: plan.request.same_checksum,
            follows: plan.request.follow > 0,
            writer,
        })
    }

    /// Whether lines that nobody has read yet may name `https`.
    pub fn may_need_tls(&self) -> bool {
        matches!(self.from, From::File { is_long: true, .. })
    }

    /// Files of `{line:FILE}`, by name: those that are open, and those that lines further down name.
    pub fn line_files(&self, plan: &Plan) -> Vec<String> {
        let mut names: BTreeSet<String> = self.files.first.iter().map(|(name, _)| name.clone()).collect();
        if let From::File { file, is_long: true, .. } = &self.from
            && plan.request.templates
            // What a file holds that takes seconds to read is unknown anyway.
            && file.size() <= READ_WHOLE
        {
            names.extend(file.between("{line:", b'}'));
        }
        names.into_iter().collect()
    }

    /// Adds the targets known beforehand.
    pub fn teach(&self, endpoints: &mut Endpoints, plan: &Plan) {
        for url in &self.known {
            let url = TargetUrl::parse(url).expect("it was parsed when it was looked at");
            endpoints.of(&url, Instant::EPOCH, &plan.resolve);
        }
    }

    /// Host and port of each name that must be looked up before the first requests can go.
    pub fn names(&self, plan: &Plan) -> Vec<(Box<str>, u16)> {
        if plan.connection.unix.is_some() {
            return Vec::new();
        }
        let mut all: Vec<(Box<str>, u16)> = Vec::new();
        let of_requests = self.known.iter().filter_map(|url| {
            let url = TargetUrl::parse(url).ok()?;
            Some((Box::from(url.host), url.port))
        });
        let proxy = plan.connection.proxy.as_ref().map(|(host, port)| (Box::from(host.as_str()), *port));
        let wanted: Box<dyn Iterator<Item = _>> = match proxy {
            Some(proxy) => Box::new(std::iter::once(proxy)),
            None => Box::new(of_requests),
        };
        for (host, port) in wanted {
            let known = known_without_asking(&host, port, &plan.resolve).is_some();
            if !known && !all.contains(&(host.clone(), port)) && all.len() < KNOWN_NAMES {
                all.push((host, port));
            }
        }
        all
    }

    /// What a line of the file is, for a message; empty if the plan has no file.
    pub fn describe_line(&self, offset: u64) -> String {
        match &self.from {
            From::File { file, .. } => format!("line {}", file.line_number_at(offset)),
            From::Plan { .. } => String::new(),
        }
    }

    /// The URL of each request, in the order in which the first `count` departures take them; for
    /// `--print-plan` and tests.
    pub fn preview(self: &Arc<Self>, count: u64) -> Vec<String> {
        let mut cursor = match &self.from {
            From::File { file, .. } => Some(LineCursor::new(file)),
            From::Plan { .. } => None,
        };
        let url = |seq| match (&self.from, cursor.as_mut()) {
            (From::Plan { lines, order, weights }, _) => {
                lines[pick(*order, weights, lines.len(), self.seed, seq)].url.clone()
            }
            (From::File { .. }, cursor) => {
                let line = cursor.expect("made for the file").line_for(seq);
                line.map_or_else(
                    |_| Miss::SourceLost.key().to_owned(),
                    |(line, _)| String::from_utf8_lossy(line).into_owned(),
                )
            }
        };
        (0..count).map(url).collect()
    }
}

/// Which of `count` requests is that of departure `seq`.
fn pick(order: LineOrder, weights: &[u64], count: usize, seed: u64, seq: u64) -> usize {
    let count = count as u64;
    let index = match (order, weights.last()) {
        (LineOrder::Sequential, _) => seq % count,
        (LineOrder::Shuffle, _) => Shuffle::new(seed, seq / count, count).of(seq % count),
        (LineOrder::Random, Some(total)) => {
            let at = Draws::new(seed, seq).below(*total);
            weights.partition_point(|sum| *sum <= at) as u64
        }
        (LineOrder::Random, None) => Draws::new(seed, seq).below(count),
    };
    index as usize
}

fn weights(lines: &[RequestLine]) -> Vec<u64> {
    if lines.iter().all(|line| line.weight.is_none()) {
        return Vec::new();
    }
    let mut sum = 0;
    lines
        .iter()
        .map(|line| {
            sum += u64::from(line.weight.unwrap_or(1));
            sum
        })
        .collect()
}

/// URLs of different targets, a bounded number of them.
#[derive(Default)]
struct Known {
    urls: Vec<Box<str>>,
    authorities: Vec<Box<str>>,
}

impl Known {
    fn add(&mut self, url: &str) {
        let Ok(parsed) = TargetUrl::parse(url) else { return };
        if self.urls.len() < KNOWN_NAMES && !self.authorities.iter().any(|known| **known == *parsed.authority)
        {
            self.authorities.push(parsed.authority.into());
            self.urls.push(url.into());
        }
    }
}

impl Requests {
    /// The line of departure `seq`, and what tells it from others.
    fn line<'a>(&'a self, seq: u64, cursor: Option<&'a mut LineCursor>) -> Result<(u64, Line<'a>), Unstaged> {
        let kind = match &self.from {
            From::Plan { lines, order, weights } => {
                let index = pick(*order, weights, lines.len(), self.seed, seq);
                return Ok((index as u64, Line::OfPlan(&lines[index])));
            }
            From::File { kind, .. } => *kind,
        };
        let (line, at) = match cursor.expect("a cursor was made for the file").line_for(seq) {
            Ok(found) => found,
            Err(error) if error.is_fatal() => return Err(Unstaged::Lost(error.to_string())),
            Err(error) => return Err(Unstaged::Bad(error.offset().unwrap_or(0), error.to_string())),
        };
        match std::str::from_utf8(line) {
            Ok(text) => Ok((at.offset, Line::OfFile(text, kind))),
            Err(_) => Err(Unstaged::Bad(at.offset, "is not UTF-8 text".to_owned())),
        }
    }

    /// Makes the request of a line ready; with it come the rules for its answers, if it has its own.
    fn prepare(
        &self,
        line: Line<'_>,
        plan: &Plan,
        endpoints: &mut Endpoints,
        values: &mut Values,
    ) -> Result<(Prepared, Option<Rules>), String> {
        let own;
        let line = match line {
            Line::OfPlan(line) => line,
            Line::OfFile(text, kind) => {
                own = request_line(text, kind, plan.request.templates)?;
                &own
            }
        };
        let endpoint = endpoint_of(&line.url, endpoints, plan).map_err(|error| error.to_string())?;
        let own = line.expect.as_ref().map(|expect| Rules::new(expect, plan.request.same_checksum));
        let prepared = self.writer.prepare(line, endpoint, self.group_of.of(line), &mut values.names);
        values.follow(&self.files).map_err(|error| error.to_string())?;
        Ok((prepared.map_err(|error| error.to_string())?, own))
    }

    /// What of a URL is needed once its answer has come. `filled` is the request line, if the URL has
    /// placeholders; `last` is where the URL itself is kept until then, if a redirect may begin at it.
    fn key_of(&self, url: &str, filled: &[u8], last: &mut String) -> Option<UrlKey> {
        if self.follows {
            last.clear();
            last.push_str(url);
        }
        self.compares.then(|| UrlKey::of(url, filled))
    }
}
