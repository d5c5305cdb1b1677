#include "link.h"

#include <rte_byteorder.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BURST 32
#define MOST_LINKS 16
#define FRAMES 16383

bool link_stamps = true;
static struct rte_mempool *pool;
static unsigned opened;

void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("error: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void must(unpause_status status, const char *what) {
    if (status != UNPAUSE_STATUS_OK)
        give_up("%s: %s", what, unpause_status_text(status));
}

uint64_t number(const char *text, const char *what) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-')
        give_up("%s is `%s`, expected a number", what, text);
    return value;
}

void config_read(unpause_config *config, unpause_kind kind, const char *text) {
    char copy[512], *rest = copy;
    if (strlen(text) >= sizeof copy)
        give_up("`%.40s…` is too long", text);
    strcpy(copy, text);
    const char *name = strsep(&rest, ":");
    unpause_status status = unpause_config_create(config, kind, name);
    if (status != UNPAUSE_STATUS_OK)
        give_up("`%s`: %s", name, unpause_status_text(status));
    for (char *value = strsep(&rest, ":"); value != NULL; value = strsep(&rest, ":")) {
        const char *parameter = strsep(&value, "=");
        if (value == NULL)
            give_up("`%s` of `%s` has no value", parameter, name);
        status = unpause_config_choose(config, parameter, value);
        if (status == UNPAUSE_STATUS_OUT_OF_RANGE)
            status = unpause_config_set(config, parameter, number(value, parameter));
        if (status != UNPAUSE_STATUS_OK)
            give_up("`%s=%s` of `%s`: %s", parameter, value, name, unpause_status_text(status));
    }
}

bool fifo_put(struct fifo *fifo, struct rte_mbuf *frame, uint64_t time_ps) {
    uint32_t count = fifo_count(fifo);
    if (count == FIFO_SIZE)
        return false;
    /* In order of time, even if a frame of another's comes in between. */
    uint32_t at = fifo->tail++;
    for (; at != fifo->head && fifo->at[(at - 1) % FIFO_SIZE].time_ps > time_ps; at--)
        fifo->at[at % FIFO_SIZE] = fifo->at[(at - 1) % FIFO_SIZE];
    fifo->at[at % FIFO_SIZE] = (struct waiting){
        .frame = frame, .time_ps = time_ps, .found_bytes = fifo->bytes, .found_packets = count};
    fifo->bytes += FRAME_BYTES(frame);
    return true;
}

struct waiting fifo_take(struct fifo *fifo) {
    struct waiting first = fifo->at[fifo->head++ % FIFO_SIZE];
    fifo->bytes -= FRAME_BYTES(first.frame);
    return first;
}

void testbed_start(const char *name, char *const *interfaces, unsigned count) {
    char cores[64], device[MOST_LINKS][128], program[32];
    char *arguments[16 + 2 * MOST_LINKS];
    int used = 0;
    if (count == 0 || count > MOST_LINKS)
        give_up("%u interfaces, expected 1 to %u", count, MOST_LINKS);
    /* One thread on any core of those that this process may use. */
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    int at = snprintf(cores, sizeof cores, "--lcores=0@(");
    for (int cpu = 0; cpu < CPU_SETSIZE && at < 56; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            at += snprintf(cores + at, sizeof cores - at, "%d,", cpu);
    cores[at - 1] = ')';
    snprintf(program, sizeof program, "%s", name);
    char *fixed[] = {program,       "--no-huge",      "--no-pci",    "-m",
                     "128",         "--no-telemetry", "--no-shconf", cores,
                     "--log-level", "lib.*:error",    "--log-level", "pmd.*:error"};
    for (unsigned i = 0; i < sizeof fixed / sizeof *fixed; i++)
        arguments[used++] = fixed[i];
    for (unsigned i = 0; i < count; i++) {
        snprintf(device[i], sizeof device[i],
                 "net_af_packet%u,iface=%s,framecnt=4096,blocksz=65536,qdisc_bypass=0", i, interfaces[i]);
        arguments[used++] = "--vdev";
        arguments[used++] = device[i];
    }
    arguments[used] = NULL;
    if (rte_eal_init(used, arguments) < 0)
        give_up("DPDK does not start: %s", rte_strerror(rte_errno));
    pool = rte_pktmbuf_pool_create("frames", FRAMES, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (pool == NULL)
        give_up("no room for %u frames: %s", FRAMES, rte_strerror(rte_errno));
}

struct link *link_open(const char *interface, uint64_t rate_bps, uint64_t delay_ps) {
    char name[32];
    struct link *link = calloc(1, sizeof *link);
    struct rte_eth_conf conf = {0};
    snprintf(name, sizeof name, "net_af_packet%u", opened++);
    if (link == NULL || rte_eth_dev_get_port_by_name(name, &link->device) != 0)
        give_up("no device for `%s`", interface);
    if (rte_eth_dev_configure(link->device, 1, 1, &conf) != 0 ||
        rte_eth_rx_queue_setup(link->device, 0, 1024, SOCKET_ID_ANY, NULL, pool) != 0 ||
        rte_eth_tx_queue_setup(link->device, 0, 1024, SOCKET_ID_ANY, NULL) != 0 ||
        rte_eth_promiscuous_enable(link->device) != 0 || rte_eth_dev_start(link->device) != 0)
        give_up("the device of `%s` does not start: %s", interface, rte_strerror(rte_errno));
    link->rate_bps = rate_bps;
    link->delay_ps = delay_ps;
    link->sent_ps = UNPAUSE_NEVER;
    return link;
}

/* When a frame that is found now has arrived. */
static uint64_t arrival(const struct link *link, struct rte_mbuf *frame, uint64_t now_ps) {
    uint64_t left;
    if (!link_stamps || frame->pkt_len < sizeof left || frame->nb_segs != 1)
        return now_ps + link->delay_ps;
    memcpy(&left, rte_pktmbuf_mtod_offset(frame, uint8_t *, frame->pkt_len - sizeof left), sizeof left);
    left = rte_be_to_cpu_64(left);
    /* Nobody sends before its time, or is later than that: the frame is not of this testbed. */
    if (left > now_ps || now_ps - left > UNPAUSE_MS(1000))
        return now_ps + link->delay_ps;
    rte_pktmbuf_trim(frame, sizeof left);
    uint64_t due = left + link->delay_ps;
    if (due >= now_ps)
        return due;
    clock_overdue();
    return now_ps;
}

void link_poll(struct link *link, uint64_t now_ps) {
    struct rte_mbuf *frames[BURST];
    uint16_t count;
    do {
        count = rte_eth_rx_burst(link->device, 0, frames, BURST);
        for (uint16_t i = 0; i < count; i++) {
            link->received++;
            uint64_t due = arrival(link, frames[i], now_ps);
            if (!fifo_put(&link->arriving, frames[i], due)) {
                link->refused++;
                rte_pktmbuf_free(frames[i]);
            }
        }
    } while (count == BURST);
}

void link_send(struct link *link, uint64_t time_ps, struct rte_mbuf *frame) {
    link->sending = frame;
    link->sent_ps = time_ps + (uint64_t)WIRE_BYTES(frame) * UINT64_C(8000000000000) / link->rate_bps;
}

void link_sent(struct link *link) {
    clock_late(link->sent_ps);
    link->transmitted++;
    if (link_stamps) {
        uint64_t left = rte_cpu_to_be_64(link->sent_ps);
        char *trailer = rte_pktmbuf_append(link->sending, sizeof left);
        if (trailer == NULL)
            give_up("a frame has no room for its time stamp");
        memcpy(trailer, &left, sizeof left);
    }
    if (rte_eth_tx_burst(link->device, 0, &link->sending, 1) != 1) {
        link->refused++;
        rte_pktmbuf_free(link->sending);
    }
    link->sending = NULL;
    link->sent_ps = UNPAUSE_NEVER;
}

struct rte_mbuf *frame_blank(void) {
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    if (mbuf == NULL)
        give_up("no frame is free");
    return mbuf;
}

struct rte_mbuf *frame_make(const unpause_frame *frame) {
    struct rte_mbuf *mbuf = frame_blank();
    uint8_t *bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
    size_t length;
    must(unpause_frame_build(frame, bytes, rte_pktmbuf_tailroom(mbuf), &length), "frame");
    mbuf->data_len = (uint16_t)length;
    mbuf->pkt_len = (uint32_t)length;
    return mbuf;
}
