// Which options of tables the check drops before it checks a node.
#include <cstddef>
#include <string_view>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "tests/core/embedding/bound/proofs.h"

namespace shardwright::check_dropping_test {

using namespace shardwright::bound_proofs;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

namespace {

// A proof of 5 ms for the space of branch_by_options(). If the first table is on both ranks, all
// loads sum to 11 ms, more than two ranks of 5 ms have. The multipliers in `fixing` show this, so
// that option is dropped. The remaining options have 4, 4 and 1 ms, of which no rank can hold two
// below 5 ms.
Proof reduced_by_costs() {
  Proof proof = branch_by_options();
  BoundNode node = leaf({{0.5, 0, 0}});
  node.fixing = {{{1, 0, 0}}};
  for (const std::size_t option : {0UL, 2UL, 3UL})
    node.shard_duals.push_back({OptionId(option), 0, 1});
  node.max_pattern_values = {1 + 1e-9};
  proof.certificate = {5 * kLess, {0, 0}, {node}};
  return proof;
}

}  // namespace

TEST_CASE("check bound: multipliers of a node drop options that are too dear, and no others") {
  const Proof proof = reduced_by_costs();
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](BoundCertificate& own) { own.nodes[0].fixing.clear(); }) != "");
  // Multipliers of memory alone drop no option here.
  CHECK(proof.after([](BoundCertificate& own) { own.nodes[0].fixing = {{{0, 1, 0}}}; }) != "");
  CHECK(proof.after([](BoundCertificate& own) { own.bound = 5.6; }) != "");
  const std::string_view invalid = "a node lacks valid multipliers for every rank class";
  CHECK(proof.after([](BoundCertificate& own) { own.nodes[0].fixing = {{}}; }) == invalid);
  CHECK(proof.after([](BoundCertificate& own) {
    own.nodes[0].fixing = {{{kNaN, 0, 0}}};
  }) == invalid);
  CHECK(proof.after([](BoundCertificate& own) {
    own.nodes[0].fixing = {{{-1, 0, 0}}};
  }) == invalid);
  CHECK(proof.after([](BoundCertificate& own) {
    own.nodes[0].fixing.resize(65, {{0, 0, 0}});
  }) == "a node has too many multipliers");
}

TEST_CASE("check bound: dropping options takes steps, and a check without enough gives up") {
  const Proof proof = reduced_by_common_use();
  const auto wrong = check_bound(*proof.space, proof.space->problem().topology(), proof.certificate,
                                 proof.space->size());
  CHECK(wrong.value_or("") == kProofTooLong);
}

TEST_CASE("check bound: what every rank holds leaves no room for some options") {
  const Proof proof = reduced_by_common_use();
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](BoundCertificate& own) { own.bound = 4.9 * (1 + 1e-8); }) != "");
}

TEST_CASE(
    "check bound: what an inner node drops stays dropped below it, and comes back beside it") {
  // The first child of the root has the first table on one rank. The multipliers of that node drop
  // the option on both ranks there, but not in the second child.
  Proof proof = branch_by_options();
  proof.certificate.nodes[1].fixing = {{{1, 0, 0}}};
  CHECK(proof.wrong().value_or("") == "");
  proof.certificate.nodes[0].fixing = {{{1, 0, 0}}};
  CHECK(proof.wrong().value_or("") == "");
}

TEST_CASE("check bound: options that the rules leave no ranks do not count") {
  ProblemSpec ruled = spec(1, 2, 2);
  const auto proof = [&] {
    return Proof{SpaceBuilder(ruled).add(0, kRowWise, 2, 1, 10).add(0, kTableWise, 1, 3, 10).take(),
                 {3 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}};
  };
  CHECK(proof().wrong().has_value());
  ruled.tables[0].placement.max_shards = 1;
  CHECK(proof().wrong().value_or("") == "");
  CHECK(proof().after([](auto& c) { c.bound = 3 * (1 + 1e-6); }) != "");
}

}  // namespace shardwright::check_dropping_test
