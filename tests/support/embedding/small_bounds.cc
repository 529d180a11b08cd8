#include "tests/support/embedding/small_bounds.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/evaluate.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::test_support {

using namespace embedding;

namespace {

std::vector<std::int64_t> some_of(Random& random, std::uint32_t bound) {
  std::vector<std::int64_t> numbers;
  for (std::uint32_t i = 0; i < bound; ++i) {
    if (random.below(3) != 0) numbers.push_back(i);
  }
  if (numbers.empty()) numbers.push_back(static_cast<std::int64_t>(random.below(bound)));
  return numbers;
}

void add_rules(Random& random, ProblemSpec& spec) {
  const auto world = static_cast<std::uint32_t>(spec.topology.world_size);
  const auto hosts = world / static_cast<std::uint32_t>(spec.topology.local_world_size);
  for (Table& table : spec.tables) {
    TablePlacement& placement = table.placement;
    if (random.below(4) == 0) placement.ranks = some_of(random, world);
    if (random.below(5) == 0 && hosts > 0) placement.hosts = some_of(random, hosts);
    if (random.below(6) == 0) placement.shard_ranks.push_back({1, some_of(random, world)});
    if (random.below(4) == 0) placement.max_shards = 1 + static_cast<std::int64_t>(random.below(3));
    placement.distinct_ranks = random.below(4) == 0;
  }
  for (auto* groups : {&spec.keep_together, &spec.keep_apart}) {
    if (random.below(4) != 0 || spec.tables.size() < 2) continue;
    TableGroup group;
    group.tables = {spec.tables[0].name, spec.tables[1].name};
    if (spec.tables.size() > 2 && random.below(3) == 0) group.tables.push_back(spec.tables[2].name);
    group.on = random.below(2) == 0 ? GroupScope::kRank : GroupScope::kHost;
    groups->push_back(group);
  }
}

// Number of ranks, and ranks per host.
using Shape = std::pair<std::uint32_t, std::uint32_t>;
constexpr Shape kFewRanks[] = {{1, 1}, {2, 1}, {2, 2}, {3, 3}, {4, 2}, {4, 1}, {4, 4}};
constexpr Shape kMoreRanks[] = {{6, 2}, {6, 3}, {8, 1}, {8, 2}, {8, 4}, {8, 8}};
// Some ranks belong to no host. The numbers of ranks divide the rows of a table.
constexpr Shape kUnevenHosts[] = {{3, 2}, {4, 3}, {6, 4}, {8, 3}, {2, 3}, {3, 4}};

struct Machines {
  std::span<const Shape> shapes;
  std::uint32_t most_tables;
};
constexpr Machines kFew{kFewRanks, 4};
constexpr Machines kWide{kMoreRanks, 3};
constexpr Machines kUneven{kUnevenHosts, 3};

ProblemSpec random_spec(Random& random, bool rules, const Machines& machines) {
  const auto [world, local] = machines.shapes[random.below(machines.shapes.size())];
  ProblemSpec spec = problem_spec(1 + random.below(machines.most_tables), world, local);
  spec.reservation.type = ReservationSpec::Type::kNone;
  if (random.below(5) == 0) spec.perf_model = PerfModel::kStorage;
  if (random.below(3) == 0) {
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      spec.calibration.rank_time.push_back(0.5 + 0.25 * static_cast<double>(random.below(5)));
    }
  }
  if (rules) add_rules(random, spec);
  Random for_ssd = random;
  if (for_ssd.below(3) == 0) spec.topology.ssd_cap_bytes = for_ssd.below(2) == 0 ? 20 : 30;
  return spec;
}

Topology random_memory(Random& random, const Topology& topology) {
  constexpr std::int64_t kSizes[] = {25, 50, 80, 1000};
  const std::int64_t hbm = kSizes[random.below(std::size(kSizes))];
  const std::int64_t ddr = random.below(3) == 0 ? 20 : 1000;
  const Bytes ssd = topology.storage().front().ssd;
  const bool uneven = random.below(3) == 0;
  std::vector<Storage> storage;
  for (std::uint32_t rank = 0; rank < topology.world_size(); ++rank) {
    Storage& own = storage.emplace_back(Storage{Bytes(hbm), Bytes(ddr), ssd});
    if (!uneven) continue;
    if (rank % 2 == 1) own.ssd = Bytes(ssd.value() / 2);
    own.hbm = Bytes(hbm / 2 + static_cast<std::int64_t>(random.below(40)));
    if (random.below(6) == 0) own.hbm = Bytes(-5);
  }
  return topology.with_storage(std::move(storage));
}

void add_option(Random& random, SpaceBuilder& builder, std::size_t table, std::uint32_t world,
                std::uint32_t local) {
  using enum ShardingType;
  // Limits the number of shards, since the tests enumerate all placements.
  const std::uint32_t blocks = world > 4 && local == 1 ? 2 : std::max(world / local, 1U) * local;
  const std::uint32_t most = world > 4 ? 2 : 3;
  const auto few = [&] { return 1 + static_cast<std::uint32_t>(random.below(most)); };
  const std::pair<ShardingType, std::uint32_t> kinds[] = {
      {kTableWise, 1},        {kTableWise, 1},
      {kColumnWise, few()},   {kTableColumnWise, few()},
      {kTableRowWise, local}, {kGridShard, random.below(2) == 0 ? blocks : local},
      {kRowWise, world},      {kDataParallel, world}};
  const std::pair<ShardingType, std::uint32_t>& kind = kinds[random.below(std::size(kinds))];
  const ShardingType type = kind.first;
  const std::uint32_t shards = kind.second;
  const bool with_ssd = builder.problem()->topology().has_ssd();
  const auto cost = [&](std::uint32_t count) {
    const std::size_t scale = 60 / shards;
    SpaceBuilder::Run run{count, 0.25 * static_cast<double>(1 + random.below(scale)),
                          static_cast<std::int64_t>(1 + random.below(scale)),
                          static_cast<std::int64_t>(random.below(4) == 0 ? random.below(15) : 0)};
    // Draws from a copy, so that adding SSD does not change the other random draws.
    Random for_ssd = random;
    if (with_ssd && for_ssd.below(2) == 0)
      run.ssd = 1 + static_cast<std::int64_t>(for_ssd.below(15));
    if (random.below(12) == 0) run = {count, run.ms, 0, 0};
    if (random.below(12) == 0) run.ms = 0;
    return run;
  };
  std::vector<SpaceBuilder::Run> runs;
  const bool uneven = shards > 1 && random.below(2) == 0;
  if (uneven) runs.push_back(cost(1 + static_cast<std::uint32_t>(random.below(shards - 1))));
  runs.push_back(cost(shards - (uneven ? runs[0].shards : 0)));
  builder.add_runs(table, type, runs);
}

ProblemSpec valid_spec(Random& random, bool rules, const Machines& machines = kFew) {
  ProblemSpec spec = random_spec(random, rules, machines);
  while (!Problem::make(spec).ok())
    spec = random_spec(random, rules, machines);
  return spec;
}

void add_options(Random& random, SpaceBuilder& builder) {
  const Topology& topology = builder.problem()->topology();
  for (std::size_t table = 0; table < builder.problem()->tables().size(); ++table) {
    for (std::size_t i = 1 + random.below(3); i > 0; --i)
      add_option(random, builder, table, topology.world_size(), topology.local_world_size());
  }
}

// About half of the tables get the same options as the table before them.
void add_options_of_alike_tables(Random& random, SpaceBuilder& builder) {
  const Topology& topology = builder.problem()->topology();
  Random options = random;
  for (std::size_t table = 0; table < builder.problem()->tables().size(); ++table) {
    if (random.below(2) == 0) options = random;
    Random own = options;
    for (std::size_t i = 1 + own.below(3); i > 0; --i)
      add_option(own, builder, table, topology.world_size(), topology.local_world_size());
  }
}

MemoryLimits random_margin(Random& random) {
  MemoryLimits limits;
  if (random.below(3) == 0) limits.margins.hbm.bytes = static_cast<std::int64_t>(random.below(20));
  if (limits.margins.hbm.bytes == 0 && random.below(3) == 0) limits.margins.hbm.fraction = 0.15;
  if (random.below(4) == 0) limits.margins.ddr.fraction = limits.margins.ssd.fraction = 0.3;
  return limits;
}

// A placement of one option, with the load and the memory that it puts on every rank.
struct Placed {
  const ShardingOption* option = nullptr;
  std::vector<Rank> ranks;
  std::vector<double> load;
  std::vector<Storage> storage;
};

class EveryPlan {
 public:
  explicit EveryPlan(const SmallProblem& small)
      : space_(*small.space), problem_(space_.problem()), available_(small.available) {}

  std::optional<double> least() {
    const std::uint32_t world = available_.world_size();
    by_table_.resize(problem_.tables().size());
    for (const ShardingOption& option : space_.options()) {
      std::vector<Rank> ranks;
      place(option, ranks);
    }
    for (std::vector<Placed>& all : by_table_) {
      std::stable_sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
        return *std::max_element(a.load.begin(), a.load.end()) <
               *std::max_element(b.load.begin(), b.load.end());
      });
    }
    visit(std::vector<double>(world, 0), std::vector<Storage>(world));
    return least_;
  }

 private:
  // Tries every list of ranks that the sharding type of the option allows.
  void place(const ShardingOption& option, std::vector<Rank>& ranks) {
    if (ranks.size() == option.num_shards()) return add(option, ranks);
    const std::uint32_t local = available_.local_world_size();
    const Rank hosted = available_.world_size() / local * local;
    const auto shard = static_cast<Rank>(ranks.size());
    for (Rank rank = 0; rank < available_.world_size(); ++rank) {
      const bool in_order = shard % local == 0 ? rank % local == 0 : rank == ranks.back() + 1;
      const bool same_host = shard == 0 || rank / local == ranks.front() / local;
      bool right = true;
      switch (option.partition_by()) {
        case PartitionBy::kUniform:
          right = rank == shard;
          break;
        case PartitionBy::kMultiHost:
          right = in_order && rank < hosted;
          break;
        case PartitionBy::kHost:
          right = same_host && rank < hosted &&
                  (option.sharding_type != ShardingType::kTableRowWise || in_order);
          break;
        case PartitionBy::kDevice:
          break;
      }
      if (!right) continue;
      ranks.push_back(rank);
      place(option, ranks);
      ranks.pop_back();
    }
  }

  void add(const ShardingOption& option, const std::vector<Rank>& ranks) {
    Placed placed{&option, ranks, {}, {}};
    placed.load.resize(available_.world_size());
    placed.storage.resize(available_.world_size());
    for (std::uint32_t shard = 0; shard < ranks.size(); ++shard) {
      const ShardCost& cost = option.shard_cost(shard);
      const Rank rank = ranks[shard];
      placed.storage[rank] += cost.storage;
      placed.load[rank] += problem_.spec().perf_model == PerfModel::kStorage
                               ? static_cast<double>(cost.storage.hbm.value())
                               : cost.perf.total().value() * scale(rank);
    }
    chosen_.assign(1, &placed);
    if (obeys_rules()) by_table_[option.table.index()].push_back(std::move(placed));
    chosen_.clear();
  }

  double scale(Rank rank) const {
    const std::vector<double>& scale = problem_.spec().calibration.rank_time;
    return scale.empty() ? 1 : scale[rank];
  }

  void visit(const std::vector<double>& load, const std::vector<Storage>& storage) {
    const double rating = *std::max_element(load.begin(), load.end());
    if (least_ && rating >= *least_) return;
    if (chosen_.size() == by_table_.size()) {
      least_ = rating;
      return;
    }
    for (const Placed& placed : by_table_[chosen_.size()]) {
      std::vector<double> more = load;
      std::vector<Storage> held = storage;
      bool fits = true;
      for (std::size_t rank = 0; rank < more.size(); ++rank) {
        more[rank] += placed.load[rank];
        held[rank] += placed.storage[rank];
        fits = fits && (held[rank] == Storage() || held[rank].fits_in(available_.storage()[rank]));
      }
      if (!fits) continue;
      chosen_.push_back(&placed);
      if (obeys_rules()) visit(more, held);
      chosen_.pop_back();
    }
  }

  bool obeys_rules() const {
    if (!problem_.rules().any()) return true;
    std::vector<const ShardingOption*> options;
    std::vector<Rank> ranks;
    for (const Placed* placed : chosen_) {
      options.push_back(placed->option);
      ranks.insert(ranks.end(), placed->ranks.begin(), placed->ranks.end());
    }
    return constraint_violations(problem_, Plan::make(nullptr, options, ranks)).empty();
  }

  const SearchSpace& space_;
  const Problem& problem_;
  const Topology& available_;
  std::vector<std::vector<Placed>> by_table_;
  std::vector<const Placed*> chosen_;
  std::optional<double> least_;
};

}  // namespace

namespace {

SmallProblem with_any_memory(Random& random, ProblemSpec spec) {
  SpaceBuilder builder(std::move(spec));
  const Topology& topology = builder.problem()->topology();
  add_options(random, builder);
  Topology available = random_memory(random, topology);
  return {builder.take(), std::move(available)};
}

void set_memory(Random& random, ProblemSpec& spec) {
  const Topology topology = Topology::make(spec.topology).value();
  const Topology with_memory = random_memory(random, topology);
  for (const Storage& own : with_memory.storage()) {
    spec.topology.custom_hbm_cap_bytes.push_back(std::max<std::int64_t>(1, own.hbm.value()));
    spec.topology.custom_ddr_cap_bytes.push_back(own.ddr.value());
    if (topology.has_ssd()) spec.topology.custom_ssd_cap_bytes.push_back(own.ssd.value());
  }
}

SmallProblem with_own_memory(Random& random, ProblemSpec spec) {
  set_memory(random, spec);
  SpaceBuilder builder(std::move(spec), true);
  add_options(random, builder);
  return {builder.take(), builder.problem()->topology()};
}

}  // namespace

SmallProblem small_problem(Random& random, bool rules) {
  return with_any_memory(random, valid_spec(random, rules));
}

SmallProblem small_planning_problem(Random& random, bool rules) {
  return with_own_memory(random, valid_spec(random, rules));
}

SmallProblem uneven_problem(Random& random, bool rules) {
  return with_any_memory(random, valid_spec(random, rules, kUneven));
}

SmallProblem uneven_planning_problem(Random& random, bool rules) {
  return with_own_memory(random, valid_spec(random, rules, kUneven));
}

SmallProblem wide_planning_problem(Random& random) {
  ProblemSpec spec = valid_spec(random, true, kWide);
  set_memory(random, spec);
  spec.memory = random_margin(random);
  const MemoryLimits limits = spec.memory;
  SpaceBuilder builder(std::move(spec), true);
  add_options_of_alike_tables(random, builder);
  const Topology& topology = builder.problem()->topology();
  std::vector<Storage> left;
  for (const Storage& own : topology.storage())
    left.push_back(own - limits.margin(own));
  return {builder.take(), topology.with_storage(std::move(left))};
}

SmallProblem mixed_problem(Random& random, int number) {
  if (number % 3 == 2) return wide_planning_problem(random);
  return small_problem(random, number % 4 == 3);
}

std::optional<double> least_rating(const SmallProblem& problem) {
  return EveryPlan(problem).least();
}

}  // namespace shardwright::test_support
