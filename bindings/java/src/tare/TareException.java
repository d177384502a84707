package tare;

/** The library refused: why, and what would be right, is the text. */
public final class TareException extends Exception {
    private static final long serialVersionUID = 1;

    /** What went wrong: the codes of {@code tare.h}, in their order. */
    public enum Kind {
        /** A pointer was wrong: a mistake of this package. */
        POINTER,
        /** Something that is closed was used. */
        CLOSED,
        /** A handle of another kind was used: a mistake of this package. */
        KIND,
        /** Another thread is using the port. */
        BUSY,
        /** A value is outside of what it may be. */
        VALUE,
        /** A text is not UTF-8. */
        TEXT,
        /** A burst was used before it was lent or received, after it was given up, or twice. */
        ORDER,
        /** A frame is longer than there is room for. */
        TOO_LONG,
        /** A frame has no room for a signature. */
        NO_ROOM,
        /** The address of a port is wrong, or the port cannot be opened or used here. */
        PORT,
        /** A port failed while it was used. */
        SYSTEM,
        /** No frame will ever come again. */
        OVER,
        /** Rules are wrong. */
        RULES,
        /** A plan, or something that it names, is wrong. Nothing was sent. */
        PLAN,
        /** Nobody answers where the load should go. Nothing was sent. */
        UNREACHABLE,
        /** Too many things of this kind are open. */
        FULL,
        /** A mistake in Tare: please report it. */
        PANIC;

        static Kind of(int code) {
            int at = -code - 1;
            return at >= 0 && at < values().length ? values()[at] : PANIC;
        }
    }

    /** What went wrong. */
    private final Kind kind;

    TareException(Kind kind, String text) {
        super(text);
        this.kind = kind;
    }

    /** {@return what went wrong} */
    public Kind kind() {
        return kind;
    }

    /** Throws if a function of the library returned an error. */
    static void check(int code) throws TareException {
        if (code != 0) {
            throw new TareException(Kind.of(code), Native.lastError());
        }
    }
}
