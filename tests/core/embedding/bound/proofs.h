// Small search spaces with proofs of their bounds that the check accepts.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/bound/check_bound.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::bound_proofs {

using embedding::BoundCertificate;
using embedding::BoundNode;
using embedding::CapacityMultipliers;
using embedding::OptionDomain;
using embedding::ProblemSpec;
using embedding::SearchSpace;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kLess = 1 - 1e-8;

// A search space and a proof for it that the check accepts.
struct Proof {
  std::shared_ptr<const SearchSpace> space;
  BoundCertificate certificate;

  std::optional<std::string> wrong() const {
    return check_bound(*space, space->problem().topology(), certificate);
  }
  // Returns what the check finds wrong with a changed copy of the proof.
  template <class Change>
  std::string after(const Change& change) const {
    Proof changed = *this;
    change(changed.certificate);
    return changed.wrong().value_or("");
  }
};

BoundNode leaf(std::vector<CapacityMultipliers> multipliers);
BoundNode branch(std::size_t table, std::vector<OptionDomain> first_child);
ProblemSpec spec(std::size_t tables, std::int64_t world, std::int64_t local);
Proof lagrangian_proof();
Proof pattern_proof();

// Two ranks. The first table takes 4 ms on one rank or 3 ms on each of both; the others take 4 ms
// and 1 ms on one rank. The bound is 4.5 ms.
Proof branch_by_options();

// The first table takes 3 ms on each of two ranks, the second one 2 ms on one or 1.9 ms on each.
Proof reduced_by_common_use();

// The second rank is half as fast. The first table takes 3 ms; the second takes 2 ms in one shard,
// or 1.5 ms in each of two. Both on the first rank rate 5, the second one on the second rank rates
// 4.
Proof branch_by_places();

// Two ranks. Each of three equal tables takes 2 ms on one rank or 1.5 ms on each of both. With one
// of them on both ranks the rating is 3.5 ms, which is the least; with none it is 4 ms.
// At least one table is on both ranks, or none is.
Proof branch_by_count();

// At least two tables are on both ranks, or fewer are: then the first one is, or none is.
Proof branch_by_count_of_two();

}  // namespace shardwright::bound_proofs
