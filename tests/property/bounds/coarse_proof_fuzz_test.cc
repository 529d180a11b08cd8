// Small problems against every plan: proofs in which nearly equal shards count as equal prove no
// bound that is too high, and no change of their certificates is accepted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/aggregate_bound.h"
#include "search/embedding/bound/coarse_proof.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/option_pool.h"
#include "tests/support/embedding/small_bounds.h"

namespace shardwright::coarse_proof_fuzz_test {

namespace {

using namespace shardwright::embedding;
using namespace shardwright::test_support;

// How many problems have a plan, a bound that was raised, a price of whole ranks in that proof, and
// a bound within a percent of their least rating.
struct Counts {
  std::size_t possible = 0;
  std::size_t raised = 0;
  std::size_t priced = 0;
  std::size_t near = 0;
};

bool has_whole_price(const BoundNode& leaf) {
  return std::any_of(leaf.whole_multipliers.begin(), leaf.whole_multipliers.end(),
                     [](const CapacityMultipliers& own) { return own.load + own.hbm > 0; });
}

// Each change could only make the claim too high.
void tamper(Random& random, BoundNode& leaf) {
  const auto more = [&] { return 1.5 + static_cast<double>(random.below(4)); };
  const std::size_t rank_class = random.below(leaf.max_pattern_values.size());
  if (random.below(3) == 0) {
    leaf.whole_multipliers.clear();
    leaf.max_pattern_values[rank_class] *= 0.5;
  } else if (!leaf.shard_duals.empty() && random.below(2) == 0) {
    for (ShardDual& shard : leaf.shard_duals)
      shard.value *= more();
  } else {
    for (CapacityMultipliers& own : leaf.whole_multipliers)
      own = {own.load / 8, own.hbm / 8, own.ddr / 8, own.ssd / 8};
    leaf.max_pattern_values[rank_class] /= 8;
  }
}

void check_problem(const SmallProblem& small, Random& random, Counts& counts) {
  const std::optional<double> least = least_rating(small);
  if (!least || *least <= 0) return;
  ++counts.possible;
  const OptionPool pool(small.space);
  const ChoiceModel all(pool, small.available);
  const ChoiceModel model = all.for_bounds();
  const BoundRows rows(model, false);
  BoundParameters parameters;
  parameters.coarse.least_kinds = 1;
  parameters.coarse.least_tables_of_kind = 1;
  parameters.coarse.most_kinds = 1 + random.below(8);
  Budget budget;
  CoarseProof own(rows, *least * 0.6, *least * (1 + 1e-3), parameters);
  BoundCertificate certificate;
  certificate.class_of_rank = rows.classes().class_of_rank();
  while (!own.has_ended()) {
    own.step(budget);
    std::optional<CoarseProof::Proof> proof = own.take_proof();
    if (!proof) continue;
    CHECK(proof->target <= *least * (1 + 1e-9));
    certificate.bound = proof->target * (1 - kBoundRounding);
    certificate.nodes = {std::move(proof->leaf)};
    CHECK(check_bound(*small.space, small.available, certificate).value_or("") == "");
  }
  if (certificate.nodes.empty()) return;
  ++counts.raised;
  if (has_whole_price(certificate.nodes.front())) ++counts.priced;
  if (certificate.bound > *least * 0.99) ++counts.near;
  certificate.bound = *least * (1 + 1e-6);
  CHECK(check_bound(*small.space, small.available, certificate).has_value());
  tamper(random, certificate.nodes.front());
  CHECK(check_bound(*small.space, small.available, certificate).has_value());
}

}  // namespace

TEST_CASE("coarse proof: thousands of small problems against every plan") {
  for (const std::uint64_t seed : seeds({5001, 5002})) {
    Counts counts;
    Random random(seed);
    for (int i = 0; i < 6000; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      check_problem(mixed_problem(random, i), random, counts);
    }
    MESSAGE("possible ", counts.possible, " raised ", counts.raised, " priced ", counts.priced,
            " near ", counts.near);
    CHECK(counts.raised > 500);
    CHECK(counts.priced > 300);
    CHECK(counts.near > 200);
  }
}

}  // namespace shardwright::coarse_proof_fuzz_test
