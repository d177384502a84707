//! What a socket (`udp:`) sends of frames: their payloads. What was asked for of headers would not be on the
//! wire.

use crate::PacketError;
use plan::packets::frames::Frames;
use port::About;

const KIND: &str = "udp";

/// Whether it sends what this field says.
pub fn sends(key: &str) -> bool {
    matches!(key, "size" | "payload")
}

/// Why it does not.
pub fn refusal(key: &str, port: &str) -> String {
    format!("{key}: {port} sends through a socket, whose headers are the kernel's")
}

/// Refuses frames with headers of their own, and rates of bits that the kernel's headers would change.
pub fn check(frames: &Frames, counts_bits: bool, about: &About) -> Result<(), PacketError> {
    if about.kind != KIND {
        return Ok(());
    }
    if counts_bits && is_over_ipv6(about) {
        return Err(PacketError::Wrong(format!(
            "--rate: {} has the kernel's IPv6 headers, 20 bytes longer than the plan's, so a rate in bits would not be \
             kept; write frames per second, or send from packet: or xdp:",
            about.name
        )));
    }
    match frames.asked().into_iter().find(|key| !sends(key)) {
        None => Ok(()),
        Some(key) => {
            let why = refusal(&format!("--{key}"), &about.name);
            Err(PacketError::Wrong(format!("{why}; leave it out, or send from packet: or xdp:")))
        }
    }
}

/// Refuses a port whose frames would be longer than the sizes that results are told by.
pub fn keeps_sizes(about: &About) -> Result<(), PacketError> {
    match about.kind == KIND && is_over_ipv6(about) {
        false => Ok(()),
        true => Err(PacketError::Wrong(format!(
            "--send: {} has the kernel's IPv6 headers, so frames would be 20 bytes longer than --sizes; send from packet: \
             or xdp:",
            about.name
        ))),
    }
}

/// To be told of frames whose header is longer than the plan's.
pub fn note(about: &About) -> Option<String> {
    (about.kind == KIND && is_over_ipv6(about))
        .then(|| "each frame is 20 bytes longer than --size: the kernel's header is IPv6's".to_owned())
}

/// Its address has brackets.
fn is_over_ipv6(about: &About) -> bool {
    about.name.contains('[')
}

/// A sentence where it would send less than a script writes.
pub fn refuses_scripts(about: &About) -> Option<String> {
    (about.kind == KIND).then(|| {
        format!(
            "{} sends through a socket, whose headers are the kernel's, whatever a script writes; send from packet: or xdp:",
            about.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::packets::frames::FramesFile;
    use plan::{Typed, TypedList};

    #[test]
    fn headers_that_were_asked_for_are_refused_and_payloads_are_not() {
        let typed = |value: &str| Some(Typed::from(value));
        let none = FramesFile::default;
        let refused = |file: FramesFile, kind| {
            let about = About { name: "udp:127.0.0.1:9".to_owned(), kind, ..About::default() };
            check(&file.resolve().unwrap(), false, &about).err().map(|error| error.to_string())
        };
        for (file, said) in [
            (FramesFile { dport: typed("77"), ..none() }, "--dport: "),
            (FramesFile { vlan: typed("7"), size: typed("100"), ..none() }, "--vlan: "),
            (FramesFile { ttl: typed("5"), ..none() }, "--ttl: "),
            (FramesFile { dst: typed("198.18.0.9"), ..none() }, "--dst: "),
            (FramesFile { dst_mac: typed("02:00:00:00:00:07"), ..none() }, "--dst-mac: "),
            (FramesFile { proto: typed("tcp"), ..none() }, "--proto: "),
            (FramesFile { flows: typed("5"), ..none() }, "--flows: "),
            (
                FramesFile { vary: Some(TypedList(vec![Typed::from("dport=1..5")])), ..none() },
                "--vary dport=1..5: ",
            ),
        ] {
            let message = refused(file.clone(), "udp").unwrap_or_else(|| panic!("{said}"));
            assert!(message.starts_with(said) && message.contains("packet:"), "{message}");
            assert_eq!(refused(file, "packet"), None);
        }
        let six = About { name: "udp:[fd00::2]:9".to_owned(), kind: "udp", ..About::default() };
        let frames = none().resolve().unwrap();
        assert!(keeps_sizes(&six).unwrap_err().to_string().starts_with("--send: "));
        assert!(check(&frames, true, &six).unwrap_err().to_string().starts_with("--rate: "));
        assert!(check(&frames, false, &six).is_ok() && note(&six).is_some());
        let payload =
            FramesFile { size: typed("imix"), payload: typed("0xdead"), sign: Some(true), ..none() };
        for file in [none(), payload, FramesFile { seed: typed("5"), dport: typed("9"), ..none() }] {
            assert_eq!(refused(file, "udp"), None);
        }
    }
}
