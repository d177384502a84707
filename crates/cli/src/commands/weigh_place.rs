//! Where `tare weigh` sends: between namespaces of its own, or through an interface to somebody.

use anyhow::anyhow;
use clap::Args;
use run::Failure;
use std::net::{Ipv4Addr, SocketAddrV4};
use weigh::parse_mac;
use weigh::session::Place;

#[derive(Args, Clone, Debug, Default)]
pub struct PlaceArgs {
    /// Send through this interface, not between namespaces made for the weighing
    #[arg(long, value_name = "INTERFACE", requires = "to")]
    interface: Option<String>,
    /// Destination to send to through the interface
    #[arg(long, value_name = "ADDRESS:PORT", requires = "interface")]
    to: Option<SocketAddrV4>,
    /// MAC address of the destination, or of the router towards it
    #[arg(long, value_name = "MAC", requires = "to")]
    to_mac: Option<String>,
}

impl PlaceArgs {
    pub fn place(&self) -> Result<Place, Failure> {
        let wrong = |flag: &str, problem: String| Failure::wrong(anyhow!("{flag}: {problem}"));
        let to_mac = self.to_mac.as_deref().map(|text| {
            parse_mac(text).ok_or_else(|| {
                wrong("--to-mac", format!("'{text}' is not a MAC address; expected e.g. 02:18:00:00:00:01"))
            })
        });
        let to_mac = to_mac.transpose()?;
        let (Some(interface), Some(to)) = (&self.interface, self.to) else { return Ok(Place::Bed) };
        if to.port() == 0 || *to.ip() == Ipv4Addr::UNSPECIFIED {
            return Err(wrong("--to", format!("cannot send to {to}")));
        }
        Ok(Place::Named { interface: interface.clone(), to, to_mac })
    }
}
