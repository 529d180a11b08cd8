// Eight threads use the values that core declares thread-safe.
#include <doctest/doctest.h>

#include <barrier>
#include <cstdint>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "core/cow.h"
#include "core/embedding/plan.h"
#include "core/embedding/sharding_option.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/random.h"

namespace shardwright::core_stress_test {

namespace {

using namespace shardwright::embedding;
using shardwright::test_support::OptionStore;
using shardwright::test_support::Random;

constexpr std::size_t kThreads = 8;
constexpr std::size_t kValues = 3000;
constexpr int kRounds = 5;

ShardLayout layout(std::size_t i) {
  ShardLayout layout;
  // A layout of five extents allocates memory.
  for (std::int64_t k = 0; k < 5; ++k) {
    layout.append({static_cast<std::int64_t>(i) + 1, 8, k, 0, 0, 0, 1});
  }
  return layout;
}

// Runs work(thread) on eight threads that start together.
template <class Work>
void on_all_threads(const Work& work) {
  std::barrier start(static_cast<std::ptrdiff_t>(kThreads));
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      work(t);
    });
  }
}

std::vector<std::size_t> shuffled(std::size_t seed) {
  std::vector<std::size_t> order(kValues);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t i = kValues; i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace

TEST_CASE("interner: threads that intern equal values get equal pointers") {
  for (int round = 0; round < kRounds; ++round) {
    ShardLayoutInterner layouts;
    std::vector<std::vector<const ShardLayout*>> seen(
        kThreads, std::vector<const ShardLayout*>(kValues, nullptr));
    on_all_threads([&](std::size_t t) {
      // Half of the threads use the same order, which makes races likely. The others use different
      // orders.
      for (const std::size_t i : shuffled(t % 2 == 0 ? 0 : t)) {
        seen[t][i] = layouts.intern(layout(i));
      }
    });
    CHECK(layouts.size() == kValues);
    for (std::size_t t = 1; t < kThreads; ++t)
      CHECK(seen[t] == seen[0]);
    bool right = true;
    for (std::size_t i = 0; i < kValues; ++i)
      right = right && *seen[0][i] == layout(i);
    CHECK(right);
  }
}

TEST_CASE("interner: layers of one base can intern at the same time") {
  ShardLayoutInterner base;
  std::vector<const ShardLayout*> known;
  for (std::size_t i = 0; i < kValues / 2; ++i)
    known.push_back(base.intern(layout(i)));
  std::vector<int> right(kThreads, 0);
  on_all_threads([&](std::size_t t) {
    ShardLayoutInterner layer(&base);
    bool all = true;
    for (const std::size_t i : shuffled(t)) {
      const ShardLayout* const pointer = layer.intern(layout(i));
      all = all && (i < known.size() ? pointer == known[i] : base.find(*pointer) == nullptr);
    }
    right[t] = all && layer.size() == kValues - known.size() ? 1 : 0;
  });
  CHECK(right == std::vector<int>(kThreads, 1));
  CHECK(base.size() == known.size());
}

TEST_CASE("interner: a value is found as soon as any thread has interned it") {
  ShardLayoutInterner layouts;
  std::vector<std::size_t> lost(kThreads, 0);
  on_all_threads([&](std::size_t t) {
    for (const std::size_t i : shuffled(t)) {
      const ShardLayout value = layout(i);
      const ShardLayout* const pointer = layouts.intern(value);
      if (layouts.find(value) != pointer) ++lost[t];
    }
  });
  CHECK(lost == std::vector<std::size_t>(kThreads, 0));
}

TEST_CASE("plan: threads change, copy and drop versions of one plan") {
  constexpr std::size_t kTables = 200;
  OptionStore store;
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < kTables; ++i) {
    options.push_back(&store.add_even(TableId(i), ShardingType::kColumnWise, 2));
    ranks.insert(ranks.end(), {0, 1});
  }
  const Plan base = Plan::make(nullptr, options, ranks);
  std::vector<Plan> results(kThreads);
  on_all_threads([&](std::size_t t) {
    Random random(t);
    const std::vector<Rank> mine(2, static_cast<Rank>(t + 10));
    std::vector<Plan> versions(8, base);
    for (int step = 0; step < 3000; ++step) {
      const Plan from = versions[random.below(8)];
      versions[random.below(8)] = from.with_ranks(random.below(kTables), mine);
    }
    results[t] = versions[0];
  });
  bool right = true;
  for (std::size_t i = 0; i < kTables; ++i) {
    right = right && base[i].rank(0) == 0 && base[i].rank(1) == 1;
    for (std::size_t t = 0; t < kThreads; ++t) {
      const Rank rank = results[t][i].rank(1);
      right = right && (rank == 1 || rank == static_cast<Rank>(t + 10));
    }
  }
  CHECK(right);
}

}  // namespace shardwright::core_stress_test
