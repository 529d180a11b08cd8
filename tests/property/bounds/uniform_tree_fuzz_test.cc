// Trees that branch on what uniform choices use, compared with all plans of small problems. No
// bound is too high, and no tampered certificate is accepted with one.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/aggregate_bound.h"
#include "search/embedding/bound/capacity_split_trees.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/option_pool.h"
#include "tests/support/embedding/small_bounds.h"

namespace shardwright::uniform_tree_fuzz_test {

namespace {

using namespace shardwright::embedding;
using namespace shardwright::test_support;

// Numbers of problems whose uniform choices can be apart, that were proved at their least rating,
// and whose proof has a split.
struct Counts {
  std::size_t apart = 0;
  std::size_t proved = 0;
  std::size_t split = 0;
};

// Returns the certificate that no plan rates below the target, or nullopt if the tree does not
// prove it.
std::optional<BoundCertificate> proof_of(CapacitySplitTree& tree, double target) {
  Budget budget;
  tree.begin(target, 1'000'000);
  while (!tree.has_ended())
    tree.step(budget);
  if (!tree.is_proved()) return std::nullopt;
  BoundCertificate certificate;
  certificate.bound = target * (1 - kBoundRounding);
  certificate.class_of_rank = tree.classes().class_of_rank();
  certificate.uniform_apart = true;
  certificate.nodes = tree.certificate_nodes();
  return certificate;
}

void tamper(Random& random, BoundCertificate& certificate) {
  BoundNode& node = certificate.nodes[random.below(certificate.nodes.size())];
  if (random.below(8) == 0) {
    certificate.uniform_apart = !certificate.uniform_apart;
  } else if (random.below(4) == 0) {
    std::swap(node, certificate.nodes[random.below(certificate.nodes.size())]);
  } else if (node.uniform_split) {
    UniformSplit& split = *node.uniform_split;
    if (random.below(3) == 0) split.rank_class = static_cast<std::uint32_t>(random.below(4));
    if (random.below(3) == 0)
      split.tier = random.below(2) == 0 ? MemoryTier::kHbm : MemoryTier::kDdr;
    split.at *= 0.25 * static_cast<double>(random.below(9));
  } else if (!node.whole_multipliers.empty() && random.below(3) == 0) {
    node.whole_multipliers[random.below(node.whole_multipliers.size())].load *=
        0.25 * static_cast<double>(random.below(9));
  } else if (node.is_leaf && random.below(2) == 0) {
    node.is_leaf = false;
    node.uniform_split = UniformSplit{0, std::nullopt, certificate.bound / 2};
  } else if (!node.multipliers.empty()) {
    node.multipliers[random.below(node.multipliers.size())].load *=
        0.25 * static_cast<double>(random.below(9));
  }
}

// Without `separates_hosts`, only choices on all ranks are apart, as on machines of many hosts.
void check_problem(const SmallProblem& small, bool separates_hosts, Random& random,
                   Counts& counts) {
  const std::optional<double> least = least_rating(small);
  if (!least || *least <= 0) return;
  const OptionPool pool(small.space);
  const ChoiceModel all(pool, small.available);
  const ChoiceModel model = all.for_bounds();
  BoundParameters parameters;
  if (!separates_hosts) parameters.classes.max_hosts = 0;
  if (!RankClasses::can_be_apart(model, parameters.classes)) return;
  ++counts.apart;
  CapacitySplitTree tree(model, parameters);
  CHECK_FALSE(proof_of(tree, *least * (1 + 1e-6)).has_value());
  std::optional<BoundCertificate> proof = proof_of(tree, *least * (1 - 1e-4));
  if (!proof) return;
  ++counts.proved;
  CHECK(check_bound(*small.space, small.available, *proof).value_or("") == "");
  if (proof->nodes.size() > 1) ++counts.split;
  proof->bound = *least * (1 + 1e-6);
  CHECK(check_bound(*small.space, small.available, *proof).has_value());
  for (int change = 0; change < 8; ++change) {
    tamper(random, *proof);
    CHECK(check_bound(*small.space, small.available, *proof).has_value());
  }
}

}  // namespace

TEST_CASE("uniform tree: thousands of small problems against every plan") {
  for (const std::uint64_t seed : seeds({3001, 3002})) {
    Counts with_hosts;
    Counts without;
    Random random(seed);
    for (int i = 0; i < 3000; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const SmallProblem small = mixed_problem(random, i);
      check_problem(small, true, random, with_hosts);
      check_problem(small, false, random, without);
    }
    for (const Counts& counts : {with_hosts, without}) {
      MESSAGE("apart ", counts.apart, " proved ", counts.proved, " split ", counts.split);
      CHECK(counts.apart > 600);
      CHECK(counts.proved * 100 > counts.apart * 50);
      CHECK(counts.split > 60);
    }
  }
}

}  // namespace shardwright::uniform_tree_fuzz_test
