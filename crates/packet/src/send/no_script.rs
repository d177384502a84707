//! What stands for scripts where the program was built without Lua. There can be none.

use super::outlet::Looks;
use super::streams::Due;
use clock::Clock;
use measure::packets::ScriptReport;
use plan::packets::send::ScriptPlan;
use std::convert::Infallible;
use units::{Instant, Picos};
use wire::Times;

pub const MOST: usize = 1;

/// None that could be.
pub struct Scripted(Infallible);

impl Scripted {
    /// # Errors
    /// Always.
    pub fn load(_: &ScriptPlan, _: usize, _: u32, _: u32, _: u64, _: bool) -> Result<Self, String> {
        Err("this tare was built without Lua; build it with --features lua".to_owned())
    }

    pub const fn begin(&mut self, _: Instant) {
        match self.0 {}
    }

    pub const fn is_compiled(&self) -> bool {
        match self.0 {}
    }

    /// # Errors
    /// There is nothing that could fail.
    pub fn prepare(&mut self, _: &Looks, _: &[Due], _: &impl Clock) -> Result<usize, String> {
        match self.0 {}
    }

    pub const fn forget_from(&mut self, _: u64) {
        match self.0 {}
    }

    pub fn write(&self, _: &Looks, _: &Due, _: Times, _: &mut [u8], _: &mut u64) -> usize {
        match self.0 {}
    }

    pub const fn left(&mut self, _: Instant, _: Instant, _: Picos) {
        match self.0 {}
    }

    pub fn report(&self) -> ScriptReport {
        match self.0 {}
    }
}
