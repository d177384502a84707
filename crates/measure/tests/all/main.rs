//! Recorders and the probe from outside.

mod health;
mod recording;
