#!/bin/sh
# The proofs of the hardware modules in a minute or two: each rule is proved, and of each proof one broken line must be seen. All covers and
# mutations are in `make formal`. Ends with one line of totals in the words of cargo.
#
#   scripts/hdl_check.sh
set -eu
cd "$(dirname "$0")/.."

scripts/hdl_tools.sh formal
exec hdl/.venv/bin/python hdl/formal/prove.py --quick
