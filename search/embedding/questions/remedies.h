// Finds single changes that make a problem feasible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/fit_oracle.h"

namespace shardwright::embedding {

// The smallest change of one kind that makes the problem feasible. A plan for the changed problem
// was found, and the verifier accepts this plan.
struct Remedy {
  enum class Kind : std::uint8_t {
    kRanks,
    kHosts,
    kHbm,
    kDdr,
    kSsd,
    kBatchSize,
    kReservation,
    kConstraint,
  };
  Kind kind = Kind::kRanks;
  // Old value, new value and smallest increment, in the unit of the kind: ranks, hosts, bytes per
  // rank, samples per rank or the fraction reserved. Unused for kConstraint.
  double from = 0;
  double to = 0;
  double step = 0;
  bool each_rank_adds = false;  // `from` and `to` are added to the memory of every rank
  std::string constraint;       // kConstraint: JSON pointer of the constraint to drop
  double rating = 0;            // of the first plan found; better plans may exist
  // True if a change that is one step smaller is proved impossible; false if planning found no plan
  // for it.
  bool less_is_impossible = false;
};
template <>
struct EnumNames<Remedy::Kind> {
  static constexpr std::string_view kWhat = "change";
  static constexpr std::array<std::string_view, 8> kNames{
      "ranks", "hosts", "hbm", "ddr", "ssd", "batch_size", "reservation", "constraint"};
};

// A kind of change that does not make the problem feasible, and how far it was tried.
struct FailedRemedy {
  enum class Reason : std::uint8_t {
    kRanksDiffer,   // ranks cannot be added, because the problem describes each rank
    kStopped,       // by the deadline or on request
    kNotEnough,     // not even the value `most` helps
    kNoneSuffices,  // dropping any one of the first `tried` constraints does not help
  };
  Remedy::Kind kind = Remedy::Kind::kRanks;
  Reason reason = Reason::kNotEnough;
  double most = 0;              // in the unit of Remedy
  bool each_rank_adds = false;  // as in Remedy
  std::size_t tried = 0;
  std::size_t constraints = 0;
};

struct Remedies {
  std::vector<Remedy> remedies;
  std::vector<FailedRemedy> in_vain;
};

// `present`: the oracle's answer for the unchanged problem. `proved`: true if this problem is
// proved to have no plan. `tables`: tables that do not fit; only their constraints are dropped,
// because dropping other constraints cannot help.
Remedies find_remedies(const Fit& present, bool proved, std::span<const TableId> tables,
                       FitOracle& oracle);

}  // namespace shardwright::embedding
