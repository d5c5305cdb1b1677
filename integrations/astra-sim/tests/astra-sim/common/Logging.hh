// Stands in for the header of ASTRA-sim in tests: it logs nothing.
#pragma once

#include <string>

namespace AstraSim {

struct LoggerFactory {
  static void init(const std::string&, const std::string&) {}
  static void shutdown() {}
};

}  // namespace AstraSim
