// A fabric of unpause for all ranks of a program that is driven by handlers: ASTRA-sim, and SimAI's older variant of it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string>

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

  uint32_t hosts() const { return hosts_; }

  // How many ranks there are: all hosts, unless set_ranks() has been told that only the first so many are ranks. That
  // throws std::invalid_argument if there are fewer hosts, or none are asked for.
  uint32_t ranks() const { return ranks_; }
  void set_ranks(uint64_t ranks);

  // Runs until nothing is left to do: every handler has been called, but those of receives for which nothing comes. True if
  // every rank has said that it has finished. Throws std::runtime_error if a message could not be sent, or with what a
  // handler has thrown.
  bool run();

  // What is left where run() has answered false: messages under way, and receives that wait.
  std::string unfinished() const;

  // Ends the run, and writes results if that was asked for. Throws std::runtime_error.
  void close();

  // What the networks of ranks do; what goes wrong is told by run(), since they are called by handlers, and an exception must not
  // cross the library.
  void send(int src, int dst, uint64_t tag, uint64_t count, void (*handler)(void* fun_arg), void* fun_arg);
  void receive(int dst, int src, uint64_t tag, uint64_t count, void (*handler)(void* fun_arg), void* fun_arg);
  void schedule(long long delay_ps, void (*handler)(void* fun_arg), void* fun_arg);
  long double now_ns();
  void finished(int rank);
  void fail(const std::string& why);

 private:
  // A handler that the library will call.
  struct Call {
    AstraFabric* fabric;
    void (*handler)(void* fun_arg);
    void* fun_arg;
    std::list<Call>::iterator self;
  };
  Call* keep(void (*handler)(void* fun_arg), void* fun_arg);
  static void make(void* call);

  void note(uint32_t status);

  uint64_t network_ = 0;
  uint32_t hosts_ = 0;
  uint32_t ranks_ = 0;
  std::string results_;
  std::string failure_;
  std::set<int> finished_;
  std::list<Call> calls_;
};

}  // namespace unpause
