//! Which request belongs to which departure. The choice depends on the seed and the sequence number alone, so
//! the same plan and seed send the same requests with any number of threads.
//!
//! A file means the same whatever its length: each line is read when its turn comes. Only what a file says as a
//! whole is found before the start: the names and the weights of its lines, if it has any.

use plan::{
    LineGlance, Order, Plan, RequestLine, Source, TargetUrl, Template, TemplateContext, Unfit, UrlProblem,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use units::{Group, Instant, Miss};

use crate::endpoint::{EndpointId, Endpoints, known_without_asking};
use crate::lines::{CHECKED_FIRST, Draws, LineCursor, LineFile, LinesError, Shuffle};
use crate::outgoing::Body;
use crate::request::{BodyAfter, Meta, Prepared, RequestError, Writer};
use crate::rules::{RuleBook, Rules, Wanted};
use crate::same::UrlKey;

/// Rows of the per-name table, the last being "other".
const GROUPS: usize = Group::MOST_NAMES + 1;
/// URLs without names get a row each up to this many.
const URL_GROUPS: usize = 32;
/// Bad lines of which the place is remembered.
const REMEMBERED: usize = 16;
/// Names that are known before the run begins.
const KNOWN_NAMES: usize = 64;
/// The lines of a file up to this size are kept once they are prepared, up to so many of them.
const KEPT_FILE: u64 = 4 << 20;
const KEPT_LINES: usize = 10_000;

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
        "{}, line {line}: weight counts only when the order is random; leave out the weights or --order", .path.display()
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
        order: Order,
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
            Source::Url(url) => {
                let lines = vec![RequestLine { url: url.clone(), ..Default::default() }];
                (From::Plan { lines, order: Order::Sequential, weights: Vec::new() }, Groups::default())
            }
            Source::Inline { requests, order } => {
                let (lines, weights) = (requests.clone(), weights(requests));
                let mut survey = Survey::default();
                lines.iter().for_each(|line| survey.add(line.name.as_deref(), || line.url.as_str().into()));
                (From::Plan { lines, order: *order, weights }, survey.groups())
            }
            Source::File { path, order } => {
                let mut file = LineFile::open(path, *order, plan.seed)?;
                let (kind, count) = check_file(&file, plan, |line| check(line, endpoints))?;
                let group_of = look_over(&mut file, *order, kind)?;
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
            files: Files::open(names, plan.seed)?,
            compares: plan.request.same_checksum,
            follows: plan.request.follow > 0,
            writer,
        })
    }

    /// Whether lines that nobody has read yet may name `https`.
    pub fn may_need_tls(&self) -> bool {
        matches!(self.from, From::File { is_long: true, .. })
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
fn pick(order: Order, weights: &[u64], count: usize, seed: u64, seq: u64) -> usize {
    let count = count as u64;
    let index = match (order, weights.last()) {
        (Order::Sequential, _) => seq % count,
        (Order::Shuffle, _) => Shuffle::new(seed, seq / count, count).of(seq % count),
        (Order::Random, Some(total)) => {
            let at = Draws::new(seed, seq).below(*total);
            weights.partition_point(|sum| *sum <= at) as u64
        }
        (Order::Random, None) => Draws::new(seed, seq).below(count),
    };
    index as usize
}

/// Looks at the first lines, so that what is wrong with a file is mostly said before the start; and says how
/// many.
fn check_file(
    file: &LineFile,
    plan: &Plan,
    mut check: impl FnMut(&RequestLine) -> Result<(), SourceError>,
) -> Result<(LineKind, usize), SourceError> {
    let (mut kind, mut count, mut failed) = (None, 0, None);
    let checked = file.check_first(|_, line| {
        let text = std::str::from_utf8(line).map_err(|_| "is not UTF-8 text".to_owned())?;
        let kind = *kind.get_or_insert(if text.starts_with('{') { LineKind::Json } else { LineKind::Url });
        let line = request_line(text, kind, plan.request.templates)?;
        count += 1;
        match check(&line) {
            Ok(()) => Ok(()),
            Err(SourceError::Request(error)) => Err(error.to_string()),
            // Of no one line.
            Err(other) => {
                failed.get_or_insert(other);
                Ok(())
            }
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(checked.map(|()| (kind.unwrap_or(LineKind::Url), count))?),
    }
}

/// Finds what the file says as a whole. Only JSON lines have names and weights, and only a file that mentions
/// them is read to its end.
fn look_over(file: &mut LineFile, order: Order, kind: LineKind) -> Result<Groups, SourceError> {
    // A key may be written with escapes.
    let mentions = |file: &LineFile, key: &str| kind == LineKind::Json && file.mentions(&[key, "\\u"]);
    let mut survey = Survey::default();
    let may_have_names = mentions(file, "\"name\"");
    file.each(|_, line| {
        let text = String::from_utf8_lossy(line);
        let name = if may_have_names { LineGlance::at(&text).name } else { None };
        survey.add(name.as_deref(), || url_of(&text, kind));
        if survey.is_full(may_have_names) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if mentions(file, "\"weight\"") {
        weigh(file, order)?;
    }
    Ok(survey.groups())
}

fn weigh(file: &mut LineFile, order: Order) -> Result<(), SourceError> {
    fn own_weight(line: &[u8]) -> Option<u32> {
        std::str::from_utf8(line).ok().and_then(|text| LineGlance::at(text).weight)
    }
    let mut first = None;
    file.each(|start, line| {
        first = own_weight(line).map(|_| start as u64);
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match first {
        None => Ok(()),
        Some(start) if order != Order::Random => {
            Err(SourceError::Weights { path: file.path().to_owned(), line: file.line_number_at(start) })
        }
        Some(_) => Ok(file.weigh(|line| own_weight(line).map_or(1, u64::from))?),
    }
}

fn url_of(text: &str, kind: LineKind) -> String {
    match kind {
        LineKind::Url => text.to_owned(),
        LineKind::Json => {
            RequestLine::from_json(text, false).map_or_else(|_| text.to_owned(), |line| line.url)
        }
    }
}

fn request_line(text: &str, kind: LineKind, templates: bool) -> Result<RequestLine, String> {
    match kind {
        LineKind::Json => RequestLine::from_json(text, templates).map_err(|error| error.to_string()),
        LineKind::Url => {
            let say = |problem: UrlProblem| format!("{problem}; expected {}", problem.expected());
            TargetUrl::parse(text).map_err(say)?;
            if templates {
                Template::compile(text).map_err(|error| error.to_string())?;
            }
            Ok(RequestLine { url: text.to_owned(), ..Default::default() })
        }
    }
}

fn endpoint_of(url: &str, endpoints: &mut Endpoints, plan: &Plan) -> Result<EndpointId, SourceError> {
    let parsed =
        TargetUrl::parse(url).map_err(|problem| RequestError::Url { url: url.to_owned(), problem })?;
    endpoints.of(&parsed, Instant::EPOCH, &plan.resolve).ok_or(SourceError::TooManyTargets)
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

/// Rows of the results: one for each name, or for each URL where there are few; the rest in "other".
#[derive(Debug, Default)]
struct Groups {
    names: Vec<String>,
    index: HashMap<String, Group>,
    /// By name, not by URL.
    named: bool,
}

const UNNAMED: &str = "(unnamed)";

impl Groups {
    fn of(&self, line: &RequestLine) -> Group {
        match &line.name {
            Some(name) if self.named => self.of_name(name),
            _ => self.of_url(&line.url),
        }
    }

    /// Of a line without a name.
    fn of_url(&self, url: &str) -> Group {
        match self.index.is_empty() {
            true => Group(0),
            false => self.of_name(if self.named { UNNAMED } else { url }),
        }
    }

    fn of_name(&self, name: &str) -> Group {
        self.index.get(name).copied().unwrap_or(Group(GROUPS as u16 - 1))
    }
}

/// What lines say about the groups, one after another.
#[derive(Default)]
struct Survey {
    names: Vec<String>,
    urls: Vec<String>,
    lines: usize,
    named: bool,
}

impl Survey {
    fn add(&mut self, name: Option<&str>, url: impl FnOnce() -> String) {
        self.lines += 1;
        self.named |= name.is_some();
        let name = name.unwrap_or(UNNAMED);
        if self.names.len() < GROUPS - 1 && !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
        if self.lines <= URL_GROUPS {
            let url = url();
            if !self.urls.contains(&url) {
                self.urls.push(url);
            }
        }
    }

    /// Whether further lines change nothing.
    fn is_full(&self, may_have_names: bool) -> bool {
        self.lines > URL_GROUPS && (!may_have_names || self.named && self.names.len() == GROUPS - 1)
    }

    fn groups(self) -> Groups {
        let mut names = match (self.named, self.lines) {
            (true, _) => self.names,
            (false, 2..=URL_GROUPS) => self.urls,
            (false, _) => return Groups::default(),
        };
        let index = names.iter().enumerate().map(|(at, name)| (name.clone(), Group(at as u16))).collect();
        if names.len() == GROUPS - 1 {
            names.push(Group::OTHER.to_owned());
        }
        Groups { names, index, named: self.named }
    }
}

/// Files of `{line:FILE}`, by their names.
#[derive(Debug)]
struct Files {
    /// In the order of their numbers: those that were named before the start.
    first: Vec<(String, Arc<LineFile>)>,
    /// Those that lines further down named.
    later: Mutex<HashMap<String, Arc<LineFile>>>,
    seed: u64,
}

impl Files {
    fn open(names: Vec<String>, seed: u64) -> Result<Self, SourceError> {
        let open = |name: String| match LineFile::open(name.as_ref(), Order::Sequential, seed) {
            Ok(file) => Ok((name, Arc::new(file))),
            Err(error) => Err(SourceError::Placeholder { name, error }),
        };
        let first = names.into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { first, later: Mutex::default(), seed })
    }

    /// Opened by the thread that needs it first.
    fn later(&self, name: &str) -> Result<Arc<LineFile>, SourceError> {
        let mut later = self.later.lock().expect("nobody panics while holding it");
        if let Some(file) = later.get(name) {
            return Ok(file.clone());
        }
        let file = LineFile::open(name.as_ref(), Order::Sequential, self.seed)
            .map_err(|error| SourceError::Placeholder { name: name.to_owned(), error })?;
        Ok(later.entry(name.to_owned()).or_insert(Arc::new(file)).clone())
    }
}

/// A request ready to be begun: its bytes are in the buffer that was given.
#[derive(Debug)]
pub struct Staged {
    pub endpoint: EndpointId,
    pub meta: Meta,
    pub rules: Wanted,
    pub body: Body,
    /// Bytes of the body that are not among the bytes given.
    pub body_bytes: u64,
    pub url: Option<UrlKey>,
}

/// One thread's way through the requests.
pub struct Chooser {
    requests: Arc<Requests>,
    cursor: Option<LineCursor>,
    /// Prepared requests and the places of their rules: by their number in the plan, or by where their line
    /// begins.
    prepared: HashMap<u64, (Prepared, u32)>,
    /// Whether they are worth keeping.
    keeps: bool,
    pub rules: RuleBook,
    /// The URL of the request that was staged last, where redirects are followed.
    last_url: String,
    values: Values,
    scratch: Vec<u8>,
    line_meta: Meta,
    /// What is wrong with lines, and their offsets.
    pub bad_lines: Vec<(u64, String)>,
    pub lost: Option<String>,
    /// Milliseconds since 1970 at the clock's epoch.
    epoch_ms: u64,
}

/// Files of `{line:FILE}` as one thread reads them.
struct Values {
    names: Vec<String>,
    cursors: Vec<LineCursor>,
}

impl Values {
    /// Opens what was named since.
    fn follow(&mut self, files: &Files) -> Result<(), SourceError> {
        while let Some(name) = self.names.get(self.cursors.len()) {
            match files.later(name) {
                Ok(file) => self.cursors.push(LineCursor::new(&file)),
                Err(error) => {
                    self.names.truncate(self.cursors.len());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn describe(&self, unfit: Unfit, at: u64) -> String {
        let file = unfit.file();
        let line = self.cursors[file].file().line_number_at(at);
        format!("{{line:{}}}, line {line}: {unfit}", self.names[file])
    }
}

/// Why there is no request for a departure.
enum Unstaged {
    /// The whole file is lost.
    Lost(String),
    /// The line that begins there is no request.
    Bad(u64, String),
    /// A value for that line can not stand in it: the file, and where in it the value begins.
    Value(u64, Unfit, u64),
}

/// What a request is made of.
#[derive(Clone, Copy)]
enum Line<'a> {
    OfPlan(&'a RequestLine),
    OfFile(&'a str, LineKind),
}

impl Chooser {
    pub fn new(requests: &Arc<Requests>, plan: &Plan, epoch_ms: u64) -> Self {
        let (cursor, keeps) = match &requests.from {
            From::File { file, .. } => (Some(LineCursor::new(file)), file.length() <= KEPT_FILE),
            From::Plan { .. } => (None, true),
        };
        let first = &requests.files.first;
        Self {
            cursor,
            prepared: HashMap::new(),
            keeps,
            values: Values {
                names: first.iter().map(|(name, _)| name.clone()).collect(),
                cursors: first.iter().map(|(_, file)| LineCursor::new(file)).collect(),
            },
            scratch: Vec::new(),
            line_meta: requests.writer.line_meta(Group(0)),
            rules: RuleBook::new(Rules::new(&plan.request.expect, plan.request.same_checksum)),
            last_url: String::new(),
            bad_lines: Vec::new(),
            lost: None,
            epoch_ms,
            requests: requests.clone(),
        }
    }

    pub fn requests(&self) -> &Arc<Requests> {
        &self.requests
    }

    /// The URL of the request that was staged last; `None` where no redirect is followed.
    pub fn last_url(&self) -> Option<&str> {
        self.requests.follows.then_some(self.last_url.as_str())
    }

    /// Puts the request of departure `seq` into `out`.
    pub fn stage(
        &mut self,
        seq: u64,
        now: Instant,
        plan: &Plan,
        endpoints: &mut Endpoints,
        out: &mut Vec<u8>,
    ) -> Result<Staged, Miss> {
        out.clear();
        let (offset, problem) = match self.try_stage(seq, now, plan, endpoints, out) {
            Ok(staged) => return Ok(staged),
            Err(Unstaged::Lost(why)) => {
                self.lost = Some(why);
                return Err(Miss::SourceLost);
            }
            _ if self.bad_lines.len() == REMEMBERED => return Err(Miss::BadLine),
            Err(Unstaged::Bad(offset, problem)) => (offset, problem),
            Err(Unstaged::Value(offset, unfit, at)) => (offset, self.values.describe(unfit, at)),
        };
        if !self.bad_lines.iter().any(|(known, what)| *known == offset && *what == problem) {
            self.bad_lines.push((offset, problem));
        }
        Err(Miss::BadLine)
    }

    fn try_stage(
        &mut self,
        seq: u64,
        now: Instant,
        plan: &Plan,
        endpoints: &mut Endpoints,
        out: &mut Vec<u8>,
    ) -> Result<Staged, Unstaged> {
        let requests = &*self.requests;
        let (key, line) = requests.line(seq, self.cursor.as_mut())?;
        let bad = |problem: String| Unstaged::Bad(key, problem);
        let draws = Draws::new(!requests.seed, seq);
        let now_ms = self.epoch_ms + now.since_epoch().as_nanos() / 1_000_000;
        let (values, scratch) = (&mut self.values, &mut self.scratch);
        if let Line::OfFile(text, LineKind::Url) = line {
            let url = TargetUrl::parse(text).map_err(|problem| bad(problem.to_string()))?;
            if requests.writer.is_bare(text, &url) {
                let endpoint = endpoints.of(&url, now, &plan.resolve);
                let endpoint = endpoint.ok_or_else(|| bad(SourceError::TooManyTargets.to_string()))?;
                let mut context = Context { seq, draws, now_ms, cursors: &mut values.cursors, at: 0 };
                let after = requests.writer.line(&url, out, scratch, &mut context);
                let BodyAfter { body, bytes } =
                    after.map_err(|unfit| Unstaged::Value(key, unfit, context.at))?;
                let meta = Meta { group: requests.group_of.of_url(text), ..self.line_meta };
                let url = requests.key_of(text, &mut self.last_url);
                let rules = Wanted::BY_PLAN;
                return Ok(Staged { endpoint, meta, rules, body, body_bytes: bytes, url });
            }
        }
        let mut make = || requests.prepare(line, plan, endpoints, values).map_err(bad);
        let may_keep = self.keeps && self.prepared.len() < KEPT_LINES;
        let fresh;
        let (prepared, rules) = match self.prepared.entry(key) {
            Entry::Occupied(kept) => {
                let (prepared, rules) = &*kept.into_mut();
                (prepared, Wanted::Kept(*rules))
            }
            Entry::Vacant(free) if may_keep => {
                let (prepared, own) = make()?;
                let rules = own.map_or(RuleBook::BY_PLAN, |own| self.rules.keep(own));
                (&free.insert((prepared, rules)).0, Wanted::Kept(rules))
            }
            Entry::Vacant(_) => {
                let (prepared, own) = make()?;
                fresh = prepared;
                (&fresh, own.map_or(Wanted::BY_PLAN, |own| Wanted::Own(Box::new(own))))
            }
        };
        let mut context = Context { seq, draws, now_ms, cursors: &mut values.cursors, at: 0 };
        let after = requests.writer.render(prepared, out, scratch, &mut context);
        let BodyAfter { body, bytes } = after.map_err(|unfit| Unstaged::Value(key, unfit, context.at))?;
        let url = requests.key_of(&prepared.url, &mut self.last_url);
        Ok(Staged { endpoint: prepared.endpoint, meta: prepared.meta, rules, body, body_bytes: bytes, url })
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

    /// What of a URL is needed once its answer has come. `last` is where the URL itself is kept until then, if
    /// a redirect may begin at it.
    fn key_of(&self, url: &str, last: &mut String) -> Option<UrlKey> {
        if self.follows {
            last.clear();
            last.push_str(url);
        }
        self.compares.then(|| UrlKey::of(url))
    }
}

/// Values for templates: everything random follows from the seed and the sequence number.
struct Context<'a> {
    seq: u64,
    draws: Draws,
    now_ms: u64,
    cursors: &'a mut [LineCursor],
    /// Where the last line of a file begins.
    at: u64,
}

impl TemplateContext for Context<'_> {
    fn seq(&mut self) -> u64 {
        self.seq
    }
    fn random(&mut self) -> u64 {
        self.draws.next()
    }
    fn now_ms(&mut self) -> u64 {
        self.now_ms
    }
    fn line(&mut self, file: usize, out: &mut Vec<u8>) -> bool {
        match self.cursors[file].line_for(self.seq) {
            Ok((line, at)) => {
                out.extend_from_slice(line);
                self.at = at.offset;
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::PlanFile;
    use std::io::Write;

    fn requests(toml: &str) -> Arc<Requests> {
        let plan = PlanFile::from_toml(toml, "test").unwrap().resolve().unwrap();
        let mut endpoints = Endpoints::new(None, None);
        Arc::new(Requests::open(&plan, &mut endpoints).unwrap())
    }

    fn three(order: &str, seed: u64) -> Arc<Requests> {
        let each = |name: &str| format!("[[requests]]\nurl = \"http://h/{name}\"\n");
        requests(&format!("seed = {seed}\norder = \"{order}\"\n{}{}{}", each("a"), each("b"), each("c")))
    }

    #[test]
    fn the_same_seed_chooses_the_same_requests_and_another_does_not() {
        for order in ["random", "shuffle"] {
            assert_eq!(three(order, 7).preview(200), three(order, 7).preview(200));
            assert_ne!(three(order, 7).preview(200), three(order, 8).preview(200));
        }
        assert_eq!(
            three("sequential", 1).preview(4),
            ["http://h/a", "http://h/b", "http://h/c", "http://h/a"]
        );
    }

    #[test]
    fn a_shuffle_takes_each_request_once_a_pass() {
        for pass in three("shuffle", 3).preview(300).chunks(3) {
            let mut pass = pass.to_vec();
            pass.sort();
            assert_eq!(pass, ["http://h/a", "http://h/b", "http://h/c"]);
        }
    }

    #[test]
    fn weights_are_shares() {
        let file = "[[requests]]\nurl = \"http://h/a\"\nweight = 3\n[[requests]]\nurl = \"http://h/b\"\n";
        let chosen = requests(&format!("order = \"random\"\n{file}")).preview(8_000);
        let a = chosen.iter().filter(|url| url.ends_with('a')).count() as f64;
        // 6 000 expected of 8 000; standard deviation √(8 000 · ¾ · ¼) = 38.7; five of them are 194.
        assert!((a - 6_000.0).abs() < 194.0, "{a}");
    }

    #[test]
    fn a_request_is_written_as_it_is_meant() {
        let requests = requests(
            "url = \"http://user:p%20w@h:8080/p?q=1\"\n[request]\nmethod = \"POST\"\nbody = \"n={seq}\"\n\
             headers = [\"X-A: 1\", \"User-Agent: me\"]\n",
        );
        let plan = PlanFile::from_toml("url = \"http://h:8080/\"", "test").unwrap().resolve().unwrap();
        let mut endpoints = Endpoints::new(None, None);
        requests.teach(&mut endpoints, &plan);
        let mut out = Vec::new();
        let mut chooser = Chooser::new(&requests, &plan, 0);
        chooser.stage(12, Instant::EPOCH, &plan, &mut endpoints, &mut out).unwrap();
        // `printf 'user:p w' | base64` gives the credentials; "n=12" has four bytes.
        let expected = "POST /p?q=1 HTTP/1.1\r\nHost: h:8080\r\nX-A: 1\r\nUser-Agent: me\r\n\
             Authorization: Basic dXNlcjpwIHc=\r\nContent-Length: 4\r\n\r\nn=12";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn names_make_groups_and_a_bad_line_is_named() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{{\"url\":\"http://h/1\",\"name\":\"buy\"}}\n{{\"url\":\"http://h/2\"}}").unwrap();
        let path = file.path().display().to_string();
        assert_eq!(requests(&format!("file = {path:?}")).groups, ["buy", "(unnamed)"]);

        writeln!(file, "{{\"url\":\"ftp://h/\"}}").unwrap();
        let plan = PlanFile::from_toml(&format!("file = {path:?}"), "test").unwrap().resolve().unwrap();
        let error = Requests::open(&plan, &mut Endpoints::new(None, None)).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("scheme"), "{error}");
    }
}
