//! One thread's way through the requests.

use plan::{Plan, RequestLine, TargetUrl, Unfit};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use units::{Group, Instant, Miss};

use super::values::{Context, Values};
use super::{From, LineKind, Requests, SourceError};
use crate::endpoint::{EndpointId, Endpoints};
use crate::lines::{Draws, LineCursor};
use crate::outgoing::Body;
use crate::request::{Meta, Prepared};
use crate::rules::{RuleBook, Rules, Wanted};
use crate::same::UrlKey;

/// Bad lines of which the place is remembered.
const REMEMBERED: usize = 16;
/// The lines of a file up to this size are kept once they are prepared, up to so many of them.
const KEPT_FILE: u64 = 4 << 20;
const KEPT_LINES: usize = 10_000;

/// A request ready to be begun: its bytes are in the buffer that was given.
#[derive(Debug)]
pub struct Staged {
    pub endpoint: EndpointId,
    pub meta: Meta,
    pub rules: Wanted,
    pub body: Body,
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

/// Why there is no request for a departure.
pub(super) enum Unstaged {
    /// The whole file is lost.
    Lost(String),
    /// The line that begins there is no request.
    Bad(u64, String),
    /// A value for that line can not stand in it: the file, and where in it the value begins.
    Value(u64, Unfit, u64),
}

/// What a request is made of.
#[derive(Clone, Copy)]
pub(super) enum Line<'a> {
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

    pub(super) fn values(&mut self) -> &mut Values {
        &mut self.values
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
                let body = after.map_err(|unfit| Unstaged::Value(key, unfit, context.at))?;
                let meta = Meta { group: requests.group_of.of_url(text), ..self.line_meta };
                let url = requests.key_of(text, &[], &mut self.last_url);
                let rules = Wanted::BY_PLAN;
                return Ok(Staged { endpoint, meta, rules, body, url });
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
        let body = after.map_err(|unfit| Unstaged::Value(key, unfit, context.at))?;
        let filled = prepared.filled_line(out);
        let url = requests.key_of(&prepared.url, filled, &mut self.last_url);
        Ok(Staged { endpoint: prepared.endpoint, meta: prepared.meta, rules, body, url })
    }
}
