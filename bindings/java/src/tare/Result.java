package tare;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/** What became of a run, or of one of its intervals: the keys of result.json. */
public final class Result {
    private final String json;
    private final int status;
    private Object read;

    Result(String json, int status) {
        this.json = json;
        this.status = status;
    }

    /** {@return the whole of it, as result.json has it} */
    public String json() {
        return json;
    }

    /**
     * {@return the exit status that {@code tare run} would have: 0 good, 3 a threshold failed, 4 INVALID, 5 the target
     *     could not be reached, 130 interrupted}
     */
    public int status() {
        return status;
    }

    /**
     * Looks something up.
     *
     * @param path keys and indexes, such as "verdict.word" or "intervals.0.done"
     * @return a {@link Map}, {@link List}, {@link String}, {@link Long}, {@link Double}, {@link Boolean}, or
     *     {@code null} where that stands
     */
    public synchronized Object at(String path) {
        Objects.requireNonNull(path, "path");
        if (read == null) {
            read = Json.read(json);
        }
        Object here = read;
        String gone = "";
        for (String key : path.split("\\.")) {
            here = inside(here, key, gone);
            gone = gone.isEmpty() ? key : gone + "." + key;
        }
        return here;
    }

    /**
     * Looks a number up.
     *
     * @param path as for {@link #at}
     * @return it
     */
    public double number(String path) {
        return at(path) instanceof Number number ? number.doubleValue() : wrong(path, "number");
    }

    /**
     * Looks a text up.
     *
     * @param path as for {@link #at}
     * @return it
     */
    public String text(String path) {
        return at(path) instanceof String text ? text : wrong(path, "string");
    }

    private static Object inside(Object here, String key, String gone) {
        if (here instanceof Map<?, ?> map && map.containsKey(key)) {
            return map.get(key);
        }
        if (here instanceof List<?> list && key.matches("[0-9]{1,9}") && Integer.parseInt(key) < list.size()) {
            return list.get(Integer.parseInt(key));
        }
        String there = here instanceof Map<?, ?> map ? "there are " + map.keySet()
                : here instanceof List<?> list ? "there are 0 to " + (list.size() - 1) : "there is nothing below";
        throw new IllegalArgumentException("no " + key + (gone.isEmpty() ? "" : " in " + gone) + ": " + there);
    }

    private <T> T wrong(String path, String wanted) {
        throw new IllegalArgumentException(path + " is not a " + wanted + ": it is " + at(path));
    }

    @Override
    public String toString() {
        return json;
    }
}
