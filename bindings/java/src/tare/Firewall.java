package tare;

import java.io.IOException;
import java.util.Objects;

/** Lets pass what rules let pass: the rules of a {@link RuleTable}, in Java, or of a {@link Filter}, by the library. */
public final class Firewall implements Middlebox {
    private final RuleTable table;
    private final Filter filter;
    private final Port out;
    private long passed;
    private long dropped;
    private long missed;

    /**
     * A firewall whose rules Java evaluates.
     *
     * @param table the rules
     * @param out where frames go that pass; {@code null} is nowhere
     */
    public Firewall(RuleTable table, Port out) {
        this.table = Objects.requireNonNull(table, "table");
        this.filter = null;
        this.out = out;
    }

    /**
     * A firewall whose rules the library evaluates: each burst is received, judged, sent and released by one call.
     *
     * @param filter the rules, which must not be closed before the firewall has ended
     * @param out where frames go that pass; {@code null} is nowhere
     */
    public Firewall(Filter filter, Port out) {
        this.table = null;
        this.filter = Objects.requireNonNull(filter, "filter");
        this.out = out;
    }

    @Override
    public int poll(Port in, int most, Tally tally) throws TareException, IOException {
        if (filter == null) {
            return Middlebox.super.poll(in, most, tally);
        }
        Port.Forwarded done = in.forward(out, filter, most);
        int received = done.received();
        tally.add(received, done.receivedBytes());
        count(received, done.passed(), out == null ? done.passed() : done.sent());
        return received;
    }

    @Override
    public void take(Burst burst) throws TareException {
        int pass = filter == null ? table.judge(burst) : filter.judge(burst);
        int count = burst.count();
        int sent = pass;
        if (out != null) {
            sent = send(burst);
        }
        count(count, pass, sent);
    }

    /** As the library does in {@link Port#forward}: behind a frame that is too long it goes on; without room it ends. */
    private int send(Burst burst) throws TareException {
        int count = burst.count();
        int sent = 0;
        int at = 0;
        while (at < count) {
            int done;
            try {
                done = out.pass(burst, at, count - at);
            } catch (TareException refused) {
                if (refused.kind() == TareException.Kind.TOO_LONG) {
                    at++;
                    continue;
                }
                if (sent > 0) {
                    // What left is counted; the next burst meets the same failure.
                    break;
                }
                throw refused;
            }
            if (done == 0) {
                break;
            }
            for (int end = at + done; at < end; at++) {
                sent += ~burst.decision(at) & 1;
            }
        }
        return sent;
    }

    private void count(int received, int pass, int sent) {
        dropped += received - pass;
        passed += sent;
        missed += pass - sent;
    }

    /** {@return frames that went on} */
    public long passed() {
        return passed;
    }

    /** {@return frames that a rule dropped} */
    public long dropped() {
        return dropped;
    }

    /** {@return frames that passed, and for which there was no room, or which were too long for where they go} */
    public long missed() {
        return missed;
    }
}
