package tare;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.Optional;

/**
 * What a frame carries at the start of its payload, as {@code tare send --sign} writes it: 18 bytes.
 *
 * @param seq position in the whole schedule: less than 2^40
 * @param dueUnixNs when it was to leave, in nanoseconds since 1970; read back, it is exact up to 4 us before
 *     {@code sentUnixNs}, and at most 1/2048 of their difference too late beyond that
 * @param sentUnixNs when it left
 * @param stream 0 to 255
 */
public record Signature(long seq, long dueUnixNs, long sentUnixNs, int stream) {
    private static final StructLayout LAYOUT = Native.SIGNATURE;
    private static final long SEQ = Native.at(LAYOUT, "seq");
    private static final long DUE = Native.at(LAYOUT, "due_unix_ns");
    private static final long SENT = Native.at(LAYOUT, "sent_unix_ns");
    private static final long STREAM = Native.at(LAYOUT, "stream");

    /**
     * Writes it over the first bytes of a frame's payload, and keeps the checksum of UDP, TCP or ICMP right.
     *
     * @param frame whose headers and length are written already
     * @throws TareException there is no payload of 18 bytes, or a number is too large
     */
    public void write(FrameAccessor frame) throws TareException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment laid = arena.allocate(LAYOUT);
            laid.set(JAVA_LONG, SEQ, seq);
            laid.set(JAVA_LONG, DUE, dueUnixNs);
            laid.set(JAVA_LONG, SENT, sentUnixNs);
            laid.set(JAVA_INT, STREAM, stream);
            MemorySegment bytes = frame.segment();
            TareException.check(Native.signatureWrite(laid, bytes, bytes.byteSize()));
        }
    }

    /**
     * Looks for a signature.
     *
     * @param frame where
     * @return it, if there is one
     * @throws TareException the library refused
     */
    public static Optional<Signature> read(FrameAccessor frame) throws TareException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment told = arena.allocate(LAYOUT);
            MemorySegment found = arena.allocate(JAVA_BYTE);
            MemorySegment bytes = frame.segment();
            TareException.check(Native.signatureRead(bytes, bytes.byteSize(), told, found));
            if (found.get(JAVA_BYTE, 0) == 0) {
                return Optional.empty();
            }
            return Optional.of(new Signature(told.get(JAVA_LONG, SEQ), told.get(JAVA_LONG, DUE),
                    told.get(JAVA_LONG, SENT), told.get(JAVA_INT, STREAM)));
        }
    }
}
