"""Ports, rules and signatures."""

from __future__ import annotations

import dataclasses
import types
import time
from typing import TYPE_CHECKING, Any, Callable

from tare import _tare

if TYPE_CHECKING:
    import numpy
    from collections.abc import Buffer  # type: ignore[attr-defined]


# How often a wait looks whether Ctrl-C was pressed.
_LOOK_NS = 50_000_000


def _in_slices(seconds: float, wait: Callable[[int], bool]) -> bool:
    """Waits for at most `seconds` until `wait`, which is given nanoseconds, says yes."""
    until = time.monotonic_ns() + round(seconds * 1e9)
    while True:
        left = until - time.monotonic_ns()
        if wait(max(0, min(left, _LOOK_NS))):
            return True
        if left <= _LOOK_NS:
            return False


class _Way:
    """All rows of one way, as arrays over the port's own memory."""

    def __init__(self, memory: tuple[Any, ...]) -> None:
        import numpy

        data, lengths, wire_lengths, times, count, stride = memory
        self.frames = numpy.frombuffer(data, numpy.uint8).reshape(count, stride)
        self.lengths = numpy.frombuffer(lengths, numpy.uint32)
        self.wire_lengths = numpy.frombuffer(wire_lengths, numpy.uint32)
        self.times_unix_ns = numpy.frombuffer(times, numpy.uint64)


class Burst:
    """Frames in rows of the port's own memory: nothing is copied when Python reads or writes them.

    Valid until it is given back or released: after that the rows have other frames.
    """

    frames: numpy.ndarray[Any, Any]
    """uint8, a row for each frame; as wide as the longest frame, so look at `lengths`."""
    lengths: numpy.ndarray[Any, Any]
    """uint32: bytes of each frame, without FCS."""
    wire_lengths: numpy.ndarray[Any, Any]
    """uint32: how long received frames were on the wire; more than `lengths` where they were cut off."""
    times_unix_ns: numpy.ndarray[Any, Any]
    """uint64: when received frames came (0: nobody stamped them), or when frames shall leave (0: at once)."""

    def __init__(self, way: _Way, count: int) -> None:
        self.frames = way.frames[:count]
        self.lengths = way.lengths[:count]
        self.wire_lengths = way.wire_lengths[:count]
        self.times_unix_ns = way.times_unix_ns[:count]

    def __len__(self) -> int:
        return len(self.lengths)

    def frame(self, index: int) -> numpy.ndarray[Any, Any]:
        """One frame, as long as it is."""
        return self.frames[index, : self.lengths[index]]


class Port:
    """Frames out and in, at an address such as "mem:NAME", "packet:veth0" or "pcap:in.pcapng". Needs numpy.

    direction: "both", "transmit" or "receive"; longest: bytes of the longest frame, without FCS; burst: most
    frames of one burst; queue and queues: which of how many; stamps: received frames have stamps; busy: poll the
    device. One thread may use it at a time. Close it, or use it in `with`.
    """

    def __init__(
        self,
        address: str,
        *,
        direction: str = "both",
        longest: int = 1514,
        burst: int = 256,
        queue: int = 0,
        queues: int = 1,
        stamps: bool = True,
        busy: bool = False,
    ) -> None:
        self._port = _tare.Port(
            address,
            direction=direction,
            longest=longest,
            burst=burst,
            queue=queue,
            queues=queues,
            stamps=stamps,
            busy=busy,
        )
        self._out, self._came = map(_Way, self._port.memory())
        self.burst = burst

    def lend(self, most: int | None = None) -> Burst:
        """Rows for up to `most` frames. They hold what they held before; their lengths are 0."""
        return Burst(self._out, self._port.lend(self.burst if most is None else most))

    def send(self, burst: Burst, first: int = 0, count: int | None = None) -> int:
        """Hands frames of the lent burst over, from `first` on. Returns how many were taken: fewer if there is no
        room for more now. All rows stay lent: send the rest later, or all of them again."""
        return self._port.send(first, len(burst) - first if count is None else count)

    def give_back(self) -> None:
        """Ends the lending."""
        self._port.give_back()

    def receive(self, most: int | None = None) -> Burst:
        """Up to `most` frames that have arrived; never waits. Of no frames there is nothing to release. Raises
        NoMoreFrames at the end of a file."""
        return Burst(self._came, self._port.receive(self.burst if most is None else most))

    def release(self) -> None:
        """Gives the received frames up."""
        self._port.release()

    def wait(self, seconds: float, *, to_send: bool = False) -> bool:
        """Waits until there is something to receive, or room to send; whether there is. Ctrl-C ends it."""
        return _in_slices(seconds, lambda patience_ns: self._port.wait(not to_send, patience_ns))

    def flush(self, seconds: float) -> bool:
        """Sees to it that all that was taken has left, for at most so long; whether it has."""
        return _in_slices(seconds, self._port.flush)

    def counters(self) -> dict[str, int]:
        """Frames and bytes sent and received, and frames lost, since the port was opened."""
        return self._port.counters()

    def about(self) -> dict[str, Any]:
        """What the port is and can do."""
        return self._port.about()

    def close(self) -> None:
        """Closes the port. Arrays that are left are memory without a port."""
        self._port.close()

    def __enter__(self) -> Port:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.close()


@dataclasses.dataclass(frozen=True)
class Decision:
    """What becomes of a frame."""

    passes: bool
    by: str
    """"rule", "default", "other" (neither IPv4 nor IPv6) or "malformed"."""
    line: int | None
    """Of the rule that decided, from 1."""


class Rules:
    """Firewall rules, one a line: "drop from 198.18.0.0/24 proto udp dport 53", "default pass"."""

    def __init__(self, text: str) -> None:
        self._rules = _tare.Rules(text)

    def __len__(self) -> int:
        return len(self._rules)

    def judge(self, frame: Buffer) -> Decision:
        """Decides for one frame, from its Ethernet header on."""
        return Decision(*self._rules.judge(frame))

    def passes(self, port: Port) -> numpy.ndarray[Any, Any]:
        """Decides for all frames that the port holds, in one call: an array of bool, true for those that pass."""
        import numpy

        return numpy.frombuffer(self._rules.passes(port._port), numpy.bool_)


@dataclasses.dataclass(frozen=True)
class Signature:
    """What a frame of `tare send --sign` carries at the start of its payload."""

    seq: int
    """Position in the whole schedule, modulo 2**40."""
    stream: int
    """0 to 255."""
    due_unix_ns: int
    sent_unix_ns: int


def sign(frame: Buffer, signature: Signature) -> None:
    """Writes a signature over the first 18 bytes of the payload, and keeps the checksum right."""
    _tare.sign(frame, signature.seq, signature.stream, signature.due_unix_ns, signature.sent_unix_ns)


def signature(frame: Buffer) -> Signature | None:
    """The signature of a frame, if it has one."""
    found = _tare.signature(frame)
    return None if found is None else Signature(*found)
