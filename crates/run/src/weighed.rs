//! What this machine was weighed at, as a run needs it.
//!
//! The profile is read before the start: a verdict waits for no file.

use measure::{Verdict, WeighedLoad, Word};
use predict::{Demand, Estimate, Supply};
use profile::{Machine, Profile, Refused};

/// What the profile says of a plan.
#[derive(Clone, Debug, Default)]
pub struct Weighed {
    /// `None` where nothing of the kind was weighed, or the plan says no rate.
    pub load: Option<WeighedLoad>,
    /// Why there is a profile that does not hold.
    refused: Option<String>,
}

/// Below this share the rate is not what made a run other than VALID.
const FAR: f64 = 0.8;

impl Weighed {
    /// Looks the plan up in this machine's profile.
    pub fn look(demand: &Demand) -> Self {
        let Ok(state) = store::state_dir() else { return Self::default() };
        let home = state.join("tare");
        // A machine without a profile is not examined.
        if !home.join("profile.json").exists() {
            return Self::default();
        }
        match Profile::of(&Machine::read(), &home) {
            Ok(profile) => Self { load: load(demand, &profile), refused: None },
            Err(Refused::None) => Self::default(),
            Err(refused) => Self { load: None, refused: Some(refused.to_string()) },
        }
    }

    /// A sentence for the notes of a run that is not VALID.
    pub fn note(&self, verdict: &Verdict) -> Option<String> {
        if verdict.word() == Word::Valid {
            return None;
        }
        if let Some(refused) = &self.refused {
            return Some(format!("this machine's profile is not used: {refused}"));
        }
        let load = self.load.as_ref().filter(|load| load.share() < FAR)?;
        Some(format!(
            "the plan asks for only {} of the {} that this machine was weighed at ({}), so the rate was not \
             the problem; `tare doctor` lists other causes",
            report::share(load.share()),
            report::rate(load.peak_per_s.round()),
            load.basis
        ))
    }
}

fn load(demand: &Demand, profile: &Profile) -> Option<WeighedLoad> {
    let asked_per_s = demand.rate.per_second()?;
    let estimate = Estimate::of(demand, Ok(profile), &Supply::read(None));
    Some(WeighedLoad { asked_per_s, peak_per_s: estimate.peak_per_s()?, basis: estimate.basis() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use profile::Capability;

    #[test]
    fn a_plans_rate_is_set_beside_what_was_weighed() {
        let mut profile = Profile::new(Machine::default(), "0.1.0");
        profile.put(Capability {
            key: "http.keep_alive".into(),
            against: "embedded target".into(),
            threads: 1,
            peak_per_s: 80_000.0,
            ..Capability::default()
        });
        let demand = |rate: &str| {
            let text = format!("url = \"http://127.0.0.1/\"\nengine.threads = 1\n{rate}\n");
            Demand::of_file(&text, "plan").unwrap()
        };
        let found = load(&demand("load.rate = \"20k\""), &profile).unwrap();
        assert_eq!(found.share(), 0.25);
        assert_eq!(found.basis, "http.keep_alive against embedded target");
        assert_eq!(load(&demand("load.parallel = 5"), &profile), None);
    }
}
