/* A ring all-reduce: each rank sends a block to the next one, waits for that of the one before, and so on, 2 (N - 1) times.
 * usage: ring SCENARIO [RESULTS] */
#include <stdio.h>
#include <stdlib.h>

#include "unpause_network.h"

#ifndef BLOCK
#define BLOCK 125000 /* bytes */
#endif

typedef struct {
  uint64_t network;
  uint32_t me, ranks, step;
} rank;

static void must(unpause_network_status status) {
  if (status == UNPAUSE_NETWORK_STATUS_OK) return;
  fprintf(stderr, "error: %s\n", unpause_network_error());
  exit(1);
}

static void step(void *argument) {
  rank *it = argument;
  if (it->step == 2 * (it->ranks - 1)) {
    uint64_t ps;
    must(unpause_network_time(it->network, &ps));
    printf("rank %u: %llu.%03llu ns\n", it->me, (unsigned long long)(ps / 1000), (unsigned long long)(ps % 1000));
    return;
  }
  ++it->step;
  must(unpause_network_send(it->network, it->me, (it->me + 1) % it->ranks, 0, BLOCK, NULL, NULL));
  must(unpause_network_receive(it->network, it->me, (it->me + it->ranks - 1) % it->ranks, 0, BLOCK, step, it));
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s SCENARIO [RESULTS]\n", argv[0]);
    return 2;
  }
  uint64_t network, messages, receives;
  uint32_t ranks;
  must(unpause_network_open(argv[1], NULL, &network));
  must(unpause_network_ranks(network, &ranks));
  rank *all = calloc(ranks, sizeof *all);
  if (all == NULL) return 1;
  for (uint32_t me = 0; me < ranks; ++me) {
    all[me] = (rank){.network = network, .me = me, .ranks = ranks};
    step(&all[me]);
  }
  must(unpause_network_run(network));
  must(unpause_network_pending(network, &messages, &receives));
  if (receives > 0) fprintf(stderr, "%llu receives wait\n", (unsigned long long)receives);
  must(unpause_network_close(network, argc > 2 ? argv[2] : NULL));
  free(all);
  return 0;
}
