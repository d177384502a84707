//! Installing the peers: from Debian and from cargo, saying what is installed; what is there is left alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Program and the Debian package that has it.
const PACKAGES: [(&str, &str); 5] = [
    ("nginx", "nginx-light"),
    ("wrk", "wrk"),
    ("h2load", "nghttp2-client"),
    ("httperf", "httperf"),
    ("openssl", "openssl"),
];

/// The pinned oha: figures of one day can be set beside another's.
const OHA_VERSION: &str = "1.16.0";

/// The repository that this bench was built from.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("benches/ lies in the repository").to_owned()
}

/// Where cargo's peers are installed: `.tools`, which git ignores.
pub fn tools() -> PathBuf {
    repository().join(".tools")
}

/// Installs what is missing. A second call installs nothing.
pub fn install() -> Result<()> {
    let missing: Vec<&str> = PACKAGES.iter().filter(|(p, _)| which(p).is_none()).map(|(_, p)| *p).collect();
    if !missing.is_empty() {
        apt_install(&missing)?;
    }
    if oha_version().as_deref() != Some(OHA_VERSION) {
        cargo_install_oha()?;
    }
    Ok(())
}

/// Each peer with its version, for the header.
pub fn versions() -> Vec<(String, String)> {
    let said = |argv: &[&str]| -> String {
        let output = Command::new(argv[0]).args(&argv[1..]).output();
        let text = output.map(|o| [o.stdout, o.stderr].concat()).unwrap_or_default();
        String::from_utf8_lossy(&text)
            .lines()
            .find(|l| !l.trim().is_empty() && !l.contains("warning"))
            .unwrap_or("?")
            .trim()
            .to_owned()
    };
    let oha = tools().join("bin/oha").display().to_string();
    let after = |text: String, word: &str| {
        text.split(word).nth(1).unwrap_or(&text).split(' ').next().unwrap_or("?").to_owned()
    };
    vec![
        ("nginx".into(), after(said(&["nginx", "-v"]), "nginx/")),
        ("wrk".into(), after(said(&["wrk", "-v"]), "wrk ")),
        ("h2load".into(), after(said(&["h2load", "--version"]), "nghttp2/")),
        ("oha".into(), after(said(&[oha.as_str(), "--version"]), "oha ")),
        ("httperf".into(), package_version("httperf")),
    ]
}

fn apt_install(packages: &[&str]) -> Result<()> {
    println!("installing from Debian: {}", packages.join(" "));
    let install = || apt(&[&["install", "-y", "--no-install-recommends"][..], packages].concat());
    if install()? {
        return Ok(());
    }
    println!("that failed; reading the package lists anew");
    if apt(&["update"])? && install()? {
        return Ok(());
    }
    bail!("apt-get could not install {}; install them by hand (root is needed)", packages.join(" "))
}

fn apt(words: &[&str]) -> Result<bool> {
    let status =
        Command::new("apt-get").arg("-q").args(words).env("DEBIAN_FRONTEND", "noninteractive").status();
    Ok(status.context("running apt-get: the peers come from Debian")?.success())
}

fn cargo_install_oha() -> Result<()> {
    println!("installing with cargo: oha {OHA_VERSION} into {} (takes minutes)", tools().display());
    let status = Command::new("nice")
        .args(["-n", "19", "cargo", "install", "--locked", "oha", "--version", OHA_VERSION, "--root"])
        .arg(tools())
        .current_dir(std::env::temp_dir())
        .status()
        .context("running cargo install oha")?;
    if !status.success() {
        bail!("cargo install oha failed: {status}");
    }
    Ok(())
}

fn oha_version() -> Option<String> {
    let output = Command::new(tools().join("bin/oha")).arg("--version").output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().strip_prefix("oha ").map(str::to_owned)
}

fn package_version(package: &str) -> String {
    let output = Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_else(|_| "?".into())
}

/// The program's place in PATH, or in the folders of system programs.
fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|d| d.join(program)).find(|p| p.is_file())
}
