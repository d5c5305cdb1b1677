/* A program of dataplane/ that data packets and changes of PAUSE go through on their way out. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "frame.h"
#include "link.h"

/* PROGRAM:ENTRIES, two files of `unpause dataplane build`. */
void pipeline_open(const char *files);

/* Sends a packet through; what comes out of it, marked or not. */
struct rte_mbuf *pipeline_pass(struct rte_mbuf *frame, const struct passage *passage);

/* Tells it of a change of PAUSE. */
void pipeline_tell(const struct passage *passage);

#endif
