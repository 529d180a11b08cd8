// Finds the smallest single changes that make a problem feasible.
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

// The smallest change of one kind that makes the problem feasible: a plan for the changed problem
// was found, and the verifier accepts it.
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
  // Ranks, hosts, bytes per rank, samples per rank or the fraction reserved; unused for
  // kConstraint.
  double from = 0;
  double to = 0;
  double step = 0;
  bool each_rank_adds = false;  // memory is given by rank: from and to are added to every rank's
  std::string constraint;       // kConstraint: JSON pointer of the constraint to drop
  double rating = 0;            // of the first plan that was found; better ones may exist
  // One step less is proved impossible; otherwise planning found no plan for it.
  bool less_is_impossible = false;
};
template <>
struct EnumNames<Remedy::Kind> {
  static constexpr std::string_view kWhat = "change";
  static constexpr std::array<std::string_view, 8> kNames{
      "ranks", "hosts", "hbm", "ddr", "ssd", "batch_size", "reservation", "constraint"};
};

// A kind of change that does not help, and how far it was tried.
struct FailedRemedy {
  enum class Reason : std::uint8_t {
    kRanksDiffer,   // ranks cannot be added: the problem describes them one by one
    kStopped,       // by the deadline or on request
    kNotEnough,     // not even `most` helps
    kNoneSuffices,  // dropping any one of the first `tried` of `constraints` does not help
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

// `present` is the oracle's answer for the problem as it is, `proved` whether it is proved to have
// no plan. Of the constraints only those of `tables`, which do not fit, are dropped: without
// another constraint these tables would still not fit.
Remedies find_remedies(const Fit& present, bool proved, std::span<const TableId> tables,
                       FitOracle& oracle);

}  // namespace shardwright::embedding
