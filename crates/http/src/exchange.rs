//! One request and its answer: the times, the counts and the checks that belong to it.

use md5::{Digest as _, Md5};
use plan::{Digest, Expect};
use sha2::Sha256;
use std::sync::Arc;
use units::{Bytes, Cause, Departure, Event, Group, Instant, Outcome, Picos};

use crate::redirect::Chain;
use crate::response::Asked;

/// A request on its way.
#[derive(Debug)]
pub struct Exchange {
    pub departure: Departure,
    pub sent: Instant,
    pub first_byte: Instant,
    pub blocked: Picos,
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// The part of `bytes_in` that is body.
    pub body_in: u64,
    /// From its new connection being ready until the first byte; zero on a connection that was there before.
    pub waited: Picos,
    /// See [`Event::unread`] and [`Event::unread_bound`].
    pub unread: Picos,
    pub unread_bound: Picos,
    pub group: Group,
    pub asked: Asked,
    /// The final status, once its head has come.
    pub status: u16,
    /// What its answer must be.
    pub rules: Arc<Rules>,
    /// When its request was written first; written then, it is the same again.
    pub written_at: Instant,
    /// How often it was sent again, since it was not the target's to answer.
    pub again: u8,
    /// It was begun behind others on its connection.
    pub behind: bool,
    /// The redirects that it has followed.
    pub chain: Option<Box<Chain>>,
    pub check: Option<Box<BodyCheck>>,
    /// The URL, kept only where redirects are followed or bodies are compared.
    pub url: Option<Box<str>>,
}

impl Exchange {
    /// What the generator itself took of its time, if it ends at `done`: see [`Event::tare`].
    pub fn tare(&self, done: Instant) -> Picos {
        let lateness = self.sent.since(self.departure.due) - self.blocked;
        lateness + self.unread.min(done.since(self.sent))
    }

    /// The record of how it ended at `done`.
    pub fn event(&self, outcome: Outcome, done: Instant) -> Event {
        Event {
            seq: self.departure.seq,
            due: self.departure.due,
            sent: self.sent,
            first_byte: self.first_byte,
            done,
            bytes_out: Bytes::new(self.bytes_out),
            bytes_in: Bytes::new(self.bytes_in),
            outcome,
            blocked: self.blocked,
            // No delay in reading is longer than the whole time since it left; with what the answer before it
            // may have lain unread, none is longer than all that is not known to be the generator's.
            unread: self.unread.min(done.since(self.sent)),
            unread_bound: self.unread_bound.min(done.since(self.departure.due) - self.tare(done)),
            group: self.group,
        }
    }
}

/// What an answer must be, ready to be checked piece by piece.
#[derive(Clone, Debug, Default)]
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
