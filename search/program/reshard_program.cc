#include "search/program/reshard_program.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "search/program/rank_pass.h"

namespace shardwright::program {
namespace {

std::vector<Rank> all_ranks(const Program& program) {
  std::vector<Rank> ranks;
  for (const ProcessMesh& mesh : program.meshes()) {
    ranks.insert(ranks.end(), mesh.ids().begin(), mesh.ids().end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

Result<ReshardResult> reshard_program(const Program& program, const ReshardOptions& options,
                                      Executor& executor) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Requests requests, find_requests(program, options.batch_size));
  PlanStore store(program, options.cluster, options.compat ? PlanMode::kCompat : PlanMode::kBest);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Schedule schedule,
                               Schedule::make(program, requests, store, executor));
  const std::vector<Rank> ranks = options.ranks.empty() ? all_ranks(program) : options.ranks;
  std::vector<std::optional<Result<RankProgram>>> results(ranks.size());
  executor.parallel_for(ranks.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      results[i].emplace(reshard_rank(program, requests, schedule, options, ranks[i]));
    }
  });
  ReshardResult result;
  result.requests = requests.requests.size();
  result.plans = store.size();
  result.items_scanned = requests.items_scanned;
  for (auto& rank : results) {
    if (!rank->ok()) return rank->error();
    result.ranks.push_back(std::move(*rank).value());
  }
  return result;
}

Result<Program> prune_startup(const Program& startup, const Program& main) {
  std::unordered_set<std::string> read;
  for (std::size_t i = 0; i < main.op_capacity(); ++i) {
    if (!main.has(OpId(i))) continue;
    for (const Argument& input : main.op(OpId(i)).inputs)
      read.insert(main.var(input.var).name);
  }
  EditLog log(startup);
  std::vector<bool> kept(startup.var_capacity(), false);
  const auto keep_arguments = [&](const Operation& op) {
    for (const auto* arguments : {&op.inputs, &op.outputs}) {
      for (const Argument& argument : *arguments)
        kept[argument.var.index()] = true;
    }
  };
  const auto is_kept = [&](const Argument& argument) { return kept[argument.var.index()]; };
  const auto needs = [&](const Argument& output) {
    return is_kept(output) || read.contains(startup.var(output.var).name);
  };
  for (std::size_t i = 0; i < startup.op_capacity(); ++i) {
    if (!startup.has(OpId(i)) || startup.block_of(OpId(i)) == BlockId(0)) continue;
    keep_arguments(startup.op(OpId(i)));
  }
  // Backwards: what leads to something needed is needed.
  for (OpId id = startup.block(BlockId(0)).last; id.valid(); id = startup.previous(id)) {
    const Operation& op = startup.op(id);
    const bool stays = op.outputs.empty()
                           ? std::all_of(op.inputs.begin(), op.inputs.end(), is_kept)
                           : std::any_of(op.outputs.begin(), op.outputs.end(), needs);
    if (!stays) {
      log.remove(id);
      continue;
    }
    keep_arguments(op);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i] && startup.has(VarId(i))) log.remove(VarId(i));
  }
  return log.commit();
}

}  // namespace shardwright::program
