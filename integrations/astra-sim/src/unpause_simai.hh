// A fabric of unpause as the network of SimAI, whose interface is an older one of ASTRA-sim: one object for each rank.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "astra-sim/system/AstraNetworkAPI.hh"
#include "unpause_fabric.hh"

namespace unpause {

// What all ranks share besides the fabric. SimAI's collectives read from a handler's data which flow has ended: its tag comes
// with the message.
struct SimAiFlows {
  // Of a message: sender, receiver and number. Messages of one number are received in the order in which they were sent.
  using Key = std::pair<std::pair<int, int>, int>;
  std::map<Key, std::deque<AstraSim::ncclFlowTag>> under_way;
};

class SimAiNetwork : public AstraSim::AstraNetworkAPI {
 public:
  // Before each message the sender waits so long. SimAI's ns-3 front end has 6,000 unless AS_SEND_LAT says otherwise
  // (network_frontend/ns3/entry.h).
  static constexpr long long kSendLatencyNs = 6000;

  SimAiNetwork(std::shared_ptr<AstraFabric> fabric, std::shared_ptr<SimAiFlows> flows, int rank,
               long long send_latency_ns = kSendLatencyNs);

  int sim_comm_size(AstraSim::sim_comm comm, int* size) override;
  int sim_finish() override;
  double sim_time_resolution() override;
  int sim_init(AstraSim::AstraMemoryAPI* memory) override;
  AstraSim::timespec_t sim_get_time() override;
  void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void* fun_arg), void* fun_arg) override;
  int sim_send(void* buffer, uint64_t count, int type, int dst, int tag, AstraSim::sim_request* request,
               void (*msg_handler)(void* fun_arg), void* fun_arg) override;
  int sim_recv(void* buffer, uint64_t count, int type, int src, int tag, AstraSim::sim_request* request,
               void (*msg_handler)(void* fun_arg), void* fun_arg) override;

 private:
  std::shared_ptr<AstraFabric> fabric_;
  std::shared_ptr<SimAiFlows> flows_;
  long long send_latency_ps_;
};

}  // namespace unpause
