// shardwright sweep
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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
  PlanOptions options = request.options;
  options.stop = watch.begin();
  options.on_progress = watch.on_plan;
  Result<Sweep> swept = sweep_embedding(spec, grid, options, watch.dealer);
  if (!swept.ok()) return request.problem.problem.locate(swept.error());
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
