//! Runs past the kernel (`--via`): where their connections were, and what is worth telling of their TCP.

use crate::markup::escape;
use crate::words::count;
use store::RunResult;
use store::schema::Via;

/// What is worth telling of the TCP of `--via`: what it sent again, what it had no room for, what was wrong.
pub fn tcp(result: &RunResult) -> Vec<String> {
    let Some(tcp) = &result.tcp else { return Vec::new() };
    let lost: u64 =
        tcp.lost_frames.iter().filter(|(place, _)| *place != "fault").map(|(_, frames)| frames).sum();
    let counts = [
        (tcp.retransmitted, "retransmitted"),
        (tcp.unsent, "frames given up because the port had no room"),
        (lost, "frames lost by the port"),
        (tcp.bad_frames.values().sum(), "bad frames"),
        (tcp.too_many_holes, "dropped behind too many holes"),
        (tcp.window_stalls, "waits for the target's window"),
        (tcp.no_port, "without a port"),
    ];
    let some = counts.into_iter().filter(|(number, _)| *number > 0);
    some.map(|(number, what)| format!("{} {what}", count(number))).collect()
}

/// `198.18.0.10 to 198.18.0.12 by packet:eth1, MAC address 02:74:c6:12:00:0a (…), fast path (…)`
pub fn from(via: &Via) -> String {
    let addresses = match (via.addresses.first(), via.addresses.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(only), _) => only.clone(),
        _ => String::new(),
    };
    let path = match via.path.as_str() {
        // Of a version that did not say it here, or of a module.
        "" => String::new(),
        path => format!(", {path} path ({})", via.path_reason),
    };
    escape(&format!("{addresses} by {}, MAC address {} ({}){path}", via.port, via.mac, via.mac_reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::schema::Tcp;

    #[test]
    fn only_what_is_worth_a_line_is_told() {
        let quiet = Tcp { opened: 64, segments_in: 9_000, ..Tcp::default() };
        let mut result = RunResult { tcp: Some(quiet), ..RunResult::default() };
        assert_eq!(tcp(&result), Vec::<String>::new());
        if let Some(tcp) = &mut result.tcp {
            tcp.retransmitted = 12;
            tcp.lost_frames = [("fault".to_owned(), 90), ("rx.ring".to_owned(), 3)].into();
        }
        assert_eq!(tcp(&result), ["12 retransmitted", "3 frames lost by the port"]);
        result.tcp = None;
        assert_eq!(tcp(&result), Vec::<String>::new());
    }

    #[test]
    fn where_connections_were_is_one_line() {
        let via = Via {
            port: "packet:eth1".into(),
            addresses: vec!["198.18.0.10".into(), "198.18.0.11".into()],
            mac: "02:74:c6:12:00:0a".into(),
            mac_reason: "as given".into(),
            mtu: 1_500,
            path: "fast".into(),
            path_reason: "asked for".into(),
        };
        let line = "198.18.0.10 to 198.18.0.11 by packet:eth1, MAC address 02:74:c6:12:00:0a (as given)";
        assert_eq!(from(&via), format!("{line}, fast path (asked for)"));
        assert_eq!(from(&Via { path: String::new(), ..via }), line);
    }
}
