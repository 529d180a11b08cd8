// What all planning entries check and say of their limits alike.
#pragma once

#include <optional>

#include "core/status.h"
#include "search/budget.h"

namespace shardwright {

// "" for a search that ran to its end.
inline const char* name_of(StopReason reason) {
  switch (reason) {
    case StopReason::kFinished:
      return "";
    case StopReason::kWorkLimit:
      return "work_limit";
    case StopReason::kTimeLimit:
      return "time_limit";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "";
}

// Errors: kInvalidInput with the option of the command.
inline Status check_run_limits(int threads, std::optional<double> time_limit_s) {
  if (threads < 0 || threads > 4096) {
    return invalid_input("--threads", "must be between 0 (all cores) and 4096");
  }
  if (time_limit_s && !(*time_limit_s >= 0)) {
    return invalid_input("--time-limit", "must be a number of seconds, zero or above");
  }
  return {};
}

}  // namespace shardwright
