package tare;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Frames in rows of a port's memory: lent, to be filled and sent, or received, to be looked at and released. After that
 * it is empty, and its frames are out of reach.
 */
public final class Burst {
    private static final long COUNT = Native.at(Native.BURST, "count");
    private static final long STRIDE = Native.at(Native.BURST, "stride");

    private final Port port;
    private final boolean lent;
    private final int rows;
    private final Arena arena;
    private final List<FrameAccessor> accessors = new ArrayList<>(1);
    private final FrameAccessor accessor;
    /** The library writes here where the frames are, and how many. */
    final MemorySegment struct;
    /** What rules decided of each frame: odd is dropped. */
    final MemorySegment decisions;
    MemorySegment data = MemorySegment.NULL;
    private MemorySegment lengths = MemorySegment.NULL;
    private MemorySegment wireLengths = MemorySegment.NULL;
    private MemorySegment times = MemorySegment.NULL;
    private int stride;
    private int count;
    /** Rows whose decisions may not be 0. */
    private int decided;

    Burst(Port port, boolean lent, int rows, Arena arena) {
        this.port = port;
        this.lent = lent;
        this.rows = rows;
        this.arena = arena;
        this.struct = arena.allocate(Native.BURST);
        this.decisions = arena.allocate(JAVA_INT, rows);
        this.accessor = accessor();
    }

    /** The library has written the struct. */
    Burst begin() {
        if (stride == 0) {
            find();
        }
        for (int i = 0; i < decided; i++) {
            decisions.setAtIndex(JAVA_INT, i, 0);
        }
        decided = 0;
        count = struct.get(JAVA_INT, COUNT);
        return this;
    }

    /** The rows stay where they are until the port is closed. */
    private void find() {
        stride = struct.get(JAVA_INT, STRIDE);
        data = part("data", (long) rows * stride);
        lengths = part("lengths", 4L * rows);
        wireLengths = part("wire_lengths", 4L * rows);
        times = part("times_unix_ns", 8L * rows);
        for (FrameAccessor each : accessors) {
            each.at(data);
        }
    }

    private MemorySegment part(String field, long bytes) {
        return struct.get(ADDRESS, Native.at(Native.BURST, field)).reinterpret(bytes, arena, null);
    }

    void end() {
        count = 0;
        for (FrameAccessor each : accessors) {
            each.leave();
        }
    }

    /** {@return how many frames there are: none before it was lent or received, and after it was given up} */
    public int count() {
        return count;
    }

    /** {@return whether frames of this burst can be sent} */
    public boolean isLent() {
        return lent;
    }

    /**
     * Moves the burst's own accessor.
     *
     * @param index which frame
     * @return the accessor, over that frame
     */
    public FrameAccessor frame(int index) {
        return accessor.moveTo(index);
    }

    /**
     * Makes another accessor, for whoever looks at two frames at once. It serves for all bursts to come.
     *
     * @return one that is over no frame yet
     */
    public FrameAccessor accessor() {
        FrameAccessor made = new FrameAccessor(this);
        accessors.add(made);
        return made;
    }

    /**
     * {@return its bytes, without FCS: what there is of one that was cut off}
     *
     * @param index which frame
     */
    public int length(int index) {
        check(index);
        return lengths.getAtIndex(JAVA_INT, index);
    }

    /**
     * Says how long a frame is that will be sent; one of 0 bytes is left out.
     *
     * @param index which frame
     * @param bytes its length, without FCS
     */
    public void setLength(int index, int bytes) {
        check(index);
        toBeSent();
        if (bytes < 0 || bytes > port.room) {
            throw new IllegalArgumentException("a frame of " + bytes + " bytes: " + port + " was opened for 0 to "
                    + port.room);
        }
        lengths.setAtIndex(JAVA_INT, index, bytes);
    }

    /**
     * {@return how long a received frame was on the wire: more than {@link #length} if it was cut off}
     *
     * @param index which frame
     */
    public int wireLength(int index) {
        check(index);
        return wireLengths.getAtIndex(JAVA_INT, index);
    }

    /**
     * {@return when it came, in nanoseconds since 1970, or shall leave; 0 if nobody stamped it, or it leaves at once}
     *
     * @param index which frame
     */
    public long timeUnixNs(int index) {
        check(index);
        return times.getAtIndex(JAVA_LONG, index);
    }

    /**
     * Says when a frame shall leave, on ports with launch times.
     *
     * @param index which frame
     * @param unixNs nanoseconds since 1970; 0 is at once
     */
    public void setTimeUnixNs(int index, long unixNs) {
        check(index);
        toBeSent();
        times.setAtIndex(JAVA_LONG, index, unixNs);
    }

    /** {@return bytes of all its frames together} */
    public long bytes() {
        long sum = 0;
        for (int i = 0; i < count; i++) {
            sum += lengths.getAtIndex(JAVA_INT, i);
        }
        return sum;
    }

    /**
     * {@return what a {@link Filter} or {@link #decide} has decided of it: odd if it is dropped}
     *
     * @param index which frame
     */
    public int decision(int index) {
        check(index);
        return decisions.getAtIndex(JAVA_INT, index);
    }

    /**
     * Decides by rules of one's own, for {@link Port#pass}. Each burst begins with all its frames passing.
     *
     * @param index which frame
     * @param drops whether it is dropped
     */
    public void decide(int index, boolean drops) {
        check(index);
        decided();
        decisions.setAtIndex(JAVA_INT, index, drops ? 1 : 0);
    }

    /** Decisions of this burst are written: the next begins with none. */
    void decided() {
        decided = count;
    }

    /** A decision with its rule. */
    void put(int index, int decision) {
        check(index);
        decisions.setAtIndex(JAVA_INT, index, decision);
    }

    long row(int index) {
        check(index);
        return (long) index * stride;
    }

    private void toBeSent() {
        if (!lent) {
            throw new IllegalStateException("this burst of " + port + " was received: lengths and times can be set only"
                    + " in a lent one");
        }
    }

    /** Bytes of a row that may be reached, of one that was checked. */
    int reach(int index) {
        return lent ? port.room : lengths.getAtIndex(JAVA_INT, index);
    }

    private void check(int index) {
        if (index < 0 || index >= count) {
            throw outside(index);
        }
    }

    private RuntimeException outside(int index) {
        port.open();
        if (count == 0) {
            String after = lent ? "given back, or not lent yet" : "released, or none was received";
            return new IllegalStateException("frame " + index + " of a burst of " + port + " without frames: it was "
                    + after);
        }
        return new IndexOutOfBoundsException("frame " + index + " of a burst of " + count);
    }

    Port port() {
        return port;
    }
}
