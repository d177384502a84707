//! What is judged of a TCP of our own (`--via`): where it does worse than a kernel's, the latency is not the
//! target's alone.

use super::share;
use crate::criterion::CriterionId;
use crate::totals::RunTotals;
use crate::verdict::Criterion;

/// What to do if no port is free.
pub(super) const NO_PORT: &str = "the ports of the own addresses ran out: name more addresses with ip= of --via \
                                  (each has 64512), or keep connections alive";

/// Frames that had arrived and were lost here.
pub(super) fn dropped(frames: u64) -> String {
    format!(
        "this host dropped {frames} frames that had arrived, and the target had to send them again: give the \
         port more room (slots= of packet: and xdp:), add a CPU, or lower the load on this host"
    )
}

/// Segments that were sent again, for each request. Each of them is 200 ms or more of latency. A kernel's
/// client would lose the segment as well, but often notices sooner (RACK-TLP): p99.9 then depends on whose TCP
/// it is.
pub(super) fn retransmitted(totals: &RunTotals) -> Criterion {
    let (again, requests) = (totals.counters.retransmitted, totals.counters.offered);
    let value = share(again, requests.max(again));
    Criterion::new(CriterionId::TcpRetransmitted, value, 0.001).advise(|| {
        format!(
            "{again} segments to the target were lost or came late and were sent again, 200 ms or more later \
             each, which is part of its latency: find out where frames are lost (port counters in result.json, \
             the target's interface), and compare with a run without --via"
        )
    })
}

/// The share of frames that never left this machine.
pub(super) fn unsent(totals: &RunTotals) -> Criterion {
    let (unsent, all) = (totals.counters.frames_unsent, totals.counters.frames_out);
    Criterion::new(CriterionId::TcpUnsent, share(unsent, all.max(unsent)), 0.0)
        .invalid_beyond(Some(0.01))
        .advise(|| {
            format!(
                "the port did not send {unsent} of {all} frames, so that requests were lost before they left \
                 this machine: give the port more room (slots=), lower --parallel or --rate, or use another \
                 kind of port"
            )
        })
}
