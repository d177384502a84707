#!/bin/sh
# Builds the workspace and runs all its tests, then those of the hardware, all of them even if some fail, and ends with one line of totals:
#
#   N passed, N failed[, N skipped]
#
# A test binary that did not build, or that crashed, counts as one failure.
set -u

log=$(mktemp)
status=$(mktemp)
# What tests say that could not show what they are for: the words of a test that passes are not shown.
TARE_SKIPPED=$(mktemp)
export TARE_SKIPPED
mark=
trap 'rm -f "$log" "$status" "$TARE_SKIPPED"; [ -z "$mark" ] || kill "$mark" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

# What is said goes to a file, and is shown from there: a pipe would stay open, and be waited for, as long as any program that a test left behind.
sleep 7200 &
mark=$!
tail -n +1 -f --pid=$mark "$log" &
shown=$!
{
    cargo build --release --workspace --bins &&
        cargo test --release --workspace --no-fail-fast
    echo $? >"$status"
    scripts/hdl_test.sh "${CARGO_TARGET_DIR:-target}"
} >"$log" 2>&1 </dev/null
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
        }
    }
    / process didn.t exit successfully: .*\(signal: / { failed++ }
    END {
        failed += left
        if (status != 0 && failed == 0) failed = 1
        printf "\n%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
        exit failed != 0
    }
' "$log"
