#include "tests/support/embedding/random_embedding.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace shardwright::test_support {

using namespace embedding;

namespace {

bool chance(Random& random, std::size_t percent) { return random.below(100) < percent; }

template <class T>
T pick(Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(values.size()));
}

// Returns each value with a probability of `percent`, in random order, but at least one value.
template <class T>
std::vector<T> some(Random& random, std::vector<T> values, std::size_t percent) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[random.below(i)]);
  std::vector<T> chosen;
  for (const T value : values) {
    if (chance(random, percent)) chosen.push_back(value);
  }
  if (chosen.empty()) chosen.push_back(values.front());
  return chosen;
}

// Bytes of one memory unit in random_space. One byte is too little for the memory-balanced
// partitioner to notice; 7 MiB always matters.
std::int64_t unit_bytes(const Problem& problem) {
  return problem.batch_size() % 2 == 0 ? 1 : 7 * kMebibyte;
}

class ProblemMaker {
 public:
  ProblemMaker(Random& random, const RandomProblemStyle& style) : random_(random), style_(style) {}

  ProblemSpec make() {
    spec_.name = "random";
    make_topology();
    spec_.batch_size = 1 + static_cast<std::int64_t>(random_.below(64));
    make_sharder();
    make_tables();
    make_memory();
    make_planner();
    make_release();
    return std::move(spec_);
  }

 private:
  bool quant() const { return spec_.sharder.type == SharderSpec::Type::kQuant; }

  void make_topology() {
    TopologySpec& topology = spec_.topology;
    topology.local_world_size = pick<std::int64_t>(random_, {1, 2, 2, 3, 4});
    topology.world_size = topology.local_world_size * pick<std::int64_t>(random_, {1, 1, 2, 3, 4});
    topology.compute_device =
        pick(random_, {ComputeDevice::kCuda, ComputeDevice::kCuda, ComputeDevice::kCuda,
                       ComputeDevice::kCuda, ComputeDevice::kCpu, ComputeDevice::kMtia});
  }

  void make_release() {
    if (chance(random_, 50)) {
      spec_.torchrec = TorchRecRelease::kA48cef79;
      return;
    }
    // Release 1.9.2 shards row-wise only if the table has a bucket for every rank.
    for (Table& table : spec_.tables) {
      if (!table.total_num_buckets) continue;
      *table.total_num_buckets *= spec_.topology.world_size;
      table.num_embeddings *= spec_.topology.world_size;
    }
  }

  void make_sharder() {
    SharderSpec& sharder = spec_.sharder;
    if (chance(random_, 10)) sharder.type = SharderSpec::Type::kQuant;
    if (chance(random_, 20)) sharder.cache_load_factor = pick(random_, {0.0, 0.1, 0.5});
    if (chance(random_, 20)) sharder.prefetch_pipeline = chance(random_, 50);
    if (chance(random_, 20)) sharder.pooled_all_to_all.forward = DataType::kFp16;
    if (chance(random_, 20)) sharder.pooled_reduce_scatter.backward = DataType::kInt8;
    StorageEstimatorSpec& storage = spec_.storage_estimator;
    storage.pipeline_type =
        pick(random_, {PipelineType::kNone, PipelineType::kTrainBase,
                       PipelineType::kTrainSparseDist, PipelineType::kTrainPrefetchSparseDist});
    storage.run_embedding_at_peak_memory = chance(random_, 30);
    storage.is_inference = spec_.perf_estimator.is_inference = quant() || chance(random_, 10);
  }

  void make_tables() {
    const std::size_t modules = 1 + random_.below(3);
    std::vector<TableKind> kinds;
    std::vector<bool> weighted;
    for (std::size_t i = 0; i < modules; ++i) {
      kinds.push_back(chance(random_, 75) ? TableKind::kPooled : TableKind::kSequence);
      weighted.push_back(kinds.back() == TableKind::kPooled && chance(random_, 20));
    }
    const bool dependencies = chance(random_, 25);
    const std::size_t tables = 1 + random_.below(style_.max_tables);
    for (std::size_t i = 0; i < tables; ++i) {
      const std::size_t module = random_.below(modules);
      Table table;
      table.name = "t" + std::to_string(i);
      table.module = "m" + std::to_string(module);
      table.kind = kinds[module];
      table.weighted = weighted[module];
      table.num_embeddings =
          1 + static_cast<std::int64_t>(random_.below(std::size_t{1} << random_.below(21)));
      table.embedding_dim = pick<std::int64_t>(random_, {4, 6, 12, 16, 32, 48, 64, 96, 128, 256});
      table.features = {"f" + std::to_string(i)};
      table.data_type = quant()
                            ? pick(random_, {DataType::kInt8, DataType::kInt4, DataType::kFp16})
                            : pick(random_, {DataType::kFp32, DataType::kFp32, DataType::kFp16});
      table.optimizer = pick(random_, {Optimizer::kUnset, Optimizer::kSgd, Optimizer::kAdam,
                                       Optimizer::kRowWiseAdagrad, Optimizer::kOther});
      if (chance(random_, 60)) table.constraints = constraints(table);
      if (dependencies && chance(random_, 60)) make_dependent(table);
      if (chance(random_, 5)) {
        table.use_virtual_table = true;
        table.total_num_buckets = pick<std::int64_t>(random_, {1, 3, 8});
        table.num_embeddings = *table.total_num_buckets * (1 + table.num_embeddings / 8);
      }
      spec_.tables.push_back(std::move(table));
    }
  }

  void make_dependent(Table& table) {
    table.dependency = pick<const char*>(random_, {"d0", "d1"});
    if (chance(random_, 10)) return;  // the options of dependent tables then need not share a host
    if (!table.constraints) table.constraints.emplace();
    table.constraints->sharding_types =
        some(random_, std::vector{ShardingType::kTableRowWise, ShardingType::kTableColumnWise}, 60);
  }

  ParameterConstraints constraints(const Table& table) {
    using enum ShardingType;
    using enum ComputeKernel;
    ParameterConstraints c;
    if (chance(random_, 60)) {
      c.sharding_types = some(random_,
                              std::vector{kDataParallel, kTableWise, kColumnWise, kRowWise,
                                          kTableRowWise, kTableColumnWise, kGridShard},
                              45);
    }
    if (!quant() && chance(random_, 35)) {
      c.compute_kernels = some(
          random_, std::vector{kDense, kFused, kFused, kFusedUvm, kFusedUvmCaching, kKeyValue}, 50);
    }
    if (chance(random_, 50)) c.min_partition = pick<std::int64_t>(random_, {4, 8, 16, 30, 32, 64});
    c.pooling_factors.clear();
    for (std::size_t i = 0, features = 1 + random_.below(3); i < features; ++i) {
      c.pooling_factors.push_back(pick(random_, {0.5, 1.0, 2.3, 10.0, 20.0}));
    }
    if (chance(random_, 15)) c.num_poolings.assign(c.pooling_factors.size(), 1.5);
    if (chance(random_, 15)) c.batch_sizes.assign(c.pooling_factors.size(), 7);
    c.is_weighted = chance(random_, 20);
    if (chance(random_, 40)) c.cache_params = cache(table);
    if (chance(random_, 10)) c.output_dtype = DataType::kFp16;
    if (chance(random_, 20)) c.key_value_params.emplace().max_l1_cache_size_mib = 1;
    return c;
  }

  CacheParams cache(const Table& table) {
    CacheParams cache;
    cache.load_factor = pick(random_, {0.0, 0.1, 0.25, 0.5, 1.0});
    if (chance(random_, 50)) cache.prefetch_pipeline = chance(random_, 50);
    if (chance(random_, 70)) {
      CacheStatistics& stats = cache.stats.emplace();
      stats.cacheability = pick(random_, {0.0, 0.2, 0.7});
      stats.expected_lookups = static_cast<double>(random_.below(5000));
      stats.height = table.num_embeddings;
      for (int i = 0; i < 8; ++i) {
        stats.mrc_hist_counts.push_back(static_cast<double>(random_.below(100)));
      }
    }
    return cache;
  }

  // Bytes per rank: from half of what the tables need to 20 times that.
  std::int64_t memory_per_rank() {
    if (style_.external) {
      return static_cast<std::int64_t>(4 + random_.below(60)) *
             (spec_.batch_size % 2 == 0 ? 1 : 7 * kMebibyte);
    }
    double demand = 0;
    for (const Table& table : spec_.tables) {
      const double inputs = static_cast<double>(spec_.batch_size * spec_.topology.world_size);
      demand += static_cast<double>(table.embedding_dim) *
                (static_cast<double>(table.num_embeddings) + inputs) * 4;
    }
    const double share = pick(random_, {0.5, 0.8, 1.1, 1.5, 2.0, 4.0, 20.0});
    return 1 + static_cast<std::int64_t>(share * demand /
                                         static_cast<double>(spec_.topology.world_size));
  }

  std::vector<std::int64_t> uneven(std::int64_t bytes) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t i = 0; i < spec_.topology.world_size; ++i) {
      sizes.push_back(bytes * pick<std::int64_t>(random_, {0, 1, 2, 2, 3, 4}) / 2 + 1);
    }
    return sizes;
  }

  void make_memory() {
    TopologySpec& topology = spec_.topology;
    topology.hbm_cap_bytes = memory_per_rank();
    topology.ddr_cap_bytes = memory_per_rank();
    if (chance(random_, 20)) topology.custom_hbm_cap_bytes = uneven(*topology.hbm_cap_bytes);
    if (chance(random_, 20)) topology.custom_ddr_cap_bytes = uneven(*topology.ddr_cap_bytes);
    // Draws from a copy, so that adding SSD does not change the other random draws.
    Random for_ssd = random_;
    if (chance(for_ssd, 25)) topology.ssd_cap_bytes = topology.ddr_cap_bytes;
    ReservationSpec& reservation = spec_.reservation;
    reservation.type = style_.external || chance(random_, 40) ? ReservationSpec::Type::kNone
                       : chance(random_, 60)                  ? ReservationSpec::Type::kFixed
                       : chance(random_, 50)                  ? ReservationSpec::Type::kHeuristical
                                                              : ReservationSpec::Type::kInference;
    reservation.percentage = pick(random_, {0.0, 0.05, 0.15});
  }

  void make_planner() {
    using Type = ProposerSpec::Type;
    for (std::size_t i = 0, count = 1 + random_.below(3); i < count; ++i) {
      ProposerSpec proposer;
      proposer.type = pick(random_, {Type::kGreedy, Type::kGreedy, Type::kUniform, Type::kGrid,
                                     Type::kDynamicProgramming, Type::kScaleup});
      const bool dp = proposer.type == Type::kDynamicProgramming;
      const bool scaleup = proposer.type == Type::kScaleup;
      if ((dp && spec_.topology.compute_device == ComputeDevice::kCpu) ||
          (scaleup && !style_.scaleup)) {
        proposer.type = Type::kGreedy;
      }
      proposer.use_depth = chance(random_, 50);
      if (chance(random_, 25)) {
        proposer.threshold = static_cast<std::int64_t>(random_.below(6));
      }
      proposer.hbm_bins_per_device = pick<std::int64_t>(random_, {0, 1, 3, 10});
      proposer.max_proposals = pick<std::int64_t>(random_, {0, 10, 200});
      spec_.proposers.push_back(proposer);
    }
    PartitionerSpec& partitioner = spec_.partitioner;
    if (chance(random_, 35)) partitioner.type = PartitionerSpec::Type::kMemoryBalanced;
    if (chance(random_, 40)) partitioner.sort_by = PartitionerSpec::SortBy::kPerf;
    partitioner.balance_modules = chance(random_, 30);
    partitioner.max_search_count = pick<std::int64_t>(random_, {0, 3, 10});
    partitioner.tolerance = pick(random_, {-0.1, 0.0, 0.02, 0.5, 1.0});
    if (chance(random_, 30)) spec_.perf_model = PerfModel::kStorage;
    spec_.use_exact_enumerate_order = chance(random_, 50);
  }

  Random& random_;
  RandomProblemStyle style_;
  ProblemSpec spec_;
};

class SpaceMaker {
 public:
  SpaceMaker(Random& random, std::shared_ptr<const Problem> problem)
      : random_(random), problem_(std::move(problem)), unit_(unit_bytes(*problem_)) {}

  std::shared_ptr<const SearchSpace> make() {
    std::vector<ShardingOption> options;
    for (std::size_t table = 0; table < problem_->tables().size(); ++table) {
      for (std::size_t i = 0, count = 1 + random_.below(4); i < count; ++i) {
        options.push_back(option(TableId(table)));
        if (chance(random_, 10)) options.push_back(options.back());
      }
    }
    for (std::size_t i = options.size(); i > 1; --i) {
      std::swap(options[i - 1], options[random_.below(i)]);
    }
    return SearchSpace::make(problem_, std::move(layouts_), std::move(options));
  }

 private:
  ShardingType type(const Table& table) {
    using enum ShardingType;
    if (!table.dependency.empty() && chance(random_, 90)) {
      return chance(random_, 50) ? kTableRowWise : kTableColumnWise;
    }
    return pick(random_, {kDataParallel, kTableWise, kTableWise, kColumnWise, kColumnWise, kRowWise,
                          kTableRowWise, kTableColumnWise, kGridShard});
  }

  std::uint32_t num_shards(ShardingType type) {
    const Topology& topology = problem_->topology();
    const auto extra = static_cast<std::uint32_t>(chance(random_, 3) ? 1 : 0);
    switch (type) {
      case ShardingType::kTableWise:
        return 1 + extra;
      case ShardingType::kColumnWise:
      case ShardingType::kTableColumnWise:
        return 1 + static_cast<std::uint32_t>(random_.below(5));
      case ShardingType::kDataParallel:
      case ShardingType::kRowWise:
        return topology.world_size() + extra;
      case ShardingType::kTableRowWise:
        return topology.local_world_size() + extra;
      case ShardingType::kGridShard:
        return topology.local_world_size() *
                   (1 + static_cast<std::uint32_t>(random_.below(topology.num_hosts() + 2))) +
               extra;
    }
    return 1;
  }

  ShardCost cost() {
    // Times have inexact sums. There are so few different values that options often tie.
    const auto ms = [&] {
      return Milliseconds(pick(random_, {0.0, 0.0, 0.1, 0.2, 0.3, 1.0 / 3, 0.7, 2.0}));
    };
    const auto bytes = [&](std::size_t bound) {
      return Bytes(unit_ * static_cast<std::int64_t>(random_.below(bound)));
    };
    Random for_ssd = random_;
    Storage storage{bytes(9), bytes(5)};
    if (problem_->topology().has_ssd())
      storage.ssd = Bytes(unit_ * static_cast<std::int64_t>(for_ssd.below(5)));
    return ShardCost{storage, Perf{ms(), ms(), ms(), ms(), ms()}};
  }

  ShardingOption option(TableId table) {
    ShardingOption option;
    option.table = table;
    option.sharding_type = type(problem_->table(table));
    option.compute_kernel = chance(random_, 50) ? ComputeKernel::kFused : ComputeKernel::kFusedUvm;
    const bool equal = chance(random_, 40);
    ShardLayout layout;
    ShardCost common = cost();
    for (std::uint32_t left = num_shards(option.sharding_type); left > 0;) {
      const std::uint32_t count =
          equal ? left : 1 + static_cast<std::uint32_t>(random_.below(left));
      const auto rows = static_cast<std::int64_t>(layout.extents.size()) + 1;
      layout.append(ShardExtent{rows, 4, 0, 0, rows, 0, count});
      if (!equal && chance(random_, 80)) common = cost();
      if (chance(random_, 50)) common.storage = cost().storage;  // equal times, unequal memory
      option.costs.push_back(common);
      left -= count;
    }
    option.layout = layouts_->intern(std::move(layout));
    return option;
  }

  Random& random_;
  std::shared_ptr<const Problem> problem_;
  std::int64_t unit_;
  std::shared_ptr<ShardLayoutInterner> layouts_ = std::make_shared<ShardLayoutInterner>();
};

}  // namespace

std::shared_ptr<const Problem> random_problem(Random& random, const RandomProblemStyle& style) {
  for (;;) {
    Result<Problem> problem = Problem::make(ProblemMaker(random, style).make());
    if (problem.ok()) return std::make_shared<const Problem>(std::move(problem).value());
  }
}

std::shared_ptr<const SearchSpace> random_space(Random& random,
                                                std::shared_ptr<const Problem> problem) {
  return SpaceMaker(random, std::move(problem)).make();
}

}  // namespace shardwright::test_support
