#!/usr/bin/env python3
"""Whether every package of this workspace is built and tested with the same features of the crates of others.

    features.py      prints what differs, and ends with status 1 if anything does

Compared are what `make test` builds at once, what `make demo` builds, and `cargo test -p` of each package. What is missing goes into
crates/features/Cargo.toml, which every package has among its development dependencies.
"""

import json
import os
import subprocess
import sys

# How cargo would build, without building, is told to those who ask as if this were an unstable compiler.
ENVIRONMENT = os.environ | {"RUSTC_BOOTSTRAP": "1"}


def cargo(*arguments):
    done = subprocess.run(["cargo", *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def libraries(*arguments):
    """{a crate of others: its sets of features}"""
    graph = cargo(*arguments, "--release", "-Z", "unstable-options", "--unit-graph")
    found = {}
    for unit in graph["units"]:
        if unit["pkg_id"].startswith("registry") and unit["mode"] == "build" and "custom-build" not in unit["target"]["kind"]:
            found.setdefault(unit["pkg_id"].partition("#")[2], set()).add(tuple(unit["features"]))
    return found


def main():
    packages = [package["name"] for package in cargo("metadata", "--no-deps", "--format-version", "1")["packages"]]
    whole = libraries("build", "--workspace", "--bin", "tare", "--tests")
    wrong = 0
    for command in [["build", "--bin", "tare"], *(["test", "-p", name] for name in packages)]:
        for crate, features in sorted(libraries(*command).items()):
            for less in features - whole.get(crate, set()):
                wrong += 1
                wanted = " or ".join(str(sorted(set(more) - set(less))) for more in whole.get(crate, [])) or "nothing"
                print(f"cargo {' '.join(command)}: {crate} without {wanted}")
    if wrong:
        print("crates/features/Cargo.toml says how they become the same")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
