//! A load whose rate changes by itself, or whose gaps are random: a shape of `schedule`, by number.

use plan::Shape;
use schedule::{Curve, ScheduleError};
use units::{Picos, Rate};

/// A rate that changes by itself, or gaps that are random.
pub struct Shaped {
    shape: Shape,
    seed: u64,
    curve: Box<dyn Curve>,
}

impl Shaped {
    /// # Errors
    /// A shape that cannot be.
    pub fn new(shape: Shape, seed: u64) -> Result<Self, ScheduleError> {
        let curve = schedule::curve(&shape, seed)?;
        Ok(Self { shape, seed, curve })
    }

    /// Offset of departure n.
    pub fn due(&self, n: u64) -> Picos {
        self.curve.due(n)
    }

    /// How many of the first `most` departures have an offset strictly before `end`.
    pub fn before(&self, end: Picos, most: u64) -> u64 {
        self.curve.before(end, most)
    }

    /// The gap at its highest rate.
    pub fn smallest_gap(&self) -> Option<Picos> {
        schedule::smallest_gap(&self.shape)
    }

    /// How long it lasts where it ends by itself.
    pub fn length(&self) -> Option<Picos> {
        match &self.shape {
            Shape::Stages(stages) => Some(stages.iter().map(|stage| stage.over).sum()),
            _ => None,
        }
    }

    /// The rate of a Poisson process.
    pub const fn poisson(&self) -> Option<Rate> {
        match self.shape {
            Shape::Poisson(rate) => Some(rate),
            _ => None,
        }
    }

    /// Times that are drawn one after another: how many there are until the end costs as many draws.
    pub const fn is_drawn(&self) -> bool {
        matches!(self.shape, Shape::Poisson(_))
    }
}

impl Clone for Shaped {
    fn clone(&self) -> Self {
        Self::new(self.shape.clone(), self.seed).expect("a shape that could be made once can be made again")
    }
}

impl std::fmt::Debug for Shaped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} from seed {}", self.shape, self.seed)
    }
}

impl PartialEq for Shaped {
    fn eq(&self, other: &Self) -> bool {
        (&self.shape, self.seed) == (&other.shape, other.seed)
    }
}
