//! Which request belongs to which departure. The choice depends on the seed and the sequence number alone, so
//! the same plan and seed send the same requests with any number of threads.

use plan::{Order, Plan, RequestLine, Source, TargetUrl, TemplateContext, UrlProblem};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::{Group, Instant, Miss};

use crate::endpoint::{EndpointId, Endpoints, known_without_asking};
use crate::exchange::Rules;
use crate::lines::{CHECKED_FIRST, Draws, LineCursor, LineFile, LinesError, Shuffle};
use crate::outgoing::Body;
use crate::request::{Meta, Prepared, RequestError, Writer, rules};

/// Rows of the per-name table, the last being «other».
const GROUPS: usize = Group::MOST_NAMES + 1;
/// URLs without names get a row each up to this many.
const URL_GROUPS: usize = 32;
/// Bad lines of which the place is remembered.
const REMEMBERED: usize = 16;

/// Why the requests of a plan could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Lines(#[from] LinesError),
    #[error("{{line:{name}}}: {}", placeholder_file(.error))]
    Placeholder { name: String, error: LinesError },
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("{}: weights need a file of fewer than {CHECKED_FIRST} requests", .path.display())]
    Weights { path: PathBuf },
    #[error("more than 65536 different targets")]
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
    pub rules: Vec<Rules>,
    /// Names of the groups; empty if there is only one.
    pub groups: Vec<String>,
    prepared: Vec<Prepared>,
    /// Sums of the weights up to each request; empty if all are equal.
    weights: Vec<u64>,
    order: Order,
    seed: u64,
    lines: Option<(Arc<LineFile>, LineKind)>,
    /// Files of `{line:FILE}`.
    files: Vec<Arc<LineFile>>,
    keep_url: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Url,
    Json,
}

impl Requests {
    /// Opens files and makes ready what can be made ready. `endpoints` learns every target found.
    pub fn open(plan: &Plan, endpoints: &mut Endpoints) -> Result<Self, SourceError> {
        let writer = Writer::new(plan)?;
        let (lines, order, file) = match &plan.source {
            Source::Url(url) => {
                (vec![RequestLine { url: url.clone(), ..Default::default() }], Order::Sequential, None)
            }
            Source::Inline { requests, order } => (requests.clone(), *order, None),
            Source::File { path, order } => open_file(path, *order, plan)?,
        };
        let (rules, rule_of) = rules(plan, &lines);
        let (groups, group_of) = groups(&lines);
        let mut names = Vec::new();
        let mut prepared = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            let endpoint = endpoint_of(&line.url, endpoints, plan)?;
            prepared.push(writer.prepare(line, endpoint, group_of[index], rule_of[index], &mut names)?);
        }
        let files = names
            .iter()
            .map(|name| {
                let file = LineFile::open(name.as_ref(), Order::Sequential, plan.seed).map(Arc::new);
                file.map_err(|error| SourceError::Placeholder { name: name.clone(), error })
            })
            .collect::<Result<_, _>>()?;
        let keep_url = plan.request.follow > 0 || plan.request.same_checksum;
        let weights = weights(&lines);
        Ok(Self {
            writer,
            rules,
            groups,
            prepared,
            weights,
            order,
            seed: plan.seed,
            lines: file,
            files,
            keep_url,
        })
    }

    /// Whether lines that nobody has read yet may name `https`.
    pub fn may_need_tls(&self) -> bool {
        self.lines.is_some()
    }

    /// Adds every target known beforehand, in the order of their numbers.
    pub fn teach(&self, endpoints: &mut Endpoints, plan: &Plan) {
        for prepared in &self.prepared {
            let url = TargetUrl::parse(&prepared.url).expect("it was parsed when it was made ready");
            let id = endpoints.of(&url, Instant::EPOCH, &plan.resolve);
            debug_assert_eq!(
                id,
                Some(prepared.endpoint),
                "targets are numbered in the order of the requests"
            );
        }
    }

    /// Host and port of each name that must be looked up before the first requests can go.
    pub fn names(&self, plan: &Plan) -> Vec<(Box<str>, u16)> {
        if plan.connection.unix.is_some() {
            return Vec::new();
        }
        let mut all: Vec<(Box<str>, u16)> = Vec::new();
        let of_requests = self.prepared.iter().filter_map(|prepared| {
            let url = TargetUrl::parse(&prepared.url).ok()?;
            Some((Box::from(url.host), url.port))
        });
        let proxy = plan.connection.proxy.as_ref().map(|(host, port)| (Box::from(host.as_str()), *port));
        let wanted: Box<dyn Iterator<Item = _>> = match proxy {
            Some(proxy) => Box::new(std::iter::once(proxy)),
            None => Box::new(of_requests),
        };
        for (host, port) in wanted {
            let known = known_without_asking(&host, port, &plan.resolve).is_some();
            if !known && !all.contains(&(host.clone(), port)) && all.len() < 64 {
                all.push((host, port));
            }
        }
        all
    }

    fn pick(&self, seq: u64) -> usize {
        let count = self.prepared.len() as u64;
        let index = match (self.order, self.weights.last()) {
            (Order::Sequential, _) => seq % count,
            (Order::Shuffle, _) => Shuffle::new(self.seed, seq / count, count).of(seq % count),
            (Order::Random, Some(total)) => {
                let at = Draws::new(self.seed, seq).below(*total);
                self.weights.partition_point(|sum| *sum <= at) as u64
            }
            (Order::Random, None) => Draws::new(self.seed, seq).below(count),
        };
        index as usize
    }

    /// What a line of the huge file is, for a message: its number and text.
    pub fn describe_line(&self, offset: u64) -> String {
        match &self.lines {
            Some((file, _)) => format!("line {}", file.line_number_at(offset)),
            None => String::new(),
        }
    }

    /// The URL of each request, in the order in which the first `count` departures take them; for `--print-plan`
    /// and tests.
    pub fn preview(self: &Arc<Self>, count: u64) -> Vec<String> {
        let mut chooser = Chooser::new(self, 0);
        (0..count).map(|seq| chooser.url(seq).unwrap_or_else(|miss| miss.key().to_owned())).collect()
    }
}

type Opened = (Vec<RequestLine>, Order, Option<(Arc<LineFile>, LineKind)>);

/// A short file becomes its lines; a long one is read while it runs.
fn open_file(path: &Path, order: Order, plan: &Plan) -> Result<Opened, SourceError> {
    let file = LineFile::open(path, order, plan.seed)?;
    let mut first = Vec::new();
    let mut kind = None;
    file.check_first(|_, line| {
        let text = std::str::from_utf8(line).map_err(|_| "is not UTF-8 text".to_owned())?;
        let kind = *kind.get_or_insert(if text.starts_with('{') { LineKind::Json } else { LineKind::Url });
        first.push(request_line(text, kind, plan.request.templates)?);
        Ok(())
    })?;
    let kind = kind.unwrap_or(LineKind::Url);
    if first.len() >= CHECKED_FIRST {
        if first.iter().any(|line| line.weight.is_some()) {
            return Err(SourceError::Weights { path: path.to_owned() });
        }
        return Ok((Vec::new(), order, Some((Arc::new(file), kind))));
    }
    Ok((first, order, None))
}

fn request_line(text: &str, kind: LineKind, templates: bool) -> Result<RequestLine, String> {
    match kind {
        LineKind::Json => RequestLine::from_json(text, templates).map_err(|error| error.to_string()),
        LineKind::Url => {
            let say = |problem: UrlProblem| format!("{problem}; expected {}", problem.expected());
            TargetUrl::parse(text).map_err(say)?;
            if templates {
                plan::Template::compile(text).map_err(|error| error.to_string())?;
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

/// A row for each name, or for each URL where there are few; the rest in «other».
fn groups(lines: &[RequestLine]) -> (Vec<String>, Vec<Group>) {
    let named = lines.iter().any(|line| line.name.is_some());
    if !named && (lines.len() < 2 || lines.len() > URL_GROUPS) {
        return (Vec::new(), vec![Group(0); lines.len()]);
    }
    let mut names: Vec<String> = Vec::new();
    let mut index = std::collections::HashMap::new();
    let of = lines
        .iter()
        .map(|line| {
            let name = line.name.as_deref().unwrap_or(if named { "(unnamed)" } else { &line.url });
            let full = names.len() >= GROUPS - 1;
            let known = index.get(name).copied();
            let at = known.unwrap_or_else(|| {
                if full {
                    return GROUPS - 1;
                }
                names.push(name.to_owned());
                index.insert(name.to_owned(), names.len() - 1);
                names.len() - 1
            });
            Group(at as u16)
        })
        .collect();
    if index.len() == GROUPS - 1 {
        names.push(Group::OTHER.to_owned());
    }
    (names, of)
}

/// A request ready to be begun: its bytes are in the buffer that was given.
#[derive(Debug)]
pub struct Staged {
    pub endpoint: EndpointId,
    pub meta: Meta,
    pub body: Body,
    pub url: Option<Box<str>>,
}

/// One thread's way through the requests.
pub struct Chooser {
    requests: Arc<Requests>,
    cursor: Option<LineCursor>,
    file_cursors: Vec<LineCursor>,
    scratch: Vec<u8>,
    line_meta: Meta,
    /// Offsets of bad lines.
    pub bad_lines: Vec<(u64, String)>,
    pub lost: Option<String>,
    /// Milliseconds since 1970 at the clock's epoch.
    epoch_ms: u64,
}

impl Chooser {
    pub fn new(requests: &Arc<Requests>, epoch_ms: u64) -> Self {
        Self {
            cursor: requests.lines.as_ref().map(|(file, _)| LineCursor::new(file)),
            file_cursors: requests.files.iter().map(LineCursor::new).collect(),
            scratch: Vec::new(),
            line_meta: requests.writer.line_meta(Group(0), 0),
            bad_lines: Vec::new(),
            lost: None,
            epoch_ms,
            requests: requests.clone(),
        }
    }

    pub fn requests(&self) -> &Arc<Requests> {
        &self.requests
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
        if self.cursor.is_some() {
            return self.stage_line(seq, now, plan, endpoints, out);
        }
        let requests = self.requests.clone();
        let prepared = &requests.prepared[requests.pick(seq)];
        let body = self.render(prepared, seq, now, out);
        let url = requests.keep_url.then(|| prepared.url.clone());
        Ok(Staged { endpoint: prepared.endpoint, meta: prepared.meta.clone(), body, url })
    }

    fn render(&mut self, prepared: &Prepared, seq: u64, now: Instant, out: &mut Vec<u8>) -> Body {
        let requests = self.requests.clone();
        let mut context = Context {
            seq,
            draws: Draws::new(!requests.seed, seq),
            now_ms: self.epoch_ms + now.since_epoch().as_nanos() / 1_000_000,
            cursors: &mut self.file_cursors,
        };
        requests.writer.render(prepared, out, &mut self.scratch, &mut context)
    }

    fn stage_line(
        &mut self,
        seq: u64,
        now: Instant,
        plan: &Plan,
        endpoints: &mut Endpoints,
        out: &mut Vec<u8>,
    ) -> Result<Staged, Miss> {
        let requests = self.requests.clone();
        let Some((_, kind)) = &requests.lines else { return Err(Miss::SourceLost) };
        let cursor = self.cursor.as_mut().expect("a cursor was made for the file");
        let (line, at) = match cursor.line_for(seq) {
            Ok(found) => found,
            Err(error) if error.is_fatal() => {
                self.lost = Some(error.to_string());
                return Err(Miss::SourceLost);
            }
            Err(error) => {
                return Err(remember(&mut self.bad_lines, error.offset().unwrap_or(0), error.to_string()));
            }
        };
        let text = std::str::from_utf8(line).unwrap_or("\u{fffd}");
        if *kind == LineKind::Url && !(requests.writer.templates() && text.contains('{')) {
            let problem = match TargetUrl::parse(text) {
                Ok(url) => match endpoints.of(&url, now, &plan.resolve) {
                    Some(endpoint) => {
                        requests.writer.line(&url, out);
                        let url = requests.keep_url.then(|| text.into());
                        let meta = self.line_meta.clone();
                        let body = meta.body.clone();
                        return Ok(Staged { endpoint, meta, body, url });
                    }
                    None => "is one target too many".to_owned(),
                },
                Err(problem) => problem.to_string(),
            };
            return Err(remember(&mut self.bad_lines, at.offset, problem));
        }
        let prepared = request_line(text, *kind, plan.request.templates).and_then(|line| {
            let endpoint = endpoint_of(&line.url, endpoints, plan).map_err(|error| error.to_string())?;
            requests
                .writer
                .prepare(&line, endpoint, Group(0), 0, &mut Vec::new())
                .map_err(|error| error.to_string())
        });
        match prepared {
            Ok(prepared) => {
                let body = self.render(&prepared, seq, now, out);
                let url = requests.keep_url.then(|| prepared.url.clone());
                Ok(Staged { endpoint: prepared.endpoint, meta: prepared.meta.clone(), body, url })
            }
            Err(problem) => Err(remember(&mut self.bad_lines, at.offset, problem)),
        }
    }

    fn url(&mut self, seq: u64) -> Result<String, Miss> {
        match self.cursor.as_mut() {
            Some(cursor) => cursor
                .line_for(seq)
                .map(|(line, _)| String::from_utf8_lossy(line).into_owned())
                .map_err(|_| Miss::SourceLost),
            None => Ok(self.requests.prepared[self.requests.pick(seq)].url.to_string()),
        }
    }
}

fn remember(bad_lines: &mut Vec<(u64, String)>, offset: u64, problem: String) -> Miss {
    if bad_lines.len() < REMEMBERED && !bad_lines.iter().any(|(known, _)| *known == offset) {
        bad_lines.push((offset, problem));
    }
    Miss::BadLine
}

/// Values for templates: everything random follows from the seed and the sequence number.
struct Context<'a> {
    seq: u64,
    draws: Draws,
    now_ms: u64,
    cursors: &'a mut [LineCursor],
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
    fn line(&mut self, file: usize, out: &mut Vec<u8>) {
        if let Some((line, _)) = self.cursors.get_mut(file).and_then(|cursor| cursor.line_for(self.seq).ok())
        {
            out.extend_from_slice(line);
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
        let mut chooser = Chooser::new(&requests, 0);
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
