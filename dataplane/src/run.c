/* Packets from a file or a device, through a queue of ours and the pipeline, to a file or a device. */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap.h>
#include <rte_ethdev.h>
#include <rte_swx_port_ethdev.h>
#include <rte_swx_port_source_sink.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "sequence.h"

#define BURST 32
#define INSTRUCTIONS 8192
/* SWX's `source` port reads all of its file before it begins. */
#define SOURCE_MOST 4096
#define POOL (4 * SOURCE_MOST - 1)

struct forwarder {
    const struct run_settings *settings;
    struct pipeline pipeline;
    struct rte_mempool *pool;
    struct rte_ring *ring; /* Into the pipeline. */
    struct queue *queue;
    int tells_pause; /* The program wants to know of PAUSE. */
    uint64_t received, no_room, malformed, departed, events;
};

static const char *after(const char *text, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* A device's name: what stands before the first comma of `net_af_packet0,iface=eth1`. */
static void device_name(const char *device, char name[64]) {
    size_t length = strcspn(device, ",");
    snprintf(name, 64, "%.*s", (int)(length < 63 ? length : 63), device);
}

static int start_device(const char *device, struct rte_mempool *pool, uint16_t *id) {
    struct rte_eth_conf conf = {0};
    char name[64];
    int error;
    device_name(device, name);
    if ((error = rte_eth_dev_get_port_by_name(name, id)) == 0 && rte_eth_dev_is_valid_port(*id) &&
        (error = rte_eth_dev_configure(*id, 1, 1, &conf)) == 0 &&
        (error = rte_eth_rx_queue_setup(*id, 0, 512, 0, NULL, pool)) == 0 &&
        (error = rte_eth_tx_queue_setup(*id, 0, 512, 0, NULL)) == 0 &&
        (error = rte_eth_dev_start(*id)) == 0) {
        rte_eth_promiscuous_enable(*id);
        return 0;
    }
    fprintf(stderr, "error: device `%s` does not start: %s\n", name, strerror(-error));
    return -1;
}

static int open_out(struct forwarder *it, const char *device_in) {
    struct rte_swx_pipeline *swx = it->pipeline.swx;
    const char *out = it->settings->out, *file = after(out, "pcap:"), *device = after(out, "ethdev:");
    /* Events leave for nowhere. */
    struct rte_swx_port_sink_params nowhere = {.file_name = NULL}, sink = {.file_name = file};
    int error = rte_swx_pipeline_port_out_config(swx, PORT_EVENTS, "sink", &nowhere);
    if (error == 0 && file != NULL)
        error = rte_swx_pipeline_port_out_config(swx, PORT_LINK, "sink", &sink);
    else if (error == 0 && device != NULL) {
        char name[64];
        uint16_t id;
        struct rte_swx_port_ethdev_writer_params params = {.dev_name = name, .burst_size = BURST};
        device_name(device, name);
        if ((device_in == NULL || strcmp(device_in, device) != 0) && start_device(device, it->pool, &id) < 0)
            return -1;
        error = rte_swx_pipeline_port_out_config(swx, PORT_LINK, "ethdev", &params);
    } else if (error == 0)
        error = -EINVAL;
    if (error != 0)
        fprintf(stderr, "error: cannot send to `%s`: %s\n", out, strerror(-error));
    return error;
}

/* Puts what has happened at the queue in front of the pipeline, as a packet behind its header. */
static void enter(struct forwarder *it, struct happening *what) {
    struct rte_mbuf *packet = what->frame;
    if (packet == NULL) {
        if (!it->tells_pause)
            return;
        packet = rte_pktmbuf_alloc(it->pool);
        uint8_t *frame = packet == NULL ? NULL : (uint8_t *)rte_pktmbuf_append(packet, FRAME_LEAST);
        if (frame == NULL)
            return;
        frame_pfc(frame, what->passage.priority, what->passage.event == EVENT_PAUSE ? 0xFFFF : 0, it->events);
        it->events++;
    } else
        it->departed++;
    char *header = rte_pktmbuf_prepend(packet, PASSAGE_SIZE);
    if (header == NULL) {
        rte_pktmbuf_free(packet);
        it->malformed++;
        return;
    }
    passage_write(&what->passage, (uint8_t *)header);
    while (rte_ring_sp_enqueue(it->ring, packet) != 0)
        rte_swx_pipeline_run(it->pipeline.swx, INSTRUCTIONS);
}

static void advance(struct forwarder *it, uint64_t now) {
    struct happening what;
    while (queue_next(it->queue, now, &what))
        enter(it, &what);
}

static void arrive(struct forwarder *it, uint64_t now, struct rte_mbuf *packet) {
    const uint8_t *frame = rte_pktmbuf_mtod(packet, const uint8_t *);
    struct happening what;
    int quanta[8];
    advance(it, now);
    it->received++;
    if (frame_read_pfc(frame, packet->pkt_len, quanta)) {
        int mine = quanta[it->settings->queue.priority];
        if (mine >= 0 && queue_pause(it->queue, now, (uint16_t)mine, &what))
            enter(it, &what);
        rte_pktmbuf_free(packet);
        return;
    }
    /* SWX extracts headers without asking whether the packet has them. */
    uint32_t least = packet->pkt_len >= ETHERNET_SIZE && frame[12] == 0x08 && frame[13] == 0x00
                         ? ETHERNET_SIZE + IPV4_SIZE
                         : ETHERNET_SIZE;
    if (packet->pkt_len < least || packet->nb_segs != 1) {
        it->malformed++;
        rte_pktmbuf_free(packet);
    } else if (queue_arrive(it->queue, now, packet, packet->pkt_len) < 0) {
        it->no_room++;
        rte_pktmbuf_free(packet);
    }
}

/* Until all that has been put into the pipeline has come out of it. */
static void drain(struct forwarder *it) {
    while (rte_ring_count(it->ring) > 0)
        rte_swx_pipeline_run(it->pipeline.swx, INSTRUCTIONS);
    for (int i = 0; i < 64; i++)
        rte_swx_pipeline_run(it->pipeline.swx, INSTRUCTIONS);
    rte_swx_pipeline_flush(it->pipeline.swx);
}

/* In the time of the file's own stamps. */
static int forward_file(struct forwarder *it, const char *file) {
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
    struct pcap_pkthdr *stamp;
    const uint8_t *data;
    uint64_t now = 0;
    int more;
    if (pcap == NULL) {
        fprintf(stderr, "error: %s\n", error);
        return -1;
    }
    while ((more = pcap_next_ex(pcap, &stamp, &data)) == 1) {
        uint64_t at = (uint64_t)stamp->ts.tv_sec * 1000000000u + (uint64_t)stamp->ts.tv_usec;
        struct rte_mbuf *packet = rte_pktmbuf_alloc(it->pool);
        uint8_t *room = packet == NULL || stamp->caplen > UINT16_MAX
                            ? NULL
                            : (uint8_t *)rte_pktmbuf_append(packet, (uint16_t)stamp->caplen);
        now = at > now ? at : now; /* Captures of several cores are a little out of order. */
        if (room == NULL) {
            rte_pktmbuf_free(packet);
            it->malformed++;
            continue;
        }
        memcpy(room, data, stamp->caplen);
        arrive(it, now, packet);
        if (rte_ring_count(it->ring) > RING_SIZE / 2)
            drain(it);
    }
    if (more == PCAP_ERROR)
        fprintf(stderr, "error: %s: %s\n", file, pcap_geterr(pcap));
    pcap_close(pcap);
    for (uint64_t due; (due = queue_due(it->queue)) != UINT64_MAX;) {
        advance(it, due);
        drain(it);
    }
    drain(it);
    return more == PCAP_ERROR ? -1 : 0;
}

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* In real time. */
static void forward_device(struct forwarder *it, uint16_t device) {
    uint64_t end = clock_ns() + it->settings->seconds * 1000000000ull;
    for (uint64_t now; (now = clock_ns()) < end;) {
        struct rte_mbuf *packets[BURST];
        unsigned count = rte_eth_rx_burst(device, 0, packets, BURST);
        for (unsigned i = 0; i < count; i++)
            arrive(it, now, packets[i]);
        advance(it, now);
        rte_swx_pipeline_run(it->pipeline.swx, INSTRUCTIONS);
        rte_swx_pipeline_flush(it->pipeline.swx);
    }
    drain(it);
}

static int forward_source(struct forwarder *it) {
    struct rte_swx_port_in_stats stats;
    uint64_t before = UINT64_MAX;
    for (;;) {
        for (int i = 0; i < 64; i++)
            rte_swx_pipeline_run(it->pipeline.swx, INSTRUCTIONS);
        if (rte_swx_ctl_pipeline_port_in_stats_read(it->pipeline.swx, 0, &stats) != 0)
            return -1;
        if (stats.n_pkts == before)
            break;
        before = stats.n_pkts;
    }
    rte_swx_pipeline_flush(it->pipeline.swx);
    it->received = it->departed = stats.n_pkts;
    return 0;
}

static int open_in(struct forwarder *it, uint16_t *device) {
    const char *in = it->settings->in, *source = after(in, "source:"), *name = after(in, "ethdev:");
    if (source != NULL) {
        struct rte_swx_port_source_params params = {
            .pool = it->pool, .file_name = source, .n_loops = 1, .n_pkts_max = SOURCE_MOST};
        if (rte_swx_pipeline_port_in_config(it->pipeline.swx, 0, "source", &params) == 0)
            return 0;
        fprintf(stderr, "error: SWX reads no packets from `%s`\n", source);
        return -1;
    }
    it->ring = device_ring_in(&it->pipeline, 0, "in");
    it->queue = queue_create(&it->settings->queue);
    if (it->ring == NULL || it->queue == NULL)
        return -1;
    if (name != NULL)
        return start_device(name, it->pool, device);
    if (after(in, "pcap:") != NULL)
        return 0;
    fprintf(stderr, "error: `%s`; expected pcap:FILE, source:FILE or ethdev:DEVICE\n", in);
    return -1;
}

/* Whether an instruction of the program reads the kind of event in the traffic manager's header. */
static int reads_event(const struct spec *spec) {
    for (unsigned i = 0; i < spec->apply.count; i++)
        for (unsigned j = 0; j < spec->apply.instructions[i].operand_count; j++)
            if (strcmp(spec->apply.instructions[i].operands[j], "h.tm.event") == 0)
                return 1;
    return 0;
}

static int forward(struct forwarder *it, const char *spec, const char *entries,
                   const struct program *program) {
    const char *in = it->settings->in, *device_in = after(in, "ethdev:");
    const char *device_out = after(it->settings->out, "ethdev:");
    char *vdevs[3] = {NULL, NULL, NULL};
    uint16_t device = 0;
    unsigned count = 0;
    int result = 0;
    it->tells_pause = reads_event(&program->spec);
    if (device_in != NULL)
        vdevs[count++] = (char *)device_in;
    if (device_out != NULL && (device_in == NULL || strcmp(device_in, device_out) != 0))
        vdevs[count++] = (char *)device_out;
    if (device_start(vdevs) < 0 || (it->pool = device_pool(POOL)) == NULL ||
        device_pipeline(&it->pipeline, spec, program) < 0 || open_in(it, &device) < 0 ||
        open_out(it, device_in) != 0 || device_build(&it->pipeline, spec, entries, program) < 0)
        return -1;
    if (device_in != NULL)
        forward_device(it, device);
    else if (after(in, "source:") != NULL)
        result = forward_source(it);
    else
        result = forward_file(it, after(in, "pcap:"));
    printf("%" PRIu64 " packets received, %" PRIu64 " without room, %" PRIu64 " malformed, %" PRIu64
           " forwarded, %" PRIu64 " PAUSE and resume\n",
           it->received, it->no_room, it->malformed, it->departed, it->events);
    return result;
}

int run(const char *spec, const char *entries, const struct run_settings *settings) {
    struct forwarder it = {.settings = settings};
    struct program program = {0};
    int result = program_load(&program, spec, entries);
    if (result == 0)
        result = forward(&it, spec, entries, &program);
    /* Closes the sink's file. */
    pipeline_free(&it.pipeline);
    queue_free(it.queue);
    program_free(&program);
    return result == 0 ? 0 : 2;
}

int frames(const char *sequence, const char *path, unsigned count) {
    static uint8_t frame[PASSAGE_SIZE + 16384];
    struct mistake mistake;
    struct record record;
    uint64_t records;
    int more = 1;
    FILE *file = sequence_open(sequence, &records, &mistake);
    pcap_t *link = pcap_open_dead_with_tstamp_precision(DLT_USER0, 65535, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *out = file == NULL || link == NULL ? NULL : pcap_dump_open(link, path);
    for (unsigned i = 0; out != NULL && i < count; i++) {
        if ((more = sequence_next(file, i + 1, &record, &mistake)) <= 0)
            break;
        const struct passage *passage = &record.passage;
        uint32_t bytes = passage->event == EVENT_DEPARTURE ? record.bytes : FRAME_LEAST;
        struct pcap_pkthdr stamp = {.caplen = bytes + PASSAGE_SIZE, .len = bytes + PASSAGE_SIZE};
        stamp.ts.tv_sec = (time_t)(passage->dequeued_ns / 1000000000u);
        stamp.ts.tv_usec = (suseconds_t)(passage->dequeued_ns % 1000000000u);
        passage_write(passage, frame);
        if (passage->event == EVENT_DEPARTURE)
            frame_data(frame + PASSAGE_SIZE, bytes, record.ecn, i);
        else
            frame_pfc(frame + PASSAGE_SIZE, passage->priority, passage->event == EVENT_PAUSE ? 0xFFFF : 0, i);
        pcap_dump((uint8_t *)out, &stamp, frame);
    }
    if (file == NULL || more < 0)
        complain(sequence, &mistake);
    else if (out == NULL)
        fprintf(stderr, "error: cannot write %s: %s\n", path,
                link == NULL ? "no memory left" : pcap_geterr(link));
    int done = out != NULL && more >= 0;
    if (out != NULL)
        pcap_dump_close(out);
    if (link != NULL)
        pcap_close(link);
    if (file != NULL)
        fclose(file);
    return done ? 0 : 2;
}
