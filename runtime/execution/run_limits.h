// Checks the number of threads and the time limit for all planning entry points.
#pragma once

#include <optional>

#include "core/status.h"

namespace shardwright {

// Errors: kInvalidInput with the command's flag as `where`.
inline Status check_run_limits(int threads, std::optional<double> time_limit_s) {
  if (threads < 0 || threads > 4096) {
    return invalid_input("threads", "must be between 0 (all cores) and 4096");
  }
  if (time_limit_s && !(*time_limit_s >= 0)) {
    return invalid_input("time_limit", "must be a number of seconds, zero or above");
  }
  return {};
}

}  // namespace shardwright
