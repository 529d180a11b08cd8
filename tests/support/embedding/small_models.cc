#include "tests/support/embedding/small_models.h"

#include <vector>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::test_support {

using namespace embedding;
using enum ShardingType;

namespace {

std::vector<std::int64_t> some_of(Random& random, std::int64_t bound) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < bound; ++i) {
    if (random.below(2) == 0) numbers.push_back(i);
  }
  if (numbers.empty())
    numbers.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound))));
  return numbers;
}

void add_groups(Random& random, const std::vector<Table>& tables, std::vector<TableGroup>& groups) {
  for (std::size_t g = random.below(3); g > 0; --g) {
    TableGroup group;
    for (const Table& table : tables) {
      if (random.below(3) != 0) group.tables.push_back(table.name);
    }
    if (group.tables.size() < 2) continue;
    group.on = random.below(2) == 0 ? GroupScope::kRank : GroupScope::kHost;
    groups.push_back(group);
  }
}

// Gives the ranks of every third problem some SSD. `random` is a copy, so the other draws of the
// caller stay the same.
void add_ssd(Random random, ProblemSpec& spec) {
  if (random.below(3) == 0)
    spec.topology.ssd_cap_bytes = 15 + static_cast<std::int64_t>(random.below(30));
}

// Returns the SSD bytes of a shard: 0 in problems without SSD, and for half of other shards.
std::int64_t random_ssd(Random random, const Problem& problem) {
  if (!problem.topology().has_ssd() || random.below(2) == 0) return 0;
  return 1 + static_cast<std::int64_t>(random.below(25));
}

}  // namespace

ProblemSpec spec_of(std::size_t tables, std::int64_t ranks, std::int64_t per_host,
                    std::int64_t hbm) {
  ProblemSpec spec = problem_spec(tables, ranks, per_host);
  spec.topology.hbm_cap_bytes = hbm;
  spec.topology.ddr_cap_bytes = 100;
  return spec;
}

std::shared_ptr<const SearchSpace> small_space(Random& random) {
  const std::int64_t per_host = 1 + static_cast<std::int64_t>(random.below(2));
  const std::int64_t hosts = 1 + static_cast<std::int64_t>(random.below(2));
  const std::int64_t ranks = per_host * hosts;
  const std::size_t tables = 1 + random.below(ranks == 4 ? 3 : 4);
  ProblemSpec spec =
      spec_of(tables, ranks, per_host, 10 + static_cast<std::int64_t>(random.below(60)));
  if (random.below(3) == 0) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      spec.topology.custom_hbm_cap_bytes.push_back(5 + static_cast<std::int64_t>(random.below(60)));
    }
  }
  if (random.below(4) == 0) spec.perf_model = PerfModel::kStorage;
  add_ssd(random, spec);
  SpaceBuilder builder(spec);
  const auto local = static_cast<std::uint32_t>(per_host);
  for (std::size_t table = 0; table < tables; ++table) {
    const std::size_t options = 1 + random.below(4);
    for (std::size_t i = 0; i < options; ++i) {
      const ShardingType types[] = {kTableWise,       kColumnWise,   kRowWise,  kDataParallel,
                                    kTableColumnWise, kTableRowWise, kGridShard};
      const ShardingType type = types[random.below(7)];
      std::uint32_t shards = 1;
      if (type == kColumnWise || type == kTableColumnWise)
        shards = 1 + static_cast<std::uint32_t>(random.below(2));
      if (type == kRowWise || type == kDataParallel) shards = static_cast<std::uint32_t>(ranks);
      if (type == kTableRowWise) shards = local;
      if (type == kGridShard) shards = local * (1 + static_cast<std::uint32_t>(random.below(2)));
      const std::int64_t ssd = random_ssd(random, *builder.problem());
      builder.add(table, type, shards, 0.5 + static_cast<double>(random.below(40)) / 4,
                  1 + static_cast<std::int64_t>(random.below(20)),
                  static_cast<std::int64_t>(random.below(30)), ssd);
    }
  }
  return builder.take();
}

ProblemSpec small_ruled_spec(Random& random) {
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {{2, 1}, {2, 2}, {4, 2},
                                                               {3, 1}, {4, 4}, {6, 2}};
  const auto [ranks, per_host] = kShapes[random.below(std::size(kShapes))];
  const std::size_t tables = 2 + random.below(ranks > 4 ? 2 : 3);
  ProblemSpec spec =
      spec_of(tables, ranks, per_host, 15 + static_cast<std::int64_t>(random.below(80)));
  spec.topology.ddr_cap_bytes = 1000;
  for (Table& table : spec.tables) {
    TablePlacement& placement = table.placement;
    if (random.below(4) == 0) placement.ranks = some_of(random, ranks);
    if (random.below(6) == 0) placement.hosts = some_of(random, ranks / per_host);
    for (std::int64_t shard = 0; shard < 2; ++shard) {
      if (random.below(8) == 0) placement.shard_ranks.push_back({shard, some_of(random, ranks)});
    }
    placement.distinct_ranks = random.below(3) == 0;
  }
  if (random.below(2) == 0) add_groups(random, spec.tables, spec.keep_together);
  if (random.below(2) == 0) add_groups(random, spec.tables, spec.keep_apart);
  if (random.below(2) == 0) {
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      spec.calibration.rank_time.push_back(0.5 + static_cast<double>(random.below(8)) / 4);
  }
  add_ssd(random, spec);
  return spec;
}

std::shared_ptr<const SearchSpace> small_ruled_space(Random& random, ProblemSpec spec) {
  const auto ranks = static_cast<std::uint32_t>(spec.topology.world_size);
  const auto local = static_cast<std::uint32_t>(spec.topology.local_world_size);
  const std::size_t tables = spec.tables.size();
  SpaceBuilder builder(std::move(spec));
  for (std::size_t table = 0; table < tables; ++table) {
    const std::size_t options = 1 + random.below(3);
    for (std::size_t i = 0; i < options; ++i) {
      const std::pair<ShardingType, std::uint32_t> kinds[] = {
          {kTableWise, 1},
          {kColumnWise, 1 + static_cast<std::uint32_t>(random.below(2))},
          {kTableColumnWise, 1 + static_cast<std::uint32_t>(random.below(2))},
          {kTableRowWise, local},
          {kGridShard, local * std::min(ranks / local, 2U)},
          {kRowWise, ranks}};
      const auto [type, shards] = kinds[random.below(std::size(kinds))];
      const std::int64_t ssd = random_ssd(random, *builder.problem());
      builder.add(table, type, shards, 0.5 + static_cast<double>(random.below(40)) / 4,
                  1 + static_cast<std::int64_t>(random.below(20)),
                  static_cast<std::int64_t>(random.below(30)), ssd);
    }
  }
  return builder.take();
}

std::shared_ptr<const SearchSpace> forty_tables(std::int64_t hbm) {
  SpaceBuilder builder(spec_of(40, 8, 4, hbm));
  for (std::size_t table = 0; table < 40; ++table) {
    const auto size = static_cast<std::int64_t>(10 + (table * 37) % 23);
    const double ms = 1 + static_cast<double>((table * 53) % 31) / 7;
    builder.add(table, kTableWise, 1, ms, size);
    builder.add(table, kTableRowWise, 4, ms / 3, size / 4);
    builder.add(table, kRowWise, 8, ms / 5, size / 8, 1);
    builder.add(table, kTableWise, 1, 3 * ms, 1, 1);
  }
  return builder.take();
}

}  // namespace shardwright::test_support
