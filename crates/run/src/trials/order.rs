//! In which order sides take turns.
//!
//! ```text
//! abba     A B | B A | A B | B A …      what drifts steadily falls on both alike
//! random   B A | A B | A B | B A …      nothing that comes and goes can keep step with it
//! ```

/// Which side comes first in each round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnOrder {
    /// A B B A, so that steady drift affects all commands alike
    #[default]
    Abba,
    /// A new random order for each round
    Random,
}

/// Turns of so many sides.
#[derive(Clone, Debug)]
pub struct Turns {
    order: TurnOrder,
    sides: usize,
    seed: u64,
    random: fastrand::Rng,
}

impl Turns {
    pub fn new(order: TurnOrder, sides: usize, seed: u64) -> Self {
        Self { order, sides, seed, random: fastrand::Rng::with_seed(seed) }
    }

    /// The sides of a round, each once; rounds are asked for one after another, from 0.
    pub fn of_round(&mut self, round: usize) -> Vec<usize> {
        let mut sides: Vec<usize> = (0..self.sides).collect();
        match self.order {
            TurnOrder::Abba if round % 2 == 1 => sides.reverse(),
            TurnOrder::Abba => {}
            TurnOrder::Random => self.random.shuffle(&mut sides),
        }
        sides
    }

    /// For people; `None` of a single side.
    pub fn words(&self) -> Option<String> {
        (self.sides > 1).then(|| match self.order {
            TurnOrder::Abba => "abba".to_owned(),
            TurnOrder::Random => format!("random, seed {}", self.seed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abba_goes_forwards_and_backwards() {
        let mut turns = Turns::new(TurnOrder::Abba, 3, 0);
        let rounds: Vec<Vec<usize>> = (0..3).map(|round| turns.of_round(round)).collect();
        assert_eq!(rounds, [vec![0, 1, 2], vec![2, 1, 0], vec![0, 1, 2]]);
        assert_eq!(turns.words().unwrap(), "abba");
    }

    #[test]
    fn random_rounds_have_every_side_once_and_a_seed() {
        let all = |seed| {
            let mut turns = Turns::new(TurnOrder::Random, 2, seed);
            (0..40).map(|round| turns.of_round(round)).collect::<Vec<_>>()
        };
        assert_eq!(all(7), all(7));
        let rounds = all(7);
        // Of 40 fair throws 8 to 32 are heads but for one case in 10 000.
        let first = rounds.iter().filter(|round| round[0] == 0).count();
        assert!((8..=32).contains(&first), "{first}");
        assert!(rounds.iter().all(|round| round.len() == 2 && round[0] != round[1]));
        assert_eq!(Turns::new(TurnOrder::Random, 1, 7).words(), None);
    }
}
