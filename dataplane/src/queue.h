/* The queue in front of a pipeline: DPDK's has none of its own. One priority of one egress port, a FIFO that
 * its link drains and that PFC pauses; it notes for each packet what a traffic manager knows. Reads no clock.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include "frame.h"

struct queue_settings {
    uint64_t bits_per_second; /* Of the link. */
    uint32_t packets;         /* It holds no more. */
    uint16_t port;
    uint8_t priority;
};

/* A packet leaves, or PAUSE changes; `frame` is NULL then. */
struct happening {
    struct passage passage;
    void *frame;
    uint32_t bytes;
};

struct queue;

/* NULL: no memory left. */
struct queue *queue_create(const struct queue_settings *settings);
void queue_free(struct queue *queue);

/* The next thing that happens up to `now`: 1, or 0 if there is none. To be asked before anything arrives. */
int queue_next(struct queue *queue, uint64_t now, struct happening *out);

/* A frame comes. -1: there is no room. */
int queue_arrive(struct queue *queue, uint64_t now, void *frame, uint32_t bytes);

/* A PFC frame: to pause for so many quanta of 512 bit times, or with 0 to go on. 1 if that changes something.
 */
int queue_pause(struct queue *queue, uint64_t now, uint16_t quanta, struct happening *out);

/* When the next thing happens, if nothing arrives; UINT64_MAX: never. */
uint64_t queue_due(const struct queue *queue);

#endif
