#!/bin/sh
# Makes hdl/.venv with the tools of hdl/requirements.txt, saying which, and installs the Debian packages they need; installs nothing if
# all are there. Prints nothing then.
#
#   scripts/hdl_tools.sh
set -eu
cd "$(dirname "$0")/.."

# z3 decides the proofs; verilator writes C++ and Makefiles, much of it the same for every module (ccache).
scripts/need.sh z3=z3 g++=g++ ccache=ccache make=make perl=perl python3=python3 /usr/lib/python3*/ensurepip=python3-venv

wanted=hdl/requirements.txt
# What was installed last; a copy, so that a changed list is noticed.
installed=hdl/.venv/requirements.txt

cmp -s "$wanted" "$installed" && [ -x hdl/.venv/bin/python ] && exit 0

echo "installing hardware tools into hdl/.venv: $(sed -n 's/^\([a-z][^ ]*\).*/\1/p' "$wanted" | tr '\n' ' ')"
python3 -m venv --clear hdl/.venv
hdl/.venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -r "$wanted"
cp "$wanted" "$installed"
