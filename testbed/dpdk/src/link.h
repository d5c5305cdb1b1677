/* A link end: a device of DPDK, the speed and the delay of the cable behind it, both kept by the clock.
 *
 * A frame is given to the device when its last bit leaves. It arrives at the other end's program `delay`
 * later: later than it was found in the device, or, with time stamps, than the time at which it was due to
 * leave, which a trailer of 8 bytes behind the packet says, as capture hardware appends one. Everything
 * happens at its own time: a program that looks late does what was due in order, as of when it was due. How
 * late is counted; with time stamps it changes nothing until it is longer than the delay. */
#ifndef LINK_H
#define LINK_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "unpause.h"

/* Frame check sequence, and preamble and gap. */
#define FCS_BYTES 4
#define FRAMING_BYTES 20
/* Bytes of a frame as buffers count them, and as the wire does. */
#define FRAME_BYTES(mbuf) ((mbuf)->pkt_len + FCS_BYTES)
#define WIRE_BYTES(mbuf) (FRAME_BYTES(mbuf) + FRAMING_BYTES)

/* A frame that waits: since when, or until when; which port it came by; what waited already when it came. */
struct waiting {
    struct rte_mbuf *frame;
    uint64_t time_ps, found_bytes;
    uint32_t found_packets, from;
    bool ect; /* it may be marked */
};

/* Frames in order of time; a power of two. */
#define FIFO_SIZE 16384
struct fifo {
    struct waiting at[FIFO_SIZE];
    uint32_t head, tail;
    uint64_t bytes;
};

bool fifo_put(struct fifo *fifo, struct rte_mbuf *frame, uint64_t time_ps);
/* The one put last. */
static inline struct waiting *fifo_last(struct fifo *fifo) {
    return &fifo->at[(fifo->tail - 1) % FIFO_SIZE];
}
struct waiting fifo_take(struct fifo *fifo);
static inline uint32_t fifo_count(const struct fifo *fifo) {
    return fifo->tail - fifo->head;
}
/* When the first frame is due; never if there is none. */
static inline uint64_t fifo_due(const struct fifo *fifo) {
    return fifo_count(fifo) > 0 ? fifo->at[fifo->head % FIFO_SIZE].time_ps : UNPAUSE_NEVER;
}

struct link {
    uint16_t device;
    uint64_t rate_bps, delay_ps;
    struct fifo arriving;
    struct rte_mbuf *sending;
    uint64_t sent_ps; /* when its last bit leaves; never while the link is idle */
    uint64_t received, transmitted, refused;
};

struct link *link_open(const char *interface, uint64_t rate_bps, uint64_t delay_ps);
/* Finds what has come, at the time of the clock. */
void link_poll(struct link *link, uint64_t now_ps);
/* Starts to send a frame on an idle link. */
void link_send(struct link *link, uint64_t time_ps, struct rte_mbuf *frame);
/* The last bit has left. */
void link_sent(struct link *link);

/* Whether frames have time stamps; the same at both ends. */
extern bool link_stamps;

/* DPDK without huge pages, on interfaces of this network namespace. */
void testbed_start(const char *name, char *const *interfaces, unsigned count);
struct rte_mbuf *frame_make(const unpause_frame *frame);
struct rte_mbuf *frame_blank(void);

/* Says "ready", reads the instant 0 as nanoseconds of CLOCK_MONOTONIC from the standard input, and makes this
 * thread a real-time one. */
void clock_start(void);
uint64_t clock_ps(void);
/* Until the clock says so, but no longer than what one looks at devices for. */
void clock_sleep(uint64_t due_ps);
/* Counts how late something was done, that is to say at the clock's now. */
void clock_late(uint64_t due_ps);
/* Counts a frame that was found after it should have arrived. */
void clock_overdue(void);
/* `{"late_p50_us": …}` of what was counted. */
void clock_report(FILE *out);

/* What has happened, kept in memory and written at the end as CSV. */
void log_open(const char *file);
void log_event(uint64_t time_ps, const char *event, uint32_t id, uint64_t a, uint64_t b, uint64_t c);
void log_write(void);

/* Ends the program with a message. */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
void must(unpause_status status, const char *what);

/* NAME[:PARAMETER=VALUE…], VALUE in the parameter's unit or the name of a choice. */
void config_read(unpause_config *config, unpause_kind kind, const char *text);
uint64_t number(const char *text, const char *what);

#endif
