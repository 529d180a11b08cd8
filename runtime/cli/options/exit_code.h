// The exit codes of the command.
#pragma once

#include <array>

#include "core/status.h"

namespace shardwright::cli {

enum ExitCode : int {
  kDone = 0,
  kCrashed = 1,  // an internal error
  kBadInput = 2,
  kNoPlan = 3,
  kStoppedByBudget = 4,
  kViolation = 5,
  kNotVerified = 6,
  kMachineLimit = 7,  // memory, threads, disk, other processes
};

struct ExitStatus {
  int code;
  const char* meaning;
};

// The text of help and manual page.
inline constexpr std::array<ExitStatus, 8> kExitStatuses{{
    {kDone, "done"},
    {kCrashed, "internal error"},
    {kBadInput, "bad input or usage"},
    {kNoPlan, "no feasible plan (the JSON says why)"},
    {kStoppedByBudget, "stopped by a budget before anything was found"},
    {kViolation, "verification found a violation"},
    {kNotVerified, "verification found nothing false, but could not check everything"},
    {kMachineLimit, "memory, threads or disk space ran out, or another process was lost"},
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
    case ErrorCode::kMachineLimit:
      return kMachineLimit;
  }
  return kCrashed;
}

}  // namespace shardwright::cli
