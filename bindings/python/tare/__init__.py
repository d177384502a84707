"""Tare, a load generator that measures itself.

    result = tare.http("http://127.0.0.1:8080/", rate="2k", duration="10s")
    result.verdict.word, result.net_ns.p99

Times are nanoseconds and end in `_ns`, lengths of a run are seconds and end in `_s`, shares are 0 to 1 and end in
`_share`, rates end in `_per_s`.
"""

from tare._errors import Interrupted, Invalid, RunError, ThresholdFailed, Unreachable
from tare._fields import HttpFields, SendFields
from tare._ports import Burst, Decision, Port, Rules, Signature, sign, signature
from tare._result import Criterion, Distribution, Interval, Outcome, Rates, Result, Threshold, Totals, Verdict
from tare._run import Run, http, http_plan, run, send, send_plan, start
from tare._tare import (
    VERSION as __version__,
    NoMoreFrames,
    PlanError,
    PortError,
    RulesError,
    TareError,
    UsageError,
)

__all__ = [
    "Burst",
    "Criterion",
    "Decision",
    "Distribution",
    "HttpFields",
    "Interrupted",
    "Interval",
    "Invalid",
    "NoMoreFrames",
    "Outcome",
    "PlanError",
    "Port",
    "PortError",
    "Rates",
    "Result",
    "Rules",
    "RulesError",
    "Run",
    "RunError",
    "SendFields",
    "Signature",
    "TareError",
    "Threshold",
    "ThresholdFailed",
    "Totals",
    "Unreachable",
    "UsageError",
    "Verdict",
    "__version__",
    "http",
    "http_plan",
    "run",
    "send",
    "send_plan",
    "sign",
    "signature",
    "start",
]
