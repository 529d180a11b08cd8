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
  // Changes a copy of the certificate and returns what the check finds wrong, or "".
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

// Two ranks. The first table takes 3 ms on each. The second takes 2 ms on one or 1.9 on each.
Proof reduced_by_common_use();

// The second of two ranks is half as fast. The first table takes 3 ms. The second takes 2 ms in one
// shard or 1.5 ms in each of two. Both tables on the first rank rate 5 ms.
Proof branch_by_places();

// Two ranks. Each of three equal tables takes 2 ms on one rank or 1.5 ms on each of both. The best
// rating is 3.5 ms, with one table on both ranks. The first child has at least one table on both
// ranks, and the second has none.
Proof branch_by_count();

// The tables of branch_by_count(). The first child has at least two tables on both ranks. The
// second child branches again, on whether the first table is on both ranks.
Proof branch_by_count_of_two();

}  // namespace shardwright::bound_proofs
