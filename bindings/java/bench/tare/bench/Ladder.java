package tare.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import tare.Burst;
import tare.Capture;
import tare.Filter;
import tare.Firewall;
import tare.FrameAccessor;
import tare.Middlebox;
import tare.Port;
import tare.RuleTable;
import tare.Tally;
import tare.TareException;

/** Each step from an object a packet to a whole burst by one call, as a middlebox. */
final class Ladder {
    private Ladder() {}

    static final List<String> NAMES = List.of(
            "capture-objects", "capture-pooled", "capture-accessor", "capture-burst", "capture-call", "capture-file",
            "capture-port",
            "firewall-objects", "firewall-pooled", "firewall-list", "firewall-table", "firewall-filter",
            "firewall-call");

    private static final Port.Options SEND = Port.Options.DEFAULTS.direction(Port.Direction.TRANSMIT);

    /** Compiled when it is first asked for. */
    private static final class Table {
        static final RuleTable RULES = new RuleTable(Rules.text());
    }

    static Middlebox of(String name, Port out, Filter filter) throws IOException, TareException {
        return switch (name) {
            case "capture-objects" -> new Objects(null, null);
            case "capture-pooled" -> new Pooled(null, null);
            case "capture-accessor" -> new Accessor();
            case "capture-burst" -> new Summed();
            case "capture-port" -> new Kept(Port.open("pcap:/dev/null", SEND));
            case "capture-call" -> new Capture();
            case "capture-file" -> new Capture(Path.of("/dev/null"));
            case "firewall-objects" -> new Objects(new RuleList(), out);
            case "firewall-pooled" -> new Pooled(new RuleList(), out);
            case "firewall-list" -> new Listed(out);
            case "firewall-table" -> new Firewall(Table.RULES, out);
            case "firewall-filter" -> new Filtered(filter, out);
            case "firewall-call" -> new Firewall(filter, out);
            default -> throw new IllegalArgumentException("no " + name + ": " + NAMES);
        };
    }

    /** A frame in Java's heap. */
    static final class Packet {
        byte[] bytes;
        int length;

        int source() {
            return (bytes[26] & 0xff) << 24 | (bytes[27] & 0xff) << 16 | (bytes[28] & 0xff) << 8 | bytes[29] & 0xff;
        }

        int protocol() {
            return bytes[23] & 0xff;
        }
    }

    /** The rules one by one, as objects: what the first that matches says. */
    static final class RuleList {
        record Rule(int source, int mask, int protocol, boolean drops) {
            boolean matches(int from, int carried) {
                return (from & mask) == source && (protocol < 0 || protocol == carried);
            }
        }

        private final List<Rule> rules = new ArrayList<>();

        RuleList() {
            for (String line : Rules.text().split("\n")) {
                String[] words = line.split("[ ./]");
                int source = 0;
                for (int i = 2; i < 6; i++) {
                    source = source << 8 | Integer.parseInt(words[i]);
                }
                int bits = line.contains("/") ? Integer.parseInt(words[6]) : 32;
                int protocol = line.endsWith("udp") ? 17 : line.endsWith("tcp") ? 6 : -1;
                rules.add(new Rule(source, -1 << 32 - bits, protocol, words[0].equals("drop")));
            }
        }

        boolean drops(int source, int protocol) {
            for (Rule rule : rules) {
                if (rule.matches(source, protocol)) {
                    return rule.drops();
                }
            }
            return false;
        }
    }

    private static void decide(Burst burst, int i, RuleList rules, Packet packet) {
        burst.decide(i, rules.drops(packet.source(), packet.protocol()));
    }

    /** A new object for each packet, its bytes, and a new list for each burst. */
    private record Objects(RuleList rules, Port out) implements Middlebox {
        @Override
        public int poll(Port in, int most, Tally tally) throws TareException {
            Burst burst = in.receive(most);
            int count = burst.count();
            if (count > 0) {
                List<Packet> packets = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    Packet packet = new Packet();
                    packet.bytes = burst.frame(i).bytes();
                    packet.length = packet.bytes.length;
                    packets.add(packet);
                }
                handle(burst, packets, rules, out, tally);
                in.release();
            }
            return count;
        }

        @Override
        public void take(Burst burst) {
            throw new IllegalStateException("poll does it");
        }
    }

    /** Objects, bytes and the list made once: only copied into. */
    private static final class Pooled implements Middlebox {
        private final RuleList rules;
        private final Port out;
        private final List<Packet> pool = new ArrayList<>();
        private final List<Packet> packets = new ArrayList<>();

        Pooled(RuleList rules, Port out) {
            this.rules = rules;
            this.out = out;
            for (int i = 0; i < Feed.RING; i++) {
                Packet packet = new Packet();
                packet.bytes = new byte[1_514];
                pool.add(packet);
            }
        }

        @Override
        public int poll(Port in, int most, Tally tally) throws TareException {
            Burst burst = in.receive(most);
            int count = burst.count();
            if (count > 0) {
                packets.clear();
                for (int i = 0; i < count; i++) {
                    Packet packet = pool.get(i);
                    FrameAccessor frame = burst.frame(i);
                    packet.length = frame.length();
                    frame.get(0, packet.bytes, 0, packet.length);
                    packets.add(packet);
                }
                handle(burst, packets, rules, out, tally);
                in.release();
            }
            return count;
        }

        @Override
        public void take(Burst burst) {
            throw new IllegalStateException("poll does it");
        }
    }

    private static void handle(Burst burst, List<Packet> packets, RuleList rules, Port out, Tally tally)
            throws TareException {
        for (int i = 0; i < packets.size(); i++) {
            Packet packet = packets.get(i);
            tally.add(1, packet.length);
            if (rules != null) {
                decide(burst, i, rules, packet);
            }
        }
        if (out != null) {
            out.pass(burst, 0, burst.count());
        }
    }

    /** One accessor that moves over the frames. */
    private static final class Accessor implements Middlebox {
        @Override
        public int poll(Port in, int most, Tally tally) throws TareException {
            Burst burst = in.receive(most);
            int count = burst.count();
            if (count > 0) {
                long bytes = 0;
                FrameAccessor frame = burst.frame(0);
                for (int i = 0; i < count; i++) {
                    bytes += frame.moveTo(i).length();
                }
                tally.add(count, bytes);
                in.release();
            }
            return count;
        }

        @Override
        public void take(Burst burst) {
            throw new IllegalStateException("poll does it");
        }
    }

    /** The burst says what its frames are long together. */
    private static final class Summed implements Middlebox {
        @Override
        public void take(Burst burst) {}
    }

    /** A file that is a port, a burst by one call. */
    private record Kept(Port file) implements Middlebox {
        @Override
        public int poll(Port in, int most, Tally tally) throws TareException {
            Port.Forwarded done = in.forward(file, null, most);
            tally.add(done.received(), done.receivedBytes());
            return done.received();
        }

        @Override
        public void take(Burst burst) {}

        @Override
        public void close() {
            file.close();
        }
    }

    /** The accessor, and the rules one by one. */
    private static final class Listed implements Middlebox {
        private final RuleList rules = new RuleList();
        private final Port out;

        Listed(Port out) {
            this.out = out;
        }

        @Override
        public void take(Burst burst) throws TareException {
            int count = burst.count();
            FrameAccessor frame = burst.frame(0);
            for (int i = 0; i < count; i++) {
                frame.moveTo(i);
                burst.decide(i, rules.drops(frame.u32(26), frame.u8(23)));
            }
            out.pass(burst, 0, count);
        }
    }

    /** The library's rules, a burst by one call, and the other steps by one each. */
    private record Filtered(Filter filter, Port out) implements Middlebox {
        @Override
        public void take(Burst burst) throws TareException {
            filter.judge(burst);
            out.pass(burst, 0, burst.count());
        }
    }
}
