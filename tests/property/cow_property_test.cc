// Random operations on many versions of plans and vectors, compared with plain vectors.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/cow.h"
#include "core/embedding/plan.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/random.h"

namespace shardwright::cow_property_test {

namespace {

using namespace shardwright::embedding;
using shardwright::PersistentVector;
using shardwright::test_support::OptionStore;
using shardwright::test_support::Random;
using shardwright::test_support::seeds;

struct Version {
  PersistentVector<int> vector;
  std::vector<int> model;
};

bool agree(const Version& version) {
  if (version.vector.size() != version.model.size()) return false;
  for (std::size_t i = 0; i < version.model.size(); ++i) {
    if (version.vector[i] != version.model[i]) return false;
  }
  return true;
}

// One table in the naive copy of a plan.
struct Row {
  const ShardingOption* option = nullptr;
  std::vector<Rank> ranks;
};
struct PlanVersion {
  Plan plan;
  std::vector<Row> model;
};

bool agree(const PlanVersion& version) {
  if (version.plan.size() != version.model.size()) return false;
  for (std::size_t i = 0; i < version.model.size(); ++i) {
    const Row& row = version.model[i];
    if (version.plan[i].option != row.option) return false;
    for (std::uint32_t s = 0; s < row.ranks.size(); ++s) {
      if (version.plan[i].rank(s) != row.ranks[s]) return false;
    }
  }
  return true;
}

constexpr std::uint32_t kWorld = 4;

std::vector<Rank> random_ranks(Random& random, const ShardingOption& option) {
  std::vector<Rank> ranks;
  const bool in_order = option.partition_by() == PartitionBy::kUniform && random.below(4) != 0;
  for (std::uint32_t s = 0; s < option.num_shards(); ++s) {
    ranks.push_back(in_order ? s : static_cast<Rank>(random.below(kWorld)));
  }
  return ranks;
}

}  // namespace

TEST_CASE("persistent vector: any versions agree with plain vectors") {
  for (const std::uint64_t seed : seeds({1, 2, 3, 4, 5, 6, 7, 8})) {
    CAPTURE(seed);
    Random random(seed);
    const std::size_t size = 1 + random.below(700);
    CAPTURE(size);
    std::vector<Version> live(1);
    live[0].vector =
        PersistentVector<int>::generate(size, [](std::size_t i) { return static_cast<int>(i); });
    for (std::size_t i = 0; i < size; ++i)
      live[0].model.push_back(static_cast<int>(i));
    for (int step = 0; step < 3000; ++step) {
      Version version = live[random.below(live.size())];
      const std::size_t changes = random.below(4);  // 0 makes a plain copy
      for (std::size_t c = 0; c < changes; ++c) {
        const std::size_t i = random.below(size);
        const int value = static_cast<int>(random.below(1000));
        version.vector = version.vector.set(i, value);
        version.model[i] = value;
      }
      if (live.size() < 100) {
        live.push_back(std::move(version));
      } else {
        live[random.below(live.size())] = std::move(version);
      }
    }
    bool right = true;
    for (const Version& version : live)
      right = right && agree(version);
    REQUIRE(right);
  }
}

TEST_CASE("plan: any versions agree with a naive structure") {
  for (const std::uint64_t seed : seeds({1, 2, 3, 4, 5, 6, 7, 8})) {
    CAPTURE(seed);
    Random random(seed);
    const std::size_t tables = 1 + random.below(150);
    CAPTURE(tables);
    OptionStore store;
    std::vector<std::vector<const ShardingOption*>> choices(tables);
    for (std::size_t t = 0; t < tables; ++t) {
      choices[t] = {&store.add_even(TableId(t), ShardingType::kTableWise, 1),
                    &store.add_even(TableId(t), ShardingType::kColumnWise, 8),
                    &store.add_even(TableId(t), ShardingType::kRowWise, kWorld)};
    }
    std::vector<PlanVersion> live(1);
    std::vector<const ShardingOption*> options;
    std::vector<Rank> all;
    for (std::size_t t = 0; t < tables; ++t) {
      options.push_back(choices[t][random.below(3)]);
      const std::vector<Rank> ranks = random_ranks(random, *options.back());
      all.insert(all.end(), ranks.begin(), ranks.end());
      live[0].model.push_back(Row{options.back(), ranks});
    }
    live[0].plan = Plan::make(nullptr, options, all);
    REQUIRE(agree(live[0]));
    for (int step = 0; step < 2000; ++step) {
      PlanVersion version = live[random.below(live.size())];
      const std::size_t t = random.below(tables);
      Row& row = version.model[t];
      if (random.below(2) == 0) {
        row.ranks = random_ranks(random, *row.option);
        version.plan = version.plan.with_ranks(t, row.ranks);
      } else {
        row.option = choices[t][random.below(3)];
        row.ranks = random_ranks(random, *row.option);
        version.plan = version.plan.with_option(t, *row.option, row.ranks);
      }
      if (live.size() < 50) {
        live.push_back(std::move(version));
      } else {
        live[random.below(live.size())] = std::move(version);
      }
    }
    bool right = true;
    for (const PlanVersion& version : live)
      right = right && agree(version);
    REQUIRE(right);
  }
}

}  // namespace shardwright::cow_property_test
