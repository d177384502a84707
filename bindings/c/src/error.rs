//! What can go wrong, and its code.

use crate::codes::*;
use bursts::BurstError;
use port::PortError;
use run::hosted::Wrong;

/// Why a function did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} is NULL or not aligned")]
    Pointer(&'static str),
    #[error("{0} is not UTF-8")]
    Text(&'static str),
    #[error("this {0} is closed, or never was open")]
    Closed(&'static str),
    #[error("this handle is of another kind: a {0} is needed")]
    Kind(&'static str),
    #[error("this {0} is in use by another thread, or by the function that called back")]
    Busy(&'static str),
    #[error("{most} handles of a {kind} are open: close some")]
    Full { kind: &'static str, most: usize },
    #[error("{what} is {value}: it must be {expected}")]
    Value { what: &'static str, value: u64, expected: String },
    #[error("frame {index} has {length} bytes, and its row {stride}")]
    BeyondRow { index: usize, length: u32, stride: u32 },
    #[error("the frame has no room for a signature: it needs 18 bytes of payload behind its headers")]
    NoRoom,
    #[error(transparent)]
    Burst(#[from] BurstError),
    #[error("{0}")]
    Rules(String),
    #[error("{0}")]
    Plan(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Forked(String),
    #[error("a mistake in Tare (a panic); please report it: {0}")]
    Panic(String),
}

impl Error {
    pub fn code(&self) -> i32 {
        match self {
            Self::Pointer(_) => TARE_ERROR_POINTER,
            Self::Text(_) => TARE_ERROR_TEXT,
            Self::Closed(_) => TARE_ERROR_CLOSED,
            Self::Kind(_) => TARE_ERROR_KIND,
            Self::Busy(_) => TARE_ERROR_BUSY,
            Self::Full { .. } => TARE_ERROR_FULL,
            Self::Value { .. } => TARE_ERROR_VALUE,
            Self::BeyondRow { .. } => TARE_ERROR_TOO_LONG,
            Self::NoRoom => TARE_ERROR_NO_ROOM,
            Self::Burst(error) => of_burst(error),
            Self::Rules(_) => TARE_ERROR_RULES,
            Self::Plan(_) => TARE_ERROR_PLAN,
            Self::Unreachable(_) => TARE_ERROR_UNREACHABLE,
            Self::Forked(_) => TARE_ERROR_ORDER,
            Self::Panic(_) => TARE_ERROR_PANIC,
        }
    }
}

fn of_burst(error: &BurstError) -> i32 {
    match error {
        BurstError::Port(PortError::Over { .. }) => TARE_ERROR_OVER,
        BurstError::Port(PortError::TooLong { .. }) | BurstError::TooLong { .. } => TARE_ERROR_TOO_LONG,
        BurstError::Port(error) if error.is_users() => TARE_ERROR_PORT,
        BurstError::Port(_) => TARE_ERROR_SYSTEM,
        BurstError::NotLent | BurstError::StillLent | BurstError::NotHeld | BurstError::StillHeld => {
            TARE_ERROR_ORDER
        }
        BurstError::Beyond { .. } | BurstError::BeyondHeld { .. } | BurstError::Wrong { .. } => {
            TARE_ERROR_VALUE
        }
    }
}

impl From<PortError> for Error {
    fn from(error: PortError) -> Self {
        Self::Burst(error.into())
    }
}

impl From<&Wrong> for Error {
    fn from(wrong: &Wrong) -> Self {
        match wrong {
            Wrong::Plan(said) => Self::Plan(said.clone()),
            Wrong::Unreachable(said) => Self::Unreachable(said.clone()),
            Wrong::Panic => Self::Panic(wrong.to_string()),
            Wrong::Forked => Self::Forked(wrong.to_string()),
        }
    }
}
