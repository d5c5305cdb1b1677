#include "unpause_simai.hh"

#include <cmath>

#include "astra-sim/system/RecvPacketEventHadndlerData.hh"
#include "astra-sim/system/SendPacketEventHandlerData.hh"

namespace unpause {

namespace {

using Handler = void (*)(void* fun_arg);

// A message that waits to be sent, and then to be acknowledged.
struct Sending {
  AstraFabric* fabric;
  int src, dst;
  uint64_t count;
  AstraSim::ncclFlowTag flow;
  Handler handler;
  void* fun_arg;
};

// A receive that waits.
struct Receiving {
  SimAiFlows* flows;
  SimAiFlows::Key key;
  Handler handler;
  void* fun_arg;
};

uint64_t key(int tag) { return static_cast<uint32_t>(tag); }

void on_sent(void* argument) {
  const std::unique_ptr<Sending> it(static_cast<Sending*>(argument));
  static_cast<AstraSim::SendPacketEventHandlerData*>(it->fun_arg)->flowTag = it->flow;
  it->handler(it->fun_arg);
}

void send(void* argument) {
  auto* it = static_cast<Sending*>(argument);
  it->fabric->send(it->src, it->dst, key(it->flow.tag_id), it->count, on_sent, it);
}

void on_received(void* argument) {
  const std::unique_ptr<Receiving> it(static_cast<Receiving*>(argument));
  auto& flows = it->flows->under_way[it->key];
  if (!flows.empty()) {
    static_cast<AstraSim::RecvPacketEventHadndlerData*>(it->fun_arg)->flowTag = flows.front();
    flows.pop_front();
  }
  if (flows.empty()) it->flows->under_way.erase(it->key);
  it->handler(it->fun_arg);
}

}  // namespace

SimAiNetwork::SimAiNetwork(std::shared_ptr<AstraFabric> fabric, std::shared_ptr<SimAiFlows> flows, int rank,
                           long long send_latency_ns)
    : AstraNetworkAPI(rank),
      fabric_(std::move(fabric)),
      flows_(std::move(flows)),
      send_latency_ps_(send_latency_ns * 1000) {}

int SimAiNetwork::sim_comm_size(AstraSim::sim_comm, int* size) {
  *size = static_cast<int>(fabric_->ranks());
  return 0;
}

int SimAiNetwork::sim_finish() {
  // One rank says so, for all.
  for (uint32_t rank = 0; rank < fabric_->ranks(); ++rank) fabric_->finished(static_cast<int>(rank));
  return 0;
}

double SimAiNetwork::sim_time_resolution() { return 0; }

int SimAiNetwork::sim_init(AstraSim::AstraMemoryAPI*) { return 0; }

AstraSim::timespec_t SimAiNetwork::sim_get_time() {
  return {AstraSim::NS, static_cast<double>(fabric_->now_ns())};
}

void SimAiNetwork::sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void*), void* fun_arg) {
  // All callers mean nanoseconds, whatever the unit says.
  fabric_->schedule(std::llround(delta.time_val * 1000), fun_ptr, fun_arg);
}

int SimAiNetwork::sim_send(void*, uint64_t count, int, int dst, int, AstraSim::sim_request* request,
                           void (*msg_handler)(void*), void* fun_arg) {
  const int src = sim_comm_get_rank();
  const AstraSim::ncclFlowTag& flow = request->flowTag;
  flows_->under_way[{{src, dst}, flow.tag_id}].push_back(flow);
  fabric_->schedule(send_latency_ps_, send,
                    new Sending{fabric_.get(), src, dst, count, flow, msg_handler, fun_arg});
  return 0;
}

int SimAiNetwork::sim_recv(void*, uint64_t count, int, int src, int, AstraSim::sim_request*,
                           void (*msg_handler)(void*), void* fun_arg) {
  const int dst = sim_comm_get_rank();
  const int tag = static_cast<AstraSim::RecvPacketEventHadndlerData*>(fun_arg)->flowTag.tag_id;
  fabric_->receive(dst, src, key(tag), count, on_received,
                   new Receiving{flows_.get(), {{src, dst}, tag}, msg_handler, fun_arg});
  return 0;
}

}  // namespace unpause
