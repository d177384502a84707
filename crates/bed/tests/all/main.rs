//! Beds from outside. They need root.

mod bed;
