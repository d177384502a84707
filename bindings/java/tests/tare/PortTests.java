package tare;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static tare.Check.fails;
import static tare.Check.holds;
import static tare.Check.refused;
import static tare.Check.same;
import static tare.Frames.pair;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import tare.TareException.Kind;

/** Ports, bursts and signatures: what they do, and what they refuse. */
final class PortTests {
    private PortTests() {}

    static void all() throws Exception {
        orderAndContent();
        signatures();
        facts();
        passing();
        decisionsEndWithTheirBurst();
        waiting();
        threads();
        closedThoughBusy();
        wrongOpenings();
        wrongOrder();
        wrongBytes();
        noBytes();
        closed();
    }

    /** What was sent arrives, in order, byte for byte: of every length. */
    private static void orderAndContent() throws Exception {
        try (Port out = Port.open("mem:j-order"); Port in = Port.open("mem:j-order")) {
            int next = 60;
            for (int first = 60; first <= 1_514; first += 97) {
                Burst burst = out.lend(97);
                same(97, burst.count());
                for (int i = 0; i < 97; i++) {
                    int length = first + i <= 1_514 ? first + i : 0;
                    byte[] bytes = new byte[length];
                    Arrays.fill(bytes, (byte) (length * 7));
                    burst.frame(i).put(0, bytes);
                }
                same(97, out.send(burst));
                out.giveBack();
                Burst came = in.receive();
                long bytes = 0;
                for (int i = 0; i < came.count(); i++, next++) {
                    FrameAccessor frame = came.frame(i);
                    same(next, frame.length());
                    same(next, came.wireLength(i));
                    byte[] expected = new byte[next];
                    Arrays.fill(expected, (byte) (next * 7));
                    holds(Arrays.equals(expected, frame.bytes()), "bytes of a frame of " + next);
                    bytes += next;
                }
                same(bytes, came.bytes());
                in.release();
            }
            same(1_515, next);
            same(1_455L, out.count().sent());
            same(0L, out.count().lost());
            same(1_455L, in.count().received());
        }
    }

    private static void signatures() throws Exception {
        try (Port out = Port.open("mem:j-sign"); Port in = Port.open("mem:j-sign")) {
            Signature wrote = new Signature(12_345_678_901L, 1_700_000_000_000_000_000L, 1_700_000_000_000_001_234L, 7);
            Burst burst = out.lend(2);
            FrameAccessor frame = burst.frame(0).put(0, Frames.UDP);
            same(true, Signature.read(frame).isEmpty());
            wrote.write(frame);
            burst.frame(1).put(0, Frames.UDP).resize(59);
            refused(Kind.NO_ROOM, "18 bytes", () -> wrote.write(burst.frame(1)));
            refused(Kind.VALUE, "0 to 255", () -> new Signature(1, 1, 1, 256).write(burst.frame(0)));
            refused(Kind.VALUE, "2^40", () -> new Signature(1L << 40, 1, 1, 0).write(burst.frame(0)));
            same(2, out.send(burst));
            Burst came = in.receive();
            same(wrote, Signature.read(came.frame(0)).orElseThrow());
            same(true, Signature.read(came.frame(1)).isEmpty());
            // Two frames at once.
            FrameAccessor other = came.accessor().moveTo(1);
            holds(came.frame(0).length() == 60 && other.length() == 59, "two accessors");
            in.release();
            fails(IllegalStateException.class, "released", () -> other.u8(0));
        }
    }

    private static void facts() throws Exception {
        try (Port port = Port.open("mem,stamp=batch:j-facts", Port.Options.DEFAULTS.longest(9_000).burst(7))) {
            Port.About about = port.about();
            same("mem", about.kind());
            same("mem:j-facts", about.name());
            same(9_000, about.longest());
            same("", about.mac());
            holds(about.transmits() && about.receives() && about.stampedBy() == 3, about.toString());
            same(7, port.lend(100).count());
        }
        holds(Port.version().matches("[0-9]+\\.[0-9]+\\.[0-9]+"), Port.version());
    }

    private static void passing() throws Exception {
        Port[] left = pair("mem:j-left");
        Port[] right = pair("mem,slots=8:j-right");
        try (Port a = left[0]; Port b = left[1]; Port c = right[0]; Port d = right[1];
                Filter rules = Filter.compile("drop from 198.18.0.0/30")) {
            Frames.send(a, 20);
            Burst held = b.receive();
            for (int i = 0; i < 20; i++) {
                held.decide(i, i % 2 == 1);
            }
            same(15, c.pass(held, 0, 20));
            fails(TareException.class, "only 20 are held", () -> c.pass(held, 19, 2));
            fails(IllegalArgumentException.class, "first is -1", () -> c.pass(held, -1, 2));
            Burst came = d.receive();
            same(8, came.count());
            same(14, came.frame(7).u8(29));
            d.release();
            // And back where they came from.
            same(20, b.pass(held, 0, 20));
            same(10, a.receive().count());
            a.release();
            b.release();
            refused(Kind.ORDER, "no burst is held", () -> c.pass(held, 0, 1));

            Frames.send(a, 20);
            Port.Forwarded done = b.forward(c, rules, 100);
            same("20 1200 16 8", done.received() + " " + done.receivedBytes() + " " + done.passed() + " " + done.sent());
            same(4, d.receive().frame(0).u8(29));
            d.release();
            Frames.send(a, 3);
            same(3, b.forward(null, null, 100).passed());
            refused(Kind.BUSY, "in use", () -> b.forward(b, null, 1));
            Burst lent = c.lend(1);
            fails(IllegalArgumentException.class, "is lent", () -> c.pass(lent, 0, 1));
            fails(IllegalArgumentException.class, "is not what mem:j-left lent", () -> a.send(lent));
        }
    }

    /** What was decided of a burst, by whomever, says nothing of the next. */
    private static void decisionsEndWithTheirBurst() throws Exception {
        String all = "drop all";
        try (Port out = Port.open("mem:j-decided"); Port in = Port.open("mem:j-decided");
                Port next = Port.open("mem:j-undecided"); Port end = Port.open("mem:j-undecided");
                Filter filter = Filter.compile(all)) {
            RuleTable table = new RuleTable(all);
            for (int way = 0; way < 3; way++) {
                Frames.send(out, 20);
                Burst first = in.receive();
                switch (way) {
                    case 0 -> first.decide(19, true);
                    case 1 -> same(0, filter.judge(first));
                    default -> same(0, table.judge(first));
                }
                same(true, (first.decision(19) & 1) == 1);
                in.release();
                // Fewer in between: those behind them are clean as well.
                Frames.send(out, 3);
                in.receive();
                in.release();
                Frames.send(out, 20);
                Burst second = in.receive();
                same(20, next.pass(second, 0, 20));
                same(20, end.receive().count());
                end.release();
                in.release();
            }
        }
    }

    private static void waiting() throws Exception {
        try (Port out = Port.open("mem:j-wait"); Port in = Port.open("mem:j-wait")) {
            same(false, in.awaitFrames(Duration.ZERO));
            same(false, in.awaitFrames(Duration.ofMillis(70)));
            same(true, out.awaitRoom(Duration.ofDays(1_000_000)));
            same(true, out.flush(Duration.ofSeconds(1)));
            fails(IllegalArgumentException.class, "negative", () -> in.awaitFrames(Duration.ofNanos(-1)));
            fails(NullPointerException.class, "", () -> in.awaitFrames(null));
            // An interrupt ends a wait, and is not lost on one that comes first.
            Thread here = Thread.currentThread();
            Thread.startVirtualThread(() -> {
                try {
                    Thread.sleep(30);
                } catch (InterruptedException never) {
                    return;
                }
                here.interrupt();
            });
            fails(InterruptedException.class, "interrupted", () -> in.awaitFrames(Duration.ofMinutes(1)));
            here.interrupt();
            fails(InterruptedException.class, "interrupted", () -> in.awaitFrames(Duration.ofMinutes(1)));
            Frames.send(out, 1);
            same(true, in.awaitFrames(Duration.ofMinutes(1)));
        }
    }

    /** A port is its thread's, until that hands it over or ends. */
    private static void threads() throws Exception {
        Port out = Port.open("mem:j-threads");
        Port in = Port.open("mem:j-threads");
        Frames.send(out, 4);
        Burst held = in.receive();
        for (Check.Work work : new Check.Work[] {
            in::release, in::receive, () -> in.lend(1), () -> out.forward(in, null, 1), in::close, in::handOver,
            () -> in.awaitFrames(Duration.ZERO), in::count, in::about
        }) {
            same("belongs to thread main", elsewhere(work).replaceFirst(".*(belongs to thread main).*", "$1"));
        }
        in.release();
        in.handOver();
        same("", elsewhere(() -> in.receive()));
        // That thread has ended.
        same(0, in.receive().count());
        same(4L, in.count().received());
        // A burst that another thread looks at while its port is closed: an exception, or an old byte, and no crash.
        Frames.send(out, 4);
        Burst looked = in.receive();
        FrameAccessor frame = looked.frame(0);
        AtomicReference<Throwable> seen = new AtomicReference<>();
        Thread looker = new Thread(() -> {
            try {
                while (true) {
                    frame.u8(0);
                }
            } catch (RuntimeException closed) {
                seen.set(closed);
            }
        });
        looker.start();
        Thread.sleep(20);
        in.close();
        looker.join();
        holds(seen.get() instanceof IllegalStateException || seen.get() instanceof IndexOutOfBoundsException,
                String.valueOf(seen.get()));
        fails(IllegalStateException.class, "closed", () -> held.frame(0));
        out.close();
    }

    /** Closing waits for a call that another thread is still in: the other end sees that the port has gone. */
    private static void closedThoughBusy() throws Exception {
        for (int round = 0; round < 50; round++) {
            Port in = Port.open("mem:j-busy");
            Port out = Port.open("mem:j-busy");
            long handle = out.handle();
            CountDownLatch began = new CountDownLatch(1);
            Thread other = new Thread(() -> {
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment told = arena.allocate(JAVA_LONG);
                    began.countDown();
                    Native.portWait(handle, 2, 5_000_000, told);
                }
            });
            other.start();
            began.await();
            Thread.sleep(1);
            out.close();
            refused(Kind.OVER, "no more frames", in::receive);
            in.close();
            other.join();
        }
        // Not for ever.
        Port port = Port.open("mem:j-stuck");
        long handle = port.handle();
        Thread stuck = new Thread(() -> {
            try (Arena arena = Arena.ofConfined()) {
                Native.portWait(handle, 2, 1_500_000_000, arena.allocate(JAVA_LONG));
            }
        });
        stuck.start();
        Thread.sleep(100);
        fails(IllegalStateException.class, "mem:j-stuck is not closed", port::close);
        stuck.join();
        Native.portClose(handle);
    }

    private static String elsewhere(Check.Work work) throws InterruptedException {
        AtomicReference<String> said = new AtomicReference<>("");
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception thrown) {
                said.set(String.valueOf(thrown.getMessage()));
            }
        });
        thread.start();
        thread.join();
        return said.get();
    }

    private static void wrongOpenings() {
        fails(NullPointerException.class, "address", () -> Port.open(null));
        fails(NullPointerException.class, "options", () -> Port.open("mem:x", null));
        fails(NullPointerException.class, "direction", () -> Port.Options.DEFAULTS.direction(null));
        fails(IllegalArgumentException.class, "NUL at 5", () -> Port.open("mem:x\0y"));
        refused(Kind.PORT, "pakket", () -> Port.open("pakket:veth0"));
        refused(Kind.PORT, "no-such-if", () -> Port.open("packet:no-such-if"));
        refused(Kind.VALUE, "burst is 0", () -> Port.open("mem:x", Port.Options.DEFAULTS.burst(0)));
        refused(Kind.VALUE, "burst is", () -> Port.open("mem:x", Port.Options.DEFAULTS.burst(-1)));
        refused(Kind.VALUE, "longest is 70000", () -> Port.open("mem:x", Port.Options.DEFAULTS.longest(70_000)));
        refused(Kind.VALUE, "queue is 2", () -> Port.open("mem:x", Port.Options.DEFAULTS.queue(2, 2)));
    }

    private static void wrongOrder() throws Exception {
        try (Port out = Port.open("mem:j-order2"); Port in = Port.open("mem:j-order2");
                Port one = Port.open("mem:j-way", Port.Options.DEFAULTS.direction(Port.Direction.RECEIVE))) {
            refused(Kind.ORDER, "no burst is lent", out::giveBack);
            refused(Kind.ORDER, "released already", in::release);
            refused(Kind.PORT, "opened to receive", () -> one.lend(1));
            Burst burst = out.lend(3);
            refused(Kind.ORDER, "lent already", () -> out.lend(3));
            refused(Kind.VALUE, "only 3 are lent", () -> out.send(burst, 2, 2));
            fails(IllegalArgumentException.class, "count is -1", () -> out.send(burst, 0, -1));
            fails(IllegalArgumentException.class, "most is -2", () -> in.receive(-2));
            burst.setLength(0, 60);
            fails(IllegalArgumentException.class, "0 to 1514", () -> burst.setLength(1, 1_515));
            fails(IllegalArgumentException.class, "0 to 1514", () -> burst.setLength(1, -1));
            fails(IndexOutOfBoundsException.class, "frame 3 of a burst of 3", () -> burst.setLength(3, 60));
            same(3, out.send(burst));
            out.giveBack();
            fails(IllegalStateException.class, "given back", () -> burst.setLength(0, 60));
            fails(IllegalStateException.class, "given back", () -> burst.frame(0));
            same(1, in.receive().count());
            refused(Kind.ORDER, "still held", in::receive);
            refused(Kind.ORDER, "still held", () -> in.forward(null, null, 1));
            in.release();
            refused(Kind.ORDER, "released already", in::release);
            out.close();
            refused(Kind.OVER, "no more frames", in::receive);
        }
    }

    private static void wrongBytes() throws Exception {
        try (Port out = Port.open("mem:j-bytes"); Port in = Port.open("mem:j-bytes")) {
            Frames.send(out, 2);
            Burst burst = in.receive();
            FrameAccessor frame = burst.frame(1);
            same(0xc612, frame.u16(26));
            same(0xc6120001, frame.u32(26));
            same(0xc6120001_c6120002L, frame.u64(26));
            for (int at : new int[] {60, -1, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                fails(IndexOutOfBoundsException.class, "of frame 1, which has 60", () -> frame.u8(at));
            }
            fails(IndexOutOfBoundsException.class, "bytes 59 to 60 of frame 1", () -> frame.u16(59));
            fails(IndexOutOfBoundsException.class, "bytes 57 to 60", () -> frame.u32(57));
            fails(IndexOutOfBoundsException.class, "bytes 53 to 60", () -> frame.u64(53));
            fails(IndexOutOfBoundsException.class, "bytes 58 to 60", () -> frame.put(58, new byte[3]));
            fails(IndexOutOfBoundsException.class, "", () -> frame.get(0, new byte[4], 2, 3));
            fails(IllegalStateException.class, "received", () -> frame.resize(40));
            fails(IllegalStateException.class, "received", () -> burst.setTimeUnixNs(0, 1));
            fails(IndexOutOfBoundsException.class, "frame 2 of a burst of 2", () -> burst.frame(2));
            fails(IndexOutOfBoundsException.class, "frame -1", () -> burst.frame(-1));
            fails(NullPointerException.class, "", () -> frame.put(0, null));
            in.release();
            fails(IllegalStateException.class, "released", () -> frame.u8(0));
            fails(IllegalStateException.class, "released", frame::bytes);
            fails(IllegalStateException.class, "released", frame::segment);
            // The next burst has the same memory, and another length.
            Frames.send(out, new byte[14]);
            in.receive();
            fails(IndexOutOfBoundsException.class, "frame 1 of a burst of 1", () -> frame.u8(0));
            same(14, burst.frame(0).length());
            fails(IndexOutOfBoundsException.class, "which has 14", () -> burst.frame(0).u8(14));
        }
    }

    /** A file may have a frame of no bytes: that is a frame, too. */
    private static void noBytes() throws Exception {
        Path path = Files.createTempFile("tare-java", ".pcap");
        try {
            ByteBuffer file = ByteBuffer.allocate(24 + 16 + 16 + 60);
            file.putInt(0xa1b2c3d4).putInt(2 << 16 | 4).putLong(0).putInt(65_535).putInt(1);
            file.putInt(1_700_000_000).putInt(0).putInt(0).putInt(60);
            file.putInt(1_700_000_000).putInt(0).putInt(60).putInt(60).put(Frames.UDP);
            Files.write(path, file.array());
            try (Port in = Port.open("pcap:" + path, Port.Options.DEFAULTS.direction(Port.Direction.RECEIVE))) {
                Burst burst = in.receive();
                same(2, burst.count());
                FrameAccessor none = burst.frame(0);
                same(0, none.length());
                same(0, none.bytes().length);
                same(0L, none.segment().byteSize());
                fails(IndexOutOfBoundsException.class, "byte 0 of frame 0, which has 0", () -> none.u8(0));
                try (Filter filter = Filter.compile("pass all")) {
                    same(1, filter.judge(burst));
                    same(1, new RuleTable("pass all").judge(burst));
                    same(filter.decide(burst.frame(0)), burst.decision(0));
                }
                burst.frame(0);
                in.release();
                fails(IllegalStateException.class, "released", none::length);
                fails(IllegalStateException.class, "released", () -> none.get(0, new byte[0]));
            }
        } finally {
            Files.delete(path);
        }
    }

    private static void closed() throws Exception {
        Port out = Port.open("mem:j-closed");
        Port in = Port.open("mem:j-closed");
        Frames.send(out, 1);
        Burst burst = in.receive();
        FrameAccessor frame = burst.frame(0);
        var segment = frame.segment();
        Port.Forwarded forwarded = out.forward(null, null, 1);
        in.close();
        in.close();
        out.close();
        same("mem:j-closed (closed)", in.toString());
        for (Check.Work work : new Check.Work[] {
            in::receive, in::release, () -> in.lend(1), in::giveBack, () -> in.forward(null, null, 1), in::about,
            in::count, () -> in.awaitFrames(Duration.ZERO), () -> in.flush(Duration.ZERO), in::handOver,
            () -> burst.frame(0), () -> burst.length(0), () -> frame.u8(0), frame::bytes
        }) {
            fails(IllegalStateException.class, "closed", work);
        }
        same(0L, burst.bytes());
        fails(IllegalStateException.class, "closed", () -> segment.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0));
        fails(IllegalStateException.class, "closed", forwarded::sent);
        try (Filter rules = Filter.compile("drop all")) {
            fails(IllegalStateException.class, "closed", () -> rules.judge(burst));
            fails(IllegalStateException.class, "closed", () -> rules.decide(frame));
        }
    }
}
