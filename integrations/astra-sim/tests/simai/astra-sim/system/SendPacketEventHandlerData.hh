// Stands in for the header of SimAI in tests: what a handler is called with.
#pragma once

#include "astra-sim/system/AstraNetworkAPI.hh"

namespace AstraSim {

struct SendPacketEventHandlerData {
  ncclFlowTag flowTag;
  int rank = 0;
};

}  // namespace AstraSim
