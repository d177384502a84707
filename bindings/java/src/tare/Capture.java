package tare;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;

/**
 * Counts frames, and writes them to a file if there is one: pcap with stamps in nanoseconds, which tcpdump and Wireshark
 * read. Frames are gathered in memory outside of Java's heap, and written a mebibyte at a time.
 */
public final class Capture implements Middlebox {
    private static final int ROOM = 1 << 20;
    private static final int RECORD = 16;
    private static final long SECOND = 1_000_000_000;
    private static final long HALF = 0xffff_ffffL;
    private static final int MAGIC_NANOSECONDS = 0xa1b23c4d;
    private static final int ETHERNET = 1;
    private static final int LONGEST = 262_144;

    private final FileChannel file;
    private final Arena arena;
    private final MemorySegment room;
    private final ByteBuffer bytes;
    private int filled;

    /** A capture that counts, and keeps nothing. */
    public Capture() {
        file = null;
        arena = null;
        room = MemorySegment.NULL;
        bytes = null;
    }

    /**
     * A capture to a file, which is made anew.
     *
     * @param path where
     * @throws IOException it cannot be made
     */
    public Capture(Path path) throws IOException {
        Objects.requireNonNull(path, "path");
        file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING);
        arena = Arena.ofShared();
        room = arena.allocate(ROOM);
        bytes = room.asByteBuffer();
        int[] head = {MAGIC_NANOSECONDS, 4 << 16 | 2, 0, 0, LONGEST, ETHERNET};
        for (int word : head) {
            put(word);
        }
    }

    /** Without a file whole bursts are counted by one call. */
    @Override
    public int poll(Port in, int most, Tally tally) throws TareException, IOException {
        if (file != null) {
            return Middlebox.super.poll(in, most, tally);
        }
        Port.Forwarded done = in.forward(null, null, most);
        tally.add(done.received(), done.receivedBytes());
        return done.received();
    }

    @Override
    public void take(Burst burst) throws IOException {
        if (file == null) {
            return;
        }
        int count = burst.count();
        MemorySegment data = burst.data;
        MemorySegment room = this.room;
        int at = filled;
        for (int i = 0; i < count; i++) {
            int length = burst.length(i);
            if (at + RECORD + length > ROOM) {
                filled = at;
                write();
                at = 0;
            }
            long time = burst.timeUnixNs(i);
            long seconds = time / SECOND;
            room.set(JAVA_LONG_UNALIGNED, at, seconds & HALF | time - seconds * SECOND << 32);
            room.set(JAVA_LONG_UNALIGNED, at + 8, length | (long) burst.wireLength(i) << 32);
            MemorySegment.copy(data, burst.row(i), room, at + RECORD, length);
            at += RECORD + length;
        }
        filled = at;
    }

    private void put(int word) {
        room.set(JAVA_INT_UNALIGNED, filled, word);
        filled += 4;
    }

    private void write() throws IOException {
        bytes.clear().limit(filled);
        // A channel that an interrupted thread writes to is closed: the interrupt is kept for behind it.
        boolean interrupted = Thread.interrupted();
        try {
            while (bytes.hasRemaining()) {
                file.write(bytes);
            }
            filled = 0;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (file == null || !file.isOpen()) {
            return;
        }
        try (file; arena) {
            write();
        }
    }
}
