"""Ports, rules and signatures from Python."""

import gc
import threading
import unittest

import numpy

import tare

# Ethernet, IPv4 from 198.18.0.1 to 198.18.0.2, UDP to port 9 without a checksum, 18 bytes of payload.
FRAME = numpy.frombuffer(
    bytes.fromhex("020000000002020000000001 0800 4500002e 00000000 4011ee97 c6120001 c6120002 04000009 001a0000")
    + bytes(18),
    numpy.uint8,
)


class Ports(unittest.TestCase):
    def test_a_burst_is_one_array_over_the_ports_own_memory(self):
        with tare.Port("mem:py-burst") as out, tare.Port("mem:py-burst") as came:
            burst = out.lend(32)
            self.assertEqual((burst.frames.dtype, len(burst)), (numpy.uint8, 32))
            self.assertFalse(burst.frames.flags.owndata or burst.lengths.flags.owndata)
            burst.frames[:, :60] = FRAME
            burst.frames[:, 59] = numpy.arange(32)
            burst.lengths[:] = 60
            self.assertEqual(out.send(burst), 32)
            out.give_back()
            got = came.receive()
            self.assertEqual((len(got), got.lengths.tolist()), (32, [60] * 32))
            self.assertTrue((got.frames[:, :59] == FRAME[:59]).all())
            self.assertEqual(got.frames[:, 59].tolist(), list(range(32)))
            self.assertEqual(got.frame(3).shape, (60,))
            # The next burst has the same memory: nothing was allocated.
            address = got.frames.ctypes.data
            came.release()
            again = out.lend(1)
            again.lengths[0] = 60
            out.send(again)
            self.assertEqual(came.receive().frames.ctypes.data, address)
            self.assertEqual((out.counters()["sent"], came.counters()["received"]), (33, 33))
            self.assertEqual((out.about()["kind"], out.about()["longest"]), ("mem", 1514))

    def test_waiting_leaves_other_threads_alone(self):
        with tare.Port("mem:py-wait") as out, tare.Port("mem:py-wait") as came:
            self.assertFalse(came.wait(0.0))

            def send():
                burst = out.lend(1)
                burst.lengths[0] = 60
                out.send(burst)

            thread = threading.Timer(0.02, send)
            thread.start()
            self.assertTrue(came.wait(30.0))
            thread.join()

    def test_wrong_use_is_an_exception(self):
        out, came = tare.Port("mem:py-wrong", burst=4), tare.Port("mem:py-wrong")
        with self.assertRaisesRegex(tare.UsageError, "released already"):
            came.release()
        burst = out.lend()
        self.assertEqual(len(burst), 4)
        with self.assertRaisesRegex(tare.UsageError, "lent already"):
            out.lend()
        with self.assertRaisesRegex(tare.UsageError, "only 4 are lent"):
            out.send(burst, 0, 5)
        burst.lengths[0] = 2000
        with self.assertRaisesRegex(tare.UsageError, "has 2000 bytes"):
            out.send(burst)
        with self.assertRaises(OverflowError):
            out.send(burst, -1)
        out.close()
        out.close()
        with self.assertRaisesRegex(tare.UsageError, "closed"):
            out.give_back()
        with self.assertRaises(tare.NoMoreFrames):
            came.receive()
        came.close()
        with self.assertRaisesRegex(tare.PortError, "pakket"):
            tare.Port("pakket:x")
        with self.assertRaisesRegex(tare.UsageError, "'both', 'transmit' or 'receive'"):
            tare.Port("mem:x", direction="up")
        with self.assertRaises(TypeError):
            tare.Port(7)

    def test_arrays_outlive_their_port(self):
        out = tare.Port("mem:py-outlive")
        burst = out.lend(4)
        burst.frames[:] = 7
        out.close()
        del out
        gc.collect()
        self.assertTrue((burst.frames == 7).all())
        burst.frames[:] = 8


class Rules(unittest.TestCase):
    def test_a_burst_is_judged_by_one_call(self):
        rules = tare.Rules("drop from 198.18.0.0/28\nother drop")
        self.assertEqual(len(rules), 1)
        with tare.Port("mem:py-rules") as out, tare.Port("mem:py-rules") as came:
            burst = out.lend(40)
            burst.frames[:, :60] = FRAME
            burst.frames[:, 29] = numpy.arange(40)
            burst.frames[39, 12:14] = (8, 6)
            burst.lengths[:] = 60
            out.send(burst)
            with self.assertRaisesRegex(tare.UsageError, "no burst is held"):
                rules.passes(came)
            got = came.receive()
            passes = rules.passes(came)
            self.assertEqual(passes.dtype, numpy.bool_)
            self.assertEqual(passes.tolist(), [16 <= n < 39 for n in range(40)])
            one = [rules.judge(got.frame(n)) for n in (3, 20, 39)]
            self.assertEqual([(d.passes, d.by, d.line) for d in one],
                             [(False, "rule", 1), (True, "default", None), (False, "other", None)])
        self.assertEqual(rules.judge(b"short").by, "malformed")
        with self.assertRaisesRegex(tare.RulesError, "rules:2:"):
            tare.Rules("pass all\nblok all")


class Signatures(unittest.TestCase):
    def test_a_signature_is_read_as_it_was_written(self):
        frame = bytearray(FRAME.tobytes())
        self.assertIsNone(tare.signature(frame))
        wrote = tare.Signature(seq=5, stream=3, due_unix_ns=1_700_000_000_000_000_000, sent_unix_ns=1_700_000_000_000_000_900)
        tare.sign(frame, wrote)
        self.assertEqual(tare.signature(frame), wrote)
        with self.assertRaisesRegex(tare.UsageError, "18 bytes"):
            tare.sign(bytearray(20), wrote)
        with self.assertRaises(BufferError):
            tare.sign(bytes(frame), wrote)


if __name__ == "__main__":
    unittest.main()
