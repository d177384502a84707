package tare;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * libtare as {@code tare.h} has it: its structs, its functions, and nothing else. Whoever calls sees to it
 * that a pointer points to what the function says; a segment that is closed is found out before the call.
 */
final class Native {
    private Native() {}

    static final AddressLayout TEXT =
            ADDRESS.withTargetLayout(MemoryLayout.sequenceLayout(Long.MAX_VALUE, JAVA_BYTE));

    private static final Map<String, StructLayout> STRUCTS = new LinkedHashMap<>();
    private static final List<String> FUNCTIONS = new ArrayList<>();

    static final StructLayout PORT_OPTIONS = struct("tare_port_options",
            JAVA_INT.withName("size"), JAVA_INT.withName("direction"), JAVA_INT.withName("longest"),
            JAVA_INT.withName("burst"), JAVA_INT.withName("queue"), JAVA_INT.withName("queues"),
            JAVA_BOOLEAN.withName("stamps"), JAVA_BOOLEAN.withName("busy"));
    static final StructLayout PORT_ABOUT = struct("tare_port_about",
            MemoryLayout.sequenceLayout(128, JAVA_BYTE).withName("name"),
            MemoryLayout.sequenceLayout(16, JAVA_BYTE).withName("kind"),
            JAVA_INT.withName("longest"), JAVA_INT.withName("batch"), JAVA_INT.withName("queue"),
            JAVA_INT.withName("queues"), JAVA_LONG.withName("speed_bps"), JAVA_BOOLEAN.withName("transmits"),
            JAVA_BOOLEAN.withName("receives"), JAVA_BOOLEAN.withName("launch_times"),
            JAVA_BOOLEAN.withName("zero_copy"), JAVA_INT.withName("stamped_by"),
            JAVA_BOOLEAN.withName("has_mac"), MemoryLayout.sequenceLayout(6, JAVA_BYTE).withName("mac"));
    static final StructLayout BURST = struct("tare_burst",
            ADDRESS.withName("data"), ADDRESS.withName("lengths"), ADDRESS.withName("wire_lengths"),
            ADDRESS.withName("times_unix_ns"), JAVA_INT.withName("stride"), JAVA_INT.withName("count"));
    static final StructLayout PORT_COUNTERS = struct("tare_port_counters",
            JAVA_LONG.withName("sent"), JAVA_LONG.withName("sent_bytes"), JAVA_LONG.withName("received"),
            JAVA_LONG.withName("received_bytes"), JAVA_LONG.withName("lost"), JAVA_LONG.withName("unsent"),
            JAVA_LONG.withName("full"), JAVA_LONG.withName("calls"));
    static final StructLayout FORWARDED = struct("tare_forwarded",
            JAVA_LONG.withName("received_bytes"), JAVA_INT.withName("received"), JAVA_INT.withName("passed"),
            JAVA_INT.withName("sent"));
    static final StructLayout REASON = struct("tare_reason",
            JAVA_INT.withName("by"), JAVA_INT.withName("rule"), JAVA_INT.withName("line"),
            JAVA_BOOLEAN.withName("drops"));
    static final StructLayout RUN_OPTIONS = struct("tare_run_options",
            JAVA_INT.withName("size"), JAVA_BOOLEAN.withName("save"), JAVA_BOOLEAN.withName("accept_invalid"),
            ADDRESS.withName("out"));
    static final StructLayout SIGNATURE = struct("tare_signature",
            JAVA_LONG.withName("seq"), JAVA_LONG.withName("due_unix_ns"), JAVA_LONG.withName("sent_unix_ns"),
            JAVA_INT.withName("stream"));

    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup LIBRARY = library();

    private static final MethodHandle LAST_ERROR = text("tare_last_error");
    private static final MethodHandle VERSION = text("tare_version");
    private static final MethodHandle PORT_OPTIONS_INIT = bind("tare_port_options_init", ADDRESS);
    private static final MethodHandle PORT_OPEN = bind("tare_port_open", ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle PORT_CLOSE = bind("tare_port_close", JAVA_LONG);
    private static final MethodHandle PORT_ASK = bind("tare_port_ask", JAVA_LONG, ADDRESS);
    private static final MethodHandle PORT_LEND = bind("tare_port_lend", JAVA_LONG, JAVA_INT, ADDRESS);
    private static final MethodHandle PORT_SEND =
            bind("tare_port_send", JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS);
    private static final MethodHandle PORT_GIVE_BACK = bind("tare_port_give_back", JAVA_LONG);
    private static final MethodHandle PORT_RECEIVE = bind("tare_port_receive", JAVA_LONG, JAVA_INT, ADDRESS);
    private static final MethodHandle PORT_RELEASE = bind("tare_port_release", JAVA_LONG);
    private static final MethodHandle PORT_WAIT =
            bind("tare_port_wait", JAVA_LONG, JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle PORT_FLUSH = bind("tare_port_flush", JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle PORT_COUNT = bind("tare_port_count", JAVA_LONG, ADDRESS);
    private static final MethodHandle PORT_PASS =
            bind("tare_port_pass", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle PORT_FORWARD =
            bind("tare_port_forward", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS);
    private static final MethodHandle RULES_COMPILE = bind("tare_rules_compile", ADDRESS, ADDRESS);
    private static final MethodHandle RULES_CLOSE = bind("tare_rules_close", JAVA_LONG);
    private static final MethodHandle RULES_JUDGE =
            bind("tare_rules_judge", JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS);
    private static final MethodHandle RULES_JUDGE_BURST =
            bind("tare_rules_judge_burst", JAVA_LONG, ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle RULES_EXPLAIN = bind("tare_rules_explain", JAVA_LONG, JAVA_INT, ADDRESS);
    private static final MethodHandle RUN_OPTIONS_INIT = bind("tare_run_options_init", ADDRESS);
    private static final MethodHandle RUN_START = bind("tare_run_start", ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle RUN_STOP = bind("tare_run_stop", JAVA_LONG);
    private static final MethodHandle RUN_WAIT = bind("tare_run_wait", JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle RUN_ROW = bind("tare_run_row", JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle RUN_RESULT = bind("tare_run_result", JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RUN_CLOSE = bind("tare_run_close", JAVA_LONG);
    private static final MethodHandle SIGNATURE_WRITE =
            bind("tare_signature_write", ADDRESS, ADDRESS, JAVA_LONG);
    private static final MethodHandle SIGNATURE_READ =
            bind("tare_signature_read", ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);

    static {
        String ours = ourVersion();
        String theirs = version();
        if (!ours.isEmpty() && !ours.equals(theirs)) {
            throw new UnsatisfiedLinkError("libtare is of version " + theirs + ", and tare.jar of " + ours
                    + ": take both from the same `make java`");
        }
    }

    static String lastError() {
        try {
            return ((MemorySegment) LAST_ERROR.invokeExact()).getString(0);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static String version() {
        try {
            return ((MemorySegment) VERSION.invokeExact()).getString(0);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portOptionsInit(MemorySegment options) {
        try {
            return (int) PORT_OPTIONS_INIT.invokeExact(options);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portOpen(MemorySegment address, MemorySegment options, MemorySegment port) {
        try {
            return (int) PORT_OPEN.invokeExact(address, options, port);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portClose(long port) {
        try {
            return (int) PORT_CLOSE.invokeExact(port);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portAsk(long port, MemorySegment about) {
        try {
            return (int) PORT_ASK.invokeExact(port, about);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portLend(long port, int most, MemorySegment burst) {
        try {
            return (int) PORT_LEND.invokeExact(port, most, burst);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portSend(long port, int first, int count, MemorySegment taken) {
        try {
            return (int) PORT_SEND.invokeExact(port, first, count, taken);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portGiveBack(long port) {
        try {
            return (int) PORT_GIVE_BACK.invokeExact(port);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portReceive(long port, int most, MemorySegment burst) {
        try {
            return (int) PORT_RECEIVE.invokeExact(port, most, burst);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portRelease(long port) {
        try {
            return (int) PORT_RELEASE.invokeExact(port);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portWait(long port, int what, long patienceNs, MemorySegment ready) {
        try {
            return (int) PORT_WAIT.invokeExact(port, what, patienceNs, ready);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portFlush(long port, long patienceNs, MemorySegment left) {
        try {
            return (int) PORT_FLUSH.invokeExact(port, patienceNs, left);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portCount(long port, MemorySegment counters) {
        try {
            return (int) PORT_COUNT.invokeExact(port, counters);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portPass(
            long from, long to, int first, int count, MemorySegment decisions, MemorySegment taken) {
        try {
            return (int) PORT_PASS.invokeExact(from, to, first, count, decisions, taken);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int portForward(long from, long to, long rules, int most, MemorySegment forwarded) {
        try {
            return (int) PORT_FORWARD.invokeExact(from, to, rules, most, forwarded);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int rulesCompile(MemorySegment rules, MemorySegment compiled) {
        try {
            return (int) RULES_COMPILE.invokeExact(rules, compiled);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int rulesClose(long rules) {
        try {
            return (int) RULES_CLOSE.invokeExact(rules);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int rulesJudge(long rules, MemorySegment frame, long length, MemorySegment decision) {
        try {
            return (int) RULES_JUDGE.invokeExact(rules, frame, length, decision);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int rulesJudgeBurst(long rules, MemorySegment burst, MemorySegment decisions, MemorySegment passed) {
        try {
            return (int) RULES_JUDGE_BURST.invokeExact(rules, burst, decisions, passed);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int rulesExplain(long rules, int decision, MemorySegment reason) {
        try {
            return (int) RULES_EXPLAIN.invokeExact(rules, decision, reason);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int runOptionsInit(MemorySegment options) {
        try {
            return (int) RUN_OPTIONS_INIT.invokeExact(options);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int runStart(MemorySegment plan, MemorySegment options, MemorySegment run) {
        try {
            return (int) RUN_START.invokeExact(plan, options, run);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int runStop(long run) {
        try {
            return (int) RUN_STOP.invokeExact(run);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int runWait(long run, long patienceNs, MemorySegment over) {
        try {
            return (int) RUN_WAIT.invokeExact(run, patienceNs, over);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int runRow(long run, long patienceNs, MemorySegment row) {
        try {
            return (int) RUN_ROW.invokeExact(run, patienceNs, row);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int runResult(long run, MemorySegment result, MemorySegment status) {
        try {
            return (int) RUN_RESULT.invokeExact(run, result, status);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int runClose(long run) {
        try {
            return (int) RUN_CLOSE.invokeExact(run);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int signatureWrite(MemorySegment signature, MemorySegment frame, long length) {
        try {
            return (int) SIGNATURE_WRITE.invokeExact(signature, frame, length);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    static int signatureRead(MemorySegment frame, long length, MemorySegment signature, MemorySegment found) {
        try {
            return (int) SIGNATURE_READ.invokeExact(frame, length, signature, found);
        } catch (Throwable thrown) {
            throw rethrown(thrown);
        }
    }

    /** Where a field of a struct begins. */
    static long at(StructLayout struct, String field) {
        return struct.byteOffset(PathElement.groupElement(field));
    }

    /** A text for C; Java's strings may have a NUL, which would end it. */
    static MemorySegment text(Arena arena, String text, String what) {
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException(what + " has a NUL at " + text.indexOf('\0'));
        }
        return arena.allocateFrom(text);
    }

    /**
     * What this class takes the library for, a line each: {@code struct NAME SIZE}, {@code field},
     * {@code function}.
     */
    static List<String> description() {
        List<String> lines = new ArrayList<>();
        STRUCTS.forEach((name, struct) -> {
            lines.add("struct " + name + " " + struct.byteSize());
            for (MemoryLayout member : struct.memberLayouts()) {
                member.name().ifPresent(field -> lines.add(
                        "field " + name + " " + field + " " + at(struct, field) + " " + member.byteSize()));
            }
        });
        FUNCTIONS.forEach(name -> lines.add("function " + name));
        return lines;
    }

    /** Laid out as C does: each member where its alignment allows, and the whole a multiple of the largest. */
    private static StructLayout struct(String name, MemoryLayout... members) {
        List<MemoryLayout> laid = new ArrayList<>();
        long at = 0;
        long largest = 1;
        for (MemoryLayout member : members) {
            at = padded(laid, at, member.byteAlignment()) + member.byteSize();
            laid.add(member);
            largest = Math.max(largest, member.byteAlignment());
        }
        padded(laid, at, largest);
        StructLayout struct = MemoryLayout.structLayout(laid.toArray(MemoryLayout[]::new)).withName(name);
        STRUCTS.put(name, struct);
        return struct;
    }

    private static long padded(List<MemoryLayout> laid, long at, long alignment) {
        long padding = -at & (alignment - 1);
        if (padding > 0) {
            laid.add(MemoryLayout.paddingLayout(padding));
        }
        return at + padding;
    }

    private static MethodHandle bind(String name, MemoryLayout... arguments) {
        return bind(name, FunctionDescriptor.of(JAVA_INT, arguments));
    }

    private static MethodHandle text(String name) {
        return bind(name, FunctionDescriptor.of(TEXT));
    }

    private static MethodHandle bind(String name, FunctionDescriptor descriptor) {
        FUNCTIONS.add(name);
        MemorySegment function = LIBRARY.find(name).orElseThrow(() -> new UnsatisfiedLinkError(
                "libtare has no " + name + ": take it and tare.jar from the same `make java`"));
        return LINKER.downcallHandle(function, descriptor);
    }

    /** -Dtare.library=PATH, then beside tare.jar, then where the system looks. */
    private static SymbolLookup library() {
        String told = System.getProperty("tare.library");
        if (told != null) {
            return at(Path.of(told));
        }
        Path beside = beside();
        if (beside != null && Files.exists(beside)) {
            return at(beside);
        }
        try {
            return SymbolLookup.libraryLookup("libtare.so.0", Arena.global());
        } catch (IllegalArgumentException none) {
            throw new UnsatisfiedLinkError("libtare.so is neither next to tare.jar nor where the system looks:"
                    + " `make java` makes both, or give -Dtare.library=PATH");
        }
    }

    private static SymbolLookup at(Path path) {
        try {
            return SymbolLookup.libraryLookup(path, Arena.global());
        } catch (IllegalArgumentException none) {
            throw new UnsatisfiedLinkError(
                    path + " does not exist, or is not a library: `make java` makes libtare.so");
        }
    }

    private static Path beside() {
        try {
            var source = Native.class.getProtectionDomain().getCodeSource();
            return source == null ? null : Path.of(source.getLocation().toURI()).resolveSibling("libtare.so");
        } catch (URISyntaxException | IllegalArgumentException odd) {
            return null;
        }
    }

    private static String ourVersion() {
        try (InputStream told = Native.class.getResourceAsStream("version.txt")) {
            return told == null ? "" : new String(told.readAllBytes(), StandardCharsets.UTF_8).strip();
        } catch (IOException unreadable) {
            return "";
        }
    }

    /** A call throws only what was wrong before it: a segment that is closed, for instance. */
    private static RuntimeException rethrown(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown instanceof RuntimeException runtime) {
            return runtime;
        }
        throw new AssertionError(thrown);
    }
}
