//! The simulator: the module's own sources, compiled by Verilator into a program, which speaks the link's
//! language over a socket.
//!
//! It ends when its socket closes. Its wire side is a descriptor that it inherits, or a cable from its
//! transmitter to its receiver.

use crate::PortError;
use clock::Deadline;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A simulator.
#[derive(Debug)]
pub(super) struct Program {
    /// What it is called.
    pub name: &'static str,
    /// Where it is, if that is said here.
    pub variable: &'static str,
    /// What it simulates.
    pub what: &'static str,
}

/// The module.
pub(super) const MODULE: Program =
    Program { name: "tare-module-sim", variable: "TARE_MODULE_SIM", what: "the simulated module" };
/// Its sessions.
pub(super) const SESSIONS: Program =
    Program { name: "tare-session-sim", variable: "TARE_SESSION_SIM", what: "the simulation of sessions" };
/// For it to end by itself.
const GRACE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);
/// Of what it said at its end.
const MOST_SAID: u64 = 1 << 16;

/// How it is started.
#[derive(Debug, Default)]
pub(super) struct SimulatorSetup {
    /// Where it is, if the user says so.
    pub program: Option<PathBuf>,
    /// Its wire side: a descriptor, or else a cable to itself.
    pub wire: Option<OwnedFd>,
    /// A capture file whose frames come in over and over, instead of what is sent.
    pub traffic: Option<PathBuf>,
    /// Everything on its wire is written there.
    pub pcap: Option<PathBuf>,
    /// What its memories hold at first.
    pub seed: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Process {
    child: Child,
}

impl Process {
    /// Starts it with its end of the link.
    ///
    /// # Errors
    /// There is none, or it cannot be started.
    pub fn start(setup: SimulatorSetup, host: OwnedFd) -> Result<Self, PortError> {
        let program = find(&MODULE, setup.program.as_deref())?;
        let mut command = Command::new(&program);
        // Descriptors that a program has anyway are handed over without any trick.
        command.args(["--host-fd", "0"]).stdin(Stdio::from(host)).stderr(Stdio::piped());
        match (setup.wire, &setup.traffic) {
            (Some(wire), _) => command.args(["--wire-fd", "1"]).stdout(Stdio::from(wire)),
            (None, Some(file)) => command.arg("--rx-pcap").arg(file).stdout(Stdio::null()),
            (None, None) => command.arg("--loop").stdout(Stdio::null()),
        };
        if let Some(file) = &setup.pcap {
            command.arg("--pcap").arg(file);
        }
        if let Some(seed) = setup.seed {
            command.arg("--seed").arg(seed.to_string());
        }
        Self::spawn(command, &program)
    }

    /// Starts a command that has all that it needs.
    pub fn spawn(mut command: Command, program: &Path) -> Result<Self, PortError> {
        // Ctrl-C ends this program, which then ends that one.
        command.process_group(0);
        let what = format!("starting {}", program.display());
        let child = command.spawn().map_err(|error| PortError::System { what, error })?;
        Ok(Self { child })
    }

    /// Its number, for messages.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end (its socket must be closed), and kills it if it does not come. Returns what it said.
    pub fn end(&mut self) -> String {
        let until = Deadline::after(GRACE);
        while !matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            if until.is_over() {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
            std::thread::sleep(LOOK);
        }
        let mut said = String::new();
        if let Some(pipe) = self.child.stderr.take() {
            let _ = pipe.take(MOST_SAID).read_to_string(&mut said);
        }
        said
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where a simulator is: what is said, the environment, beside this program, where `make module-sim` puts it,
/// the path.
pub(super) fn find(program: &Program, said: Option<&Path>) -> Result<PathBuf, PortError> {
    let Program { name, variable, what } = program;
    let unavailable = |why| Err(PortError::Unavailable { what: (*what).to_owned(), why });
    let environment = std::env::var_os(variable).map(PathBuf::from);
    if let Some(path) = said.map(Path::to_owned).or(environment) {
        return if is_program(&path) {
            Ok(path)
        } else {
            unavailable(format!("{} is not a program", path.display()))
        };
    }
    let own = std::env::current_exe().ok();
    let mut places = candidates(name, own.as_deref(), std::env::var_os("PATH").as_deref());
    // They are built together.
    places.extend(std::env::var_os(MODULE.variable).map(|path| Path::new(&path).with_file_name(name)));
    places.into_iter().find(|path| is_program(path)).map_or_else(
        || {
            unavailable(format!(
                "there is no {name} next to this program or on the PATH; build it with 'make module-sim', or \
                 set {variable} to its path"
            ))
        },
        Ok,
    )
}

fn candidates(name: &str, own: Option<&Path>, path: Option<&OsStr>) -> Vec<PathBuf> {
    let beside = own.and_then(Path::parent);
    // Of target/release/tare, and of tests in folders there.
    let built = beside.into_iter().flat_map(|folder| folder.ancestors().skip(1).take(2));
    let built = built.map(|target| target.join("module-sim"));
    let on_path = path.map(OsString::from).unwrap_or_default();
    let folders = beside.map(Path::to_owned).into_iter().chain(built);
    folders.chain(std::env::split_paths(&on_path)).map(|folder| folder.join(name)).collect()
}

fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_where_it_is_built_and_installed() {
        let places =
            candidates("sim", Some(Path::new("/x/target/release/tare")), Some(OsStr::new("/bin:/opt")));
        let expected = ["/x/target/release", "/x/target/module-sim", "/x/module-sim", "/bin", "/opt"];
        let expected: Vec<PathBuf> = expected.iter().map(|folder| Path::new(folder).join("sim")).collect();
        assert_eq!(places, expected);
    }

    #[test]
    fn a_place_that_holds_none_is_named() {
        let error = find(&MODULE, Some(Path::new("/dev/null"))).unwrap_err();
        assert!(error.is_users());
        assert!(error.to_string().contains("/dev/null is not a program"), "{error}");
    }

    #[test]
    fn one_that_ends_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("sim");
        std::fs::write(&script, "#!/bin/sh\necho \"$@\" >&2\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, mode).unwrap();
        let (_own, other) = super::super::transport::Transport::pair().unwrap();
        let setup = SimulatorSetup { program: Some(script), seed: Some(7), ..SimulatorSetup::default() };
        let said = Process::start(setup, other).unwrap().end();
        assert_eq!(said.trim(), "--host-fd 0 --loop --seed 7");
    }
}
