// What the command's exit status means.
#pragma once

#include "core/status.h"

namespace shardwright::cli {

enum ExitCode : int {
  kDone = 0,
  kCrashed = 1,  // out of memory and the like
  kBadInput = 2,
  kNoPlan = 3,
  kStoppedByBudget = 4,
  kViolation = 5,
};

constexpr int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
    case ErrorCode::kUnsupported:
      return kBadInput;
    case ErrorCode::kInfeasible:
      return kNoPlan;
    case ErrorCode::kStopped:
      return kStoppedByBudget;
    case ErrorCode::kVerificationFailed:
      return kViolation;
  }
  return kCrashed;
}

}  // namespace shardwright::cli
