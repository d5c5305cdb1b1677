#ifndef RUN_H
#define RUN_H

#include "queue.h"

/* Where packets come from and go to: "pcap:FILE", "source:FILE", "ethdev:DEVICE". */
struct run_settings {
    const char *in, *out;
    struct queue_settings queue;
    unsigned seconds; /* Of an Ethernet device. */
};

/* Forwards packets through a queue and a program. Returns an exit code. */
int run(const char *spec, const char *entries, const struct run_settings *settings);

/* Writes the packets of a recorded sequence, each behind its traffic manager's header, into a pcap file that
 * `source:FILE` takes. Returns an exit code. */
int frames(const char *sequence, const char *pcap, unsigned count);

#endif
