// Measures wall time for reports. Only Budget reads a clock for decisions.
#pragma once

#include <chrono>

namespace shardwright {

// Measures the time since its construction.
// Thread safety: a value.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace shardwright
