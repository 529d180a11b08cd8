#include "search/embedding/compat/embedding_enumerator.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "search/embedding/compat/estimate/estimate.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright::embedding {
namespace {

using TypeList = boost::container::static_vector<ShardingType, 8>;
using KernelList = boost::container::static_vector<ComputeKernel, 12>;

// What a sharder offers, in the order in which it declares it. Source: sharding_types and
// compute_kernels of BaseEmbeddingSharder, BaseQuantEmbeddingSharder (embedding_types.py) and
// EmbeddingCollectionSharder (embedding.py), torchrec/distributed.
TypeList declared_types(const Problem& problem, const Table& table) {
  using enum ShardingType;
  if (problem.spec().sharder.type == SharderSpec::Type::kQuant) {
    return {kTableWise, kRowWise, kColumnWise};
  }
  if (table.kind == TableKind::kSequence) return {kDataParallel, kTableWise, kColumnWise, kRowWise};
  switch (problem.topology().compute_device()) {
    case ComputeDevice::kCpu:
      return {kDataParallel, kTableWise, kColumnWise, kTableColumnWise};
    case ComputeDevice::kMtia:
      return {kTableWise, kColumnWise, kTableColumnWise, kRowWise, kTableRowWise, kGridShard};
    case ComputeDevice::kCuda:
      break;
  }
  return {kDataParallel, kTableWise,    kColumnWise, kTableColumnWise,
          kRowWise,      kTableRowWise, kGridShard};
}

// Where SSD is counted, some rank must have it. Source: _filter_compute_kernels,
// torchrec/distributed/planner/enumerators.py of TorchRec 1.9.2.
bool may_use_ssd(const Topology& topology) { return topology.has_ssd() || !topology.counts_ssd(); }

KernelList declared_kernels(const Problem& problem, ShardingType type) {
  using enum ComputeKernel;
  const bool cuda = problem.topology().compute_device() == ComputeDevice::kCuda;
  if (problem.spec().sharder.type == SharderSpec::Type::kQuant) {
    return cuda ? KernelList{kQuant, kQuantUvm, kQuantUvmCaching} : KernelList{kQuant};
  }
  if (type == ShardingType::kDataParallel) return {kDense};
  if (!cuda) return {kFused};
  if (!may_use_ssd(problem.topology()))
    return {kFused, kFusedUvm, kFusedUvmCaching, kSsdVirtualTable, kDramVirtualTable};
  return {kFused, kFusedUvm, kFusedUvmCaching, kKeyValue, kSsdVirtualTable, kDramVirtualTable};
}

// Kernels that are used only if the user names them.
bool is_guarded(ComputeKernel kernel) {
  return kernel == ComputeKernel::kKeyValue || kernel == ComputeKernel::kSsdVirtualTable ||
         kernel == ComputeKernel::kDramVirtualTable;
}

// The members of `wanted` that `declared` offers, each once, in the order of `wanted`.
template <class List, class Wanted>
List intersect(const Wanted& wanted, const List& declared) {
  List both;
  for (const auto value : wanted) {
    const bool offered = std::find(declared.begin(), declared.end(), value) != declared.end();
    const bool repeated = std::find(both.begin(), both.end(), value) != both.end();
    if (offered && !repeated) both.push_back(value);
  }
  return both;
}

TypeList allowed_types(const Problem& problem, const Table& table) {
  TypeList declared = declared_types(problem, table);
  if (table.constraints && !table.constraints->sharding_types.empty()) {
    return intersect(table.constraints->sharding_types, declared);
  }
  declared.erase(std::remove(declared.begin(), declared.end(), ShardingType::kGridShard),
                 declared.end());
  return declared;
}

KernelList allowed_kernels(const Problem& problem, const Table& table, ShardingType type) {
  KernelList declared = declared_kernels(problem, type);
  if (table.constraints && !table.constraints->compute_kernels.empty()) {
    return intersect(table.constraints->compute_kernels, declared);
  }
  declared.erase(std::remove_if(declared.begin(), declared.end(), is_guarded), declared.end());
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
  const TypeList types = allowed_types(problem, table);
  std::string message = "no sharding type and compute kernel are left for table \"" + table.name +
                        "\" on device " +
                        std::string(to_name(problem.topology().compute_device())) +
                        ": its sharder offers the types " + joined(declared_types(problem, table));
  if (!types.empty()) {
    message += ", and for " + std::string(to_name(types.front())) + " the kernels " +
               joined(declared_kernels(problem, types.front()));
  }
  if (!may_use_ssd(problem.topology())) message += "; key_value needs SSD, which no rank has";
  return invalid_input("/constraints/" + table.name, message + "; relax its constraints");
}

// Returns true if the planner for this device skips the table. Source: the device_group test of
// enumerate.
bool skipped(const Problem& problem, const Table& table) {
  return table.constraints && table.constraints->device_group &&
         !table.constraints->device_group->empty() &&
         *table.constraints->device_group != to_name(problem.topology().compute_device());
}

class TableEnumerator {
 public:
  // Null `cost_model` = the Estimator.
  TableEnumerator(const Problem& problem, const CostModel* cost_model, ShardLayoutInterner& layouts)
      : problem_(problem), estimator_(problem), cost_model_(cost_model), layouts_(layouts) {}

  Result<std::vector<ShardingOption>> options(TableId id) const {
    const Table& table = problem_.table(id);
    std::vector<ShardingOption> options;
    if (skipped(problem_, table)) return options;
    const TensorShape shape = tensor_shape(table, problem_.spec().sharder.type);
    for (const ShardingType type : allowed_types(problem_, table)) {
      const KernelList kernels = allowed_kernels(problem_, table, type);
      if (kernels.empty()) continue;
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
  if (skipped(problem, table)) return choices;
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
