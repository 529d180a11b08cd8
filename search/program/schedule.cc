#include "search/program/schedule.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/interner.h"

namespace shardwright::program {
namespace {

PlanKey key_from_tensor(const Program& program, const Requests& requests, const Request& request) {
  const Variable& var = program.var(request.var);
  const Wish& wish = requests.wishes[request.wish];
  return {request.source_mesh,
          wish.mesh,
          var.dims_mapping,
          wish.dims_mapping,
          var.partial,
          wish.partial,
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

// A receiver of sequences needs a feed that says where they end.
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

// The wishes whose copies exist, by tensor and epoch.
using Copies = std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>;

std::uint64_t contents_of(const Wish& wish) {
  return std::uint64_t{wish.var.value()} << 32 | wish.epoch;
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
    // In best mode the first request of a wish decides for the others.
    if (!compat && requests.wishes[request.wish].requests.front() != i) continue;
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
    const Wish& wish = requests.wishes[request.wish];
    if (!compat) {
      std::vector<std::uint32_t>& known = copies[contents_of(wish)];
      for (const std::uint32_t other : known) {
        PlanKey key = decision.entry->key;
        key.source_mesh = requests.wishes[other].mesh;
        key.source_mapping = requests.wishes[other].dims_mapping;
        key.source_partial.clear();
        PlanStore::Entry& entry = store.entry(key);
        store.plan(entry);
        if (entry.us < decision.entry->us) {
          decision.entry = &entry;
          decision.source_wish = other;
        }
      }
      known.push_back(request.wish);
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

// Paddle's Resharder goes through the receivers of an output.
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
