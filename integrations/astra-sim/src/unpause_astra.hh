// A fabric of unpause as the network of ASTRA-sim: one object for the fabric, one for each rank.
#pragma once

#include <memory>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "unpause_fabric.hh"

namespace unpause {

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
