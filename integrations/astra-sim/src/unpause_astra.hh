// A fabric of unpause as the network of ASTRA-sim: one object for the fabric, one for each rank.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <string>

#include "astra-sim/common/AstraNetworkAPI.hh"

namespace unpause {

// What the command line says of the network.
struct AstraOptions {
  std::string scenario;    // A scenario file: topology, switches, one scheme. Needs no traffic.
  std::string scheme;      // Which of its schemes; empty if it has one.
  bool until_ack = false;  // A receive is done when its sender has the last ACK, not when the last byte has arrived.
  std::string results;     // Where results are written; empty for nowhere.

  // Takes --unpause-scenario, --unpause-scheme, --unpause-completion (delivered or ack) and --unpause-results out of the
  // arguments and leaves the others, each as NAME=VALUE or NAME VALUE. Throws std::invalid_argument.
  static AstraOptions take(int& argc, char** argv);
};

// The fabric that all ranks share. Ranks are hosts in the order of the topology.
class AstraFabric {
 public:
  // Throws std::runtime_error with what is wrong, and where in the scenario.
  explicit AstraFabric(const AstraOptions& options);
  ~AstraFabric();
  AstraFabric(const AstraFabric&) = delete;
  AstraFabric& operator=(const AstraFabric&) = delete;

  uint32_t ranks() const { return ranks_; }

  // Runs until every rank has said that it has finished, or nothing is left to do; true for the first. Throws
  // std::runtime_error if a message could not be sent.
  bool run();

  // What is left where run() has answered false: messages under way, and receives that wait.
  std::string unfinished() const;

  // Ends the run, and writes results if that was asked for. Throws std::runtime_error.
  void close();

 private:
  friend class AstraNetwork;
  // Keeps what went wrong for run(): an exception must not cross the library on its way there.
  void note(uint32_t status);
  void finished(int rank);

  uint64_t network_ = 0;
  uint32_t ranks_ = 0;
  std::string results_;
  std::string failure_;
  std::set<int> finished_;
};

// The network as a rank of ASTRA-sim sees it.
class AstraNetwork : public AstraSim::AstraNetworkAPI {
 public:
  AstraNetwork(std::shared_ptr<AstraFabric> fabric, int rank);

  int sim_send(void* buffer, uint64_t count, int type, int dst, int tag, AstraSim::sim_request* request,
               void (*msg_handler)(void* fun_arg), void* fun_arg) override;
  int sim_recv(void* buffer, uint64_t count, int type, int src, int tag, AstraSim::sim_request* request,
               void (*msg_handler)(void* fun_arg), void* fun_arg) override;
  void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void* fun_arg), void* fun_arg) override;
  AstraSim::timespec_t sim_get_time() override;
  void sim_notify_finished() override;

 private:
  std::shared_ptr<AstraFabric> fabric_;
};

}  // namespace unpause
