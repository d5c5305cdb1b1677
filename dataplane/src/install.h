/* From a program that has been checked to a pipeline of SWX. */
#ifndef INSTALL_H
#define INSTALL_H

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

#include "entries.h"
#include "spec.h"

struct pipeline {
    struct rte_swx_pipeline *swx;
    struct rte_swx_ctl_pipeline *control;
};

/* A pipeline without ports and instructions running yet: give it ports, then pipeline_start. */
int pipeline_create(struct pipeline *pipeline, const char *name, const struct spec *spec,
                    struct mistake *mistake);

/* Builds it and writes the entries. Mistakes with a line are of the entries. */
int pipeline_start(struct pipeline *pipeline, const struct spec *spec, const struct entries *entries,
                   struct mistake *mistake);

void pipeline_free(struct pipeline *pipeline);

#endif
