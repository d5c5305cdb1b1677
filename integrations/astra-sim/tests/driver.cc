// Calls the network as ASTRA-sim does, but for a ring: tests/astra-sim/system/Sys.hh does that behind src/main.cc. Prints what
// came of it; crates/unpause-network/tests/programs.rs looks at that.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "unpause_astra.hh"

namespace {

using Networks = std::vector<std::unique_ptr<unpause::AstraNetwork>>;

int sent = 0;

void on_sent(void*) { ++sent; }

void says(void* what) { std::puts(static_cast<const char*>(what)); }

char* text(const char* what) { return const_cast<char*>(what); }

// Several receives of one key, one of them posted when all has come, and a message of more than 2 GiB.
void stream(Networks& ranks) {
  static const uint64_t large = (uint64_t{1} << 31) + 1;
  static auto* all = &ranks;
  ranks[0]->sim_send(nullptr, 1000, 0, 1, 7, nullptr, on_sent, nullptr);
  ranks[0]->sim_send(nullptr, large, 0, 1, 7, nullptr, on_sent, nullptr);
  ranks[1]->sim_recv(nullptr, 600, 0, 0, 7, nullptr, says, text("first 600"));
  ranks[1]->sim_recv(nullptr, large, 0, 0, 7, nullptr, [](void*) {
    std::puts("large");
    (*all)[1]->sim_recv(nullptr, 400, 0, 0, 7, nullptr, [](void*) {
      std::puts("last 400");
      for (auto& rank : *all) rank->sim_notify_finished();
    }, nullptr);
    std::puts("the last is not told while it is asked for");
  }, nullptr);
}

// A message of no bytes is waited for like others.
void empty(Networks& ranks) {
  ranks[1]->sim_recv(nullptr, 0, 0, 0, 7, nullptr, says, text("nothing has come"));
  ranks[1]->sim_schedule({AstraSim::US, 1}, says, text("1 us"));
  ranks[0]->sim_send(nullptr, 0, 0, 1, 7, nullptr, on_sent, nullptr);
  ranks[1]->sim_schedule({AstraSim::FS, 3e9L}, says, text("3 us"));
}

void throws(Networks& ranks) {
  ranks[1]->sim_recv(nullptr, 10, 0, 0, 7, nullptr, [](void*) { throw std::runtime_error("a handler has failed"); }, nullptr);
  ranks[0]->sim_send(nullptr, 10, 0, 1, 7, nullptr, on_sent, nullptr);
}

void drive(const std::string& what, Networks& ranks) {
  if (what == "stream") stream(ranks);
  if (what == "empty") empty(ranks);
  if (what == "throws") throws(ranks);
  if (what == "wrong") ranks[0]->sim_send(nullptr, 10, 0, 99, 7, nullptr, on_sent, nullptr);
  if (what == "negative") ranks[0]->sim_schedule({AstraSim::NS, -1}, says, text("never"));
  if (what == "lost") ranks[1]->sim_recv(nullptr, 10, 0, 0, 7, nullptr, says, text("never"));
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = unpause::AstraOptions::take(argc, argv);
  auto fabric = std::make_shared<unpause::AstraFabric>(options);
  Networks ranks;
  for (uint32_t rank = 0; rank < fabric->ranks(); ++rank) {
    ranks.push_back(std::make_unique<unpause::AstraNetwork>(fabric, static_cast<int>(rank)));
  }
  drive(argc > 1 ? argv[1] : "", ranks);
  if (!fabric->run()) std::printf("%s\n", fabric->unfinished().c_str());
  std::printf("%d sends done\n", sent);
  fabric->close();
  return 0;
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  return 0;
}
