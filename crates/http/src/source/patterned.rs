//! Requests as the hardware makes them: bytes that are stored once, with one field of fixed width.

use super::Requests;
use super::chooser::{Chooser, Unstaged};
use crate::endpoint::{EndpointId, Endpoints};
use crate::lines::LineCursor;
use crate::outgoing::Body;
use plan::{Plan, TemplateContext};
use std::sync::Arc;

/// A request in two versions: with the least value in each of its placeholders, and with the greatest.
#[derive(Debug)]
pub struct Patterned {
    pub least: Vec<u8>,
    pub greatest: Vec<u8>,
    pub endpoint: EndpointId,
    /// Its line says what its own answers must be.
    pub has_own_rules: bool,
}

/// Values for placeholders.
struct Extreme {
    seq: u64,
    random: u64,
}

impl TemplateContext for Extreme {
    fn seq(&mut self) -> u64 {
        self.seq
    }
    fn random(&mut self) -> u64 {
        self.random
    }
    fn now_ms(&mut self) -> u64 {
        self.seq
    }
    fn line(&mut self, _: usize, _: &mut Vec<u8>) -> bool {
        false
    }
}

impl Chooser {
    /// The first `most` requests of the plan in the order of its lines, and whether these are all. `digits` is
    /// the width of the number in a field.
    ///
    /// # Errors
    /// A sentence on the request that cannot be made beforehand.
    pub fn patterned(
        &mut self,
        plan: &Plan,
        endpoints: &mut Endpoints,
        (most, digits): (usize, u32),
    ) -> Result<(Vec<Patterned>, bool), String> {
        let requests: Arc<Requests> = self.requests().clone();
        let mut cursor = requests.cursor();
        let (mut all, mut first) = (Vec::new(), None);
        for seq in 0.. {
            let (key, line) = requests.line(seq, cursor.as_mut()).map_err(|unstaged| match unstaged {
                Unstaged::Lost(why) | Unstaged::Bad(_, why) => why,
                Unstaged::Value(..) => "a value cannot be read".to_owned(),
            })?;
            // Lines come in order, and then again.
            if seq > 0 && first == Some(key) {
                return Ok((all, true));
            }
            first.get_or_insert(key);
            if all.len() == most {
                return Ok((all, false));
            }
            let (prepared, own) = requests.prepare(line, plan, endpoints, self.values())?;
            let write = |seq, random| {
                let (mut bytes, mut context) = (Vec::new(), Extreme { seq, random });
                match requests.writer.render(&prepared, &mut bytes, &mut Vec::new(), &mut context) {
                    Ok(Body::Inside) => Ok(bytes),
                    Ok(_) => Err("a body is too long".to_owned()),
                    Err(unfit) => Err(format!("a line of a file {unfit}: placeholders cannot read files")),
                }
            };
            all.push(Patterned {
                least: write(0, 0)?,
                greatest: write(10_u64.pow(digits) - 1, u64::MAX)?,
                endpoint: prepared.endpoint,
                has_own_rules: own.is_some(),
            });
        }
        unreachable!("the loop has no end of its own")
    }
}

impl Requests {
    /// A way through the file, if there is one.
    fn cursor(&self) -> Option<LineCursor> {
        match &self.from {
            super::From::File { file, .. } => Some(LineCursor::new(file)),
            super::From::Plan { .. } => None,
        }
    }
}
