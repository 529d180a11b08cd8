// Compares lower bounds of small problems with an enumeration of all plans.
#pragma once

#include <cstdint>

#include <doctest/doctest.h>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/bound_prover.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/option_pool.h"
#include "tests/support/embedding/small_bounds.h"

namespace shardwright::test_support {

// Numbers of problems that have a plan, and of those among them whose bound is the optimum.
struct BoundCounts {
  std::size_t feasible = 0;
  std::size_t proved = 0;
};

// Proves a bound against `rating`. Returns the certificate, which the check must accept.
inline embedding::BoundCertificate proved_bound(const SmallProblem& small, double rating,
                                                std::uint64_t most_work = 20'000'000) {
  using namespace embedding;
  const OptionPool pool(small.space);
  const ChoiceModel model(pool, small.available);
  BoundProver prover(model);
  Budget budget;
  while (!prover.finished() && budget.work_done() < most_work)
    prover.run(1'000'000, rating, budget);
  const auto wrong = check_bound(*small.space, small.available, prover.certificate());
  if (wrong) FAIL_CHECK("the check refuses what was proved: " << *wrong);
  return prover.certificate();
}

// Checks that the bound is at most the least rating, even if the target is above it. Checks that a
// certificate that claims more is refused.
inline void check_small_problem(const SmallProblem& small, BoundCounts& counts) {
  using namespace embedding;
  constexpr double kAnyRating = 100;
  const std::optional<double> least = least_rating(small);
  const double rating = least.value_or(kAnyRating);
  BoundCertificate certificate = proved_bound(small, rating);
  if (!least) return;
  ++counts.feasible;
  CHECK(certificate.bound <= rating);
  if (certificate.bound >= rating * (1 - 1.0001 * BoundParameters().optimality_gap))
    ++counts.proved;
  // A proof against a rating above the optimum may never end, so its work is limited.
  constexpr std::uint64_t kWorkInVain = 2'000'000;
  CHECK(proved_bound(small, 1.37 * rating, kWorkInVain).bound <= rating);
  if (rating <= 0) return;
  certificate.bound = rating * (1 + 1e-6);
  CHECK(check_bound(*small.space, small.available, certificate).has_value());
}

}  // namespace shardwright::test_support
