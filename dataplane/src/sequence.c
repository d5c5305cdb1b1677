/* A file is 16 bytes of MAGIC, the number of records in eight, and records of 44 bytes, all little-endian. */
#include "sequence.h"

#include <errno.h>
#include <string.h>

#define MAGIC "unpause-seq-1\n\0\0"
#define RECORD_SIZE 44
/* What fits into a buffer beside the traffic manager's header. */
#define FRAME_MOST 9200

static uint64_t get(const uint8_t *in, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | in[i];
    return value;
}

FILE *sequence_open(const char *path, uint64_t *records, struct mistake *mistake) {
    uint8_t head[24];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail(mistake, 0, "%s", strerror(errno));
        return NULL;
    }
    if (fread(head, sizeof head, 1, file) != 1 || memcmp(head, MAGIC, 16) != 0) {
        fail(mistake, 0, "this is no recorded sequence; `unpause dataplane record` writes one");
        fclose(file);
        return NULL;
    }
    *records = get(head + 16, 8);
    return file;
}

int sequence_next(FILE *file, unsigned line, struct record *record, struct mistake *mistake) {
    uint8_t in[RECORD_SIZE];
    size_t read = fread(in, 1, sizeof in, file);
    if (read == 0)
        return 0;
    if (read < sizeof in)
        return fail(mistake, line, "the file ends within a record");
    record->passage = (struct passage){
        .enqueued_ns = get(in, 8),
        .dequeued_ns = get(in + 8, 8),
        .found_bytes = (uint32_t)get(in + 16, 4),
        .found_packets = (uint32_t)get(in + 20, 4),
        .left_bytes = (uint32_t)get(in + 24, 4),
        .left_packets = (uint32_t)get(in + 28, 4),
        .port = (uint16_t)get(in + 32, 2),
        .priority = in[34],
        .event = in[35],
    };
    record->bytes = (uint32_t)get(in + 36, 4);
    record->ecn = in[40];
    record->mark = in[41];
    if (record->passage.priority > 7 || record->passage.port > 127 || record->passage.event > EVENT_RESUME ||
        record->ecn > 3 || record->mark > 1)
        return fail(mistake, line, "a record of port %u, priority %u, event %u", record->passage.port,
                    record->passage.priority, record->passage.event);
    if (record->passage.event == EVENT_DEPARTURE &&
        (record->bytes < FRAME_LEAST || record->bytes > FRAME_MOST))
        return fail(mistake, line, "a frame of %u bytes; expected %d to %d", record->bytes, FRAME_LEAST,
                    FRAME_MOST);
    return 1;
}
