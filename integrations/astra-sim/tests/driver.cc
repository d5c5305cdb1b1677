// Calls the network in the order in which ASTRA-sim does: all ranks are fired, each sends and then receives, and the handler
// of a receive goes on with the next step. Prints what came of it; crates/unpause-network/tests/programs.rs looks at that.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "unpause_astra.hh"

namespace {

struct Rank {
  std::unique_ptr<unpause::AstraNetwork> network;
  int ranks = 0;
  uint64_t bytes = 0;
  int steps = 0;
  int step = 0;
  int sent = 0;
  Rank* zero = nullptr;
};

uint64_t now_ns(Rank& rank) { return static_cast<uint64_t>(rank.zero->network->sim_get_time().time_val); }

void go_on(Rank* rank);

void on_sent(void* argument) { ++static_cast<Rank*>(argument)->sent; }

void on_received(void* argument) {
  // As ASTRA-sim does with what it computes at an instant.
  auto* rank = static_cast<Rank*>(argument);
  rank->network->sim_schedule({AstraSim::NS, 0}, [](void* it) { go_on(static_cast<Rank*>(it)); }, rank);
}

// The next step of a ring all-reduce.
void go_on(Rank* rank) {
  if (rank->step == rank->steps) {
    std::printf("rank %d done at %llu ns\n", rank->network->sim_comm_get_rank(),
                static_cast<unsigned long long>(now_ns(*rank)));
    rank->network->sim_notify_finished();
    rank->network->sim_notify_finished();
    return;
  }
  ++rank->step;
  const int me = rank->network->sim_comm_get_rank();
  const int next = (me + 1) % rank->ranks, previous = (me + rank->ranks - 1) % rank->ranks;
  rank->network->sim_send(nullptr, rank->bytes, 0, next, 500000000, nullptr, on_sent, rank);
  rank->network->sim_recv(nullptr, rank->bytes, 0, previous, 500000000, nullptr, on_received, rank);
}

void ring(std::vector<Rank>& ranks, uint64_t bytes) {
  for (auto& rank : ranks) {
    rank.bytes = bytes;
    rank.steps = 2 * (rank.ranks - 1);
  }
  for (auto& rank : ranks) go_on(&rank);
}

// Several receives of one key, one of them posted when all has come, and a message of more than 2 GiB.
void stream(std::vector<Rank>& ranks) {
  static const uint64_t large = (uint64_t{1} << 31) + 1;
  static auto* all = &ranks;
  ranks[0].network->sim_send(nullptr, 1000, 0, 1, 7, nullptr, on_sent, &ranks[0]);
  ranks[0].network->sim_send(nullptr, large, 0, 1, 7, nullptr, on_sent, &ranks[0]);
  ranks[1].network->sim_recv(nullptr, 600, 0, 0, 7, nullptr, [](void*) { std::puts("first 600"); }, nullptr);
  ranks[1].network->sim_recv(nullptr, large, 0, 0, 7, nullptr, [](void*) {
    std::puts("large");
    auto& me = (*all)[1];
    me.network->sim_recv(nullptr, 400, 0, 0, 7, nullptr, [](void*) {
      std::puts("last 400");
      for (auto& rank : *all) rank.network->sim_notify_finished();
    }, nullptr);
    std::puts("the last is not told while it is asked for");
  }, nullptr);
}

void wrong(std::vector<Rank>& ranks) {
  ranks[0].network->sim_send(nullptr, 10, 0, 99, 7, nullptr, on_sent, &ranks[0]);
}

void lost(std::vector<Rank>& ranks) {
  ranks[1].network->sim_recv(nullptr, 10, 0, 0, 7, nullptr, on_received, &ranks[1]);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = unpause::AstraOptions::take(argc, argv);
  const std::string what = argc > 1 ? argv[1] : "ring";
  auto fabric = std::make_shared<unpause::AstraFabric>(options);
  std::vector<Rank> ranks(fabric->ranks());
  for (size_t number = 0; number < ranks.size(); ++number) {
    ranks[number].network = std::make_unique<unpause::AstraNetwork>(fabric, static_cast<int>(number));
    ranks[number].ranks = static_cast<int>(ranks.size());
    ranks[number].zero = &ranks[0];
  }
  if (what == "ring") ring(ranks, 100000);
  if (what == "stream") stream(ranks);
  if (what == "wrong") wrong(ranks);
  if (what == "lost") lost(ranks);
  if (!fabric->run()) std::printf("%s\n", fabric->unfinished().c_str());
  int sent = 0;
  for (auto& rank : ranks) sent += rank.sent;
  std::printf("%d sends done\n", sent);
  fabric->close();
  return 0;
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  return 0;
}
