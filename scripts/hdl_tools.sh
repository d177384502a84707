#!/bin/sh
# Makes hdl/.venv with the tools of hdl/requirements.txt, saying which, and installs the Debian packages they need; installs nothing if
# all are there. Prints nothing then.
#
#   scripts/hdl_tools.sh [formal]      formal: with what proofs need beside that, hdl/formal/requirements.txt
set -eu
cd "$(dirname "$0")/.."

# Verilator writes C++ and Makefiles, much of it the same for every module (ccache).
scripts/need.sh g++=g++ ccache=ccache make=make perl=perl python3=python3 /usr/lib/python3*/ensurepip=python3-venv

# install FILE COPY: what FILE lists, unless COPY says that it was installed.
install() {
    cmp -s "$1" "$2" && return 0
    echo "installing into hdl/.venv: $(sed -n 's/^\([a-z][^ ]*\).*/\1/p' "$1" | tr '\n' ' ')"
    hdl/.venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -r "$1"
    cp "$1" "$2"
}

# A list that was changed since makes a new one: nothing stays in it that is not wanted.
if ! cmp -s hdl/requirements.txt hdl/.venv/requirements.txt || ! [ -x hdl/.venv/bin/python ]; then
    python3 -m venv --clear hdl/.venv
    install hdl/requirements.txt hdl/.venv/requirements.txt
fi
if [ "${1-}" = formal ]; then
    install hdl/formal/requirements.txt hdl/.venv/formal-requirements.txt
fi
