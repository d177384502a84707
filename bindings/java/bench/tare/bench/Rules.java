package tare.bench;

/** The rules of the firewalls, the same as in native.c: of a thousand, every tenth is for the frames' own sources. */
final class Rules {
    private Rules() {}

    static final int COUNT = 1_000;

    static String text() {
        StringBuilder text = new StringBuilder();
        for (int n = 0; n < COUNT; n++) {
            String action = n % 2 == 0 ? "drop" : "pass";
            if (n % 10 == 0) {
                // One source of eight: 198.18.0.0 and so on, to 100 networks.
                text.append(action).append(" from 198.18.").append(n / 10).append(".0/29 proto udp\n");
            } else if (n % 10 < 5) {
                text.append(action).append(" from 10.").append(n / 250).append('.').append(n % 250).append(".0/24\n");
            } else {
                text.append(action).append(" from 172.16.").append(n / 250).append('.').append(n % 250)
                        .append(" proto tcp\n");
            }
        }
        return text.toString();
    }
}
