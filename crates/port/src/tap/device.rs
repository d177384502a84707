//! A tap device: /dev/net/tun and the ioctls that make it and set it up (tun(4), netdevice(7)).

use crate::interface::{set_name, with_request};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Makes the device, or opens one that is there, and gives one of its queues.
pub(super) fn create(name: &str, is_one_of_several: bool) -> io::Result<File> {
    let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let several = if is_one_of_several { libc::IFF_MULTI_QUEUE } else { 0 };
    with_request(file.as_fd(), libc::TUNSETIFF as _, |request| {
        set_name(request, name);
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | several) as libc::c_short;
    })?;
    Ok(file)
}

/// Gives the device what was asked for. Each of these may be done again by another queue.
pub(super) struct DeviceSetup {
    socket: OwnedFd,
}

impl DeviceSetup {
    pub fn new(is_ipv6: bool) -> io::Result<Self> {
        let family = if is_ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
        Ok(Self { socket: socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)? })
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub fn mtu(&self, name: &str, mtu: u32) -> io::Result<()> {
        with_request(self.socket.as_fd(), libc::SIOCSIFMTU as _, |request| {
            set_name(request, name);
            request.ifr_ifru.ifru_mtu = mtu as libc::c_int;
        })
        .map(drop)
    }

    pub fn mac(&self, name: &str, mac: [u8; 6]) -> io::Result<()> {
        with_request(self.socket.as_fd(), libc::SIOCSIFHWADDR as _, |request| {
            set_name(request, name);
            let mut address = no_address(libc::ARPHRD_ETHER);
            for (place, byte) in address.sa_data.iter_mut().zip(mac) {
                *place = byte as libc::c_char;
            }
            request.ifr_ifru.ifru_hwaddr = address;
        })
        .map(drop)
    }

    pub fn up(&self, name: &str) -> io::Result<()> {
        let now =
            with_request(self.socket.as_fd(), libc::SIOCGIFFLAGS as _, |request| set_name(request, name))?;
        // SAFETY: SIOCGIFFLAGS has filled in the flags.
        let flags = unsafe { now.ifr_ifru.ifru_flags };
        with_request(self.socket.as_fd(), libc::SIOCSIFFLAGS as _, |request| {
            set_name(request, name);
            request.ifr_ifru.ifru_flags = flags | (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        })
        .map(drop)
    }

    /// The device's address, with the length of its prefix.
    pub fn address(&self, name: &str, index: u32, address: IpAddr, prefix: u32) -> io::Result<()> {
        match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0).to_be_bytes();
                for (command, bytes) in [(libc::SIOCSIFADDR, address.octets()), (libc::SIOCSIFNETMASK, mask)]
                {
                    with_request(self.socket.as_fd(), command as _, |request| {
                        set_name(request, name);
                        request.ifr_ifru.ifru_addr = ipv4(bytes);
                    })?;
                }
                Ok(())
            }
            IpAddr::V6(address) => {
                let mut request = libc::in6_ifreq {
                    ifr6_addr: libc::in6_addr { s6_addr: address.octets() },
                    ifr6_prefixlen: prefix,
                    ifr6_ifindex: index as libc::c_int,
                };
                // SAFETY: what SIOCSIFADDR of an IPv6 socket takes; it outlives the call.
                let status =
                    unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCSIFADDR as _, &mut request) };
                if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
            }
        }
    }
}

fn no_address(family: u16) -> libc::sockaddr {
    debug_assert!(size_of::<libc::sockaddr>() == 16);
    libc::sockaddr { sa_family: family, sa_data: [0; 14] }
}

/// Port (two bytes), then the address.
fn ipv4(octets: [u8; 4]) -> libc::sockaddr {
    let mut address = no_address(libc::AF_INET as u16);
    for (place, byte) in address.sa_data[2..6].iter_mut().zip(octets) {
        *place = byte as libc::c_char;
    }
    address
}
