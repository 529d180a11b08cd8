#include "search/program/reshard_program.h"

#include <algorithm>
#include <unordered_map>
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

// Finds the plans that give a rank a wrong part. Simulates each plan once.
std::vector<WrongPlan> find_wrong(const Requests& requests, const Schedule& schedule,
                                  const PlanStore& store, bool outputs) {
  std::unordered_map<const PlanStore::Entry*, std::string> problems;
  std::vector<WrongPlan> wrong;
  const auto look_at = [&](const PlanStore::Entry* entry, OpId op, VarId var, bool is_output) {
    const auto [at, fresh] = problems.try_emplace(entry);
    if (fresh) {
      if (const std::optional<Simulation> run = store.simulate(*entry)) at->second = run->problem;
    }
    if (!at->second.empty()) wrong.push_back({op, var, is_output, at->second});
  };
  for (const Decision& decision : schedule.decisions()) {
    const Request& request = requests.requests[decision.request];
    look_at(decision.entry, request.consumer, request.var, false);
  }
  if (!outputs) return wrong;
  for (const OutputDecision& output : schedule.outputs())
    look_at(output.entry, output.request.op, output.request.var, true);
  return wrong;
}

}  // namespace

Result<ReshardResult> reshard_program(const Program& asked, const ReshardOptions& options,
                                      Executor& executor) {
  Program program = asked;
  if (options.batch_size) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(program, asked.with_batch_size(*options.batch_size));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Requests requests, find_requests(program, options.compat));
  PlanStore store(program, options.cluster, options.compat ? PlanMode::kCompat : PlanMode::kBest,
                  options.stop);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Schedule schedule,
                               Schedule::make(program, requests, store, executor));
  const Error stopped{ErrorCode::kStopped, "the batch was cancelled", ""};
  if (options.stop.stop_requested()) return stopped;
  const std::vector<Rank> ranks = options.ranks.empty() ? all_ranks(program) : options.ranks;
  std::vector<std::optional<Result<RankProgram>>> results(ranks.size());
  executor.parallel_for(ranks.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && !options.stop.stop_requested(); ++i) {
      results[i].emplace(reshard_rank(program, requests, schedule, options, ranks[i]));
    }
  });
  ReshardResult result;
  result.requests = requests.requests.size();
  result.plans = store.size();
  result.items_scanned = requests.items_scanned;
  if (options.compat) result.wrong = find_wrong(requests, schedule, store, options.whole);
  for (auto& rank : results) {
    if (!rank) return stopped;
    if (!rank->ok()) return rank->error();
    result.ranks.push_back(std::move(*rank).value());
  }
  return result;
}

}  // namespace shardwright::program
