#include "search/embedding/compat/embedding_enumerator.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/problem/release_rules.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright::embedding {
namespace {

SharderKind sharder_of(const Problem& problem, const Table& table) {
  if (problem.spec().sharder.type == SharderSpec::Type::kQuant) return SharderKind::kQuant;
  if (table.tower) return SharderKind::kTower;
  if (table.feature_processed) return SharderKind::kFeatureProcessed;
  return table.kind == TableKind::kSequence ? SharderKind::kEmbedding : SharderKind::kEmbeddingBag;
}

ShardingTypes declared_types(const Problem& problem, const Table& table) {
  return problem.release().sharding_types(sharder_of(problem, table),
                                          problem.topology().compute_device());
}

// If SSD is counted, some rank must have SSD. Source: _filter_compute_kernels,
// torchrec/distributed/planner/enumerators.py of TorchRec 1.9.2.
bool may_use_ssd(const Topology& topology) { return topology.has_ssd() || !topology.counts_ssd(); }

ComputeKernels declared_kernels(const Problem& problem, const Table& table, ShardingType type) {
  ComputeKernels kernels = problem.release().compute_kernels(sharder_of(problem, table), type,
                                                             problem.topology().compute_device());
  if (!may_use_ssd(problem.topology()))
    kernels.erase(std::remove(kernels.begin(), kernels.end(), ComputeKernel::kKeyValue),
                  kernels.end());
  return kernels;
}

// The members of `first` that are in `second`, each once, in the order of `first`.
template <class List, class First, class Second>
List common(const First& first, const Second& second) {
  List both;
  for (const auto value : first) {
    const bool in_second = std::find(second.begin(), second.end(), value) != second.end();
    const bool repeated = std::find(both.begin(), both.end(), value) != both.end();
    if (in_second && !repeated) both.push_back(value);
  }
  return both;
}

// The intersection of a constraint with what the sharder declares, in the given order.
template <class List, class Wanted>
List intersect(const Wanted& wanted, const List& declared, ConstrainedOrder order) {
  return order == ConstrainedOrder::kOfConstraint ? common<List>(wanted, declared)
                                                  : common<List>(declared, wanted);
}

ShardingTypes allowed_types(const Problem& problem, const Table& table) {
  const ReleaseRules& release = problem.release();
  ShardingTypes declared = declared_types(problem, table);
  if (table.constraints && !table.constraints->sharding_types.empty())
    return intersect(table.constraints->sharding_types, declared, release.constrained_order);
  const SharderKind sharder = sharder_of(problem, table);
  const auto guarded = [&](ShardingType type) { return release.guards_type(sharder, type); };
  declared.erase(std::remove_if(declared.begin(), declared.end(), guarded), declared.end());
  return declared;
}

ComputeKernels allowed_kernels(const Problem& problem, const Table& table, ShardingType type) {
  const ReleaseRules& release = problem.release();
  ComputeKernels declared = declared_kernels(problem, table, type);
  if (table.constraints && !table.constraints->compute_kernels.empty())
    return intersect(table.constraints->compute_kernels, declared, release.constrained_order);
  declared.erase(std::remove_if(declared.begin(), declared.end(), release.guards_kernel),
                 declared.end());
  return declared;
}

template <class List>
std::string joined(const List& values) {
  std::string text;
  for (const auto value : values) {
    if (!text.empty()) text += ", ";
    text += to_name(value);
  }
  return text.empty() ? "none" : text;
}

Error nothing_left(const Problem& problem, const Table& table) {
  const ShardingTypes types = allowed_types(problem, table);
  std::string message = "no sharding type and compute kernel are left for table \"" + table.name +
                        "\" on device " +
                        std::string(to_name(problem.topology().compute_device())) +
                        ": its sharder offers the types " + joined(declared_types(problem, table));
  if (!types.empty()) {
    message += ", and for " + std::string(to_name(types.front())) + " the kernels " +
               joined(declared_kernels(problem, table, types.front()));
  }
  if (!may_use_ssd(problem.topology())) message += "; key_value needs SSD, which no rank has";
  return invalid_input("/constraints/" + table.name, message + "; relax its constraints");
}

class TableEnumerator {
 public:
  // Null `cost_model` = the Estimator.
  TableEnumerator(const Problem& problem, const CostModel* cost_model, ShardLayoutInterner& layouts)
      : problem_(problem), estimator_(problem), cost_model_(cost_model), layouts_(layouts) {}

  Result<std::vector<ShardingOption>> options(TableId id) const {
    const Table& table = problem_.table(id);
    std::vector<ShardingOption> options;
    if (table.left_out(problem_.topology().compute_device())) return options;
    const TensorShape shape = tensor_shape(table, problem_.spec().sharder.type);
    for (const ShardingType type : allowed_types(problem_, table)) {
      const ComputeKernels kernels = allowed_kernels(problem_, table, type);
      if (kernels.empty()) continue;
      if (type == ShardingType::kRowWise) SHARDWRIGHT_RETURN_IF_ERROR(check_buckets(table));
      const ShardLayout* layout =
          layouts_.intern(shard_layout(table, shape, type, problem_.topology()));
      for (const ComputeKernel kernel : kernels) {
        ShardingOption option;
        option.table = id;
        option.sharding_type = type;
        option.compute_kernel = kernel;
        option.layout = layout;
        if (table.constraints && table.constraints->cache_params) {
          option.load_factor = table.constraints->cache_params->load_factor;
        }
        SHARDWRIGHT_ASSIGN_OR_RETURN(option, estimated(std::move(option)));
        options.push_back(std::move(option));
      }
    }
    if (options.empty()) return nothing_left(problem_, table);
    return options;
  }

 private:
  // Source: calculate_shard_sizes_and_offsets, torchrec/distributed/sharding_plan.py of TorchRec
  // 1.9.2.
  Status check_buckets(const Table& table) const {
    const std::int64_t buckets = row_buckets(table);
    const std::int64_t ranks = problem_.topology().world_size();
    if (!problem_.release().rows_need_a_bucket_per_rank || buckets == 0 || buckets >= ranks)
      return {};
    return invalid_input("", "table \"" + table.name + "\" has " + std::to_string(buckets) +
                                 " buckets, and row_wise needs one for each of " +
                                 std::to_string(ranks) + " ranks");
  }

  Result<ShardingOption> estimated(ShardingOption option) const {
    if (cost_model_ == nullptr) return estimator_.estimate(std::move(option));
    SHARDWRIGHT_ASSIGN_OR_RETURN(option, cost_model_->estimate(std::move(option)));
    SHARDWRIGHT_RETURN_IF_ERROR(check_costs(option));
    return option;
  }

  const Problem& problem_;
  Estimator estimator_;
  const CostModel* cost_model_;
  ShardLayoutInterner& layouts_;
};

}  // namespace

std::vector<ShardingChoice> allowed_choices(const Problem& problem, const Table& table) {
  std::vector<ShardingChoice> choices;
  if (table.left_out(problem.topology().compute_device())) return choices;
  for (const ShardingType type : allowed_types(problem, table)) {
    for (const ComputeKernel kernel : allowed_kernels(problem, table, type))
      choices.push_back({type, kernel});
  }
  return choices;
}

std::vector<TableId> visit_order(const Problem& problem) {
  std::vector<TableId> order;
  order.reserve(problem.tables().size());
  const auto append = [&](const Problem::Module& module) {
    order.insert(order.end(), module.tables.begin(), module.tables.end());
  };
  const auto& modules = problem.modules();
  if (problem.spec().use_exact_enumerate_order) {
    std::for_each(modules.begin(), modules.end(), append);
  } else {
    std::for_each(modules.rbegin(), modules.rend(), append);
  }
  return order;
}

Result<std::shared_ptr<const SearchSpace>> enumerate(std::shared_ptr<const Problem> problem,
                                                     Executor& executor, const Budget& budget,
                                                     const CostModel* cost_model) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_layout(*problem));
  const std::vector<TableId> order = visit_order(*problem);
  auto layouts = std::make_shared<ShardLayoutInterner>();
  const TableEnumerator enumerator(*problem, cost_model, *layouts);

  std::vector<std::optional<Result<std::vector<ShardingOption>>>> of_table(order.size());
  executor.parallel_for(order.size(), 16, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && !budget.interrupted(); ++i) {
      of_table[i].emplace(enumerator.options(order[i]));
    }
  });

  std::size_t total = 0;
  for (const auto& options : of_table) {
    if (!options) return Error{ErrorCode::kStopped, "stopped while enumerating", ""};
    if (!options->ok()) return options->error();
    total += (*options)->size();
  }
  std::vector<ShardingOption> all;
  all.reserve(total);
  for (auto& options : of_table) {
    for (ShardingOption& option : std::move(*options).value())
      all.push_back(std::move(option));
  }
  return SearchSpace::make(std::move(problem), std::move(layouts), std::move(all));
}

}  // namespace shardwright::embedding
