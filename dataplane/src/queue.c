#include "queue.h"

#include <stdlib.h>

/* Preamble, start of frame, check sequence and gap: what a frame takes on the wire beside itself. */
#define FRAMING 24

struct waiting {
    void *frame;
    uint32_t bytes, found_bytes, found_packets;
    uint64_t since;
};

struct queue {
    struct queue_settings settings;
    uint64_t free_at;      /* The link has sent the packet before. */
    uint64_t paused_until; /* 0: it is not paused. */
    uint64_t resumed_at;
    uint32_t first, count, bytes;
    struct waiting waiting[]; /* A ring of settings.packets. */
};

struct queue *queue_create(const struct queue_settings *settings) {
    struct queue *queue = calloc(1, sizeof *queue + settings->packets * sizeof *queue->waiting);
    if (queue != NULL)
        queue->settings = *settings;
    return queue;
}

void queue_free(struct queue *queue) {
    free(queue);
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t duration_ns(const struct queue *queue, uint64_t bits) {
    return (bits * 1000000000u + queue->settings.bits_per_second - 1) / queue->settings.bits_per_second;
}

uint64_t queue_due(const struct queue *queue) {
    if (queue->paused_until > 0)
        return queue->paused_until;
    if (queue->count == 0)
        return UINT64_MAX;
    return later(later(queue->free_at, queue->resumed_at), queue->waiting[queue->first].since);
}

static struct happening event(const struct queue *queue, uint64_t now, enum event what) {
    return (struct happening){
        .passage = {.enqueued_ns = now,
                    .dequeued_ns = now,
                    .found_bytes = queue->bytes,
                    .found_packets = queue->count,
                    .left_bytes = queue->bytes,
                    .left_packets = queue->count,
                    .port = queue->settings.port,
                    .priority = queue->settings.priority,
                    .event = (uint8_t)what},
    };
}

int queue_next(struct queue *queue, uint64_t now, struct happening *out) {
    uint64_t due = queue_due(queue);
    if (due > now)
        return 0;
    if (queue->paused_until > 0) {
        queue->paused_until = 0;
        queue->resumed_at = due;
        *out = event(queue, due, EVENT_RESUME);
        return 1;
    }
    const struct waiting head = queue->waiting[queue->first];
    queue->first = (queue->first + 1) % queue->settings.packets;
    queue->count--;
    queue->bytes -= head.bytes;
    queue->free_at = due + duration_ns(queue, 8u * ((uint64_t)head.bytes + FRAMING));
    *out = event(queue, due, EVENT_DEPARTURE);
    out->passage.enqueued_ns = head.since;
    out->passage.found_bytes = head.found_bytes;
    out->passage.found_packets = head.found_packets;
    out->frame = head.frame;
    out->bytes = head.bytes;
    return 1;
}

int queue_arrive(struct queue *queue, uint64_t now, void *frame, uint32_t bytes) {
    if (queue->count == queue->settings.packets)
        return -1;
    queue->waiting[(queue->first + queue->count) % queue->settings.packets] =
        (struct waiting){.frame = frame,
                         .bytes = bytes,
                         .found_bytes = queue->bytes,
                         .found_packets = queue->count,
                         .since = now};
    queue->count++;
    queue->bytes += bytes;
    return 0;
}

int queue_pause(struct queue *queue, uint64_t now, uint16_t quanta, struct happening *out) {
    int was_paused = queue->paused_until > 0;
    if (quanta > 0) {
        queue->paused_until = now + duration_ns(queue, 512u * (uint64_t)quanta);
        *out = event(queue, now, EVENT_PAUSE);
        return !was_paused;
    }
    queue->paused_until = 0;
    if (was_paused)
        queue->resumed_at = now;
    *out = event(queue, now, EVENT_RESUME);
    return was_paused;
}
