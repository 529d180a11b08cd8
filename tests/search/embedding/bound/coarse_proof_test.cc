// Proofs in which shards that are nearly equal count as equal.
#include "search/embedding/bound/coarse_proof.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/aggregate_bound.h"
#include "search/embedding/bound/bound_rows.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::coarse_proof_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

constexpr std::size_t kTables = 50;

// On eight ranks. Each table takes 1 ms on one rank, or a little more than 0.3 ms on all: no two
// the same, and the first ones least. 48 tables on single ranks beside the first two on all is
// best: 6.601 ms.
BoundModel fifty_tables() {
  SpaceBuilder builder(one_host_spec(kTables, 8, 100'000));
  for (std::size_t table = 0; table < kTables; ++table) {
    const auto bytes = static_cast<std::int64_t>(100 + table);
    builder.add(table, kTableWise, 1, 1, bytes);
    builder.add(table, kRowWise, 8, 0.3 + 0.001 * static_cast<double>(table), bytes);
  }
  return BoundModel(builder.take());
}
constexpr double kLeastRating = 6.601;

// The highest target that is proved on the way to the goal, with a certificate of it.
std::pair<double, BoundCertificate> proved(const BoundModel& model, double bound, double goal,
                                           const BoundParameters& parameters) {
  CoarseProof own(model.rows, bound, goal, parameters);
  Budget budget;
  std::pair<double, BoundCertificate> best{0, {}};
  while (!own.has_ended()) {
    own.step(budget);
    std::optional<CoarseProof::Proof> proof = own.take_proof();
    if (!proof) continue;
    best.first = proof->target;
    best.second.bound = proof->target * (1 - kBoundRounding);
    best.second.class_of_rank = model.rows.classes().class_of_rank();
    best.second.nodes = {std::move(proof->leaf)};
  }
  return best;
}

// What the check says; empty if the certificate holds.
std::string error_of(const BoundModel& model, const BoundCertificate& certificate) {
  return check_bound(*model.space, model.space->problem().topology(), certificate).value_or("");
}

}  // namespace

TEST_CASE("even places: shards that the coarse model takes as equal share ranks evenly") {
  SpaceBuilder builder(one_host_spec(4, 2, 100'000));
  for (std::size_t table = 0; table < 4; ++table)
    builder.add(table, kTableWise, 1, 1 + 0.01 * static_cast<double>(table), 100);
  const BoundModel model(builder.take());
  const std::vector<CapacityMultipliers> prices{{1.0 / 2, 0, 0}};
  const ChoiceModel coarse = coarse_model(model.rows, model.everywhere(), 2.1, prices, 0.1, 0.5);
  REQUIRE(TableKinds(coarse).size() == 1);
  Allocation start = Allocation::of_choices({0, 1, 2, 3});
  start.ranks = {{0}, {0}, {1}, {1}};
  even_places(coarse, model.choices, start);
  CHECK(start.ranks[0] == start.ranks[3]);
  CHECK(start.ranks[1] == start.ranks[2]);
  CHECK(start.ranks[0] != start.ranks[1]);
  // Tables without a place stay without one.
  start.ranks[2].clear();
  even_places(coarse, model.choices, start);
  CHECK(start.ranks[2].empty());
  CHECK(start.ranks[0] == start.ranks[3]);
  CHECK(start.ranks[0] != start.ranks[1]);
}

TEST_CASE("coarse model: shards that differ little take what the smallest of them does") {
  const BoundModel model = fifty_tables();
  const std::vector<CapacityMultipliers> prices{{1.0 / 8, 0, 0}};
  const ChoiceModel coarse =
      coarse_model(model.rows, model.everywhere(), kLeastRating, prices, 0.01, 0.5);
  CHECK(coarse.num_tables() == kTables);
  CHECK(TableKinds(model.choices).size() == kTables);
  CHECK(TableKinds(coarse).size() <= 4);
  for (std::uint32_t c = 0; c < coarse.choices().size(); ++c) {
    const Choice& own = coarse.choices()[c];
    const Choice& exact = model.choices.choices()[*model.choices.choice_of(own.option)];
    CHECK(own.load <= exact.load);
    CHECK(own.load >= exact.load * 0.5);
    CHECK(own.storage.fits_in(exact.storage));
    CHECK(coarse.choice_of(own.option) == c);
  }
}

TEST_CASE("coarse model: choices outside of the domain are left out") {
  const BoundModel model = fifty_tables();
  Domain domain = model.everywhere();
  for (std::uint32_t table = 0; table < kTables; ++table) {
    const std::uint32_t first = model.choices.first_choice(table);
    for (std::uint32_t i = 0; i < model.choices.choices(table).size(); ++i) {
      if (model.choices.choices(table)[i].reach == Reach::kAllRanks) domain[first + i] = 0;
    }
  }
  const ChoiceModel coarse =
      coarse_model(model.rows, domain, kLeastRating, {{1.0 / 8, 0, 0}}, 0.01, 0.5);
  CHECK(coarse.choices().size() == kTables);
  CHECK(TableKinds(coarse).size() == 1);
}

TEST_CASE("coarse proof: proves the least rating of tables that all differ, and the check agrees") {
  const BoundModel model = fifty_tables();
  const BoundParameters parameters;
  const double goal = kLeastRating * (1 - 1e-4);
  const auto [target, certificate] = proved(model, 6.25, goal, parameters);
  REQUIRE(target == goal);
  CHECK(error_of(model, certificate) == "");
  BoundCertificate higher = certificate;
  higher.bound = kLeastRating * (1 + 1e-6);
  CHECK(error_of(model, higher) != "");
  BoundCertificate cheaper = certificate;
  REQUIRE(cheaper.nodes.front().whole_multipliers.size() == 1);
  cheaper.nodes.front().whole_multipliers.front() = {};
  CHECK(error_of(model, cheaper) != "");
  cheaper.nodes.front().whole_multipliers.resize(2);
  CHECK(error_of(model, cheaper) != "");
}

TEST_CASE("coarse proof: a goal above the least rating is not proved, and its choices are told") {
  const BoundModel model = fifty_tables();
  const BoundParameters parameters;
  CoarseProof own(model.rows, 6.25, kLeastRating * 1.01, parameters);
  Budget budget;
  std::optional<SuggestedStart> suggested;
  while (!own.has_ended() && !suggested) {
    own.step(budget);
    suggested = own.take_suggestion();
  }
  REQUIRE(suggested);
  // Targets that halve the gap to the goal come first; the third is the first above the least
  // rating.
  double third = 6.25;
  for (int target = 0; target < 3; ++target)
    third = (third + kLeastRating * 1.01) / 2;
  CHECK(suggested->target == doctest::Approx(third).epsilon(1e-12));
  REQUIRE(suggested->start.choice.size() == kTables);
  for (std::size_t table = 0; table < kTables; ++table)
    CHECK(model.choices.table_of(suggested->start.choice[table]) == table);
  CHECK(proved(model, 6.25, kLeastRating * 1.01, parameters).first < kLeastRating);
}

TEST_CASE("coarse proof: few kinds of tables are left to other methods") {
  const BoundModel model = five_on_four();
  CHECK(CoarseProof(model.rows, 8.75, 14, {}).has_ended());
}

TEST_CASE("coarse method: one proof for a rating, once it is near the bound") {
  const BoundModel model = fifty_tables();
  Proof proof(model.choices, {});
  BoundCertificate proved = proof.certificate();
  proved.bound = 6.25;
  proof.begin_from(proved);
  CoarseMethod method;
  const auto is_due = [&](double rating) {
    proof.set_rating(rating);
    return method.is_due(proof);
  };
  CHECK_FALSE(is_due(20));
  CHECK_FALSE(is_due(6.25));
  REQUIRE(is_due(6.7));
  Budget budget;
  do
    method.step(proof, budget);
  while (method.goes_on());
  CHECK_FALSE(is_due(6.69));
}

}  // namespace shardwright::coarse_proof_test
