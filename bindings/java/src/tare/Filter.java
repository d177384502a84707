package tare;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.Objects;

/**
 * Firewall rules that the library has compiled, as {@code tare forward --rules} takes them: {@code drop from
 * 198.18.0.0/24 proto udp dport 53}, a line each. Any number of threads may use them at once.
 */
public final class Filter implements AutoCloseable {
    /** What decided of a frame. */
    public enum By {
        /** A rule. */
        RULE,
        /** The line "default": no rule matched, or none could look at what the frame carries. */
        DEFAULT,
        /** The line "other": the frame is neither IPv4 nor IPv6. */
        OTHER,
        /** The frame's headers are cut off or contradict themselves. */
        MALFORMED
    }

    /**
     * A decision in full.
     *
     * @param by what decided
     * @param rule the rule's index from 0, if a rule decided
     * @param line its line from 1, if a rule decided; else 0
     * @param drops whether the frame is dropped
     */
    public record Reason(By by, int rule, int line, boolean drops) {}

    private final long handle;
    private volatile boolean closed;

    private Filter(long handle) {
        this.handle = handle;
    }

    /**
     * Compiles rules.
     *
     * @param rules a line each
     * @return the rules, which the program closes
     * @throws TareException names the line that is wrong, and says what would be right
     */
    public static Filter compile(String rules) throws TareException {
        Objects.requireNonNull(rules, "rules");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment compiled = arena.allocate(JAVA_LONG);
            TareException.check(Native.rulesCompile(Native.text(arena, rules, "rules"), compiled));
            return new Filter(compiled.get(JAVA_LONG, 0));
        }
    }

    /**
     * Decides for one frame.
     *
     * @param frame which
     * @return the decision: odd if it is dropped; {@link #explain} says more
     * @throws TareException the library refused
     */
    public int decide(FrameAccessor frame) throws TareException {
        MemorySegment bytes = frame.segment();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment decision = arena.allocate(JAVA_INT);
            TareException.check(Native.rulesJudge(handle(), bytes, bytes.byteSize(), decision));
            return decision.get(JAVA_INT, 0);
        }
    }

    /**
     * Decides for all frames of a burst by one call; {@link Burst#decision} has what came of it.
     *
     * @param burst received, and not released
     * @return how many pass
     * @throws TareException the library refused
     */
    public int judge(Burst burst) throws TareException {
        if (burst.count() == 0) {
            burst.port().open();
            handle();
            return 0;
        }
        MemorySegment passed = burst.port().number();
        burst.decided();
        TareException.check(Native.rulesJudgeBurst(handle(), burst.struct, burst.decisions, passed));
        return passed.get(JAVA_INT, 0);
    }

    /**
     * Says what a decision of these rules means.
     *
     * @param decision that {@link #decide} or {@link Burst#decision} gave
     * @return the reason
     * @throws TareException these rules never decide so
     */
    public Reason explain(int decision) throws TareException {
        StructLayout layout = Native.REASON;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment reason = arena.allocate(layout);
            TareException.check(Native.rulesExplain(handle(), decision, reason));
            return new Reason(By.values()[reason.get(JAVA_INT, Native.at(layout, "by"))],
                    reason.get(JAVA_INT, Native.at(layout, "rule")), reason.get(JAVA_INT, Native.at(layout, "line")),
                    reason.get(JAVA_BOOLEAN, Native.at(layout, "drops")));
        }
    }

    /** Closes the rules; a thread that is using them finishes its call. A second time does nothing. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            Native.rulesClose(handle);
        }
    }

    long handle() {
        if (closed) {
            throw new IllegalStateException("these rules are closed");
        }
        return handle;
    }
}
