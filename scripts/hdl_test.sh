#!/bin/sh
# The hardware's part of `make test`: every bench, the whole module in its process, from the sources and as a netlist, proofs, and size and clock after
# place and route. Each part ends with a line as cargo has it for a test binary, so that all are added up in one place:
#
#   test result: ok. N passed; N failed
#
#   scripts/hdl_test.sh TARGET       the folder of what was built: target
set -u
cd "$(dirname "$0")/.."

target=$1
python=hdl/.venv/bin/python
log=$(mktemp)
synth_log=$(mktemp)

# Everything that is wanted, before two want it at once.
scripts/hdl_tools.sh formal

# Place and route uses one core for some minutes, so it begins first, in a process group of its own.
setsid "$python" hdl/syn/synth.py --check >"$synth_log" 2>&1 </dev/null &
synth=$!
trap 'kill -- "-$synth" 2>/dev/null; rm -f "$log" "$synth_log"' EXIT

# part NAME COMMAND...: a command counts as one test, or as many as it says («N passed, N failed»); with another status than 0 it has failed.
part() {
    name=$1
    shift
    printf '\n     Running %s\n\n' "$name"
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    cat "$log"
    awk -v status=$status '
        /^[0-9]+ passed, [0-9]+ failed/ { passed = $1; failed = $3; counted = 1 }
        END {
            if (!counted) passed = status == 0
            if (status != 0 && failed == 0) failed = 1
            printf "\ntest result: %s. %d passed; %d failed\n", failed ? "FAILED" : "ok", passed, failed
        }' "$log"
}

# The proofs say their totals in cargo's words themselves.
printf '\n     Running proofs of the hardware modules (hdl/formal)\n\n'
scripts/hdl_check.sh >"$log" 2>&1 </dev/null
cat "$log"
grep -q '^test result: ' "$log" || echo 'test result: FAILED. 0 passed; 1 failed'

part 'the simulated module is built (hdl/sim)' hdl/sim/build.sh "$target/module-sim"
part 'benches of the hardware modules (hdl/tb)' "$python" hdl/tb/run.py
part 'the whole module in its process (hdl/tb/module)' "$python" hdl/tb/module/test_module.py "$target/module-sim/tare-module-sim"
part 'the netlist of the module is built (hdl/syn)' "$python" hdl/syn/gates.py "$target/gates"
part 'the whole module as a netlist (hdl/tb/module)' "$python" hdl/tb/module/test_module.py "$target/gates/tare-module-sim"
part 'size and clock after place and route (hdl/syn)' sh -c 'tail --pid="$1" -s 1 -f /dev/null; cat "$2"; grep -q "^as good as the bars ask" "$2"' sh "$synth" "$synth_log"
