// Outcomes of a request: the command's exit codes, and the outcomes of the C interface.
#pragma once

#include <array>

#include "core/status.h"

namespace shardwright::commands {

// The command's exit codes.
enum Outcome : int {
  kDone = 0,
  kCrashed = 1,
  kBadInput = 2,
  kNoPlan = 3,
  kStopped = 4,
  kViolation = 5,
  kNotVerified = 6,
  kMachineLimit = 7,
};

inline constexpr int kNoAnswer = -1;

struct OutcomeRow {
  Outcome outcome;
  const char* meaning;  // for help and the manual page
  int number_in_c;      // shardwright_outcome; kNoAnswer if such a request has no answer
};

// In the order of Outcome.
inline constexpr std::array<OutcomeRow, 8> kOutcomes{{
    {kDone, "done", 0},
    {kCrashed, "internal error", kNoAnswer},
    {kBadInput, "bad input or usage", kNoAnswer},
    {kNoPlan, "no feasible plan (the JSON says why)", 1},
    {kStopped, "stopped by a budget before anything was found", 2},
    {kViolation, "verification found a violation", 3},
    {kNotVerified, "verification found nothing false, but could not check everything", 4},
    {kMachineLimit, "memory, threads or disk space ran out, or another process was lost",
     kNoAnswer},
}};

constexpr Outcome outcome_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
    case ErrorCode::kUnsupported:
      return kBadInput;
    case ErrorCode::kInfeasible:
      return kNoPlan;
    case ErrorCode::kStopped:
      return kStopped;
    case ErrorCode::kVerificationFailed:
      return kViolation;
    case ErrorCode::kMachineLimit:
      return kMachineLimit;
  }
  return kCrashed;
}

}  // namespace shardwright::commands
