//! The kinds of ports: how each is written, and its options. A new option is a line here and its reading in the
//! port's file.

macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $name:ident = $word:literal, $place:literal, $role:ident, [$($option:literal $says:literal,)*];
    )+) => {
        /// A kind of port.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum PortKind { $($(#[$doc])* $name,)+ }

        impl PortKind {
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The word before the colon.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// What comes after it: `INTERFACE`, `FILE`.
            pub const fn place(self) -> &'static str {
                match self { $(Self::$name => $place,)+ }
            }

            /// Its options, and what each does.
            pub const fn options(self) -> &'static [(&'static str, &'static str)] {
                match self { $(Self::$name => &[$(($option, $says),)*],)+ }
            }

            const fn role(self) -> Role {
                match self { $(Self::$name => Role::$role,)+ }
            }
        }
    };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Frames pass a network interface of this host.
    Interface,
    Other,
    /// Another port is behind it.
    Wrapper,
}

kinds! {
    /// Whatever is best for the interface.
    Auto = "auto", "INTERFACE", Interface, [
        "netns" "the network namespace that it is in, as `ip netns` names it",
    ];
    /// AF_PACKET.
    Packet = "packet", "INTERFACE", Interface, [
        "mode" "how frames leave: mmsg (a batch for each call) or ring (TX_RING)",
        "qdisc" "bypass (the default) or keep the queueing discipline",
        "launch" "auto, etf or fq: this queueing discipline, not this process, releases frames at their times",
        "priority" "the priority of sent frames, 0 to 15, which selects their class of the queueing discipline",
        "receive" "slots (frames are seen at once; the default if the port also sends) or blocks (cheapest; \
                   the default if it only receives)",
        "slots" "frames that the receive ring holds",
        "stamps" "hardware or driver; by default the better of those available",
        "share" "hash (the default), cpu, queue or lb: how queues share what arrives",
        "promiscuous" "no: receive only frames to this interface's own address",
        "outgoing" "yes: also receive frames that this host sends, if they pass the queueing discipline",
        "netns" "the network namespace that it is in, as `ip netns` names it",
    ];
    /// AF_XDP.
    Xdp = "xdp", "INTERFACE", Interface, [
        "mode" "copy or zerocopy; by default the better that the driver supports",
        "attach" "native or generic: where the program runs",
        "stamps" "no: received frames get no timestamp, which costs less",
        "slots" "frames that each ring holds",
        "take" "all: receive even on the interface of the host's default route, and cut the host off",
        "netns" "the network namespace that it is in, as `ip netns` names it",
    ];
    /// XDP live frames.
    Live = "live", "INTERFACE", Interface, [
        "netns" "the network namespace that it is in, as `ip netns` names it",
    ];
    /// Drivers of the system's libdpdk.
    Dpdk = "dpdk", "DEVICE", Other, [
        "eal" "more arguments for DPDK's EAL, separated by spaces: eal=-m 64 --no-huge",
        "pages" "huge or none; by default huge pages if enough are free",
        "library" "the folder with libdpdk, if it is not the system's",
        "mtu" "the MTU to set on the device",
        "promiscuous" "no: receive only frames to the device's own address",
        "netns" "the network namespace of the interface behind a virtual device, as `ip netns` names it",
    ];
    /// Sockets of the host's stack.
    Udp = "udp", "ADDRESS:PORT", Other, [
        "local" "the address to send from; for IPv6 in brackets",
        "port" "the port to send from and receive at",
        "gso" "no: one system call per datagram, not one for many",
        "buffer" "bytes of the socket's buffers",
        "netns" "the network namespace that it is in, as `ip netns` names it",
    ];
    /// A network device of this host whose other end is this program.
    Tap = "tap", "INTERFACE", Interface, [
        "mtu" "the MTU to set on the device",
        "mac" "the device's MAC address",
        "address" "the device's address with its prefix length: 198.18.0.1/24",
    ];
    /// A capture file: replayed, or written.
    Pcap = "pcap", "FILE", Other, [
        "loop" "how many times to replay the file; 0: forever",
        "interface" "in a file with several interfaces: the name or number (from 0) of the one to read",
        "format" "format to write: pcap (nanoseconds), pcap-us or pcapng; by default from the end of the \
                  file's name",
    ];
    /// A pair of rings in this process.
    Mem = "mem", "NAME", Other, [
        "slots" "frames that a direction holds",
        "stamp" "none, batch, frame, or launch (the time that the sender gave)",
    ];
    /// The FPGA module: on a board, or simulated.
    Fpga = "fpga", "INTERFACE or fpga:sim", Other, [
        "wire" "simulation: the interface at the end of its wire, or loop (the default): a cable to itself",
        "tap" "simulation: a new network device of this host at the end of its wire",
        "address" "of that device: its own address and prefix, 198.18.0.1/24",
        "mac" "its MAC address",
        "mtu" "its MTU",
        "traffic" "simulation: a capture file whose frames arrive repeatedly, with the file's gaps",
        "pcap" "simulation: a pcapng file for everything on its wire, in simulated time",
        "program" "simulation: path of the simulator",
        "seed" "simulation: seed of the initial contents of memories",
        "delay" "simulation with sessions (tare http): how long its own responder waits",
        "answer" "the same: bytes of a response, headers and body",
        "redis" "the same: the module itself writes its results to the Redis at this address and prefix, such as \
                 198.18.1.1/24, which a new network device of this host gets",
        "redis_tap" "name of that device (redis0)",
        "redis_port" "port of that Redis (6379)",
        "redis_ip" "address of the module on that device (the one after redis=)",
        "redis_password" "file whose first line is the password for that Redis",
        "redis_user" "user with that password (default: the Redis's default user)",
        "redis_database" "number of the database (0)",
        "carrier" "no: treat the wire as up whatever the module reports, for PHYs that do not report it",
        "netns" "the network namespace that it is in, as `ip netns` names it",
    ];
    /// Loses, doubles, swaps, holds back and damages frames.
    Fault = "fault", "PORT", Wrapper, [
        "drop" "frames to drop: 1%, every=1000 or at=17+18",
        "duplicate" "frames that come twice",
        "reorder" "frames to deliver after later ones",
        "by" "how many frames overtake a reordered one (1)",
        "delay" "frames that are held back",
        "hold" "for how long (1ms)",
        "corrupt" "frames to change one bit of",
        "seed" "the number that decides which",
        "on" "transmit (the default), receive or both",
        "room" "frames that may be held back at once (1024)",
    ];
    /// Writes what passes to a pcapng file.
    Record = "record", "PORT", Wrapper, [
        "file" "where to",
        "snap" "bytes kept of each frame",
    ];
    /// Writes a line for each frame that passes.
    Trace = "trace", "PORT", Wrapper, [
        "file" "file to write to, instead of standard error",
        "most" "lines at most (1000)",
    ];
}

impl PortKind {
    /// Whether another port is behind it.
    pub fn wraps(self) -> bool {
        self.role() == Role::Wrapper
    }

    /// Whether it is a way to use a network interface of this host.
    pub fn has_interface(self) -> bool {
        self.role() == Role::Interface
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// How one is written, for messages and help: `udp:ADDRESS:PORT`.
    pub fn form(self) -> String {
        format!("{}:{}", self.word(), self.place())
    }
}

impl std::fmt::Display for PortKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}
