#!/bin/sh
# The system tests that ask only the simulation of the module's sessions (tests/tests/fpga/simulator), not `tare`:
# with the sources and tools that they last passed with, they do not run again (scripts/stamped.py).
#
#   scripts/sessions_test.sh TARGET       the folder of what was built: target
#   scripts/sessions_test.sh TARGET run   what the stamp is for: always runs them, and ends with their totals
set -u
cd "$(dirname "$0")/.."

target=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if [ "${2-}" = run ]; then
    RUST_TEST_THREADS=400 cargo test --release --package tare-system-tests --test fpga -- simulator:: >"$log" 2>&1
    status=$?
    cat "$log"
    # The last line is what the stamp keeps; nothing that ran is no success.
    awk '/^test result: / { printf "%d passed, %d failed\n", $4, $6; passed += $4 } END { exit passed == 0 }' "$log" || status=1
    exit $status
fi

tools=$(verilator --version; g++ --version | head -n 1; rustc --version; nginx -v 2>&1; redis-server --version | cut -d ' ' -f 3)
scripts/stamped.py "$target/stamps/sessions" "$tools" scripts/sessions_test.sh scripts/hdl_tools.sh \
    hdl/session/*.sv hdl/session/sim hdl/rtl hdl/sim spec/tcp.toml crates/units crates/bed tests/src tests/tests/fpga/main.rs \
    tests/tests/fpga/simulator.rs tests/tests/fpga/simulator \
    -- scripts/sessions_test.sh "$target" run >"$log" 2>&1 </dev/null
status=$?
printf '\n     Running tests of the simulated sessions alone (tests/tests/fpga)\n\n'
if grep -q '^unchanged since it passed' "$log"; then
    cat "$log"
    awk '/^[0-9]+ passed/ { printf "\ntest result: ok. 0 passed; 0 failed; %d unchanged\n", $1 }' "$log"
else
    # In cargo's words its totals are there already.
    grep -vE '^[0-9]+ passed, [0-9]+ failed$' "$log"
fi
exit $status
