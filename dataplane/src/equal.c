#include "equal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "sequence.h"

#define BATCH 1024
/* Instructions between two looks at what has come out; a packet takes 40 to 120. */
#define INSTRUCTIONS 8192
/* Mismatches that are printed. */
#define SHOWN 5

struct trial {
    struct pipeline pipeline;
    struct rte_mempool *pool;
    struct rte_ring *in, *link, *events;
    struct record batch[BATCH];
    uint64_t first; /* Number of the batch's first record. */
    uint64_t packets, marks, event_packets, mismatches;
    uint64_t nanoseconds; /* In the pipeline. */
};

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t frame_of(const struct record *record, uint64_t number, uint8_t *out) {
    if (record->passage.event == EVENT_DEPARTURE) {
        /* Every other packet that cannot be marked is none of IPv4. */
        if (record->ecn == 0 && number % 2 == 0)
            frame_other(out, record->bytes, number);
        else
            frame_data(out, record->bytes, record->ecn, number);
        return record->bytes;
    }
    frame_pfc(out, record->passage.priority, record->passage.event == EVENT_PAUSE ? 0xFFFF : 0, number);
    return FRAME_LEAST;
}

static int send_batch(struct trial *trial, unsigned count) {
    struct rte_mbuf *packets[BATCH];
    if (rte_pktmbuf_alloc_bulk(trial->pool, packets, count) != 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        uint8_t *data = rte_pktmbuf_mtod(packets[i], uint8_t *);
        passage_write(&trial->batch[i].passage, data);
        uint32_t bytes = frame_of(&trial->batch[i], trial->first + i, data + PASSAGE_SIZE);
        packets[i]->data_len = (uint16_t)(bytes + PASSAGE_SIZE);
        packets[i]->pkt_len = packets[i]->data_len;
    }
    return rte_ring_sp_enqueue_bulk(trial->in, (void **)packets, count, NULL) == count ? 0 : -1;
}

static void mismatch(struct trial *trial, const struct record *record, const char *what, uint64_t number) {
    if (trial->mismatches++ < SHOWN)
        printf("  packet %" PRIu64 ", port %u, priority %u, at %" PRIu64 " ns: %s\n", number,
               record->passage.port, record->passage.priority, record->passage.dequeued_ns, what);
}

/* Compares a packet with what the record says must come out. */
static void compare(struct trial *trial, const struct rte_mbuf *packet, const struct record *record,
                    uint64_t number) {
    uint8_t expected[16384], *frame = rte_pktmbuf_mtod(packet, uint8_t *);
    uint32_t bytes = packet->pkt_len;
    uint32_t sent = frame_of(record, number, expected);
    if (bytes != sent)
        return mismatch(trial, record, "its length has changed", number);
    if (frame_number(frame, bytes) != number)
        return mismatch(trial, record, "another packet came in its place", number);
    if (frame_ecn(expected, bytes) >= 0) {
        int ecn = frame_ecn(frame, bytes);
        trial->marks += ecn == 3 && record->ecn != 3;
        if (ecn != (record->mark ? 3 : record->ecn))
            return mismatch(trial, record,
                            record->mark ? "the state machine marks it, the program does not"
                                         : "the program marks it, the state machine does not",
                            number);
        if (!frame_checksum_is_right(frame))
            return mismatch(trial, record, "the checksum of its header is wrong", number);
        /* ECN and checksum aside, nothing may have changed. */
        expected[ETHERNET_SIZE + 1] = (uint8_t)((expected[ETHERNET_SIZE + 1] & ~3) | ecn);
        memcpy(expected + ETHERNET_SIZE + 10, frame + ETHERNET_SIZE + 10, 2);
    }
    if (memcmp(frame, expected, bytes) != 0)
        mismatch(trial, record, "its content has changed", number);
}

/* Takes what has come out at one ring and compares it with the batch's records from `*next` on. */
static unsigned take(struct trial *trial, struct rte_ring *ring, int of_events, unsigned *next,
                     unsigned count) {
    struct rte_mbuf *packets[BATCH];
    unsigned taken = rte_ring_sc_dequeue_burst(ring, (void **)packets, BATCH, NULL);
    for (unsigned i = 0; i < taken; i++) {
        while (*next < count && (trial->batch[*next].passage.event != EVENT_DEPARTURE) != of_events)
            *next += 1;
        if (*next < count)
            compare(trial, packets[i], &trial->batch[*next], trial->first + *next);
        else
            trial->mismatches++;
        *next += 1;
    }
    if (taken > 0)
        rte_pktmbuf_free_bulk(packets, taken);
    return taken;
}

/* Takes a batch through the pipeline; -1 if packets are lost in it. */
static int run_batch(struct trial *trial, unsigned count) {
    unsigned out = 0, next_link = 0, next_event = 0;
    for (unsigned idle = 0; out < count && idle < 64; idle++) { /* A batch takes less than 64. */
        uint64_t start = clock_ns();
        rte_swx_pipeline_run(trial->pipeline.swx, INSTRUCTIONS);
        rte_swx_pipeline_flush(trial->pipeline.swx);
        trial->nanoseconds += clock_ns() - start;
        unsigned taken = take(trial, trial->link, 0, &next_link, count) +
                         take(trial, trial->events, 1, &next_event, count);
        out += taken;
        if (taken > 0)
            idle = 0;
    }
    for (unsigned i = 0; i < count; i++) {
        trial->packets += trial->batch[i].passage.event == EVENT_DEPARTURE;
        trial->event_packets += trial->batch[i].passage.event != EVENT_DEPARTURE;
    }
    trial->first += count;
    return out == count ? 0 : -1;
}

static int prepare(struct trial *trial, const char *spec, const char *entries,
                   const struct program *program) {
    if (device_start(NULL) < 0 || device_pipeline(&trial->pipeline, spec, program) < 0)
        return -1;
    trial->pool = device_pool(4 * BATCH - 1);
    trial->in = device_ring_in(&trial->pipeline, 0, "in");
    trial->link = device_ring_out(&trial->pipeline, PORT_LINK, "link");
    trial->events = device_ring_out(&trial->pipeline, PORT_EVENTS, "events");
    if (trial->pool == NULL || trial->in == NULL || trial->link == NULL || trial->events == NULL)
        return -1;
    return device_build(&trial->pipeline, spec, entries, program);
}

static int run_sequence(struct trial *trial, const char *path) {
    struct mistake mistake;
    uint64_t records;
    int more = 1;
    FILE *file = sequence_open(path, &records, &mistake);
    while (file != NULL && more > 0) {
        unsigned count = 0;
        while (count < BATCH && (more = sequence_next(file, (unsigned)(trial->first + count + 1),
                                                      &trial->batch[count], &mistake)) > 0)
            count++;
        if (more < 0)
            break;
        if (count > 0 && (send_batch(trial, count) < 0 || run_batch(trial, count) < 0)) {
            more = fail(&mistake, (unsigned)trial->first, "packets have been lost in the pipeline");
            break;
        }
    }
    if (file != NULL && more == 0 && trial->first != records)
        more =
            fail(&mistake, 0, "%" PRIu64 " records; it says that there are %" PRIu64, trial->first, records);
    if (file != NULL)
        fclose(file);
    if (file == NULL || more < 0) {
        complain(path, &mistake);
        return -1;
    }
    return 0;
}

int equal(const char *spec, const char *entries, const char *sequence) {
    struct trial *trial = calloc(1, sizeof *trial);
    struct program program = {0};
    int result = 2;
    if (trial != NULL && program_load(&program, spec, entries) == 0) {
        if (prepare(trial, spec, entries, &program) == 0 && run_sequence(trial, sequence) == 0) {
            printf("%" PRIu64 " packets, %" PRIu64 " PAUSE and resume, %" PRIu64 " marks, %" PRIu64
                   " mismatches, %.2f M packets/s\n",
                   trial->packets, trial->event_packets, trial->marks, trial->mismatches,
                   (double)(trial->packets + trial->event_packets) * 1e3 / (double)(trial->nanoseconds + 1));
            result = trial->mismatches == 0 ? 0 : 1;
        }
        pipeline_free(&trial->pipeline);
    }
    program_free(&program);
    free(trial);
    return result;
}
