#!/bin/sh
# Builds session_step and session_engine as processes.
#
#   hdl/session/sim/build.sh FOLDER      leaves FOLDER/tare-session-step and FOLDER/tare-session-sim
set -eu
cd "$(dirname "$0")/../../.."
here=$PWD/hdl/session/sim
mkdir -p "$1"
folder=$(cd "$1" && pwd)
# In the order in which they need each other.
packages=hdl/rtl/tare_pkg.sv
for name in tcp_spec session session_engine session_read session_redis; do
    packages="$packages hdl/session/${name}_pkg.sv"
done
sources="$packages $(LC_ALL=C ls hdl/session/*.sv | grep -v _pkg.sv)"
rtl='hdl/rtl/stream_fifo.sv hdl/rtl/histogram.sv hdl/rtl/mac_tx_gmii.sv hdl/rtl/mac_rx_gmii.sv'

# build NAME TOP MAIN SOURCE...
build() {
    name=$1
    top=$2
    main=$3
    shift 3
    # Nothing has changed since the last time.
    state=$(cat "$here"/*.cpp "$here"/*.hpp "$here/build.sh" hdl/sim/*.hpp "$@" | sha256sum)
    [ -x "$folder/tare-$name" ] && [ "$state" = "$(cat "$folder/$name.state" 2>/dev/null)" ] && return
    rm -rf "${folder:?}/$name"
    verilator --cc --exe --build -O3 --x-assign fast --x-initial unique --noassert -Wno-fatal -Wno-lint -Wno-style -Wno-BLKANDNBLK \
        -CFLAGS "-std=c++17 -O2 -DSESSIONS=8192 -I$here -I$PWD/hdl/sim" --Mdir "$folder/$name" --top-module "$top" -o "$folder/tare-$name.new" \
        "$@" "$here/$main" >"$folder/$name.log" 2>&1 || { cat "$folder/$name.log"; exit 1; }
    mv "$folder/tare-$name.new" "$folder/tare-$name"
    echo "$state" >"$folder/$name.state"
}

# shellcheck disable=SC2086 # words are to be split
build session-step session_step main.cpp $sources
# shellcheck disable=SC2086 # words are to be split
build session-sim session_sim session.cpp $sources $rtl "$here/session_sim.sv"
