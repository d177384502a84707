"""Keyword arguments as a plan: the same names as the flags and the keys of a plan file."""

from __future__ import annotations

import datetime
import json
from typing import Any, Mapping

from tare import _tare

# Here a key alone would say too little: the flag is the name.
_BY_FLAG = ("tls.", "resolve.", "request.expect.")


def _name(path: str, flag: str) -> str:
    """What an argument is called: the last part of the key, or its flag."""
    is_plain = flag.startswith("--") and not flag.startswith("--no-") and not set(flag) & {"/", " "}
    if path.startswith(_BY_FLAG) and is_plain:
        return flag.removeprefix("--").replace("-", "_")
    return path.rsplit(".", 1)[-1]


def names(sections: tuple[str, ...]) -> dict[str, str]:
    """Every argument and the path that it sets, of keys in these sections; "" stands for those in none."""
    found: dict[str, str] = {}
    for path, flag in _tare.fields():
        section = path.rpartition(".")[0]
        if section in sections and path not in ("url", "file", "requests"):
            found.setdefault(_name(path, flag), path)
    return found


HTTP = names(("", "load", "stop", "request", "request.expect", "connection", "tls", "resolve", "engine", "limits"))
SEND = names(("send", "limits"))
FRAMES = {name: path for name, path in names(("frames",)).items() if name not in SEND}


def text(known: dict[str, str], what: str, fixed: dict[str, str], fields: Mapping[str, Any]) -> str:
    """A plan of these arguments."""
    lines: dict[str, Any] = dict(fixed)
    for name, value in fields.items():
        if name not in known:
            raise TypeError(f"{what} has no argument {name!r}{_meant(name, known)}")
        if value is not None:
            lines[known[name]] = value
    return "".join(f"{path} = {_toml(value)}\n" for path, value in lines.items())


def _meant(name: str, known: dict[str, str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, datetime.timedelta):
        return _toml(f"{value // datetime.timedelta(microseconds=1)}us")
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        # A string of JSON is one of TOML, but for one character.
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    raise TypeError(f"{value!r} cannot stand in a plan: write a text, a number, a bool, a timedelta, a list or a dict")
