// List scheduling: its energies are those of the allocations that it makes.
#include "search/embedding/best/choices/list_placer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "search/embedding/model/rank_state/allocation_state.h"
#include "tests/support/embedding/small_models.h"
#include "tests/support/embedding/space_builder.h"
#include "tests/support/random.h"

namespace shardwright::list_placer_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double energy_of(const Model& model, const Allocation& allocation, const ListGoal& goal) {
  AllocationState state(model.context);
  state.assign(allocation);
  state.set_goal({goal.target, goal.target, goal.memory_weight, true, 0});
  double sum = 0;
  for (const RankLoad& rank : state.ranks())
    sum += rank.energy;
  return sum;
}

PlacedChoice any_choice(const Model& model, const ListPlacer& placer, std::size_t table,
                        Random& random) {
  PlacedChoice drawn;
  drawn.choice = model.choices.first_choice(table) +
                 static_cast<std::uint32_t>(random.below(model.choices.choices(table).size()));
  for (std::uint32_t i = 0; i < placer.num_blocks(drawn.choice); ++i)
    drawn.hosts.push_back(static_cast<std::uint32_t>(random.below(placer.num_hosts())));
  return drawn;
}

// Two tables fill whole hosts, two take most of a rank each.
Model two_hosts() {
  SpaceBuilder builder(spec_of(4, 4, 2, 100));
  builder.add(0, kTableRowWise, 2, 4, 1).add(1, kTableRowWise, 2, 4, 1);
  builder.add(2, kTableWise, 1, 8, 1).add(3, kTableWise, 1, 8, 1);
  return Model(builder.take());
}

}  // namespace

TEST_CASE("list placer: the energy is that of the allocation, after any changes") {
  Random random(17);
  int full = 0;
  for (int i = 0; i < 300; ++i) {
    INFO("model ", i);
    const Model model(small_space(random));
    ListPlacer placer(model.context, {});
    std::vector<std::uint32_t> choices;
    for (std::size_t table = 0; table < model.choices.num_tables(); ++table)
      choices.push_back(model.choices.first_choice(table));
    const double factor = 0.5 + 0.25 * static_cast<double>(random.below(6));
    const double target = std::max(model.context.bound(), 1e-9) * factor;
    const ListGoal goal{target, 10};
    placer.begin(choices, goal);
    for (int step = 0; step < 10; ++step) {
      const auto table = static_cast<std::uint32_t>(random.below(choices.size()));
      PlacedChoice other = any_choice(model, placer, table, random);
      const std::uint32_t chosen = other.choice;
      placer.exchange(table, other);
      const double energy = placer.energy(kInfinity);
      const Allocation made = placer.allocation();
      CHECK(made.choice[table] == chosen);
      const double expected = energy_of(model, made, goal);
      CHECK(std::abs(energy - expected) <= 1e-9 * std::max(1.0, expected));
      // It ends early just where the energy exceeds the most.
      CHECK(placer.energy(0.99 * energy - 1e-9) == kInfinity);
      CHECK(placer.energy(1.01 * energy + 1e-9) == energy);
      if (expected > 0) ++full;
    }
  }
  CHECK(full > 500);
}

TEST_CASE("list placer: an exchange is taken back by another one") {
  const Model model = two_hosts();
  ListPlacer placer(model.context, {});
  const ListGoal goal{8, 1};
  placer.begin(std::vector<std::uint32_t>{0, 1, 2, 3}, goal);
  const double before = placer.energy(kInfinity);
  PlacedChoice other{1, {0}};
  placer.exchange(1, other);
  CHECK(other.choice == 1);
  CHECK(other.hosts == std::vector<std::uint32_t>{1});
  CHECK(placer.energy(kInfinity) < before);
  placer.exchange(1, other);
  CHECK(placer.energy(kInfinity) == before);
}

TEST_CASE("list placer: hosts are decided, not found") {
  // Even hosts leave 4 ms on every rank: the shards of 8 ms make 12. One full host leaves the other
  // one free.
  const Model model = two_hosts();
  ListPlacer placer(model.context, {});
  placer.begin(std::vector<std::uint32_t>{0, 1, 2, 3}, {8, 1});
  CHECK(placer.energy(kInfinity) == doctest::Approx(2 * 0.25));
  PlacedChoice first{0, {0}};
  PlacedChoice second{1, {0}};
  placer.exchange(0, first);
  placer.exchange(1, second);
  CHECK(placer.energy(kInfinity) == 0);
  const Allocation made = placer.allocation();
  CHECK(made.ranks[1] == std::vector<Rank>{0, 1});
  CHECK(made.ranks[2] == std::vector<Rank>{2});
  CHECK(made.ranks[3] == std::vector<Rank>{3});
}

TEST_CASE("list placer: where memory is scarce, it decides beside the load") {
  // Large and small tables of equal load: a rank takes one of each.
  SpaceBuilder builder(spec_of(4, 2, 2, 100));
  builder.add(0, kTableWise, 1, 1, 80).add(1, kTableWise, 1, 1, 80);
  builder.add(2, kTableWise, 1, 1, 15).add(3, kTableWise, 1, 1, 15);
  const Model model(builder.take());
  ListPlacer placer(model.context, {});
  placer.begin(std::vector<std::uint32_t>{0, 1, 2, 3}, {2, 10});
  CHECK(placer.energy(kInfinity) == 0);
  const Allocation made = placer.allocation();
  CHECK(made.ranks[0] != made.ranks[1]);
  CHECK(made.ranks[2] != made.ranks[3]);
}

}  // namespace shardwright::list_placer_test
