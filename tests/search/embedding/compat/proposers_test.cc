// The proposals of every proposer and their order, with batches of any size.
#include "search/embedding/compat/proposers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/naive/naive_planner.h"
#include "tests/support/embedding/random_embedding.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::proposers_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;
using Type = ProposerSpec::Type;

using Proposals = std::vector<std::vector<std::size_t>>;

ProposerSpec spec_of(Type type) {
  ProposerSpec spec;
  spec.type = type;
  return spec;
}

// Returns all proposals, made in batches of `limit`. Each proposal gets the feedback `outcome`.
Proposals proposals(const std::shared_ptr<const SearchSpace>& space, const ProposerSpec& spec,
                    const Topology& available, std::size_t limit = 1000,
                    ProposalOutcome outcome = {}) {
  OptionPool pool(space);
  const auto proposer = make_proposer(spec, pool, available);
  ProposalBatch batch(pool);
  Proposals all;
  for (;;) {
    batch.continue_from(batch);
    proposer->propose(std::min(limit, proposer->look_ahead()), pool, batch);
    CHECK(batch.size() <= limit);
    if (batch.empty()) break;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      std::vector<OptionId> options;
      batch.expand(i, options);
      auto& proposal = all.emplace_back();
      for (const OptionId id : options)
        proposal.push_back(id.index());
      if (!proposer->feedback({outcome, batch.step(i).storage.hbm.value()})) break;
    }
  }
  return all;
}

Proposals proposals(const std::shared_ptr<const SearchSpace>& space, const ProposerSpec& spec,
                    std::size_t limit = 1000, ProposalOutcome outcome = {}) {
  return proposals(space, spec, space->problem().topology(), limit, outcome);
}

// The topology with these bytes of HBM on its two ranks, and no other memory.
Topology left(const SearchSpace& space, std::int64_t hbm0, std::int64_t hbm1) {
  return space.problem().topology().with_storage(
      {{Bytes(hbm0), Bytes(0), Bytes(0)}, {Bytes(hbm1), Bytes(0), Bytes(0)}});
}

}  // namespace

TEST_CASE("proposers: random spaces give the naive model's proposals, in batches of any size") {
  for (const std::uint64_t seed : seeds({81, 82})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    RandomProblemStyle style;
    style.max_tables = 8;
    style.external = true;
    std::map<Type, std::size_t> count;
    for (int i = 0; i < 150; ++i) {
      INFO("problem ", i);
      const auto problem = random_problem(random, style);
      const auto space = random_space(random, problem);
      for (const Type type :
           {Type::kGreedy, Type::kUniform, Type::kGrid, Type::kDynamicProgramming}) {
        ProposerSpec spec = spec_of(type);
        spec.use_depth = random.below(2) == 0;
        spec.max_proposals = 500;
        spec.hbm_bins_per_device = static_cast<std::int64_t>(random.below(8));
        const Proposals expected = naive::proposals(*space, problem->topology(), spec);
        count[type] += expected.size();
        for (const std::size_t limit : {1U, 3U, 1000U}) {
          REQUIRE(proposals(space, spec, limit) == expected);
        }
      }
    }
    for (const auto& [type, proposed] : count)
      CHECK(proposed > 25);
  }
}

TEST_CASE(
    "greedy: advances the table with the largest shard, then sum, then DDR; on ties the first") {
  const auto space = SpaceBuilder(problem_spec(4, 2, 2))
                         .add(0, kTableWise, 1, 1, 10, 3)
                         .add(0, kTableWise, 1, 2, 0, 0)
                         // Each shard is as large, but there are two.
                         .add(1, kColumnWise, 2, 1, 10, 0)
                         .add(1, kTableWise, 1, 3, 10, 4)
                         .add(1, kTableWise, 1, 4, 10, 4)
                         .add(2, kTableWise, 1, 1, 10, 3)
                         .add(2, kTableWise, 1, 2, 0, 0)
                         .add(3, kTableWise, 1, 1, 50, 0)  // the table has only this option
                         .take();
  CHECK(proposals(space, spec_of(Type::kGreedy)) ==
        Proposals{{0, 2, 5, 7}, {0, 3, 5, 7}, {0, 4, 5, 7}, {1, 4, 5, 7}, {1, 4, 6, 7}});
}

TEST_CASE("greedy: a table whose option needs no memory is never the largest") {
  const auto space = SpaceBuilder(problem_spec(2, 2, 2))
                         .add(0, kTableWise, 1, 1, 0, 0)
                         .add(0, kTableWise, 1, 2, 5, 0)
                         .add(1, kTableWise, 1, 1, 0, 1)
                         .add(1, kTableWise, 1, 2, 0, 0)
                         .take();
  CHECK(proposals(space, spec_of(Type::kGreedy)) == Proposals{{0, 2}, {0, 3}});
}

TEST_CASE("greedy: depth ranks options by their largest shard, otherwise by the sum") {
  const auto space = SpaceBuilder(problem_spec(1, 2, 2))
                         .add(0, kTableWise, 1, 5, 1)
                         .add(0, kColumnWise, 2, 3, 1)
                         .take();
  ProposerSpec spec = spec_of(Type::kGreedy);
  CHECK(proposals(space, spec).front() == std::vector<std::size_t>{1});
  spec.use_depth = false;
  CHECK(proposals(space, spec).front() == std::vector<std::size_t>{0});
}

TEST_CASE("greedy: stops after more than `threshold` ratings in a row that are not better") {
  SpaceBuilder builder(problem_spec(1, 2, 2));
  for (int i = 0; i < 30; ++i)
    builder.add(0, kTableWise, 1, i + 1.0, 100 - i);
  const auto space = builder.take();
  ProposerSpec spec = spec_of(Type::kGreedy);
  const auto count = [&](ProposalOutcome outcome, std::size_t limit = 1000) {
    return proposals(space, spec, limit, outcome).size();
  };
  CHECK(count({true, 7}) == 30);
  spec.threshold = 4;
  CHECK(count({true, 7}) == 6);  // the first one improves; five more do not
  CHECK(count({true, 7}, 2) == 6);
  CHECK(count({true, 0}) == 30);   // a rating of 0 does not count
  CHECK(count({false, 0}) == 30);  // a failed proposal does not count
  spec.threshold = 0;              // 0 stands for no threshold
  CHECK(count({true, 7}) == 30);
}

TEST_CASE(
    "grid: the last table varies fastest, best options first; too many combinations are skipped") {
  const auto space = SpaceBuilder(problem_spec(2, 2, 2))
                         .add(0, kTableWise, 1, 2, 1)
                         .add(0, kTableWise, 1, 1, 1)
                         .add(1, kTableWise, 1, 3, 1)
                         .add(1, kTableWise, 1, 1, 1)
                         .add(1, kTableWise, 1, 2, 1)
                         .take();
  ProposerSpec spec = spec_of(Type::kGrid);
  spec.max_proposals = 6;
  CHECK(proposals(space, spec) == Proposals{{1, 3}, {1, 4}, {1, 2}, {0, 3}, {0, 4}, {0, 2}});
  spec.max_proposals = 5;
  CHECK(proposals(space, spec).empty());
}

TEST_CASE("grid: a product beyond 2^64 is skipped, not wrapped around") {
  SpaceBuilder builder(problem_spec(70, 2, 2));
  for (std::size_t table = 0; table < 70; ++table) {
    builder.add(table, kTableWise, 1, 1, 1).add(table, kTableWise, 1, 2, 1);
  }
  CHECK(proposals(builder.take(), spec_of(Type::kGrid)).empty());
}

TEST_CASE("uniform: one proposal for every type that all tables offer, in order of appearance") {
  const auto space = SpaceBuilder(problem_spec(2, 2, 2))
                         .add(1, kRowWise, 2, 1, 1)
                         .add(0, kTableWise, 1, 9, 1)
                         .add(0, kTableWise, 1, 3, 1)
                         .add(0, kTableWise, 1, 3, 2)
                         .add(0, kRowWise, 2, 1, 1)
                         .add(0, kColumnWise, 2, 1, 1)  // table 1 has no column-wise option
                         .add(1, kTableWise, 1, 1, 1)
                         .take();
  CHECK(proposals(space, spec_of(Type::kUniform)) == Proposals{{0, 4}, {2, 6}});
}

TEST_CASE(
    "dynamic programming: with bins of one byte it finds the optimum for every total memory") {
  for (const std::uint64_t seed : seeds({91, 92})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 60; ++i) {
      const std::size_t tables = 1 + random.below(4);
      ProblemSpec spec = problem_spec(tables, 2, 2);
      spec.topology.hbm_cap_bytes = 10;  // 20 bytes in all, one byte per bin
      spec.tables.resize(tables);
      SpaceBuilder builder(spec);
      std::vector<std::vector<std::pair<std::int64_t, double>>> options(tables);
      for (std::size_t table = 0; table < tables; ++table) {
        for (std::size_t o = 0, count = 1 + random.below(4); o < count; ++o) {
          const auto hbm = static_cast<std::int64_t>(random.below(9));
          const auto ms = static_cast<double>(random.below(50));
          builder.add(table, kTableWise, 1, ms, hbm);
          options[table].emplace_back(hbm, ms);
        }
      }
      // Finds the least time for every total memory by trying all combinations.
      std::map<std::int64_t, double> best;
      std::vector<std::pair<std::int64_t, double>> sums = {{0, 0.0}};
      for (const auto& own : options) {
        std::vector<std::pair<std::int64_t, double>> longer;
        for (const auto& sum : sums) {
          for (const auto& option : own) {
            longer.emplace_back(sum.first + option.first, sum.second + option.second);
          }
        }
        sums = std::move(longer);
      }
      for (const auto& sum : sums) {
        if (sum.first >= 20) continue;
        const auto known = best.try_emplace(sum.first, sum.second).first;
        known->second = std::min(known->second, sum.second);
      }

      const auto space = builder.take();
      ProposerSpec dp = spec_of(Type::kDynamicProgramming);
      dp.hbm_bins_per_device = 10;
      const Proposals own = proposals(space, dp);
      REQUIRE(own.size() == best.size() + 1);
      std::size_t at = 1;
      for (auto expected = best.rbegin(); expected != best.rend(); ++expected, ++at) {
        std::int64_t hbm = 0;
        double ms = 0;
        for (const std::size_t id : own[at]) {
          hbm += space->options()[id].total_storage().hbm.value();
          ms += space->options()[id].total_perf().value();
        }
        CHECK(hbm == expected->first);
        CHECK(ms == expected->second);
      }
      std::int64_t smallest = 0;
      for (const std::size_t id : own[0]) {
        smallest += space->options()[id].total_storage().hbm.value();
      }
      CHECK(smallest == std::min_element(sums.begin(), sums.end())->first);
    }
  }
}

TEST_CASE("dynamic programming: where more is reserved than there is, TorchRec's own proposals") {
  SpaceBuilder builder(problem_spec(3, 2, 2));
  const std::vector<std::vector<std::pair<std::int64_t, double>>> tables = {
      {{2, 9}, {7, 5}, {12, 2}}, {{0, 8}, {5, 6}, {9, 1}}, {{4, 4}, {6, 7}, {11, 3}}};
  for (std::size_t table = 0; table < tables.size(); ++table) {
    for (const auto& [hbm, ms] : tables[table])
      builder.add(table, kTableWise, 1, ms, hbm);
  }
  const auto space = builder.take();
  ProposerSpec dp = spec_of(Type::kDynamicProgramming);
  dp.hbm_bins_per_device = 10;
  // Source: DynamicProgrammingProposer of TorchRec 1.9.2 with these options.
  CHECK(proposals(space, dp, left(*space, -10, -30)) == Proposals{{3, 0, 6},
                                                                  {3, 0, 6},
                                                                  {3, 0, 7},
                                                                  {3, 1, 6},
                                                                  {3, 1, 7},
                                                                  {5, 0, 6},
                                                                  {3, 2, 6},
                                                                  {3, 1, 8},
                                                                  {5, 1, 6},
                                                                  {5, 1, 7},
                                                                  {5, 2, 6},
                                                                  {5, 1, 8},
                                                                  {5, 2, 8}});
  // TorchRec fails with an IndexError here.
  CHECK(proposals(space, dp, left(*space, -40, 10)) == Proposals{{3, 0, 6}});
}

TEST_CASE(
    "dynamic programming: where more is reserved than there is, the naive model's proposals") {
  for (const std::uint64_t seed : seeds({93, 94})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    std::size_t several = 0;
    for (int i = 0; i < 200; ++i) {
      INFO("problem ", i);
      SpaceBuilder builder(problem_spec(1 + random.below(4), 2, 2));
      for (std::size_t table = 0; table < builder.problem()->tables().size(); ++table) {
        for (std::size_t o = 0, count = 1 + random.below(4); o < count; ++o) {
          builder.add(table, kTableWise, 1, static_cast<double>(random.below(50)),
                      static_cast<std::int64_t>(random.below(20)));
        }
      }
      const auto space = builder.take();
      ProposerSpec dp = spec_of(Type::kDynamicProgramming);
      dp.hbm_bins_per_device = static_cast<std::int64_t>(random.below(12));
      const Topology available = left(*space, -1 - static_cast<std::int64_t>(random.below(80)),
                                      static_cast<std::int64_t>(random.below(3)));
      const Proposals expected = naive::proposals(*space, available, dp);
      REQUIRE(proposals(space, dp, available) == expected);
      if (expected.size() > 2) ++several;
    }
    CHECK(several > 40);
  }
}

TEST_CASE("proposers: an empty space has no proposals") {
  const auto space = SpaceBuilder(problem_spec(0, 2, 2)).take();
  for (const Type type :
       {Type::kGreedy, Type::kUniform, Type::kGrid, Type::kDynamicProgramming, Type::kScaleup}) {
    CHECK(proposals(space, spec_of(type)).empty());
  }
}

}  // namespace shardwright::proposers_test
