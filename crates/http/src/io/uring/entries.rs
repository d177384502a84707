//! What goes into the ring and what comes out of it, apart from the sockets that it belongs to.

use std::num::NonZeroU64;
use units::Instant;

use crate::io::{InSocket, Ready};

/// What a completion belongs to: the top byte of its user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompletionKind {
    Receive,
    Writable,
    Waker,
    Cancel,
}

/// What shall be submitted with the next wait.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wish {
    /// Something for the socket that is in this slot, if it still is of this generation.
    For(CompletionKind, u32, u32),
    /// Ends what was submitted with this user data.
    Cancel(u64),
    WatchWaker,
}

/// Something that came out of the ring and was not handed out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub(super) slot: u32,
    pub(super) generation: u32,
    pub(super) what: What,
    /// It had not come out of the ring then.
    pub(super) not_before: Instant,
    /// When the wait ended that brought it, if there has been another since.
    pub(super) taken: Option<Instant>,
}

impl Came {
    pub(super) fn in_socket(&self) -> InSocket {
        self.taken.map_or(InSocket::UntilWoken, InSocket::Until)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Bytes(Bytes),
    Other(Ready),
}

/// What one receive brought, in the buffer that the kernel chose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) id: u16,
    /// Where in the buffer the bytes that were not handed out begin and end.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) stamp_ns: Option<NonZeroU64>,
}

/// Bits of a generation that fit beside kind and slot.
pub(super) const GENERATION: u32 = 0x00ff_ffff;

pub(super) const fn user_data(kind: CompletionKind, slot: u32, generation: u32) -> u64 {
    (kind as u64) << 56 | ((generation & GENERATION) as u64) << 32 | slot as u64
}

pub(super) const fn parts(data: u64) -> (CompletionKind, u32, u32) {
    let kind = match data >> 56 {
        0 => CompletionKind::Receive,
        1 => CompletionKind::Writable,
        2 => CompletionKind::Waker,
        _ => CompletionKind::Cancel,
    };
    (kind, data as u32, (data >> 32) as u32 & GENERATION)
}
