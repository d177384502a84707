"""Generates what follows from the description of the registers and of the generator's memories.

    python regs.py            writes rtl/registers_pkg.sv, rtl/registers.sv, crates/port/src/fpga/registers.rs and
                              the table in docs/fpga-reference.md
    python regs.py --check    lists those that are out of date, and exits with status 1 if there are any

The generator is our own because the module needs only four kinds of fields, and reads that take two cycles so that
the clock can be fast.
"""

import hashlib
import pathlib
import sys
import textwrap

from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.node import RegfileNode, RegNode

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PKG = HERE.parent / "rtl" / "registers_pkg.sv"
SV = HERE.parent / "rtl" / "registers.sv"
RS = ROOT / "crates" / "port" / "src" / "fpga" / "registers.rs"
PAGE = ROOT / "docs" / "fpga-reference.md"
BEGIN, END = "<!-- registers -->\n", "<!-- /registers -->\n"
PAGE_WIDTH = 112
# Types of the sources for values that have names.
SV_ENUMS = {"from": "from_e", "memory": "memory_e"}
SV_KEYWORDS = {"time"}


class Field:
    def __init__(self, node, reg):
        self.reg, self.low, self.high, self.width = reg, node.low, node.high, node.width
        self.field_name = node.inst_name
        self.name = reg.name if node.inst_name == "value" else f"{reg.name}_{node.inst_name.rstrip('_')}"
        self.desc = node.get_property("desc") or ""
        encoding = node.get_property("encode")
        self.encoding = encoding and encoding.type_name
        self.names = {each.value: each.name for each in encoding or []}
        self.desc = self.desc.replace("{values}", ", ".join(f"{value} {name}" for value, name in self.names.items()))
        self.unit = node.get_property("unit", default=None)
        # What the host may write.
        self.least = node.get_property("least", default=min(self.names, default=0))
        self.most = node.get_property("most", default=max(self.names, default=(1 << self.width) - 1))
        self.reset = node.get_property("reset", default=0) or 0
        if node.get_property("singlepulse") or node.get_property("swmod"):
            self.kind = "pulse"
        elif node.is_sw_writable:
            self.kind = "setting"
        else:
            self.kind = "value" if node.is_hw_writable else "constant"
        plain = node.inst_name == "value"
        # Where it is in the structs of registers_pkg.sv: the group, the register if it is one of several, the member.
        group = node.get_property("group", default=None)
        self.group = reg.group if group is None else group
        index = getattr(reg, "index", "")
        own = reg.array if plain or not self.group else node.inst_name
        member = own if plain or self.group else f"{own}_{node.inst_name}"
        member = node.inst_name if index else member.removeprefix(f"{self.group}_")
        self.member = f"{member}_" if member in SV_KEYWORDS else member
        self.holder = reg.array if index else ""
        holder = f"{self.holder}[{index}]" if index else ""
        self.path = ".".join(part for part in (self.group, holder, self.member) if part)
        self.sv_type = SV_ENUMS.get(self.encoding, f"logic [{self.width - 1}:0]" if self.width > 1 else "logic")

    def source(self):
        """Of what is read: the value in the structs."""
        return f"values_i.{self.path}"

    def target(self):
        return f"settings_o.{self.path}"

    def cast(self, value):
        return f"{self.sv_type}'({value})" if self.encoding in SV_ENUMS else value


class Reg:
    def __init__(self, node: RegNode):
        self.index = "".join(f"{i}" for i in node.current_idx or [])
        self.array = node.inst_name
        self.name = node.inst_name + self.index
        self.group = node.get_property("group", default="")
        self.title = node.get_property("name")
        self.desc = node.get_property("desc") or ""
        self.address = node.absolute_address
        self.width = node.get_property("regwidth")
        # Answered elsewhere: registers.sv has nothing of it.
        self.external = node.external
        # Its halves are of one cycle by themselves.
        self.steady = node.get_property("steady", default=False)
        self.counts = node.get_property("counts", default=False)
        self.fields = [Field(field, self) for field in node.fields()]


class Memory:
    """A memory of the generator: a list of items, each of one word or of eight."""

    def __init__(self, node: RegfileNode, number):
        self.name, self.number, self.desc = node.inst_name, number, node.get_property("desc").rstrip(".")
        self.item = node.get_property("name", default="")
        self.items, self.stride = node.array_dimensions[0], node.array_stride // 4
        self.words = [Word(reg, self) for reg in node.registers()]


class Word:
    def __init__(self, node: RegNode, memory):
        self.name, self.at = node.inst_name, node.raw_address_offset // 4
        self.array, self.group = self.name, ""
        self.const = f"{memory.name}_{self.name}".upper()
        self.desc = (node.get_property("desc") or "").rstrip(".")
        self.fields = [Field(field, self) for field in node.fields()]


def described(top):
    """An address map of the description."""
    compiler = RDLCompiler()
    try:
        compiler.compile_file(str(HERE / "module.rdl"))
        return compiler.elaborate(top).top
    except RDLCompileError:
        sys.exit("hdl/regs/module.rdl is not valid, so nothing was generated; the errors are above")


def registers():
    return [Reg(node) for node in described("module").descendants(unroll=True) if isinstance(node, RegNode)]


def memories(regs):
    """In the order of their numbers, which the register `memory` gives them."""
    numbers = {name: number for number, name in next(reg for reg in regs if reg.name == "memory").fields[0].names.items()}
    nodes = [node for node in described("memories").children() if isinstance(node, RegfileNode)]
    return sorted((Memory(node, numbers.pop(node.inst_name)) for node in nodes), key=lambda memory: memory.number)


def places(regs, *kinds):
    """The words that have fields of these kinds, as items of a case, in lines that are not too long."""
    words = set()
    for reg in regs:
        for field in reg.fields:
            if field.kind in kinds:
                words |= {(reg.address >> 2) + half for half in range(field.low // 32, field.high // 32 + 1)}
    items = [f"11'h{word:03x}" for word in sorted(words)]
    return ",\n      ".join(", ".join(items[at : at + 14]) for at in range(0, len(items), 14))


def constant(regs, name):
    return f"32'h{next(reg for reg in regs if reg.name == name).fields[0].reset:08x}"


def structs(regs, name, kinds):
    """The struct of all fields of these kinds, after those of its groups."""
    out, members, groups = [], [], {}
    for reg in regs:
        for field in reg.fields:
            if field.kind in kinds:
                (groups.setdefault(field.group, []) if field.group else members).append(field)

    def struct(name, fields):
        lines, seen = [], set()
        for field in fields:
            if field.holder:
                if field.holder not in seen:
                    own = [other for other in fields if other.holder == field.holder]
                    first = [other for other in own if other.reg is field.reg]
                    struct(f"{field.holder}_t", [NoHolder(other) for other in first])
                    lines.append(f"    {field.holder}_t [{len(own) // len(first) - 1}:0] {field.holder};")
                    seen.add(field.holder)
                continue
            lines.append(f"    {field.sv_type} {field.member};")
            if field.kind == "pulse" and field.width > 1:
                lines.append(f"    logic {field.member}_write;")
        out.append(f"  typedef struct packed {{\n" + "\n".join(lines) + f"\n  }} {name};\n")

    for group, fields in groups.items():
        struct(f"{group}_t", fields)
    struct(name, [NoHolder(field) for field in members] + [Nested(group) for group in groups])
    return "\n".join(out)


class NoHolder:
    """A field as a direct member of a struct."""

    def __init__(self, field):
        self.holder, self.sv_type, self.member, self.kind, self.width = "", field.sv_type, field.member, field.kind, field.width


class Nested:
    """A group as a member."""

    def __init__(self, group):
        self.holder, self.sv_type, self.member, self.kind, self.width = "", f"{group}_t", group, "group", 1


def package(regs):
    regs = [reg for reg in regs if not reg.external]
    return f"""// Generated from regs/module.rdl by regs/regs.py; make changes there.
//
// What the host writes (settings_t) and reads (values_t) through registers, with a struct for each group of
// fields. The meaning of each field is in docs/fpga-reference.md.
package registers_pkg;
  import tare_pkg::*;
  import generator_pkg::*;

  // Constants, for the answer to hello.
  localparam logic [31:0] Magic = {constant(regs, "magic")};
  localparam logic [31:0] Layout = {constant(regs, "layout")};

  // A read or a write. Addresses are in bytes.
  typedef struct packed {{
    logic        write;
    logic        read;
    logic [12:0] address;
    logic [31:0] data;
  }} register_ask_t;

  // `valid` marks the answer to a read. `unknown` is also valid one cycle after a write: the address cannot be
  // read, or written.
  typedef struct packed {{
    logic        valid;
    logic        unknown;
    logic [31:0] data;
  }} register_answer_t;

{structs(regs, "settings_t", ("pulse", "setting"))}
{structs(regs, "values_t", ("value",))}
endpackage
"""


def sv(regs):
    regs = [reg for reg in regs if not reg.external]
    state, reset, write, reads = [], [], [], []
    for reg in regs:
        for half in range(reg.width // 32):
            terms = []
            for field in reg.fields:
                if field.kind in ("pulse", "setting"):
                    continue
                low, high = max(field.low, 32 * half), min(field.high, 32 * half + 31)
                if low > high:
                    continue
                source = {"constant": f"{field.width}'h{field.reset:x}", "value": field.source()}[field.kind]
                if field.width > 1 and field.kind != "constant":
                    source += f"[{high - field.low}:{low - field.low}]"
                elif field.kind == "constant":
                    source = f"{high - low + 1}'h{field.reset >> (low - field.low) & (1 << (high - low + 1)) - 1:x}"
                terms.append((low - 32 * half, high - low + 1, source))
            if terms:
                at, parts = 0, []
                for low, width, source in sorted(terms):
                    if low > at:
                        parts.insert(0, f"{low - at}'b0")
                    parts.insert(0, source)
                    at = low + width
                if at < 32:
                    parts.insert(0, f"{32 - at}'b0")
                word = "{" + ", ".join(parts) + "}" if len(parts) > 1 else parts[0]
                reads.append((reg, half, word))
        for field in reg.fields:
            if field.kind == "setting" or (field.kind == "pulse" and field.width == 1):
                value = f"{field.width}'h{field.reset:x}"
                reset.append(f"      {field.target()} <= {field.cast(value)};")
            if field.kind == "pulse" and field.width == 1:
                state.append(f"    {field.target()} <= 1'b0;")
            if field.kind == "setting" or (field.kind == "pulse" and field.width == 1):
                for half in range(reg.width // 32):
                    low, high = max(field.low, 32 * half), min(field.high, 32 * half + 31)
                    if low > high:
                        continue
                    target = field.target() + (f"[{high - field.low}:{low - field.low}]" if field.width > 32 else "")
                    data = f"data_q[{high - 32 * half}:{low - 32 * half}]" if high > low else f"data_q[{low - 32 * half}]"
                    write.append(f"11'h{(reg.address + 4 * half) >> 2:03x}: {target} <= {field.cast(data)};")
    # Several fields of one register are one item of the case.
    by_item = {}
    for line in write:
        item, rest = line.strip().split(": ", 1)
        by_item.setdefault(item, []).append(rest)
    cases = "\n".join(
        f"    if (hit_q[{at}]) {rests[0]}" if len(rests) == 1 else f"    if (hit_q[{at}]) begin\n" + "\n".join(f"      {r}" for r in rests) + "\n    end"
        for at, (_, rests) in enumerate(sorted(by_item.items()))
    )
    hits = "\n".join(f"    hit_q[{at}] <= ask_i.write && word == {item};" for at, item in enumerate(sorted(by_item)))
    groups = {}
    for reg, half, word in reads:
        groups.setdefault((reg.address + 4 * half) >> 5, []).append((reg, half, word))
    read = []
    for number, (group, items) in enumerate(sorted(groups.items())):
        lines = []
        for reg, half, word in items:
            if half == 1 and not reg.steady and any(field.kind == "value" for field in reg.fields):
                word = "high_q"
            lines.append(f"        3'h{(reg.address + 4 * half) >> 2 & 7}: group_q[{number}] <= {word};")
        read.append(f"    if (word_q[10:3] == 8'h{group:02x}) begin\n      unique case (word_q[2:0])\n" + "\n".join(lines)
                    + f"\n        default: group_q[{number}] <= '0;\n      endcase\n    end else begin\n      group_q[{number}] <= '0;\n    end")
    shadows = []
    for reg in regs:
        if reg.width == 64 and not reg.steady and all(field.kind == "value" for field in reg.fields):
            field = reg.fields[0]
            shadows.append(f"        11'h{reg.address >> 2:03x}: high_q <= 32'({field.source()}[{field.width - 1}:32]);")
    data_field = [field for reg in regs for field in reg.fields if field.kind == "pulse" and field.width > 1]
    strobes = [
        f"    {field.target()}_write <= ask_i.write && word == 11'h{field.reg.address >> 2:03x};\n"
        f"    {field.target()} <= ask_i.data{'' if field.width == 32 else f'[{field.width - 1}:0]'};"
        for field in data_field
    ]
    return f"""// Generated from regs/module.rdl by regs/regs.py; make changes there.
//
// A write takes effect two cycles later. The answer to a read comes three cycles after it, one read at a time.
// For 64-bit registers that the core writes, reading the low half latches the high half for the next read.
//
// `unknown` holds until the next read or write.
module registers
  import tare_pkg::*;
  import generator_pkg::*;
  import registers_pkg::*;
(
    input  logic             clk_i,
    input  logic             rst_ni,
    input  register_ask_t    ask_i,
    output register_answer_t answer_o,
    output settings_t        settings_o,
    input  values_t          values_i
);
  wire [10:0] word = ask_i.address[12:2];
  logic [10:0] word_q;  // the word to read
  logic [2:0] reading_q;
  logic [31:0] high_q;
  logic [{len(groups) - 1}:0][31:0] group_q;
  logic [31:0] any_group;
  // Writes are decoded a cycle early, so that no register waits for the decoding of an address.
  logic [{len(by_item) - 1}:0] hit_q;
  logic [31:0] data_q;
  always_comb begin
    any_group = '0;
    for (int unsigned i = 0; i < {len(groups)}; i++) any_group |= group_q[i];
  end

  always_ff @(posedge clk_i) begin
{chr(10).join(state)}
{chr(10).join(strobes)}
    data_q <= ask_i.data;
{hits}
{cases}
    if (!rst_ni) begin
      hit_q <= '0;
{chr(10).join(reset)}
    end
  end

  logic readable, writable;
  always_comb begin
    unique case (word)
      {places(regs, "constant", "value")}: readable = 1'b1;
      default: readable = 1'b0;
    endcase
    unique case (word)
      {places(regs, "pulse", "setting")}: writable = 1'b1;
      default: writable = 1'b0;
    endcase
  end

  // The address is stable until the answer.
  logic readable_q, writable_q, wrote_q;
  assign answer_o.unknown = wrote_q ? !writable_q : !readable_q;
  always_ff @(posedge clk_i) begin
    readable_q <= readable;
    writable_q <= writable;
    wrote_q    <= ask_i.write || (wrote_q && !ask_i.read);
  end

  // Reading: select within groups of eight words first, then combine the groups.
  always_ff @(posedge clk_i) begin
    word_q <= word;
    if (reading_q[0]) begin
      unique case (word_q)
{chr(10).join(shadows)}
        default: ;
      endcase
    end
    if (reading_q[0]) begin
{textwrap.indent(chr(10).join(read), '  ')}
    end
    answer_o.data  <= any_group;
    answer_o.valid <= reading_q[1];
    reading_q      <= {{reading_q[1:0], ask_i.read}};
    if (!rst_ni) begin
      reading_q      <= '0;
      answer_o.valid <= 1'b0;
    end
  end
endmodule
"""


def layout(regs):
    """The first 32 bits of a hash of where everything is and what it does: a host that has another one must not write."""
    rows = [(reg.name, reg.address, reg.width, field.field_name, field.low, field.width, field.kind) for reg in regs for field in reg.fields]
    return int.from_bytes(hashlib.sha256(repr(rows).encode()).digest()[:4], "big")


def with_layout(regs):
    """The register that tells the hash has it as its constant."""
    for reg in regs:
        if reg.name == "layout":
            reg.fields[0].reset = layout(regs)
    return regs


ACCESS = {"constant": "Constant", "value": "Value", "setting": "Setting", "pulse": "Command"}


def text(words):
    return " ".join(words.split()).replace('"', '\\"')


def rust_field(field):
    return (f'Field {{ name: "{field.field_name.rstrip("_")}", low: {field.low}, width: {field.width}, access: Access::{ACCESS[field.kind]}, '
            f'unit: "{field.unit or ""}", about: "{text(field.desc)}", reset: {field.reset}, least: {field.least}, most: {field.most} }}')


def rust_fields(out, prefix, fields):
    """The fields as a Rust slice. Those with a name are constants of their own, which go to `out`."""
    if len(fields) == 1 and fields[0].field_name == "value":
        return f"&[{rust_field(fields[0])}]"
    names = [f"{prefix}_{field.field_name.rstrip('_')}".upper() for field in fields]
    out += [f"pub const {name}: Field = {rust_field(field)};" for field, name in zip(fields, names)]
    return f"&[{', '.join(names)}]"


def rust(regs, mems):
    out = [
        "//! The registers of the FPGA module and the memories of its generator. Generated from hdl/regs/module.rdl by",
        "//! hdl/regs/regs.py; make changes there.",
        "",
        "use super::register::{Access, Field, Memory, Register, Word};",
        "",
        "/// What the register `layout` says if the module was made from this description.",
        f"pub const LAYOUT_HASH: u32 = 0x{layout(regs):08x};",
        "",
    ]
    enums = {}
    for field in [field for reg in regs + [word for memory in mems for word in memory.words] for field in reg.fields]:
        if field.names and field.encoding != "memory":
            enums[field.encoding] = field.names
    for encoding, names in enums.items():
        out += [f"pub const {encoding}_{name}: u64 = {value};".replace(f"{encoding}_{name}", f"{encoding}_{name}".upper()) for value, name in names.items()]
        out.append("")
    for reg in regs:
        parts = [text(part).rstrip(".") for part in [reg.title, reg.desc] if part]
        about = ". ".join(part[0].upper() + part[1:] for part in parts)
        consts = []
        fields = rust_fields(consts, reg.name, reg.fields)
        out += [
            f"/// {about}.",
            f'pub const {reg.name.upper()}: Register = Register {{ name: "{reg.name}", address: 0x{reg.address:03x}, bits: {reg.width}, '
            f'about: "{about}", fields: {fields} }};',
            *consts,
            "",
        ]
    by_address = sorted(regs, key=lambda reg: reg.address)
    for name, about, some in [
        ("ALL", "All registers, by address", by_address),
        ("COUNTERS", "Registers that count events, by address", [reg for reg in by_address if reg.counts]),
    ]:
        out += [f"/// {about}.", f"pub const {name}: &[Register] = &[", *(f"    {reg.name.upper()}," for reg in some), "];", ""]
    for memory in mems:
        consts = []
        for word in memory.words:
            fields = rust_fields(consts, word.const, word.fields)
            if word.desc:
                consts.append(f"/// {word.desc}.")
            consts.append(f'pub const {word.const}: Word = Word {{ name: "{word.name}", at: {word.at}, fields: {fields} }};')
        out += [
            f"/// {memory.desc}.",
            f'pub const {memory.name.upper()}: Memory = Memory {{ name: "{memory.name}", number: {memory.number}, item: "{memory.item}", '
            f"items: {memory.items}, stride: {memory.stride}, words: &[{', '.join(word.const for word in memory.words)}] }};",
            *consts,
            "",
        ]
    out += ["/// All memories, by number.", f"pub const MEMORIES: &[Memory] = &[{', '.join(memory.name.upper() for memory in mems)}];", ""]
    return "\n".join(out)


def meaning(reg_desc, field):
    """One description of a register and its field, with the unit. Things counted come first: "Frames that left"."""
    text = "; ".join(part.rstrip(".") for part in (reg_desc, field.desc) if part)
    if field.unit in ("frames", "bytes"):
        text = f"{field.unit} {text[:1].lower()}{text[1:]}"
    elif field.unit:
        text += f" ({field.unit})"
    return text[:1].upper() + text[1:]


def row(address, bits, access, name, text):
    head = f"{address:<9}{bits:<7}{access:<8}{name:<22}"
    lines = textwrap.wrap(text, PAGE_WIDTH - len(head)) or [""]
    return [(start + line).rstrip() for start, line in zip([head] + [" " * len(head)] * len(lines), lines)]


def page(regs):
    """A row for each register, and below it one for each field if it has several. An array has one row."""
    out = ["```text", *row("address", "bits", "access", "register", "meaning")]
    access = {"constant": "r", "value": "r", "setting": "w", "pulse": "w"}
    for reg in regs:
        elements = [other for other in regs if other.array == reg.array]
        if reg is not elements[0]:
            continue
        name = reg.name if len(elements) == 1 else f"{reg.array}[{len(elements)}]"
        address, may = f"0x{reg.address:03x}", access[reg.fields[0].kind]
        bits = [f"{field.high}:{field.low}" if field.width > 1 else f"{field.low}" for field in reg.fields]
        if len(reg.fields) == 1:
            out += row(address, bits[0], may, name, meaning(reg.desc, reg.fields[0]))
            continue
        out += row(address, "", may, name, reg.desc.rstrip("."))
        for bit, field in zip(bits, reg.fields):
            out += row("", bit, "", f"  .{field.field_name.rstrip('_')}", meaning("", field))
    return "\n".join([*out, "```", ""])


def main():
    regs = with_layout(registers())
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    made = {PKG: package(regs), SV: sv(regs), RS: rust(regs, memories(regs)), PAGE: before + BEGIN + page(regs) + END + after}
    wrong = [path for path, content in made.items() if not path.exists() or path.read_text() != content]
    if "--check" in sys.argv[1:]:
        for path in wrong:
            print(f"{path.relative_to(ROOT)} is out of date: run hdl/regs/regs.py")
        sys.exit(bool(wrong))
    for path in wrong:
        path.write_text(made[path])
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
