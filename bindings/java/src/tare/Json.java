package tare;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON (RFC 8259) that the library wrote: maps, lists, texts, numbers (long if whole and it fits), booleans, null. */
final class Json {
    /** Results are ten deep; what is deeper is no result. */
    private static final int DEEPEST = 100;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.space();
        if (json.at < text.length()) {
            throw json.odd("the end");
        }
        return value;
    }

    private Object value(int depth) {
        if (depth > DEEPEST) {
            throw odd("less depth");
        }
        space();
        return switch (next()) {
            case '{' -> map(depth);
            case '[' -> list(depth);
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> map(int depth) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (boolean more = begins('}'); more; more = goesOn('}')) {
            space();
            String key = string();
            expect(':');
            map.put(key, value(depth + 1));
        }
        return map;
    }

    private List<Object> list(int depth) {
        List<Object> list = new ArrayList<>();
        for (boolean more = begins(']'); more; more = goesOn(']')) {
            list.add(value(depth + 1));
        }
        return list;
    }

    /** Past the bracket: whether there is anything before its other half. */
    private boolean begins(char end) {
        at++;
        space();
        if (next() == end) {
            at++;
            return false;
        }
        return true;
    }

    private boolean goesOn(char end) {
        space();
        char found = next();
        if (found != ',' && found != end) {
            throw odd("a comma or " + end);
        }
        at++;
        return found == ',';
    }

    private String string() {
        expect('"');
        StringBuilder string = new StringBuilder();
        while (next() != '"') {
            char letter = text.charAt(at++);
            string.append(letter == '\\' ? escaped() : letter);
        }
        at++;
        return string.toString();
    }

    private char escaped() {
        char letter = next();
        at++;
        return switch (letter) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                if (at + 4 > text.length()) {
                    throw odd("four digits");
                }
                at += 4;
                yield (char) Integer.parseInt(text, at - 4, at, 16);
            }
            default -> letter;
        };
    }

    private Number number() {
        int from = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(from, at);
        try {
            if (digits.matches("-?[0-9]{1,19}")) {
                return Long.valueOf(digits);
            }
        } catch (NumberFormatException beyond) {
            // Of 19 digits not all fit: then it is a double, as with more of them.
        }
        try {
            return Double.valueOf(digits);
        } catch (NumberFormatException none) {
            at = from;
            throw odd("a value");
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw odd(word);
        }
        at += word.length();
        return value;
    }

    private void expect(char wanted) {
        space();
        if (next() != wanted) {
            throw odd("" + wanted);
        }
        at++;
    }

    private char next() {
        if (at >= text.length()) {
            throw odd("more");
        }
        return text.charAt(at);
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException odd(String wanted) {
        return new IllegalArgumentException("this is not JSON: at " + at + ", expected " + wanted);
    }
}
