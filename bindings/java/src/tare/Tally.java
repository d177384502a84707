package tare;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Frames and bytes that one poller received. Its thread counts; others may read, and see figures of a moment ago. */
public final class Tally {
    private static final VarHandle FRAMES = field("frames");
    private static final VarHandle BYTES = field("bytes");

    private long frames;
    private long bytes;

    /** Makes one with nothing counted. */
    public Tally() {}

    private static VarHandle field(String name) {
        try {
            return MethodHandles.lookup().findVarHandle(Tally.class, name, long.class);
        } catch (ReflectiveOperationException never) {
            throw new ExceptionInInitializerError(never);
        }
    }

    /**
     * Counts.
     *
     * @param frames so many more
     * @param bytes and so many of theirs
     */
    public void add(long frames, long bytes) {
        // One thread writes, so that it needs no lock; others must not keep an old figure in a register.
        BYTES.setRelease(this, this.bytes + bytes);
        FRAMES.setRelease(this, this.frames + frames);
    }

    /** {@return frames so far} */
    public long frames() {
        return (long) FRAMES.getAcquire(this);
    }

    /** {@return bytes so far} */
    public long bytes() {
        return (long) BYTES.getAcquire(this);
    }
}
