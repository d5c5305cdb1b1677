// Stands in for the header of ASTRA-sim in tests: the names and types by which it calls its network, and nothing else.
#pragma once

#include <cstdint>

namespace AstraSim {

enum time_type_e { SE = 0, MS, US, NS, FS };

struct timespec_t {
  time_type_e time_res;
  long double time_val;
};

struct sim_request;

struct AstraNetworkAPI {
  explicit AstraNetworkAPI(int of_rank) : rank(of_rank) {}
  virtual ~AstraNetworkAPI() = default;

  virtual int sim_send(void*, uint64_t, int, int, int, sim_request*, void (*)(void*), void*) = 0;
  virtual int sim_recv(void*, uint64_t, int, int, int, sim_request*, void (*)(void*), void*) = 0;
  virtual void sim_schedule(timespec_t, void (*)(void*), void*) = 0;
  virtual timespec_t sim_get_time() = 0;
  virtual int sim_comm_get_rank() { return rank; }
  virtual int sim_comm_set_rank(int to) { return rank = to; }
  virtual double get_BW_at_dimension(int) { return -1; }
  virtual void sim_notify_finished() {}

  int rank;
};

}  // namespace AstraSim
