// The choice model under random rules, compared with all placements.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/evaluate.h"
#include "search/embedding/model/choice_model.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"
#include "tests/support/random.h"

namespace shardwright::choice_model_property_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

constexpr double kNothing = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> some_of(Random& random, std::uint32_t bound) {
  std::vector<std::int64_t> numbers;
  for (std::uint32_t i = 0; i < bound; ++i) {
    if (random.below(3) != 0) numbers.push_back(i);
  }
  if (numbers.empty()) numbers.push_back(static_cast<std::int64_t>(random.below(bound)));
  return numbers;
}

ProblemSpec random_rules(Random& random, std::size_t tables, bool apart) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kShapes[] = {{1, 1}, {2, 1}, {3, 3},
                                                                 {4, 2}, {4, 1}, {4, 4}};
  const auto [world, local] = kShapes[random.below(std::size(kShapes))];
  ProblemSpec spec = problem_spec(tables, world, local);
  spec.reservation.type = ReservationSpec::Type::kNone;
  spec.topology.hbm_cap_bytes = 40 + static_cast<std::int64_t>(random.below(80));
  for (Table& table : spec.tables) {
    TablePlacement& placement = table.placement;
    if (random.below(4) == 0) placement.ranks = some_of(random, world);
    if (random.below(4) == 0) placement.hosts = some_of(random, world / local);
    for (std::int64_t shard = 0; shard < 3; ++shard) {
      if (random.below(6) == 0) placement.shard_ranks.push_back({shard, some_of(random, world)});
    }
    if (random.below(4) == 0) {
      placement.max_shards = 1 + static_cast<std::int64_t>(random.below(3));
    }
    placement.distinct_ranks = random.below(4) == 0;
  }
  const auto groups = [&](std::vector<TableGroup>& out) {
    for (std::size_t g = random.below(3); g > 0; --g) {
      TableGroup group;
      for (const Table& table : spec.tables) {
        if (random.below(3) != 0) group.tables.push_back(table.name);
      }
      if (group.tables.empty()) continue;
      group.on = random.below(2) == 0 ? GroupScope::kRank : GroupScope::kHost;
      out.push_back(group);
    }
  };
  groups(spec.keep_together);
  if (apart) groups(spec.keep_apart);
  return spec;
}

std::shared_ptr<const SearchSpace> random_options(Random& random, ProblemSpec spec,
                                                  bool replaceable) {
  const auto world = static_cast<std::uint32_t>(spec.topology.world_size);
  const auto local = static_cast<std::uint32_t>(spec.topology.local_world_size);
  const std::size_t tables = spec.tables.size();
  SpaceBuilder builder(std::move(spec));
  for (std::size_t table = 0; table < tables; ++table) {
    const std::size_t count = 1 + random.below(4);
    for (std::size_t i = 0; i < count; ++i) {
      const std::pair<ShardingType, std::uint32_t> kinds[] = {
          {kTableWise, 1},
          {kColumnWise, 1 + static_cast<std::uint32_t>(random.below(3))},
          {kTableColumnWise, 1 + static_cast<std::uint32_t>(random.below(3))},
          {kTableRowWise, local},
          {kGridShard, local * std::max(1U, std::min(world / local, 2U))},
          {kRowWise, world}};
      const auto [type, shards] = kinds[random.below(std::size(kinds))];
      // Each option takes less time and more memory than the one before, so none replaces another.
      const double ms =
          replaceable ? static_cast<double>(1 + random.below(4)) : static_cast<double>(100 - i);
      const std::int64_t bytes = replaceable ? 10 + static_cast<std::int64_t>(random.below(20))
                                             : 1 + static_cast<std::int64_t>(i);
      builder.add(table, type, shards, ms, bytes);
    }
  }
  return builder.take();
}

struct Placed {
  std::size_t option = 0;
  std::uint32_t rank_mask = 0;
  std::uint32_t host_mask = 0;
  std::vector<std::uint32_t> shards;  // by rank
};

// Returns all placements that the table's rules and the sharding type allow, by table.
std::vector<std::vector<Placed>> placements(const SearchSpace& space) {
  const Problem& problem = space.problem();
  const std::uint32_t world = problem.topology().world_size();
  std::vector<std::vector<Placed>> all(problem.tables().size());
  for (std::size_t o = 0; o < space.options().size(); ++o) {
    const ShardingOption& option = space.options()[o];
    const std::uint32_t shards = option.num_shards();
    std::uint32_t count = 1;
    for (std::uint32_t i = 0; i < shards; ++i)
      count *= world;
    for (std::uint32_t code = 0; code < count; ++code) {
      std::vector<Rank> ranks;
      Placed placed{o, 0, 0, std::vector<std::uint32_t>(world, 0)};
      for (std::uint32_t i = 0, rest = code; i < shards; ++i, rest /= world) {
        const Rank rank = rest % world;
        ranks.push_back(rank);
        placed.rank_mask |= 1U << rank;
        placed.host_mask |= 1U << rank / problem.topology().local_world_size();
        ++placed.shards[rank];
      }
      const ShardingOption* const options[] = {&option};
      const Evaluation evaluation =
          evaluate(problem, problem.topology(), Plan::make(nullptr, options, ranks));
      const bool allowed = std::none_of(evaluation.violations.begin(), evaluation.violations.end(),
                                        [](const Violation& v) {
                                          return v.kind == Violation::Kind::kWrongPlacement ||
                                                 v.kind == Violation::Kind::kPlacementConstraint;
                                        });
      if (allowed) all[option.table.index()].push_back(std::move(placed));
    }
  }
  return all;
}

std::uint32_t mask(const Placed& placed, GroupScope on) {
  return on == GroupScope::kRank ? placed.rank_mask : placed.host_mask;
}

// Returns true if the groups allow these placements of tables 0, 1, ... at the same time.
bool compatible(const ProblemSpec& spec, const std::vector<const Placed*>& chosen) {
  const auto each_pair = [&](const TableGroup& group, const auto& test) {
    for (std::size_t a = 0; a < chosen.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const auto in = [&](std::size_t table) {
          return std::find(group.tables.begin(), group.tables.end(), spec.tables[table].name) !=
                 group.tables.end();
        };
        if (in(a) && in(b) && !test(mask(*chosen[a], group.on), mask(*chosen[b], group.on)))
          return false;
      }
    }
    return true;
  };
  for (const TableGroup& group : spec.keep_together) {
    const auto one = [](std::uint32_t a, std::uint32_t) { return (a & (a - 1)) == 0; };
    if (!each_pair(group, one)) return false;
    if (!each_pair(group, [](std::uint32_t a, std::uint32_t b) { return a == b; })) return false;
  }
  for (const TableGroup& group : spec.keep_apart) {
    if (!each_pair(group, [](std::uint32_t a, std::uint32_t b) { return (a & b) == 0; }))
      return false;
  }
  return true;
}

template <class Visit>
void visit_all(const ProblemSpec& spec, const std::vector<std::vector<Placed>>& by_table,
               std::vector<const Placed*>& chosen, const Visit& visit) {
  if (chosen.size() == by_table.size()) return visit(chosen);
  for (const Placed& placed : by_table[chosen.size()]) {
    chosen.push_back(&placed);
    if (compatible(spec, chosen)) visit_all(spec, by_table, chosen, visit);
    chosen.pop_back();
  }
}

std::vector<bool> chosen_by(const ChoiceModel& model, std::size_t options) {
  std::vector<bool> kept(options);
  for (const Choice& choice : model.choices())
    kept[choice.option.index()] = true;
  return kept;
}

// Keeps one of all placements with the same option and the same set of ranks.
void drop_alike(std::vector<std::vector<Placed>>& by_table) {
  for (std::vector<Placed>& placements : by_table) {
    const auto key = [](const Placed& p) { return std::pair(p.option, p.rank_mask); };
    std::sort(placements.begin(), placements.end(),
              [&](const Placed& a, const Placed& b) { return key(a) < key(b); });
    placements.erase(
        std::unique(placements.begin(), placements.end(),
                    [&](const Placed& a, const Placed& b) { return key(a) == key(b); }),
        placements.end());
  }
}

// Checks that no placement obeys the groups if the problem is refused because of its groups.
void check_contradiction(Random& random, ProblemSpec spec) {
  ProblemSpec alone = spec;
  alone.keep_together.clear();
  alone.keep_apart.clear();
  if (!Problem::make(alone).ok()) return;
  auto by_table = placements(*random_options(random, std::move(alone), false));
  drop_alike(by_table);
  std::size_t found = 0;
  std::vector<const Placed*> chosen;
  visit_all(spec, by_table, chosen, [&](const auto&) { ++found; });
  CHECK(found == 0);
}

}  // namespace

TEST_CASE("choice model: an option is left out exactly if no placement under the rules uses it") {
  std::size_t dropped = 0, kept = 0, nothing = 0, refused = 0;
  for (const std::uint64_t seed : seeds({71, 72})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 250; ++i) {
      CAPTURE(i);
      const bool apart = i % 2 == 1;  // then every option without a choice must have no placement
      ProblemSpec spec = random_rules(random, 3, apart);
      if (!Problem::make(spec).ok()) {
        check_contradiction(random, std::move(spec));
        ++refused;
        continue;
      }
      const auto space = random_options(random, std::move(spec), false);
      const OptionPool pool(space);
      const ChoiceModel model(pool, space->problem().topology());
      auto by_table = placements(*space);
      drop_alike(by_table);
      std::vector<bool> usable(space->size());
      std::vector<const Placed*> chosen;
      visit_all(space->problem().spec(), by_table, chosen, [&](const auto& all) {
        for (const Placed* placed : all)
          usable[placed->option] = true;
      });
      const bool any = std::find(usable.begin(), usable.end(), true) != usable.end();
      if (!model.status().ok()) {
        CHECK_FALSE(any);
        ++nothing;
        continue;
      }
      const std::vector<bool> left = chosen_by(model, space->size());
      for (std::size_t o = 0; o < left.size(); ++o) {
        CAPTURE(o);
        if (usable[o] || !apart) CHECK(left[o] == usable[o]);
        ++(left[o] ? kept : dropped);
      }
    }
  }
  CHECK(dropped > 100);
  CHECK(kept > 500);
  CHECK(nothing > 10);
  CHECK(refused > 10);
}

TEST_CASE("choice model: the remaining options reach the best rating under the rules") {
  std::size_t feasible = 0, smaller = 0;
  for (const std::uint64_t seed : seeds({73})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 250; ++i) {
      CAPTURE(i);
      ProblemSpec spec = random_rules(random, 2, true);
      if (!Problem::make(spec).ok()) continue;
      const auto space = random_options(random, std::move(spec), true);
      const Problem& problem = space->problem();
      const OptionPool pool(space);
      const ChoiceModel model(pool, problem.topology());
      const std::vector<bool> left = chosen_by(model, space->size());
      double best = kNothing, best_left = kNothing;
      std::vector<const Placed*> chosen;
      visit_all(problem.spec(), placements(*space), chosen, [&](const auto& all) {
        double worst = 0;
        bool among_left = true;
        for (std::uint32_t rank = 0; rank < problem.topology().world_size(); ++rank) {
          double ms = 0;
          std::int64_t bytes = 0;
          for (const Placed* placed : all) {
            const ShardCost& cost = space->options()[placed->option].costs[0];
            ms += cost.perf.total().value() * placed->shards[rank];
            bytes += cost.storage.hbm.value() * placed->shards[rank];
          }
          if (bytes > problem.topology().storage()[rank].hbm.value()) return;
          worst = std::max(worst, ms);
        }
        for (const Placed* placed : all)
          among_left = among_left && left[placed->option];
        best = std::min(best, worst);
        if (among_left) best_left = std::min(best_left, worst);
      });
      if (!model.status().ok()) {
        CHECK(best == kNothing);
        continue;
      }
      CHECK(best == best_left);
      if (best < kNothing) ++feasible;
      if (std::find(left.begin(), left.end(), false) != left.end()) ++smaller;
    }
  }
  CHECK(feasible > 50);
  CHECK(smaller > 50);
}

}  // namespace shardwright::choice_model_property_test
