#!/bin/sh
# Makes .venv with the Python packages of tests/requirements.txt, saying which; installs nothing if all are there.
# Prints nothing then. Tests run .venv/bin/python.
#
#   scripts/python.sh
set -eu
cd "$(dirname "$0")/.."

wanted=tests/requirements.txt
# What was installed last; a copy, so that a changed list is noticed.
installed=.venv/requirements.txt

cmp -s "$wanted" "$installed" && [ -x .venv/bin/python ] && exit 0

echo "installing Python packages into .venv: $(sed -n 's/^\([a-z][^ ]*\).*/\1/p' "$wanted" | tr '\n' ' ')"
python3 -m venv --clear .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -r "$wanted"
cp "$wanted" "$installed"
