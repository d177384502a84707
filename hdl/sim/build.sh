#!/bin/sh
# Builds the simulation process.
#
#   hdl/sim/build.sh FOLDER      leaves FOLDER/tare-module-sim
set -eu
cd "$(dirname "$0")/../.."
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

packages='hdl/rtl/tare_pkg.sv hdl/rtl/generator_pkg.sv hdl/rtl/receive_pkg.sv hdl/rtl/host_pkg.sv'
rest=$(ls hdl/rtl/*.sv | grep -v _pkg.sv)
# What the module tells of itself: a hash of all that it was built from.
# shellcheck disable=SC2086 # words are to be split
build=$(cat $packages $rest | sha256sum | cut -c1-8)

# Two-state, one thread, no traces: a second of this is spent for every few million cycles.
# shellcheck disable=SC2086 # words are to be split
verilator --cc --exe --build -j 2 -O3 --x-assign fast --x-initial unique --noassert -Wno-fatal -Wno-lint -Wno-style -Wno-BLKANDNBLK \
    -GBuild="32'h$build" -CFLAGS "-O3 -std=c++17 -Wall -I$PWD/hdl/sim" -MAKEFLAGS OPT_FAST=-O3 \
    --Mdir "$folder/verilated" --top-module module_sim -o ../tare-module-sim \
    $packages $rest hdl/sim/module_sim.sv "$PWD/hdl/sim/main.cpp" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
