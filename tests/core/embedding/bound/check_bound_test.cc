// Which proofs of a lower bound the check accepts, and which it refuses.
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "tests/core/embedding/bound/proofs.h"

namespace shardwright::check_bound_test {

using namespace shardwright::bound_proofs;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

TEST_CASE("check bound: genuine proofs are accepted") {
  CHECK(lagrangian_proof().wrong().value_or("") == "");
  CHECK(pattern_proof().wrong().value_or("") == "");
  CHECK(branch_by_options().wrong().value_or("") == "");
  CHECK(branch_by_places().wrong().value_or("") == "");
  CHECK(branch_by_count().wrong().value_or("") == "");
  CHECK(branch_by_count_of_two().wrong().value_or("") == "");
}

TEST_CASE("check bound: a bound that is too high is refused") {
  for (const Proof& proof : {lagrangian_proof(), pattern_proof(), branch_by_options(),
                             branch_by_places(), branch_by_count(), branch_by_count_of_two()}) {
    CHECK(proof.after([](auto& c) { c.bound *= 1 + 1e-6; }) != "");
    CHECK(proof.after([](auto& c) { c.bound = kNaN; }) == "the bound is not a finite number");
    CHECK(proof.after([](auto& c) { c.bound = kInfinity; }) != "");
    CHECK(proof.after([](auto& c) { c.bound *= 0.9; }) == "");
    CHECK(proof.after([](auto& c) { c.bound = -1; }) == "");
  }
}

TEST_CASE("check bound: classes that do not match the ranks are refused") {
  const Proof proof = branch_by_places();
  for (const std::vector<std::uint32_t>& classes :
       {std::vector<std::uint32_t>{}, {0}, {0, 1, 1}, {0, 2}, {0, 0xffffffffU}}) {
    CHECK(proof.after([&](auto& c) { c.class_of_rank = classes; }) ==
          "the rank classes do not match the topology");
  }
  // If both ranks are in one class, both count as the fastest rank, and the proof's branch on the
  // rank class has another meaning.
  CHECK(proof.after([](auto& c) { c.class_of_rank = {0, 0}; }) != "");
  CHECK(proof.after([](auto& c) { c.class_of_rank = {1, 0}; }) != "");
}

TEST_CASE("check bound: a stop at any look ends the check, and no stop accepts the proof") {
  const Proof proof = reduced_by_common_use();
  const auto check_until = [&](int looks) {
    return check_bound(*proof.space, proof.space->problem().topology(), proof.certificate,
                       std::uint64_t{1} << 32, [&looks] { return looks-- == 0; });
  };
  int looks = 0;
  while (check_until(looks).value_or("") == kProofTooLong)
    ++looks;
  CHECK(check_until(looks).value_or("") == "");
}

TEST_CASE("check bound: a slower rank holds less load, but not less memory") {
  ProblemSpec slow = spec(1, 2, 2);
  slow.calibration.rank_time = {3, 3};
  const auto space = SpaceBuilder(slow).add(0, kRowWise, 2, 2, 10).take();
  Proof proof{space, {6 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}};
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 6 * (1 + 1e-6); }) != "");
  slow.perf_model = PerfModel::kStorage;
  proof = {SpaceBuilder(slow).add(0, kRowWise, 2, 2, 10).take(),
           {10 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}};
  CHECK(proof.wrong().value_or("") == "");
  CHECK(proof.after([](auto& c) { c.bound = 10 * (1 + 1e-6); }) != "");
}

TEST_CASE("check bound: a rank without room holds only shards without memory") {
  const auto space =
      SpaceBuilder(spec(2, 2, 2)).add(0, kTableWise, 1, 3, 10).add(1, kTableWise, 1, 3, 0).take();
  const Topology available =
      space->problem().topology().with_storage({{Bytes(100), Bytes(0)}, {Bytes(-5), Bytes(-5)}});
  BoundCertificate certificate{3 * kLess, {0, 1}, {leaf({{1, 0, 0}, {1, 0, 0}})}};
  CHECK(check_bound(*space, available, certificate).value_or("") == "");
  certificate.bound = 3 * (1 + 1e-6);
  CHECK(check_bound(*space, available, certificate).has_value());
}

}  // namespace shardwright::check_bound_test
