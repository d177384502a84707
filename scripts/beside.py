#!/usr/bin/env python3
"""Runs a command beside the system tests. While one of them measures time, and so runs alone, the command stands still.

    beside.py FOLDER COMMAND...      FOLDER: where the tests keep their locks (tests/src/lock.rs), target/release

The command, and all that it starts, gets only the CPU time that nothing else wants. It must not depend on the time of day.
"""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import signal
import subprocess
import sys

# How long a test that wants to be alone may wait for this.
LOOK_S = 0.05


def shared(folder):
    """The lock, held beside others. Everyone enters by the gate, which who waits for the lock keeps closed."""
    with open(folder / "system-tests.gate", "a") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        lock = open(folder / "system-tests.lock", "a")
        fcntl.flock(lock, fcntl.LOCK_SH)
        return lock


def somebody_waits(folder):
    with open(folder / "system-tests.gate", "a") as gate:
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def members(session):
    """All processes of a session, whatever their groups."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = pathlib.Path("/proc", name, "stat").read_text()
        except OSError:
            continue  # it has just ended
        # pid (name) state parent group session
        if int(stat.rpartition(")")[2].split()[3]) == session:
            found.add(int(name))
    return found


def tell(session, what):
    """Sends a signal to all, also to those that were started meanwhile."""
    told = set()
    while more := members(session) - told:
        for pid in more:
            try:
                os.kill(pid, what)
            except ProcessLookupError:
                pass
        told |= more


def ends_with_parent(what=signal.SIGKILL):
    """The kernel sends this process a signal when its parent ends, also one that is killed (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, what)


def guard():
    """Starts a process that kills the session whose number is written to the returned file, as soon as this one has
    ended, in whatever way. (The kernel hangs up what stands still only where a terminal or a shell's jobs are.)"""
    reader, writer = os.pipe()
    if os.fork():
        os.close(reader)
        return open(writer, "w")
    os.close(writer)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    with open(reader) as told:
        session = told.read()
    if session:
        tell(int(session), signal.SIGKILL)
    os._exit(0)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    ends_with_parent(signal.SIGTERM)
    guarded = guard()
    lock = shared(folder)
    process = subprocess.Popen(sys.argv[2:], start_new_session=True, preexec_fn=ends_with_parent)
    print(process.pid, file=guarded, flush=True)
    # A session is a group of its own for the scheduler (sched(7), "The autogroup feature"), and only niceness
    # counts between groups.
    autogroup = pathlib.Path("/proc", str(process.pid), "autogroup")
    if autogroup.exists():
        with contextlib.suppress(OSError):
            autogroup.write_text("19")

    def end(*_):
        tell(process.pid, signal.SIGKILL)
        os._exit(1)

    for what in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(what, end)
    while True:
        try:
            sys.exit(process.wait(LOOK_S))
        except subprocess.TimeoutExpired:
            pass
        if somebody_waits(folder):
            tell(process.pid, signal.SIGSTOP)
            lock.close()
            lock = shared(folder)
            tell(process.pid, signal.SIGCONT)


if __name__ == "__main__":
    main()
