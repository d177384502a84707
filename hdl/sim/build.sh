#!/bin/sh
# Builds the simulation process.
#
#   hdl/sim/build.sh FOLDER [FILE...]      leaves FOLDER/tare-module-sim
#
# With FILEs, these are compiled in place of the sources, with fewer optimisations (see hdl/syn/gates.py).
set -eu
cd "$(dirname "$0")/../.."
here=$PWD/hdl/sim
folder=$1
shift
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
made=$folder/verilated

packages='hdl/rtl/tare_pkg.sv hdl/rtl/generator_pkg.sv hdl/rtl/registers_pkg.sv hdl/rtl/receive_pkg.sv hdl/rtl/host_pkg.sv'
rest=$(LC_ALL=C ls hdl/rtl/*.sv | grep -v _pkg.sv)
# The value of the register `build`: a hash of the sources.
# shellcheck disable=SC2086 # words are to be split
build=$(cat $packages $rest | sha256sum | cut -c1-8)

# Nothing has changed since the last time.
state=$(cat "$here"/* hdl/rtl/*.sv "$@" | sha256sum)
[ -x "$folder/tare-module-sim" ] && [ "$state" = "$(cat "$folder/state" 2>/dev/null)" ] && exit 0
# shellcheck disable=SC2086 # words are to be split
if [ $# -gt 0 ]; then level=-O1; else level=-O3; set -- "-GBuild=32'h$build" $packages $rest hdl/sim/module_sim.sv; fi

# Two-state, one thread, no traces. Some structs have members of which some are wires and some registers, which is an error by default in Verilator 5.006.
verilator --cc --exe -O3 --x-assign fast --x-initial unique --noassert -Wno-fatal -Wno-lint -Wno-style -Wno-BLKANDNBLK \
    --Mdir "$made" --top-module module_sim "$@" "$here/main.cpp" >"$folder/log" 2>&1 ||
    { cat "$folder/log"; exit 1; }

# Everything is compiled as one file, and twice: a first build is profiled, which makes the second a third faster.
root=$(sed -n 's/^VERILATOR_ROOT *= *//p' "$made/Vmodule_sim.mk")
for file in "$made"/Vmodule_sim*.cpp "$root/include/verilated.cpp" "$root/include/verilated_threads.cpp" "$here/main.cpp"; do
    echo "#include \"$file\""
done >"$folder/all.cpp"
clock=$(grep -o '__Vtrigrprev__TOP__clk_i' "$made/Vmodule_sim___024root.h" | head -1)
compile() {
    # shellcheck disable=SC2086 # nothing, if there is no such name
    g++ ${clock:+-DTARE_CLOCK_BEFORE=$clock} -std=c++17 $level -I"$made" -I"$root/include" -I"$root/include/vltstd" -I"$here" -DVM_COVERAGE=0 -DVM_SC=0 -DVM_TRACE=0 -DVL_TIME_CONTEXT \
        -fprofile-update=single -Wno-missing-profile "$@" -c "$folder/all.cpp" -o "$folder/all.o" >>"$folder/log" 2>&1 &&
        g++ "$@" "$folder/all.o" -o "$folder/tare-module-sim.new" -pthread >>"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
}
if [ $level = -O3 ]; then
    rm -f "$folder"/*.gcda
    compile -fprofile-generate
    python3 "$here/train.py" "$folder/tare-module-sim.new"
    compile -fprofile-use
else
    compile
fi
mv "$folder/tare-module-sim.new" "$folder/tare-module-sim"
echo "$state" >"$folder/state"
