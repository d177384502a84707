//! `tare pace IN OUT`: what this host's own stack sends into IN leaves OUT at exact times; answers flow back
//! untouched.
//!
//! ```text
//!   iperf3, curl ─► TCP ─► (valve) ─► IN ─ take ─► queue ─ wait for due ─► OUT ─► target
//!                    ▲                 ▲                                     │
//!                    └─────────────────┴──────────── at once ◄───────────────┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | `timetable` | when a frame may leave, pure |
//! | `queue` | frames between both |
//! | `quota`, `valve` | back-pressure to the host, so that nothing is dropped before |
//! | `outward`, `answers` | the two threads |
//! | `spun`, `launched` | who waits for due times: the first of them, or a port that keeps its own time |
//! | `marks` | "all up to here has gone" |
//! | `prepare`, `ends`, `shared` | both ports, each for two threads |

mod answers;
mod ends;
mod job;
mod launched;
mod marks;
mod outward;
mod prepare;
mod queue;
mod quota;
pub(crate) mod shared;
mod spun;
mod timetable;
mod valve;

pub use job::{PaceJob, describe};
pub use marks::{Mark, Marks, State};
pub use timetable::{Pace, Timetable};
