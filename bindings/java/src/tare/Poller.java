package tare;

import java.io.IOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.time.Duration;
import java.util.Objects;

/**
 * A thread that receives from one queue of a port and hands each burst to a middlebox, until it is stopped, its thread
 * is interrupted, or no frame will ever come again.
 *
 * <pre>
 *   queue 0 ─► Poller ─► Middlebox ─► queue 0 of another port          one thread a queue, nothing shared
 *   queue 1 ─► Poller ─► Middlebox ─► queue 1
 * </pre>
 */
public final class Poller implements AutoCloseable {
    /** A wait for frames: after it a stop is noticed. */
    private static final Duration PATIENCE = Duration.ofMillis(10);

    /**
     * How a poller works.
     *
     * @param most frames of a burst, at most
     * @param cpu where its thread runs; -1 is anywhere
     * @param busy never waits for frames: asks again at once
     */
    public record Options(int most, int cpu, boolean busy) {
        /** Whole bursts, anywhere, waiting. */
        public static final Options DEFAULTS = new Options(Integer.MAX_VALUE, -1, false);

        /** Says what is out of range. */
        public Options {
            if (most < 1) {
                throw new IllegalArgumentException("most is " + most + ": a poller takes at least 1 frame at a time");
            }
            if (cpu < -1) {
                throw new IllegalArgumentException("cpu is " + cpu + ": use -1 for any CPU");
            }
        }
    }

    /**
     * What a poller did.
     *
     * @param frames received
     * @param bytes of theirs
     * @param wallNs how long it ran
     * @param cpuNs how long its thread had a CPU in that time; -1 if this Java does not say
     */
    public record Done(long frames, long bytes, long wallNs, long cpuNs) {}

    private final Port in;
    private final Port out;
    private final Middlebox box;
    private final Options options;
    private final Tally tally = new Tally();
    private final Thread thread;
    private volatile boolean stopped;
    private Throwable failure;
    private Done done;

    private Poller(Port in, Port out, Middlebox box, Options options) {
        this.in = in;
        this.out = out;
        this.box = box;
        this.options = options;
        this.thread = new Thread(this::work, "poller of " + in);
    }

    /**
     * Starts one. Its thread owns both ports until it has ended; the calling thread must own them, or nobody.
     *
     * @param in where frames come from
     * @param out where the middlebox sends to; {@code null} if nowhere
     * @param box what is done with them; the poller closes it
     * @param options how
     * @return the poller, which works already
     */
    public static Poller start(Port in, Port out, Middlebox box, Options options) {
        Objects.requireNonNull(in, "in");
        Objects.requireNonNull(box, "box");
        Objects.requireNonNull(options, "options");
        Poller poller = new Poller(in, out, box, options);
        in.handOver();
        if (out != null) {
            out.handOver();
        }
        poller.thread.setDaemon(true);
        poller.thread.start();
        return poller;
    }

    private void work() {
        long from = System.nanoTime();
        long cpuFrom = Cpu.timeNs();
        boolean interrupted = false;
        try (box) {
            if (options.cpu >= 0) {
                Cpu.pin(options.cpu);
            }
            try {
                loop();
            } finally {
                // It has ended the loop, and must not end the file that the middlebox now completes.
                interrupted = Thread.interrupted();
            }
        } catch (Throwable thrown) {
            // Also errors: whoever joins shall see them.
            failure = thrown;
        } finally {
            long cpu = Cpu.timeNs();
            long cpuNs = cpu < 0 ? -1 : cpu - cpuFrom;
            done = new Done(tally.frames(), tally.bytes(), System.nanoTime() - from, cpuNs);
            in.leave();
            if (out != null) {
                out.leave();
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void loop() throws TareException, IOException {
        while (!stopped && !Thread.currentThread().isInterrupted()) {
            try {
                if (box.poll(in, options.most, tally) == 0 && !options.busy) {
                    in.awaitFrames(PATIENCE);
                }
            } catch (InterruptedException interrupted) {
                return;
            } catch (TareException over) {
                if (over.kind() == TareException.Kind.OVER) {
                    return;
                }
                throw over;
            }
        }
    }

    /** {@return what it has received so far} */
    public Tally tally() {
        return tally;
    }

    /** Ends it after the burst that it is at. Returns at once. */
    public void stop() {
        stopped = true;
    }

    /**
     * Waits until it has ended: by {@link #stop}, or because no frame will ever come again.
     *
     * @return what it did
     * @throws TareException what a port failed with
     * @throws IOException what a file failed with; what else the middlebox threw is thrown as well
     * @throws InterruptedException the waiting thread was interrupted; the poller goes on
     */
    public Done join() throws TareException, IOException, InterruptedException {
        thread.join();
        return switch (failure) {
            case null -> done;
            case TareException thrown -> throw thrown;
            case IOException thrown -> throw thrown;
            case RuntimeException thrown -> throw thrown;
            case Error thrown -> throw thrown;
            default -> throw new UndeclaredThrowableException(failure);
        };
    }

    /** Stops it and waits until it has ended. What it failed with, {@link #join} says. */
    @Override
    public void close() {
        stop();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException again) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return thread.getName();
    }
}
