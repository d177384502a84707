//! libtare, used by programs that cc compiles with what pkg-config says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tare_system_tests::target::Target;
use tare_system_tests::{binary, scratch, skipped};
use tempfile::TempDir;

/// libtare as it is installed, and a folder for programs.
struct Installed {
    folder: TempDir,
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").join("bindings/c")
}

impl Installed {
    fn new() -> Self {
        let folder = scratch();
        let library = binary().with_file_name("libtare.so");
        let done = run(Command::new(here().join("install.sh")).arg(library).arg(folder.path()));
        assert!(done.status.success(), "{done:?}");
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn flags(&self) -> Vec<String> {
        let asked = Command::new("pkg-config")
            .args(["--cflags", "--libs", "tare"])
            .env("PKG_CONFIG_PATH", self.at("lib/pkgconfig"))
            .output()
            .expect("pkg-config is there: make need-test installs it");
        assert!(asked.status.success(), "{asked:?}");
        String::from_utf8_lossy(&asked.stdout).split_whitespace().map(str::to_owned).collect()
    }

    fn compile(&self, source: &Path) -> PathBuf {
        let program = self.at("program");
        let strict = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-pthread"];
        let mut cc = Command::new("cc");
        cc.args(strict).arg(source).arg("-o").arg(&program).args(self.flags());
        let done = run(&mut cc);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        program
    }

    fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.at("lib"));
        command
    }
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

#[track_caller]
fn holds(done: &Output) -> String {
    assert!(done.status.success(), "{}\n{}", done.status, String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn frames_rules_and_signatures_from_c() {
    let tare = Installed::new();
    let program = tare.compile(&here().join("tests/conformance.c"));
    holds(&run(tare.program(&program).arg("frames")));
    if run(Command::new("sh").args(["-c", "command -v valgrind"])).stdout.is_empty() {
        return skipped("libtare under valgrind: there is none; apt-get install valgrind");
    }
    // What is not freed at the end is the runtime's own and of one size; what is lost is a mistake.
    let check = ["--quiet", "--error-exitcode=9", "--leak-check=full"];
    let lost = ["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"];
    holds(&run(tare.program("valgrind").args(check).args(lost).arg(&program).arg("memory")));
}

#[test]
fn runs_from_c() {
    let tare = Installed::new();
    let program = tare.compile(&here().join("tests/conformance.c"));
    let target = Target::start("--no-truth");
    holds(&run(tare.program(&program).arg("runs").arg(target.url())));
}

/// The first block of C is a whole program; the second stands in its `main`.
#[test]
fn the_examples_of_the_page_on_c_do_what_it_says() {
    let page = std::fs::read_to_string(here().join("README.md")).expect("the page");
    let blocks: Vec<&str> =
        page.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [frames, runs] = blocks[..] else { panic!("{} blocks", blocks.len()) };
    let tare = Installed::new();
    let source = tare.at("example.c");
    std::fs::write(&source, frames).expect("a file");
    let said = holds(&run(&mut tare.program(tare.compile(&source))));
    assert_eq!(said, "32 sent, 32 received, 17 pass\n");
    assert!(page.contains(&format!("`{}`", said.trim())));

    let target = Target::start("--no-truth");
    let (before, _) = frames.split_once("int main(void) {\n").expect("a main");
    let runs = runs.replace("http://127.0.0.1:8080/", &target.url());
    let whole = format!("{before}int main(void) {{ (void)frame;\n{runs}    return 0;\n}}\n");
    std::fs::write(&source, whole).expect("a file");
    let said = holds(&run(&mut tare.program(tare.compile(&source))));
    // A machine that is too busy is told as such, by 4.
    assert!(
        said.starts_with("status 0: {\"schema\":\"tare.result/1\"") || said.starts_with("status 4"),
        "{said}"
    );
}

/// `make header` makes it anew.
#[test]
fn the_header_is_what_the_source_makes_of_it() {
    let done = run(Command::new("python3").arg(here().join("header.py")).arg("--check"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // Every function of the source is in it.
    let header = std::fs::read_to_string(here().join("include/tare.h")).expect("the header");
    let mut functions = 0;
    for file in std::fs::read_dir(here().join("src")).expect("the source") {
        let text = std::fs::read_to_string(file.expect("a file").path()).unwrap_or_default();
        for name in text.split("extern \"C\" fn tare_").skip(1).filter_map(|rest| rest.split('(').next()) {
            functions += 1;
            assert!(header.contains(&format!("tare_{name}(")), "tare_{name}");
        }
    }
    assert!(functions > 20, "{functions}");
}
