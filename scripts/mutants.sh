#!/bin/sh
# Changes one thing after another in the crates of mutants.toml and runs their tests: a change that no test notices is a
# survivor. Survivors that are not in mutants.survivors fail this.
#
#   scripts/mutants.sh [-o DIR] [ARGUMENTS OF CARGO MUTANTS...]     all: hours; -p tare-units, -f FILE or --in-diff FILE for less
#   scripts/mutants.sh --judge DIR                                  what is in DIR/mutants.out already
#
# A line of mutants.survivors is a file, a colon, what cargo-mutants says of the change (without its place), a tab and the
# reason why it changes nothing that a test could see. The same change at two places of a function has two lines.
set -eu

version=27.1.0
known=mutants.survivors
out=target/mutants

tested=
case ${1:-} in
--judge)
    out=$2
    tested=yes
    ;;
-o)
    out=$2
    shift 2
    ;;
esac

if [ -z "$tested" ]; then
    if [ "$(cargo mutants --version 2>/dev/null)" != "cargo-mutants $version" ]; then
        echo "installing cargo-mutants $version"
        cargo install --quiet --locked cargo-mutants --version "$version"
    fi
    mkdir -p "$out"
    # Survivors are judged below; 2 says that there are some, 3 that some ran out of time, which is noticed, too.
    status=0
    cargo mutants --config mutants.toml --jobs 1 --output "$out" --colors never "$@" || status=$?
    case $status in
    0 | 2 | 3) ;;
    *) exit "$status" ;;
    esac
fi

# crates/units/src/rate.rs:12:3: replace … → crates/units/src/rate.rs: replace …
without_place() {
    sed 's/^\([^:]*\):[0-9]*:[0-9]*: /\1: /' "$@" | sort
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -v '^#' "$known" | cut -f 1 | sort >"$work/known"
without_place "$out/mutants.out/missed.txt" >"$work/missed"
comm -13 "$work/known" "$work/missed" >"$work/new"
without_place "$out/mutants.out/caught.txt" >"$work/caught"
# Of those with two places, one may be caught and the other not.
comm -23 "$work/known" "$work/missed" | comm -12 - "$work/caught" >"$work/gone"

printf '%s caught, %s survive, %s of them known\n' \
    "$(wc -l <"$work/caught")" "$(wc -l <"$work/missed")" "$(comm -12 "$work/known" "$work/missed" | wc -l)"
if [ -s "$work/gone" ]; then
    echo "these are noticed by now and can leave $known:"
    cat "$work/gone"
fi
if [ -s "$work/new" ]; then
    echo "no test notices these; write one, or put them into $known with the reason:"
    cat "$work/new"
    exit 1
fi
