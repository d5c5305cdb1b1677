/* Recorded sequences: what happened at queues, and what the state machine answered. */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include <stdio.h>

#include "frame.h"
#include "spec.h"

struct record {
    struct passage passage;
    uint32_t bytes; /* Of the frame. */
    uint8_t ecn;    /* Before the switch. */
    uint8_t mark;   /* The state machine marks it. */
};

/* Opens a file of `unpause dataplane record`. Returns NULL with what is wrong. */
FILE *sequence_open(const char *path, uint64_t *records, struct mistake *mistake);

/* The next record: 1, at the end 0, -1 with what is wrong. `line` is its number. */
int sequence_next(FILE *file, unsigned line, struct record *record, struct mistake *mistake);

#endif
