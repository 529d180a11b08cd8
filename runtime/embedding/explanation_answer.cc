#include "runtime/embedding/explanation_answer.h"

#include <cmath>
#include <utility>

#include "runtime/embedding/explain_reasons.h"
#include "runtime/embedding/verdict.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::OptionCost;
using embedding::Problem;
using embedding::Remedy;

ExplainedOption explained_option(const Problem& problem, const OptionCost& cost) {
  ExplainedOption out;
  out.standing = cost.standing;
  out.sharding_type = cost.option->sharding_type;
  out.compute_kernel = cost.option->compute_kernel;
  out.load_factor = cost.option->load_factor;
  out.time_ms = cost.time_ms;
  out.hbm_bytes = cost.storage.hbm.value();
  out.ddr_bytes = cost.storage.ddr.value();
  out.ranks = cost.ranks;
  out.lack = cost.lack;
  out.excluded_by = cost.excluded_by;
  for (const embedding::ShardExtent& extent : cost.option->layout->extents)
    out.shards.push_back({extent.count, extent.rows, extent.columns});
  if (problem.topology().counts_ssd() || cost.storage.ssd != Bytes())
    out.ssd_bytes = cost.storage.ssd.value();
  if (!cost.rating) return out;
  out.rating = rating_amount(problem.spec(), *cost.rating);
  out.rating_change = rating_amount(problem.spec(), cost.rating_change);
  out.busiest_rank = cost.busiest_rank;
  out.part.emplace();
  if (cost.part) out.part->emplace(ExplainedOption::Part{*cost.part, cost.part_change_ms});
  return out;
}

ExplainedTable explained_table(const Problem& problem, const TableExplanation& table) {
  const embedding::Table& named = problem.table(table.table);
  ExplainedTable out{named.name, named.module, {}, {}};
  for (const OptionCost& cost : table.options)
    out.options.push_back(explained_option(problem, cost));
  out.reasons = reasons_for(out);
  return out;
}

Amount amount(double number) {
  constexpr double kExact = 1e15;
  return {number, number == std::floor(number) && std::abs(number) < kExact};
}

ProblemEdit edit_of(const Problem& problem, const Remedy& remedy) {
  const auto local = static_cast<std::int64_t>(problem.topology().local_world_size());
  const auto to = static_cast<std::int64_t>(remedy.to);
  const auto bytes = remedy.each_rank_adds ? std::nullopt : std::optional(to);
  ProblemEdit edit;
  switch (remedy.kind) {
    case Remedy::Kind::kRanks:
      edit.world_size = edit.local_world_size = to;
      break;
    case Remedy::Kind::kHosts:
      edit.world_size = to * local;
      edit.local_world_size = local;
      break;
    case Remedy::Kind::kHbm:
      edit.hbm_bytes = bytes;
      break;
    case Remedy::Kind::kDdr:
      edit.ddr_bytes = bytes;
      break;
    case Remedy::Kind::kSsd:
      edit.ssd_bytes = bytes;
      break;
    case Remedy::Kind::kBatchSize:
      edit.batch_size = to;
      break;
    case Remedy::Kind::kReservation:
      edit.reserved_share = remedy.to;
      break;
    case Remedy::Kind::kConstraint:
      break;
  }
  return edit;
}

RemedyAnswer remedy_answer(const Problem& problem, const Remedy& remedy) {
  RemedyAnswer out;
  out.kind = remedy.kind;
  if (remedy.kind == Remedy::Kind::kConstraint) {
    out.drop = remedy.constraint;
  } else {
    out.from = amount(remedy.from);
    out.to = amount(remedy.to);
    out.step = amount(remedy.step);
    out.each_rank_adds = remedy.each_rank_adds;
    out.flags = flags_of(problem, remedy);
    out.set = edit_of(problem, remedy);
  }
  out.first_rating = rating_amount(problem.spec(), remedy.rating);
  out.less_is_impossible = remedy.less_is_impossible;
  return out;
}

void add_infeasibility(const Problem& problem, const Infeasibility& reason,
                       ExplanationAnswer& out) {
  out.infeasible = {reason.kind,
                    reason.proved,
                    reason.message,
                    reason.needed_bytes,
                    reason.available_bytes,
                    reason.irreducible,
                    {}};
  for (const embedding::TableId id : reason.tables)
    out.infeasible->tables.push_back({problem.table(id).name, problem.table(id).module});
  out.remedies.emplace();
  for (const Remedy& remedy : reason.remedies)
    out.remedies->push_back(remedy_answer(problem, remedy));
  out.in_vain.emplace();
  for (const embedding::FailedRemedy& vain : reason.in_vain)
    out.in_vain->push_back({vain.kind, failed_remedy_text(vain)});
}

}  // namespace

ExplanationAnswer explanation_answer(const Explanation& explanation) {
  const Problem& problem = *explanation.problem;
  const EmbeddingPlanResult& result = explanation.result;
  ExplanationAnswer out;
  if (!problem.name().empty()) out.name = problem.name();
  out.feasible = result.plan.has_value();
  out.mode = result.mode;
  if (result.plan) {
    out.best_rating = rating_amount(problem.spec(), result.evaluation.rating);
    out.tables.emplace();
    for (const TableExplanation& table : explanation.tables)
      out.tables->push_back(explained_table(problem, table));
  }
  if (explanation.infeasibility) add_infeasibility(problem, *explanation.infeasibility, out);
  out.plannings = explanation.plannings;
  out.threads = result.threads;
  out.total_s = explanation.total_s;
  out.machine = format_plural(problem.tables().size(), "table") + " on " +
                format_plural(problem.topology().world_size(), "rank");
  if (const std::string estimate = estimate_text(problem.spec()); !estimate.empty())
    out.estimate = estimate;
  out.stopped_by = result.stopped_by;
  return out;
}

}  // namespace shardwright
