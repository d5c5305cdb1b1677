// Stands in for the header of ASTRA-sim in tests. A rank takes part in a ring all-reduce, and calls the network in the order in
// which ASTRA-sim does: all ranks are fired, each sends and then receives, and the handler of a receive goes on with the next
// step. The name of the workload is the bytes of a message.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"

namespace AstraSim {

class Sys;

class Workload {
 public:
  Workload(Sys* sys, uint64_t bytes, int steps) : sys_(sys), bytes_(bytes), left_(steps) {}
  void fire() { go_on(); }

 private:
  static void on_sent(void*) {}
  static void on_received(void* argument);
  void go_on();

  Sys* sys_;
  uint64_t bytes_;
  int left_;
};

class Sys {
 public:
  Sys(int rank, const std::string& workload_configuration, const std::string&, const std::string&,
      Analytical::AnalyticalRemoteMemory*, AstraNetworkAPI* network, const std::vector<int>& dims, const std::vector<int>&,
      double, double, bool)
      : network(network), rank(rank) {
    for (const int size : dims) ranks *= size;
    workload = std::make_unique<Workload>(this, std::stoull(workload_configuration), 2 * (ranks - 1));
    if (rank == 0) zero() = network;
  }

  // Rank 0's network is asked for everybody's time.
  static AstraNetworkAPI*& zero() {
    static AstraNetworkAPI* network = nullptr;
    return network;
  }

  std::unique_ptr<Workload> workload;
  AstraNetworkAPI* network;
  int rank;
  int ranks = 1;
};

inline void Workload::on_received(void* argument) {
  // As ASTRA-sim does with what it computes at an instant.
  auto* it = static_cast<Workload*>(argument);
  it->sys_->network->sim_schedule({NS, 0}, [](void* again) { static_cast<Workload*>(again)->go_on(); }, it);
}

inline void Workload::go_on() {
  if (left_ == 0) {
    const auto now = static_cast<unsigned long long>(Sys::zero()->sim_get_time().time_val);
    std::printf("rank %d done at %llu ns\n", sys_->rank, now);
    sys_->network->sim_notify_finished();
    sys_->network->sim_notify_finished();
    return;
  }
  --left_;
  const int next = (sys_->rank + 1) % sys_->ranks, previous = (sys_->rank + sys_->ranks - 1) % sys_->ranks;
  sys_->network->sim_send(nullptr, bytes_, 0, next, 500000000, nullptr, on_sent, nullptr);
  sys_->network->sim_recv(nullptr, bytes_, 0, previous, 500000000, nullptr, on_received, this);
}

}  // namespace AstraSim
