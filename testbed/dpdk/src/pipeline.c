#include "pipeline.h"

#include <string.h>

#include "device.h"

/* Instructions between two looks at what has come out, and looks before a packet counts as lost. A packet
 * takes 40 to 120, and the pipeline's 16 threads have turns. */
#define INSTRUCTIONS 512
#define MOST_LOOKS 1000

static struct pipeline pipeline;
static struct program program;
static struct rte_ring *in, *out, *events;

void pipeline_open(const char *files) {
    char copy[512], *entries = copy;
    if (strlen(files) >= sizeof copy)
        give_up("`%.40s…` is too long", files);
    strcpy(copy, files);
    const char *spec = strsep(&entries, ":");
    if (entries == NULL)
        give_up("--pipeline is PROGRAM:ENTRIES");
    if (program_load(&program, spec, entries) < 0 || device_pipeline(&pipeline, spec, &program) < 0)
        give_up("the pipeline is not there");
    in = device_ring_in(&pipeline, 0, "in");
    out = device_ring_out(&pipeline, PORT_LINK, "link");
    events = device_ring_out(&pipeline, PORT_EVENTS, "events");
    if (in == NULL || out == NULL || events == NULL || device_build(&pipeline, spec, entries, &program) < 0)
        give_up("the pipeline has no ports");
}

/* Sends a packet through to one of the ports out. */
static struct rte_mbuf *through(struct rte_mbuf *frame, const struct passage *passage,
                                struct rte_ring *ring) {
    void *result = NULL;
    uint8_t *header = (uint8_t *)rte_pktmbuf_prepend(frame, PASSAGE_SIZE);
    if (header == NULL || rte_ring_sp_enqueue(in, frame) != 0)
        give_up("a packet does not fit into the pipeline");
    passage_write(passage, header);
    for (int look = 0; rte_ring_sc_dequeue(ring, &result) != 0; look++) {
        if (look == MOST_LOOKS)
            give_up("a packet has been lost in the pipeline");
        rte_swx_pipeline_run(pipeline.swx, INSTRUCTIONS);
        rte_swx_pipeline_flush(pipeline.swx);
    }
    return result;
}

struct rte_mbuf *pipeline_pass(struct rte_mbuf *frame, const struct passage *passage) {
    return through(frame, passage, out);
}

void pipeline_tell(const struct passage *passage) {
    struct rte_mbuf *frame = frame_blank();
    frame_pfc((uint8_t *)rte_pktmbuf_append(frame, FRAME_LEAST), passage->priority, 0, 0);
    rte_pktmbuf_free(through(frame, passage, events));
}
