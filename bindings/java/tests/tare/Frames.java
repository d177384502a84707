package tare;

import java.util.HexFormat;

/** Frames for tests, and ways to send them. */
final class Frames {
    private Frames() {}

    /** Ethernet, IPv4 from 198.18.0.1 to 198.18.0.2, UDP to port 9 without a checksum, 18 bytes of payload. */
    static final byte[] UDP = HexFormat.of().parseHex(
            "0200000000020200000000010800" + "4500002e000000004011ee97c6120001c6120002" + "04000009001a0000" + "00".repeat(18));

    static Port[] pair(String name) throws TareException {
        return new Port[] {Port.open(name), Port.open(name)};
    }

    /** Frames from 198.18.0.0, 198.18.0.1, and so on. */
    static void send(Port port, int count) throws TareException {
        Burst burst = port.lend(count);
        for (int i = 0; i < count; i++) {
            burst.frame(i).put(0, UDP).put8(29, i);
        }
        Check.same(count, port.send(burst));
        port.giveBack();
    }

    static void send(Port port, byte[] frame) throws TareException {
        Burst burst = port.lend(1);
        burst.frame(0).put(0, frame);
        Check.same(1, port.send(burst));
        port.giveBack();
    }
}
