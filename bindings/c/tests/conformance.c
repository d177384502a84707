/* What a program in C sees of libtare. Prints what is wrong, and ends with 1 if anything was.
 *
 *   conformance frames       ports, rules, signatures, wrong use
 *   conformance memory       the same without waits: valgrind has no vDSO, which the clock is read from
 *   conformance runs URL     plans: frames within this process, and requests to URL
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tare.h>
#include <unistd.h>

static int failures;
static bool has_clock = true;

#define HOLDS(condition) do { if (!(condition)) { failures++; \
    fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #condition, tare_last_error()); } } while (0)
#define OK(call) HOLDS((call) == TARE_OK)
/* The call fails with this code, and its text has these words. */
#define FAILS(code, words, call) do { HOLDS((call) == (code)); HOLDS(strstr(tare_last_error(), (words))); } while (0)

static const unsigned char head[42] = {
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,
    0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0xee, 0x97, 198, 18, 0, 1, 198, 18, 0, 2,
    4, 0, 0, 9, 0, 26, 0, 0,
};

static void pair(const char *address, tare_port *a, tare_port *b) {
    OK(tare_port_open(address, NULL, a));
    OK(tare_port_open(address, NULL, b));
}

/* What was sent arrives, in order, byte for byte: of every length. */
static void order_and_content(void) {
    tare_port a, b;
    tare_burst burst, came;
    uint32_t taken, next = 60;
    pair("mem:c-order", &a, &b);
    for (uint32_t first = 60; first <= 1514; first += 97) {
        OK(tare_port_lend(a, 97, &burst));
        HOLDS(burst.count == 97 && burst.stride >= 1514);
        for (uint32_t i = 0; i < burst.count; i++) {
            uint32_t length = first + i <= 1514 ? first + i : 0;
            memset(burst.data + (size_t)i * burst.stride, (int)(length * 7), length);
            burst.lengths[i] = length;
        }
        OK(tare_port_send(a, 0, burst.count, &taken));
        HOLDS(taken == 97);
        OK(tare_port_give_back(a));
        OK(tare_port_receive(b, 1000, &came));
        for (uint32_t i = 0; i < came.count; i++, next++) {
            const uint8_t *row = came.data + (size_t)i * came.stride;
            HOLDS(came.lengths[i] == next && came.wire_lengths[i] == next);
            for (uint32_t at = 0; at < next; at++) {
                if (row[at] != (uint8_t)(next * 7)) { HOLDS(!"a byte differs"); break; }
            }
        }
        OK(tare_port_release(b));
    }
    HOLDS(next == 1515);
    tare_port_counters counters;
    OK(tare_port_count(a, &counters));
    HOLDS(counters.sent == 1455 && counters.lost == 0);
    OK(tare_port_count(b, &counters));
    HOLDS(counters.received == 1455);
    OK(tare_port_close(a));
    OK(tare_port_close(b));
}

static uint32_t write_one(void *context, uint8_t *room, uint32_t longest) {
    uint32_t *n = context;
    HOLDS(longest >= 1514);
    memcpy(room, head, sizeof head);
    memset(room + sizeof head, 0, 18);
    room[29] = (uint8_t)++*n;
    return 60;
}

static void read_one(void *context, const uint8_t *frame, uint32_t length, uint32_t wire_length, uint64_t stamp) {
    uint32_t *n = context;
    HOLDS(length == 60 && wire_length == 60 && frame[29] == (uint8_t)++*n);
    (void)stamp;
}

struct again { tare_port port; int code; };

static uint32_t use_again(void *context, uint8_t *room, uint32_t longest) {
    struct again *again = context;
    again->code = tare_port_close(again->port);
    memset(room, 0, 60);
    (void)longest;
    return 60;
}

static void in_place(void) {
    tare_port a, b;
    uint32_t taken, wrote = 0, read = 0;
    bool ready = false;
    pair("mem:c-place", &a, &b);
    OK(has_clock ? tare_port_wait(b, TARE_RECEIVE, 0, &ready) : TARE_OK);
    HOLDS(!has_clock || !ready);
    OK(tare_port_transmit_by(a, 100, write_one, &wrote, &taken));
    HOLDS(taken == 100 && wrote == 100);
    OK(has_clock ? tare_port_wait(b, TARE_RECEIVE, 1000000, &ready) : TARE_OK);
    HOLDS(!has_clock || ready);
    OK(tare_port_receive_by(b, 1000, read_one, &read, &taken));
    HOLDS(taken == 100 && read == 100);
    OK(has_clock ? tare_port_flush(a, 1000000, &ready) : TARE_OK);
    HOLDS(!has_clock || ready);
    FAILS(TARE_ERROR_POINTER, "write", tare_port_transmit_by(a, 1, NULL, NULL, &taken));
    FAILS(TARE_ERROR_POINTER, "read", tare_port_receive_by(b, 1, NULL, NULL, &taken));
    struct again again = {a, TARE_OK};
    OK(tare_port_transmit_by(a, 1, use_again, &again, &taken));
    HOLDS(again.code == TARE_ERROR_BUSY);
    OK(tare_port_close(a));
    OK(tare_port_close(b));
}

static void wrong_ports(void) {
    tare_port a, b, none = 77;
    tare_burst burst;
    tare_port_options options;
    uint32_t taken;
    bool ready;
    FAILS(TARE_ERROR_POINTER, "address is NULL", tare_port_open(NULL, NULL, &a));
    FAILS(TARE_ERROR_POINTER, "port is NULL", tare_port_open("mem:x", NULL, NULL));
    FAILS(TARE_ERROR_TEXT, "not UTF-8", tare_port_open("mem:\xff", NULL, &none));
    FAILS(TARE_ERROR_PORT, "pakket", tare_port_open("pakket:veth0", NULL, &none));
    FAILS(TARE_ERROR_PORT, "no-such-if", tare_port_open("packet:no-such-if", NULL, &none));
    HOLDS(none == 77);
    memset(&options, 0, sizeof options);
    FAILS(TARE_ERROR_VALUE, "tare_port_options_init", tare_port_open("mem:x", &options, &none));
    OK(tare_port_options_init(&options));
    options.direction = 3;
    FAILS(TARE_ERROR_VALUE, "TARE_BOTH", tare_port_open("mem:x", &options, &none));
    OK(tare_port_options_init(&options));
    options.burst = 100000;
    FAILS(TARE_ERROR_VALUE, "burst is 100000", tare_port_open("mem:x", &options, &none));

    pair("mem:c-wrong", &a, &b);
    FAILS(TARE_ERROR_ORDER, "no burst is lent", tare_port_send(a, 0, 1, &taken));
    FAILS(TARE_ERROR_ORDER, "no burst is lent", tare_port_give_back(a));
    FAILS(TARE_ERROR_POINTER, "burst", tare_port_lend(a, 1, NULL));
    OK(tare_port_lend(a, 3, &burst));
    FAILS(TARE_ERROR_ORDER, "lent already", tare_port_lend(a, 3, &burst));
    FAILS(TARE_ERROR_VALUE, "only 3 are lent", tare_port_send(a, 2, 2, &taken));
    FAILS(TARE_ERROR_VALUE, "only 3 are lent", tare_port_send(a, UINT32_MAX, UINT32_MAX, &taken));
    burst.lengths[0] = 60;
    burst.lengths[1] = 1515;
    OK(tare_port_send(a, 0, 2, &taken));
    HOLDS(taken == 1);
    FAILS(TARE_ERROR_TOO_LONG, "frame 1 of the burst has 1515 bytes", tare_port_send(a, 1, 1, &taken));
    OK(tare_port_give_back(a));
    FAILS(TARE_ERROR_ORDER, "no burst is lent", tare_port_give_back(a));
    FAILS(TARE_ERROR_ORDER, "released already", tare_port_release(b));
    OK(tare_port_receive(b, 9, &burst));
    HOLDS(burst.count == 1);
    FAILS(TARE_ERROR_ORDER, "still held", tare_port_receive(b, 9, &burst));
    OK(tare_port_release(b));
    FAILS(TARE_ERROR_ORDER, "released already", tare_port_release(b));
    FAILS(TARE_ERROR_VALUE, "TARE_RECEIVE or TARE_TRANSMIT", tare_port_wait(b, 9, 0, &ready));
    OK(tare_port_close(a));
    FAILS(TARE_ERROR_CLOSED, "closed", tare_port_close(a));
    FAILS(TARE_ERROR_CLOSED, "closed", tare_port_lend(a, 1, &burst));
    FAILS(TARE_ERROR_CLOSED, "closed", tare_port_lend(0, 1, &burst));
    FAILS(TARE_ERROR_OVER, "no more frames", tare_port_receive(b, 9, &burst));
    FAILS(TARE_ERROR_KIND, "set of rules", tare_rules_close(b));
    FAILS(TARE_ERROR_KIND, "run", tare_run_stop(b));
    OK(tare_port_close(b));
}

/* Frames of 198.18.0.first, first + 1, and so on, handed over. */
static void send_some(tare_port port, uint32_t count, uint32_t length) {
    tare_burst burst;
    uint32_t taken;
    OK(tare_port_lend(port, count, &burst));
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *row = burst.data + (size_t)i * burst.stride;
        memcpy(row, head, sizeof head);
        row[29] = (uint8_t)i;
        burst.lengths[i] = length;
    }
    OK(tare_port_send(port, 0, count, &taken));
    HOLDS(taken == count);
    OK(tare_port_give_back(port));
}

static void from_port_to_port(void) {
    tare_port a, b, c, d;
    tare_burst burst;
    tare_rules rules;
    tare_decision decisions[20] = {0};
    tare_forwarded done;
    uint32_t taken;
    pair("mem:c-from", &a, &b);
    pair("mem,slots=8:c-to", &c, &d);
    OK(tare_rules_compile("drop from 198.18.0.0/30", &rules));

    /* By decisions of one's own: what is dropped takes no room, and the rest waits for some. */
    send_some(a, 20, 60);
    OK(tare_port_receive(b, 20, &burst));
    for (uint32_t i = 0; i < 20; i++) decisions[i] = 2 * i + (i % 2);
    OK(tare_port_pass(b, c, 0, 20, decisions, &taken));
    HOLDS(taken == 15);
    FAILS(TARE_ERROR_VALUE, "only 20 are held", tare_port_pass(b, c, 19, 2, decisions, &taken));
    FAILS(TARE_ERROR_POINTER, "decisions is", tare_port_pass(b, c, 0, 1, (const tare_decision *)3, &taken));
    OK(tare_port_receive(d, 20, &burst));
    HOLDS(burst.count == 8);
    for (uint32_t i = 0; i < burst.count; i++) HOLDS(burst.data[(size_t)i * burst.stride + 29] == 2 * i);
    OK(tare_port_release(d));
    OK(tare_port_pass(b, c, 15, 5, decisions, &taken));
    HOLDS(taken == 5);
    /* And back where they came from, all of them. */
    OK(tare_port_pass(b, b, 0, 20, NULL, &taken));
    HOLDS(taken == 20);
    OK(tare_port_release(b));
    FAILS(TARE_ERROR_ORDER, "no burst is held", tare_port_pass(b, c, 0, 0, NULL, &taken));
    OK(tare_port_receive(a, 100, &burst));
    HOLDS(burst.count == 20);
    OK(tare_port_release(a));
    OK(tare_port_receive(d, 20, &burst));
    HOLDS(burst.count == 2);
    OK(tare_port_release(d));

    /* Whole bursts by one call: four are dropped by a rule, and there is room for eight. */
    send_some(a, 20, 60);
    OK(tare_port_forward(b, c, rules, 20, &done));
    HOLDS(done.received == 20 && done.received_bytes == 1200 && done.passed == 16 && done.sent == 8);
    OK(tare_port_receive(d, 20, &burst));
    HOLDS(burst.count == 8 && burst.data[29] == 4);
    OK(tare_port_release(d));
    send_some(a, 10, 60);
    OK(tare_port_forward(b, 0, rules, 6, &done));
    HOLDS(done.received == 6 && done.received_bytes == 360 && done.passed == 2 && done.sent == 0);
    OK(tare_port_forward(b, 0, 0, 60, &done));
    HOLDS(done.received == 4 && done.passed == 4);
    OK(tare_port_forward(b, c, 0, 60, &done));
    HOLDS(done.received == 0);

    send_some(a, 2, 60);
    FAILS(TARE_ERROR_BUSY, "in use", tare_port_forward(b, b, 0, 1, &done));
    FAILS(TARE_ERROR_CLOSED, "closed", tare_port_forward(0, c, 0, 1, &done));
    FAILS(TARE_ERROR_KIND, "set of rules", tare_port_forward(b, c, a, 1, &done));
    FAILS(TARE_ERROR_KIND, "port", tare_port_pass(b, rules, 0, 1, NULL, &taken));
    FAILS(TARE_ERROR_POINTER, "forwarded is NULL", tare_port_forward(b, c, 0, 1, NULL));
    FAILS(TARE_ERROR_POINTER, "taken is NULL", tare_port_pass(b, c, 0, 1, NULL, NULL));
    OK(tare_port_receive(b, 1, &burst));
    FAILS(TARE_ERROR_ORDER, "still held", tare_port_forward(b, c, 0, 1, &done));
    FAILS(TARE_ERROR_ORDER, "still held", tare_port_forward(b, 0, 0, 1, &done));
    burst.lengths[0] = 4000000000u;
    FAILS(TARE_ERROR_TOO_LONG, "frame 0 of the burst", tare_port_pass(b, c, 0, 1, NULL, &taken));
    OK(tare_port_release(b));
    OK(tare_port_close(a));
    OK(tare_port_forward(b, 0, 0, 60, &done));
    HOLDS(done.received == 1);
    FAILS(TARE_ERROR_OVER, "no more frames", tare_port_forward(b, 0, 0, 60, &done));
    OK(tare_rules_close(rules));
    OK(tare_port_close(b));
    OK(tare_port_close(c));
    OK(tare_port_close(d));
}

/* A named pipe whose reader is about to leave. */
static int reader_of(const char *name) {
    unlink(name);
    HOLDS(!mkfifo(name, 0600));
    return open(name, O_RDONLY | O_NONBLOCK);
}

/* SIGPIPE would end this program. */
static void pipe_without_reader(void) {
    char name[64], address[80];
    tare_port_options options;
    tare_port port;
    bool flushed;
    snprintf(name, sizeof name, "/tmp/tare-conformance-%d", (int)getpid());
    snprintf(address, sizeof address, "pcap:%s", name);
    int reader = reader_of(name);
    OK(tare_port_options_init(&options));
    options.direction = TARE_TRANSMIT;
    OK(tare_port_open(address, &options, &port));
    close(reader);
    send_some(port, 20, 60);
    FAILS(TARE_ERROR_PORT, "Broken pipe", tare_port_flush(port, 1000000, &flushed));
    OK(tare_port_close(port));
    unlink(name);
}

static void *leave(void *reader) {
    char frames[4096];
    /* Once something has come there is someone to leave. */
    while (read(*(int *)reader, frames, sizeof frames) <= 0) usleep(1000);
    close(*(int *)reader);
    return NULL;
}

static void run_into_a_pipe(void) {
    char name[64], plan[256];
    const char *result;
    int32_t status;
    tare_run run;
    pthread_t other;
    snprintf(name, sizeof name, "/tmp/tare-conformance-%d", (int)getpid());
    snprintf(plan, sizeof plan, "[send]\nport = \"pcap:%s\"\nrate = \"100k\"\nframes = 1000000\n", name);
    int reader = reader_of(name);
    HOLDS(!pthread_create(&other, NULL, leave, &reader));
    OK(tare_run_start(plan, NULL, &run));
    int code = tare_run_result(run, &result, &status);
    HOLDS(code != TARE_OK || status != 0);
    OK(tare_run_close(run));
    pthread_join(other, NULL);
    unlink(name);
}

static void facts(void) {
    tare_port port;
    tare_port_about about;
    OK(tare_port_open("mem:c-facts", NULL, &port));
    OK(tare_port_ask(port, &about));
    HOLDS(!strcmp(about.name, "mem:c-facts") && !strcmp(about.kind, "mem"));
    HOLDS(about.longest == 1514 && about.transmits && about.receives && !about.has_mac);
    OK(tare_port_close(port));
    HOLDS(!strcmp(tare_version(), TARE_VERSION));
}

static void rules(void) {
    tare_rules rules;
    tare_decision one, all[40];
    tare_reason reason;
    uint32_t passed;
    FAILS(TARE_ERROR_RULES, "rules:2:", tare_rules_compile("pass all\nblok all", &rules));
    OK(tare_rules_compile("# first\ndrop from 198.18.0.0/28\npass from 198.18.0.30 proto udp dport 9\n"
                          "drop from 198.18.0.30\nother drop", &rules));
    uint8_t data[40 * 64] = {0};
    uint32_t lengths[40];
    tare_burst burst = {data, lengths, NULL, NULL, 64, 40};
    for (uint32_t i = 0; i < 40; i++) {
        memcpy(data + i * 64, head, sizeof head);
        data[i * 64 + 29] = (uint8_t)i;
        lengths[i] = 60;
    }
    data[38 * 64 + 13] = 6; /* ARP */
    lengths[39] = 20;       /* cut off */
    OK(tare_rules_judge_burst(rules, &burst, all, &passed));
    HOLDS(passed == 40 - 16 - 2);
    for (uint32_t i = 0; i < 40; i++) {
        OK(tare_rules_judge(rules, data + i * 64, lengths[i], &one));
        HOLDS(one == all[i]);
        OK(tare_rules_explain(rules, one, &reason));
        uint32_t by = i == 38 ? TARE_BY_OTHER : i == 39 ? TARE_BY_MALFORMED
                    : i < 16 || i == 30 ? TARE_BY_RULE : TARE_BY_DEFAULT;
        HOLDS(reason.by == by && reason.drops == (i < 16 || i > 37));
        HOLDS(reason.line == (i < 16 ? 2u : i == 30 ? 3u : 0u) && reason.rule == (i == 30 ? 1u : 0u));
    }
    OK(tare_rules_judge_burst(rules, &burst, NULL, &passed));
    HOLDS(passed == 22);
    lengths[7] = 65;
    FAILS(TARE_ERROR_TOO_LONG, "frame 7 has 65 bytes", tare_rules_judge_burst(rules, &burst, NULL, &passed));
    burst.data = NULL;
    lengths[7] = 60;
    FAILS(TARE_ERROR_POINTER, "burst->data", tare_rules_judge_burst(rules, &burst, NULL, &passed));
    FAILS(TARE_ERROR_POINTER, "frame", tare_rules_judge(rules, NULL, 60, &one));
    FAILS(TARE_ERROR_VALUE, "frame is 18446744073709551615", tare_rules_judge(rules, data, (size_t)-1, &one));
    FAILS(TARE_ERROR_VALUE, "decision is 99", tare_rules_explain(rules, 99, &reason));
    OK(tare_rules_close(rules));
    FAILS(TARE_ERROR_CLOSED, "closed", tare_rules_close(rules));
    FAILS(TARE_ERROR_CLOSED, "closed", tare_rules_judge(rules, data, 60, &one));
}

static void signatures(void) {
    uint8_t frame[60] = {0};
    tare_signature wrote = {12345678901, 1700000000000000000, 1700000000000001234, 7}, read = {0};
    bool found = true;
    memcpy(frame, head, sizeof head);
    OK(tare_signature_read(frame, 60, &read, &found));
    HOLDS(!found && read.seq == 0);
    OK(tare_signature_write(&wrote, frame, 60));
    OK(tare_signature_read(frame, 60, &read, &found));
    HOLDS(found && read.seq == wrote.seq && read.stream == wrote.stream);
    HOLDS(read.due_unix_ns == wrote.due_unix_ns && read.sent_unix_ns == wrote.sent_unix_ns);
    frame[50] ^= 1;
    OK(tare_signature_read(frame, 60, &read, &found));
    HOLDS(!found);
    FAILS(TARE_ERROR_NO_ROOM, "18 bytes", tare_signature_write(&wrote, frame, 59));
    wrote.stream = 256;
    FAILS(TARE_ERROR_VALUE, "0 to 255", tare_signature_write(&wrote, frame, 60));
    wrote.seq = 1ull << 40;
    FAILS(TARE_ERROR_VALUE, "2^40", tare_signature_write(&wrote, frame, 60));
    FAILS(TARE_ERROR_POINTER, "signature", tare_signature_write(NULL, frame, 60));
}

static void *stop(void *run) {
    const char *row = NULL;
    /* Once the first interval is over there is something to stop. */
    for (int n = 0; n < 30 && !row; n++) {
        OK(tare_run_row(*(tare_run *)run, 1000000000, &row));
    }
    HOLDS(row && strstr(row, "\"sent\""));
    OK(tare_run_stop(*(tare_run *)run));
    return NULL;
}

static void runs(const char *url) {
    tare_run run = 0;
    tare_run_options options;
    const char *result, *again;
    char plan[512];
    int32_t status;
    bool over;

    OK(tare_run_start("[send]\nport = \"mem:c-run\"\nrate = \"1k\"\nframes = 50\n", NULL, &run));
    OK(tare_run_result(run, &result, &status));
    HOLDS(strstr(result, "\"engine\":\"send\"") && strstr(result, "\"sent\":50"));
    HOLDS(strstr(result, "\"command\":\"libtare\""));
    OK(tare_run_result(run, &again, &status));
    HOLDS(again == result);
    OK(tare_run_wait(run, 0, &over));
    HOLDS(over);
    OK(tare_run_close(run));
    FAILS(TARE_ERROR_CLOSED, "closed", tare_run_close(run));
    FAILS(TARE_ERROR_CLOSED, "closed", tare_run_result(run, &result, &status));

    snprintf(plan, sizeof plan, "url = \"%s\"\n[load]\nrate = 200\n[stop]\nrequests = 100\n"
             "[limits]\nfail_if = [\"errors > 0\"]\n", url);
    OK(tare_run_options_init(&options));
    options.accept_invalid = true;
    OK(tare_run_start(plan, &options, &run));
    OK(tare_run_result(run, &result, &status));
    HOLDS(strstr(result, "\"schema\":\"tare.result/1\"") && strstr(result, "\"done\":100") && status == 0);
    OK(tare_run_close(run));

    /* An hour, stopped by another thread. */
    snprintf(plan, sizeof plan, "url = \"%s\"\n[load]\nrate = 50\n[stop]\nduration = \"1h\"\n", url);
    OK(tare_run_start(plan, NULL, &run));
    OK(tare_run_wait(run, 0, &over));
    HOLDS(!over);
    pthread_t other;
    HOLDS(!pthread_create(&other, NULL, stop, &run));
    OK(tare_run_result(run, &result, &status));
    HOLDS(status == 130 && strstr(result, "\"partial\":true"));
    pthread_join(other, NULL);
    OK(tare_run_close(run));

    /* Closing ends it, too. */
    OK(tare_run_start(plan, NULL, &run));
    OK(tare_run_close(run));

    run_into_a_pipe();

    FAILS(TARE_ERROR_PLAN, "plan, line 2: unknown key `load.rat`",
          tare_run_start("url = \"http://127.0.0.1/\"\nload.rat = 5\n", NULL, &run));
    FAILS(TARE_ERROR_POINTER, "plan", tare_run_start(NULL, NULL, &run));
    OK(tare_run_start("[send]\nport = \"packet:no-such-if\"\n", NULL, &run));
    FAILS(TARE_ERROR_PLAN, "no-such-if", tare_run_result(run, &result, &status));
    HOLDS(result == NULL);
    OK(tare_run_close(run));
    options.size = 1;
    FAILS(TARE_ERROR_VALUE, "tare_run_options_init", tare_run_start("", &options, &run));
}

int main(int count, char **words) {
    if (count > 2 && !strcmp(words[1], "runs")) {
        runs(words[2]);
    } else {
        has_clock = count < 2 || strcmp(words[1], "memory");
        order_and_content();
        in_place();
        from_port_to_port();
        wrong_ports();
        if (has_clock) pipe_without_reader();
        facts();
        rules();
        signatures();
    }
    if (failures) fprintf(stderr, "%d failures\n", failures);
    return failures != 0;
}
