//! The first incidents, in words.

use units::Picos;

/// Most incidents that are told; the rest is counted.
pub(super) const MOST: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// This many from this number on.
    Lost {
        count: u64,
    },
    Twice,
    /// It came when this one had been there already.
    After {
        highest: u64,
        took: Option<i64>,
    },
    /// Damaged, and why that is known.
    Damaged {
        how: &'static str,
    },
    /// So old that it may have been seen already.
    TooOld,
    /// The numbers start again here: another run of the sender.
    Again,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incident {
    /// `None` if it is not known.
    pub stream: Option<u16>,
    pub number: u64,
    pub what: What,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Incidents {
    all: Vec<Incident>,
    more: u64,
}

impl Incidents {
    #[cold]
    pub fn add(&mut self, incident: Incident) {
        if let What::Lost { count } = incident.what
            && let Some(last) = self.lost_just_before(&incident)
        {
            if let What::Lost { count: so_far } = &mut last.what {
                *so_far += count;
            }
            return;
        }
        match self.all.len() < MOST {
            true => self.all.push(incident),
            false => self.more += 1,
        }
    }

    /// The loss that this one continues.
    fn lost_just_before(&mut self, next: &Incident) -> Option<&mut Incident> {
        self.all.iter_mut().rev().find(|incident| match incident.what {
            What::Lost { count } => {
                incident.stream == next.stream && incident.number.checked_add(count) == Some(next.number)
            }
            _ => false,
        })
    }

    /// Whether this frame's coming late is told already.
    pub fn tells_order_of(&self, number: u64) -> bool {
        self.all.iter().any(|one| one.number == number && matches!(one.what, What::After { .. }))
    }

    /// In the order of their numbers.
    pub fn words(&self) -> Vec<String> {
        let mut sorted: Vec<&Incident> = self.all.iter().collect();
        sorted.sort_by_key(|incident| incident.number);
        let mut words: Vec<String> = sorted.into_iter().map(Incident::words).collect();
        if self.more > 0 {
            words.push(format!("and {} more", self.more));
        }
        words
    }
}

impl Incident {
    fn words(&self) -> String {
        let stream = self.stream.map_or_else(String::new, |stream| format!("stream {stream}: "));
        let number = self.number;
        let what = match self.what {
            What::Lost { count: 1 } => format!("frame {number} is lost"),
            What::Lost { count } => {
                format!("frames {number} to {} are lost ({count})", number.saturating_add(count - 1))
            }
            What::Twice => format!("frame {number} came twice"),
            What::After { highest, took } => {
                let took =
                    took.map_or_else(String::new, |took| format!(", {} after it was sent", time(took)));
                format!("frame {number} came after frame {highest}{took}")
            }
            What::Damaged { how } => format!("frame {number} is damaged: {how}"),
            What::TooOld => format!("frame {number} arrived after it had been given up, or a second time"),
            What::Again => format!("the numbers start again at frame {number}: another run of the sender"),
        };
        format!("{stream}{what}")
    }
}

/// Nanoseconds in words.
pub(super) fn time(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{:#}", Picos::from_nanos(ns.unsigned_abs()))
}
