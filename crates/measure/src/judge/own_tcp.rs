//! What is judged of a TCP of our own (`--via`): where it does worse than a kernel's, the latency is not the
//! target's alone.

use super::{Conditions, Loop, share};
use crate::criterion::CriterionId;
use crate::totals::RunTotals;
use crate::verdict::Criterion;

/// What to do if no port is free.
pub(super) const NO_PORT: &str = "the ports of the own addresses ran out: give more addresses with ip= of \
                                  --via (each has 64512, or 4096 with --share-address), or keep connections \
                                  alive";

/// Frames that had arrived and were lost here.
pub(super) fn dropped(frames: u64) -> String {
    format!(
        "this host dropped {frames} frames that had arrived, and the target had to send them again: give the \
         port more room (slots= of packet: and xdp:), add a CPU, or lower the load on this host; if \
         tcp.bad_frames counts truncated frames, run 'ethtool -K INTERFACE gro off gso off tso off' at both ends"
    )
}

/// How long a segment that is sent again keeps its connection, at least.
const STALL_S: f64 = 0.2;

/// Requests that a segment which was sent again touched, as a share of all. Each of them is 200 ms or more of
/// latency. A kernel's client would lose the segment as well, but often notices sooner (RACK-TLP): p99.9 then
/// depends on whose TCP it is.
pub(super) fn retransmitted(totals: &RunTotals, conditions: &Conditions) -> Criterion {
    let (again, requests) = (totals.counters.retransmitted, totals.counters.offered);
    let value = (share(again, requests.max(again)) * waiting(totals, conditions)).min(1.0);
    Criterion::new(CriterionId::TcpRetransmitted, value, 0.001).advise(|| {
        format!(
            "{again} segments to the target were lost or late, and were sent again 200 ms or more later, which \
             adds to the latency of their requests and of those behind them: find out where frames are lost \
             (port counters in result.json, the target's interface), and compare with a run without --via"
        )
    })
}

/// Requests that a connection which stands still delays: its own, and in an open loop those that fall due for
/// it meanwhile.
fn waiting(totals: &RunTotals, conditions: &Conditions) -> f64 {
    let seconds = totals.measured.as_secs_f64();
    if !matches!(conditions.load, Loop::Open { .. }) || seconds <= 0.0 {
        return 1.0;
    }
    let parallel = f64::from(conditions.parallel.unwrap_or(1).max(1));
    (totals.counters.offered as f64 / seconds / parallel * STALL_S).max(1.0)
}

/// The share of frames that never left this machine.
pub(super) fn unsent(totals: &RunTotals) -> Criterion {
    let (unsent, all) = (totals.counters.frames_unsent, totals.counters.frames_out);
    Criterion::new(CriterionId::TcpUnsent, share(unsent, all.max(unsent)), 0.0)
        .invalid_beyond(Some(0.01))
        .advise(|| {
            format!(
                "the port did not send {unsent} of {all} frames, so requests were lost before they left this \
                 machine: give the port more room (slots=), lower --parallel or --rate, or use another kind of \
                 port"
            )
        })
}
