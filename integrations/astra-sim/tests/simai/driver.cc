// Calls the network as SimAI does: a flow's number comes to its receiver with the message, and to its sender when it has been
// acknowledged. Prints what came of it; crates/unpause-network/tests/programs.rs looks at that.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "astra-sim/system/RecvPacketEventHadndlerData.hh"
#include "astra-sim/system/SendPacketEventHandlerData.hh"
#include "unpause_simai.hh"

namespace {

using Received = AstraSim::RecvPacketEventHadndlerData;
using Sent = AstraSim::SendPacketEventHandlerData;

std::vector<std::unique_ptr<unpause::SimAiNetwork>> ranks;

long long now_ps() { return static_cast<long long>(ranks[0]->sim_get_time().time_val * 1000 + 0.5); }

void on_sent(void* argument) {
  const std::unique_ptr<Sent> it(static_cast<Sent*>(argument));
  std::printf("rank %d: flow %d acknowledged at %lld ps\n", it->rank, it->flowTag.current_flow_id, now_ps());
}

void on_received(void* argument) {
  const std::unique_ptr<Received> it(static_cast<Received*>(argument));
  std::printf("rank %d: flow %d received at %lld ps\n", it->rank, it->flowTag.current_flow_id, now_ps());
}

void send(int src, int dst, uint64_t bytes, int tag, int flow) {
  // The request is on the stack: it has to be copied.
  AstraSim::sim_request request;
  request.flowTag.current_flow_id = flow;
  request.flowTag.tag_id = tag;
  auto* data = new Sent;
  data->rank = src;
  ranks[src]->sim_send(nullptr, bytes, 0, dst, 99, &request, on_sent, data);
}

void receive(int dst, int src, uint64_t bytes, int tag) {
  AstraSim::sim_request request;
  auto* data = new Received;
  data->rank = dst;
  data->flowTag.tag_id = tag;
  ranks[dst]->sim_recv(nullptr, bytes, 0, src, 99, &request, on_received, data);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = unpause::AstraOptions::take(argc, argv);
  auto fabric = std::make_shared<unpause::AstraFabric>(options);
  auto flows = std::make_shared<unpause::SimAiFlows>();
  for (uint32_t rank = 0; rank < fabric->ranks(); ++rank) {
    ranks.push_back(std::make_unique<unpause::SimAiNetwork>(fabric, flows, static_cast<int>(rank)));
  }
  // Two messages of one tag, received in order; one is there before it is asked for.
  send(0, 1, 9000, 7, 41);
  send(0, 1, 9000, 7, 42);
  receive(1, 0, 9000, 7);
  ranks[1]->sim_schedule({AstraSim::SE, 50000}, [](void*) { receive(1, 0, 9000, 7); }, nullptr);
  ranks[0]->sim_schedule({AstraSim::NS, 50001}, [](void*) { ranks[0]->sim_finish(); }, nullptr);
  int size = 0;
  ranks[0]->sim_comm_size({}, &size);
  if (!fabric->run()) std::printf("%s\n", fabric->unfinished().c_str());
  std::printf("%d ranks, %zu tags left\n", size, flows->under_way.size());
  fabric->close();
  return 0;
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  return 0;
}
