package tare;

import static tare.Check.fails;
import static tare.Check.holds;
import static tare.Check.refused;
import static tare.Check.same;

import java.util.Random;
import tare.TareException.Kind;

/** Rules of the library, and the table in Java, which must decide as they do. */
final class RuleTests {
    private RuleTests() {}

    static void all() throws Exception {
        filters();
        wrongFilters();
        tables();
        tableDecidesAsTheLibrary();
        wrongTables();
    }

    private static void filters() throws Exception {
        String text = "# first\ndrop from 198.18.0.0/28\npass from 198.18.0.30 proto udp dport 9\n"
                + "drop from 198.18.0.30\nother drop";
        try (Filter rules = Filter.compile(text); Port out = Port.open("mem:j-rules");
                Port in = Port.open("mem:j-rules")) {
            Frames.send(out, 40);
            Burst burst = in.receive();
            same(24, rules.judge(burst));
            for (int i = 0; i < 40; i++) {
                int decision = rules.decide(burst.frame(i));
                same(decision, burst.decision(i));
                Filter.Reason reason = rules.explain(decision);
                same(i < 16, reason.drops());
                same(i < 16 || i == 30 ? Filter.By.RULE : Filter.By.DEFAULT, reason.by());
                same(i < 16 ? 2 : i == 30 ? 3 : 0, reason.line());
            }
            in.release();
            same(0, rules.judge(burst));
            refused(Kind.VALUE, "decision is 99", () -> rules.explain(99));
        }
    }

    private static void wrongFilters() throws Exception {
        fails(NullPointerException.class, "rules", () -> Filter.compile(null));
        fails(IllegalArgumentException.class, "NUL", () -> Filter.compile("drop all\0"));
        refused(Kind.RULES, "rules:2:", () -> Filter.compile("pass all\nblok all"));
        Filter rules = Filter.compile("drop all");
        rules.close();
        rules.close();
        fails(IllegalStateException.class, "closed", () -> rules.explain(0));
        try (Port out = Port.open("mem:j-gone"); Port in = Port.open("mem:j-gone")) {
            Frames.send(out, 1);
            Burst burst = in.receive();
            fails(IllegalStateException.class, "closed", () -> rules.judge(burst));
            fails(IllegalStateException.class, "closed", () -> rules.decide(burst.frame(0)));
            in.release();
            fails(IllegalStateException.class, "closed", () -> in.forward(null, rules, 1));
        }
    }

    private static void tables() {
        RuleTable table = new RuleTable("drop from 10.0.0.0/8 proto tcp\npass from 10.1.2.3 # one\n"
                + "drop from 10.1.2.0/24\ndrop from 0.0.0.0/0 proto 47\ndefault pass");
        same(4, table.rules());
        same(0, table.decide(0x0a010203, 6) >> 1);
        same(2, table.decide(0x0a010203, 17));
        same(5, table.decide(0x0a010204, 17));
        same(8, table.decide(0x0a010304, 17));
        same(7, table.decide(0xffffffff, 47));
        same(8, table.decide(0xffffffff, 46));
    }

    /**
     * Random rules and random frames: tags, options, fragments, IPv6 with extensions, cuts. The seed is
     * printed.
     */
    private static void tableDecidesAsTheLibrary() throws Exception {
        long seed = System.nanoTime();
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        try (Port out = Port.open("mem:j-table"); Port in = Port.open("mem:j-table")) {
            int[] by = new int[4];
            for (int round = 0; round < 40; round++) {
                String text = rules(random);
                RuleTable table = new RuleTable(text);
                try (Filter filter = Filter.compile(text)) {
                    for (int i = 0; i < 200; i++) {
                        Frames.send(out, frame(random));
                    }
                    Burst burst = in.receive();
                    int passed = filter.judge(burst);
                    for (int i = 0; i < burst.count(); i++) {
                        FrameAccessor frame = burst.frame(i);
                        int expected = burst.decision(i);
                        int found = table.decide(frame);
                        by[filter.explain(expected).by().ordinal()]++;
                        if (expected != found) {
                            String bytes = java.util.HexFormat.of().formatHex(frame.bytes());
                            throw new AssertionError("seed " + seed + ": " + filter.explain(expected)
                                    + ", and the table " + found + ", of " + bytes + "\n" + text);
                        }
                    }
                    same(passed, table.judge(burst));
                    in.release();
                }
            }
            for (int each : by) {
                holds(each > 100, "each kind of decision is met often: " + java.util.Arrays.toString(by));
            }
        }
    }

    private static String rules(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(30); i >= 0; i--) {
            text.append(random.nextBoolean() ? "drop" : "pass");
            boolean from = random.nextInt(8) > 0;
            if (from) {
                int bits = random.nextBoolean() ? 32 : random.nextInt(33);
                text.append(" from ").append(address(random, bits));
                text.append(bits < 32 || random.nextBoolean() ? "/" + bits : "");
            }
            String[] protocols = {"udp", "tcp", "icmp", "47", "58", "132"};
            if (random.nextInt(3) == 0) {
                text.append(" proto ").append(protocols[random.nextInt(protocols.length)]);
            } else if (!from) {
                text.append(" all");
            }
            text.append('\n');
        }
        text.append(random.nextBoolean() ? "default drop\n" : "");
        return text + (random.nextBoolean() ? "other drop\n" : "");
    }

    /** One of a few networks, with nothing beyond so many bits. */
    private static String address(Random random, int bits) {
        int address = 10 << 24 | random.nextInt(2) << 16 | random.nextInt(3) << 8 | random.nextInt(256);
        address = bits == 0 ? 0 : address & -1 << 32 - bits;
        return (address >>> 24) + "." + (address >>> 16 & 255) + "." + (address >>> 8 & 255)
                + "." + (address & 255);
    }

    private static byte[] frame(Random random) {
        byte[] frame = new byte[100];
        random.nextBytes(frame);
        int at = 12;
        for (int tags = Math.max(0, random.nextInt(8) - 4); tags > 0; tags--, at += 4) {
            put16(frame, at, random.nextBoolean() ? 0x8100 : 0x88a8);
        }
        int[] kinds = {0x0800, 0x0800, 0x0800, 0x0800, 0x86dd, 0x86dd, 0x0806, 0x8847, 0x0026};
        int kind = kinds[random.nextInt(kinds.length)];
        put16(frame, at, kind);
        int ip = at + 2;
        int[] protocols = {17, 6, 1, 47, 58, 132, 44, 51, 0, 60};
        int protocol = protocols[random.nextInt(protocols.length)];
        if (kind == 0x0800) {
            frame[ip] = (byte) (0x45 + Math.max(0, random.nextInt(8) - 6));
            put16(frame, ip + 2, random.nextInt(4) == 0 ? random.nextInt(90) : 80);
            put16(frame, ip + 6, random.nextInt(3) == 0 ? random.nextInt(0x10000) : 0);
            frame[ip + 9] = (byte) protocol;
            String[] parts = address(random, 32).split("\\.");
            for (int i = 0; i < 4; i++) {
                frame[ip + 12 + i] = (byte) Integer.parseInt(parts[i]);
            }
        } else if (kind == 0x86dd) {
            frame[ip] = (byte) (random.nextInt(10) == 0 ? 0x40 : 0x60);
            put16(frame, ip + 4, random.nextInt(4) == 0 ? random.nextInt(60) : 0);
            frame[ip + 6] = (byte) protocol;
            frame[ip + 40] = (byte) protocols[random.nextInt(protocols.length)];
            frame[ip + 41] = (byte) random.nextInt(3);
            put16(frame, ip + 42, random.nextBoolean() ? 0 : random.nextInt(0x10000));
        } else if (kind == 0x0026 && random.nextBoolean()) {
            put16(frame, ip, 0xaaaa);
        }
        int length = random.nextInt(6) == 0 ? 1 + random.nextInt(99) : 100;
        return java.util.Arrays.copyOf(frame, length);
    }

    private static void put16(byte[] frame, int at, int value) {
        frame[at] = (byte) (value >> 8);
        frame[at + 1] = (byte) value;
    }

    private static void wrongTables() throws Exception {
        fails(NullPointerException.class, "text", () -> new RuleTable(null));
        String[][] wrong = {
            {"blok all", "rules:1: 'blok' is not an action"}, {"pass all\ndrop from 10.0.0", "rules:2: '10.0.0'"},
            {"drop from 10.0.0.256", "'256'"}, {"drop from 10.0.0.0/33", "'33'"},
            {"drop from 10.0.0.1/24", "has bits beyond its length"}, {"drop proto x", "'x'"},
            {"drop proto 256", "'256'"}, {"drop to 10.0.0.1", "'to': a RuleTable knows from and proto"},
            {"drop", "a rule is"}, {"drop from", "a rule is"}, {"default", "takes pass or drop"},
            {"drop from 010.0.0.1", "'010' begins with 0"}, {"drop from 10.0.00.1", "'00' begins with 0"},
            {"drop from 10.0.0.1 from 10.0.0.2", "'from' stands twice"},
            {"drop proto 6 proto 6", "'proto' stands twice"},
            {"drop proto 6 from 10.0.0.1 proto 6", "'proto' stands twice"},
            {"drop all all", ""}, {"drop all proto 6", ""},
            {"default drop\n\ndefault drop", "rules:3: 'default' is already in line 1"},
            {"other drop\nother pass", "rules:2: 'other' is already in line 1"},
            {"\u2003drop all", "is not an action"},
            {"default drop all", "takes pass or drop"}, {"other maybe", "takes pass or drop"},
        };
        for (String[] each : wrong) {
            fails(IllegalArgumentException.class, each[1], () -> new RuleTable(each[0]));
            if (!each[0].contains(" to ")) {
                refused(Kind.RULES, "rules:", () -> Filter.compile(each[0]));
            }
        }
        // What is a comment or a blank to the one is that to the other.
        for (String each : new String[] {
            "# pass\u2028drop all", "# pass\rdrop all", "\t\fdrop \r all\f# no", "", " ",
            "drop from 0.0.0.0/0 proto 6\r\nother drop"
        }) {
            try (Filter filter = Filter.compile(each); Port out = Port.open("mem:j-blank");
                    Port in = Port.open("mem:j-blank")) {
                Frames.send(out, 1);
                Burst burst = in.receive();
                filter.judge(burst);
                same(burst.decision(0), new RuleTable(each).decide(burst.frame(0)));
                in.release();
            }
        }
    }
}
