"""What `make synth` and `make bitstream` have in common: the mapping to LUTs, and output registers of block RAMs.

A block RAM of the ECP5 has an output register, which yosys does not use. Without it, data is valid 5.8 ns after the clock at grade -6; with it, much
earlier. Flip-flops become that register if they take all used outputs of a port, nothing else uses these outputs, and the flip-flops have the clock of
the port, one enable and no reset. In this design the memory is read in each cycle in which these flip-flops are enabled, so it does not matter whether
the enable of the memory also applies to the register.
"""

import collections
import json

# Run before synthesis. Selects one of the mapper's longer scripts: 5 % smaller here than its default, and no slower.
MAPPING = "scratchpad -copy abc9.script.flow3mfs abc9.script\n"
PORTS = ("A", "B")
HALF = 18  # outputs of a port; words of 36 bits are read from the outputs of both ports


def absorb(path, top):
    """Changes the netlist of yosys in the file `path`. Returns the number of flip-flops saved."""
    netlist = json.loads(path.read_text())
    module = netlist["modules"][top]
    cells = module["cells"]
    users = collections.defaultdict(list)
    for name, cell in cells.items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "output":
                for bit in bits:
                    users[bit].append((name, port))
    for name, port in module["ports"].items():
        for bit in port["bits"]:
            users[bit].append((name, "pin"))

    absorbed = 0
    for memory in [cell for cell in cells.values() if cell["type"] == "DP16KD"]:
        wires, parameters = memory["connections"], memory["parameters"]
        wide = any(int(parameters[f"DATA_WIDTH_{side}"], 2) > HALF for side in PORTS)
        for sides in [PORTS] if wide else PORTS:
            outputs = [f"DO{side}{n}" for side in sides for n in range(HALF) if users[wires[f"DO{side}{n}"][0]]]
            after = [users[wires[output][0]] for output in outputs]
            if not outputs or any(len(of) != 1 or of[0][1] != "DI" or cells[of[0][0]]["type"] != "TRELLIS_FF" for of in after):
                continue
            names = [of[0][0] for of in after]
            enable = clocked(cells[names[0]])[0]
            if {clocked(cells[name]) for name in names} != {(enable, parameters[f"CLK{side}MUX"] == f"CLK{side}", wires[f"CLK{side}"][0], True) for side in sides}:
                continue
            for output, name in zip(outputs, names):
                wires[output] = cells.pop(name)["connections"]["Q"]
            for side in sides:
                wires[f"OCE{side}"] = [enable[0]]
                parameters[f"OCE{side}MUX"] = "INV" if enable[1] else f"OCE{side}"
                parameters[f"REGMODE_{side}"] = "OUTREG"
            absorbed += len(names)
    path.write_text(json.dumps(netlist))
    return absorbed


def clocked(cell):
    """((enable, inverted), rising edge, clock, never reset) of a flip-flop."""
    wires, parameters = cell["connections"], cell["parameters"]
    # In a netlist, a string of zeros and ones ends with a space, to tell it from a number.
    how = parameters["CEMUX"].strip()
    enable = (wires["CE"][0] if how in ("CE", "INV") else how, how == "INV")
    return enable, parameters["CLKMUX"] == "CLK", wires["CLK"][0], wires["LSR"][0] == "0" and parameters["REGSET"] == "RESET"
