//! Ports from outside. Those on interfaces need root.

mod conformance;
mod dpdk;
mod faults;
mod interface;
mod live;
mod module;
mod packet;
mod pcap;
mod pcap_interfaces;
mod veth;
mod xdp;
