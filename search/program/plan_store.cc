#include "search/program/plan_store.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/interner.h"
#include "search/program/tensor/best_planner.h"
#include "search/program/tensor/compat_planner.h"

namespace shardwright::program {

std::size_t PlanKeyHash::operator()(const PlanKey& key) const {
  std::uint64_t hash = hash_mix(key.source_mesh.value(), key.target_mesh.value());
  for (const std::int64_t axis : key.source_mapping)
    hash = hash_mix(hash, static_cast<std::uint64_t>(axis + 1));
  for (const std::int64_t axis : key.target_mapping)
    hash = hash_mix(hash, static_cast<std::uint64_t>(axis + 1));
  for (const Reduction due : key.source_partial)
    hash = hash_mix(hash, static_cast<std::uint64_t>(due));
  for (const Reduction due : key.target_partial)
    hash = hash_mix(hash, static_cast<std::uint64_t>(due));
  for (const std::int64_t size : key.shape)
    hash = hash_mix(hash, static_cast<std::uint64_t>(size));
  return static_cast<std::size_t>(
      hash_mix(hash, static_cast<std::uint64_t>(key.type) * 2 + (key.is_output ? 1 : 0)));
}

PlanStore::Entry& PlanStore::entry(const PlanKey& asked) {
  const PlanKey key = mode_ == PlanMode::kBest ? without_axes_of_one(asked) : asked;
  const auto known = index_.find(key);
  if (known != index_.end()) return *known->second;
  Entry& fresh = entries_.emplace_back();
  fresh.key = key;
  index_.emplace(key, &fresh);
  return fresh;
}

PlanKey PlanStore::without_axes_of_one(PlanKey key) const {
  const ProcessMesh& source = program_.mesh(key.source_mesh);
  const ProcessMesh& target = program_.mesh(key.target_mesh);
  key.source_mapping = effective_mapping(source, key.source_mapping);
  key.source_partial = effective_partial(source, key.source_partial);
  key.target_mapping = effective_mapping(target, key.target_mapping);
  key.target_partial = effective_partial(target, key.target_partial);
  return key;
}

void PlanStore::plan_all(Executor& executor) {
  std::vector<Entry*> open;
  for (Entry& entry : entries_) {
    if (!entry.planned) open.push_back(&entry);
  }
  executor.parallel_for(open.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      plan(*open[i]);
  });
}

void PlanStore::plan(Entry& entry) const {
  if (entry.planned) return;
  if (mode_ != PlanMode::kBest) {
    Result<ReshardPlan> plan = compat_plan(entry.key, entry.key.shape);
    if (plan.ok()) {
      entry.plan = std::move(plan).value();
    } else {
      entry.status = plan.error();
    }
  } else {
    Result<BestPlan> best = plan_best(cluster_, entry.key.shape, entry.key.type,
                                      source_of(entry.key), target_of(entry.key), stop_);
    if (best.ok()) {
      BestPlan found = std::move(best).value();
      entry.us = found.us;
      entry.plan = std::move(found.plan);
    } else {
      entry.us = std::numeric_limits<double>::infinity();
      entry.status = best.error();
    }
  }
  for (std::size_t i = 0; i < entry.plan.ranks.size(); ++i) {
    entry.index.emplace(entry.plan.ranks[i].first, static_cast<std::uint32_t>(i));
  }
  entry.planned = true;
}

Result<ReshardPlan> PlanStore::compat_plan(const PlanKey& key, const Shape& shape) const {
  const auto planner = key.is_output                ? &plan_compat_output
                       : mode_ == PlanMode::kCompat ? &plan_compat
                                                    : &plan_compat_mesh;
  return planner(shape, source_of(key), target_of(key));
}

std::optional<Simulation> PlanStore::simulate(const Entry& entry) const {
  const DistAttr source = source_of(entry.key);
  const DistAttr target = target_of(entry.key);
  Shape shape = entry.key.shape;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const std::int64_t parts = std::lcm(source.splits(dim), target.splits(dim));
    // Two elements in the smallest part show their order.
    if (shape[dim] % parts == 0) shape[dim] = std::min(shape[dim], 2 * parts);
  }
  const auto ranks = static_cast<std::int64_t>(source.mesh.size() + target.mesh.size());
  if (num_elements(shape) > kLargestSimulation / ranks) return std::nullopt;
  const Result<ReshardPlan> plan = compat_plan(entry.key, shape);
  if (!plan.ok()) return std::nullopt;
  return program::simulate(shape, source, target, *plan);
}

DistAttr PlanStore::source_of(const PlanKey& key) const {
  return {program_.mesh(key.source_mesh), key.source_mapping, key.source_partial};
}
DistAttr PlanStore::target_of(const PlanKey& key) const {
  return {program_.mesh(key.target_mesh), key.target_mapping, key.target_partial};
}

}  // namespace shardwright::program
