#!/bin/sh
# Runs fuzz targets, each for FUZZ_SECONDS: all, or those that are named.
#
#   scripts/fuzz.sh SECONDS TARGET...
#
# Sanitizers are features of the nightly compiler. Where that is not here and cannot be had, the compiler of this
# repository is told to have them, too.
set -eu

version=0.13.2
if [ "$(cargo fuzz --version 2>/dev/null)" != "cargo-fuzz $version" ]; then
    echo "installing cargo-fuzz $version"
    cargo install --quiet --locked cargo-fuzz --version "$version"
fi

if rustup toolchain list | grep -q '^nightly'; then
    toolchain=nightly
elif rustup toolchain install nightly --profile minimal; then
    toolchain=nightly
else
    toolchain=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
    export RUSTC_BOOTSTRAP=1
fi
echo "fuzzing with the $toolchain compiler and its address sanitizer${RUSTC_BOOTSTRAP:+ (RUSTC_BOOTSTRAP)}"

seconds=$1
shift
cd fuzz
for target in "$@"; do
    mkdir -p "corpus/$target"
    cargo "+$toolchain" fuzz run "$target" "corpus/$target" "seeds/$target" -- \
        -max_total_time="$seconds" -timeout=5 -print_final_stats=0
done
