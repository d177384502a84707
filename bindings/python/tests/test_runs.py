"""Runs from Python. TARE_URL is a `tare target`."""

import datetime
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import tare
from tare import _plan, _tare

URL = os.environ["TARE_URL"]


def short(**more):
    return tare.http(URL, rate=200, requests=50, accept_invalid=True, **more)


class Results(unittest.TestCase):
    def test_a_result_has_the_figures_of_result_json(self):
        result = short()
        self.assertEqual((result.engine, result.totals.done, result.partial), ("http", 50, False))
        self.assertEqual(result.raw["totals"]["done"], 50)
        self.assertEqual(result.latency_ns.count, 50)
        self.assertLessEqual(result.latency_ns.p50, result.latency_ns.max)
        self.assertEqual([(outcome.key, outcome.count) for outcome in result.outcomes], [("200", 50)])
        self.assertTrue(all(criterion.name for criterion in result.verdict.criteria))
        # What is not described is there, too; what does not exist is not.
        self.assertEqual(result.connections.opened, result.raw["connections"]["opened"])
        with self.assertRaises(AttributeError):
            result.latency

    def test_every_key_that_is_described_is_one_of_result_json(self):
        result = short(fail_if="errors > 0")
        pairs = [
            (tare.Result, result),
            (tare.Verdict, result.verdict),
            (tare.Totals, result.totals),
            (tare.Rates, result.rate),
            (tare.Distribution, result.latency_ns),
            (tare.Criterion, result.verdict.criteria[0]),
            (tare.Threshold, result.thresholds[0]),
            (tare.Outcome, result.outcomes[0]),
            (tare.Interval, result.intervals[0]),
        ]
        # Absent where all is exact, and nothing is special.
        absent = {"bound_from", "labels", "raw"}
        for kind, figures in pairs:
            self.assertEqual(set(kind.__annotations__) - set(figures.raw) - absent, set(), kind)

    def test_intervals_are_tables(self):
        result = short()
        done = sum(row.done for row in result.intervals)
        self.assertEqual(done, 50)
        table = result.to_arrow()
        self.assertEqual((table.num_rows, sum(table["done"].to_pylist())), (len(result.intervals), 50))
        frame = result.to_pandas()
        self.assertEqual((len(frame), frame["done"].sum()), (len(result.intervals), 50))

    def test_frames_are_sent(self):
        result = tare.send("mem:py-send", rate="1k", frames=100, size=64, accept_invalid=True)
        self.assertEqual((result.engine, result.totals.sent, result.totals.bytes_out), ("send", 100, 6000))

    def test_a_run_is_kept_where_it_is_asked_for(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder) / "kept"
            result = short(out=place)
            kept = tare.Result.of_json((place / "result.json").read_text())
            self.assertEqual((kept, kept.run), (result, result.run))
        self.assertEqual(short().store.folder, "")


class Interpreter(unittest.TestCase):
    # A thread that computes hands the interpreter's lock on only so often.
    HELD_S = 1.0

    def setUp(self):
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(self.HELD_S)

    def test_a_load_does_not_wait_for_the_interpreters_lock(self):
        ended = threading.Event()

        def compute():
            while not ended.is_set():
                sum(range(10_000))

        quiet, busy = [], []
        for _ in range(2):
            quiet.append(short())
            ended.clear()
            thread = threading.Thread(target=compute)
            thread.start()
            try:
                busy.append(short())
            finally:
                ended.set()
                thread.join()
        for name, runs in (("quiet", quiet), ("busy", busy)):
            for result in runs:
                figures = f"net p50 {result.net_ns.p50 / 1e3:.0f} us, p99 {result.net_ns.p99 / 1e3:.0f} us"
                print(f"interpreter {name}: {figures}", file=sys.stderr)
                self.assertEqual((result.totals.sent, result.totals.done), (50, 50))
                # One departure that had waited for the lock would be late by more.
                self.assertLess(result.latency_ns.max, self.HELD_S / 2 * 1e9, figures)


class Plans(unittest.TestCase):
    def test_arguments_are_the_keys_of_a_plan(self):
        plan = tare.http_plan(
            URL, rate="2k", duration=datetime.timedelta(seconds=1.5), headers=["A: b"], keep_alive=False, tls_min="1.3"
        )
        canonical = _tare.canonical(plan)
        for line in ('rate = "2000/s"', 'duration = "1500ms"', "keep_alive = false", 'min = "1.3"'):
            self.assertIn(line, canonical)
        self.assertIn('"A: b"', canonical)

    def test_every_key_of_a_plan_has_an_argument(self):
        known = {*_plan.HTTP.values(), *_plan.SEND.values(), *_plan.FRAMES.values()}
        sections = {path.rpartition(".")[0] for path in known}
        wanted = {path for path, _ in _tare.fields() if path.rpartition(".")[0] in sections}
        # The target and the port are arguments of their own; several requests are for plan files; both kinds of
        # frames have a seed, and the same limits.
        self.assertEqual(wanted - known, {"url", "file", "requests"})

    def test_the_stubs_have_every_argument(self):
        self.assertEqual(set(tare.HttpFields.__annotations__), set(_plan.HTTP))
        self.assertEqual(set(tare.SendFields.__annotations__), {*_plan.FRAMES, *_plan.SEND} - {"port"})

    def test_texts_are_written_as_toml_reads_them(self):
        import tomllib

        for text in ("", 'a "b" \\ c', "tab\tline\n", "\x7f\x01", "\u00e9\U0001f600"):
            self.assertEqual(tomllib.loads(f"a = {_plan._toml(text)}")["a"], text)
        value = {"status": [200, "3xx"], "body": "x", "ok": True, "share": 0.5}
        self.assertEqual(tomllib.loads(f"a = {_plan._toml(value)}")["a"], value)

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(TypeError, "no argument 'rat'; did you mean 'rate'"):
            tare.http(URL, rat=5)
        with self.assertRaisesRegex(TypeError, "cannot stand in a plan"):
            tare.http(URL, rate=object())
        with self.assertRaisesRegex(tare.PlanError, "load.rate"):
            tare.http(URL, rate="fast")
        with self.assertRaisesRegex(tare.PlanError, "no-such-if"):
            tare.send("packet:no-such-if")
        with self.assertRaisesRegex(tare.PlanError, "unknown key"):
            tare.run("url = 'http://127.0.0.1/'\nload.rat = 5\n")


class Endings(unittest.TestCase):
    def test_a_threshold_that_fails_is_an_exception_with_the_result(self):
        with self.assertRaisesRegex(tare.ThresholdFailed, "latency.p50 > 1ns") as caught:
            short(fail_if="latency.p50 > 1ns")
        self.assertEqual(caught.exception.result.totals.done, 50)
        self.assertFalse(caught.exception.result.thresholds[0].holds)

    def test_an_invalid_run_is_an_exception_unless_it_is_accepted(self):
        # More than one core makes.
        asked = dict(rate="140M", duration="200ms", queues=1)
        with self.assertRaisesRegex(tare.Invalid, "INVALID") as caught:
            tare.send("fault,drop=100%:mem:py-invalid", **asked)
        self.assertEqual(caught.exception.result.verdict.word, "INVALID")
        result = tare.send("fault,drop=100%:mem:py-accepted", accept_invalid=True, **asked)
        self.assertEqual(result.verdict.word, "INVALID")

    def test_a_target_that_is_not_there_is_an_exception(self):
        with self.assertRaises(tare.Unreachable) as caught:
            tare.http("http://127.0.0.1:1/", rate=50, requests=5)
        self.assertEqual(caught.exception.result.totals.failed, 5)

    def test_a_run_that_the_program_stops_is_none(self):
        run = tare.start(tare.http_plan(URL, rate=50, duration="1h"))
        row = next(iter(run))
        self.assertGreater(row.sent, 0)
        run.stop()
        result = run.result()
        self.assertTrue(result.partial and result.totals.done >= row.done)
        self.assertEqual(run.result(), result)

    def test_ctrl_c_ends_a_run_with_its_result(self):
        program = f"""
import os, signal, sys, tare, threading, time
run = tare.start(tare.http_plan({URL!r}, rate=50, duration="1h"))
next(iter(run))
main = threading.main_thread().ident
def interrupt():
    while sys._current_frames()[main].f_code.co_name != "_wait":
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    run.result()
except tare.Interrupted as interrupted:
    print(isinstance(interrupted, KeyboardInterrupt), interrupted.result.partial, interrupted.result.totals.done > 0)
"""
        # A handler of its own process: a shell that has started the tests in the background ignores the signal.
        child = subprocess.Popen(
            [sys.executable, "-c", "import signal; signal.signal(2, signal.default_int_handler)\n" + program],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            said, _ = child.communicate(timeout=30)
        finally:
            child.kill()
            child.communicate()
        self.assertEqual((said, child.returncode), ("True True True\n", 0))


class Descriptors(unittest.TestCase):
    def test_a_run_leaves_none_behind(self):
        def count():
            return len(os.listdir("/proc/self/fd"))

        def settled(most):
            """The count, once it is no more than most, or after two seconds: the kernel closes some of them late."""
            until = time.monotonic() + 2
            while count() > most and time.monotonic() < until:
                time.sleep(0.01)
            return count()

        tare.http(URL, rate=50, requests=2, accept_invalid=True)
        before = count()
        for _ in range(3):
            tare.http(URL, rate=50, requests=2, accept_invalid=True)
        self.assertLessEqual(settled(before), before)


class Forks(unittest.TestCase):
    def test_a_run_ends_in_the_process_that_started_it(self):
        run = tare.start(tare.http_plan(URL, rate=50, duration="500ms"), accept_invalid=True)
        child = os.fork()
        if child == 0:
            try:
                run.result()
            except tare.TareError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        until = time.monotonic() + 20
        ended, status = os.waitpid(child, os.WNOHANG)
        while ended == 0 and time.monotonic() < until:
            time.sleep(0.01)
            ended, status = os.waitpid(child, os.WNOHANG)
        if ended == 0:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self.assertEqual((ended, os.waitstatus_to_exitcode(status)), (child, 7))
        self.assertGreater(run.result().totals.done, 0)


class Threads(unittest.TestCase):
    def test_other_threads_go_on_while_a_load_runs(self):
        counted, over = 0, threading.Event()

        def count():
            nonlocal counted
            while not over.is_set():
                counted += 1
                time.sleep(0)

        counting = threading.Thread(target=count)
        counting.start()
        try:
            before = counted
            short()
            during = counted - before
        finally:
            over.set()
            counting.join()
        # A quarter of a second of load; with the lock held it would be a handful.
        self.assertGreater(during, 1000)

    def test_rows_come_while_a_run_goes_on(self):
        run = tare.start(tare.http_plan(URL, rate=50, duration="1500ms"), accept_invalid=True)
        rows = list(run)
        result = run.result()
        self.assertGreaterEqual(len(rows), 2)
        self.assertEqual(sum(row.done for row in rows), result.totals.done)
        self.assertEqual(list(run), [])


if __name__ == "__main__":
    unittest.main()
