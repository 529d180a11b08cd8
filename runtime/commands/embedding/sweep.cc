// shardwright sweep
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/commands/pages.h"
#include "runtime/io/embedding/answers/sweep_csv.h"
#include "runtime/io/embedding/answers/sweep_json.h"
#include "runtime/report/embedding/questions/sweep_text.h"

namespace shardwright::commands {
namespace {

using embedding::ProblemSpec;
using embedding::SweepGrid;

// The problem for one number of ranks, with all overrides that are not lists.
Result<ProblemSpec> read_for(const ProblemRequest& request, const std::string& text,
                             std::optional<std::int64_t> ranks) {
  ProblemOverrides overrides = request.overrides;
  overrides.ranks = ranks;
  Result<ProblemSpec> spec = read_problem(text, overrides);
  if (!spec.ok()) return request.problem.locate(spec.error());
  return spec;
}

// All overrides, each list with its first value: which flags there are.
ProblemOverrides overrides_of(const SweepRequest& request, const SweepGrid& grid) {
  ProblemOverrides overrides = request.problem.overrides;
  const auto first = [](const std::vector<std::int64_t>& list) {
    return list.empty() ? std::nullopt : std::optional(list.front());
  };
  overrides.ranks = first(grid.ranks);
  overrides.batch_size = first(grid.batch_sizes);
  overrides.hbm_bytes = first(grid.hbm_bytes);
  overrides.ranks_per_host = grid.ranks_per_host;
  return overrides;
}

// Says once which numbers of ranks leave some on no host.
void note_uneven_hosts(const SweepGrid& grid, const Watch& watch) {
  if (!grid.ranks_per_host || !watch.note) return;
  std::string uneven;
  for (const std::int64_t ranks : grid.ranks) {
    if (ranks % std::min(ranks, *grid.ranks_per_host) != 0)
      uneven += (uneven.empty() ? "" : ", ") + std::to_string(ranks);
  }
  if (uneven.empty()) return;
  watch.note("ranks: hosts of " + std::to_string(*grid.ranks_per_host) + " ranks do not divide " +
             uneven + "; the ranks left over are on no host, as in TorchRec");
}

// The batch per rank depends on the number of ranks if the file gives the batch of all ranks.
Status read_batch_sizes(const ProblemRequest& request, const std::string& text, SweepGrid& grid) {
  if (!grid.batch_sizes.empty()) return {};
  for (const std::int64_t ranks : grid.ranks) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const ProblemSpec spec, read_for(request, text, ranks));
    grid.batch_size_of_ranks.push_back(spec.batch_size);
  }
  return {};
}

}  // namespace

Result<Answer> answer(const SweepRequest& request, const Watch& watch) {
  SweepGrid grid = request.grid;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.problem.problem.read(watch.read));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      ProblemSpec spec,
      read_for(request.problem, text,
               grid.ranks.empty() ? std::nullopt : std::optional(grid.ranks.front())));
  SHARDWRIGHT_RETURN_IF_ERROR(read_batch_sizes(request.problem, text, grid));
  note_uneven_hosts(grid, watch);
  PlanOptions options = request.options;
  options.stop = watch.begin();
  options.on_progress = watch.on_plan;
  Result<Sweep> swept = sweep_embedding(spec, grid, options, watch.dealer);
  if (!swept.ok()) {
    return request.problem.problem.locate(
        locate_in_problem(text, overrides_of(request, grid), swept.error()));
  }
  if (!watch.is_first_process) return Answer();
  const auto problem = std::make_shared<const ProblemSpec>(std::move(spec));
  const auto sweep = std::make_shared<const Sweep>(std::move(swept).value());
  Answer answer;
  answer.outcome = sweep->any_fits() ? Outcome::kDone : Outcome::kNoPlan;
  answer.write_json = [problem, sweep](const TextSink& sink) {
    write_sweep(*problem, *sweep, sink);
  };
  answer.write_csv = [problem, sweep](const TextSink& sink) {
    write_sweep_csv(*problem, *sweep, sink);
  };
  answer.text = [problem, sweep](const TextForm& form) {
    return sweep_report(*problem, *sweep, form.width);
  };
  answer.write_page = page_of(problem, sweep);
  return answer;
}

}  // namespace shardwright::commands
