// ASTRA-sim with a fabric of unpause as its network. The arguments are those of ASTRA-sim's own front ends, but for
// --unpause-... and --logical-dims.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"
#include "unpause_astra.hh"

namespace {

// Values by the name of their option; an option without one is required.
std::map<std::string, std::string> arguments = {
    {"workload-configuration", ""},
    {"system-configuration", ""},
    {"remote-memory-configuration", ""},
    {"comm-group-configuration", "empty"},
    {"logging-configuration", "empty"},
    {"logging-folder", "log"},
    {"logical-dims", "all"},
    {"num-queues-per-dim", "1"},
    {"comm-scale", "1"},
    {"injection-scale", "1"},
    {"rendezvous-protocol", "false"},
};

void read_arguments(int argc, char** argv) {
  for (int at = 1; at < argc; ++at) {
    std::string name = argv[at], value;
    const auto found = name.rfind("--", 0) == 0 ? arguments.find(name.substr(2, name.find('=') - 2)) : arguments.end();
    if (found == arguments.end()) {
      std::string known;
      for (const auto& [option, otherwise] : arguments) known += " --" + option;
      throw std::invalid_argument("there is no argument " + name + "; there are --unpause-..., and" + known);
    }
    if (const auto equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
    } else if (at + 1 < argc) {
      value = argv[++at];
    } else {
      throw std::invalid_argument(name + " needs a value");
    }
    found->second = value;
  }
  for (const auto& [option, value] : arguments) {
    if (value.empty()) throw std::invalid_argument("--" + option + " is missing");
  }
}

template <typename Number>
Number number(const std::string& option, const std::string& text) {
  std::istringstream stream(text);
  Number value;
  if (!(stream >> value) || !stream.eof() || value <= 0) {
    throw std::invalid_argument("--" + option + " is \"" + text + "\": expected a number above zero");
  }
  return value;
}

template <typename Number>
Number number(const std::string& option) {
  return number<Number>(option, arguments[option]);
}

bool yes(const std::string& option) {
  const std::string& text = arguments[option];
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  throw std::invalid_argument("--" + option + " is \"" + text + "\": expected true or false");
}

// Sizes of the logical dimensions, the innermost first; one of all hosts if none are given.
std::vector<int> dimensions(uint32_t hosts) {
  if (arguments["logical-dims"] == "all") return {static_cast<int>(hosts)};
  std::vector<int> sizes;
  std::istringstream list(arguments["logical-dims"]);
  for (std::string size; std::getline(list, size, ',');) sizes.push_back(number<int>("logical-dims", size));
  return sizes;
}

void simulate(const std::shared_ptr<unpause::AstraFabric>& fabric) {
  const auto dims = dimensions(fabric->hosts());
  uint64_t ranks = 1;
  for (const int size : dims) ranks *= static_cast<uint64_t>(size);
  fabric->set_ranks(ranks);
  const std::vector<int> queues(dims.size(), number<int>("num-queues-per-dim"));
  const auto memory = std::make_unique<Analytical::AnalyticalRemoteMemory>(arguments["remote-memory-configuration"]);
  std::vector<std::unique_ptr<unpause::AstraNetwork>> networks;
  std::vector<std::unique_ptr<AstraSim::Sys>> systems;
  for (uint32_t rank = 0; rank < fabric->ranks(); ++rank) {
    networks.push_back(std::make_unique<unpause::AstraNetwork>(fabric, static_cast<int>(rank)));
    systems.push_back(std::make_unique<AstraSim::Sys>(
        static_cast<int>(rank), arguments["workload-configuration"], arguments["comm-group-configuration"],
        arguments["system-configuration"], memory.get(), networks.back().get(), dims, queues,
        number<double>("injection-scale"), number<double>("comm-scale"), yes("rendezvous-protocol")));
  }
  for (auto& system : systems) system->workload->fire();
  const bool finished = fabric->run();
  const std::string unfinished = finished ? "" : fabric->unfinished();
  // Also of a run that did not finish: results show how far it came.
  fabric->close();
  if (!finished) throw std::runtime_error(unfinished);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = unpause::AstraOptions::take(argc, argv);
  read_arguments(argc, argv);
  AstraSim::LoggerFactory::init(arguments["logging-configuration"], arguments["logging-folder"]);
  simulate(std::make_shared<unpause::AstraFabric>(options));
  AstraSim::LoggerFactory::shutdown();
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return EXIT_FAILURE;
}
