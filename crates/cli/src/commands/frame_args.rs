//! The flags of `[frames]`, for all commands that make frames. Nothing is checked here: the plan says what is
//! wrong with a value, and names the flag.

use clap::{ArgAction, Args, ValueHint};
use plan::packets::frames::FramesFile;
use plan::{Typed, TypedList};

/// What frames look like.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Frames")]
pub struct FrameArgs {
    /// Frame size with FCS: 64, or 64,594,1518, 64..1518, random(64..1518), 64x7,594x4,1518, imix [default: 64]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub size: Option<String>,
    /// Internet mix: of every 12 frames, 7 have 64 bytes, 4 have 594 and 1 has 1518
    #[arg(long, conflicts_with = "size")]
    pub imix: bool,
    /// Protocol: udp, tcp, icmp, arp, ip or raw [default: udp]
    #[arg(long, value_name = "PROTOCOL")]
    pub proto: Option<String>,
    /// Source address; IPv6 if it has colons [default: 198.18.0.1]
    #[arg(short = 'I', long, value_name = "ADDRESS")]
    pub src: Option<String>,
    /// Destination address [default: 198.18.0.2]
    #[arg(short = 'i', long, value_name = "ADDRESS")]
    pub dst: Option<String>,
    /// Source port [default: 1024]
    #[arg(long, value_name = "PORT")]
    pub sport: Option<String>,
    /// Destination port [default: 9]
    #[arg(long, value_name = "PORT")]
    pub dport: Option<String>,
    /// Destination MAC address [default: looked up by ARP or neighbour discovery]
    #[arg(short = 'm', long = "dst-mac", value_name = "MAC")]
    pub dst_mac: Option<String>,
    /// Source MAC address [default: the interface's]
    #[arg(long, value_name = "MAC")]
    pub src_mac: Option<String>,
    /// VLAN ID, or outer and inner VLAN ID: 200,100
    #[arg(long, value_name = "ID")]
    pub vlan: Option<String>,
    /// Priority (PCP) in the VLAN tag
    #[arg(long, value_name = "0-7")]
    pub pcp: Option<String>,
    /// MPLS labels from the outside in: 100 or 100,200
    #[arg(long, value_name = "LABELS")]
    pub mpls: Option<String>,
    /// PPPoE session
    #[arg(long, value_name = "SESSION")]
    pub pppoe: Option<String>,
    /// Send each packet in a tunnel: vxlan:NETWORK, gre, gre:KEY or gtpu:TUNNEL
    #[arg(long, value_name = "KIND:NUMBER")]
    pub tunnel: Option<String>,
    /// Source address of the tunnel [default: 198.18.1.1]
    #[arg(long, value_name = "ADDRESS")]
    pub tunnel_src: Option<String>,
    /// Destination address of the tunnel [default: 198.18.1.2]
    #[arg(long, value_name = "ADDRESS")]
    pub tunnel_dst: Option<String>,
    /// IPv6 extension headers: hop (hop-by-hop options), dst (destination options), frag (a fragment
    /// header, with the whole packet in one fragment)
    #[arg(long, value_name = "LIST")]
    pub ipv6_ext: Option<String>,
    /// Make these checksums wrong: ip, udp, tcp, icmp
    #[arg(long, value_name = "LIST")]
    pub bad_checksum: Option<String>,
    /// EtherType of raw frames
    #[arg(long, value_name = "TYPE")]
    pub ethertype: Option<String>,
    /// Time to live, or hop limit [default: 64]
    #[arg(long, value_name = "N")]
    pub ttl: Option<String>,
    /// Differentiated services code point
    #[arg(long, value_name = "0-63")]
    pub dscp: Option<String>,
    /// Explicit congestion notification bits
    #[arg(long, value_name = "0-3")]
    pub ecn: Option<String>,
    /// IPv6 flow label
    #[arg(long, value_name = "N")]
    pub flow_label: Option<String>,
    /// TCP flags: S, SA, FPU or 0x12
    #[arg(long, value_name = "FLAGS")]
    pub tcp_flags: Option<String>,
    /// TCP options in the given order, e.g. mss=1460,sackok,ts=1:0,nop,wscale=7
    #[arg(long, value_name = "OPTIONS")]
    pub tcp_options: Option<String>,
    /// Payload: zeros, increment, random, 0xdeadbeef or text:hello; repeated up to the end of the frame
    #[arg(long, value_name = "BYTES")]
    pub payload: Option<String>,
    /// Number of flows (different 5-tuples), used in turn
    #[arg(long, value_name = "N")]
    pub flows: Option<String>,
    /// Vary a field: src=198.18.0.1..198.18.0.254, dport=9,53,80, sport=random(1024..65535) (repeatable)
    #[arg(long, value_name = "FIELD=VALUES", action = ArgAction::Append)]
    pub vary: Vec<String>,
    /// Put a signature into each payload, from which a receiver derives loss, order, latency and gaps
    #[arg(long)]
    pub sign: bool,
    /// Send the frames of a capture file instead, without its gaps
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub pcap: Option<String>,
    /// Seed of every random value [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
}

impl FrameArgs {
    /// Everything that was typed, as the plan file has it.
    pub fn fill(&self, file: &mut FramesFile) {
        let typed = |value: &Option<String>| value.clone().map(Typed::from);
        file.size = if self.imix { Some("imix".into()) } else { typed(&self.size) };
        file.proto = typed(&self.proto);
        file.src = typed(&self.src);
        file.dst = typed(&self.dst);
        file.sport = typed(&self.sport);
        file.dport = typed(&self.dport);
        file.dst_mac = typed(&self.dst_mac);
        file.src_mac = typed(&self.src_mac);
        file.vlan = typed(&self.vlan);
        file.pcp = typed(&self.pcp);
        file.mpls = typed(&self.mpls);
        file.pppoe = typed(&self.pppoe);
        file.tunnel = typed(&self.tunnel);
        file.tunnel_src = typed(&self.tunnel_src);
        file.tunnel_dst = typed(&self.tunnel_dst);
        file.ipv6_ext = typed(&self.ipv6_ext);
        file.bad_checksum = typed(&self.bad_checksum);
        file.ethertype = typed(&self.ethertype);
        file.ttl = typed(&self.ttl);
        file.dscp = typed(&self.dscp);
        file.ecn = typed(&self.ecn);
        file.flow_label = typed(&self.flow_label);
        file.tcp_flags = typed(&self.tcp_flags);
        file.tcp_options = typed(&self.tcp_options);
        file.payload = typed(&self.payload);
        file.flows = typed(&self.flows);
        file.seed = typed(&self.seed);
        file.pcap.clone_from(&self.pcap);
        file.sign = self.sign.then_some(true);
        if !self.vary.is_empty() {
            file.vary = Some(TypedList(self.vary.iter().cloned().map(Typed::from).collect()));
        }
    }
}
