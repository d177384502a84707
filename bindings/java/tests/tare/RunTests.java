package tare;

import static tare.Check.fails;
import static tare.Check.holds;
import static tare.Check.refused;
import static tare.Check.same;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import tare.TareException.Kind;

/** Runs: plans in, results out. */
final class RunTests {
    private RunTests() {}

    static void all(String url) throws Exception {
        frames();
        requests(url);
        stopped(url);
        wrong(url);
    }

    private static void frames() throws Exception {
        try (Run run = Run.start("[send]\nport = \"mem:j-run\"\nrate = \"1k\"\nframes = 50\n")) {
            Result result = run.result();
            same("send", result.text("engine"));
            same(50L, result.at("totals.sent"));
            same(50.0, result.number("totals.sent"));
            same("libtare", result.text("command"));
            same(result.json(), run.result().json());
            same(true, run.await(Duration.ZERO));
            fails(IllegalArgumentException.class, "no nothing in totals", () -> result.at("totals.nothing"));
            fails(IllegalArgumentException.class, "is not a string", () -> result.text("totals.sent"));
            fails(IllegalArgumentException.class, "there is nothing below", () -> result.at("engine.0"));
            fails(NullPointerException.class, "path", () -> result.at(null));
        }
    }

    private static void requests(String url) throws Exception {
        String plan = "url = \"" + url + "\"\n[load]\nrate = 200\n[stop]\nrequests = 100\n"
                + "[limits]\nfail_if = [\"errors > 0\"]\n";
        try (Run run = Run.start(plan, new Run.Options(false, true, null))) {
            Result result = run.result();
            same(0, result.status());
            same(100L, result.at("totals.done"));
        }
    }

    /** An hour, stopped by another thread once an interval is over; and a wait that is interrupted. */
    private static void stopped(String url) throws Exception {
        String hour = "url = \"" + url + "\"\n[load]\nrate = 50\n[stop]\nduration = \"1h\"\n";
        try (Run run = Run.start(hour)) {
            same(false, run.await(Duration.ofMillis(10)));
            Thread.currentThread().interrupt();
            fails(InterruptedException.class, "interrupted", run::result);
            AtomicReference<Throwable> failed = new AtomicReference<>();
            Thread other = new Thread(() -> {
                try {
                    Optional<Result> row = run.row(Duration.ofSeconds(30));
                    holds(row.orElseThrow().number("sent") > 0, "an interval has sent");
                    run.stop();
                } catch (Throwable thrown) {
                    failed.set(thrown);
                }
            });
            other.start();
            Result result = run.result();
            other.join();
            holds(failed.get() == null, String.valueOf(failed.get()));
            same(130, result.status());
            same(true, result.at("partial"));
        }
        // Closing ends it, also while another thread waits.
        Run run = Run.start(hour);
        AtomicReference<String> said = new AtomicReference<>("");
        Thread waiting = new Thread(() -> {
            try {
                said.set("status " + run.result().status());
            } catch (Exception thrown) {
                said.set(String.valueOf(thrown.getMessage()));
            }
        });
        waiting.start();
        Thread.sleep(30);
        run.close();
        run.close();
        waiting.join();
        holds(said.get().contains("closed") || said.get().equals("status 130"), said.get());
        fails(IllegalStateException.class, "closed", run::stop);
        fails(IllegalStateException.class, "closed", run::result);
        fails(IllegalStateException.class, "closed", () -> run.row(Duration.ZERO));
        fails(IllegalStateException.class, "closed", () -> run.await(Duration.ZERO));
    }

    private static void wrong(String url) throws Exception {
        fails(NullPointerException.class, "plan", () -> Run.start(null));
        fails(NullPointerException.class, "options", () -> Run.start("", null));
        fails(IllegalArgumentException.class, "NUL", () -> Run.start("url = \"\0\""));
        refused(Kind.PLAN, "plan, line 2: unknown key `load.rat`",
                () -> Run.start("url = \"http://127.0.0.1/\"\nload.rat = 5\n"));
        try (Run run = Run.start("[send]\nport = \"packet:no-such-if\"\n")) {
            refused(Kind.PLAN, "no-such-if", run::result);
            fails(IllegalArgumentException.class, "negative", () -> run.await(Duration.ofSeconds(-1)));
            fails(IllegalArgumentException.class, "negative", () -> run.row(Duration.ofSeconds(-1)));
        }
        String nobody = "url = \"http://127.0.0.1:1/\"\n[load]\nrate = 50\n[stop]\nrequests = 3\n";
        try (Run run = Run.start(nobody)) {
            same(5, run.result().status());
        }
        String once = "url = \"" + url + "\"\n[load]\nrate = 5\n[stop]\nrequests = 1\n";
        refused(Kind.PLAN, "/proc/", () -> {
            try (Run run = Run.start(once, new Run.Options(false, true, Path.of("/proc/nowhere")))) {
                run.result();
            }
        });
    }

    static void json() {
        same("{a=[1, -2.5, true, null, \"\n\u00e9], b={}, c=[]}",
                Json.read(" {\"a\" : [1,-2.5,true,null,\"\\\"\\n\\u00e9\"],\"b\":{},\"c\":[ ]} ").toString());
        for (String each : new String[] {"", "{", "[1", "[1,]", "{\"a\"}", "\"x", "\"\\u12", "tru", "1x", "{1:2}", "[1] 2"}) {
            fails(IllegalArgumentException.class, "not JSON", () -> Json.read(each));
        }
        // A stamp in nanoseconds, and the ends of what a long has.
        for (long whole : new long[] {0, -1, 1_764_128_000_123_456_789L, Long.MAX_VALUE, Long.MIN_VALUE}) {
            same(whole, Json.read("" + whole));
        }
        same(9_223_372_036_854_775_808.0, Json.read("9223372036854775808"));
        same(1e20, Json.read("100000000000000000000"));
        same(1.0, Json.read("1.0"));
        fails(IllegalArgumentException.class, "less depth", () -> Json.read("[".repeat(100_000)));
    }
}
