#include "unpause_astra.hh"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "unpause_network.h"

namespace unpause {

namespace {

// Picoseconds of a time of ASTRA-sim; half a picosecond is rounded up.
uint64_t picoseconds(const AstraSim::timespec_t& time) {
  const long double value = time.time_val;
  switch (time.time_res) {
    case AstraSim::SE: return static_cast<uint64_t>(std::llround(value * 1e12L));
    case AstraSim::MS: return static_cast<uint64_t>(std::llround(value * 1e9L));
    case AstraSim::US: return static_cast<uint64_t>(std::llround(value * 1e6L));
    case AstraSim::NS: return static_cast<uint64_t>(std::llround(value * 1e3L));
    case AstraSim::FS: return static_cast<uint64_t>(std::llround(value * 1e-3L));
  }
  return 0;
}

void must(uint32_t status) {
  if (status != UNPAUSE_NETWORK_STATUS_OK) throw std::runtime_error(unpause_network_error());
}

// The value of option `name` at argv[at], and how many arguments it takes; none of another option.
int value_of(const char* name, int at, int argc, char** argv, std::string& value) {
  const size_t length = std::strlen(name);
  if (std::strncmp(argv[at], name, length) != 0) return 0;
  if (argv[at][length] == '=') {
    value = argv[at] + length + 1;
    return 1;
  }
  if (argv[at][length] != '\0') return 0;
  if (at + 1 >= argc) throw std::invalid_argument(std::string(name) + " needs a value");
  value = argv[at + 1];
  return 2;
}

}  // namespace

AstraOptions AstraOptions::take(int& argc, char** argv) {
  AstraOptions options;
  std::string completion = "delivered";
  int kept = 1;
  for (int at = 1; at < argc;) {
    int taken = value_of("--unpause-scenario", at, argc, argv, options.scenario);
    if (taken == 0) taken = value_of("--unpause-scheme", at, argc, argv, options.scheme);
    if (taken == 0) taken = value_of("--unpause-completion", at, argc, argv, completion);
    if (taken == 0) taken = value_of("--unpause-results", at, argc, argv, options.results);
    if (taken == 0) {
      argv[kept++] = argv[at++];
    } else {
      at += taken;
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  if (completion != "delivered" && completion != "ack") {
    throw std::invalid_argument("--unpause-completion is \"" + completion + "\": delivered and ack are possible");
  }
  options.until_ack = completion == "ack";
  if (options.scenario.empty()) {
    throw std::invalid_argument("--unpause-scenario is missing: a scenario file with the fabric");
  }
  return options;
}

AstraFabric::AstraFabric(const AstraOptions& options) : results_(options.results) {
  unpause_network_options how = {};
  how.scheme = options.scheme.empty() ? nullptr : options.scheme.c_str();
  how.priority = -1;
  how.completion = options.until_ack ? UNPAUSE_NETWORK_COMPLETION_ACK : UNPAUSE_NETWORK_COMPLETION_DELIVERED;
  must(unpause_network_open(options.scenario.c_str(), &how, &network_));
  must(unpause_network_ranks(network_, &ranks_));
}

AstraFabric::~AstraFabric() {
  if (network_ != 0) (void)unpause_network_close(network_, nullptr);
}

void AstraFabric::note(uint32_t status) {
  if (status == UNPAUSE_NETWORK_STATUS_OK) return;
  if (failure_.empty()) failure_ = unpause_network_error();
  (void)unpause_network_stop(network_);
}

void AstraFabric::finished(int rank) {
  // Ranks may say so more than once.
  finished_.insert(rank);
  if (finished_.size() == ranks_) note(unpause_network_stop(network_));
}

bool AstraFabric::run() {
  // What was fired before may have failed, or finished without a message.
  if (failure_.empty() && finished_.size() < ranks_) must(unpause_network_run(network_));
  if (!failure_.empty()) throw std::runtime_error(failure_);
  return finished_.size() == ranks_;
}

std::string AstraFabric::unfinished() const {
  uint64_t messages = 0, receives = 0;
  must(unpause_network_pending(network_, &messages, &receives));
  return std::to_string(ranks_ - finished_.size()) + " of " + std::to_string(ranks_) +
         " ranks have not finished: " + std::to_string(messages) + " messages are under way, " +
         std::to_string(receives) + " receives wait";
}

void AstraFabric::close() {
  const uint64_t network = network_;
  network_ = 0;
  must(unpause_network_close(network, results_.empty() ? nullptr : results_.c_str()));
}

AstraNetwork::AstraNetwork(std::shared_ptr<AstraFabric> fabric, int rank)
    : AstraNetworkAPI(rank), fabric_(std::move(fabric)) {}

int AstraNetwork::sim_send(void*, uint64_t count, int, int dst, int tag, AstraSim::sim_request*,
                           void (*msg_handler)(void*), void* fun_arg) {
  fabric_->note(unpause_network_send(fabric_->network_, static_cast<uint32_t>(sim_comm_get_rank()),
                                     static_cast<uint32_t>(dst), static_cast<uint32_t>(tag), count, msg_handler,
                                     fun_arg));
  return 0;
}

int AstraNetwork::sim_recv(void*, uint64_t count, int, int src, int tag, AstraSim::sim_request*,
                           void (*msg_handler)(void*), void* fun_arg) {
  fabric_->note(unpause_network_receive(fabric_->network_, static_cast<uint32_t>(sim_comm_get_rank()),
                                        static_cast<uint32_t>(src), static_cast<uint32_t>(tag), count, msg_handler,
                                        fun_arg));
  return 0;
}

void AstraNetwork::sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void*), void* fun_arg) {
  fabric_->note(unpause_network_schedule(fabric_->network_, picoseconds(delta), fun_ptr, fun_arg));
}

AstraSim::timespec_t AstraNetwork::sim_get_time() {
  uint64_t ps = 0;
  fabric_->note(unpause_network_time(fabric_->network_, &ps));
  AstraSim::timespec_t time;
  time.time_res = AstraSim::NS;
  time.time_val = ps / 1000.0L;
  return time;
}

void AstraNetwork::sim_notify_finished() { fabric_->finished(sim_comm_get_rank()); }

}  // namespace unpause
