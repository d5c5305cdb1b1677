#include "unpause_fabric.hh"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "unpause_network.h"

namespace unpause {

namespace {

// A message of no bytes takes its time on the wire, too: it counts as one byte, at both ends.
uint64_t bytes(uint64_t count) { return std::max<uint64_t>(count, 1); }

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
  must(unpause_network_ranks(network_, &hosts_));
  ranks_ = hosts_;
}

AstraFabric::~AstraFabric() {
  if (network_ != 0) (void)unpause_network_close(network_, nullptr);
}

void AstraFabric::set_ranks(uint64_t ranks) {
  if (ranks == 0 || ranks > hosts_) {
    throw std::invalid_argument(std::to_string(ranks) + " ranks are asked for: the fabric has " +
                                std::to_string(hosts_) + " hosts");
  }
  ranks_ = static_cast<uint32_t>(ranks);
}

AstraFabric::Call* AstraFabric::keep(void (*handler)(void* fun_arg), void* fun_arg) {
  calls_.push_front({this, handler, fun_arg, {}});
  calls_.front().self = calls_.begin();
  return &calls_.front();
}

void AstraFabric::make(void* argument) {
  const Call call = *static_cast<Call*>(argument);
  call.fabric->calls_.erase(call.self);
  try {
    call.handler(call.fun_arg);
  } catch (const std::exception& error) {
    call.fabric->fail(error.what());
  } catch (...) {
    call.fabric->fail("a handler has thrown what is no std::exception");
  }
}

void AstraFabric::note(uint32_t status) {
  if (status != UNPAUSE_NETWORK_STATUS_OK) fail(unpause_network_error());
}

void AstraFabric::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
  (void)unpause_network_stop(network_);
}

void AstraFabric::finished(int rank) {
  // Ranks may say so more than once.
  finished_.insert(rank);
}

bool AstraFabric::run() {
  // What was fired before may have failed.
  if (failure_.empty()) must(unpause_network_run(network_));
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

void AstraFabric::send(int src, int dst, uint64_t tag, uint64_t count, void (*handler)(void*), void* fun_arg) {
  note(unpause_network_send(network_, static_cast<uint32_t>(src), static_cast<uint32_t>(dst), tag, bytes(count), make,
                            keep(handler, fun_arg)));
}

void AstraFabric::receive(int dst, int src, uint64_t tag, uint64_t count, void (*handler)(void*), void* fun_arg) {
  note(unpause_network_receive(network_, static_cast<uint32_t>(dst), static_cast<uint32_t>(src), tag, bytes(count), make,
                               keep(handler, fun_arg)));
}

void AstraFabric::schedule(long long delay_ps, void (*handler)(void*), void* fun_arg) {
  if (delay_ps < 0) return fail("a delay below zero cannot be scheduled");
  note(unpause_network_schedule(network_, static_cast<uint64_t>(delay_ps), make, keep(handler, fun_arg)));
}

long double AstraFabric::now_ns() {
  uint64_t ps = 0;
  note(unpause_network_time(network_, &ps));
  return ps / 1000.0L;
}

}  // namespace unpause
