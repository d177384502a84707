#!/bin/sh
# Looks over the hardware sources: style (verible), meaning (verilator), and that what is made from the registers' description is up to date.
# Prints only what is wrong.
#
#   scripts/hdl_lint.sh
set -eu
cd "$(dirname "$0")/.."

bin=hdl/.venv/bin
"$bin/verible-verilog-lint" --rules_config hdl/lint.rules hdl/rtl/*.sv hdl/session/*.sv hdl/session/sim/*.sv hdl/session/formal/*.sv hdl/formal/*.sv hdl/syn/*.sv hdl/syn/boards/*.sv hdl/sim/*.sv

VERILATOR_ROOT=$("$bin/python" -c 'import pathlib, verilator; print(pathlib.Path(verilator.__file__).parent)')
export VERILATOR_ROOT
packages='hdl/rtl/tare_pkg.sv hdl/rtl/generator_pkg.sv hdl/rtl/registers_pkg.sv hdl/rtl/receive_pkg.sv hdl/rtl/host_pkg.sv'
rest=$(ls hdl/rtl/*.sv | grep -v _pkg.sv)
# shellcheck disable=SC2086 # words are to be split
"$VERILATOR_ROOT/bin/verilator" --lint-only -Wall hdl/lint.vlt --top module_sim $packages $rest hdl/sim/module_sim.sv

# The core's other wire side.
# shellcheck disable=SC2086 # words are to be split
"$VERILATOR_ROOT/bin/verilator" --lint-only -Wall hdl/lint.vlt --top core -GXgmii=1 $packages $rest

# The sessions, which no module has yet.
sessions=
for name in tcp_spec session session_engine session_read session_redis; do
    sessions="$sessions hdl/session/${name}_pkg.sv"
done
# shellcheck disable=SC2046,SC2086 # words are to be split
"$VERILATOR_ROOT/bin/verilator" --lint-only -Wall hdl/lint.vlt --top session_sim $packages $rest $sessions \
    $(ls hdl/session/*.sv | grep -v _pkg.sv) hdl/session/sim/session_sim.sv

for board in colorlight_5a_75b ecpix5_85f; do
    # shellcheck disable=SC2086 # words are to be split
    "$VERILATOR_ROOT/bin/verilator" --lint-only -Wall hdl/lint.vlt --top "$board" $packages $rest hdl/syn/boards/*.sv
done

"$bin/python" hdl/regs/regs.py --check
