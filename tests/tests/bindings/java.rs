//! The Java package: its own tests, and the examples of its page, run by the newest JDK that is there.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tare_system_tests::bed::{Middlebox, Topology};
use tare_system_tests::process::wait_until;
use tare_system_tests::target::Target;
use tare_system_tests::{Tare, TestBed, binary, scratch, skipped};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_owned()
}

/// A JDK, the package, and its tests beside it.
struct Built {
    jdk: PathBuf,
    folder: PathBuf,
}

/// Compiled once, beside the program; why not, where there is no JDK.
fn built() -> &'static Result<Built, String> {
    static BUILT: OnceLock<Result<Built, String>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let found = run(&mut Command::new(root().join("scripts/java.sh")));
        if !found.status.success() {
            return Err(text(&found.stderr).trim().to_owned());
        }
        let built = Built {
            jdk: PathBuf::from(text(&found.stdout).trim()),
            folder: binary().with_file_name("java-tests"),
        };
        let at = &built.folder;
        std::fs::create_dir_all(at.join("tests")).expect("a folder");
        let library = binary().with_file_name("libtare.so");
        let mut build = Command::new(root().join("bindings/java/build.sh"));
        holds(&run(build.arg(&built.jdk).arg(library).arg(at)));
        let mut compile = built.javac();
        let sources = std::fs::read_dir(root().join("bindings/java/tests/tare")).expect("the tests");
        compile.args(["-Xlint:all,-restricted,-try", "-Werror"]);
        compile.args(sources.map(|file| file.expect("a file").path()));
        holds(&run(&mut compile));
        Ok(built)
    })
}

impl Built {
    fn classes(&self) -> String {
        format!("{0}/tare.jar:{0}/tests", self.folder.display())
    }

    fn javac(&self) -> Command {
        let mut javac = Command::new(self.jdk.join("bin/javac"));
        javac
            .args(["-J-XX:TieredStopAtLevel=1", "--release", "22", "-cp", &self.classes(), "-d"])
            .arg(self.folder.join("tests"));
        javac
    }

    fn java(&self) -> Command {
        let mut java = Command::new(self.jdk.join("bin/java"));
        // Two cores, and tests beside it: it starts in half the time.
        java.args(["-XX:TieredStopAtLevel=1", "-Xmx256m", "--enable-native-access=ALL-UNNAMED"]);
        java.args(["-cp", &self.classes()]);
        java
    }

    fn tests(&self, words: &[&str]) -> String {
        holds(&run(self.java().arg("tare.Tests").args(words)))
    }
}

/// The package, or a line that says why a test did not run.
fn package(what: &str) -> Option<&'static Built> {
    match built() {
        Ok(built) => Some(built),
        Err(why) => {
            skipped(&format!("{what}: {why}"));
            None
        }
    }
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn holds(done: &Output) -> String {
    assert!(done.status.success(), "{}\n{}{}", done.status, text(&done.stdout), text(&done.stderr));
    text(&done.stdout)
}

#[test]
fn ports_rules_and_middleboxes_from_java() {
    let Some(built) = package("ports from Java") else { return };
    let said = built.tests(&["frames"]);
    assert!(said.trim_end().ends_with("checks"), "{said}");
}

/// Only the second compiler keeps what it has read.
#[test]
fn figures_of_a_poller_in_java_reach_other_threads() {
    let Some(built) = package("figures from Java") else { return };
    let said = holds(&run(built.java().args(["-XX:TieredStopAtLevel=4", "tare.Tests", "figures"])));
    assert!(said.trim_end().ends_with("checks"), "{said}");
}

#[test]
fn runs_from_java() {
    let Some(built) = package("runs from Java") else { return };
    let target = Target::start("--no-truth");
    assert!(built.tests(&["runs", &target.url()]).trim_end().ends_with("checks"));
}

/// Frames of each size go through a firewall in Java between two interfaces; one source of four is dropped.
#[test]
fn frames_of_all_six_sizes_pass_a_firewall_in_java() {
    const SIZES: [u32; 6] = [64, 128, 256, 512, 1_024, 1_518];
    let Some(built) = package("a firewall in Java between interfaces") else { return };
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Wire));
    let middle = bed.middlebox().expect("a middlebox");
    let words = ["tare.Tests", "between", "packet:mid0", "packet:mid1"];
    let java = built.java();
    let mut inside = middle.command(&java.get_program().to_string_lossy());
    let mut wall = inside
        .args(java.get_args())
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("java starts");
    let mut said = BufReader::new(wall.stdout.take().expect("standard output"));
    let mut ready = String::new();
    said.read_line(&mut ready).expect("a line");
    assert_eq!(ready, "ready\n");
    for (number, size) in SIZES.into_iter().enumerate() {
        let send = format!(
            "send packet:gen0 -i 198.18.0.2 -m 02:00:00:00:00:02 --size {size} -n 400 --rate 20k \
             --vary src=198.18.0.75..198.18.0.78"
        );
        let sent = Tare::packets(&send).inside(bed.generator()).run();
        assert_eq!(sent.total("sent"), 400, "{size} bytes");
        let expected = 300 * (number as u64 + 1);
        wait_until(&format!("frames of {size} bytes pass"), || {
            bed.kernel(bed.sink(), "rx_packets") == expected
        });
    }
    // With the headers of Ethernet, without FCS.
    let bytes: u64 = SIZES.iter().map(|size| 300 * u64::from(size - 4)).sum();
    assert_eq!(bed.kernel(bed.sink(), "rx_bytes"), bytes);
    drop(wall.stdin.take());
    let mut told = String::new();
    said.read_line(&mut told).expect("a line");
    assert!(wall.wait().expect("it ends").success());
    assert_eq!(told, "2400 frames, 1800 passed, 600 dropped, 0 missed\n");
}

/// What the package takes each struct and function for is what a C compiler makes of the header.
#[test]
fn java_lays_structs_out_as_the_header_does() {
    let Some(built) = package("structs in Java") else { return };
    let told = built.tests(&["layouts"]);
    let folder = root().join("bindings/c/include");
    let header = std::fs::read_to_string(folder.join("tare.h")).expect("the header");
    let mut program =
        String::from("#include <stdio.h>\n#include <stddef.h>\n#include <tare.h>\nint main(void) {\n");
    let mut functions = Vec::new();
    let mut structs = 0;
    for line in told.lines() {
        program += &match line.split(' ').collect::<Vec<_>>()[..] {
            ["struct", name, _] => {
                structs += 1;
                format!("printf(\"struct {name} %zu\\n\", sizeof({name}));\n")
            }
            ["field", name, field, ..] => format!(
                "printf(\"field {name} {field} %zu %zu\\n\", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));\n"
            ),
            ["function", name] => {
                functions.push(name);
                format!("printf(\"function {name}\\n\"); (void)&{name};\n")
            }
            _ => panic!("{line}"),
        };
    }
    let source = scratch();
    let (file, made) = (source.path().join("layouts.c"), source.path().join("layouts"));
    std::fs::write(&file, program + "return 0; }\n").expect("a file");
    let library = built.folder.join("libtare.so");
    holds(&run(Command::new("cc").arg("-I").arg(&folder).arg(&file).arg(library).arg("-o").arg(&made)));
    // The program only takes the functions' addresses; it finds the library by its name.
    let named = source.path().join("libtare.so.0");
    std::fs::copy(binary().with_file_name("libtare.so"), named).expect("a copy");
    let expected = holds(&run(Command::new(made).env("LD_LIBRARY_PATH", source.path())));
    assert_eq!(told, expected);

    // All of the header, but for the two that call back: an accessor is moved instead.
    assert_eq!(structs, header.matches("\ntypedef struct ").count());
    let all = header.split("\nint32_t ").skip(1).filter_map(|rest| rest.split('(').next());
    let left: Vec<&str> = all.filter(|name| !functions.contains(name)).collect();
    assert_eq!(left, ["tare_port_transmit_by", "tare_port_receive_by"]);
}

/// Each block of Java is a whole program.
#[test]
fn the_examples_of_the_page_on_java_do_what_it_says() {
    let Some(built) = package("the page on Java") else { return };
    let page = std::fs::read_to_string(root().join("bindings/java/README.md")).expect("the page");
    let blocks: Vec<&str> =
        page.split("```java\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let target = Target::start("--no-truth");
    let folder = scratch();
    let mut compile = built.javac();
    compile.args(["-Xlint:all,-try", "-Werror"]);
    let mut names = Vec::new();
    for block in blocks {
        let name = block.split("class ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a class");
        let file = folder.path().join(format!("{name}.java"));
        std::fs::write(&file, block.replace("http://127.0.0.1:8080/", &target.url())).expect("a file");
        compile.arg(file);
        names.push(name);
    }
    holds(&run(&mut compile));
    let said: Vec<String> = names.iter().map(|name| holds(&run(built.java().arg(name)))).collect();
    assert_eq!(said[..2], ["32 sent, 32 received, 17 pass\n", "2 frames, 1 passed, 1 dropped\n"]);
    assert!(said[..2].iter().all(|line| page.contains(&format!("`{}`", line.trim()))));
    assert!(said[2].ends_with("ID, 100 done\n") || said[2].ends_with("DEGRADED, 100 done\n"), "{}", said[2]);
}

#[test]
fn a_library_that_is_missing_or_of_another_version_is_told() {
    let Some(built) = package("libtare from Java") else { return };
    let java = |property: &str| {
        let done = run(built.java().arg(property).args(["tare.Tests", "layouts"]));
        assert!(!done.status.success());
        text(&done.stderr)
    };
    let said = java("-Dtare.library=/nowhere/libtare.so");
    assert!(
        said.contains("/nowhere/libtare.so does not exist, or is not a library: `make java` makes"),
        "{said}"
    );
    let said = java("-Dtare.library=/proc/self/exe");
    assert!(
        said.contains("does not exist, or is not a library") || said.contains("libtare has no"),
        "{said}"
    );

    // Another version.
    let folder = scratch();
    let package = folder.path().join("tare");
    std::fs::create_dir(&package).expect("a folder");
    std::fs::write(package.join("version.txt"), "9.9.9\n").expect("a file");
    let classes = format!("{}:{}", folder.path().display(), built.classes());
    let library = format!("-Dtare.library={}/libtare.so", built.folder.display());
    let mut java = Command::new(built.jdk.join("bin/java"));
    java.args(["--enable-native-access=ALL-UNNAMED", "-cp", &classes, &library, "tare.Tests", "layouts"]);
    let said = text(&run(&mut java).stderr);
    assert!(said.contains("and tare.jar of 9.9.9: take both from the same `make java`"), "{said}");
}

/// What is said where there is none, and that JAVA_HOME goes first.
#[test]
fn a_jdk_is_found_where_they_are_kept() {
    let folder = scratch();
    let jdk = folder.path().join("jdk");
    std::fs::create_dir_all(jdk.join("bin")).expect("a folder");
    std::os::unix::fs::symlink("/bin/true", jdk.join("bin/javac")).expect("a link");
    let find = |version: &str| {
        std::fs::write(jdk.join("release"), format!("JAVA_VERSION=\"{version}\"\n")).expect("a file");
        let mut find = Command::new(root().join("scripts/java.sh"));
        text(&run(find.env("JAVA_HOME", &jdk)).stdout).trim().to_owned()
    };
    assert_eq!(find("22.0.1"), jdk.display().to_string());
    assert_ne!(find("21.0.9"), jdk.display().to_string());
    assert_ne!(find("1.8.0_392"), jdk.display().to_string());
}
