// The options that cannot be in a plan below a target, and proofs that use nothing else.
#include "search/embedding/bound/domain_reduction.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/bound_prover.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::domain_reduction_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

using Model = BoundModel;

DomainReduction reduce(const Model& model, double target, Domain& domain) {
  Budget budget;
  domain = model.everywhere();
  return reduce_domain(model.rows, target, domain, {}, budget);
}

// Six tables on all eight ranks take 40 bytes of each, or 5 ms more with 1 byte. Memory has room
// for three tables of 40 bytes.
std::shared_ptr<const SearchSpace> tables_on_every_rank() {
  SpaceBuilder builder(one_host_spec(22, 8, 130));
  for (std::size_t table = 0; table < 6; ++table) {
    const double ms = 1 + 0.1 * static_cast<double>(table);
    builder.add(table, kRowWise, 8, ms, 40).add(table, kDataParallel, 8, ms + 5, 1);
  }
  for (std::size_t table = 6; table < 22; ++table)
    builder.add(table, kTableWise, 1, 0.5, 1);
  return builder.take();
}

// The least rating of tables_on_every_rank(), in ms.
constexpr double kLeast = 7.5 + 15 + 1;

}  // namespace

TEST_CASE("domain reduction: an option that is too dear for all ranks together goes") {
  SpaceBuilder builder(one_host_spec(2, 2, 1000));
  builder.add(0, kTableWise, 1, 1, 9).add(0, kRowWise, 2, 3, 1).add(1, kTableWise, 1, 3, 1);
  const Model model(builder.take());
  Domain domain;
  const DomainReduction reduced = reduce(model, 4, domain);
  CHECK_FALSE(reduced.excluded);
  CHECK(domain == Domain{1, 0, 1});
  REQUIRE(reduced.fixing.size() == 1);
  Domain again(domain.size(), 1);
  Budget budget;
  fix_choices(model.rows, 4, reduced.fixing, again, budget);
  CHECK(again == domain);
}

TEST_CASE("domain reduction: what every rank holds leaves no room") {
  // The first table takes at least 60 of 100 bytes on every rank.
  SpaceBuilder builder(one_host_spec(2, 2, 100));
  builder.add(0, kRowWise, 2, 1, 60).add(0, kDataParallel, 2, 0.5, 70);
  builder.add(1, kTableWise, 1, 1, 50).add(1, kRowWise, 2, 2, 25);
  const Model model(builder.take());
  Domain domain;
  CHECK_FALSE(reduce(model, 10, domain).excluded);
  // The second table cannot take 50 bytes anywhere. Beside 25 bytes there is room for 70 or 60.
  CHECK(domain == Domain{1, 1, 0, 1});
  CHECK(reduce(model, 2.4, domain).excluded);
}

TEST_CASE("bound prover: tables that need every rank are proved without column generation") {
  const Model model(tables_on_every_rank());
  BoundProver prover(model.choices);
  Budget budget;
  prover.run(1'000'000, kLeast, budget);
  CHECK(prover.proves(kLeast));
  for (const BoundNode& node : prover.certificate().nodes)
    CHECK(node.shard_duals.empty());
  const auto wrong =
      check_bound(*model.space, model.space->problem().topology(), prover.certificate());
  CHECK(wrong.value_or("") == "");
}

}  // namespace shardwright::domain_reduction_test
