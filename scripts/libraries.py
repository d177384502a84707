#!/usr/bin/env python3
"""The libraries of others that are compiled into tare, their licenses, and the texts of these, each once.

    libraries.py [--no-default-features]     prints to standard output

A text that several libraries have stands below the names of all of them.
"""

import json
import os
import pathlib
import subprocess
import sys

NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
# Libraries in C are in folders of the crate that compiles them.
DEEP = 3


def packages(arguments):
    """The crates of others in the program: normal dependencies, through all of them, on this platform."""
    host = next(
        line.removeprefix("host: ")
        for line in subprocess.check_output(["rustc", "-vV"], text=True).splitlines()
        if line.startswith("host: ")
    )
    said = subprocess.check_output(
        ["cargo", "metadata", "--format-version", "1", "--filter-platform", host, "--locked", *arguments],
        text=True,
    )
    graph = json.loads(said)
    by_id = {package["id"]: package for package in graph["packages"]}
    uses = {
        node["id"]: [
            used["pkg"] for used in node["deps"] if any(kind["kind"] is None for kind in used["dep_kinds"])
        ]
        for node in graph["resolve"]["nodes"]
    }
    own = (package for package in graph["packages"] if not package["source"])
    wanted = [package["id"] for package in own if package["name"] == "tare"]
    seen = set(wanted)
    while wanted:
        new = [used for used in uses[wanted.pop()] if used not in seen]
        seen.update(new)
        wanted += new
    found = [by_id[each] for each in seen if by_id[each]["source"]]
    # What runs in the compiler is not in the program.
    found = [package for package in found if "proc-macro" not in package["targets"][0]["kind"]]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package):
    root = pathlib.Path(package["manifest_path"]).parent
    for folder, folders, files in os.walk(root):
        depth = len(pathlib.Path(folder).relative_to(root).parts)
        folders[:] = sorted(folders) if depth < DEEP else []
        for name in sorted(files):
            if name.upper().startswith(NAMES) and not name.endswith((".rs", ".c", ".h", ".py", ".go", ".cmake")):
                yield (pathlib.Path(folder) / name).read_text(errors="replace")


def main():
    found = packages(sys.argv[1:])
    by_text = {}
    print("tare contains these libraries:\n")
    for package in found:
        name = f"{package['name']} {package['version']}"
        print(f"  {name:<38} {package['license'] or 'see its text'}")
        for text in texts(package):
            by_text.setdefault(" ".join(text.split()), (text, []))[1].append(name)
    for text, names in by_text.values():
        print(f"\n{'=' * 78}\n{', '.join(dict.fromkeys(names))}:\n{'-' * 78}\n{text.strip()}")


if __name__ == "__main__":
    main()
