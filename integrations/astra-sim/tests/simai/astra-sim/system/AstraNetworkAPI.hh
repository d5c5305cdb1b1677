// Stands in for the header of SimAI in tests: the names and types by which it calls its network, and nothing else.
#pragma once

#include <cstdint>

namespace AstraSim {

enum time_type_e { SE, MS, US, NS, FS };

struct timespec_t {
  time_type_e time_res;
  double time_val;
};

struct ncclFlowTag {
  int current_flow_id = -1;
  int tag_id = -1;
};

struct sim_request {
  ncclFlowTag flowTag;
};

struct sim_comm;
class AstraMemoryAPI;

class AstraNetworkAPI {
 public:
  explicit AstraNetworkAPI(int of_rank) : rank(of_rank) {}
  virtual ~AstraNetworkAPI() = default;

  virtual int sim_comm_size(sim_comm comm, int* size) = 0;
  virtual int sim_comm_get_rank() { return rank; }
  virtual int sim_finish() = 0;
  virtual double sim_time_resolution() = 0;
  virtual int sim_init(AstraMemoryAPI* memory) = 0;
  virtual timespec_t sim_get_time() = 0;
  virtual void sim_schedule(timespec_t delta, void (*)(void*), void*) = 0;
  virtual int sim_send(void*, uint64_t, int, int, int, sim_request*, void (*)(void*), void*) = 0;
  virtual int sim_recv(void*, uint64_t, int, int, int, sim_request*, void (*)(void*), void*) = 0;

 protected:
  int rank;
};

struct sim_comm {};

}  // namespace AstraSim
