// Every allocation fails once: the values are unchanged and nothing leaks.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cow.h"
#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/topology.h"
#include "core/interner.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::fault_test {

namespace {

using namespace shardwright::embedding;
using shardwright::PersistentVector;
using shardwright::test_support::AllocationScope;
using shardwright::test_support::fail_every_allocation;
using shardwright::test_support::keep;
using shardwright::test_support::OptionStore;
using shardwright::test_support::problem_spec;

// A text that std::string cannot store without allocating.
std::string text(std::size_t i) { return "a string beyond the small size, " + std::to_string(i); }

// Runs `operation` with each of its allocations failing in turn. `operation` must release
// everything that it makes. Checks that no memory leaks after a failure or the success. Returns the
// number of failures.
template <class Operation>
std::uint64_t check_no_leak(const Operation& operation) {
  const AllocationScope scope;
  std::int64_t leaked = 0;
  const std::uint64_t failures =
      fail_every_allocation(operation, [&] { leaked += scope.live_bytes() == 0 ? 0 : 1; });
  CHECK(leaked == 0);
  CHECK(scope.live_bytes() == 0);
  return failures;
}

// A value that counts its live instances.
struct Counted {
  explicit Counted(std::string value) : text(std::move(value)) { ++live; }
  Counted(const Counted& other) : text(other.text) { ++live; }
  Counted(Counted&& other) noexcept : text(std::move(other.text)) { ++live; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --live; }

  std::string text;
  inline static std::size_t live = 0;
};

struct CountedTraits {
  // Values of one length have one hash, so all are in one shard, whose index grows.
  static std::uint64_t hash(const Counted& value) { return value.text.size(); }
  static bool equal(const Counted& a, const Counted& b) { return a.text == b.text; }
};

}  // namespace

TEST_CASE("fault: persistent vector set leaves the vector unchanged") {
  const auto vector = PersistentVector<std::string>::generate(600, text);
  const auto identity = vector.identity();
  const std::string value = text(1000);
  const std::uint64_t failures = check_no_leak([&] { keep(vector.set(123, value)); });
  // The nodes of 4 levels, the copy of the value, and the 8 strings of the copied leaf.
  CHECK(failures == 4 + 1 + 8);
  CHECK(vector.identity() == identity);
  bool same = true;
  for (std::size_t i = 0; i < vector.size(); ++i)
    same = same && vector[i] == text(i);
  CHECK(same);
}

TEST_CASE("fault: persistent vector generate leaves nothing behind") {
  const std::uint64_t failures =
      check_no_leak([&] { keep(PersistentVector<std::string>::generate(100, text)); });
  CHECK(failures >= 100 + 13 + 2 + 1);  // strings, leaves, inner nodes, the root
}

TEST_CASE("fault: plan make and its changes leave the plan unchanged") {
  auto store = std::make_shared<OptionStore>();
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < 30; ++i) {
    options.push_back(&store->add_even(TableId(i), ShardingType::kColumnWise, 2));
    ranks.insert(ranks.end(), {0, 1});
  }
  CHECK(check_no_leak([&] { keep(Plan::make(store, options, ranks)); }) == 30 + 4 + 1);
  CHECK(check_no_leak([&] { keep(Plan::make(store, options)); }) == 4 + 1);

  const Plan plan = Plan::make(store, options, ranks);
  const auto owners = store.use_count();
  const std::vector<Rank> moved{1, 0};
  CHECK(check_no_leak([&] { keep(plan.with_ranks(17, moved)); }) == 1 + 2);
  const ShardingOption& other = store->add_even(TableId(17), ShardingType::kTableWise, 1);
  const std::vector<Rank> third{2};
  CHECK(check_no_leak([&] { keep(plan.with_option(17, other, third)); }) == 1 + 2);
  CHECK(store.use_count() == owners);
  CHECK(plan[17].option == options[17]);
  CHECK(plan[17].rank(0) == 0);
  CHECK(plan[17].rank(1) == 1);
}

TEST_CASE("fault: publishing an edit leaves the base plan unchanged") {
  auto store = std::make_shared<OptionStore>();
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < 30; ++i) {
    options.push_back(&store->add_even(TableId(i), ShardingType::kColumnWise, 2));
    ranks.insert(ranks.end(), {0, 1});
  }
  const Plan plan = Plan::make(store, options, ranks);
  const std::vector<Rank> moved{1, 0};
  const std::uint64_t failures = check_no_leak([&] {
    PlanCopies copies;
    PlanEdit edit(plan);
    for (const std::size_t i : {std::size_t{3}, std::size_t{4}, std::size_t{29}})
      edit.set_if_different(i, *options[i], moved);
    keep(edit.publish(copies));
  });
  // Three lists of ranks, two leaves and the root.
  CHECK(failures == 3 + 3);
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK(plan[i].option == options[i]);
    CHECK(plan[i].rank(0) == 0);
  }
}

TEST_CASE("fault: assigning a changed plan to itself keeps the old one if memory runs out") {
  OptionStore store;
  const std::vector<const ShardingOption*> options{
      &store.add_even(TableId(0), ShardingType::kColumnWise, 2)};
  Plan plan = Plan::make(nullptr, options, std::vector<Rank>{0, 1});
  const std::vector<Rank> moved{5, 6};
  std::uint64_t unchanged = 0;
  const std::uint64_t failures =
      fail_every_allocation([&] { plan = plan.with_ranks(0, moved); },
                            [&] { unchanged += plan[0].rank(0) == 0 ? 1u : 0u; });
  CHECK(failures == 2);
  CHECK(unchanged == failures);
  CHECK(plan[0].rank(1) == 6);
}

TEST_CASE("fault: interner intern adds the value or nothing") {
  const AllocationScope scope;
  std::uint64_t failures = 0;
  std::uint64_t wrong = 0;
  {
    shardwright::Interner<Counted, CountedTraits> values;
    std::vector<const Counted*> pointers;
    pointers.reserve(200);
    for (std::size_t i = 0; i < 200; ++i) {
      const Counted value(text(i));
      const Counted* pointer = nullptr;
      const auto unchanged = [&] {
        return values.size() == i && values.find(value) == nullptr && Counted::live == i + 1;
      };
      failures += fail_every_allocation([&] { pointer = values.intern(value); },
                                        [&] { wrong += unchanged() ? 0u : 1u; });
      pointers.push_back(pointer);
    }
    for (std::size_t i = 0; i < 200; ++i) {
      const Counted value(text(i));
      wrong += pointers[i]->text == value.text && values.find(value) == pointers[i] ? 0u : 1u;
    }
    CHECK(values.size() == 200);
  }
  CHECK(wrong == 0);
  CHECK(failures > 200);  // a copy of each value; some values also grow the index or the storage
  CHECK(Counted::live == 0);
  CHECK(scope.live_bytes() == 0);
}

TEST_CASE("fault: topology make leaves nothing behind") {
  TopologySpec spec;
  spec.world_size = 8;
  spec.custom_hbm_cap_bytes.assign(8, 1000);
  spec.custom_ddr_cap_bytes.assign(8, 1000);
  CHECK(check_no_leak([&] { keep(Topology::make(spec)); }) >= 3);
  spec.custom_ddr_cap_bytes[3] = -1;
  CHECK(check_no_leak([&] { keep(Topology::make(spec)); }) >= 3);
}

TEST_CASE("fault: problem make leaves nothing behind") {
  ProblemSpec spec = problem_spec(20, 8, 4);
  spec.tables[7].module = text(7);
  spec.tables[9].constraints.emplace().sharding_types = {ShardingType::kRowWise};
  CHECK(check_no_leak([&] { keep(Problem::make(spec)); }) > 20);
  spec.tables[19].constraints.emplace().pooling_factors = {-1};
  CHECK(check_no_leak([&] { keep(Problem::make(spec)); }) > 20);
}

TEST_CASE("fault: evaluate leaves nothing behind") {
  OptionStore store;
  const Problem problem = Problem::make(problem_spec(2, 4, 2)).value();
  const std::vector<const ShardingOption*> options{
      &store.add_even(TableId(0), ShardingType::kRowWise, 4),
      &store.add_even(TableId(0), ShardingType::kColumnWise, 2)};
  const Plan plan = Plan::make(nullptr, options, std::vector<Rank>{0, 1, 2, 3, 1, 9});
  std::size_t violations = 0;
  CHECK(check_no_leak([&] {
          violations = evaluate(problem, problem.topology(), plan).violations.size();
        }) > 5);
  CHECK(violations == 3);  // t0 twice, t1 missing, no rank 9
}

}  // namespace shardwright::fault_test
