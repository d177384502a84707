#!/bin/sh
# Licences, duplicates, sources and advisories of all dependencies (deny.toml). The database of advisories is a git
# repository elsewhere: where it cannot be had, an earlier copy serves, and without one that part is SKIPPED.
set -eu

version=0.20.2
if [ "$(cargo deny --version 2>/dev/null)" != "cargo-deny $version" ]; then
    echo "installing cargo-deny $version"
    cargo install --quiet --locked cargo-deny --version "$version"
fi

cargo deny --log-level error check licenses bans sources

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if cargo deny --log-level error fetch db >"$log" 2>&1; then
    exec cargo deny --log-level error --offline check advisories
fi
# What is not there to be looked at ends as an error of the program, not as a finding.
if cargo deny --log-level error --offline check advisories >"$log" 2>&1; then
    cat "$log"
    echo 'advisories: by an earlier copy of the database; a new one could not be fetched'
elif grep -q '\[ERROR\] failed' "$log"; then
    echo 'SKIPPED: advisories: their database (https://github.com/RustSec/advisory-db) could not be fetched'
else
    cat "$log" >&2
    exit 1
fi
