"""Simulates the module as a netlist: the result of yosys, with registers moved into block RAMs (see netlist.py).

    python gates.py FOLDER      builds FOLDER/tare-module-sim, which behaves like that of hdl/sim/build.sh

So every test of that process can test the netlist. Each cell is simulated as in the ECP5 models of yosys; these have none for the block RAM, so its
model is DP16KD.sv. An unknown cell or parameter is an error.
"""

import collections
import json
import pathlib
import subprocess
import sys

import netlist
import synth

HDL = pathlib.Path(__file__).resolve().parent.parent
TOP = "module_sim"
# Parameters of a block RAM that its model supports; those that only matter to outputs with a reset; and those that must have one value.
KNOWN = {"DATA_WIDTH_A", "DATA_WIDTH_B", "REGMODE_A", "REGMODE_B", "OCEAMUX", "OCEBMUX"}
FREE = {"ASYNC_RESET_RELEASE", "RESETMODE", "GSR"}
FIXED = {
    "DP16KD": {"CLKAMUX": "CLKA", "CLKBMUX": "CLKB", "CSDECODE_A": "0b000", "CSDECODE_B": "0b000", "WRITEMODE_A": "READBEFOREWRITE", "WRITEMODE_B": "READBEFOREWRITE"},
    "CCU2C": {"INJECT1_0": "NO", "INJECT1_1": "NO"},
    "TRELLIS_FF": {"CLKMUX": "CLK", "LSRMUX": "LSR", "SRMODE": "LSR_OVER_CE", "GSR": "DISABLED"},
    "TRELLIS_DPR16X4": {"WCKMUX": "WCK", "WREMUX": "WRE"},
}  # fmt: skip
BUSES = {f"{bus}{port}": width for bus, width in (("AD", 14), ("DI", 18), ("DO", 18)) for port in "AB"}
SINGLE = [f"{wire}{port}" for wire in ("CLK", "CE", "OCE", "WE") for port in "AB"]
IDLE = [f"RST{port}" for port in "AB"] + [f"CS{port}{n}" for port in "AB" for n in range(3)]


def wire(bits):
    """The name of a net, or its value. What is not connected, or undefined, is 0."""
    bit = bits[0] if bits else "0"
    return f"n{bit}" if isinstance(bit, int) else f"1'b{'1' if bit == '1' else '0'}"


def table(init, *inputs):
    """A LUT. The first input is the lowest bit of the index."""
    return f"{len(init)}'b{init} >> {{{', '.join(reversed(inputs))}}}"


class Writer:
    def __init__(self, module):
        self.lines, self.clocked = [], collections.defaultdict(list)
        self.clocks = set()
        nets = {bit for cell in module["cells"].values() for bits in cell["connections"].values() for bit in bits if isinstance(bit, int)}
        nets |= {bit for port in module["ports"].values() for bit in port["bits"] if isinstance(bit, int)}
        self.lines += [f"logic n{net};" for net in sorted(nets)]
        for name, port in module["ports"].items():
            for i, bit in enumerate(port["bits"]):
                at = name if len(port["bits"]) == 1 else f"{name}[{i}]"
                self.lines.append(f"assign n{bit} = {at};" if port["direction"] == "input" else f"assign {at} = {wire([bit])};")
        for name, cell in module["cells"].items():
            parameters = {key: value.strip() for key, value in cell["parameters"].items()}
            for key, value in FIXED.get(cell["type"], {}).items():
                if parameters.get(key, value) != value:
                    sys.exit(f"{name}: {cell['type']} with {key} = {parameters[key]} is not known")
            made = getattr(self, cell["type"], None)
            if made is None:
                sys.exit(f"{name}: {cell['type']} is not known")
            made(parameters, {port: bits if len(bits) > 1 else wire(bits) for port, bits in cell["connections"].items()}, name)
        if len(self.clocks) != 1:
            sys.exit(f"clocks: {self.clocks}")

    def text(self, ports):
        outside = ", ".join(f"{port['direction']} logic [{len(port['bits']) - 1}:0] {name}" for name, port in ports.items())
        clocked = []
        for (reset, enable), statements in self.clocked.items():
            clocked.append(f"if ({reset}) begin {' '.join(f'{q} <= {value};' for q, _, value in statements)} end")
            clocked.append(f"else if ({enable}) begin {' '.join(f'{q} <= {d};' for q, d, _ in statements)} end")
        return "\n".join([f"module {TOP}({outside});", *self.lines, f"always_ff @(posedge {min(self.clocks)}) begin", *clocked, "end", "endmodule", ""])

    def LUT4(self, parameters, at, _name):
        self.lines.append(f"assign {at['Z']} = 1'({table(parameters['INIT'], *(at.get(pin, wire([])) for pin in 'ABCD'))});")

    def PFUMX(self, _parameters, at, _name):
        self.lines.append(f"assign {at['Z']} = {at['C0']} ? {at['ALUT']} : {at['BLUT']};")

    def L6MUX21(self, _parameters, at, _name):
        self.lines.append(f"assign {at['Z']} = {at['SD']} ? {at['D1']} : {at['D0']};")

    def CCU2C(self, parameters, at, name):
        """Two bits of an adder. In each, a LUT decides whether the carry propagates; if not, its lowest quarter is the new carry."""
        carry = at["CIN"]
        for half in "01":
            init = parameters[f"INIT{half}"]
            goes, sets, after = (f"{kind}{half}_{len(self.lines)}" for kind in ("goes", "sets", "carry"))
            pins = [at[f"{pin}{half}"] for pin in "ABCD"]
            self.lines.append(f"wire {goes} = 1'({table(init, *pins)});")
            self.lines.append(f"wire {sets} = 1'({table(init[-4:], *pins[:2])});")
            self.lines.append(f"wire {after} = {goes} ? {carry} : {sets};")
            if f"S{half}" in at:
                self.lines.append(f"assign {at[f'S{half}']} = {goes} ^ {carry};")
            carry = after
        if "COUT" in at:
            self.lines.append(f"assign {at['COUT']} = {carry};")

    def TRELLIS_FF(self, parameters, at, _name):
        enable = {"CE": at.get("CE"), "INV": f"!{at.get('CE')}", "1": "1'b1", "0": "1'b0"}[parameters["CEMUX"]]
        self.clocks.add(at["CLK"])
        self.clocked[at.get("LSR", wire([])), enable].append((at["Q"], at["DI"], "1'b1" if parameters["REGSET"] == "SET" else "1'b0"))

    def TRELLIS_DPR16X4(self, _parameters, at, _name):
        memory = f"ram_{len(self.lines)}"
        self.clocks.add(at["WCK"])

        def bus(port):
            return f"{{{', '.join(wire([bit]) for bit in reversed(at[port]))}}}"

        self.lines.append(f"logic [3:0] {memory}[16];")
        self.lines.append(f"always_ff @(posedge {at['WCK']}) if ({at['WRE']}) {memory}[{bus('WAD')}] <= {bus('DI')};")
        self.lines.append(f"assign {bus('DO')} = {memory}[{bus('RAD')}];")

    def DP16KD(self, parameters, at, name):
        self.clocks |= {at["CLKA"], at["CLKB"]}
        for port in IDLE:
            if at.get(port, wire([])) != wire([]):
                sys.exit(f"{name}: {port} is not 0, which the model does not know")
        unknown = {key for key in parameters if not key.startswith("INITVAL")} - KNOWN - FREE - FIXED["DP16KD"].keys()
        if unknown:
            sys.exit(f"{name}: {unknown} is not known")
        values = [f".{key}({int(value, 2) if set(value) <= {'0', '1'} else json.dumps(value)})" for key, value in parameters.items() if key in KNOWN]
        pins = [f".{bus}({{{', '.join(at[f'{bus}{n}'] for n in reversed(range(width)))}}})" for bus, width in BUSES.items()]
        pins += [f".{port}({at[port]})" for port in SINGLE]
        self.lines.append(f"DP16KD #({', '.join(values)}) memory_{len(self.lines)} ({', '.join(pins)});")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    synth.BUILD = work = HDL / "build" / "gates"
    work.mkdir(parents=True, exist_ok=True)
    synth.yosys("whole", netlist.MAPPING + synth.read(False, HDL / "sim" / f"{TOP}.sv") + f"synth_ecp5 -abc9 -top {TOP} -json whole.json\n")
    moved = netlist.absorb(work / "whole.json", TOP)
    module = json.loads((work / "whole.json").read_text())["modules"][TOP]
    gates = work / "gates.sv"
    gates.write_text(Writer(module).text(module["ports"]))
    print(f"{len(module['cells'])} cells; {moved} flip-flops are registers of block RAMs", flush=True)
    return subprocess.run([HDL / "sim" / "build.sh", folder, gates, HDL / "syn" / "DP16KD.sv"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
