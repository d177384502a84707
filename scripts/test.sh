#!/bin/sh
# Builds the workspace and runs all its tests and those of the hardware, all of them even if some fail, and ends
# with one line of totals:
#
#   N passed, N failed[, N at the second try][, N skipped][, N unchanged]
#
# A test binary that did not build, or that crashed, counts as one failure. Who fails beside others may try again
# alone (scripts/again.py), and is named and counted for itself if that helps. Unchanged are parts of the
# hardware's tests that have passed before with the same sources and tools (scripts/hdl_test.sh).
#
#   cargo builds          tests of the crates     system tests, those of simulated sessions last
#                         (packet's and script's beside the others')
#                         tests that only compute ┐ with the CPU time that nothing else wants;
#   tools, module-sim ─►  tests of the hardware   ┘ they stand still while a test measures time
set -u
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
log=$(mktemp)
prepared=$(mktemp)
hardware=$(mktemp)
computed=$(mktemp)
simulated=$(mktemp)
status=$(mktemp)
# What tests say that could not show what they are for: the words of a test that passes are not shown.
TARE_SKIPPED=$(mktemp)
export TARE_SKIPPED
mark=
beside=
trap 'rm -f "$log" "$prepared" "$hardware" "$computed" "$simulated" "$status" "$TARE_SKIPPED"; [ -z "$mark" ] || kill "$mark" 2>/dev/null; [ -z "$beside" ] || kill -- "-$beside" 2>/dev/null' EXIT
trap 'exit 130' INT TERM HUP

# What is said goes to a file, and is shown from there: a pipe would stay open, and be waited for, as long as
# any program that a test left behind. That a system test has waited for its turn for a minute says nothing.
sleep 7200 &
mark=$!
tail -n +1 -f --pid=$mark "$log" | grep --line-buffered -v '^test .* has been running for over' &
shown=$!

# What the tests need is made while cargo compiles. The hardware's tests follow at once.
setsid sh -c '
    "${MAKE:-make}" --no-print-directory need-test module-sim >"$1" 2>&1 </dev/null && echo prepared >>"$1" || { echo failed >>"$1"; exit; }
    exec scripts/hdl_test.sh "$3" >"$2" 2>&1 </dev/null' sh "$prepared" "$hardware" "$target" &
beside=$!
{
    # All at once, so that nothing is compiled for two sets of features.
    cargo build --release --workspace --lib --bin tare --tests
    echo $? >"$status"
    until tail -n 1 "$prepared" | grep -qxE 'prepared|failed'; do sleep 0.2; done
    sed '$d' "$prepared"
    if [ "$(cat "$status")" -eq 0 ] && tail -n 1 "$prepared" | grep -qx prepared; then
        # These two take a minute and a half of CPU time, and look at no clock.
        scripts/beside.py "$target/release" cargo test --release -p tare-filter -p tare-stats --no-fail-fast >"$computed" 2>&1 </dev/null &
        computes=$!
        # What sweeps and scripts simulate wants CPUs, where the others' tests wait most of the time.
        RUST_TEST_THREADS=2 cargo test --release -p tare-packet -p tare-script --no-fail-fast >"$simulated" 2>&1 </dev/null &
        simulates=$!
        RUST_TEST_THREADS=4 cargo test --release --workspace --exclude tare-system-tests --exclude tare-filter --exclude tare-stats --exclude tare-packet --exclude tare-script --no-fail-fast
        crates=$?
        wait $simulates
        crates=$((crates + $?))
        cat "$simulated"
        # Each test waits in a thread for its turn (tests/src/lock.rs).
        RUST_TEST_THREADS=400 cargo test --release --package tare-system-tests --no-fail-fast -- --skip simulator::
        crates=$((crates + $?))
        scripts/sessions_test.sh "$target"
        crates=$((crates + $?))
        wait $computes
        crates=$((crates + $?))
        cat "$computed"
    else
        crates=1
    fi
    # Each part says its own totals; a script that ended before its last part says none.
    wait $beside
    parts=$?
    [ $crates -eq 0 ] || ! scripts/again.py "$log" || crates=0
    cat "$hardware"
    echo $((crates + parts)) >"$status"
} >"$log" 2>&1 </dev/null
beside=
kill $mark
wait $mark $shown 2>/dev/null
mark=

# left_behind: pids of programs that still hold the log.
left_behind() {
    # shellcheck disable=SC2012 # these names are numbers
    ls -l /proc/[0-9]*/fd/1 2>/dev/null | sed -n "s#.* /proc/\([0-9]*\)/fd/1 -> $log\$#\1#p"
}

# A browser may take a second to end; what stays longer is told, ended, and counts as a failure.
for _ in 1 2 3 4 5; do
    [ -z "$(left_behind)" ] || sleep 1
done
left=0
for pid in $(left_behind); do
    printf '\nleft behind by a test: process %s, %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
    kill "$pid" && left=$((left + 1))
done

cat "$TARE_SKIPPED"
awk -v left="$left" -v status="$(cat "$status")" -v skipped="$(wc -l <"$TARE_SKIPPED")" '
    # test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
    /^test result: / {
        for (i = 2; i <= NF; i++) {
            if ($i ~ /^passed/) passed += $(i - 1)
            if ($i ~ /^failed/) failed += $(i - 1)
            if ($i ~ /^ignored/) skipped += $(i - 1)
            if ($i ~ /^unchanged/) unchanged += $(i - 1)
        }
    }
    /^second try: / { again = $3 }
    / process didn.t exit successfully: .*\(signal: / { failed++ }
    END {
        failed += left - again
        if (status != 0 && failed == 0) failed = 1
        printf "\n%d passed, %d failed%s%s%s\n", passed, failed, again ? ", " again " at the second try" : "", skipped ? ", " skipped " skipped" : "", unchanged ? ", " unchanged " unchanged" : ""
        exit failed != 0
    }
' "$log"
