package tare.bench;

import com.sun.management.ThreadMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import tare.Burst;
import tare.Filter;
import tare.Middlebox;
import tare.Poller;
import tare.Port;
import tare.RuleTable;
import tare.Tally;
import tare.TareException;

/**
 * Runs a step of the ladder as often as it is told to on standard input, as native.c does, and answers each line:
 *
 * <pre>
 *   run NAME SIZE BURST MS LONGEST    ─► frames ns bytes-allocated passed
 *   threads NAME SIZE BURST MS COUNT  ─► frames wall-ns cpu-ns
 * </pre>
 *
 * The first is the time of polling alone: the ring is filled before. The second is a poller and a queue each, and filling
 * is included.
 *
 * LONGEST says how far apart frames lie in memory: of other rounds it is another, so that no side has better places.
 */
public final class Worker {
    private Worker() {}

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int WARM = 8;
    private static int names;
    private static Feed kept;

    /**
     * Answers until standard input ends.
     *
     * @param words none
     * @throws Exception whatever fails
     */
    public static void main(String[] words) throws Exception {
        try (Filter filter = Filter.compile(Rules.text())) {
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] told = line.split(" ");
                int size = Integer.parseInt(told[2]);
                int burst = Integer.parseInt(told[3]);
                long ns = Long.parseLong(told[4]) * 1_000_000;
                switch (told[0]) {
                    case "run" -> System.out.println(run(
                            told[1], size, burst, ns, Integer.parseInt(told[5]), filter));
                    case "threads" -> System.out.println(
                            threads(told[1], size, burst, ns, Integer.parseInt(told[5]), filter));
                    default -> throw new IllegalArgumentException(line);
                }
            }
        }
    }

    private static String run(
            String name, int size, int burst, long ns, int longest, Filter filter)
            throws TareException, IOException {
        Feed feed = feed(size, burst, longest);
        try (Middlebox box = Ladder.of(name, feed.out, filter)) {
            Tally tally = new Tally();
            // What is touched for the first time is not what is measured.
            for (int i = 0; i < WARM; i++) {
                round(feed, box, burst, tally);
                feed.drain();
            }
            long spent = 0;
            long passed = 0;
            long before = tally.frames();
            long allocated = THREADS.getCurrentThreadAllocatedBytes();
            while (spent < ns) {
                spent += round(feed, box, burst, tally);
                passed += feed.drain();
            }
            allocated = THREADS.getCurrentThreadAllocatedBytes() - allocated;
            long frames = tally.frames() - before;
            if (tally.bytes() != tally.frames() * (size - 4)) {
                throw new IllegalStateException(tally.frames() + " frames, " + tally.bytes() + " bytes were seen");
            }
            return frames + " " + spent + " " + allocated + " " + passed;
        }
    }

    /** Fills the ring, and polls until it is empty: how long that took. */
    private static long round(Feed feed, Middlebox box, int burst, Tally tally) throws TareException, IOException {
        int there = feed.fill();
        long from = System.nanoTime();
        while (there > 0) {
            there -= box.poll(feed.in, burst, tally);
        }
        return System.nanoTime() - from;
    }

    /** The ports of the last run serve again, if they fit. */
    private static Feed feed(int size, int burst, int longest) throws TareException {
        if (kept == null || kept.size != size || kept.burst != burst || kept.longest != longest) {
            if (kept != null) {
                kept.close();
            }
            kept = new Feed("bench" + names++, size, burst, longest, 0, 1);
        }
        return kept;
    }

    /** Fills the ring before each poll that would find it empty. */
    private static final class Fed implements Middlebox {
        private final Feed feed;
        private final Middlebox box;
        private int there;

        Fed(Feed feed, Middlebox box) {
            this.feed = feed;
            this.box = box;
        }

        @Override
        public int poll(Port in, int most, Tally tally) throws TareException, IOException {
            if (there == 0) {
                feed.drain();
                there = feed.fill();
            }
            int count = box.poll(in, most, tally);
            there -= count;
            return count;
        }

        @Override
        public void take(Burst burst) throws TareException, IOException {
            box.take(burst);
        }

        @Override
        public void close() throws IOException {
            box.close();
            feed.handOver();
        }
    }

    private static String threads(
            String name, int size, int burst, long ns, int count, Filter filter) throws Exception {
        List<Feed> feeds = new ArrayList<>();
        List<Poller> pollers = new ArrayList<>();
        String port = "bench" + names++;
        for (int i = 0; i < count; i++) {
            feeds.add(new Feed(port, size, burst, 1_514, i, count));
            feeds.get(i).handOver();
        }
        long from = System.nanoTime();
        for (int i = 0; i < count; i++) {
            Feed feed = feeds.get(i);
            Middlebox box = new Fed(feed, Ladder.of(name, feed.out, filter));
            pollers.add(Poller.start(feed.in, feed.out, box, new Poller.Options(burst, i, true)));
        }
        Thread.sleep(ns / 1_000_000);
        pollers.forEach(Poller::stop);
        long frames = 0;
        long cpu = 0;
        for (Poller poller : pollers) {
            Poller.Done done = poller.join();
            frames += done.frames();
            cpu += done.cpuNs();
        }
        long wall = System.nanoTime() - from;
        feeds.forEach(Feed::close);
        return frames + " " + wall + " " + cpu;
    }
}
