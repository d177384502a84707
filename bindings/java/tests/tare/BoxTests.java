package tare;

import static tare.Check.fails;
import static tare.Check.holds;
import static tare.Check.same;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Pollers and middleboxes. */
final class BoxTests {
    private BoxTests() {}

    static void all() throws Exception {
        Path folder = Files.createTempDirectory("tare-java");
        try {
            captures(folder.resolve("captured.pcap"));
            interrupted(folder.resolve("captured.pcap"));
        } finally {
            Files.deleteIfExists(folder.resolve("captured.pcap"));
            Files.deleteIfExists(folder);
        }
        firewalls();
        tooLong();
        queues();
        endings();
        wrong();
    }

    /** A file as the pcap format has it, read back by a port. */
    private static void captures(Path path) throws Exception {
        try (Port out = Port.open("mem,stamp=frame:j-capture"); Port in = Port.open("mem,stamp=frame:j-capture")) {
            Poller poller = Poller.start(in, null, new Capture(path), Poller.Options.DEFAULTS);
            int total = 0;
            // More than fit in the memory that is written at once.
            while (total < 20_000) {
                if (out.awaitRoom(Duration.ofSeconds(5))) {
                    Burst burst = out.lend(200);
                    for (int i = 0; i < 200; i++) {
                        burst.frame(i).put(0, Frames.UDP).put32(42, total + i).resize(60 + (total + i) % 1_400);
                    }
                    total += sent(out, burst);
                    out.giveBack();
                }
            }
            out.close();
            Poller.Done done = poller.join();
            same((long) total, done.frames());
            holds(done.wallNs() > 0 && done.cpuNs() > 0 && done.cpuNs() <= 2 * done.wallNs(), done.toString());
            ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.nativeOrder());
            same(0xa1b23c4d, file.getInt(0));
            same(1, file.getInt(20));
            int at = 24;
            long before = 0;
            for (int i = 0; i < total; i++) {
                int length = 60 + i % 1_400;
                long time = file.getInt(at) * 1_000_000_000L + file.getInt(at + 4);
                holds(time >= before && time > 1_700_000_000_000_000_000L, "stamps ascend");
                before = time;
                same(length, file.getInt(at + 8));
                same(length, file.getInt(at + 12));
                same(i, ByteBuffer.wrap(file.array(), at + 16 + 42, 4).getInt());
                at += 16 + length;
            }
            same(file.capacity(), at);
        }
        int read = 0;
        try (Port file = Port.open("pcap:" + path, Port.Options.DEFAULTS.direction(Port.Direction.RECEIVE))) {
            while (true) {
                read += file.forward(null, null, 256).received();
            }
        } catch (TareException over) {
            same(TareException.Kind.OVER, over.kind());
        }
        holds(read >= 20_000, "the port reads " + read);
    }

    /** A poller that is interrupted while frames flow leaves a file with all that it took; so does who closes it. */
    private static void interrupted(Path path) throws Exception {
        long frame = 16 + 60;
        try (Port out = Port.open("mem:j-interrupt"); Port in = Port.open("mem:j-interrupt")) {
            Frames.send(out, 40);
            Capture file = new Capture(path);
            boolean[] closedWhileInterrupted = {true};
            Poller poller = Poller.start(in, null, new Middlebox() {
                @Override
                public void take(Burst burst) throws IOException {
                    file.take(burst);
                    Thread.currentThread().interrupt();
                }

                @Override
                public void close() throws IOException {
                    closedWhileInterrupted[0] = Thread.currentThread().isInterrupted();
                    file.close();
                }
            }, Poller.Options.DEFAULTS);
            same(40L, poller.join().frames());
            same(false, closedWhileInterrupted[0]);
            same(24 + 40 * frame, Files.size(path));
            // More than is written at once, all of it under an interrupt.
            Capture own = new Capture(path);
            Thread.currentThread().interrupt();
            for (int i = 0; i < 100; i++) {
                Frames.send(out, 200);
                own.take(in.receive());
                in.release();
            }
            own.close();
            same(true, Thread.interrupted());
            same(24 + 20_000 * frame, Files.size(path));
        }
    }

    private static int sent(Port out, Burst burst) throws TareException, InterruptedException {
        int sent = 0;
        while (sent < burst.count()) {
            int more = out.send(burst, sent, burst.count() - sent);
            sent += more;
            if (more == 0) {
                holds(out.awaitRoom(Duration.ofSeconds(5)), "room within five seconds");
            }
        }
        return sent;
    }

    private static void firewalls() throws Exception {
        String text = "drop from 198.18.0.0/28\ndefault pass";
        for (boolean own : new boolean[] {true, false}) {
            try (Filter filter = Filter.compile(text);
                    Port out = Port.open("mem:j-fire"); Port in = Port.open("mem:j-fire");
                    Port next = Port.open("mem:j-beyond"); Port end = Port.open("mem:j-beyond")) {
                Firewall wall = own ? new Firewall(new RuleTable(text), next) : new Firewall(filter, next);
                Poller poller = Poller.start(in, next, wall, new Poller.Options(16, 0, false));
                Frames.send(out, 40);
                for (int waited = 0; poller.tally().frames() < 40 && waited < 500; waited++) {
                    Thread.sleep(10);
                }
                poller.stop();
                same(40L, poller.join().frames());
                same("24 16 0", wall.passed() + " " + wall.dropped() + " " + wall.missed());
                Burst came = end.receive();
                same(24, came.count());
                for (int i = 0; i < 24; i++) {
                    same(16 + i, came.frame(i).u8(29));
                }
                end.release();
                // The poller has ended, so the ports are anybody's.
                same(0, in.receive().count());
            }
        }
        // No room: what passes and does not go is counted.
        try (Port out = Port.open("mem:j-full"); Port in = Port.open("mem:j-full");
                Port next = Port.open("mem,slots=8:j-small"); Port end = Port.open("mem,slots=8:j-small")) {
            for (Firewall wall : new Firewall[] {
                new Firewall(new RuleTable(text), next), new Firewall(Filter.compile(text), next)
            }) {
                Frames.send(out, 40);
                same(40, wall.poll(in, 100, new Tally()));
                same("8 16 16", wall.passed() + " " + wall.dropped() + " " + wall.missed());
                same(8, end.forward(null, null, 100).received());
            }
        }
    }

    /** A frame that is too long for where it goes is missed, and those around it pass: also as the first or the last. */
    private static void tooLong() throws Exception {
        String text = "drop from 198.18.0.1\ndefault pass";
        int[][] longs = {{}, {0}, {9}, {0, 1, 2}, {4, 6}, {1, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
        Port.Options jumbo = Port.Options.DEFAULTS.longest(9_000);
        try (Filter filter = Filter.compile(text);
                Port out = Port.open("mem:j-long", jumbo); Port in = Port.open("mem:j-long", jumbo);
                Port next = Port.open("mem:j-short"); Port end = Port.open("mem:j-short")) {
            for (int[] each : longs) {
                for (Firewall wall : new Firewall[] {
                    new Firewall(new RuleTable(text), next), new Firewall(filter, next)
                }) {
                    Burst burst = out.lend(10);
                    for (int i = 0; i < 10; i++) {
                        burst.frame(i).put(0, Frames.UDP).put8(29, i);
                    }
                    List<Integer> expected = new ArrayList<>(List.of(0, 2, 3, 4, 5, 6, 7, 8, 9));
                    for (int at : each) {
                        burst.setLength(at, 1_515);
                        expected.remove((Integer) at);
                    }
                    same(10, out.send(burst));
                    out.giveBack();
                    same(10, wall.poll(in, 100, new Tally()));
                    same(expected.size() + " 1 " + (9 - expected.size()),
                            wall.passed() + " " + wall.dropped() + " " + wall.missed());
                    List<Integer> found = new ArrayList<>();
                    Burst came = end.receive();
                    for (int i = 0; i < came.count(); i++) {
                        found.add(came.frame(i).u8(29));
                    }
                    if (came.count() > 0) {
                        end.release();
                    }
                    same(expected, found);
                }
            }
        }
    }

    /** A thread that does nothing but look sees what another counts. */
    static void figuresForOthers() throws Exception {
        Tally tally = new Tally();
        Thread looker = new Thread(() -> {
            while (tally.frames() < 1_000 || tally.bytes() < 60_000) {}
        });
        looker.setDaemon(true);
        looker.start();
        // Time enough to compile its loop.
        Thread.sleep(200);
        for (int i = 0; i < 1_000; i++) {
            tally.add(1, 60);
        }
        looker.join(5_000);
        holds(!looker.isAlive(), "figures are seen by other threads");
        same(1_000L, tally.frames());
        same(60_000L, tally.bytes());
    }

    /** Two queues, two threads, nothing shared. */
    private static void queues() throws Exception {
        List<Port> ports = new ArrayList<>();
        List<Poller> pollers = new ArrayList<>();
        for (int queue = 0; queue < 2; queue++) {
            Port.Options options = Port.Options.DEFAULTS.queue(queue, 2);
            Port out = Port.open("mem:j-queues", options);
            Port in = Port.open("mem:j-queues", options);
            ports.addAll(List.of(out, in));
            Frames.send(out, 100 + queue);
            pollers.add(Poller.start(in, null, new Capture(), Poller.Options.DEFAULTS));
            out.close();
        }
        for (int queue = 0; queue < 2; queue++) {
            same(100L + queue, pollers.get(queue).join().frames());
        }
        ports.forEach(Port::close);
    }

    private static void endings() throws Exception {
        try (Port out = Port.open("mem:j-end"); Port in = Port.open("mem:j-end")) {
            // Closed while it waits.
            CountDownLatch began = new CountDownLatch(1);
            Poller waiting = Poller.start(in, null, new Middlebox() {
                @Override
                public int poll(Port in, int most, Tally tally) throws TareException, IOException {
                    int count = Middlebox.super.poll(in, most, tally);
                    began.countDown();
                    return count;
                }

                @Override
                public void take(Burst burst) {}
            }, Poller.Options.DEFAULTS);
            holds(began.await(10, TimeUnit.SECONDS), "the poller's thread has the port");
            fails(IllegalStateException.class, "belongs to thread poller of mem:j-end", in::receive);
            waiting.close();
            same(0L, waiting.join().frames());
            // A middlebox that fails ends it, and says why.
            Frames.send(out, 1);
            Poller failing = Poller.start(in, null, burst -> {
                throw new IOException("the disk is full");
            }, Poller.Options.DEFAULTS);
            fails(IOException.class, "the disk is full", failing::join);
            in.release();
            Frames.send(out, 1);
            Poller wrong = Poller.start(in, null, burst -> burst.frame(7), Poller.Options.DEFAULTS);
            fails(IndexOutOfBoundsException.class, "frame 7 of a burst of 1", wrong::join);
            in.release();
            for (Error error : new Error[] {new AssertionError("seven"), new OutOfMemoryError("no more")}) {
                Frames.send(out, 1);
                Poller broken = Poller.start(in, null, burst -> {
                    throw error;
                }, Poller.Options.DEFAULTS);
                fails(error.getClass(), error.getMessage(), broken::join);
                in.release();
            }
            // A port that is closed by then.
            in.close();
            fails(IllegalStateException.class, "closed",
                    () -> Poller.start(in, null, new Capture(), Poller.Options.DEFAULTS));
        }
    }

    /** A firewall between two interfaces, until standard input ends. */
    static void between(String from, String to) throws Exception {
        RuleTable rules = new RuleTable("drop from 198.18.0.77\npass from 198.18.0.0/24\ndefault drop");
        try (Port in = Port.open(from); Port out = Port.open(to)) {
            Firewall wall = new Firewall(rules, out);
            Poller poller = Poller.start(in, out, wall, Poller.Options.DEFAULTS);
            System.out.println("ready");
            System.in.readAllBytes();
            poller.stop();
            Poller.Done done = poller.join();
            System.out.println(done.frames() + " frames, " + wall.passed() + " passed, " + wall.dropped() + " dropped, "
                    + wall.missed() + " missed");
        }
    }

    private static void wrong() throws Exception {
        fails(IllegalArgumentException.class, "most is 0", () -> new Poller.Options(0, -1, false));
        fails(IllegalArgumentException.class, "cpu is -2", () -> new Poller.Options(1, -2, false));
        fails(NullPointerException.class, "path", () -> new Capture(null));
        fails(NullPointerException.class, "table", () -> new Firewall((RuleTable) null, null));
        fails(NullPointerException.class, "filter", () -> new Firewall((Filter) null, null));
        fails(IOException.class, "", () -> new Capture(Path.of("/nowhere/x.pcap")));
        try (Port in = Port.open("mem:j-wrong")) {
            fails(NullPointerException.class, "box", () -> Poller.start(in, null, null, Poller.Options.DEFAULTS));
            fails(NullPointerException.class, "in", () -> Poller.start(null, null, new Capture(), null));
            Poller nowhere = Poller.start(in, null, new Capture(), new Poller.Options(1, 1_023, false));
            fails(IllegalArgumentException.class, "cpu 1023 does not exist", nowhere::join);
            Poller beyond = Poller.start(in, null, new Capture(), new Poller.Options(1, 5_000, false));
            fails(IllegalArgumentException.class, "cpu 5000", beyond::join);
        }
    }
}
