"""Runs: a plan in, a result out."""

from __future__ import annotations

import json
import os
from typing import Iterator, NoReturn, Unpack

from tare import _plan, _tare
from tare._errors import Interrupted, Invalid, ThresholdFailed, Unreachable
from tare._fields import HttpFields, SendFields
from tare._result import Interval, Result

# How often a wait looks whether Ctrl-C was pressed.
_LOOK_NS = 50_000_000


class Run:
    """A run in a thread of its own, which leaves the interpreter's lock alone.

    Iterate over it for its intervals as they end. Any thread may call any of its methods.
    """

    def __init__(
        self,
        plan: str,
        *,
        save: bool = False,
        out: str | os.PathLike[str] | None = None,
        accept_invalid: bool = False,
    ) -> None:
        self._run = _tare.Run(plan, save, None if out is None else os.fspath(out), accept_invalid)

    def stop(self) -> None:
        """Ends the run early. Returns at once; the result is complete, and marked as partial."""
        self._run.stop()

    def __iter__(self) -> Iterator[Interval]:
        while True:
            try:
                is_over, row = self._run.row(_LOOK_NS)
            except KeyboardInterrupt:
                self._interrupt()
            if row is not None:
                yield Interval(json.loads(row))
            elif is_over:
                return

    def result(self) -> Result:
        """Waits until the run is over, and returns its result.

        Ctrl-C ends the run early, and raises Interrupted with the result; a second one does not wait for it.
        Raises ThresholdFailed, Invalid, Unreachable with the result, and PlanError if nothing could be sent. A run
        that was stopped by `stop` is no exception.
        """
        try:
            result, said, status = self._wait()
        except KeyboardInterrupt:
            self._interrupt()
        if status == 5:
            raise Unreachable(said or "the target could not be reached", result)
        assert result is not None
        if status == 4:
            broken = next((c for c in result.verdict.criteria if c.raw.get("severity") == "INVALID"), None)
            why = f"{broken.name} is {broken.value:g} {broken.unit}; {broken.advice}" if broken else "see the verdict"
            raise Invalid(f"INVALID: the generator limited the run: {why}", result)
        if status == 3:
            failed = ", ".join(t.expression for t in result.thresholds if not t.holds)
            raise ThresholdFailed(f"came true: {failed}", result)
        return result

    def _wait(self) -> tuple[Result | None, str, int]:
        while (outcome := self._run.outcome(_LOOK_NS)) is None:
            pass
        text, said, status = outcome
        return (None if text is None else Result.of_json(text)), said, status

    def _interrupt(self) -> NoReturn:
        self._run.stop()
        raise Interrupted(self._wait()[0]) from None


def start(
    plan: str,
    *,
    save: bool = False,
    out: str | os.PathLike[str] | None = None,
    accept_invalid: bool = False,
) -> Run:
    """Starts what a plan says, a TOML text as `tare run` takes it, and returns at once.

    save: keep the run among those that `tare runs` lists; out: keep it in this folder; accept_invalid: a run that
    is INVALID is no exception.
    """
    return Run(plan, save=save, out=out, accept_invalid=accept_invalid)


def run(
    plan: str,
    *,
    save: bool = False,
    out: str | os.PathLike[str] | None = None,
    accept_invalid: bool = False,
) -> Result:
    """Runs what a plan says, and returns its result: see `start` and `Run.result`."""
    return start(plan, save=save, out=out, accept_invalid=accept_invalid).result()


def http_plan(url: str, **fields: Unpack[HttpFields]) -> str:
    """The plan of a load of HTTP requests, to a URL or to those of a file: HttpFields has its arguments."""
    return _plan.text(_plan.HTTP, "http", {"url" if "://" in url else "file": url}, fields)


def send_plan(port: str, **fields: Unpack[SendFields]) -> str:
    """The plan of a load of frames from a port: SendFields has its arguments."""
    return _plan.text({**_plan.FRAMES, **_plan.SEND}, "send", {"send.port": port}, fields)


def http(
    url: str,
    *,
    save: bool = False,
    out: str | os.PathLike[str] | None = None,
    accept_invalid: bool = False,
    **fields: Unpack[HttpFields],
) -> Result:
    """Sends HTTP requests: `tare.http("http://127.0.0.1:8080/", rate="2k", duration="10s")`.

    The other arguments are those of `http_plan`, and of `start`.
    """
    return run(http_plan(url, **fields), save=save, out=out, accept_invalid=accept_invalid)


def send(
    port: str,
    *,
    save: bool = False,
    out: str | os.PathLike[str] | None = None,
    accept_invalid: bool = False,
    **fields: Unpack[SendFields],
) -> Result:
    """Sends Ethernet frames: `tare.send("packet:veth0", rate="1M", size=64, duration="10s")`.

    The other arguments are those of `send_plan`, and of `start`.
    """
    return run(send_plan(port, **fields), save=save, out=out, accept_invalid=accept_invalid)
