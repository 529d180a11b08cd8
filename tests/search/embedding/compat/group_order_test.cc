// The order in which groups of shards are placed: as TorchRec sorts, also after changes.
#include "search/embedding/compat/placement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/random_embedding.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::group_order_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;
using SortBy = PartitionerSpec::SortBy;

using Options = std::vector<OptionId>;

// Returns the positions in the proposal, group by group.
std::vector<std::vector<std::uint32_t>> members(const GroupOrder& order) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (const GroupOrder::Group& group : order.groups()) {
    groups.emplace_back();
    for (std::uint32_t at = group.first_position; at != GroupOrder::kNone;
         at = order.next_member(at)) {
      groups.back().push_back(at);
    }
  }
  return groups;
}

using Groups = std::vector<std::vector<std::uint32_t>>;

Groups sorted(const std::shared_ptr<const SearchSpace>& space, SortBy sort_by,
              bool balance_modules = false) {
  const OptionPool pool(space);
  GroupOrder order(pool, sort_by, balance_modules);
  Options all;
  for (std::size_t i = 0; i < pool.size(); ++i)
    all.emplace_back(i);
  order.reset(all);
  return members(order);
}

}  // namespace

TEST_CASE("group order: by storage, HBM first, then DDR, then proposal order") {
  const auto space = SpaceBuilder(problem_spec(5, 2, 2))
                         .add(0, kTableWise, 1, 9, 10, 5)
                         .add(1, kColumnWise, 2, 1, 10, 0)  // 20 bytes in both shards
                         .add(2, kTableWise, 1, 5, 10, 7)
                         .add(3, kTableWise, 1, 5, 10, 5)
                         .add(4, kRowWise, 2, 5, 99)  // uniform options are not in the order
                         .take();
  CHECK(sorted(space, SortBy::kStorage) == Groups{{1}, {2}, {0}, {3}});
  CHECK(sorted(space, SortBy::kPerf) == Groups{{0}, {2}, {3}, {1}});
}

TEST_CASE("group order: smaller modules come first where modules are balanced") {
  ProblemSpec spec = problem_spec(4, 2, 2);
  for (const std::size_t i : {0U, 2U, 3U})
    spec.tables[i].module = "large";
  spec.tables[1].module = "small";
  const auto space = SpaceBuilder(spec)
                         .add(0, kTableWise, 1, 1, 30)
                         .add(1, kTableWise, 1, 1, 10)
                         .add(2, kTableWise, 1, 1, 20)
                         .add(3, kRowWise, 2, 1, 50)  // uniform options count for their module
                         .take();
  CHECK(sorted(space, SortBy::kStorage) == Groups{{0}, {2}, {1}});
  CHECK(sorted(space, SortBy::kStorage, true) == Groups{{1}, {0}, {2}});
}

TEST_CASE("group order: tables of one dependency are one group, with the sum of their sizes") {
  ProblemSpec spec = problem_spec(5, 2, 2);
  spec.tables[1].dependency = spec.tables[3].dependency = spec.tables[4].dependency = "tower";
  const auto space = SpaceBuilder(spec)
                         .add(0, kTableRowWise, 2, 1, 40)
                         .add(1, kTableRowWise, 2, 1, 10)
                         .add(2, kTableRowWise, 2, 1, 25)
                         .add(3, kTableColumnWise, 2, 1, 35)
                         .add(4, kRowWise, 2, 1, 99)
                         .take();
  CHECK(sorted(space, SortBy::kStorage) == Groups{{1, 3}, {0}, {2}});
}

TEST_CASE("group order: changing one table equals sorting again, for every key") {
  for (const std::uint64_t seed : seeds({61, 62})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    std::size_t with_dependencies = 0;
    for (int i = 0; i < 150; ++i) {
      RandomProblemStyle style;
      style.max_tables = 12;
      style.external = true;
      const auto problem = random_problem(random, style);
      const OptionPool pool(random_space(random, problem));
      for (const Table& table : problem->tables()) {
        if (!table.dependency.empty()) ++with_dependencies;
      }
      Options proposal;
      for (const auto& table : pool.tables())
        proposal.push_back(table.options.front());
      for (const SortBy sort_by : {SortBy::kStorage, SortBy::kPerf}) {
        for (const bool balance : {false, true}) {
          GroupOrder changed(pool, sort_by, balance);
          GroupOrder fresh(pool, sort_by, balance);
          changed.reset(proposal);
          for (int step = 0; step < 20; ++step) {
            const auto position = static_cast<std::uint32_t>(random.below(proposal.size()));
            const auto& options = pool.tables()[position].options;
            const OptionId before = proposal[position];
            proposal[position] = options[random.below(options.size())];
            changed.change(proposal, position, before);
            fresh.reset(proposal);
            REQUIRE(members(changed) == members(fresh));
            for (std::size_t g = 0; g < fresh.groups().size(); ++g) {
              const GroupOrder::Group& own = changed.groups()[g];
              const GroupOrder::Group& other = fresh.groups()[g];
              CHECK(changed.storage(own) == fresh.storage(other));
              CHECK(own.num_shards == other.num_shards);
              CHECK(own.run == other.run);
              CHECK(own.rank_slot == other.rank_slot);
            }
          }
        }
      }
    }
    CHECK(with_dependencies > 50);
  }
}

}  // namespace shardwright::group_order_test
