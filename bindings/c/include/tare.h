/* Digests: of the source 01196c17b0c3aca5, of this header 69ceeacaeac2a269. */
/* tare.h: ports, rules, signatures and runs of Tare, a load generator that measures itself.
 *
 * Made from the source by `make header`. Do not edit.
 *
 * Every function but tare_version and tare_last_error returns TARE_OK or the code of an error, whose text
 * tare_last_error has; what it was to write is then as it was, or 0. No function exits, raises a signal or lets
 * a panic out.
 *
 * Handles are numbers, and 0 is never one. One that is closed, or of another kind, is an error and no danger.
 * Pointers are another matter: NULL is an error, but a pointer that is not NULL must point to what the function
 * says, which nobody else uses meanwhile; a text ends with a NUL and is UTF-8.
 *
 * After fork() without exec() a child must not use the library.
 */

#ifndef TARE_H
#define TARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* The version of this header; tare_version() is that of the library. */
#define TARE_VERSION "0.1.0"
#define TARE_VERSION_MAJOR 0
#define TARE_VERSION_MINOR 1
#define TARE_VERSION_PATCH 0

/**
 * Done.
 */
#define TARE_OK 0

/**
 * A pointer that must not be NULL is, or is not aligned for what it points to.
 */
#define TARE_ERROR_POINTER -1

/**
 * A handle that is closed, or never was one.
 */
#define TARE_ERROR_CLOSED -2

/**
 * A handle of another kind.
 */
#define TARE_ERROR_KIND -3

/**
 * Another thread, or the function that called back, is using the handle.
 */
#define TARE_ERROR_BUSY -4

/**
 * A value is outside of what it may be.
 */
#define TARE_ERROR_VALUE -5

/**
 * A text is not UTF-8.
 */
#define TARE_ERROR_TEXT -6

/**
 * Something was used before it was lent or received, after it was given up, or twice.
 */
#define TARE_ERROR_ORDER -7

/**
 * A frame is longer than the port, or its row, has room for.
 */
#define TARE_ERROR_TOO_LONG -8

/**
 * A frame has no room for a signature.
 */
#define TARE_ERROR_NO_ROOM -9

/**
 * An address of a port is wrong, or the port cannot be opened or used here.
 */
#define TARE_ERROR_PORT -10

/**
 * A port failed while it was used: it is gone, down, or the system refused.
 */
#define TARE_ERROR_SYSTEM -11

/**
 * No frame will ever come again: a file is at its end, or the other end is closed and all was read.
 */
#define TARE_ERROR_OVER -12

/**
 * Rules are wrong.
 */
#define TARE_ERROR_RULES -13

/**
 * A plan, or something that it names, is wrong. Nothing was sent.
 */
#define TARE_ERROR_PLAN -14

/**
 * Nobody answers where the load should go. Nothing was sent.
 */
#define TARE_ERROR_UNREACHABLE -15

/**
 * Too many handles of this kind are open.
 */
#define TARE_ERROR_FULL -16

/**
 * A mistake in Tare: please report it.
 */
#define TARE_ERROR_PANIC -17

/**
 * Frames go both ways.
 */
#define TARE_BOTH 0

/**
 * Frames are only sent.
 */
#define TARE_TRANSMIT 1

/**
 * Frames are only received.
 */
#define TARE_RECEIVE 2

/**
 * A rule decided.
 */
#define TARE_BY_RULE 0

/**
 * No rule matched, or none could look at what the frame carries: the line "default" decided.
 */
#define TARE_BY_DEFAULT 1

/**
 * The frame is neither IPv4 nor IPv6: the line "other" decided.
 */
#define TARE_BY_OTHER 2

/**
 * The frame's headers are cut off or contradict themselves.
 */
#define TARE_BY_MALFORMED 3

/**
 * A port that is open. The program owns it until tare_port_close. One thread may use it at a time, whichever:
 * a call that meets another one returns TARE_ERROR_BUSY. 0 is never a port.
 */
typedef uint64_t tare_port;

/**
 * What became of a frame, as one number: 2 * i + (1 if it is dropped), where i is the index of the rule that
 * decided, from 0; of N rules, i = N stands for the line "default", N + 1 for "other", N + 2 for a frame
 * that is malformed.
 */
typedef uint32_t tare_decision;

/**
 * Compiled rules. The program owns them until tare_rules_close. Any number of threads may use them at once.
 */
typedef uint64_t tare_rules;

/**
 * What became of the frames of one tare_port_forward.
 */
typedef struct tare_forwarded {
  /**
   * Bytes of the frames that were received, and how many these were.
   */
  uint64_t received_bytes;
  uint32_t received;
  /**
   * Of these, frames that no rule drops.
   */
  uint32_t passed;
  /**
   * Of these, frames that the other port took: fewer where it had no room, or where they were too long.
   */
  uint32_t sent;
} tare_forwarded;

/**
 * How a port is opened: tare_port_options_init writes the defaults.
 */
typedef struct tare_port_options {
  /**
   * sizeof(tare_port_options), by which the library knows the version of the header.
   */
  uint32_t size;
  /**
   * TARE_BOTH (the default), TARE_TRANSMIT or TARE_RECEIVE.
   */
  uint32_t direction;
  /**
   * Bytes of the longest frame that is sent or kept, without FCS: 1 to 65549, by default 1514. Frames that
   * arrive and are longer are cut off.
   */
  uint32_t longest;
  /**
   * Most frames of one burst: 1 to 65536, by default 256.
   */
  uint32_t burst;
  /**
   * Which queue of how many that will be opened; by default 0 of 1.
   */
  uint32_t queue;
  uint32_t queues;
  /**
   * Received frames shall have stamps; by default true.
   */
  bool stamps;
  /**
   * The thread spins: the port may poll the device instead of waiting for interrupts; by default false.
   */
  bool busy;
} tare_port_options;

/**
 * What a port is and can do.
 */
typedef struct tare_port_about {
  /**
   * The address that opens it again, and its kind: "mem", "packet", "xdp" and others. Cut off if longer.
   */
  char name[128];
  char kind[16];
  /**
   * Bytes of the longest frame that the port sends, without FCS. A tagged one may have four more on some.
   */
  uint32_t longest;
  /**
   * Most frames that one call of tare_port_transmit_by takes.
   */
  uint32_t batch;
  uint32_t queue;
  uint32_t queues;
  /**
   * Of the link, in bits per second; 0 if the driver does not say.
   */
  uint64_t speed_bps;
  bool transmits;
  bool receives;
  /**
   * Frames may leave at times of their own (tare_burst.times_unix_ns).
   */
  bool launch_times;
  bool zero_copy;
  /**
   * Who stamps received frames: 0 nobody, 1 the card, 2 the driver, 3 a program.
   */
  uint32_t stamped_by;
  /**
   * The MAC address of the interface, if has_mac.
   */
  bool has_mac;
  uint8_t mac[6];
} tare_port_about;

/**
 * Frames in rows. Frame i begins at data + i * stride. The memory is the port's: it stays where it is until
 * the port is closed, and is the program's to use from tare_port_lend to tare_port_give_back, or from
 * tare_port_receive to tare_port_release. A program may also make a tare_burst of memory of its own, for
 * tare_rules_judge_burst.
 */
typedef struct tare_burst {
  uint8_t *data;
  /**
   * Bytes of each frame, without FCS.
   */
  uint32_t *lengths;
  /**
   * Received frames: how long they were on the wire; more than `lengths` where they were cut off.
   */
  uint32_t *wire_lengths;
  /**
   * Nanoseconds since 1970. Received frames: when they came, 0 if nobody stamped them. Frames to be sent:
   * when they shall leave, on ports with launch_times; 0 is at once.
   */
  uint64_t *times_unix_ns;
  /**
   * Bytes from one row to the next.
   */
  uint32_t stride;
  /**
   * Frames that are lent, or were received.
   */
  uint32_t count;
} tare_burst;

/**
 * Writes one frame into `room`, of `longest` bytes, and returns its length; 0 sends none. It must return: no
 * longjmp, no exception. It must not use the port.
 */
typedef uint32_t (*tare_write)(void *context, uint8_t *room, uint32_t longest);

/**
 * Looks at one frame, which is gone when it returns. As tare_write, it must return, and not use the port.
 */
typedef void (*tare_read)(void *context,
                          const uint8_t *frame,
                          uint32_t length,
                          uint32_t wire_length,
                          uint64_t stamp_unix_ns);

/**
 * What a port has counted since it was opened.
 */
typedef struct tare_port_counters {
  uint64_t sent;
  uint64_t sent_bytes;
  uint64_t received;
  uint64_t received_bytes;
  /**
   * Frames that were lost, wherever the port knows of it.
   */
  uint64_t lost;
  /**
   * Of these, frames that were taken and could not be sent.
   */
  uint64_t unsent;
  /**
   * How often there was no room: those frames stayed with the program.
   */
  uint64_t full;
  /**
   * System calls.
   */
  uint64_t calls;
} tare_port_counters;

/**
 * A decision in full.
 */
typedef struct tare_reason {
  /**
   * TARE_BY_RULE and so on.
   */
  uint32_t by;
  /**
   * The rule's index from 0 and its line from 1, if a rule decided; else both are 0.
   */
  uint32_t rule;
  uint32_t line;
  bool drops;
} tare_reason;

/**
 * What is to be kept of a run: tare_run_options_init writes the defaults.
 */
typedef struct tare_run_options {
  /**
   * sizeof(tare_run_options), by which the library knows the version of the header.
   */
  uint32_t size;
  /**
   * Keep the run among those that `tare runs` lists; by default false.
   */
  bool save;
  /**
   * A run that is INVALID has status 0; by default false.
   */
  bool accept_invalid;
  /**
   * Keep the run in this folder; NULL (the default) is none.
   */
  const char *out;
} tare_run_options;

/**
 * A run, in a thread of the library's own. The program owns it until tare_run_close. Any number of threads may
 * use it at once: one waits, for instance, and another stops it.
 */
typedef uint64_t tare_run;

/**
 * What a frame carries at the start of its payload: 18 bytes, as `tare send --sign` writes them.
 */
typedef struct tare_signature {
  /**
   * Position in the whole schedule: less than 2^40.
   */
  uint64_t seq;
  /**
   * Nanoseconds since 1970 (CLOCK_REALTIME). Read back, it is exact up to 4 us before `sent_unix_ns`, and at
   * most 1/2048 of their difference too late beyond that.
   */
  uint64_t due_unix_ns;
  uint64_t sent_unix_ns;
  /**
   * 0 to 255.
   */
  uint32_t stream;
} tare_signature;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as "0.1.0". It is the library's, and stays.
 */
const char *tare_version(void);

/**
 * What went wrong in the last call of this thread that returned an error: one sentence, which says what would
 * be right. Never NULL. It is the library's, and stays until the next error of this thread.
 */
const char *tare_last_error(void);

/**
 * Sends frames `first` to `first + count - 1` of the burst that `from` holds out of `to`, which may be
 * `from` itself, in this order and without those whose decision is odd: a drop. `decisions` has one for each
 * frame that is held, from frame 0 on, or is NULL: all are sent. *taken says for how many this is done:
 * fewer where there is no room for more now, or a frame behind them is too long. All stay held. A file that
 * is sent to keeps their stamps. TARE_ERROR_TOO_LONG if frame `first` is too long; TARE_ERROR_VALUE for
 * frames that are not held; TARE_ERROR_ORDER if none are.
 */
int32_t tare_port_pass(tare_port from,
                       tare_port to,
                       uint32_t first,
                       uint32_t count,
                       const tare_decision *decisions,
                       uint32_t *taken);

/**
 * Takes up to `most` frames that have arrived at `from`, and sends those that pass `rules` out of `to`: a
 * whole burst by one call, of which nothing stays held. `rules` may be 0: all pass. `to` may be 0: they are
 * judged and counted, in place, and given up. Frames that `to` does not take are given up as well;
 * *forwarded says how many. Never waits. TARE_ERROR_ORDER if the last burst of `from` is still held;
 * TARE_ERROR_OVER if no frame will ever come again.
 */
int32_t tare_port_forward(tare_port from,
                          tare_port to,
                          tare_rules rules,
                          uint32_t most,
                          struct tare_forwarded *forwarded);

/**
 * Writes the defaults.
 */
int32_t tare_port_options_init(struct tare_port_options *options);

/**
 * Opens the port at an address, such as "mem:NAME", "packet:veth0" or "pcap:in.pcapng". `options` may be NULL
 * for the defaults. The port is the program's, which closes it.
 */
int32_t tare_port_open(const char *address, const struct tare_port_options *options, tare_port *port);

/**
 * Closes a port. What it lent, and what was received, is no longer there.
 */
int32_t tare_port_close(tare_port port);

/**
 * Says what the port is and can do.
 */
int32_t tare_port_ask(tare_port port, struct tare_port_about *about);

/**
 * Lends rows for up to `most` frames; burst->count says how many. They hold what they held before, so that who
 * sends nearly the same again need only write what changes; all lengths are 0. TARE_ERROR_ORDER if a burst is
 * lent already.
 */
int32_t tare_port_lend(tare_port port, uint32_t most, struct tare_burst *burst);

/**
 * Hands frames `first` to `first + count - 1` of the lent burst over, to leave in this order. *taken says how
 * many went: fewer, also 0, where there is no room for more now, or a frame behind them is too long. All rows
 * stay lent: the rest can be sent later, and all of them again. TARE_ERROR_TOO_LONG if frame `first` is too
 * long; TARE_ERROR_VALUE for frames that are not lent; TARE_ERROR_ORDER if none are.
 */
int32_t tare_port_send(tare_port port, uint32_t first, uint32_t count, uint32_t *taken);

/**
 * Ends the lending. TARE_ERROR_ORDER if no burst is lent.
 */
int32_t tare_port_give_back(tare_port port);

/**
 * Takes up to `most` frames that have arrived; never waits. burst->count says how many; if it is 0, there is
 * nothing to release. TARE_ERROR_ORDER if the last burst is still held; TARE_ERROR_OVER if no frame will ever
 * come again.
 */
int32_t tare_port_receive(tare_port port, uint32_t most, struct tare_burst *burst);

/**
 * Gives the received frames up. TARE_ERROR_ORDER if none are held: a second time, for instance.
 */
int32_t tare_port_release(tare_port port);

/**
 * Sends up to `most` frames that `write` writes in place, in the port's own rooms: no copy, one call of
 * `write` a frame. *taken says how many there was room for.
 */
int32_t tare_port_transmit_by(tare_port port, uint32_t most, tare_write write, void *context, uint32_t *taken);

/**
 * Shows up to `most` frames that have arrived to `read`, in place: no copy, one call of `read` a frame. Never
 * waits. *seen says how many there were.
 */
int32_t tare_port_receive_by(tare_port port, uint32_t most, tare_read read, void *context, uint32_t *seen);

/**
 * Waits until there is something to receive (TARE_RECEIVE) or room to send (TARE_TRANSMIT), for at most
 * `patience_ns`. *ready says whether there is.
 */
int32_t tare_port_wait(tare_port port, uint32_t what, uint64_t patience_ns, bool *ready);

/**
 * Sees to it that all that was taken has left, for at most `patience_ns`. *left says whether it has.
 */
int32_t tare_port_flush(tare_port port, uint64_t patience_ns, bool *left);

/**
 * Says what was counted since the port was opened. This may ask the kernel.
 */
int32_t tare_port_count(tare_port port, struct tare_port_counters *counters);

/**
 * Compiles rules, one a line: "drop from 198.18.0.0/24 proto udp dport 53", "default pass". The rules are the
 * program's, which closes them. TARE_ERROR_RULES names the line that is wrong, and says what would be right.
 */
int32_t tare_rules_compile(const char *rules, tare_rules *compiled);

/**
 * Closes rules. A thread that is using them finishes its call.
 */
int32_t tare_rules_close(tare_rules rules);

/**
 * Decides for one frame of `length` bytes, from its Ethernet header on.
 */
int32_t tare_rules_judge(tare_rules rules, const uint8_t *frame, size_t length, tare_decision *decision);

/**
 * Decides for all frames of a burst: cheaper than one by one. `decisions` has room for burst->count of them,
 * or is NULL; *passed says how many frames pass.
 */
int32_t tare_rules_judge_burst(tare_rules rules,
                               const struct tare_burst *burst,
                               tare_decision *decisions,
                               uint32_t *passed);

/**
 * Says what a decision of these rules means.
 */
int32_t tare_rules_explain(tare_rules rules, tare_decision decision, struct tare_reason *reason);

/**
 * Writes the defaults.
 */
int32_t tare_run_options_init(struct tare_run_options *options);

/**
 * Starts what a plan says, a TOML text as `tare run` takes it. `options` may be NULL for the defaults. The run
 * is the program's, which closes it. TARE_ERROR_PLAN names the line and key that is wrong; ports and files are
 * opened later, and what is wrong with them is told by tare_run_result. Signals stay the program's.
 */
int32_t tare_run_start(const char *plan, const struct tare_run_options *options, tare_run *run);

/**
 * Ends a run early. Returns at once; the result is complete, and says that the run was interrupted.
 */
int32_t tare_run_stop(tare_run run);

/**
 * Waits until the run is over, for at most `patience_ns`. *over says whether it is.
 */
int32_t tare_run_wait(tare_run run, uint64_t patience_ns, bool *over);

/**
 * Waits for the next interval of the run, for at most `patience_ns`. *row is it as JSON, as in `intervals` of
 * the result; NULL if none came in that time, or the run has none left. The text is the library's, and stays
 * until the next call for this run, whichever thread makes it.
 */
int32_t tare_run_row(tare_run run, uint64_t patience_ns, const char **row);

/**
 * Waits until the run is over. *result is its result as JSON, as result.json has it; the text is the
 * library's, and stays until the run is closed. *status is the exit status that `tare run` would have: 0
 * good, 3 a threshold failed, 4 INVALID, 5 the target could not be reached, 130 interrupted. TARE_ERROR_PLAN
 * if a port or file cannot be had, TARE_ERROR_UNREACHABLE if nobody answers: nothing was sent then, and
 * there is no result.
 */
int32_t tare_run_result(tare_run run, const char **result, int32_t *status);

/**
 * Closes a run. One that is not over is stopped first, and waited for. Its texts are gone then.
 */
int32_t tare_run_close(tare_run run);

/**
 * Writes a signature over the first bytes of a frame's payload, and keeps the checksum of UDP, TCP or ICMP
 * right. TARE_ERROR_NO_ROOM, with the frame as it was, if there is no payload of 18 bytes.
 */
int32_t tare_signature_write(const struct tare_signature *signature, uint8_t *frame, size_t length);

/**
 * Looks for a signature in a frame. *found says whether there is one; without, *signature stays as it is.
 */
int32_t tare_signature_read(const uint8_t *frame, size_t length, struct tare_signature *signature, bool *found);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TARE_H */
