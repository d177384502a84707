package tare;

/** What a test says when something is not as it should be. */
final class Check {
    private Check() {}

    /** Something that may throw anything. */
    interface Work {
        void run() throws Exception;
    }

    private static int done;

    static int done() {
        return done;
    }

    static void holds(boolean condition, String what) {
        done++;
        if (!condition) {
            throw new AssertionError("not true: " + what);
        }
    }

    static void same(Object expected, Object found) {
        holds(expected.equals(found), "expected " + expected + ", and found " + found);
    }

    /** It throws this, with these words. */
    static void fails(Class<? extends Throwable> kind, String words, Work work) {
        done++;
        try {
            work.run();
        } catch (Throwable thrown) {
            if (kind.isInstance(thrown) && String.valueOf(thrown.getMessage()).contains(words)) {
                return;
            }
            throw new AssertionError("expected " + kind.getSimpleName() + " with '" + words + "'", thrown);
        }
        throw new AssertionError("expected " + kind.getSimpleName() + " with '" + words + "', and nothing was thrown");
    }

    /** The library refuses with this kind, and these words. */
    static void refused(TareException.Kind kind, String words, Work work) {
        fails(TareException.class, words, () -> {
            try {
                work.run();
            } catch (TareException refused) {
                same(kind, refused.kind());
                throw refused;
            }
        });
    }
}
