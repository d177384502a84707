package tare;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * One frame of a burst at a time: moved over all of them, so that no object is made for a frame. Numbers are read and
 * written in network order. A byte outside of the frame is an exception, also when the burst was released.
 */
public final class FrameAccessor {
    private static final ValueLayout.OfShort SHORT = JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private static final int NONE = -1;

    private final Burst burst;
    private final boolean lent;
    private MemorySegment data;
    private long row;
    private int index;
    /** Bytes that may be read and, of a lent burst, written; -1 over no frame. */
    private int limit = NONE;

    FrameAccessor(Burst burst) {
        this.burst = burst;
        this.lent = burst.isLent();
        this.data = burst.data;
    }

    /**
     * Moves to a frame.
     *
     * @param index which
     * @return this
     */
    public FrameAccessor moveTo(int index) {
        row = burst.row(index);
        this.index = index;
        limit = burst.reach(index);
        return this;
    }

    /** The rows are where they are until the port is closed. */
    void at(MemorySegment data) {
        this.data = data;
    }

    void leave() {
        limit = NONE;
    }

    /** {@return which frame of the burst it is over} */
    public int index() {
        return index;
    }

    /** {@return bytes of the frame} */
    public int length() {
        if (limit == NONE) {
            throw outside(0, 1);
        }
        return lent ? burst.length(index) : limit;
    }

    /**
     * Says how long the frame is, if it will be sent.
     *
     * @param bytes its length, without FCS
     * @return this
     */
    public FrameAccessor resize(int bytes) {
        burst.setLength(index, bytes);
        return this;
    }

    /**
     * {@return it, 0 to 255}
     *
     * @param at which byte
     */
    public int u8(int at) {
        check(at, 1);
        return data.get(JAVA_BYTE, row + at) & 0xff;
    }

    /**
     * {@return them, 0 to 65535}
     *
     * @param at where two bytes begin
     */
    public int u16(int at) {
        check(at, 2);
        return data.get(SHORT, row + at) & 0xffff;
    }

    /**
     * {@return them; unsigned with {@link Integer#toUnsignedLong}}
     *
     * @param at where four bytes begin
     */
    public int u32(int at) {
        check(at, 4);
        return data.get(INT, row + at);
    }

    /**
     * {@return them}
     *
     * @param at where eight bytes begin
     */
    public long u64(int at) {
        check(at, 8);
        return data.get(LONG, row + at);
    }

    /**
     * Writes a byte.
     *
     * @param at where
     * @param value its lower 8 bits
     * @return this
     */
    public FrameAccessor put8(int at, int value) {
        check(at, 1);
        data.set(JAVA_BYTE, row + at, (byte) value);
        return this;
    }

    /**
     * Writes two bytes.
     *
     * @param at where
     * @param value its lower 16 bits
     * @return this
     */
    public FrameAccessor put16(int at, int value) {
        check(at, 2);
        data.set(SHORT, row + at, (short) value);
        return this;
    }

    /**
     * Writes four bytes.
     *
     * @param at where
     * @param value the number
     * @return this
     */
    public FrameAccessor put32(int at, int value) {
        check(at, 4);
        data.set(INT, row + at, value);
        return this;
    }

    /**
     * Writes eight bytes.
     *
     * @param at where
     * @param value the number
     * @return this
     */
    public FrameAccessor put64(int at, long value) {
        check(at, 8);
        data.set(LONG, row + at, value);
        return this;
    }

    /**
     * Writes bytes, and makes the frame at least as long as to their end if it will be sent.
     *
     * @param at where
     * @param bytes which
     * @return this
     */
    public FrameAccessor put(int at, byte[] bytes) {
        check(at, bytes.length);
        MemorySegment.copy(bytes, 0, data, JAVA_BYTE, row + at, bytes.length);
        if (lent && burst.length(index) < at + bytes.length) {
            resize(at + bytes.length);
        }
        return this;
    }

    /**
     * Reads bytes.
     *
     * @param at where
     * @param into as many as it has room for
     */
    public void get(int at, byte[] into) {
        get(at, into, 0, into.length);
    }

    /**
     * Reads bytes.
     *
     * @param at where
     * @param into what they are written into
     * @param from from which of its places on
     * @param count how many
     */
    public void get(int at, byte[] into, int from, int count) {
        Objects.checkFromIndexSize(from, count, into.length);
        check(at, count);
        MemorySegment.copy(data, JAVA_BYTE, row + at, into, from, count);
    }

    /** {@return a copy of the frame} */
    public byte[] bytes() {
        byte[] copy = new byte[length()];
        get(0, copy);
        return copy;
    }

    /** {@return the frame's bytes where they lie: for as long as the burst is held, or lent} */
    public MemorySegment segment() {
        int length = length();
        check(0, length);
        return data.asSlice(row, length);
    }

    private void check(int at, int bytes) {
        if (at < 0 || at > limit - bytes) {
            throw outside(at, bytes);
        }
    }

    private RuntimeException outside(int at, int bytes) {
        if (limit == NONE) {
            burst.row(index); // says so where the burst, or the port, is closed
            return new IllegalStateException("this accessor is not on a frame yet: call moveTo() first");
        }
        String which = bytes == 1 ? "byte " + at : "bytes " + at + " to " + ((long) at + bytes - 1);
        return new IndexOutOfBoundsException(which + " of frame " + index + ", which has " + limit);
    }
}
