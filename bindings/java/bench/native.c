/* The middleboxes of the ladder in C, over the same library and the same ports as those in Java. Answers as
 * tare/bench/Worker.java does:
 *
 *   run NAME SIZE BURST MS LONGEST    -> frames ns 0 passed
 *   threads NAME SIZE BURST MS COUNT  -> frames wall-ns cpu-ns
 *
 * capture-burst    receive, add the lengths, release
 * capture-call     tare_port_forward to nowhere
 * capture-file     receive, write as pcap through a buffer, release
 * capture-port     tare_port_forward to a port that is a file
 * firewall-filter  receive, tare_rules_judge_burst, tare_port_pass, release
 * firewall-call    tare_port_forward
 */

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tare.h>
#include <time.h>
#include <unistd.h>

#define RING 1024
#define RULES 1000
#define ROOM (1 << 20)
#define WARM 8

#define CHECK(call) do { if ((call) != TARE_OK) { \
    fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, tare_last_error()); exit(1); } } while (0)

static tare_rules rules;

static uint64_t now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* As tare/bench/Rules.java. */
static void compile(void) {
    static char text[RULES * 64];
    size_t at = 0;
    for (int n = 0; n < RULES; n++) {
        const char *action = n % 2 == 0 ? "drop" : "pass";
        const char *form = n % 10 == 0 ? "%s from 198.18.%d.0/29 proto udp\n"
                         : n % 10 < 5 ? "%s from 10.%d.%d.0/24\n" : "%s from 172.16.%d.%d proto tcp\n";
        at += n % 10 == 0 ? (size_t)sprintf(text + at, form, action, n / 10)
                          : (size_t)sprintf(text + at, form, action, n / 250, n % 250);
    }
    CHECK(tare_rules_compile(text, &rules));
}

struct box {
    tare_port source, in, out, drain, kept;
    uint32_t burst, size, longest;
    uint64_t frames, bytes, passed, cpu_ns;
    /* Of the file. */
    int file;
    uint8_t *room;
    size_t filled;
};

static void put16(uint8_t *at, unsigned value) {
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* As tare/bench/Feed.java. */
static void feed(struct box *box, const char *name, uint32_t queue, uint32_t queues) {
    char address[64];
    tare_port_options options;
    tare_burst burst;
    uint32_t length = box->size - 4;
    CHECK(tare_port_options_init(&options));
    options.queue = queue;
    options.queues = queues;
    options.burst = RING;
    options.longest = box->longest;
    snprintf(address, sizeof address, "mem:%s", name);
    CHECK(tare_port_open(address, &options, &box->source));
    options.burst = box->burst;
    CHECK(tare_port_open(address, &options, &box->in));
    snprintf(address, sizeof address, "mem:%s-out", name);
    CHECK(tare_port_open(address, &options, &box->out));
    CHECK(tare_port_open(address, &options, &box->drain));
    CHECK(tare_port_lend(box->source, RING, &burst));
    for (unsigned i = 0; i < RING; i++) {
        static const uint8_t macs[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0};
        uint8_t *row = burst.data + (size_t)i * burst.stride;
        burst.lengths[i] = length;
        memcpy(row, macs, sizeof macs);
        memset(row + 14, 0, 28);
        put16(row + 14, 0x4500);
        put16(row + 16, length - 14);
        put16(row + 22, 64 << 8 | 17);
        put16(row + 26, 198 << 8 | 18);
        put16(row + 28, (i * 37 & 127) << 8 | (i * 11 & 63));
        put16(row + 30, 198 << 8 | 18);
        put16(row + 32, 2);
        put16(row + 34, 1024);
        put16(row + 36, 9);
        put16(row + 38, length - 34);
    }
}

static uint32_t fill(struct box *box) {
    uint32_t taken;
    CHECK(tare_port_send(box->source, 0, RING, &taken));
    return taken;
}

static void drain(struct box *box) {
    tare_forwarded done;
    do {
        CHECK(tare_port_forward(box->drain, 0, 0, RING, &done));
        box->passed += done.received;
    } while (done.received);
}

static uint32_t capture_burst(struct box *box) {
    tare_burst burst;
    uint64_t bytes = 0;
    CHECK(tare_port_receive(box->in, box->burst, &burst));
    if (burst.count == 0) return 0;
    for (uint32_t i = 0; i < burst.count; i++) bytes += burst.lengths[i];
    box->bytes += bytes;
    CHECK(tare_port_release(box->in));
    return burst.count;
}

static uint32_t forward(struct box *box, tare_port out, tare_rules by) {
    tare_forwarded done;
    CHECK(tare_port_forward(box->in, out, by, box->burst, &done));
    box->bytes += done.received_bytes;
    return done.received;
}

static uint32_t capture_call(struct box *box) {
    return forward(box, 0, 0);
}

static uint32_t firewall_call(struct box *box) {
    return forward(box, box->out, rules);
}

static uint32_t capture_port(struct box *box) {
    if (!box->kept) {
        tare_port_options options;
        CHECK(tare_port_options_init(&options));
        options.direction = TARE_TRANSMIT;
        CHECK(tare_port_open("pcap:/dev/null", &options, &box->kept));
    }
    return forward(box, box->kept, 0);
}

static void write_all(struct box *box) {
    for (size_t at = 0; at < box->filled;) {
        ssize_t wrote = write(box->file, box->room + at, box->filled - at);
        if (wrote < 0) { perror("write"); exit(1); }
        at += (size_t)wrote;
    }
    box->filled = 0;
}

static uint32_t capture_file(struct box *box) {
    tare_burst burst;
    CHECK(tare_port_receive(box->in, box->burst, &burst));
    if (burst.count == 0) return 0;
    for (uint32_t i = 0; i < burst.count; i++) {
        uint32_t length = burst.lengths[i];
        uint64_t time = burst.times_unix_ns[i];
        uint32_t head[4] = {(uint32_t)(time / 1000000000), (uint32_t)(time % 1000000000), length, burst.wire_lengths[i]};
        if (box->filled + sizeof head + length > ROOM) write_all(box);
        memcpy(box->room + box->filled, head, sizeof head);
        memcpy(box->room + box->filled + sizeof head, burst.data + (size_t)i * burst.stride, length);
        box->filled += sizeof head + length;
        box->bytes += length;
    }
    CHECK(tare_port_release(box->in));
    return burst.count;
}

static uint32_t firewall_filter(struct box *box) {
    static _Thread_local tare_decision decisions[RING];
    tare_burst burst;
    uint32_t passed, taken;
    CHECK(tare_port_receive(box->in, box->burst, &burst));
    if (burst.count == 0) return 0;
    for (uint32_t i = 0; i < burst.count; i++) box->bytes += burst.lengths[i];
    CHECK(tare_rules_judge_burst(rules, &burst, decisions, &passed));
    CHECK(tare_port_pass(box->in, box->out, 0, burst.count, decisions, &taken));
    CHECK(tare_port_release(box->in));
    return burst.count;
}

typedef uint32_t (*poll_once)(struct box *box);

static poll_once step(const char *name) {
    static const struct { const char *name; poll_once poll; } steps[] = {
        {"capture-burst", capture_burst}, {"capture-call", capture_call}, {"capture-file", capture_file}, {"capture-port", capture_port},
        {"firewall-filter", firewall_filter}, {"firewall-call", firewall_call},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!strcmp(steps[i].name, name)) return steps[i].poll;
    }
    fprintf(stderr, "no %s\n", name);
    exit(2);
}

static void close_all(struct box *box) {
    CHECK(tare_port_close(box->source));
    CHECK(tare_port_close(box->in));
    CHECK(tare_port_close(box->out));
    CHECK(tare_port_close(box->drain));
}

/* Fills the ring, and polls until it is empty: how long that took. */
static uint64_t once(struct box *box, poll_once poll) {
    uint32_t there = fill(box);
    uint64_t from = now_ns(CLOCK_MONOTONIC);
    box->frames += there;
    while (there) there -= poll(box);
    return now_ns(CLOCK_MONOTONIC) - from;
}

static void run(struct box *box, poll_once poll, uint64_t ns) {
    uint64_t spent = 0, before;
    box->frames = box->bytes = 0;
    /* What is touched for the first time is not what is measured. */
    for (int i = 0; i < WARM; i++) {
        once(box, poll);
        drain(box);
    }
    before = box->frames;
    box->passed = 0;
    while (spent < ns) {
        spent += once(box, poll);
        drain(box);
    }
    if (box->bytes != box->frames * (box->size - 4)) {
        fprintf(stderr, "%llu bytes were seen\n", (unsigned long long)box->bytes);
        exit(1);
    }
    printf("%llu %llu 0 %llu\n", (unsigned long long)(box->frames - before), (unsigned long long)spent,
           (unsigned long long)box->passed);
}

struct thread {
    struct box box;
    poll_once poll;
    int cpu;
    uint64_t ns;
};

static void *work(void *given) {
    struct thread *thread = given;
    struct box *box = &thread->box;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(thread->cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) perror("sched_setaffinity");
    uint64_t end = now_ns(CLOCK_MONOTONIC) + thread->ns, before = now_ns(CLOCK_THREAD_CPUTIME_ID);
    while (now_ns(CLOCK_MONOTONIC) < end) {
        uint32_t there = fill(box), moved = 0;
        while (moved < there) moved += thread->poll(box);
        box->frames += moved;
        drain(box);
    }
    box->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    return NULL;
}

static void threads(struct thread *all, int count) {
    pthread_t handles[64];
    uint64_t from = now_ns(CLOCK_MONOTONIC), frames = 0, cpu = 0;
    for (int i = 0; i < count; i++) pthread_create(&handles[i], NULL, work, &all[i]);
    for (int i = 0; i < count; i++) {
        pthread_join(handles[i], NULL);
        frames += all[i].box.frames;
        cpu += all[i].box.cpu_ns;
    }
    printf("%llu %llu %llu\n", (unsigned long long)frames, (unsigned long long)(now_ns(CLOCK_MONOTONIC) - from),
           (unsigned long long)cpu);
}

int main(void) {
    char line[256], word[16], name[64], port[32];
    unsigned size, burst, ms, count, names = 0;
    struct box kept = {.file = open("/dev/null", O_WRONLY), .room = malloc(ROOM)};
    compile();
    while (fgets(line, sizeof line, stdin)) {
        int found = sscanf(line, "%15s %63s %u %u %u %u", word, name, &size, &burst, &ms, &count);
        poll_once poll = found > 4 ? step(name) : NULL;
        snprintf(port, sizeof port, "native%u", names++);
        if (found == 6 && !strcmp(word, "run")) {
            /* The ports of the last run serve again, if they fit. */
            if (kept.size != size || kept.burst != burst || kept.longest != count) {
                if (kept.size) close_all(&kept);
                kept.size = size;
                kept.burst = burst;
                kept.longest = count;
                feed(&kept, port, 0, 1);
            }
            run(&kept, poll, ms * 1000000ull);
        } else if (found == 6 && !strcmp(word, "threads") && count >= 1 && count <= 64) {
            struct thread *all = calloc(count, sizeof *all);
            for (unsigned i = 0; i < count; i++) {
                all[i] = (struct thread){{.burst = burst, .size = size, .longest = 1514}, poll, (int)i, ms * 1000000ull};
                feed(&all[i].box, port, i, count);
            }
            threads(all, (int)count);
            for (unsigned i = 0; i < count; i++) close_all(&all[i].box);
            free(all);
        } else {
            fprintf(stderr, "what is: %s", line);
            return 2;
        }
        fflush(stdout);
    }
    CHECK(tare_rules_close(rules));
    return 0;
}
