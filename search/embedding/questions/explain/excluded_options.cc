#include "search/embedding/questions/explain/excluded_options.h"

#include <algorithm>
#include <utility>

#include "core/embedding/problem/placement_spec.h"
#include "search/embedding/compat/embedding_enumerator.h"

namespace shardwright::embedding {
namespace {

template <class Value>
bool leaves_out(const std::vector<Value>& allowed, Value value) {
  return !allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end();
}

bool same_way(const ShardingOption& a, const ShardingOption& b) {
  return a.sharding_type == b.sharding_type && a.compute_kernel == b.compute_kernel &&
         *a.layout == *b.layout;
}

}  // namespace

ExcludedOptions::ExcludedOptions(const SearchSpace& space, Executor& executor)
    : by_table_(space.problem().tables().size()), offered_(by_table_.size()) {
  for (const ShardingOption& option : space.options())
    offered_[option.table.index()].push_back(&option);
  bool lists = false;
  bool partitions = false;
  for (const Table& table : space.problem().tables()) {
    if (!table.constraints) continue;
    lists = lists || !table.constraints->sharding_types.empty() ||
            !table.constraints->compute_kernels.empty();
    partitions = partitions || table.constraints->min_partition.has_value();
  }
  if (lists) add(space, false, executor);
  if (partitions) add(space, true, executor);
}

bool ExcludedOptions::is_known(const SearchSpace& space, const ShardingOption& option) const {
  const Table& table = space.problem().table(option.table);
  if (!table.constraints) return true;
  const auto same = [&](const ShardingOption* other) { return same_way(*other, option); };
  const auto& offered = offered_[option.table.index()];
  const auto& known = by_table_[option.table.index()];
  return std::any_of(offered.begin(), offered.end(), same) ||
         std::any_of(known.begin(), known.end(),
                     [&](const ExcludedOption& excluded) { return same(excluded.option); });
}

// Adds nothing if an option of the relaxed problem costs more than can be represented.
void ExcludedOptions::add(const SearchSpace& space, bool partition_dropped, Executor& executor) {
  ProblemSpec spec = space.problem().spec();
  for (Table& table : spec.tables) {
    if (!table.constraints) continue;
    table.constraints->sharding_types.clear();
    table.constraints->compute_kernels.clear();
    if (partition_dropped) table.constraints->min_partition.reset();
  }
  Result<Problem> problem = Problem::make(std::move(spec));
  if (!problem.ok()) return;
  auto relaxed = enumerate(std::make_shared<const Problem>(std::move(problem).value()), executor);
  if (!relaxed.ok()) return;
  owners_.push_back(*relaxed);
  for (const ShardingOption& option : (*relaxed)->options()) {
    if (is_known(space, option)) continue;
    const Table& table = space.problem().table(option.table);
    const ParameterConstraints& constraints = *table.constraints;
    const std::string place = constraints_place(table.name);
    ExcludedOption excluded{&option, {}};
    if (leaves_out(constraints.sharding_types, option.sharding_type))
      excluded.excluded_by.push_back(place + "/sharding_types");
    if (leaves_out(constraints.compute_kernels, option.compute_kernel))
      excluded.excluded_by.push_back(place + "/compute_kernels");
    if (partition_dropped) excluded.excluded_by.push_back(place + "/min_partition");
    by_table_[option.table.index()].push_back(std::move(excluded));
  }
}

}  // namespace shardwright::embedding
