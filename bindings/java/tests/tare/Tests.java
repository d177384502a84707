package tare;

/**
 * What a program in Java sees of libtare: {@code layouts} prints what the package takes the library for, {@code frames}
 * tests ports, rules and middleboxes, {@code figures} what other threads see of a tally, {@code runs URL} plans;
 * {@code between FROM TO} is a firewall from one port to another, until standard input ends.
 */
public final class Tests {
    private Tests() {}

    /**
     * Runs them; ends with the first that fails.
     *
     * @param words which
     * @throws Exception whatever fails
     */
    public static void main(String[] words) throws Exception {
        switch (words[0]) {
            case "layouts" -> Native.description().forEach(System.out::println);
            case "frames" -> {
                PortTests.all();
                RuleTests.all();
                BoxTests.all();
                RunTests.json();
            }
            case "figures" -> BoxTests.figuresForOthers();
            case "runs" -> RunTests.all(words[1]);
            case "between" -> BoxTests.between(words[1], words[2]);
            default -> throw new IllegalArgumentException(words[0]);
        }
        if (Check.done() > 0) {
            System.out.println(Check.done() + " checks");
        }
    }
}
