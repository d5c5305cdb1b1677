/* DPDK, without huge pages, PCI devices or privileges, and what a pipeline is given of it. */
#ifndef DEVICE_H
#define DEVICE_H

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "install.h"
#include "program.h"

/* Starts DPDK with these virtual devices (NULL-terminated; may be NULL). Returns 0, or -1. */
int device_start(char *const *vdevs);

/* Frames of up to 9200 bytes with room for the traffic manager's header. */
struct rte_mempool *device_pool(unsigned count);

#define RING_SIZE 4096
/* Pipelines have two ports out: the link, and where events go. */
#define PORT_LINK 0
#define PORT_EVENTS 1

/* A port that reads from, or writes to, a new ring. NULL: it fails. */
struct rte_ring *device_ring_in(struct pipeline *pipeline, uint32_t port, const char *name);
struct rte_ring *device_ring_out(struct pipeline *pipeline, uint32_t port, const char *name);

/* Creates, by its text, a pipeline without ports; complains. Returns 0, or -1. */
int device_pipeline(struct pipeline *pipeline, const char *file, const struct program *program);

/* Builds it with the program's entries; complains. Returns 0, or -1. */
int device_build(struct pipeline *pipeline, const char *file, const char *entries,
                 const struct program *program);

#endif
