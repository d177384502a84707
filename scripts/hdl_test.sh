#!/bin/sh
# The hardware's part of `make test`: proofs, every bench, the whole module in its process, from the sources and
# as a netlist, and size and clock after place and route. A part whose sources and tools are those that it last
# passed with does not run again (scripts/stamped.py; the stamps are in TARGET/stamps). `make formal`, `make
# sim` and `make synth` always run. Each part ends with a line as cargo has it for a test binary, so that all
# are added up in one place:
#
#   test result: ok. N passed; N failed; N unchanged
#
#   scripts/hdl_test.sh TARGET       the folder of what was built: target
#
# All of it may run beside the system tests (scripts/beside.py).
set -u
cd "$(dirname "$0")/.."

target=$1
stamps=$target/stamps
# Where the system tests lock.
locks=$target/release
python=hdl/.venv/bin/python
log=$(mktemp)
synth_log=$(mktemp)

# Everything that is wanted, before two want it at once.
scripts/hdl_tools.sh formal

tools=$(
    "$python" --version
    "$python" -m pip freeze --disable-pip-version-check
    verilator --version
    g++ --version | head -n 1
    echo "seed ${SEED:-1}, solver ${SOLVER:-yices}"
)

# stamped NAME SOURCE... -- COMMAND...
stamped() {
    stamp=$stamps/$1
    shift
    scripts/stamped.py "$stamp" "$tools" scripts/hdl_test.sh scripts/hdl_tools.sh scripts/beside.py "$@"
}

# judge STATUS: what a command said is in $log. It counts as one test, or as many as it says ("N passed, N
# failed", or in cargo's words); with another status than 0 it has failed.
judge() {
    grep -v '^test result: ' "$log"
    awk -v status="$1" '
        /^unchanged since it passed/ { unchanged = 1 }
        /^[0-9]+ passed, [0-9]+ failed/ { passed = $1; failed = $3; counted = 1 }
        /^test result: / { passed = $4; failed = $6; counted = 1 }
        END {
            if (!counted) passed = status == 0
            if (status != 0 && failed == 0) failed = 1
            if (unchanged) printf "\ntest result: ok. 0 passed; 0 failed; %d unchanged\n", passed
            else printf "\ntest result: %s. %d passed; %d failed\n", failed ? "FAILED" : "ok", passed, failed
        }' "$log"
}

# part NAME COMMAND...
part() {
    printf '\n     Running %s\n\n' "$1"
    shift
    "$@" >"$log" 2>&1 </dev/null
    judge $?
}

# Place and route uses one core for some minutes, so it begins first.
stamped synth hdl/rtl hdl/syn -- \
    scripts/beside.py "$locks" "$python" hdl/syn/synth.py --check >"$synth_log" 2>&1 </dev/null &
synth=$!
trap 'kill "$synth" 2>/dev/null; rm -f "$log" "$synth_log"' EXIT
trap 'exit 130' INT TERM

part 'what is generated from the registers (hdl/regs)' \
    stamped regs hdl/regs hdl/rtl crates/port/src/fpga/registers.rs docs/fpga-reference.md -- "$python" hdl/regs/regs.py --check
part 'proofs of the hardware modules (hdl/formal)' \
    stamped formal hdl/rtl hdl/formal scripts/hdl_check.sh -- scripts/beside.py "$locks" scripts/hdl_check.sh
part 'the simulated module is built (hdl/sim)' hdl/sim/build.sh "$target/module-sim"
part 'benches of the hardware modules (hdl/tb)' \
    stamped benches hdl/rtl hdl/tb hdl/model hdl/regs -- scripts/beside.py "$locks" "$python" hdl/tb/run.py
# The process has a clock of its own, but its host waits for so many seconds: these tests do not stand still,
# and share the lock one by one.
TARE_TEST_LOCKS=$locks
export TARE_TEST_LOCKS
part 'the whole module in its process (hdl/tb/module)' \
    stamped module hdl/rtl hdl/sim hdl/tb/module hdl/model hdl/regs -- "$python" hdl/tb/module/test_module.py "$target/module-sim/tare-module-sim"
part 'the netlist of the module (hdl/syn), and the whole module as that (hdl/tb/module)' \
    stamped netlist hdl/rtl hdl/sim hdl/syn hdl/tb/module hdl/model hdl/regs -- sh -euc '
        "$1" "$2" "$3" hdl/syn/gates.py "$4"
        exec "$3" hdl/tb/module/test_module.py "$4/tare-module-sim"' sh scripts/beside.py "$locks" "$python" "$target/gates"

printf '\n     Running size and clock after place and route (hdl/syn)\n\n'
wait "$synth"
status=$?
mv "$synth_log" "$log"
grep -q '^as good as the bars ask' "$log" || status=1
judge $status
