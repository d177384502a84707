//! Releases: the files that `make install` puts in place, and the Debian package. Both are made from the
//! release binary here; `make deb-test` tests the package that is released, in a root made from Debian's own
//! packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tare_system_tests::process::text_of;
use tare_system_tests::{beside_others, binary, need, need_root, scratch};

fn script(name: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    Command::new(root.join("scripts").join(name))
}

/// Runs it; what it said, if it ended well.
#[track_caller]
fn done(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    let said = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{command:?}: {status}\n{said}{}", String::from_utf8_lossy(&stderr));
    said
}

#[test]
fn an_installation_runs_and_keeps_the_configuration_that_is_there() {
    let _guard = beside_others();
    let folder = scratch();
    let prefix = folder.path().join("usr/local");
    let install = || done(script("install.sh").arg(binary()).env("PREFIX", &prefix).env_remove("DESTDIR"));
    install();
    let own = prefix.join("etc/tare/target.toml");
    std::fs::write(&own, "listen = [\"127.0.0.1:0\"]\n").expect("a file can be written");
    install();
    assert_eq!(text_of(&own), "listen = [\"127.0.0.1:0\"]\n");

    assert!(done(Command::new(prefix.join("bin/tare")).arg("--version")).starts_with("tare "));
    let unit = text_of(&prefix.join("lib/systemd/system/tare-target.service"));
    let start =
        format!("ExecStart={0}/bin/tare target --config {0}/etc/tare/target.toml\n", prefix.display());
    assert!(unit.contains(&start) && !unit.contains("dir@"), "{unit}");
    for name in [
        "man/man1/tare.1.gz",
        "man/man1/tare-http.1.gz",
        "bash-completion/completions/tare",
        "zsh/site-functions/_tare",
        "fish/vendor_completions.d/tare.fish",
    ] {
        assert!(prefix.join("share").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_place_that_a_unit_cannot_name_is_refused_before_anything_is_installed() {
    let _guard = beside_others();
    let folder = scratch();
    for (name, place) in [
        ("PREFIX", "usr/local"),
        ("PREFIX", "/opt/my tare"),
        ("PREFIX", "/opt/a#b"),
        ("PREFIX", "/opt/a&b"),
        ("SYSCONFDIR", "etc"),
        ("UNITDIR", "/lib/\\units"),
    ] {
        let mut install = script("install.sh");
        let output =
            install.arg(binary()).env("DESTDIR", folder.path().join("a root")).env(name, place).output();
        let output = output.expect("a shell can be run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(&format!("{name}={place}")), "{said}");
        assert!(!folder.path().join("a root").exists(), "{place}");
    }
    // A slash too many is the same place, and the root for a package may have any name.
    let mut install = script("install.sh");
    done(install.arg(binary()).env("DESTDIR", folder.path().join("a root")).env("PREFIX", "/usr/"));
    assert!(folder.path().join("a root/etc/tare/target.toml").is_file());
}

#[test]
fn the_debian_package_runs_where_nothing_else_is_and_leaves_nothing() {
    need_root();
    let _guard = beside_others();
    need("dpkg-shlibdeps");
    let folder = scratch();
    // Compressed in a hurry; the one that is handed out is compressed as dpkg-deb does by default.
    let said = done(script("deb.sh").arg(binary()).arg(folder.path()).args(["-Zgzip", "-z1"]));
    let package = PathBuf::from(said.trim());

    let listed = done(Command::new("dpkg-deb").arg("--contents").arg(&package));
    for name in [
        "/usr/bin/tare",
        "/etc/tare/target.toml",
        "/lib/systemd/system/tare-target.service",
        "/usr/share/man/man1/tare-target.1.gz",
        "/usr/share/doc/tare/copyright",
        "/usr/share/doc/tare/libraries.gz",
        "/usr/share/doc/tare/changelog.Debian.gz",
    ] {
        assert!(
            listed.lines().any(|line| line.ends_with(&format!(" .{name}"))),
            "{name} is not in\n{listed}"
        );
    }
    assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
    let depends = done(Command::new("dpkg-deb").arg("--field").arg(&package).arg("Depends"));
    assert_eq!(depends.split(", ").count(), 2, "libc6 and libgcc-s1 are all: {depends}");

    let said = done(script("deb_test.sh").arg(&package).arg("--bare"));
    assert!(said.contains("installed, run, removed"), "{said}");
    // `make deb` has it always.
    if Path::new("/usr/bin/lintian").exists() {
        done(Command::new("lintian").args(["--allow-root", "--fail-on", "error,warning"]).arg(&package));
    }
}
