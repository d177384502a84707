"""Exceptions of runs; those of plans, ports and rules are in `_tare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare._tare import TareError

if TYPE_CHECKING:
    from tare._result import Result


class RunError(TareError):
    """A run that was not what it should be. `result` is its result, which is complete."""

    def __init__(self, said: str, result: Result | None) -> None:
        super().__init__(said)
        self.result = result


class ThresholdFailed(RunError):
    """A condition of `fail_if` or `abort_if` came true."""


class Invalid(RunError):
    """The generator, not the target, limited the run. With `accept_invalid` it is no exception."""


class Unreachable(RunError):
    """The target could not be reached at all. `result` is None if nothing was sent."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the run early. `result` is what it came to until then, and is marked as partial."""

    def __init__(self, result: Result | None) -> None:
        super().__init__("the run was interrupted")
        self.result = result
