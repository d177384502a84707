#!/usr/bin/env python3
"""Runs a check, unless it has passed before with the same sources and tools.

    stamped.py STAMP TOOLS SOURCE... -- COMMAND...

STAMP    a file that this writes after the check has passed: a hash of all below, and what the check said last
TOOLS    a text that names the versions of the tools
SOURCE   a file, or a folder with all that is in it; links are followed

The hash is that of TOOLS, COMMAND, this script, and names, permissions to execute and contents of the sources.
With another hash, or a stamp that cannot be read, the check runs, and a check that does not pass leaves a stamp
that no sources have. Where there is no STAMP, as in a fresh clone, one of the same name in hdl/stamps (kept in the
repository, written by `make stamps`) is as good: its hash is compared in the same way. If the check does not run,
what it said last (its totals) is printed again, and the status is 0. With STAMPS=no in the environment it runs.
"""

import hashlib
import os
import pathlib
import signal
import subprocess
import sys

from beside import ends_with_parent

# What checks write beside their sources.
MADE = {"__pycache__", ".venv"}
BUILD = pathlib.Path("hdl/build")
NOT_PASSED = "not passed"


def fail(why):
    print(f"stamped.py: {why}", file=sys.stderr)
    sys.exit(2)


def files(source):
    """All files of a source, in an order of their own. A loop of links, or a link to nothing, is an error."""
    if not source.is_dir():
        yield source
        return
    if source.name in MADE or source == BUILD:
        return
    if source.resolve() in [parent.resolve() for parent in source.parents]:
        fail(f"{source} is a link to a folder around it")
    for entry in sorted(source.iterdir()):
        yield from files(entry)


def look(tools, command, sources):
    """(the hash, when each file was changed last)"""
    whole, changed = hashlib.sha256(), []

    def add(part):
        # With its length, so that no two lists of parts are the same bytes.
        whole.update(f"{len(part)} ".encode() + part)

    for text in [tools, *command]:
        add(os.fsencode(text))
    add(pathlib.Path(__file__).read_bytes())
    for source in sources:
        for file in files(pathlib.Path(source)):
            status = file.stat()
            add(os.fsencode(file))
            add(b"x" if status.st_mode & 0o111 else b"-")
            add(file.read_bytes())
            changed.append((file, status.st_ctime_ns))
    return whole.hexdigest(), changed


def read(stamp):
    """(its hash, what the check said last); a hash of nothing if it cannot be read."""
    try:
        found, _, said = stamp.read_text().partition("\n")
    except (OSError, UnicodeDecodeError):
        return "", ""
    return found, said


def write(stamp, text):
    stamp.parent.mkdir(parents=True, exist_ok=True)
    new = stamp.with_name(stamp.name + ".new")
    new.write_text(text)
    new.replace(stamp)


def main():
    words = sys.argv[1:]
    if "--" not in words[3:]:
        fail("STAMP TOOLS SOURCE... -- COMMAND...")
    cut = words.index("--", 3)
    stamp, tools, sources, command = pathlib.Path(words[0]), words[1], words[2:cut], words[cut + 1 :]
    try:
        before = look(tools, command, sources)
    except OSError as error:
        fail(error)

    found, said = read(stamp if stamp.exists() else pathlib.Path("hdl/stamps", stamp.name))
    if found == before[0] and os.environ.get("STAMPS") != "no":
        print("unchanged since it passed; with STAMPS=no in the environment it runs again")
        print(said, end="")
        return 0

    write(stamp, f"{NOT_PASSED}\n")
    check = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=lambda: ends_with_parent(signal.SIGTERM)
    )
    last = b""
    for line in check.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        last = line
    status = check.wait()
    # Sources that were changed meanwhile have not passed, even if they are again what they were.
    try:
        same = look(tools, command, sources) == before
    except OSError:
        same = False
    if status == 0 and same:
        write(stamp, f"{before[0]}\n{last.decode(errors='replace').rstrip()}\n")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
