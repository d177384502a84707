package tare;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Rules by source address and protocol, compiled to a table of Java's own: three reads decide, however many rules there
 * are. What rules look at beyond that (destinations, ports, addresses of IPv6) takes a {@link Filter}.
 *
 * <pre>
 *   source ─ 16 bits ─► top ─┬─ a class of protocols ───────────────► class · 256 + protocol ─► decision
 *                            └─ 8 bits ─► block ─┬─ a class
 *                                                └─ 8 bits ─► block ─ a class
 *
 *   pass|drop [from A.B.C.D[/N]] [proto udp|tcp|icmp|NUMBER]     the first rule that matches decides
 *   default pass|drop                                            what no rule matches; by default pass
 *   other pass|drop                                              neither IPv4 nor IPv6; by default pass
 * </pre>
 *
 * Frames are read as the library reads them: up to two VLAN tags, IPv4 with options, IPv6 with extension headers; what
 * contradicts itself is dropped. A rule without an address is for IPv4 and IPv6. The decisions are those of a {@link Filter} of the same text.
 */
public final class RuleTable {
    private static final int PROTOCOLS = 256;
    private static final int TOP_BITS = 16;
    /** Ethernet, IPv4 without options, ports. */
    private static final int LEAST = 38;
    private static final Map<String, Integer> NAMES = Map.of("icmp", 1, "tcp", 6, "udp", 17);
    /** Behind these there may be an IP packet that is not looked for: decided as what no rule matches. */
    private static final int[] CARRIERS = {
        0x8100, 0x88a8, 0x9100, 0x9200, 0x9300, 0x8847, 0x8848, 0x8864, 0x880b, 0x88e5, 0x88e7, 0x894f, 0x22f3
    };

    private static final int MOST_EXTENSIONS = 8;
    private static final int FRAGMENT = 44;
    private static final int AUTHENTICATION = 51;

    /** {@code bits} is -1 where a rule names no address. */
    private record Rule(int source, int bits, int protocol, int decision) {
        boolean covers(int prefix, int length) {
            return bits <= 0 || bits <= length && (prefix ^ source) >>> (32 - bits) == 0;
        }

        boolean meets(int prefix, int length) {
            int common = Math.min(bits, length);
            return common <= 0 || (prefix ^ source) >>> (32 - common) == 0;
        }
    }

    private final int[] top = new int[1 << TOP_BITS];
    /** Blocks of 256 entries; an entry is a class, or ~block. */
    private int[] blocks = new int[0];
    private int[] classes = new int[0];
    /** The class of IPv6, whose addresses no rule names. */
    private int v6;
    private final int noRule;
    private final int other;
    private final int malformed;
    private final int rules;

    /**
     * Compiles rules.
     *
     * @param text a line each
     * @throws IllegalArgumentException names the line that is wrong
     */
    public RuleTable(String text) {
        Objects.requireNonNull(text, "text");
        List<Rule> found = new ArrayList<>();
        boolean defaultDrops = false;
        boolean otherDrops = false;
        int defaultAt = 0;
        int otherAt = 0;
        int number = 0;
        for (String line : text.split("\n", -1)) {
            number++;
            String[] words = words(line);
            if (words[0].isEmpty()) {
                continue;
            }
            switch (words[0]) {
                case "default" -> {
                    defaultDrops = drops(words, 1, number);
                    defaultAt = once(words[0], defaultAt, number);
                }
                case "other" -> {
                    otherDrops = drops(words, 1, number);
                    otherAt = once(words[0], otherAt, number);
                }
                default -> found.add(rule(words, number, found.size()));
            }
        }
        rules = found.size();
        noRule = code(rules, defaultDrops);
        other = code(rules + 1, otherDrops);
        malformed = code(rules + 2, true);
        new Compiler().compile(found);
    }

    /** {@return how many rules there are} */
    public int rules() {
        return rules;
    }

    /**
     * Decides for a frame.
     *
     * @param frame which
     * @return the decision, as a {@link Filter} of the same text would have it: odd if it is dropped
     */
    public int decide(FrameAccessor frame) {
        int length = frame.length();
        // Nearly every frame: IPv4 without a tag or options, and with room for ports. Three reads, and a small method,
        // so that it becomes a part of the loop around it.
        if (length >= LEAST && frame.u16(12) == 0x0800) {
            long first = frame.u64(14);
            int told = (int) (first >>> 32) & 0xffff;
            if (first >>> 56 == 0x45 && (told == 0 || told >= 24)) {
                long second = frame.u64(22);
                return decide((int) second, (int) (second >>> 48) & 0xff);
            }
        }
        return decideSlowly(frame, length);
    }

    private int decideSlowly(FrameAccessor frame, int length) {
        if (length < 34) {
            return decideShort(frame, length);
        }
        return frame.u16(12) == 0x0800 ? ipv4(frame, 14, length) : tagged(frame, length);
    }

    /**
     * Decides for all frames of a burst; {@link Burst#decision} has what came of it.
     *
     * @param burst received, and not released
     * @return how many pass
     */
    public int judge(Burst burst) {
        int count = burst.count();
        int passed = 0;
        FrameAccessor frame = burst.count() > 0 ? burst.frame(0) : null;
        burst.decided();
        for (int i = 0; i < count; i++) {
            int decision = decide(frame.moveTo(i));
            burst.put(i, decision);
            passed += ~decision & 1;
        }
        return passed;
    }

    /**
     * Decides for an address and a protocol.
     *
     * @param source IPv4
     * @param protocol 0 to 255
     * @return the decision
     */
    public int decide(int source, int protocol) {
        int at = top[source >>> TOP_BITS];
        if (at < 0) {
            at = blocks[(~at << 8) + (source >>> 8 & 0xff)];
            if (at < 0) {
                at = blocks[(~at << 8) + (source & 0xff)];
            }
        }
        return classes[(at << 8) + protocol];
    }

    private int ipv4(FrameAccessor frame, int at, int length) {
        int head = frame.u8(at);
        int options = (head & 15) * 4;
        int told = frame.u16(at + 2);
        int there = told == 0 ? length - at : Math.min(told, length - at);
        if (head >>> 4 != 4 || options < 20 || options > there) {
            return malformed;
        }
        int protocol = frame.u8(at + 9);
        boolean first = (frame.u16(at + 6) & 0x1fff) == 0;
        if (first && hasPorts(protocol) && options + 4 > there) {
            return malformed;
        }
        return decide(frame.u32(at + 12), protocol);
    }

    private int ipv6(FrameAccessor frame, int from, int length) {
        int payload = frame.u16(from + 4);
        int end = payload == 0 ? length : Math.min(from + 40 + payload, length);
        if (frame.u8(from) >>> 4 != 6) {
            return malformed;
        }
        int protocol = frame.u8(from + 6);
        int at = from + 40;
        for (int count = 0; isExtension(protocol); count++) {
            if (count == MOST_EXTENSIONS || at + 8 > end) {
                return malformed;
            }
            int next = frame.u8(at);
            if (protocol == FRAGMENT && (frame.u16(at + 2) & 0xfff8) != 0) {
                return classes[(v6 << 8) + next];
            }
            int units = frame.u8(at + 1);
            at += protocol == FRAGMENT ? 8 : protocol == AUTHENTICATION ? (units + 2) * 4 : (units + 1) * 8;
            protocol = next;
        }
        return hasPorts(protocol) && at + 4 > end ? malformed : classes[(v6 << 8) + protocol];
    }

    /** Hop-by-hop, routing, destination options, mobility, host identity, shim6, and the two above. */
    private static boolean isExtension(int protocol) {
        return switch (protocol) {
            case 0, 43, 60, 135, 139, 140, FRAGMENT, AUTHENTICATION -> true;
            default -> false;
        };
    }

    /** TCP, UDP, DCCP, SCTP, UDP-Lite. */
    private static boolean hasPorts(int protocol) {
        return protocol == 17 || protocol == 6 || protocol == 33 || protocol == 132 || protocol == 136;
    }

    private int tagged(FrameAccessor frame, int length) {
        int kind = frame.u16(12);
        int at = 14;
        for (int tag = 0; tag < 2 && (kind == 0x8100 || kind == 0x88a8); tag++) {
            if (at + 4 > length) {
                return malformed;
            }
            kind = frame.u16(at + 2);
            at += 4;
        }
        if (kind == 0x0800) {
            return at + 20 > length ? malformed : ipv4(frame, at, length);
        }
        if (kind == 0x86dd) {
            return at + 40 > length ? malformed : ipv6(frame, at, length);
        }
        for (int carrier : CARRIERS) {
            if (kind == carrier) {
                return noRule;
            }
        }
        boolean snap = kind < 0x0600 && at + 2 <= length && frame.u16(at) == 0xaaaa;
        return snap ? noRule : other;
    }

    private int decideShort(FrameAccessor frame, int length) {
        if (length < 14) {
            return malformed;
        }
        return frame.u16(12) == 0x0800 ? malformed : tagged(frame, length);
    }

    private static int code(int index, boolean drops) {
        return index << 1 | (drops ? 1 : 0);
    }

    /** Up to a '#', between the blanks that the library knows; one empty word if there is none. */
    private static String[] words(String line) {
        int comment = line.indexOf('#');
        String rule = comment < 0 ? line : line.substring(0, comment);
        return rule.replaceFirst("^[ \\t\\r\\f]+", "").split("[ \\t\\r\\f]+");
    }

    private static int once(String word, int before, int line) {
        if (before > 0) {
            throw wrong(line, "'" + word + "' is already in line " + before);
        }
        return line;
    }

    private static boolean drops(String[] words, int at, int line) {
        if (words.length == at + 1 && words[at].equals("drop")) {
            return true;
        }
        if (words.length == at + 1 && words[at].equals("pass")) {
            return false;
        }
        throw wrong(line, words[0] + " takes pass or drop");
    }

    private static Rule rule(String[] words, int line, int index) {
        if (!words[0].equals("pass") && !words[0].equals("drop")) {
            throw wrong(line, "'" + words[0] + "' is not an action: pass, drop");
        }
        int source = 0;
        int bits = -1;
        int protocol = -1;
        if (words.length == 2 && words[1].equals("all")) {
            return new Rule(0, -1, -1, code(index, words[0].equals("drop")));
        }
        if (words.length < 3 || words.length % 2 == 0) {
            throw wrong(line, "a rule is pass or drop, and then all, or from ADDRESS, proto NAME");
        }
        for (int i = 1; i < words.length; i += 2) {
            for (int before = 1; before < i; before += 2) {
                if (words[before].equals(words[i])) {
                    throw wrong(line, "'" + words[i] + "' stands twice");
                }
            }
            switch (words[i]) {
                case "from" -> {
                    String[] parts = words[i + 1].split("/", 2);
                    source = address(parts[0], line);
                    bits = parts.length == 1 ? 32 : number(parts[1], 32, "a prefix", line);
                    if (bits < 32 && source << bits != 0) {
                        throw wrong(line, "'" + words[i + 1] + "' has bits beyond its length");
                    }
                }
                case "proto" -> {
                    Integer named = NAMES.get(words[i + 1]);
                    protocol = named != null ? named : number(words[i + 1], 255, "a protocol", line);
                }
                default -> throw wrong(line, "'" + words[i] + "': a RuleTable knows from and proto, a Filter more");
            }
        }
        return new Rule(source, bits, protocol, code(index, words[0].equals("drop")));
    }

    private static int address(String text, int line) {
        String[] parts = text.split("\\.", -1);
        if (parts.length != 4) {
            throw wrong(line, "'" + text + "' is not an IPv4 address");
        }
        int address = 0;
        for (String part : parts) {
            if (part.length() > 1 && part.startsWith("0")) {
                throw wrong(line, "'" + text + "' is not an IPv4 address: '" + part + "' begins with 0");
            }
            address = address << 8 | number(part, 255, "a part of an address", line);
        }
        return address;
    }

    private static int number(String text, int most, String what, int line) {
        int number = text.matches("[0-9]{1,3}") ? Integer.parseInt(text) : -1;
        if (number < 0 || number > most) {
            throw wrong(line, "'" + text + "' is not " + what + " of 0 to " + most);
        }
        return number;
    }

    private static IllegalArgumentException wrong(int line, String text) {
        return new IllegalArgumentException("rules:" + line + ": " + text);
    }

    /** Makes the tables: regions of addresses with the rules that meet them, cut until the rules cover them whole. */
    private final class Compiler {
        private final Map<List<Integer>, Integer> known = new HashMap<>();
        private int usedBlocks;

        void compile(List<Rule> rules) {
            for (int i = 0; i < top.length; i++) {
                int prefix = i << 32 - TOP_BITS;
                top[i] = entry(prefix, TOP_BITS, meeting(rules, prefix, TOP_BITS));
            }
            blocks = Arrays.copyOf(blocks, usedBlocks << 8);
            v6 = classOf(rules.stream().filter(rule -> rule.bits < 0).toList());
        }

        private List<Rule> meeting(List<Rule> rules, int prefix, int length) {
            List<Rule> meeting = new ArrayList<>();
            for (Rule rule : rules) {
                if (rule.meets(prefix, length)) {
                    meeting.add(rule);
                }
            }
            return meeting;
        }

        private int entry(int prefix, int length, List<Rule> rules) {
            boolean whole = true;
            for (Rule rule : rules) {
                whole &= rule.covers(prefix, length);
            }
            if (whole) {
                return classOf(rules);
            }
            int block = usedBlocks++;
            if (blocks.length < usedBlocks << 8) {
                blocks = Arrays.copyOf(blocks, Math.max(usedBlocks << 8, 2 * blocks.length));
            }
            for (int i = 0; i < 256; i++) {
                int inner = prefix | i << 24 - length;
                int made = entry(inner, length + 8, meeting(rules, inner, length + 8));
                blocks[(block << 8) + i] = made;
            }
            return ~block;
        }

        /** The decisions of all protocols, kept once. */
        private int classOf(List<Rule> rules) {
            List<Integer> decisions = new ArrayList<>(PROTOCOLS);
            for (int protocol = 0; protocol < PROTOCOLS; protocol++) {
                int decision = noRule;
                for (Rule rule : rules) {
                    if (rule.protocol < 0 || rule.protocol == protocol) {
                        decision = rule.decision;
                        break;
                    }
                }
                decisions.add(decision);
            }
            return known.computeIfAbsent(decisions, made -> {
                int at = classes.length;
                classes = Arrays.copyOf(classes, at + PROTOCOLS);
                for (int i = 0; i < PROTOCOLS; i++) {
                    classes[at + i] = made.get(i);
                }
                return at >> 8;
            });
        }
    }
}
