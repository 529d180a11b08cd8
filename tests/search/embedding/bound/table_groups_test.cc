// Groups of equal tables, which a proof may exchange, and the stronger bounds that follow.
#include "search/embedding/bound/bound_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/bound_prover.h"
#include "search/embedding/bound/pricing_problem.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/six_kinds.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::table_groups_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

using Model = BoundModel;

// Equal tables of 3 ms on one rank, or 2 ms on each of two.
std::shared_ptr<const SearchSpace> equal_tables(std::size_t tables, std::int64_t ranks) {
  SpaceBuilder builder(one_host_spec(tables, ranks));
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

TEST_CASE("table groups: tables with the same choices form a group, others do not") {
  SpaceBuilder builder(one_host_spec(4, 2));
  for (const std::size_t table : {0U, 2U, 3U})
    builder.add(table, kTableWise, 1, 3, 10);
  builder.add(1, kTableWise, 1, 3, 11);
  const Model model(builder.take());
  const TableKinds kinds(model.choices);
  CHECK(kinds.size() == 2);
  const std::vector<EqualTables> groups = kinds.groups(model.everywhere());
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].size() + groups[1].size() == 4);
  for (const EqualTables& group : groups) {
    for (const std::uint32_t table : group.tables)
      CHECK(kinds.kind_of(table) == group.kind);
    CHECK(kinds.first_of(group.kind) == group.first());
  }
}

TEST_CASE("table groups: equal tables with different domains are in different groups") {
  const Model model(equal_tables(4, 2));
  const TableKinds kinds(model.choices);
  Domain domain = model.everywhere();
  CHECK(kinds.groups(domain).size() == 1);
  domain[model.choices.first_choice(2)] = 0;
  const std::vector<EqualTables> groups = kinds.groups(domain);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].kind == groups[1].kind);
  CHECK(groups[0].tables == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(groups[1].tables == std::vector<std::uint32_t>{2});
}

TEST_CASE("pricing problem: a column holds no more copies of a table than there are") {
  const Model model(equal_tables(3, 4));
  const TableKinds kinds(model.choices);
  const Domain domain = model.everywhere();
  const KnapsackParameters parameters;
  const std::vector<EqualTables> groups = kinds.groups(domain);
  std::vector<double> dual_values(model.rows.rows().size(), 0);
  dual_values[model.rows.first_row(model.choices.first_choice(groups[0].first()))] = 1;
  for (const auto& [target, most] : {std::pair{7.0, 2.0}, std::pair{10.0, 3.0}, {100.0, 3.0}}) {
    PricingProblem pricing(model.rows, 0, parameters);
    Budget budget;
    // The known value is so close to the optimum that only a full search proves that no better
    // column exists.
    const double near = 0.9995 * most;
    const PricingAnswer answer =
        pricing.solve({dual_values, target, domain, groups, near, true}, budget);
    CHECK(answer.value == doctest::Approx(most));
    CHECK(answer.max_value == doctest::Approx(most));
    REQUIRE(answer.pattern.shards.size() == 1);
    CHECK(answer.pattern.shards[0].second == static_cast<std::uint32_t>(most));
  }
}

TEST_CASE("bound prover: the bound of many equal tables comes from the patterns of a rank") {
  // The Lagrangian bound is 9.4 ms. Some rank holds four of the 200 tables, so the rating is at
  // least 12 ms.
  SpaceBuilder builder(one_host_spec(200, 64));
  for (std::size_t table = 0; table < 200; ++table)
    builder.add(table, kTableWise, 1, 3, 1);
  const Model model(builder.take());
  const BoundCertificate certificate = proved(model, 12, 20'000'000);
  CHECK(certificate.bound >= 12 * (1 - BoundParameters().optimality_gap));
  CHECK(certificate.bound <= 12);
  BoundCertificate too_much = certificate;
  too_much.bound = 12.001;
  CHECK(check_bound(*model.space, model.space->problem().topology(), too_much).has_value());
}

TEST_CASE("bound prover: trees branch on the number of equal tables") {
  // In a fractional plan, a fractional number of the tables of a kind is on all ranks. A branch on
  // one of 30 equal tables changes little, since the other 29 compensate for it.
  const Model model(tables_of_six_kinds());
  constexpr double kBest = kRatingOfSixKinds;
  const BoundCertificate certificate = proved(model, kBest, 60'000'000);
  CHECK(certificate.bound >= kBest * (1 - BoundParameters().optimality_gap));
  const bool any_count = std::any_of(certificate.nodes.begin(), certificate.nodes.end(),
                                     [](const BoundNode& node) { return node.count > 1; });
  CHECK(any_count);
}

TEST_CASE("bound prover: a model too large for column generation keeps its aggregate bound") {
  SpaceBuilder builder(one_host_spec(6'100, 4));
  for (std::size_t table = 0; table < 6'100; ++table)
    builder.add(table, kTableWise, 1, 1 + 1e-3 * static_cast<double>(table), 0);
  const Model model(builder.take());
  BoundProver prover(model.choices);
  Budget budget;
  prover.run(1'000'000, 1e5, budget);
  const double bound = prover.bound();
  CHECK(bound > 0);
  prover.run(1'000'000, 1e5, budget);
  CHECK(prover.bound() == bound);
}

}  // namespace shardwright::table_groups_test
