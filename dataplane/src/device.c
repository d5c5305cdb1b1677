#include "device.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_swx_port_ring.h>
#include <string.h>

#define BURST 32

int device_start(char *const *vdevs) {
    static char program[] = "unpause-swx", *fixed[] = {program, "--no-huge",      "--no-pci",    "-m",
                                                       "512",   "--no-telemetry", "--no-shconf", "-l",
                                                       "0",     "--log-level",    "lib.*:error"};
    char *arguments[64];
    int count = sizeof fixed / sizeof *fixed;
    memcpy(arguments, fixed, sizeof fixed);
    for (; vdevs != NULL && *vdevs != NULL && count + 2 < 64; vdevs++) {
        arguments[count++] = "--vdev";
        arguments[count++] = *vdevs;
    }
    arguments[count] = NULL;
    if (rte_eal_init(count, arguments) >= 0)
        return 0;
    fprintf(stderr, "error: DPDK does not start: %s\n", rte_strerror(rte_errno));
    return -1;
}

struct rte_mempool *device_pool(unsigned count) {
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create("frames", count, 256, 0, RTE_PKTMBUF_HEADROOM + 9344, 0);
    if (pool == NULL)
        fprintf(stderr, "error: no room for %u frames: %s\n", count, rte_strerror(rte_errno));
    return pool;
}

static struct rte_ring *ring(const char *name) {
    struct rte_ring *ring = rte_ring_create(name, RING_SIZE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == NULL)
        fprintf(stderr, "error: no ring `%s`: %s\n", name, rte_strerror(rte_errno));
    return ring;
}

struct rte_ring *device_ring_in(struct pipeline *pipeline, uint32_t port, const char *name) {
    struct rte_swx_port_ring_reader_params params = {.name = name, .burst_size = BURST};
    struct rte_ring *it = ring(name);
    if (it == NULL || rte_swx_pipeline_port_in_config(pipeline->swx, port, "ring", &params) != 0)
        return NULL;
    return it;
}

struct rte_ring *device_ring_out(struct pipeline *pipeline, uint32_t port, const char *name) {
    struct rte_swx_port_ring_writer_params params = {.name = name, .burst_size = BURST};
    struct rte_ring *it = ring(name);
    if (it == NULL || rte_swx_pipeline_port_out_config(pipeline->swx, port, "ring", &params) != 0)
        return NULL;
    return it;
}

int device_pipeline(struct pipeline *pipeline, const char *file, const struct program *program) {
    struct mistake mistake;
    if (pipeline_create(pipeline, "egress", &program->spec, &mistake) == 0)
        return 0;
    complain(file, &mistake);
    return -1;
}

int device_build(struct pipeline *pipeline, const char *file, const char *entries,
                 const struct program *program) {
    struct mistake mistake;
    if (pipeline_start(pipeline, &program->spec, &program->entries, &mistake) == 0)
        return 0;
    complain(mistake.line > 0 && entries != NULL ? entries : file, &mistake);
    return -1;
}
