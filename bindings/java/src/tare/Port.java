package tare;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;

/**
 * A port: frames out and in, in bursts. {@code mem:NAME}, {@code packet:veth0}, {@code xdp:veth0},
 * {@code pcap:in.pcapng} and others, as {@code tare send} takes them.
 *
 * <pre>
 *   Burst out = port.lend(32);  fill it;  port.send(out);  port.giveBack();
 *   Burst in = port.receive();  look at it;  port.release();
 * </pre>
 *
 * A port belongs to the thread that first uses it, until {@link #handOver} or that thread's end.
 * Each port has one burst for each way, whose memory is the port's: nothing is allocated for a burst.
 */
public final class Port implements AutoCloseable {
    /** What a port is opened for. */
    public enum Direction {
        /** Frames go both ways. */
        BOTH,
        /** Frames are only sent. */
        TRANSMIT,
        /** Frames are only received. */
        RECEIVE
    }

    /**
     * How a port is opened.
     *
     * @param direction which way frames go
     * @param longest bytes of the longest frame that is sent or kept, without FCS: 1 to 65549
     * @param burst most frames of one burst: 1 to 65536
     * @param queue which queue of {@code queues}, from 0
     * @param queues how many queues will be opened
     * @param stamps received frames shall have stamps
     * @param busy the thread spins: the port may poll the device instead of waiting for interrupts
     */
    public record Options(
            Direction direction, int longest, int burst, int queue, int queues, boolean stamps, boolean busy) {
        /** Both ways, 1514 bytes, 256 frames, the only queue, with stamps. */
        public static final Options DEFAULTS = new Options(Direction.BOTH, 1_514, 256, 0, 1, true, false);

        /** Names what is {@code null}. */
        public Options {
            Objects.requireNonNull(direction, "direction");
        }

        /**
         * {@return these options with another direction}
         *
         * @param direction which way frames go
         */
        public Options direction(Direction direction) {
            return new Options(direction, longest, burst, queue, queues, stamps, busy);
        }

        /**
         * {@return these options with another burst}
         *
         * @param burst most frames of one burst
         */
        public Options burst(int burst) {
            return new Options(direction, longest, burst, queue, queues, stamps, busy);
        }

        /**
         * {@return these options with another longest frame}
         *
         * @param longest bytes of the longest frame
         */
        public Options longest(int longest) {
            return new Options(direction, longest, burst, queue, queues, stamps, busy);
        }

        /**
         * {@return these options for another queue}
         *
         * @param queue which queue, from 0
         * @param queues how many there will be
         */
        public Options queue(int queue, int queues) {
            return new Options(direction, longest, burst, queue, queues, stamps, busy);
        }
    }

    /**
     * What a port is and can do.
     *
     * @param name the address that opens it again
     * @param kind "mem", "packet", "xdp" and others
     * @param longest bytes of the longest frame that it sends, without FCS
     * @param batch most frames that it takes at once
     * @param queue which queue it is
     * @param queues of how many
     * @param speedBps bits per second of the link; 0 if the driver does not say
     * @param transmits whether it sends
     * @param receives whether it receives
     * @param launchTimes whether frames may leave at times of their own
     * @param zeroCopy whether the device uses the port's memory itself
     * @param stampedBy who stamps received frames: 0 nobody, 1 the card, 2 the driver, 3 a program
     * @param mac the interface's MAC address, such as "02:00:00:00:00:01"; empty if it has none
     */
    public record About(
            String name, String kind, int longest, int batch, int queue, int queues, long speedBps,
            boolean transmits, boolean receives, boolean launchTimes, boolean zeroCopy, int stampedBy,
            String mac) {}

    /**
     * What a port has counted since it was opened.
     *
     * @param sent frames
     * @param sentBytes their bytes
     * @param received frames
     * @param receivedBytes their bytes
     * @param lost frames that were lost, wherever the port knows of it
     * @param unsent of these, frames that were taken and could not be sent
     * @param full how often there was no room: those frames stayed with the program
     * @param calls system calls
     */
    public record Counters(
            long sent, long sentBytes, long received, long receivedBytes, long lost, long unsent, long full,
            long calls) {}

    /** What became of the frames of one {@link #forward}: one object a port, written anew by each call. */
    public static final class Forwarded {
        private static final long BYTES = Native.at(Native.FORWARDED, "received_bytes");
        private static final long RECEIVED = Native.at(Native.FORWARDED, "received");
        private static final long PASSED = Native.at(Native.FORWARDED, "passed");
        private static final long SENT = Native.at(Native.FORWARDED, "sent");

        private final MemorySegment told;

        private Forwarded(MemorySegment told) {
            this.told = told;
        }

        /** {@return frames that were received} */
        public int received() {
            return told.get(JAVA_INT, RECEIVED);
        }

        /** {@return their bytes} */
        public long receivedBytes() {
            return told.get(JAVA_LONG, BYTES);
        }

        /** {@return of these, frames that no rule drops} */
        public int passed() {
            return told.get(JAVA_INT, PASSED);
        }

        /**
         * {@return of these, frames that the other port took: fewer where it had no room, or where they were
         * too long}
         */
        public int sent() {
            return told.get(JAVA_INT, SENT);
        }
    }

    /** Waits are cut into these, so that an interrupt is noticed. */
    private static final long SLICE_NS = 50_000_000;
    /** How long closing waits for another thread's call, and how long between two tries. */
    private static final long CLOSING_NS = 1_000_000_000;
    private static final long BETWEEN_NS = 100_000;
    private static final int RECEIVE = 2;
    private static final int TRANSMIT = 1;

    private final String address;
    /** Bytes that a row of a burst has room for. */
    final int room;
    private final long handle;
    private final Arena arena = Arena.ofShared();
    private final Burst lent;
    private final Burst held;
    /** Where the library writes a number. */
    private final MemorySegment number = arena.allocate(JAVA_LONG);
    private final Forwarded forwarded = new Forwarded(arena.allocate(Native.FORWARDED));
    private Thread owner;
    private volatile boolean closed;

    private Port(String address, Options options, long handle) {
        this.address = address;
        this.room = options.longest;
        this.handle = handle;
        this.lent = new Burst(this, true, options.burst, arena);
        this.held = new Burst(this, false, options.burst, arena);
    }

    /**
     * Opens a port both ways.
     *
     * @param address such as "mem:NAME" or "packet:veth0"
     * @return the port
     * @throws TareException the address is wrong, or the port cannot be opened here
     */
    public static Port open(String address) throws TareException {
        return open(address, Options.DEFAULTS);
    }

    /**
     * Opens a port.
     *
     * @param address such as "mem:NAME" or "packet:veth0"
     * @param options how
     * @return the port
     * @throws TareException the address or an option is wrong, or the port cannot be opened here
     */
    public static Port open(String address, Options options) throws TareException {
        Objects.requireNonNull(address, "address");
        Objects.requireNonNull(options, "options");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment port = arena.allocate(JAVA_LONG);
            MemorySegment text = Native.text(arena, address, "address");
            TareException.check(Native.portOpen(text, laid(options, arena), port));
            return new Port(address, options, port.get(JAVA_LONG, 0));
        }
    }

    private static MemorySegment laid(Options options, Arena arena) throws TareException {
        StructLayout layout = Native.PORT_OPTIONS;
        MemorySegment laid = arena.allocate(layout);
        TareException.check(Native.portOptionsInit(laid));
        laid.set(JAVA_INT, Native.at(layout, "direction"), options.direction.ordinal());
        laid.set(JAVA_INT, Native.at(layout, "longest"), options.longest);
        laid.set(JAVA_INT, Native.at(layout, "burst"), options.burst);
        laid.set(JAVA_INT, Native.at(layout, "queue"), options.queue);
        laid.set(JAVA_INT, Native.at(layout, "queues"), options.queues);
        laid.set(JAVA_BOOLEAN, Native.at(layout, "stamps"), options.stamps);
        laid.set(JAVA_BOOLEAN, Native.at(layout, "busy"), options.busy);
        return laid;
    }

    /** {@return the library's version} */
    public static String version() {
        return Native.version();
    }

    /** {@return the address that it was opened with} */
    public String address() {
        return address;
    }

    /**
     * Says what the port is and can do. It is for the port's own thread, as sending is.
     *
     * @return that
     * @throws TareException the library refused
     */
    public About about() throws TareException {
        mine();
        StructLayout layout = Native.PORT_ABOUT;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment told = arena.allocate(layout);
            TareException.check(Native.portAsk(handle, told));
            byte[] mac = new byte[6];
            MemorySegment.copy(told, JAVA_BYTE, Native.at(layout, "mac"), mac, 0, mac.length);
            boolean hasMac = told.get(JAVA_BOOLEAN, Native.at(layout, "has_mac"));
            return new About(
                    told.getString(Native.at(layout, "name")), told.getString(Native.at(layout, "kind")),
                    told.get(JAVA_INT, Native.at(layout, "longest")),
                    told.get(JAVA_INT, Native.at(layout, "batch")),
                    told.get(JAVA_INT, Native.at(layout, "queue")),
                    told.get(JAVA_INT, Native.at(layout, "queues")),
                    told.get(JAVA_LONG, Native.at(layout, "speed_bps")),
                    told.get(JAVA_BOOLEAN, Native.at(layout, "transmits")),
                    told.get(JAVA_BOOLEAN, Native.at(layout, "receives")),
                    told.get(JAVA_BOOLEAN, Native.at(layout, "launch_times")),
                    told.get(JAVA_BOOLEAN, Native.at(layout, "zero_copy")),
                    told.get(JAVA_INT, Native.at(layout, "stamped_by")),
                    hasMac ? HexFormat.ofDelimiter(":").formatHex(mac) : "");
        }
    }

    /**
     * Says what was counted since the port was opened. This may ask the kernel. It is for the port's own
     * thread: others read the {@link Tally} of a {@link Poller}.
     *
     * @return the counters
     * @throws TareException the library refused
     */
    public Counters count() throws TareException {
        mine();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment told = arena.allocate(Native.PORT_COUNTERS);
            TareException.check(Native.portCount(handle, told));
            long[] all = told.toArray(JAVA_LONG);
            return new Counters(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]);
        }
    }

    /**
     * Lends rows for up to {@code most} frames. They hold what they held before, so that whoever sends nearly
     * the same again need only write what changes; all lengths are 0.
     *
     * @param most how many
     * @return the port's one burst for this way
     * @throws TareException a burst is lent already, or the port was opened to receive
     */
    public Burst lend(int most) throws TareException {
        mine();
        TareException.check(Native.portLend(handle, natural(most, "most"), lent.struct));
        return lent.begin();
    }

    /**
     * Sends all frames of the lent burst.
     *
     * @param burst what {@link #lend} gave
     * @return how many left: fewer where there is no room now; the rest can be sent later
     * @throws TareException a frame is too long, or the port failed
     */
    public int send(Burst burst) throws TareException {
        return send(burst, 0, burst.count());
    }

    /**
     * Hands frames {@code first} to {@code first + count - 1} over, to leave in this order. Frames of length
     * 0 are left out. All rows stay lent: the rest can be sent later, and all of them again.
     *
     * @param burst what {@link #lend} gave
     * @param first the first of them
     * @param count how many
     * @return how many left: fewer where there is no room for more now, or a frame behind them is too long
     * @throws TareException frame {@code first} is too long, frames are not lent, or the port failed
     */
    public int send(Burst burst, int first, int count) throws TareException {
        mine();
        if (burst != lent) {
            throw new IllegalArgumentException("this burst is not what " + address + " lent");
        }
        int code = Native.portSend(handle, natural(first, "first"), natural(count, "count"), number);
        TareException.check(code);
        return number.get(JAVA_INT, 0);
    }

    /**
     * Ends the lending: the burst is empty then.
     *
     * @throws TareException no burst is lent
     */
    public void giveBack() throws TareException {
        mine();
        TareException.check(Native.portGiveBack(handle));
        lent.end();
    }

    /**
     * Takes the frames that have arrived, at most a whole burst; never waits.
     *
     * @return the port's one burst for this way; if it has no frames, there is nothing to release
     * @throws TareException the last burst is still held, or no frame will ever come again
     */
    public Burst receive() throws TareException {
        return receive(Integer.MAX_VALUE);
    }

    /**
     * Takes up to {@code most} frames that have arrived; never waits.
     *
     * @param most how many
     * @return the port's one burst for this way; if it has no frames, there is nothing to release
     * @throws TareException the last burst is still held, or no frame will ever come again
     */
    public Burst receive(int most) throws TareException {
        mine();
        TareException.check(Native.portReceive(handle, natural(most, "most"), held.struct));
        return held.begin();
    }

    /**
     * Gives the received frames up: the burst is empty then.
     *
     * @throws TareException none are held
     */
    public void release() throws TareException {
        mine();
        TareException.check(Native.portRelease(handle));
        held.end();
    }

    /**
     * Sends frames of a burst that another port received out of this one, without a copy by the program, but
     * for those that {@link Burst#decide} or a {@link Filter} drops. The burst may be this port's own: then
     * they go back.
     *
     * @param burst received, and not released
     * @param first the first frame
     * @param count how many
     * @return for how many this is done: fewer where there is no room for more now
     * @throws TareException frame {@code first} is too long, frames are not held, or the port failed
     */
    public int pass(Burst burst, int first, int count) throws TareException {
        mine();
        if (burst.isLent()) {
            throw new IllegalArgumentException(
                    "this burst is lent: use send() for it; pass() is for received bursts");
        }
        Port from = burst.port();
        int code = Native.portPass(from.handle(), handle, natural(first, "first"),
                natural(count, "count"), burst.decisions, number);
        TareException.check(code);
        return number.get(JAVA_INT, 0);
    }

    /**
     * Takes frames that have arrived, and sends those that pass the rules out of another port: a whole burst
     * by one call, of which nothing stays held. What the other port does not take is given up.
     *
     * @param to where they go; {@code null} is nowhere: they are judged and counted in place, and given up
     * @param rules which; {@code null} lets all pass
     * @param most how many
     * @return what became of them, until the next call
     * @throws TareException the last burst is still held, no frame will ever come again, or a port failed
     */
    public Forwarded forward(Port to, Filter rules, int most) throws TareException {
        mine();
        long other = to == null ? 0 : to.handle();
        long judge = rules == null ? 0 : rules.handle();
        TareException.check(Native.portForward(handle, other, judge, natural(most, "most"), forwarded.told));
        return forwarded;
    }

    /**
     * Waits until a frame can be received.
     *
     * @param patience for at most so long
     * @return whether there is one
     * @throws TareException the port failed
     * @throws InterruptedException the thread was interrupted
     */
    public boolean awaitFrames(Duration patience) throws TareException, InterruptedException {
        return await(RECEIVE, patience);
    }

    /**
     * Waits until a frame can be sent.
     *
     * @param patience for at most so long
     * @return whether there is room
     * @throws TareException the port failed
     * @throws InterruptedException the thread was interrupted
     */
    public boolean awaitRoom(Duration patience) throws TareException, InterruptedException {
        return await(TRANSMIT, patience);
    }

    private boolean await(int what, Duration patience) throws TareException, InterruptedException {
        mine();
        return sliced(patience, ns -> Native.portWait(handle, what, ns, number), number);
    }

    /**
     * Sees to it that all that was taken has left.
     *
     * @param patience for at most so long
     * @return whether it has
     * @throws TareException the port failed
     * @throws InterruptedException the thread was interrupted
     */
    public boolean flush(Duration patience) throws TareException, InterruptedException {
        mine();
        return sliced(patience, ns -> Native.portFlush(handle, ns, number), number);
    }

    /** Something of the library that waits for so many nanoseconds. */
    interface Wait {
        int atMost(long ns);
    }

    /** Waits in slices until the library says true, the time is over, or the thread is interrupted. */
    static boolean sliced(Duration patience, Wait wait, MemorySegment told)
            throws TareException, InterruptedException {
        long end = System.nanoTime() + nanos(patience);
        while (true) {
            if (Thread.interrupted()) {
                throw new InterruptedException("interrupted while waiting");
            }
            long left = Math.max(0, end - System.nanoTime());
            TareException.check(wait.atMost(Math.min(left, SLICE_NS)));
            if (told.get(JAVA_BYTE, 0) != 0) {
                return true;
            }
            if (left <= SLICE_NS) {
                return false;
            }
        }
    }

    static long nanos(Duration patience) {
        if (patience.isNegative()) {
            throw new IllegalArgumentException("a patience of " + patience + ": it must not be negative");
        }
        // Longer than anybody waits, and its end is still a number.
        return patience.compareTo(Duration.ofDays(36_500)) > 0 ? Long.MAX_VALUE / 2 : patience.toNanos();
    }

    /** Lets another thread have the port: the first that uses it then. */
    public void handOver() {
        mine();
        synchronized (this) {
            owner = null;
        }
    }

    /** Lets another thread have it, also after it was closed. */
    void leave() {
        if (!closed) {
            handOver();
        }
    }

    /**
     * Closes the port, and what it lent. A second time does nothing.
     *
     * @throws IllegalStateException another thread owns the port, or a call of another is not over within a
     *     second
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        mine();
        closed = true;
        lent.end();
        held.end();
        arena.close();
        // The library closes nothing that a thread is in: one that owned it before, for instance.
        long from = System.nanoTime();
        int code = Native.portClose(handle);
        while (TareException.Kind.of(code) == TareException.Kind.BUSY
                && System.nanoTime() - from < CLOSING_NS) {
            LockSupport.parkNanos(BETWEEN_NS);
            code = Native.portClose(handle);
        }
        if (code != 0) {
            throw new IllegalStateException(address + " is not closed: " + Native.lastError());
        }
    }

    /** The handle, for a call in which two ports take part. */
    long handle() {
        mine();
        return handle;
    }

    /** Where the library writes a number, for a call about this port's burst. */
    MemorySegment number() {
        mine();
        return number;
    }

    /** Only its own thread may use a port: it reads its own name here, or a name that is not its own. */
    private void mine() {
        if (closed || owner != Thread.currentThread()) {
            take();
        }
    }

    private synchronized void take() {
        open();
        Thread now = Thread.currentThread();
        if (owner != null && owner != now && owner.isAlive()) {
            throw new IllegalStateException(address + " belongs to thread " + owner.getName() + ", and "
                    + now.getName() + " uses it: handOver() gives it away");
        }
        owner = now;
    }

    void open() {
        if (closed) {
            throw new IllegalStateException(address + " is closed");
        }
    }

    private static int natural(int value, String name) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " is " + value + ": it must not be negative");
        }
        return value;
    }

    @Override
    public String toString() {
        return closed ? address + " (closed)" : address;
    }
}
