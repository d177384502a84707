package tare.bench;

import tare.Burst;
import tare.FrameAccessor;
import tare.Port;
import tare.TareException;

/** A pair of ports of which one end is filled and the other is the middlebox's, and a second pair that it sends to. */
final class Feed implements AutoCloseable {
    /** Frames of a ring. */
    static final int RING = 1_024;

    final int size;
    final int burst;
    final int longest;
    final Port in;
    final Port out;
    private final Port source;
    private final Port drain;
    private Burst lent;

    /** Of frames of {@code size} bytes with their FCS. */
    Feed(String name, int size, int burst, int longest, int queue, int queues) throws TareException {
        this.size = size;
        this.burst = burst;
        this.longest = longest;
        Port.Options options = Port.Options.DEFAULTS.longest(longest).queue(queue, queues);
        source = Port.open("mem:" + name, options.burst(RING));
        in = Port.open("mem:" + name, options.burst(burst));
        out = Port.open("mem:" + name + "-out", options.burst(burst));
        drain = Port.open("mem:" + name + "-out", options.burst(burst));
        write(size - 4);
    }

    /** UDP from 198.18.X.Y, X below 128, Y below 64: one of eight is of a network that a rule names. */
    private void write(int length) throws TareException {
        lent = source.lend(RING);
        for (int i = 0; i < RING; i++) {
            FrameAccessor frame = lent.frame(i).resize(length);
            frame.put64(0, 0x0200000000020200L).put32(8, 1).put16(12, 0x0800);
            frame.put16(14, 0x4500).put16(16, length - 14).put32(18, 0).put16(22, 64 << 8 | 17).put16(24, 0);
            frame.put32(26, 198 << 24 | 18 << 16 | (i * 37 & 127) << 8 | i * 11 & 63).put32(30, 0xc6120002);
            frame.put32(34, 1024 << 16 | 9).put16(38, length - 34).put16(40, 0);
        }
    }

    /** Fills the ring of {@code in}. */
    int fill() throws TareException {
        return source.send(lent, 0, RING);
    }

    /** Empties the ring of {@code out}. */
    int drain() throws TareException {
        int all = 0;
        while (true) {
            int some = drain.forward(null, null, RING).received();
            if (some == 0) {
                return all;
            }
            all += some;
        }
    }

    /** Lets another thread have the ends that are not the middlebox's. */
    void handOver() {
        source.handOver();
        drain.handOver();
    }

    @Override
    public void close() {
        for (Port port : new Port[] {source, in, out, drain}) {
            port.close();
        }
    }
}
