//! The last rows of a run, as many as a window is long.
//!
//! A window of up to a minute slides row by row; a longer one by a sixtieth of its length, so that it never has
//! more than 61 pieces.

use super::weight::Weight;
use plan::Limit;
use std::collections::VecDeque;
use units::Picos;

/// Pieces of a window at most, one that goes and one that comes aside.
const PIECES: u64 = 60;

#[derive(Debug)]
pub(super) struct Window {
    length: Picos,
    /// A piece grows to this length.
    step: Picos,
    pieces: VecDeque<Weight<u32>>,
    /// Of all pieces together.
    covered: Picos,
    /// The last piece is not whole yet.
    growing: bool,
    end: Picos,
}

impl Window {
    pub fn new(length: Picos, interval: Picos) -> Self {
        let step = Picos::from_picos(length.as_picos() / PIECES).max(interval);
        Self { length, step, pieces: VecDeque::new(), covered: Picos::ZERO, growing: false, end: Picos::ZERO }
    }

    /// The next row, which ends at `end`.
    pub fn push(&mut self, weight: Weight<u32>, end: Picos) {
        self.covered += weight.length;
        self.end = end;
        match self.pieces.back_mut().filter(|_| self.growing) {
            Some(piece) => piece.merge(&weight),
            None => self.pieces.push_back(weight),
        }
        self.growing = self.pieces.back().is_some_and(|piece| piece.length < self.step);
        if !self.growing {
            self.let_go();
        }
    }

    #[cfg(test)]
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Pieces at the front without which it is still long enough.
    fn let_go(&mut self) {
        while let Some(first) = self.pieces.front() {
            let rest = self.covered - first.length;
            if rest < self.length {
                break;
            }
            self.covered = rest;
            self.pieces.pop_front();
        }
    }

    /// All of it, when it is full and its last piece whole.
    pub fn sum(&self, limit: &Limit, group: Option<usize>) -> Option<Weight<u64>> {
        (!self.growing && self.covered >= self.length).then(|| self.all(limit, group))
    }

    /// At the end of the run: all of it with a last piece that is not whole, and its end.
    pub fn rest(&mut self, limit: &Limit, group: Option<usize>) -> Option<(Weight<u64>, Picos)> {
        if !self.growing {
            return None;
        }
        self.let_go();
        (self.covered >= self.length).then(|| (self.all(limit, group), self.end))
    }

    fn all(&self, limit: &Limit, group: Option<usize>) -> Weight<u64> {
        let mut sum = Weight::new(limit, group);
        self.pieces.iter().for_each(|piece| sum.merge(piece));
        sum
    }
}
