#!/bin/sh
# Runs a check, unless it has passed before with the same sources and tools.
#
#   scripts/stamped.sh STAMP TOOLS SOURCE... -- COMMAND...
#
# STAMP    a file that this writes after the check has passed: a hash of all below, and what the check said last
# TOOLS    a text that names the versions of the tools
# SOURCE   a file, or a folder with all that is in it
#
# The hash is that of TOOLS, COMMAND, this script, and names and contents of the sources. With another hash, without a stamp, or with one that
# cannot be read, the check runs. Where there is no STAMP, as in a fresh clone, one of the same name in hdl/stamps (kept in the repository, written by
# `make stamps`) is as good: its hash is compared in the same way. What it says last (its totals) is printed again if it does not run; the status is then 0.
set -eu

stamp=$1
tools=$2
shift 2
sources=
while [ "$1" != -- ]; do
    [ -e "$1" ] || { echo "stamped.sh: there is no $1" >&2; exit 2; }
    sources="$sources $1"
    shift
done
shift

hash() {
    {
        printf '%s\n' "$tools" "$@"
        # shellcheck disable=SC2086 # words are to be split
        find "$0" $sources -type f ! -path '*/__pycache__/*' ! -path '*/.venv/*' ! -path 'hdl/build/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    } | sha256sum | cut -d ' ' -f 1
}

before=$(hash "$@")
found=$stamp
[ -e "$stamp" ] || found=hdl/stamps/$(basename "$stamp")
if [ "$(head -n 1 "$found" 2>/dev/null)" = "$before" ]; then
    echo "unchanged since it passed; remove $found to run it again"
    sed 1d "$found"
    exit 0
fi
rm -f "$stamp"

said=$(mktemp)
trap 'rm -f "$said"' EXIT
status=0
"$@" >"$said" 2>&1 || status=$?
cat "$said"
# Sources that were changed meanwhile have not passed.
if [ "$status" -eq 0 ] && [ "$(hash "$@")" = "$before" ]; then
    mkdir -p "$(dirname "$stamp")"
    { echo "$before"; tail -n 1 "$said"; } >"$stamp.new"
    mv "$stamp.new" "$stamp"
fi
exit "$status"
