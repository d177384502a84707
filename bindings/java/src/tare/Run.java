package tare;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * A run of a plan, in a thread of the library's own. Any thread may use it: one waits, for instance, and another stops
 * it. Signals stay the program's.
 */
public final class Run implements AutoCloseable {
    /**
     * What is to be kept of a run.
     *
     * @param save keep it among those that {@code tare runs} lists
     * @param acceptInvalid a run that is INVALID has status 0
     * @param out keep it in this folder; {@code null} is none
     */
    public record Options(boolean save, boolean acceptInvalid, Path out) {
        /** Nothing is kept, and INVALID is status 4. */
        public static final Options DEFAULTS = new Options(false, false, null);
    }

    private static final long SLICE_NS = 50_000_000;

    private final long handle;
    /** Texts of the library are read, and given up, under this. */
    private final Object texts = new Object();
    private volatile boolean closed;

    private Run(long handle) {
        this.handle = handle;
    }

    /**
     * Starts what a plan says.
     *
     * @param plan TOML, as {@code tare run} takes it and {@code --print-plan} prints it
     * @return the run, which the program closes
     * @throws TareException names the line and key that is wrong
     */
    public static Run start(String plan) throws TareException {
        return start(plan, Options.DEFAULTS);
    }

    /**
     * Starts what a plan says.
     *
     * @param plan TOML, as {@code tare run} takes it and {@code --print-plan} prints it
     * @param options what is kept
     * @return the run, which the program closes
     * @throws TareException names the line and key that is wrong
     */
    public static Run start(String plan, Options options) throws TareException {
        Objects.requireNonNull(plan, "plan");
        Objects.requireNonNull(options, "options");
        StructLayout layout = Native.RUN_OPTIONS;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment laid = arena.allocate(layout);
            TareException.check(Native.runOptionsInit(laid));
            laid.set(JAVA_BOOLEAN, Native.at(layout, "save"), options.save);
            laid.set(JAVA_BOOLEAN, Native.at(layout, "accept_invalid"), options.acceptInvalid);
            if (options.out != null) {
                laid.set(ADDRESS, Native.at(layout, "out"), Native.text(arena, options.out.toString(), "out"));
            }
            MemorySegment run = arena.allocate(JAVA_LONG);
            TareException.check(Native.runStart(Native.text(arena, plan, "plan"), laid, run));
            return new Run(run.get(JAVA_LONG, 0));
        }
    }

    /**
     * Ends the run early. Returns at once; the result is complete, and says that the run was interrupted.
     *
     * @throws TareException the library refused
     */
    public void stop() throws TareException {
        TareException.check(Native.runStop(open()));
    }

    /**
     * Waits until the run is over.
     *
     * @param patience for at most so long
     * @return whether it is
     * @throws TareException the library refused
     * @throws InterruptedException the thread was interrupted; the run goes on
     */
    public boolean await(Duration patience) throws TareException, InterruptedException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment over = arena.allocate(JAVA_BYTE);
            return Port.sliced(patience, ns -> Native.runWait(open(), ns, over), over);
        }
    }

    /**
     * Waits for the next interval of the run.
     *
     * @param patience for at most so long
     * @return it, with the keys that {@code intervals} of the result has; empty if none came in that time, or there are
     *     none left
     * @throws TareException the library refused
     * @throws InterruptedException the thread was interrupted; the run goes on
     */
    public Optional<Result> row(Duration patience) throws TareException, InterruptedException {
        long end = System.nanoTime() + Port.nanos(patience);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment row = arena.allocate(Native.TEXT);
            while (true) {
                if (Thread.interrupted()) {
                    throw new InterruptedException("interrupted while waiting for an interval");
                }
                long left = Math.max(0, end - System.nanoTime());
                synchronized (texts) {
                    TareException.check(Native.runRow(open(), Math.min(left, SLICE_NS), row));
                    MemorySegment text = row.get(Native.TEXT, 0);
                    if (text.address() != 0) {
                        return Optional.of(new Result(text.getString(0), 0));
                    }
                }
                if (left <= SLICE_NS) {
                    return Optional.empty();
                }
            }
        }
    }

    /**
     * Waits until the run is over.
     *
     * @return its result
     * @throws TareException a port or file cannot be had, or nobody answers: nothing was sent then
     * @throws InterruptedException the thread was interrupted; the run goes on
     */
    public Result result() throws TareException, InterruptedException {
        await(Duration.ofDays(36_500));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment result = arena.allocate(Native.TEXT);
            MemorySegment status = arena.allocate(JAVA_INT);
            synchronized (texts) {
                TareException.check(Native.runResult(open(), result, status));
                return new Result(result.get(Native.TEXT, 0).getString(0), status.get(JAVA_INT, 0));
            }
        }
    }

    /** Closes the run. One that is not over is stopped first, and waited for. A second time does nothing. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        Native.runStop(handle);
        synchronized (texts) {
            if (!closed) {
                closed = true;
                Native.runClose(handle);
            }
        }
    }

    private long open() {
        if (closed) {
            throw new IllegalStateException("this run is closed");
        }
        return handle;
    }
}
