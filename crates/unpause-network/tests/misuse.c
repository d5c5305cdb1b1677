/* Uses the library wrongly in every way that it has an answer for, and prints what the answers are.
 * usage: misuse SCENARIO; programs.rs compares, under AddressSanitizer where the compiler has it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "unpause_network.h"

static void says(const char *what, unpause_network_status status) {
  printf("%s: %d %s\n", what, (int)status, status == UNPAUSE_NETWORK_STATUS_OK ? "" : unpause_network_error());
}

typedef struct {
  uint64_t network;
  int calls;
} state;

static void closes(void *argument) {
  state *it = argument;
  ++it->calls;
  says("a callback closes", unpause_network_close(it->network, NULL));
  says("a callback runs", unpause_network_run(it->network));
  uint64_t second = 0;
  says("a callback opens", unpause_network_open("nowhere.toml", NULL, &second));
  says("a callback sends to nobody", unpause_network_send(it->network, 0, 99, 0, 1, NULL, NULL));
  says("a callback stops", unpause_network_stop(it->network));
}

static void never(void *argument) { printf("called: %s\n", (const char *)argument); }

static void *elsewhere(void *argument) {
  says("another thread", unpause_network_send(*(uint64_t *)argument, 0, 1, 0, 1, NULL, NULL));
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  uint64_t network = 0, other = 0, count = 0;
  uint32_t ranks = 0;
  says("no file", unpause_network_open("nowhere.toml", NULL, &network));
  says("no room", unpause_network_open(argv[1], NULL, NULL));
  says("no network", unpause_network_send(12345, 0, 1, 0, 1, NULL, NULL));
  says("open", unpause_network_open(argv[1], NULL, &network));
  says("no room for ranks", unpause_network_ranks(network, NULL));
  says("ranks", unpause_network_ranks(network, &ranks));
  says("no sender", unpause_network_send(network, ranks, 0, 0, 1, NULL, NULL));
  says("no receiver", unpause_network_receive(network, UINT32_MAX, 0, 0, 1, never, "no receiver"));
  says("to itself", unpause_network_send(network, 1, 1, 0, 1, NULL, NULL));
  says("no bytes", unpause_network_send(network, 0, 1, 0, 0, NULL, NULL));
  says("too many bytes", unpause_network_send(network, 0, 1, 0, UINT64_MAX, NULL, NULL));
  says("no callback", unpause_network_schedule(network, 0, NULL, NULL));

  pthread_t thread;
  if (pthread_create(&thread, NULL, elsewhere, &network) != 0) return 1;
  pthread_join(thread, NULL);

  state it = {.network = network};
  says("schedule", unpause_network_schedule(network, 0, closes, &it));
  says("send", unpause_network_send(network, 0, 1, 7, 1000, never, "sent"));
  says("receive", unpause_network_receive(network, 1, 0, 7, 1001, never, "received"));
  says("run until", unpause_network_run_until(network, 0));
  printf("calls: %d\n", it.calls);
  says("pending", unpause_network_pending(network, &count, &other));
  printf("messages: %d, receives: %d\n", (int)count, (int)other);
  /* A message and a receive are open, and the last error is still there to read. */
  const char *error = unpause_network_error();
  says("close", unpause_network_close(network, NULL));
  printf("still: %d\n", (int)(strlen(error) > 0));
  says("closed", unpause_network_close(network, NULL));
  says("run when closed", unpause_network_run(network));
  return 0;
}
