#!/bin/sh
# Fails if a program is larger than it may be.
#
#   scripts/small.sh BINARY MOST     MOST in MiB
set -eu

size=$(stat -c %s -- "$1")
printf '%s: %s bytes, at most %s MiB\n' "$1" "$size" "$2"
if [ "$size" -gt $(($2 * 1048576)) ]; then
    echo "small.sh: that is too large; cargo tree -p tare --no-default-features -e normal shows what is in it" >&2
    exit 1
fi
