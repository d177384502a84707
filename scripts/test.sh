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
trap 'rm -f "$log" "$status" "$TARE_SKIPPED"' EXIT

{
    cargo build --release --workspace --bins &&
        cargo test --release --workspace --no-fail-fast
    echo $? >"$status"
    scripts/hdl_test.sh "${CARGO_TARGET_DIR:-target}"
} 2>&1 </dev/null | tee "$log"

cat "$TARE_SKIPPED"
awk -v status="$(cat "$status")" -v skipped="$(wc -l <"$TARE_SKIPPED")" '
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
        if (status != 0 && failed == 0) failed = 1
        printf "\n%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
        exit failed != 0
    }
' "$log"
