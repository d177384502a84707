//! A test bed of network namespaces, and what can be tried in it (`tare lab show`).

use crate::words::counted;
use bed::{Middlebox, Namespace, State};
use std::fmt::Write;

/// The bed that needs no name.
const USUAL: &str = "lab";

/// A bed, and commands that do something in it.
pub fn bed(state: &State) -> String {
    let mut text = format!(
        "{}: {}, MTU {}{}{}\n",
        state.name,
        counted(state.queues.into(), "queue"),
        state.mtu,
        if state.gro { ", GRO on" } else { "" },
        if state.ready { "" } else { ", incomplete; remove it with 'tare lab down'" }
    );
    let width = state.namespaces.iter().map(|namespace| namespace.name.len()).max().unwrap_or(0);
    for namespace in &state.namespaces {
        for end in &namespace.interfaces {
            let addresses = [end.ipv4.map(|a| a.to_string()), end.ipv6.map(|a| a.to_string())];
            let addresses: Vec<String> = addresses.into_iter().flatten().collect();
            let line = format!(
                "  {:<width$}  {:<5}  {}  {}",
                namespace.name,
                end.name,
                end.mac,
                addresses.join("  ")
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    if !state.gro {
        text +=
            "  live: and `tare forward --xdp` need GRO at both ends, as a bed of `tare lab up --gro` has\n";
    }
    text += "\nTry:\n";
    for command in commands(state) {
        let _ = writeln!(text, "  {command}");
    }
    text
}

/// Commands for this bed, in the order in which to start them.
fn commands(state: &State) -> Vec<String> {
    let exec = |namespace: &Namespace, words: &str| format!("ip netns exec {} {words}", namespace.name);
    let [generator, between @ .., sink] = state.namespaces.as_slice() else { return Vec::new() };
    let (near, far) = (generator.interface(), sink.interface());
    let mut commands = vec![exec(sink, &format!("tare capture packet:{} -t 10", far.name))];
    if let (Middlebox::Wire, [middle]) = (state.middlebox, between) {
        let [one, other] = [0, 1].map(|index| middle.interfaces[index].name.as_str());
        commands.push(exec(middle, &format!("tare forward packet:{one} packet:{other} -t 10")));
        if state.gro {
            commands.push(exec(middle, &format!("tare forward {one} {other} --xdp -t 10")));
        }
    }
    // A router is the generator's neighbour, and the sink behind it.
    let next = match between {
        [middle] if state.middlebox == Middlebox::Router => middle.interface(),
        _ => far,
    };
    if let (Some(from), Some(to)) = (near.ipv4, far.ipv4) {
        let words =
            format!("tare send packet:{} -I {from} -i {to} -m {} --rate 10k -t 5", near.name, next.mac);
        commands.push(exec(generator, &words));
        if state.gro {
            let words =
                format!("tare send live:{} -I {from} -i {to} -m {} --rate max -t 5", near.name, next.mac);
            commands.push(exec(generator, &words));
        }
        commands.push(exec(generator, &format!("ping -c 3 {to}")));
    }
    let name = if state.name == USUAL { String::new() } else { format!(" --name {}", state.name) };
    commands.push(format!("tare lab down{name}"));
    commands
}
