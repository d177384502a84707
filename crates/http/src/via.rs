//! The port of `--via`, for who asks for its files.

use plan::Plan;
use port::Address;
use session::Via;

/// The port that a plan's connections go through, if it is one past the kernel. One that cannot be is refused
/// when the run is prepared.
pub fn port_of_via(plan: &Plan) -> Option<Address> {
    let via: Via = plan.connection.via.as_ref()?.parse().ok()?;
    Some(via.port)
}

/// `--via` as it is understood from any folder: the port's files have absolute paths.
pub fn via_from_anywhere(typed: &str) -> String {
    let there = || {
        let via: Via = typed.parse().ok()?;
        let rest = typed.strip_prefix(&via.port.to_string())?;
        Some(format!("{}{rest}", via.port.from_anywhere()))
    };
    there().unwrap_or_else(|| typed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_port_have_absolute_paths_and_the_rest_stays() {
        let here = std::env::current_dir().unwrap().display().to_string();
        for (typed, there) in [
            ("fpga,redis_password=p:sim,ip=198.18.0.2/24", "fpga,redis_password=HERE/p:sim,ip=198.18.0.2/24"),
            (
                "trace,file=t:packet:veth0,ip=198.18.0.2/24,mtu=1400",
                "trace,file=HERE/t:packet:veth0,ip=198.18.0.2/24,mtu=1400",
            ),
            ("packet:veth0,ip=198.18.0.2/24", "packet:veth0,ip=198.18.0.2/24"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(via_from_anywhere(typed), there.replace("HERE", &here));
        }
    }
}
