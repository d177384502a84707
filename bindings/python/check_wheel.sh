#!/bin/sh
# That a wheel can be installed where nothing else is, and does what it is for: a run of frames within the process.
#
#   bindings/python/check_wheel.sh PYTHON WHEEL
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wheel=$(realpath "$2")
"$1" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
cd "$folder"
venv/bin/python - <<'PROGRAM'
import pathlib
import tare

result = tare.send("mem:wheel", rate="1k", frames=10, accept_invalid=True)
assert result.totals.sent == 10, result
folder = pathlib.Path(tare.__file__).parent
missing = [name for name in ("py.typed", "_tare.pyi") if not (folder / name).exists()]
assert not missing, missing
PROGRAM
