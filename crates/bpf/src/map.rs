//! Maps: tables that programs and processes share.

use crate::error::BpfError;
use crate::shared::Shared;
use crate::sys;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    Hash = 1,
    Array = 2,
    PerCpuHash = 5,
    PerCpuArray = 6,
    LruHash = 9,
    /// Longest prefix match; the key begins with its length in bits (u32).
    LongestPrefix = 11,
    Devices = 14,
    /// AF_XDP sockets by queue.
    Sockets = 17,
    DevicesHash = 25,
}

/// What a map looks like.
#[derive(Clone, Debug)]
pub struct MapSpec<'a> {
    pub kind: MapKind,
    /// Up to 15 letters, digits, `_`, `.`: seen in bpftool.
    pub name: &'a str,
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub entries: u32,
    /// Its values can be mapped into this process (`Array` only).
    pub is_mappable: bool,
    /// Entries are allocated when they are made (hashes and prefixes; prefixes always are).
    pub is_lazy: bool,
}

impl<'a> MapSpec<'a> {
    /// An array of `entries` values, with keys 0, 1, 2…
    pub const fn array(name: &'a str, value_bytes: u32, entries: u32) -> Self {
        Self {
            kind: MapKind::Array,
            name,
            key_bytes: 4,
            value_bytes,
            entries,
            is_mappable: false,
            is_lazy: false,
        }
    }

    /// One value of `bytes` bytes that the process can map ([`Map::share`]) and a program reaches by
    /// `load_map_value`.
    pub const fn memory(name: &'a str, bytes: u32) -> Self {
        Self { is_mappable: true, ..Self::array(name, bytes, 1) }
    }
}

/// A map; closed when dropped, but kept alive by programs that use it.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    kind: MapKind,
    key_bytes: usize,
    /// Bytes of a value as user space sees it: for per-CPU kinds, all CPUs' values one after another.
    value_bytes: usize,
    entries: u32,
}

const NO_PREALLOC: u32 = 1;
const MMAPABLE: u32 = 1 << 10;

impl Map {
    /// # Errors
    /// `Privilege` names CAP_BPF; `System` if the kernel has no memory for it.
    pub fn create(spec: &MapSpec<'_>) -> Result<Self, BpfError> {
        let is_lazy = spec.is_lazy || spec.kind == MapKind::LongestPrefix;
        let mut attribute = sys::CreateMap {
            map_type: spec.kind as u32,
            key_size: spec.key_bytes,
            value_size: spec.value_bytes,
            max_entries: spec.entries,
            map_flags: if is_lazy { NO_PREALLOC } else { 0 } | if spec.is_mappable { MMAPABLE } else { 0 },
            name: sys::name(spec.name),
            ..Default::default()
        };
        let fd = sys::bpf_fd(sys::MAP_CREATE, &mut attribute)
            .map_err(|error| BpfError::of("making a BPF map", capability(spec.kind), error))?;
        Ok(Self {
            fd,
            kind: spec.kind,
            key_bytes: spec.key_bytes as usize,
            value_bytes: user_value_bytes(spec)?,
            entries: spec.entries,
        })
    }

    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Bytes of a value as [`Map::lookup`] fills it: for per-CPU kinds, each possible CPU's value, rounded up
    /// to 8.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Maps the values of a mappable array into this process.
    pub fn share(&self) -> Result<Shared, BpfError> {
        let each = self.value_bytes.next_multiple_of(8);
        Shared::map(self.fd.as_fd(), each * self.entries as usize)
            .map_err(|error| BpfError::System { what: "mapping a BPF map into memory", error })
    }

    /// Sets a value; makes the entry if there is none.
    ///
    /// # Panics
    /// If key or value have another length than the map's.
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), BpfError> {
        self.check(key, Some(value.len()));
        let mut attribute = self.element(sys::address(key), sys::address(value));
        sys::bpf(sys::MAP_UPDATE, &mut attribute)
            .map(drop)
            .map_err(|error| BpfError::of("writing to a BPF map", "cap_bpf", error))
    }

    /// Reads a value into `value`; whether there was one.
    pub fn lookup(&self, key: &[u8], value: &mut [u8]) -> Result<bool, BpfError> {
        self.check(key, Some(value.len()));
        let mut attribute = self.element(sys::address(key), sys::address_mut(value));
        found(sys::bpf(sys::MAP_LOOKUP, &mut attribute))
            .map_err(|error| BpfError::of("reading a BPF map", "cap_bpf", error))
    }

    /// Removes an entry; whether there was one.
    pub fn delete(&self, key: &[u8]) -> Result<bool, BpfError> {
        self.check(key, None);
        let mut attribute = self.element(sys::address(key), 0);
        found(sys::bpf(sys::MAP_DELETE, &mut attribute))
            .map_err(|error| BpfError::of("removing from a BPF map", "cap_bpf", error))
    }

    /// The key after `key` (`None`: the first), in the kernel's order; `None` at the end.
    pub fn next_key(&self, key: Option<&[u8]>) -> Result<Option<Vec<u8>>, BpfError> {
        let mut next = vec![0; self.key_bytes];
        let mut attribute = self.element(key.map_or(0, sys::address), sys::address_mut(next.as_mut_slice()));
        let is_found = found(sys::bpf(sys::MAP_NEXT_KEY, &mut attribute))
            .map_err(|error| BpfError::of("walking a BPF map", "cap_bpf", error))?;
        Ok(is_found.then_some(next))
    }

    /// Sets many values in as few system calls as the kernel allows: `keys` and `values` one after another.
    pub fn update_batch(&self, keys: &[u8], values: &[u8]) -> Result<(), BpfError> {
        let count = self.count(keys, values.len());
        let mut done = 0;
        while done < count {
            let mut attribute = sys::Batch {
                keys: sys::address(&keys[done * self.key_bytes..]),
                values: sys::address(&values[done * self.value_bytes..]),
                count: (count - done) as u32,
                map_fd: self.raw(),
                ..Default::default()
            };
            match sys::bpf(sys::MAP_UPDATE_BATCH, &mut attribute) {
                Ok(_) => return Ok(()),
                Err(error) if is_unknown(&error) => return self.update_each(keys, values, done),
                Err(error) if error.kind() == io::ErrorKind::Interrupted && attribute.count > 0 => {
                    done += attribute.count as usize;
                }
                Err(error) => return Err(BpfError::of("writing to a BPF map", "cap_bpf", error)),
            }
        }
        Ok(())
    }

    /// Removes many entries, which must all be there.
    pub fn delete_batch(&self, keys: &[u8]) -> Result<(), BpfError> {
        let count = self.count(keys, 0);
        let mut attribute = sys::Batch {
            keys: sys::address(keys),
            count: count as u32,
            map_fd: self.raw(),
            ..Default::default()
        };
        match sys::bpf(sys::MAP_DELETE_BATCH, &mut attribute) {
            Ok(_) => Ok(()),
            Err(error) if is_unknown(&error) => {
                keys.chunks_exact(self.key_bytes).try_for_each(|key| self.delete(key).map(drop))
            }
            Err(error) => Err(BpfError::of("removing from a BPF map", "cap_bpf", error)),
        }
    }

    /// Reads all values of an array map in order, one after another.
    pub fn values(&self) -> Result<Vec<u8>, BpfError> {
        let mut keys = vec![0u8; self.key_bytes * self.entries as usize];
        let mut values = vec![0u8; self.value_bytes * self.entries as usize];
        let mut out = [0u8; 64];
        let mut attribute = sys::Batch {
            out_batch: sys::address_mut(out.as_mut_slice()),
            keys: sys::address_mut(keys.as_mut_slice()),
            values: sys::address_mut(values.as_mut_slice()),
            count: self.entries,
            map_fd: self.raw(),
            ..Default::default()
        };
        match sys::bpf(sys::MAP_LOOKUP_BATCH, &mut attribute) {
            Ok(_) => return Ok(values),
            // ENOENT: that was all there is.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(values),
            Err(error) if is_unknown(&error) => {}
            Err(error) => return Err(BpfError::of("reading a BPF map", "cap_bpf", error)),
        }
        for (index, value) in values.chunks_exact_mut(self.value_bytes).enumerate() {
            self.lookup(&(index as u32).to_ne_bytes(), value)?;
        }
        Ok(values)
    }

    fn update_each(&self, keys: &[u8], values: &[u8], from: usize) -> Result<(), BpfError> {
        let pairs = keys.chunks_exact(self.key_bytes).zip(values.chunks_exact(self.value_bytes));
        pairs.skip(from).try_for_each(|(key, value)| self.update(key, value))
    }

    fn count(&self, keys: &[u8], values: usize) -> usize {
        let count = keys.len() / self.key_bytes;
        assert_eq!(count * self.key_bytes, keys.len(), "whole keys");
        assert!(values == 0 || values == count * self.value_bytes, "a value for each key");
        count
    }

    fn check(&self, key: &[u8], value: Option<usize>) {
        assert_eq!(key.len(), self.key_bytes, "a key has the length that the map was made with");
        assert!(value.is_none_or(|bytes| bytes == self.value_bytes), "a value has the map's length");
    }

    fn element(&self, key: u64, value: u64) -> sys::Element {
        sys::Element { map_fd: self.raw(), key, value, ..Default::default() }
    }

    fn raw(&self) -> u32 {
        self.fd.as_raw_fd() as u32
    }

    pub fn kind(&self) -> MapKind {
        self.kind
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn found(result: io::Result<i64>) -> io::Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The kind of map has no batch operations (ENOTSUPP is the kernel's own 524).
fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP | 524))
}

const fn capability(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Sockets | MapKind::Devices | MapKind::DevicesHash => "cap_net_admin",
        _ => "cap_bpf",
    }
}

fn user_value_bytes(spec: &MapSpec<'_>) -> Result<usize, BpfError> {
    let bytes = spec.value_bytes as usize;
    match spec.kind {
        MapKind::PerCpuHash | MapKind::PerCpuArray => Ok(bytes.next_multiple_of(8) * possible_cpus()?),
        _ => Ok(bytes),
    }
}

/// CPUs that may ever be there: what per-CPU values are counted by.
pub fn possible_cpus() -> Result<usize, BpfError> {
    os::cpus::possible().map_err(|error| BpfError::System { what: "reading which CPUs are possible", error })
}
