// Stands in for the header of ASTRA-sim's memory in tests: there is none.
#pragma once

#include <string>

namespace Analytical {

struct AnalyticalRemoteMemory {
  explicit AnalyticalRemoteMemory(const std::string&) {}
};

}  // namespace Analytical
