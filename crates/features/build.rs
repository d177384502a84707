//! Without a build script, cargo leaves build dependencies out.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
