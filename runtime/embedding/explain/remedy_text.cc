#include "runtime/embedding/explain/remedy_text.h"

#include <cstdint>

#include "core/units.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::FailedRemedy;
using embedding::Remedy;

std::string value_text(Remedy::Kind kind, double value) {
  switch (kind) {
    case Remedy::Kind::kHbm:
    case Remedy::Kind::kDdr:
    case Remedy::Kind::kSsd:
      return format_bytes(Bytes(static_cast<std::int64_t>(value)));
    case Remedy::Kind::kReservation:
      return format_share(value, 1);
    case Remedy::Kind::kRanks:
    case Remedy::Kind::kHosts:
    case Remedy::Kind::kBatchSize:
    case Remedy::Kind::kConstraint:
      break;
  }
  return format_count(static_cast<std::uint64_t>(value));
}

std::string machine_flags(std::int64_t ranks, std::int64_t ranks_per_host) {
  return "--ranks " + std::to_string(ranks) + " --ranks-per-host " + std::to_string(ranks_per_host);
}

std::string memory_flag(const char* flag, const Remedy& remedy, std::int64_t bytes) {
  if (remedy.each_rank_adds) return "";
  return flag + std::to_string(bytes / kMebibyte) + "MiB";
}

}  // namespace

std::string flags_of(const embedding::Problem& problem, const Remedy& remedy) {
  const auto to = static_cast<std::int64_t>(remedy.to);
  const auto local = static_cast<std::int64_t>(problem.topology().local_world_size());
  switch (remedy.kind) {
    case Remedy::Kind::kRanks:
      return machine_flags(to, to);
    case Remedy::Kind::kHosts:
      return machine_flags(to * local, local);
    case Remedy::Kind::kHbm:
      return memory_flag("--hbm ", remedy, to);
    case Remedy::Kind::kDdr:
      return memory_flag("--ddr ", remedy, to);
    case Remedy::Kind::kSsd:
      return memory_flag("--ssd ", remedy, to);
    case Remedy::Kind::kBatchSize:
      return "--batch-size " + std::to_string(to);
    case Remedy::Kind::kReservation:
    case Remedy::Kind::kConstraint:
      break;
  }
  return "";
}

std::string failed_remedy_text(const FailedRemedy& vain) {
  switch (vain.reason) {
    case FailedRemedy::Reason::kRanksDiffer:
      return "more ranks were not tried: the problem describes its ranks one by one";
    case FailedRemedy::Reason::kStopped:
      return "stopped before an answer was found";
    case FailedRemedy::Reason::kNotEnough:
      return "not even " + value_text(vain.kind, vain.most) + (vain.each_rank_adds ? " more" : "") +
             " would do";
    case FailedRemedy::Reason::kNoneSuffices:
      break;
  }
  return "dropping any one of " + std::to_string(vain.tried) + " constraints" +
         (vain.tried < vain.constraints
              ? " (of " + std::to_string(vain.constraints) + ", the others untried)"
              : "") +
         " does not do";
}

}  // namespace shardwright
