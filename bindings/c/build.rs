//! The name that programs look for at run time: the major version says whether they fit.

fn main() {
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtare.so.{major}");
    println!("cargo::rerun-if-changed=build.rs");
}
