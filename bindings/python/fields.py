#!/usr/bin/env python3
"""Makes tare/_fields.py, the arguments of tare.http and tare.send, from the fields of plans in Rust.

    PYTHONPATH=FOLDER_WITH_THE_PACKAGE python3 -P fields.py
"""

import pathlib

from tare import _plan, _tare

FLAGS = dict(_tare.fields())
HEAD = '''"""The arguments of tare.http and tare.send. Made by fields.py from the fields of plans; do not edit."""

from __future__ import annotations

import datetime
import os
from typing import Any, TypedDict, Union

Value = Union[str, int, float, bool, datetime.timedelta, os.PathLike[str], list[Any], dict[str, Any]]
"""As in a plan: "20k", 400, "250ms", a timedelta; a list where several may stand."""
'''


def described(name, what, fields):
    rows = "".join(f'    {key}: Value\n    """`{path}` of a plan; {FLAGS[path]} of {what}."""\n' for key, path in fields.items())
    return f"\n\nclass {name}(TypedDict, total=False):\n{rows}"


send = {name: path for name, path in {**_plan.FRAMES, **_plan.SEND}.items() if name != "port"}
place = pathlib.Path(__file__).parent / "tare" / "_fields.py"
place.write_text(HEAD + described("HttpFields", "tare http", _plan.HTTP) + described("SendFields", "tare send", send))
