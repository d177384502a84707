//! `ip` of iproute2, called with lists of commands.

use crate::BedError;
use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

/// One command: `netns del tare-lab-sink`.
pub fn ip(words: &[&str]) -> Result<(), BedError> {
    let output = Command::new("ip").args(words).output().map_err(started)?;
    judge(&words.join(" "), &output)
}

/// Several commands, a line each, inside `namespace`. Ends at the first that fails.
pub fn batch(namespace: &str, lines: &[String]) -> Result<(), BedError> {
    let mut child = Command::new("ip")
        .args(["-n", namespace, "-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(started)?;
    let text = lines.join("\n") + "\n";
    // A child that ends early closes the pipe: its message says why.
    let _ = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(started)?;
    judge(&format!("-n {namespace}: {}", lines.join("; ")), &output)
}

/// What `ip -o link` says of the interfaces inside `namespace`, a line each.
pub fn links(namespace: &str) -> Result<String, BedError> {
    let output = Command::new("ip").args(["-n", namespace, "-o", "link"]).output().map_err(started)?;
    judge(&format!("-n {namespace} -o link"), &output)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn started(error: io::Error) -> BedError {
    match error.kind() {
        io::ErrorKind::NotFound => BedError::NoIp,
        _ => BedError::System { what: "starting `ip`", error },
    }
}

fn judge(command: &str, output: &Output) -> Result<(), BedError> {
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    if message.contains("Operation not permitted") {
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        return Err(BedError::Privilege { what: "ip", error });
    }
    Err(BedError::Ip { command: command.into(), message })
}
