"""The packed structs of the sources: where each member is, so that benches need not know it."""

import dataclasses
import functools
import pathlib
import re

RTL = pathlib.Path(__file__).resolve().parent.parent / "rtl"


@dataclasses.dataclass(frozen=True)
class Member:
    low: int
    width: int
    type: str  # of a struct, or ""
    count: int  # elements of an array, or 0


@dataclasses.dataclass(frozen=True)
class Struct:
    width: int
    members: dict

    def find(self, path):
        """(lowest bit, width) of a member: `rule_place[2].at`."""
        low, struct, width = 0, self, self.width
        for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?", path):
            # `from_`, as Python has `from` for itself.
            member = struct.members.get(name) or struct.members[name.rstrip("_")]
            width = member.width // (member.count or 1) if index else member.width
            low += member.low + (int(index) * width if index else 0)
            struct = structs().get(member.type)
        return low, width

    def put(self, whole, path, value):
        """The number `whole` with this value in a member."""
        low, width = self.find(path)
        mask = (1 << width) - 1
        return whole & ~(mask << low) | (int(value) & mask) << low

    def pack(self, **values):
        """A number with these members; the others are 0. A member of a member is `listen__signature_at`."""
        whole = 0
        for path, value in values.items():
            whole = self.put(whole, path.replace("__", "."), value)
        return whole

    def of(self, whole, path):
        low, width = self.find(path)
        return whole >> low & (1 << width) - 1


@functools.cache
def structs():
    """{name: Struct} of all packages."""
    order = ("tare_pkg", "generator_pkg", "registers_pkg", "receive_pkg", "host_pkg")
    text = re.sub(r"//[^\n]*", "", "".join((RTL / f"{name}.sv").read_text() for name in order))
    numbers, widths, found = {"$clog2": lambda n: max(n - 1, 0).bit_length()}, {}, {}

    def number(words):
        return eval(words.replace("$clog2", "clog2"), {"__builtins__": {}}, numbers | {"clog2": numbers["$clog2"]})  # noqa: S307

    def width(type_, bits):
        one = 1 if type_ == "logic" else found[type_].width if type_ in found else widths[type_]
        return one * (number(bits) + 1 if bits else 1)

    known = re.compile(
        r"localparam int unsigned (\w+) = ([^;]+);|typedef (?:enum )?logic (?:\[([^:\]]+):0\] )?(?:\{[^}]*\} )?(\w+);"
        r"|typedef struct packed \{([^}]*)\} (\w+);"
    )
    for constant, value, bits, simple, body, name in (match.groups() for match in known.finditer(text)):
        if constant:
            numbers[constant] = number(value)
        elif simple:
            widths[simple] = number(bits) + 1 if bits else 1
        else:
            members, low = {}, 0
            # The first member is the highest.
            for type_, bits, member in reversed(re.findall(r"(\w+)\s+(?:\[([^:\]]+):0\]\s*)?(\w+);", body)):
                size = width(type_, bits)
                members[member] = Member(low, size, type_, size // found[type_].width if bits and type_ in found else 0)
                low += size
            found[name] = Struct(low, members)
    return found


def of_port(module, port):
    """The struct of a module's port, or None."""
    match = re.search(rf"^\s*(?:input|output)\s+(\w+)\s+{port}\b", (RTL / f"{module}.sv").read_text(), re.M)
    return structs().get(match[1]) if match else None
