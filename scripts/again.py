#!/usr/bin/env python3
"""Runs tests that failed once more, each alone, on the machine that is quiet by then.

    again.py LOG      LOG: what `cargo test` said, with its lines "Running …"

A test that looks at time can fail because of what else the machine did. A test that passes TIMES of at most TRIES
now is counted for itself and named; every other one has failed. More than MOST failures are no accident, and
nothing runs again.
The last line is `second try: N`, the tests that passed; the exit status is 0 if those are all that had failed.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

MOST = 10
TIMES = 2
TRIES = 3
LIMIT_S = 300


def failed(log):
    """Executables, each with the names of its tests that failed; None for one that did not say which."""
    running, found = None, {}
    for line in log.read_text(errors="replace").splitlines():
        if at := re.match(r"\s+Running .*\(\S*?/deps/([\w-]+)\)$", line):
            running = at[1]
        elif re.match(r"\s+Doc-tests ", line):
            running = None
        elif at := re.match(r"test (\S+) (?:- .*)?\.\.\. FAILED$", line):
            found.setdefault(running, []).append(at[1])
        elif "process didn't exit successfully" in line and "exit status: 101" not in line:
            found.setdefault(None, []).append(line.strip())
    return found


def packages():
    """Where `cargo test` starts each executable."""
    build = ["cargo", "test", "--release", "--workspace", "--no-run", "--message-format=json"]
    said = subprocess.run(build, check=True, capture_output=True, text=True).stdout
    messages = (json.loads(line) for line in said.splitlines() if line.startswith("{"))
    made = (message for message in messages if message.get("executable"))
    return {pathlib.Path(one["executable"]).name: one for one in made}


def passes(made, name):
    folder = pathlib.Path(made["manifest_path"]).parent
    command = [made["executable"], "--exact", name]
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(folder)}
    how = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "timeout": LIMIT_S}
    try:
        run = subprocess.run(command, **how)
    except subprocess.TimeoutExpired:
        print(f"{name}: not ended after {LIMIT_S} s")
        return False
    if run.returncode != 0 or " 1 passed;" not in run.stdout:
        # Not in the words that the totals are counted by.
        print(re.sub(r"(?m)^test result: .*\n", "", run.stdout) + run.stderr)
        return False
    return True


def passes_now(made, name):
    """Whether it passes TIMES before it fails too often for that, and how many runs that took."""
    passed = runs = 0
    while passed < TIMES and runs - passed <= TRIES - TIMES:
        runs += 1
        passed += passes(made, name)
    return passed == TIMES, runs


def main():
    found = failed(pathlib.Path(sys.argv[1]))
    count = sum(map(len, found.values()))
    if not count:
        print("second try: 0")
        return 1
    names = ", ".join(sum(found.values(), []))
    print(f"\n     Running what failed once more, alone: {names}\n")
    passed = 0
    if count > MOST or None in found:
        why = f"{count} failures are no accident" if count > MOST else "a test program crashed"
        print(f"not done: {why}")
    else:
        made = packages()
        for executable, names in found.items():
            for name in names:
                if executable not in made:
                    continue
                is_well, runs = passes_now(made[executable], name)
                if is_well:
                    print(f"SECOND TRY: {name} failed beside others, and passed {TIMES} of {runs} times alone")
                    passed += 1
    print(f"second try: {passed}")
    return int(passed < count)


if __name__ == "__main__":
    sys.exit(main())
