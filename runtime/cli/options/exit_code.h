// The exit codes of the command.
#pragma once

#include <array>

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

struct ExitStatus {
  int code;
  const char* meaning;
};

// The text of help and manual page.
inline constexpr std::array<ExitStatus, 5> kExitStatuses{{
    {kDone, "done"},
    {kBadInput, "bad input or usage"},
    {kNoPlan, "no feasible plan (the JSON says why)"},
    {kStoppedByBudget, "stopped by a budget before anything was found"},
    {kViolation, "verification found a violation"},
}};

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
