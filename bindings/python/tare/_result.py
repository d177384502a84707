"""A result as objects: the keys of result.json, with the same names and units.

What is not described here (and whatever a newer version adds) is an attribute all the same; `raw` has all of it as
plain dicts and lists.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Iterable, Iterator, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Figures:
    """Keys as attributes. A key that is described and absent was not measured: it is None, or empty."""

    raw: dict[str, Any]

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        for name, kind in get_type_hints(type(self)).items():
            if name != "raw":
                setattr(self, name, _as(kind, raw.get(name)))

    def __getattr__(self, name: str) -> Any:
        # Only of what is not described.
        try:
            value = self.__dict__["raw"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}") from None
        return _as(Figures, value) if isinstance(value, dict) else value

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *self.raw})

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.raw.items() if not isinstance(value, (dict, list)))
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Figures) and self.raw == other.raw


def _as(kind: Any, value: Any) -> Any:
    """A value of JSON as what it is described as."""
    if get_origin(kind) is list:
        return [_as(get_args(kind)[0], item) for item in value or []]
    if isinstance(kind, type) and issubclass(kind, Figures):
        return kind(value or {})
    return value


class Distribution(Figures):
    """Figures of one distribution of times. pXX_X is the smallest value that at least XX.X % do not exceed."""

    count: int
    mean: float | None
    """Nanoseconds, as all but `count`."""
    stdev: float | None
    min: int | None
    p50: int | None
    p75: int | None
    p90: int | None
    p95: int | None
    p99: int | None
    p99_9: int | None
    p99_99: int | None
    max: int | None
    bound_from: str | None
    """The first percentile ("p90", or "max") that is a lower bound, as all above it are. None: all are exact."""


class Criterion(Figures):
    """One input of the verdict."""

    name: str
    value: float
    limit: float
    unit: str
    """"ns", "share", "count" or "/s"."""
    holds: bool
    advice: str
    """One sentence: what to do. Empty when it holds."""


class Verdict(Figures):
    """What the generator says of itself."""

    word: str
    """"VALID", "DEGRADED" or "INVALID"."""
    criteria: list[Criterion]


class Totals(Figures):
    """How many departures ended how: offered = done + failed + missed + cut_off."""

    offered: int
    sent: int
    done: int
    failed: int
    missed: int
    cut_off: int
    bytes_out: int
    bytes_in: int


class Rates(Figures):
    offered_per_s: float
    achieved_per_s: float
    duration_s: float
    """Length of the measured part."""


class Threshold(Figures):
    """A condition that makes a run fail."""

    expression: str
    """As written: "latency.p99 > 50ms"."""
    value: float | None
    """The value that decided, in `unit`; None: there was nothing to measure."""
    limit: float
    unit: str
    """"ns", "share", "count", "/s" or "bytes/s"."""
    holds: bool
    """The condition did not come true."""


class Outcome(Figures):
    """How many departures ended in one way."""

    key: str
    """"200", "connect.refused"."""
    count: int


class Interval(Figures):
    """One interval of a run, usually a second."""

    t_s: float
    """Its start, from the start of the run."""
    length_s: float
    offered: int
    sent: int
    done: int
    failed: int
    missed: int
    cut_off: int
    bytes_out: int
    bytes_in: int
    net_p50_ns: int | None
    net_p99_ns: int | None
    latency_p50_ns: int | None
    latency_p99_ns: int | None
    lateness_p99_ns: int | None
    open: int
    """Connections at its end."""
    cpu_share: float
    """Of the busiest thread of the generator."""


class Result(Figures):
    """One run."""

    engine: str
    run: str
    """Its name."""
    plan_hash: str
    target: str
    load: str
    started_at: str
    """RFC 3339, UTC."""
    partial: bool
    """It ended before its stop rule held."""
    labels: list[str]
    """What sets this run apart, in words."""
    verdict: Verdict
    totals: Totals
    rate: Rates
    net_ns: Distribution
    """Gross less tare: what the target and the network took."""
    tare_ns: Distribution
    """What the generator itself took."""
    latency_ns: Distribution
    """Gross: from when a request was due to when it was done."""
    service_ns: Distribution
    """From when it was sent to when it was done."""
    lateness_ns: Distribution
    """From when it was due to when it was sent."""
    connect_ns: Distribution
    tls_ns: Distribution
    first_byte_ns: Distribution
    gap_error_ns: Distribution
    """How far gaps between departures were from those that were asked for."""
    outcomes: list[Outcome]
    thresholds: list[Threshold]
    notes: list[str]
    """Sentences for people."""
    intervals: list[Interval]

    @classmethod
    def of_json(cls, text: str) -> Result:
        """A result.json."""
        return cls(json.loads(text))

    def __repr__(self) -> str:
        return f"<{self.engine} {self.verdict.word}: {self.totals.done} of {self.totals.offered} done>"

    def rows(self) -> Iterator[dict[str, Any]]:
        """A flat dict for each interval: nested keys have dots, and lists are left out."""
        return (dict(_flat("", row.raw)) for row in self.intervals)

    def to_arrow(self) -> pyarrow.Table:
        """The intervals as a table of Arrow: a row each. Needs pyarrow."""
        import pyarrow

        rows, columns = _table(self.rows())
        return pyarrow.table({name: [row.get(name) for row in rows] for name in columns})

    def to_pandas(self) -> pandas.DataFrame:
        """The intervals as a data frame: a row each. Needs pandas."""
        import pandas

        rows, columns = _table(self.rows())
        return pandas.DataFrame(rows, columns=columns)


def _flat(prefix: str, raw: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in raw.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        elif not isinstance(value, list):
            yield prefix + key, value


def _table(rows: Iterator[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows, and every column that one of them has."""
    kept = list(rows)
    return kept, list(dict.fromkeys(name for row in kept for name in row))
