#!/usr/bin/env python3
"""Makes include/tare.h from the source, or says whether it is what the source makes of it.

    header.py            makes it; installs cbindgen into .tools first, if that is not there
    header.py --check    needs no cbindgen: the header carries a digest of what it was made from, and of itself
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEADER = HERE / "include" / "tare.h"
TOOLS = ROOT / ".tools"
CBINDGEN = "0.29.4"

# What C sees of a file: each item with its comment, a function up to its body.
ITEM = re.compile(
    r"^(?:///.*\n|#\[.*\n)*pub (?:(?:const|type)[^;]*;|struct[^}]*^}|(?:unsafe )?extern \"C\" fn [^{]*\{)", re.M
)
MARK = re.compile(r"^/\* Digests: of the source (\w+), of this header (\w+)\. \*/\n", re.M)


def version():
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def source():
    """Everything that the header is made of."""
    files = sorted((HERE / "src").glob("*.rs"))
    items = [item for file in files for item in ITEM.findall(file.read_text())]
    return "\n".join([version(), CBINDGEN, (HERE / "cbindgen.toml").read_text(), *items])


def macros():
    major, minor, patch = version().split(".")
    return (
        "/* The version of this header; tare_version() is that of the library. */\n"
        f'#define TARE_VERSION "{version()}"\n#define TARE_VERSION_MAJOR {major}\n'
        f"#define TARE_VERSION_MINOR {minor}\n#define TARE_VERSION_PATCH {patch}\n"
    )


def cbindgen():
    """The program, of the version that the header is made with."""
    program = TOOLS / "bin" / "cbindgen"
    is_there = program.exists() and CBINDGEN in subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if not is_there:
        print(f"installing cbindgen {CBINDGEN} into {TOOLS}")
        install = ["cargo", "install", "--quiet", "--locked", "--root", TOOLS, "cbindgen", "--version", CBINDGEN]
        subprocess.run(install, check=True)
    return program


def make():
    program = cbindgen()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        config.write(f"after_includes = '''\n{macros()}'''\n" + (HERE / "cbindgen.toml").read_text())
        config.flush()
        command = [program, "--quiet", "--config", config.name, "--crate", "tare-c", HERE]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    text = re.sub(r"\n{3,}", "\n\n", text)
    mark = f"/* Digests: of the source {digest(source())}, of this header {digest(text)}. */\n"
    HEADER.parent.mkdir(exist_ok=True)
    HEADER.write_text(mark + text)


def check():
    text = HEADER.read_text()
    mark = MARK.search(text)
    if not mark or mark[1] != digest(source()):
        sys.exit("tare.h is stale: its source has changed; run `make header`")
    if mark[2] != digest(text[mark.end():]):
        sys.exit("tare.h was changed by hand: change its source, and run `make header`")


if __name__ == "__main__":
    check() if sys.argv[1:] == ["--check"] else make()
