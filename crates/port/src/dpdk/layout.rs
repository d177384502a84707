//! How the structures of DPDK 22.11 (ABI 23) lie in memory on 64-bit machines, as far as this port touches
//! them. Its fast functions are inline in C headers, and reach through these structures.
//!
//! Offsets are those that a C compiler gives for Debian's headers (`offsetof`). A library that was built with
//! other settings is told by [`super::pool::Pool`], which compares what a pool of it says of itself.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;

/// What a version's libraries are called: `librte_eal.so.23`.
pub const ABI: u32 = 23;
/// How `rte_version` begins.
pub const RELEASE: &str = "DPDK 22.11";

/// Bytes of a buffer before a frame (`RTE_PKTMBUF_HEADROOM`).
pub const HEADROOM: usize = 128;
/// Threads that have a cache in each pool (`RTE_MAX_LCORE`).
pub const THREADS: u32 = 128;
/// Ports of one process (`RTE_MAX_ETHPORTS`).
pub const PORTS: u16 = 32;

/// Bit of `ol_flags` of a received frame: both of the pair are set where a transport checksum was left to
/// the card and has not been made (`RTE_MBUF_F_RX_L4_CKSUM_NONE`).
pub const CHECKSUM_NONE: u64 = 1 << 3 | 1 << 8;

/// Offloads of queues.
pub mod offload {
    /// `RTE_ETH_RX_OFFLOAD_TIMESTAMP`.
    pub const RECEIVE_STAMP: u64 = 1 << 14;
    /// `RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE`.
    pub const FAST_FREE: u64 = 1 << 16;
    /// `RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP`.
    pub const LAUNCH_TIME: u64 = 1 << 21;
}

/// `RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP`: what flows are told apart by.
pub const RSS_FLOWS: u64 = 0xa38c | 0x1_0410 | 0x2_0820;
/// `RTE_ETH_MQ_RX_RSS`.
pub const SPREAD_BY_HASH: u32 = 1;

/// `struct rte_mbuf`: the head of a buffer with a frame.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Mbuf {
    pub buffer: *mut u8,
    iova: u64,
    pub data_offset: u16,
    references: u16,
    pub segments: u16,
    port: u16,
    pub flags: u64,
    packet_type: u32,
    pub packet_bytes: u32,
    pub data_bytes: u16,
    vlan: u16,
    hash: [u32; 2],
    outer_vlan: u16,
    pub buffer_bytes: u16,
    pub pool: *mut Mempool,
    pub next: *mut Mbuf,
    pub transmit_offload: u64,
    shared: *mut c_void,
    private_bytes: u16,
    timesync: u16,
    /// Fields that programs and drivers register by name.
    dynamic: [u32; 9],
}

impl Mbuf {
    /// Bits of `flags` of a buffer whose bytes belong to another (`RTE_MBUF_F_INDIRECT` and
    /// `RTE_MBUF_F_EXTERNAL`).
    pub const BORROWED: u64 = 1 << 62 | 1 << 61;

    /// Whether it can go back to its pool as it is: in one piece, its own bytes, and nobody else has it.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.references == 1 && self.segments == 1 && self.flags & Self::BORROWED == 0 && self.next.is_null()
    }

    /// Makes a buffer ready that holds a frame of `length` bytes.
    #[inline]
    pub fn ready(&mut self, length: usize) {
        self.data_offset = HEADROOM as u16;
        self.references = 1;
        self.segments = 1;
        self.port = u16::MAX;
        self.flags = 0;
        self.packet_type = 0;
        self.packet_bytes = length as u32;
        self.data_bytes = length as u16;
        self.vlan = 0;
        self.transmit_offload = 0;
        self.next = std::ptr::null_mut();
    }
}

/// `struct rte_mempool`, as far as it is touched.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Mempool {
    head: [u8; 64],
    pub size: u32,
    pub cache_size: u32,
    pub element_bytes: u32,
    rest: [u32; 3],
    pub ops_index: i32,
    pub caches: *mut Cache,
    tail: [u64; 11],
}

/// `struct rte_mempool_cache`: buffers that one thread has at hand.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Cache {
    pub size: u32,
    pub threshold: u32,
    pub length: u32,
    fill: [u32; 13],
    pub objects: [*mut Mbuf; 1024],
}

type Enqueue = unsafe extern "C" fn(*mut Mempool, *const *mut Mbuf, c_uint) -> c_int;
type Dequeue = unsafe extern "C" fn(*mut Mempool, *mut *mut Mbuf, c_uint) -> c_int;

/// `struct rte_mempool_ops`: how a pool keeps its buffers.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct PoolOps {
    pub name: [u8; 32],
    before: [usize; 2],
    pub enqueue: Option<Enqueue>,
    pub dequeue: Option<Dequeue>,
    after: [usize; 8],
}

/// `struct rte_mempool_ops_table`.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct PoolOpsTable {
    pub lock: u32,
    pub count: u32,
    pub ops: [PoolOps; 16],
}

pub type Burst = unsafe extern "C" fn(*mut c_void, *mut *mut Mbuf, u16) -> u16;

/// `struct rte_eth_fp_ops`: a port's fast functions and its queues.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct FastOps {
    pub receive: Option<Burst>,
    receive_more: [usize; 2],
    pub receive_queues: *const *mut c_void,
    receive_rest: [usize; 4],
    pub transmit: Option<Burst>,
    transmit_more: [usize; 2],
    pub transmit_queues: *const *mut c_void,
    transmit_rest: [usize; 4],
}

/// `struct rte_eth_link`.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkWords {
    pub speed_mbps: u32,
    pub bits: u32,
}

impl LinkWords {
    /// The bits are duplex, autonegotiation, and this.
    pub const fn is_up(self) -> bool {
        self.bits & 4 != 0
    }
}

/// `struct rte_eth_stats`: the totals, before those of queues.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    pub received: u64,
    pub sent: u64,
    bytes: [u64; 2],
    /// No room in the receive ring.
    pub missed: u64,
    pub receive_errors: u64,
    pub transmit_errors: u64,
    /// No buffer for a frame.
    pub no_buffer: u64,
    queues: [u64; 80],
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            received: 0,
            sent: 0,
            bytes: [0; 2],
            missed: 0,
            receive_errors: 0,
            transmit_errors: 0,
            no_buffer: 0,
            queues: [0; 80],
        }
    }
}

/// `struct rte_mbuf_dynfield` or `struct rte_mbuf_dynflag`: a name, and for a field its size and alignment.
#[repr(C)]
#[derive(Debug)]
pub struct DynamicField {
    pub name: [u8; 64],
    pub bytes: usize,
    pub align: usize,
    pub flags: c_uint,
}

/// A structure that is read and written by offsets, because little of it is of interest here. There is room
/// for more than this version's.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Record(pub [u8; 4096]);

impl Record {
    pub const fn new() -> Self {
        Self([0; 4096])
    }

    pub fn half(&self, at: usize) -> u16 {
        u16::from_ne_bytes([self.0[at], self.0[at + 1]])
    }

    pub fn word(&self, at: usize) -> u32 {
        u32::from(self.half(at)) | u32::from(self.half(at + 2)) << 16
    }

    pub fn long(&self, at: usize) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at + 4)) << 32
    }

    pub fn set(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Offsets in `struct rte_eth_dev_info` (376 bytes).
pub mod info {
    pub const DEVICE: usize = 0;
    pub const DRIVER_NAME: usize = 8;
    pub const INTERFACE_INDEX: usize = 16;
    pub const RECEIVE_QUEUES: usize = 44;
    pub const TRANSMIT_QUEUES: usize = 46;
    pub const RECEIVE_OFFLOADS: usize = 72;
    pub const TRANSMIT_OFFLOADS: usize = 80;
    pub const FLOWS: usize = 112;
    /// `struct rte_eth_rxconf` (80 bytes) and `struct rte_eth_txconf` (56): what the driver likes best.
    pub const RECEIVE_SETTING: usize = 120;
    pub const TRANSMIT_SETTING: usize = 200;
    /// The offloads within both.
    pub const SETTING_OFFLOADS: usize = 16;
}

/// Offsets in `struct rte_eth_conf` (2272 bytes).
pub mod setting {
    pub const RECEIVE_MODE: usize = 8;
    pub const MTU: usize = 12;
    pub const RECEIVE_OFFLOADS: usize = 24;
    pub const TRANSMIT_OFFLOADS: usize = 72;
    pub const HASH_FLOWS: usize = 144;
}

const _: () = {
    assert!(size_of::<Mbuf>() == 128 && offset_of!(Mbuf, data_offset) == 16 && offset_of!(Mbuf, flags) == 24);
    assert!(offset_of!(Mbuf, packet_bytes) == 36 && offset_of!(Mbuf, data_bytes) == 40);
    assert!(
        offset_of!(Mbuf, buffer_bytes) == 54 && offset_of!(Mbuf, pool) == 56 && offset_of!(Mbuf, next) == 64
    );
    assert!(offset_of!(Mbuf, transmit_offload) == 72 && offset_of!(Mbuf, dynamic) == 92);
    assert!(size_of::<Mempool>() == 192 && offset_of!(Mempool, ops_index) == 88);
    assert!(offset_of!(Mempool, caches) == 96 && offset_of!(Mempool, size) == 64);
    assert!(size_of::<Cache>() == 8256 && offset_of!(Cache, length) == 8 && offset_of!(Cache, objects) == 64);
    assert!(size_of::<PoolOps>() == 128 && offset_of!(PoolOps, dequeue) == 56);
    assert!(size_of::<PoolOpsTable>() == 2112 && offset_of!(PoolOpsTable, ops) == 64);
    assert!(size_of::<FastOps>() == 128 && offset_of!(FastOps, receive_queues) == 24);
    assert!(offset_of!(FastOps, transmit) == 64 && offset_of!(FastOps, transmit_queues) == 88);
    assert!(size_of::<Statistics>() == 704 && offset_of!(Statistics, no_buffer) == 56);
};
