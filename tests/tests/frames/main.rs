//! The packet commands, test beds and what this machine grants them: against tshark, tcpdump, iperf3 and the
//! kernel.

mod capture;
mod captures;
mod doctor;
mod dpdk;
mod forward;
mod frames_by_tshark;
mod gaps;
mod lab;
mod merged;
mod namespaces;
mod pace;
mod recipes_packets;
mod send;
mod sessions;
mod stations;
mod sweep;
mod sweep_outages;
mod target_over;
mod tshark;
mod tunnels_by_tshark;
mod weigh;
