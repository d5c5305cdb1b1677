#include "unpause_astra.hh"

#include <cmath>

namespace unpause {

namespace {

// Picoseconds of a time of ASTRA-sim; half a picosecond is rounded up.
long long picoseconds(const AstraSim::timespec_t& time) {
  const long double value = time.time_val;
  switch (time.time_res) {
    case AstraSim::SE: return std::llround(value * 1e12L);
    case AstraSim::MS: return std::llround(value * 1e9L);
    case AstraSim::US: return std::llround(value * 1e6L);
    case AstraSim::NS: return std::llround(value * 1e3L);
    case AstraSim::FS: return std::llround(value * 1e-3L);
  }
  return -1;
}

uint64_t key(int tag) { return static_cast<uint32_t>(tag); }

}  // namespace

AstraNetwork::AstraNetwork(std::shared_ptr<AstraFabric> fabric, int rank)
    : AstraNetworkAPI(rank), fabric_(std::move(fabric)) {}

int AstraNetwork::sim_send(void*, uint64_t count, int, int dst, int tag, AstraSim::sim_request*,
                           void (*msg_handler)(void*), void* fun_arg) {
  fabric_->send(sim_comm_get_rank(), dst, key(tag), count, msg_handler, fun_arg);
  return 0;
}

int AstraNetwork::sim_recv(void*, uint64_t count, int, int src, int tag, AstraSim::sim_request*,
                           void (*msg_handler)(void*), void* fun_arg) {
  fabric_->receive(sim_comm_get_rank(), src, key(tag), count, msg_handler, fun_arg);
  return 0;
}

void AstraNetwork::sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void*), void* fun_arg) {
  fabric_->schedule(picoseconds(delta), fun_ptr, fun_arg);
}

AstraSim::timespec_t AstraNetwork::sim_get_time() { return {AstraSim::NS, fabric_->now_ns()}; }

void AstraNetwork::sim_notify_finished() { fabric_->finished(sim_comm_get_rank()); }

}  // namespace unpause
