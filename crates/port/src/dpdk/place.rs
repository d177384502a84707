//! Which device an address means: `net_af_packet0,iface=veth0`, `0000:03:00.0`.

use super::library::unavailable;
use crate::{Address, PortError};
use std::path::Path;

/// Drivers of the kernel that leave a card to DPDK, or share it with it.
const SHARING: [&str; 5] = ["vfio-pci", "uio_pci_generic", "igb_uio", "mlx4_core", "mlx5_core"];
/// Where the kernel tells of PCI devices.
pub const DEVICES: &str = "/sys/bus/pci/devices";

/// A device by DPDK's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name, and after commas what its driver shall know.
    pub text: String,
    /// The name alone.
    pub name: String,
    pub is_pci: bool,
}

impl Place {
    pub fn read(address: &Address) -> Result<Self, PortError> {
        let text = address.place();
        let (name, rest) = text.split_once(',').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let pci = pci_name(name);
        let is_good = |letter: char| letter.is_ascii_alphanumeric() || "_.:-".contains(letter);
        if name.is_empty() || !name.chars().all(is_good) {
            let problem = format!("'{name}' is not a device name");
            return Err(address.wrong(&problem, "dpdk:net_af_packet0,iface=veth0 or dpdk:0000:03:00.0"));
        }
        let name = pci.clone().unwrap_or_else(|| name.to_owned());
        let text = rest.map_or_else(|| name.clone(), |rest| format!("{name},{rest}"));
        Ok(Self { text, name, is_pci: pci.is_some() })
    }

    /// What comes after `KEY=` in what the driver shall know.
    pub fn argument(&self, key: &str) -> Option<&str> {
        let words = self.text.split(',').skip(1);
        words.filter_map(|word| word.split_once('=')).find_map(|(name, value)| (name == key).then_some(value))
    }

    /// The interface of this host that frames pass, where the words name one. (`net_tap` makes the one that
    /// they name.)
    pub fn interface(&self) -> Option<&str> {
        if !["net_af_packet", "net_af_xdp", "net_pcap"].iter().any(|driver| self.name.starts_with(driver)) {
            return None;
        }
        ["iface", "tx_iface", "rx_iface"].iter().find_map(|key| self.argument(key))
    }

    /// Whether a card is there and free for DPDK.
    pub fn check_card(&self, devices: &Path) -> Result<(), PortError> {
        if !self.is_pci {
            return Ok(());
        }
        let name = &self.name;
        let folder = devices.join(name);
        if !folder.exists() {
            return Err(unavailable(format!("there is no PCI device {name}; 'lspci -D' lists all devices")));
        }
        let driver = std::fs::read_link(folder.join("driver")).ok();
        let driver = driver.as_ref().and_then(|path| path.file_name()).and_then(|name| name.to_str());
        match driver {
            Some(driver) if SHARING.contains(&driver) => Ok(()),
            Some(driver) => Err(unavailable(format!(
                "{name} belongs to the kernel's driver {driver}: give it to DPDK with 'dpdk-devbind.py -b vfio-pci \
                 {name}' (the host then loses that interface)"
            ))),
            None => Err(unavailable(format!(
                "{name} belongs to no driver: give it to DPDK with 'dpdk-devbind.py -b vfio-pci {name}'"
            ))),
        }
    }

    /// Debian's package with the driver of a virtual device.
    pub fn package(&self) -> String {
        let driver = self.name.trim_end_matches(|letter: char| letter.is_ascii_digit()).replace('_', "-");
        format!("librte-{driver}{}", super::layout::ABI)
    }
}

/// `0000:03:00.0` and `03:00.0` in full.
fn pci_name(name: &str) -> Option<String> {
    let is_hex = |part: &str, length| part.len() == length && part.chars().all(|c| c.is_ascii_hexdigit());
    let full = if name.matches(':').count() == 1 { format!("0000:{name}") } else { name.to_owned() };
    let parts: Vec<&str> = full.split([':', '.']).collect();
    let &[domain, bus, device, function] = parts.as_slice() else { return None };
    let is = is_hex(domain, 4) && is_hex(bus, 2) && is_hex(device, 2) && is_hex(function, 1);
    is.then(|| full.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Place {
        Place::read(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn devices_are_read() {
        let place = read("dpdk:net_af_packet0,iface=veth0,qpairs=2");
        assert_eq!((place.name.as_str(), place.is_pci), ("net_af_packet0", false));
        assert_eq!((place.interface(), place.argument("qpairs")), (Some("veth0"), Some("2")));
        assert_eq!(place.package(), "librte-net-af-packet23");
        let place = read("dpdk:3b:00.1,representor=0");
        assert_eq!((place.text.as_str(), place.is_pci), ("0000:3b:00.1,representor=0", true));
        assert_eq!(read("dpdk:0000:3B:00.1").name, "0000:3b:00.1");
        let said = Place::read(&"dpdk:net null".parse().unwrap()).unwrap_err().to_string();
        assert!(said.contains("'net null' is not a device name"), "{said}");
    }

    #[test]
    fn a_card_that_is_not_there_or_not_free_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let device = |name: &str, driver: Option<&str>| {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            if let Some(driver) = driver {
                std::os::unix::fs::symlink(format!("../drivers/{driver}"), path.join("driver")).unwrap();
            }
        };
        device("0000:03:00.0", Some("ixgbe"));
        device("0000:03:00.1", Some("vfio-pci"));
        device("0000:03:00.2", None);
        let check = |name: &str| read(&format!("dpdk:{name}")).check_card(folder.path());
        let said = |name: &str| check(name).unwrap_err().to_string();
        assert!(said("03:00.0").contains("kernel's driver ixgbe"), "{}", said("03:00.0"));
        assert!(said("03:00.0").contains("dpdk-devbind.py -b vfio-pci 0000:03:00.0"), "{}", said("03:00.0"));
        assert!(check("03:00.1").is_ok() && check("net_null0").is_ok());
        assert!(said("03:00.2").contains("belongs to no driver"), "{}", said("03:00.2"));
        assert!(said("04:00.0").contains("there is no PCI device 0000:04:00.0"), "{}", said("04:00.0"));
    }
}
