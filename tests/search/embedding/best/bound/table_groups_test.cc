// Tables that a proof need not tell apart, and what it gains by not doing so.
#include "search/embedding/best/bound/table_groups.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "search/embedding/best/bound/bound_prover.h"
#include "search/embedding/best/bound/rank_filler.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::table_groups_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// A search space with everything that proofs need of it.
struct Model {
  explicit Model(std::shared_ptr<const SearchSpace> the_space)
      : space(std::move(the_space)),
        pool(space),
        choices(pool, space->problem().topology()),
        rows(choices, false) {}

  std::vector<Zone> everywhere() const {
    return std::vector<Zone>(choices.choices().size(), rows.everywhere());
  }

  std::shared_ptr<const SearchSpace> space;
  OptionPool pool;
  ChoiceModel choices;
  BoundRows rows;
};

ProblemSpec spec(std::size_t tables, std::int64_t ranks) {
  ProblemSpec spec = problem_spec(tables, ranks, ranks);
  spec.topology.hbm_cap_bytes = 1000;
  spec.topology.ddr_cap_bytes = 1000;
  return spec;
}

// Tables of 3 ms on one rank, or of 2 ms on each of two.
std::shared_ptr<const SearchSpace> alike(std::size_t tables, std::int64_t ranks) {
  SpaceBuilder builder(spec(tables, ranks));
  for (std::size_t table = 0; table < tables; ++table) {
    builder.add(table, kTableWise, 1, 3, 1);
    builder.add(table, kColumnWise, 2, 2, 1);
  }
  return builder.take();
}

BoundCertificate proved(const Model& model, double rating, std::uint64_t work) {
  BoundProver prover(model.choices);
  Budget budget;
  while (!prover.finished() && budget.work_done() < work)
    prover.run(100'000, rating, budget);
  const auto wrong =
      check_bound(*model.space, model.space->problem().topology(), prover.certificate());
  CHECK(wrong.value_or("") == "");
  return prover.certificate();
}

}  // namespace

TEST_CASE("table groups: tables of the same choices are one group, others are not") {
  SpaceBuilder builder(spec(4, 2));
  for (const std::size_t table : {0U, 2U, 3U})
    builder.add(table, kTableWise, 1, 3, 10);
  builder.add(1, kTableWise, 1, 3, 11);
  const Model model(builder.take());
  const TableKinds kinds(model.choices);
  CHECK(kinds.size() == 2);
  const std::vector<AlikeTables> groups = kinds.groups(model.everywhere());
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].size() + groups[1].size() == 4);
  for (const AlikeTables& group : groups) {
    for (const std::uint32_t table : group.tables)
      CHECK(kinds.kind_of(table) == group.kind);
    CHECK(kinds.first_of(group.kind) == group.first());
  }
}

TEST_CASE("table groups: alike tables that may be in different places are told apart") {
  const Model model(alike(4, 2));
  const TableKinds kinds(model.choices);
  std::vector<Zone> zones = model.everywhere();
  CHECK(kinds.groups(zones).size() == 1);
  zones[model.choices.first_choice(2)] = 0;
  const std::vector<AlikeTables> groups = kinds.groups(zones);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].kind == groups[1].kind);
  CHECK(groups[0].tables == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(groups[1].tables == std::vector<std::uint32_t>{2});
}

TEST_CASE("rank filler: no more of alike tables are taken than there are") {
  const Model model(alike(3, 4));
  const TableKinds kinds(model.choices);
  const std::vector<Zone> zones = model.everywhere();
  const std::vector<AlikeTables> groups = kinds.groups(zones);
  std::vector<double> worth(model.rows.rows().size(), 0);
  worth[model.rows.first_row(model.choices.first_choice(groups[0].first()))] = 1;
  for (const auto& [target, most] : {std::pair{7.0, 2.0}, std::pair{10.0, 3.0}, {100.0, 3.0}}) {
    RankFiller filler(model.rows, 0);
    Budget budget;
    // So close to the best that only a full search can say that there is no better one.
    const double near = 0.9995 * most;
    const RankFill fill = filler.best(worth, target, zones, groups, near, true, budget);
    CHECK(fill.worth == doctest::Approx(most));
    CHECK(fill.most == doctest::Approx(most));
    REQUIRE(fill.pattern.shards.size() == 1);
    CHECK(fill.pattern.shards[0].second == static_cast<std::uint32_t>(most));
  }
}

TEST_CASE("bound prover: many alike tables are proved by what a rank can hold of them") {
  // 9.4 ms by prices, but of 200 tables some of 64 ranks holds four.
  SpaceBuilder builder(spec(200, 64));
  for (std::size_t table = 0; table < 200; ++table)
    builder.add(table, kTableWise, 1, 3, 1);
  const Model model(builder.take());
  const BoundCertificate certificate = proved(model, 12, 20'000'000);
  CHECK(certificate.bound >= 12 * (1 - BoundProver::kOptimal));
  CHECK(certificate.bound <= 12);
  BoundCertificate too_much = certificate;
  too_much.bound = 12.001;
  CHECK(check_bound(*model.space, model.space->problem().topology(), too_much).has_value());
}

TEST_CASE("bound prover: a program too large for patterns is bounded by prices, and rests") {
  SpaceBuilder builder(spec(6'100, 4));
  for (std::size_t table = 0; table < 6'100; ++table)
    builder.add(table, kTableWise, 1, 1 + 1e-3 * static_cast<double>(table), 0);
  const Model model(builder.take());
  BoundProver prover(model.choices);
  Budget budget;
  prover.run(1'000'000, 1e5, budget);
  const double bound = prover.bound();
  CHECK(bound > 0);
  const std::uint64_t done = budget.work_done();
  prover.run(1'000'000, 1e5, budget);
  CHECK(budget.work_done() == done);
  prover.run(1'000'000, 5e4, budget);
  CHECK(budget.work_done() > done);
}

}  // namespace shardwright::table_groups_test
