#include "search/program/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/interner.h"
#include "search/program/best_planner.h"
#include "search/program/compat_planner.h"

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
    // Two elements in the smallest part suffice to check the order of elements.
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): no axis of a mesh is empty
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

namespace {

PlanKey key_from_tensor(const Program& program, const Requests& requests, const Request& request) {
  const Variable& var = program.var(request.var);
  const Demand& demand = requests.demands[request.demand];
  return {request.source_mesh,
          demand.mesh,
          var.dims_mapping,
          demand.dims_mapping,
          var.partial,
          demand.partial,
          full_shape(program, requests, request.var),
          var.type};
}

PlanKey key_of_output(const Program& program, const Requests& requests,
                      const OutputRequest& request) {
  const Variable& var = program.var(request.var);
  PlanKey key{program.op(request.op).mesh,
              var.mesh,
              var.dims_mapping,
              var.dims_mapping,
              {},
              var.partial,
              full_shape(program, requests, request.var),
              var.type};
  key.is_output = true;
  return key;
}

// Checks that a feed gives the ends of sequences if the plan sends a tensor of sequences.
Status check_lod(const Program& program, const Requests& requests, VarId id,
                 const ReshardPlan& plan) {
  const std::int32_t level = program.var(id).lod_level;
  if (level == 0 || requests.lod_feeds.contains(level)) return {};
  for (const auto& [rank, steps] : plan.ranks) {
    for (const Step& step : steps) {
      if (step.kind != StepKind::kRecv) continue;
      return invalid_input(
          "/vars/" + std::to_string(id.value()) + "/lod_level",
          "\"" + program.var(id).name +
              "\" would be sent, but no feed has its level of detail to restore it from");
    }
  }
  return {};
}

// By tensor and epoch: the demands whose copies exist.
using Copies = std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>;

std::uint64_t contents_of(const Demand& demand) {
  return std::uint64_t{demand.var.value()} << 32 | demand.epoch;
}

}  // namespace

const Shape& full_shape(const Program& program, const Requests& requests, VarId id) {
  const Shape& closed = requests.shapes[id.index()];
  return closed.empty() ? program.var(id).shape : closed;
}

Result<Schedule> Schedule::make(const Program& program, const Requests& requests, PlanStore& store,
                                Executor& executor) {
  const bool compat = store.mode() != PlanMode::kBest;
  Schedule schedule(program, compat);
  std::vector<Decision>& decisions = schedule.decisions_;
  decisions.reserve(requests.requests.size());
  for (std::uint32_t i = 0; i < requests.requests.size(); ++i) {
    const Request& request = requests.requests[i];
    // In best mode the first request of a demand stands for all its requests.
    if (!compat && requests.demands[request.demand].requests.front() != i) continue;
    decisions.push_back(
        {i, Decision::kOriginal, &store.entry(key_from_tensor(program, requests, request))});
  }
  for (const OutputRequest& request : requests.outputs) {
    const PlanKey key = key_of_output(program, requests, request);
    schedule.outputs_.push_back({request, &store.entry(key)});
  }
  store.plan_all(executor);
  Copies copies;
  std::unordered_set<const PlanStore::Entry*> seen;
  for (Decision& decision : decisions) {
    const Request& request = requests.requests[decision.request];
    const Demand& demand = requests.demands[request.demand];
    if (!compat) {
      std::vector<std::uint32_t>& known = copies[contents_of(demand)];
      for (const std::uint32_t other : known) {
        PlanKey key = decision.entry->key;
        key.source_mesh = requests.demands[other].mesh;
        key.source_mapping = requests.demands[other].dims_mapping;
        key.source_partial.clear();
        PlanStore::Entry& entry = store.entry(key);
        store.plan(entry);
        if (entry.us < decision.entry->us) {
          decision.entry = &entry;
          decision.source_demand = other;
        }
      }
      known.push_back(request.demand);
    }
    if (!decision.entry->status.ok()) return decision.entry->status.error();
    SHARDWRIGHT_RETURN_IF_ERROR(check_lod(program, requests, request.var, decision.entry->plan));
    if (seen.insert(decision.entry).second) schedule.groups_.add(decision.entry->plan);
  }
  SHARDWRIGHT_RETURN_IF_ERROR(schedule.check_outputs(program, requests));
  schedule.add_output_groups(compat);
  schedule.communication_ = std::make_shared<const Communication>(schedule.groups_.communication());
  return schedule;
}

Status Schedule::check_outputs(const Program& program, const Requests& requests) const {
  for (const OutputDecision& output : outputs_) {
    if (!output.entry->status.ok()) {
      return Error{output.entry->status.error().code, output.entry->status.error().message,
                   "/ops/" + std::to_string(output.request.op.value()) + "/outputs/" +
                       program.var(output.request.var).name};
    }
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_lod(program, requests, output.request.var, output.entry->plan));
  }
  return {};
}

// Adds the groups of outputs. In compat mode, by receiver, as in Paddle's Resharder.
void Schedule::add_output_groups(bool compat) {
  std::unordered_set<const PlanStore::Entry*> seen;
  for (const OutputDecision& output : outputs_) {
    if (!seen.insert(output.entry).second) continue;
    if (compat) {
      groups_.add_by_receiver(output.entry->plan);
    } else {
      groups_.add(output.entry->plan);
    }
  }
}

}  // namespace shardwright::program
