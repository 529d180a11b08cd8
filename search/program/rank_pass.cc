#include "search/program/rank_pass.h"

#include <algorithm>
#include <utility>

#include "search/program/prune.h"

namespace shardwright::program {
namespace {

Error stopped(const char* why) { return Error{ErrorCode::kStopped, why, ""}; }

class RankPass {
 public:
  RankPass(const Program& program, const Requests& requests, const Schedule& schedule,
           const ReshardOptions& options, Rank rank)
      : program_(program),
        requests_(requests),
        schedule_(schedule),
        options_(options),
        rank_(rank),
        log_(program, options.sync),
        emitter_(log_, schedule.groups(), requests.generated_names, options.compat),
        served_(requests.requests.size(), false),
        copies_(requests.demands.size()) {
    if (options.edit_limit) log_.limit(*options.edit_limit);
  }

  Result<RankProgram> run() {
    for (const Decision& decision : schedule_.decisions()) {
      if (options_.stop.stop_requested()) return stopped("the batch was cancelled");
      apply(decision);
    }
    if (options_.whole) {
      SHARDWRIGHT_RETURN_IF_ERROR(reshard_outputs());
      prune_rank(program_, rank_, log_);
    }
    const bool new_groups = schedule_.communication()->groups.size() != program_.groups().size();
    if (new_groups) log_.set_communication(schedule_.communication());
    Result<Program> next = log_.commit();
    if (!next.ok()) return next.error();
    RankProgram result{rank_, std::move(next).value(), std::nullopt, log_.edits(), {}};
    if (options_.whole && options_.startup) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(result.startup,
                                   prune_startup(*options_.startup, result.program));
    }
    static_cast<EditCounters&>(result.counters) = log_.counters();
    result.counters.planner_calls = planner_calls_;
    return result;
  }

 private:
  // Returns the position of this rank in a mesh of the program. Searches each mesh only once.
  std::optional<std::size_t> position_in(MeshId mesh) {
    if (positions_.size() <= mesh.index()) positions_.resize(program_.meshes().size());
    auto& known = positions_[mesh.index()];
    if (!known) known = program_.mesh(mesh).position_of(rank_);
    return *known;
  }

  void apply(const Decision& decision) {
    const Request& request = requests_.requests[decision.request];
    if (served_[decision.request]) return;
    ++planner_calls_;
    const Demand& demand = requests_.demands[request.demand];
    const PlanKey& key = decision.entry->key;
    const std::vector<Step>* const steps = decision.entry->steps_of(rank_);
    const bool is_target = position_in(demand.mesh).has_value();
    if (steps == nullptr && (options_.compat || !is_target)) return;
    const VarId source = decision.source_demand == Decision::kOriginal
                             ? request.var
                             : copies_[decision.source_demand];
    std::optional<VarId> result;
    if (steps != nullptr) result = emitter_.emit(site_of(request, demand, key, source), *steps);
    // A target rank without steps, or with sends only, already holds its part.
    if (!result && !options_.compat) result = source;
    if (!is_target || !result) return;
    copies_[request.demand] = *result;
    if (*result == request.var) return;
    if (!log_.var(*result).mesh.valid()) log_.place(*result, demand.mesh, demand.dims_mapping);
    rename(decision.request, demand, *result);
  }

  EmitSite site_of(const Request& request, const Demand& demand, const PlanKey& key, VarId source) {
    EmitSite site = site_at(request.anchor, request.var, source);
    site.source_key = std::uint64_t{demand.var.value()} << 32 | demand.epoch;
    site.role = request.role;
    site.local_shape = local_shape(key);
    return site;
  }

  EmitSite site_at(OpId anchor, VarId var, VarId source) const {
    const Variable& tensor = program_.var(var);
    EmitSite site;
    site.anchor = anchor;
    site.source = source;
    site.base_name = tensor.name;
    site.type = tensor.type;
    site.lod_level = tensor.lod_level;
    if (const auto feed = requests_.lod_feeds.find(tensor.lod_level);
        feed != requests_.lod_feeds.end()) {
      site.lod_feed = feed->second;
    }
    site.block = log_.block_of(anchor);
    return site;
  }

  // Returns the shape of this rank's part of a plan's source; empty if the rank has no part.
  Shape local_shape(const PlanKey& key) {
    const auto position = position_in(key.source_mesh);
    if (!position) return {};
    const DistAttr attr{program_.mesh(key.source_mesh), key.source_mapping, {}};
    return shape_of(part_at(key.shape, attr, *position));
  }

  DimsMapping wanted(OpId consumer, const Argument& input) const {
    return settled(program_, options_.compat, program_.op(consumer).mesh, input.dims_mapping);
  }

  // Makes the consumer, and all later consumers with the same demand, read the result.
  void rename(std::uint32_t index, const Demand& demand, VarId result) {
    std::vector<OpId> controls;
    for (auto at = std::lower_bound(demand.requests.begin(), demand.requests.end(), index);
         at != demand.requests.end(); ++at) {
      const Request& request = requests_.requests[*at];
      served_[*at] = true;
      // In best mode, different mappings of inputs may settle to the mapping of the demand.
      bool reads = false;
      for (std::size_t i = 0; i < log_.op(request.consumer).inputs.size(); ++i) {
        const Argument input = log_.op(request.consumer).inputs[i];
        if (input.var != demand.var || wanted(request.consumer, input) != demand.dims_mapping)
          continue;
        log_.rename_input(request.consumer, demand.var, result, &input.dims_mapping);
        reads = true;
      }
      if (!reads) continue;
      if (request.anchor == request.consumer) continue;
      if (std::find(controls.begin(), controls.end(), request.anchor) != controls.end()) continue;
      controls.push_back(request.anchor);
      const auto position = static_cast<std::int32_t>(log_.op(request.anchor).inputs.size());
      log_.add_input(request.anchor, {result, position, demand.dims_mapping});
    }
  }

  // Reshards outputs right after their operators: in the order of the outputs, or in compat mode in
  // reverse order, as in Paddle's Resharder.
  Status reshard_outputs() {
    OpId op;
    OpId last;
    for (const OutputDecision& output : schedule_.outputs()) {
      if (options_.stop.stop_requested()) return stopped("the batch was cancelled");
      const std::vector<Step>* const steps = output.entry->steps_of(rank_);
      if (steps == nullptr) continue;
      if (options_.compat || output.request.op != op) last = op = output.request.op;
      const VarId var = output.request.var;
      EmitSite site = site_at(last, var, var);
      site.into = var;
      site.role = program_.op(op).role;
      site.local_shape = local_shape(output.entry->key);
      emitter_.emit(site, *steps);
      last = emitter_.last();
    }
    return {};
  }

  const Program& program_;
  const Requests& requests_;
  const Schedule& schedule_;
  const ReshardOptions& options_;
  Rank rank_;
  EditLog log_;
  Emitter emitter_;
  std::vector<bool> served_;   // by request
  std::vector<VarId> copies_;  // by demand: this rank's part of the copy
  // By mesh; empty if the mesh was not searched yet.
  std::vector<std::optional<std::optional<std::size_t>>> positions_;
  std::uint64_t planner_calls_ = 0;
};

}  // namespace

Result<RankProgram> reshard_rank(const Program& program, const Requests& requests,
                                 const Schedule& schedule, const ReshardOptions& options,
                                 Rank rank) {
  try {
    return RankPass(program, requests, schedule, options, rank).run();
  } catch (const EditLimitReached&) {
    return stopped("the batch reached its limit of edits");
  }
}

}  // namespace shardwright::program
