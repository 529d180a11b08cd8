#include "search/program/reshard_program.h"

#include <algorithm>
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
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Requests requests,
                               find_requests(program, options.batch_size, options.compat));
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
  result.batch_size = options.batch_size;
  for (auto& rank : results) {
    if (!rank) return stopped;
    if (!rank->ok()) return rank->error();
    result.ranks.push_back(std::move(*rank).value());
  }
  return result;
}

}  // namespace shardwright::program
