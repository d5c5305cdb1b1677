/* A fabric of unpause as a network that a program drives: messages, timers, results.
 * Made by cbindgen of crates/unpause-network; docs/driving.md says how to use it. */

#ifndef UNPAUSE_NETWORK_H
#define UNPAUSE_NETWORK_H

#include <stdint.h>

// The result of a call. If it is not `UNPAUSE_NETWORK_STATUS_OK`, nothing has changed, except after
// `UNPAUSE_NETWORK_STATUS_PANIC`; `unpause_network_error` says it in words.
typedef enum {
  // Done.
  UNPAUSE_NETWORK_STATUS_OK,
  // A pointer is null.
  UNPAUSE_NETWORK_STATUS_NULL_POINTER,
  // There is no such network on this thread: it was never opened, it was closed, or another thread has it.
  UNPAUSE_NETWORK_STATUS_NO_NETWORK,
  // The scenario cannot be read, or not be driven.
  UNPAUSE_NETWORK_STATUS_SCENARIO,
  // There is no such rank.
  UNPAUSE_NETWORK_STATUS_UNKNOWN_RANK,
  // The message cannot be sent.
  UNPAUSE_NETWORK_STATUS_REFUSED,
  // A value is out of range.
  UNPAUSE_NETWORK_STATUS_OUT_OF_RANGE,
  // A callback cannot do that.
  UNPAUSE_NETWORK_STATUS_IN_CALLBACK,
  // Results cannot be written.
  UNPAUSE_NETWORK_STATUS_NOT_WRITTEN,
  // A fault of the library; the network has to be closed.
  UNPAUSE_NETWORK_STATUS_PANIC,
} unpause_network_status;

// When a receive is done.
typedef enum {
  // When the last byte has arrived.
  UNPAUSE_NETWORK_COMPLETION_DELIVERED,
  // When the sender has the acknowledgement of the last byte.
  UNPAUSE_NETWORK_COMPLETION_ACK,
} unpause_network_completion;

// How a network is opened; all zeros is what a null pointer means, but for `priority`.
typedef struct {
  // Which of the scenario's schemes; null if it has one.
  const char *scheme;
  // Instead of the scenario's duration, with its unit ("10ms"); null to leave it.
  const char *duration;
  // Priority of messages; -1 for the default, 3.
  int32_t priority;
  // When a receive is done: an `unpause_network_completion`.
  uint32_t completion;
} unpause_network_options;

// A callback; null for none.
typedef void (*unpause_network_callback)(void *argument);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens a network from a scenario file: its topology, its switches and one of its schemes; traffic that it has continues
// beside the messages. Null options are the default ones.
unpause_network_status unpause_network_open(const char *scenario,
                                            const unpause_network_options *options,
                                            uint64_t *network);

// How many hosts there are: ranks are numbers from 0 on, in the order of the topology.
unpause_network_status unpause_network_ranks(uint64_t network, uint32_t *ranks);

// Sends a message now. `callback`, which may be null, is called with `argument` when the sender has the acknowledgement of
// all of it.
unpause_network_status unpause_network_send(uint64_t network,
                                            uint32_t src,
                                            uint32_t dst,
                                            uint64_t tag,
                                            uint64_t bytes,
                                            unpause_network_callback callback,
                                            void *argument);

// Calls `callback` when this many more bytes of that tag have come from `src` to `dst`: the bytes of one tag between two ranks
// are a stream, of which receives take theirs in the order in which they were posted, whatever the sizes of messages. Of
// bytes that are there already, it is called from `unpause_network_run`, at the same time.
unpause_network_status unpause_network_receive(uint64_t network,
                                               uint32_t dst,
                                               uint32_t src,
                                               uint64_t tag,
                                               uint64_t bytes,
                                               unpause_network_callback callback,
                                               void *argument);

// Calls `callback` after `delay_ps` picoseconds, from `unpause_network_run` even if that is zero. Calls of one instant come in
// the order in which they were asked for.
unpause_network_status unpause_network_schedule(uint64_t network,
                                                uint64_t delay_ps,
                                                unpause_network_callback callback,
                                                void *argument);

// Picoseconds since the start.
unpause_network_status unpause_network_time(uint64_t network, uint64_t *ps);

// Runs until nothing is left to wait for, the scenario's duration is over, or a callback has called
// `unpause_network_stop`; calls callbacks meanwhile, which may send, receive and schedule.
unpause_network_status unpause_network_run(uint64_t network);

// The same, but no further than `ps` picoseconds after the start, that instant included.
unpause_network_status unpause_network_run_until(uint64_t network, uint64_t ps);

// Has `unpause_network_run` return when the callback that calls this does; it can be called again.
unpause_network_status unpause_network_stop(uint64_t network);

// How many messages are under way, and how many receives wait: of a run that has come to its end, both should be zero.
unpause_network_status unpause_network_pending(uint64_t network,
                                               uint64_t *messages,
                                               uint64_t *receives);

// Closes a network, which is none afterwards. Writes its results into a directory, as `unpause run` does, unless that is null. A
// callback cannot do so: it calls `unpause_network_stop`.
unpause_network_status unpause_network_close(uint64_t network,
                                             const char *directory);

// In words why the last call on this thread failed that did; empty if none has. It stays until the next one that fails.
const char *unpause_network_error(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* UNPAUSE_NETWORK_H */
