//! What programs in other languages see of Tare. `target/release/` must have libtare.so and lib_tare.so, as
//! `cargo build --release -p tare-c -p tare-python` leaves them.

mod c;
mod java;
mod python;
