//! What answers must be, and the checks on their bodies, piece by piece.

use md5::{Digest as _, Md5};
use plan::{Digest, Expect};
use sha2::Sha256;
use units::{Cause, Outcome};

/// What an answer must be, ready to be checked piece by piece.
#[derive(Debug, Default)]
pub struct Rules {
    status: Vec<(u16, u16)>,
    contains: Option<Box<[u8]>>,
    digest: Option<Digest>,
    /// Digest every body, to be compared with the first of its URL.
    same: bool,
}

impl Rules {
    pub fn new(expect: &Expect, same: bool) -> Self {
        Self {
            status: expect.status.clone(),
            contains: expect.body_contains.as_ref().map(|text| text.as_bytes().into()),
            digest: expect.digest,
            same,
        }
    }

    /// Whether a body must be looked at.
    pub fn needs_body(&self) -> bool {
        self.contains.is_some() || self.digest.is_some() || self.same
    }

    /// Makes a check ready for a new body.
    pub fn begin(&self, check: &mut BodyCheck) {
        check.tail.clear();
        check.found = false;
        check.hash = match (&self.digest, self.same) {
            (Some(Digest::Sha256(_)), _) => Hash::Sha256(Sha256::new()),
            (Some(Digest::Md5(_)), _) | (None, true) => Hash::Md5(Md5::new()),
            (None, false) => Hash::None,
        };
    }

    /// Whether the status is all that they look at.
    pub fn is_of_status_alone(&self) -> bool {
        !self.needs_body()
    }

    pub fn update(&self, check: &mut BodyCheck, data: &[u8]) {
        match &mut check.hash {
            Hash::None => {}
            Hash::Md5(hash) => hash.update(data),
            Hash::Sha256(hash) => hash.update(data),
        }
        if let Some(wanted) = self.contains.as_ref().filter(|_| !check.found) {
            check.found = check.search(wanted, data);
        }
    }

    /// What a complete answer counts as. `digest` receives an MD5 made for comparison with other bodies.
    pub fn judge(
        &self,
        status: u16,
        check: Option<&mut BodyCheck>,
        digest: &mut Option<[u8; 16]>,
    ) -> Outcome {
        let accepted = |range: &(u16, u16)| (range.0..=range.1).contains(&status);
        if !self.status.is_empty() && !self.status.iter().any(accepted) {
            return Outcome::Failed(Cause::ExpectStatus);
        }
        let Some(check) = check else { return Outcome::Status(status) };
        if self.contains.as_ref().is_some_and(|wanted| !check.found && !wanted.is_empty()) {
            return Outcome::Failed(Cause::ExpectBody);
        }
        let equal = match (std::mem::take(&mut check.hash), &self.digest) {
            (Hash::Md5(hash), Some(Digest::Md5(wanted))) => hash.finalize().as_slice() == wanted,
            (Hash::Sha256(hash), Some(Digest::Sha256(wanted))) => hash.finalize().as_slice() == wanted,
            (Hash::Md5(hash), _) => {
                *digest = Some(hash.finalize().into());
                true
            }
            _ => true,
        };
        if equal { Outcome::Status(status) } else { Outcome::Failed(Cause::ExpectChecksum) }
    }
}

/// Whose rules an answer must follow.
#[derive(Debug)]
pub enum Wanted {
    /// Those of the plan, or of a line that is kept: their place in the [`RuleBook`].
    Kept(u32),
    /// Those of a line that is not kept.
    Own(Box<Rules>),
}

impl Wanted {
    /// Those of the plan.
    pub const BY_PLAN: Self = Self::Kept(RuleBook::BY_PLAN);
}

/// The rules that one thread's answers must follow: what the plan wants of every answer, then what lines that
/// are kept want of theirs.
#[derive(Debug)]
pub struct RuleBook {
    all: Vec<Rules>,
}

impl RuleBook {
    /// The place of the plan's.
    pub const BY_PLAN: u32 = 0;

    pub fn new(by_plan: Rules) -> Self {
        Self { all: vec![by_plan] }
    }

    /// Of a thread that judges nothing.
    pub const fn of_nobody() -> Self {
        Self { all: Vec::new() }
    }

    /// Keeps the rules of a line, as long as the thread runs, and says where.
    pub fn keep(&mut self, rules: Rules) -> u32 {
        self.all.push(rules);
        self.all.len() as u32 - 1
    }

    pub fn of<'a>(&'a self, wanted: &'a Wanted) -> &'a Rules {
        match wanted {
            Wanted::Kept(at) => &self.all[*at as usize],
            Wanted::Own(rules) => rules,
        }
    }
}

#[derive(Debug, Default)]
enum Hash {
    #[default]
    None,
    Md5(Md5),
    Sha256(Sha256),
}

/// The running state of the checks on one body: bounded, whatever the body's length.
#[derive(Debug, Default)]
pub struct BodyCheck {
    hash: Hash,
    found: bool,
    /// The last bytes of what came before, shorter than the text that is looked for.
    tail: Vec<u8>,
}

impl BodyCheck {
    /// Whether `wanted` stands in `data` or across its border with what came before.
    fn search(&mut self, wanted: &[u8], data: &[u8]) -> bool {
        let keep = wanted.len().saturating_sub(1);
        let before = self.tail.len();
        self.tail.extend_from_slice(&data[..data.len().min(keep)]);
        let found = memchr::memmem::find(&self.tail, wanted).is_some()
            || memchr::memmem::find(data, wanted).is_some();
        if data.len() >= keep {
            self.tail.clear();
            self.tail.extend_from_slice(&data[data.len() - keep..]);
        } else {
            debug_assert!(self.tail.len() == before + data.len(), "a short piece is kept whole");
            let excess = self.tail.len().saturating_sub(keep);
            self.tail.drain(..excess);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn judged(expect: &Expect, status: u16, pieces: &[&[u8]]) -> Outcome {
        let rules = Rules::new(expect, false);
        let mut check = BodyCheck::default();
        rules.begin(&mut check);
        pieces.iter().for_each(|piece| rules.update(&mut check, piece));
        rules.judge(status, Some(&mut check), &mut None)
    }

    #[test]
    fn status_sets() {
        let expect = Expect { status: vec![(200, 299), (304, 304)], ..Expect::default() };
        assert_eq!(judged(&expect, 204, &[]), Outcome::Status(204));
        assert_eq!(judged(&expect, 304, &[]), Outcome::Status(304));
        assert_eq!(judged(&expect, 500, &[]), Outcome::Failed(Cause::ExpectStatus));
    }

    #[test]
    fn digests_of_abc() {
        // RFC 1321 appendix A.5 and FIPS 180-2 appendix B.1.
        let md5 = 0x900150983cd24fb0d6963f7d28e17f72u128.to_be_bytes();
        let sha256 = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
            0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
        ];
        for digest in [Digest::Md5(md5), Digest::Sha256(sha256)] {
            let expect = Expect { digest: Some(digest), ..Expect::default() };
            assert_eq!(judged(&expect, 200, &[b"a", b"bc"]), Outcome::Status(200));
            assert_eq!(judged(&expect, 200, &[b"abd"]), Outcome::Failed(Cause::ExpectChecksum));
        }
    }

    proptest! {
        #[test]
        fn text_is_found_across_any_split(body in "[ab]{0,24}", wanted in "[ab]{1,5}", cut in 1usize..6) {
            let expect = Expect { body_contains: Some(wanted.clone()), ..Expect::default() };
            let pieces: Vec<&[u8]> = body.as_bytes().chunks(cut).collect();
            let found = judged(&expect, 200, &pieces) == Outcome::Status(200);
            prop_assert_eq!(found, body.contains(&wanted));
        }
    }
}
