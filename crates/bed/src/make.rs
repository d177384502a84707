//! Making a bed: namespaces first, then the links between them, then what is set inside each.

use crate::ip::{batch, ip, links};
use crate::namespace::{Interface, Namespace, Role};
use crate::topology::{Middlebox, Topology};
use crate::{BedError, State, offload};
use rustix::thread::{UnshareFlags, gettid};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// How often a bed looks whether its links are up, and how many times at most: two seconds, where the kernel
/// does not say.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: usize = 400;

impl State {
    /// Makes what was written down.
    pub(super) fn make(&mut self, topology: &Topology) -> Result<(), BedError> {
        for index in 0..self.namespaces.len() {
            self.make_namespace(index)?;
        }
        self.link(topology)?;
        for namespace in &self.namespaces {
            namespace.run_in(|| quiet(namespace, topology))??;
            batch(&namespace.name, &self.setup(namespace, topology))?;
        }
        // Only now: a veth tells its other end that it takes redirected frames when GRO is switched on while
        // both are up.
        for namespace in self.namespaces.iter().filter(|_| topology.gro) {
            let mut ends = namespace.interfaces.iter();
            namespace.run_in(|| ends.try_for_each(|end| offload::gro_on(&end.name)))??;
        }
        self.wait_for_links()?;
        self.ready = true;
        self.write()
    }

    fn make_namespace(&mut self, index: usize) -> Result<(), BedError> {
        thread::scope(|scope| scope.spawn(|| self.name_new_namespace(index)).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Makes a namespace, writes its inode down and only then gives it its name; in a thread that ends
    /// afterwards.
    fn name_new_namespace(&mut self, index: usize) -> Result<(), BedError> {
        let system = |what| move |error| BedError::System { what, error };
        unshare_network().map_err(|error| BedError::Privilege { what: "making a namespace", error })?;
        let own = File::open("/proc/thread-self/ns/net").map_err(system("opening a new namespace"))?;
        let inode = own.metadata().map_err(system("reading a new namespace"))?.ino();
        self.namespaces[index].inode = Some(inode);
        self.write()?;
        let thread = gettid().as_raw_nonzero().to_string();
        ip(&["netns", "attach", &self.namespaces[index].name, &thread])
    }

    /// The veth pairs: from each namespace to the next.
    fn link(&self, topology: &Topology) -> Result<(), BedError> {
        let queues = format!("numtxqueues {0} numrxqueues {0}", topology.queues);
        for pair in self.namespaces.windows(2) {
            // The last interface of one to the first of the next.
            let (near, far) = (&pair[0].interfaces[pair[0].interfaces.len() - 1], &pair[1].interfaces[0]);
            let line = format!(
                "link add {} address {} mtu {mtu} {queues} type veth peer name {} address {} mtu {mtu} {queues} netns {}",
                near.name,
                near.mac,
                far.name,
                far.mac,
                pair[1].name,
                mtu = topology.mtu,
            );
            batch(&pair[0].name, &[line])?;
        }
        Ok(())
    }

    /// Until the kernel has seen that both ends are up, a link drops what is sent, and tells nobody. On a busy
    /// machine that takes a while.
    fn wait_for_links(&self) -> Result<(), BedError> {
        let mut looks = 0;
        for namespace in &self.namespaces {
            let count = namespace.interfaces.len();
            while looks < LOOKS && links(&namespace.name)?.matches(" state UP ").count() < count {
                looks += 1;
                thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    /// What `ip` sets inside one namespace: addresses, neighbours, routes; everything up.
    fn setup(&self, namespace: &Namespace, topology: &Topology) -> Vec<String> {
        let mut lines = vec!["link set lo up".to_string()];
        for end in &namespace.interfaces {
            lines.push(format!("link set {} up", end.name));
            lines.extend(end.ipv4.map(|address| format!("address add {address}/24 dev {}", end.name)));
            lines.extend(end.ipv6.map(|address| format!("address add {address}/64 dev {} nodad", end.name)));
            if topology.neighbours {
                lines.extend(self.neighbours(namespace.role, &end.name));
            }
        }
        if let (Middlebox::Router, Some(gateway)) = (self.middlebox, self.gateway(namespace.role)) {
            lines.extend(gateway.ipv4.map(|address| format!("route add default via {address}")));
            lines.extend(gateway.ipv6.map(|address| format!("route add default via {address}")));
        }
        lines
    }

    /// Interfaces at the other end of the network of `interface`, as neighbours that need not be asked for.
    fn neighbours(&self, role: Role, interface: &str) -> Vec<String> {
        let end = |role, index: usize| {
            let namespace = self.namespaces.iter().find(|namespace| namespace.role == role);
            namespace.map(|namespace| &namespace.interfaces[index])
        };
        let is_routed = self.middlebox == Middlebox::Router;
        let other = match (role, interface) {
            (Role::Generator, _) if !is_routed => end(Role::Sink, 0),
            (Role::Sink, _) if !is_routed => end(Role::Generator, 0),
            (Role::Generator | Role::Sink, _) => self.gateway(role),
            (Role::Middlebox, "mid0") if is_routed => end(Role::Generator, 0),
            (Role::Middlebox, _) if is_routed => end(Role::Sink, 0),
            (Role::Middlebox, _) => None,
        };
        let Some(other) = other else { return Vec::new() };
        let known = |address: String| {
            format!("neigh replace {address} lladdr {} dev {interface} nud permanent", other.mac)
        };
        let addresses = [other.ipv4.map(|a| a.to_string()), other.ipv6.map(|a| a.to_string())];
        addresses.into_iter().flatten().map(known).collect()
    }

    /// The middlebox's interface towards `role`.
    fn gateway(&self, role: Role) -> Option<&Interface> {
        let index = match role {
            Role::Generator => 0,
            Role::Sink => 1,
            Role::Middlebox => return None,
        };
        let middle = self.namespaces.iter().find(|namespace| namespace.role == Role::Middlebox)?;
        middle.interfaces.get(index)
    }
}

/// Nothing is sent that was not asked for, and offloads are off; inside the namespace.
fn quiet(namespace: &Namespace, topology: &Topology) -> Result<(), BedError> {
    let set = |key: &str, value: &str| {
        let file = PathBuf::from("/proc/sys/net").join(key);
        // A kernel without IPv6 has no such file, and sends none.
        let result = if file.exists() { fs::write(&file, value) } else { Ok(()) };
        result.map_err(|error| BedError::File { file, problem: error.to_string() })
    };
    let is_router = topology.middlebox == Middlebox::Router && namespace.role == Role::Middlebox;
    set("ipv4/ip_forward", if is_router { "1" } else { "0" })?;
    for end in &namespace.interfaces {
        let ipv6 = |key: &str| format!("ipv6/conf/{}/{key}", end.name);
        set(&ipv6("disable_ipv6"), if topology.ipv6 && end.ipv6.is_some() { "0" } else { "1" })?;
        set(&ipv6("accept_ra"), "0")?;
        set(&ipv6("router_solicitations"), "0")?;
        // No link-local address: nothing is asked of neighbours that was not asked for.
        set(&ipv6("addr_gen_mode"), "1")?;
        if !topology.offloads {
            offload::off(&end.name)?;
        }
    }
    if is_router && topology.ipv6 {
        set("ipv6/conf/all/forwarding", "1")?;
    }
    Ok(())
}

#[allow(unsafe_code)]
fn unshare_network() -> io::Result<()> {
    // SAFETY: only the network namespace of this thread changes; its file descriptors and memory stay shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from)
}
