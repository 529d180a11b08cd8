#include "runtime/embedding/audit.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/embedding/evaluate.h"
#include "runtime/embedding/log_problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/report/text/format.h"
#include "search/embedding/compat/measured_costs.h"
#include "search/embedding/compat/perf_estimator.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/questions/fewest_changes.h"
#include "search/embedding/questions/old_plan.h"
#include "search/embedding/questions/plan_of_entries.h"

namespace shardwright {
namespace {

using embedding::Assignment;
using embedding::OldPlan;
using embedding::Plan;
using embedding::Problem;
using embedding::Rank;
using embedding::SearchSpace;
using embedding::ShardingOption;
using embedding::TableId;

constexpr std::size_t kMostSlowestTables = 5;
constexpr std::size_t kRankColumns = 40;  // of the ranks of a table in a text

// A problem with options, and the plan of the log among these.
struct Judged {
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<const SearchSpace> space;
  std::vector<PlanEntry> entries;
};

// How far the digits let the time of every rank be off under a plan.
double precision_of(const Plan& plan, std::size_t world) {
  std::vector<double> off(world, 0.0);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::uint32_t shards = plan[i].option->num_shards();
    for (std::uint32_t shard = 0; shard < shards; ++shard)
      off[plan[i].rank(shard)] += kPrintedHalfUnit / shards;
  }
  return off.empty() ? 0 : *std::max_element(off.begin(), off.end());
}

std::vector<AuditAnswer::TableTime> slowest_tables(const Problem& problem, const Plan& plan,
                                                   Rank rank, double total) {
  std::vector<AuditAnswer::TableTime> tables;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    double ms = 0;
    for (std::uint32_t shard = 0; shard < plan[i].option->num_shards(); ++shard)
      if (plan[i].rank(shard) == rank) ms += plan[i].option->shard_cost(shard).perf.total().value();
    if (!(ms > 0)) continue;
    const embedding::Table& table = problem.table(plan[i].option->table);
    tables.push_back({table.name, table.module, ms, total > 0 ? ms / total : 0});
  }
  std::stable_sort(tables.begin(), tables.end(),
                   [](const auto& a, const auto& b) { return a.ms > b.ms; });
  if (tables.size() > kMostSlowestTables) tables.resize(kMostSlowestTables);
  return tables;
}

AuditAnswer::AsRun as_run(const PlannerLog& log, const Problem& problem, const Plan& plan) {
  AuditAnswer::AsRun run;
  const embedding::Evaluation evaluation = evaluate(problem, problem.topology(), plan);
  run.rating = evaluation.rating;
  run.perf_by_rank = evaluation.perf_ms_by_rank;
  run.precision = precision_of(plan, log.ranks.size()) + kPrintedHalfUnit;
  run.dense_hbm = printed_bytes(log.dense.hbm);
  run.input_hbm = printed_bytes(log.inputs.hbm);
  run.hbm_capacity = printed_bytes(log.planning_hbm.value_or(0));
  run.num_tables = log.tables.size();
  for (const LoggedTable& table : log.tables)
    run.num_shards += table.ranks.size();
  double sum = 0;
  for (std::size_t rank = 0; rank < log.ranks.size(); ++rank) {
    const double printed = log.ranks[rank].time.total;
    const double recomputed = run.perf_by_rank[rank];
    sum += recomputed;
    run.printed_perf_by_rank.push_back(printed);
    run.hbm_by_rank.push_back(printed_bytes(log.ranks[rank].hbm_gib));
    const double off = std::abs(printed - recomputed);
    run.largest_difference = std::max(run.largest_difference, off);
    if (off > run.precision)
      run.differences.push_back({static_cast<std::int64_t>(rank), printed, recomputed});
    if (recomputed > run.perf_by_rank[static_cast<std::size_t>(run.slowest_rank)])
      run.slowest_rank = static_cast<std::int64_t>(rank);
  }
  run.mean = sum / static_cast<double>(log.ranks.size());
  run.slowest_tables =
      slowest_tables(problem, plan, static_cast<Rank>(run.slowest_rank), run.rating);
  return run;
}

// The problem of the log, at fault in the log and not in a file.
Result<std::shared_ptr<const Problem>> make_problem(const PlannerLog& log,
                                                    const LogConstants& constants,
                                                    bool same_types) {
  Result<Problem> problem = Problem::make(problem_of_log(log, constants, same_types));
  if (!problem.ok()) {
    return invalid_input(
        "line " + std::to_string(log.line),
        "the plan is of no problem that can be planned: " + problem.error().to_string());
  }
  return std::make_shared<const Problem>(std::move(problem).value());
}

Result<Judged> with_same_options(const PlannerLog& log, const LogConstants& constants) {
  Judged judged;
  SHARDWRIGHT_ASSIGN_OR_RETURN(judged.problem, make_problem(log, constants, true));
  SHARDWRIGHT_ASSIGN_OR_RETURN(judged.space, options_of_log(log, judged.problem));
  judged.entries = plan_of_log(log, *judged.space);
  return judged;
}

// The options of the log, and those that TorchRec enumerates for the tables that follow the fit.
Result<Judged> with_all_options(const PlannerLog& log, const LogFit& fit) {
  Judged judged;
  SHARDWRIGHT_ASSIGN_OR_RETURN(judged.problem, make_problem(log, fit.constants, false));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto in_use, options_of_log(log, judged.problem));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto enumerated, enumerate_embedding(judged.problem));
  const auto layouts = std::make_shared<embedding::ShardLayoutInterner>();
  std::vector<ShardingOption> options;
  const auto add = [&](ShardingOption option) {
    option.layout = layouts->intern(*option.layout);
    options.push_back(std::move(option));
  };
  for (const ShardingOption& option : in_use->options())
    add(option);
  for (const ShardingOption& option : enumerated->options()) {
    const ShardingOption& used = in_use->options()[option.table.index()];
    const bool is_used = option.sharding_type == used.sharding_type &&
                         option.compute_kernel == used.compute_kernel &&
                         option.load_factor == used.load_factor && *option.layout == *used.layout;
    if (fit.follows[option.table.index()] && !is_used) add(option);
  }
  judged.space = SearchSpace::make(judged.problem, layouts, std::move(options));
  judged.entries = plan_of_log(log, *in_use);
  return judged;
}

// Shards that are on a rank on which the old plan has none of the table's shards, each counted
// once. If all ranks stay and bytes move, the table counts as one.
std::size_t moved_shards(const std::vector<TableMove>& moves) {
  std::size_t moved = 0;
  for (const TableMove& move : moves) {
    const std::size_t before = moved;
    std::vector<std::int64_t> left = move.from ? move.from->ranks : std::vector<std::int64_t>();
    for (const std::int64_t rank : move.to.ranks) {
      const auto stays = std::find(left.begin(), left.end(), rank);
      stays == left.end() ? static_cast<void>(++moved) : static_cast<void>(left.erase(stays));
    }
    if (moved == before && move.bytes > 0) ++moved;
  }
  return moved;
}

// Plans anew from the plan of the log, and sets `plan`. Absent without a plan; `why` then says why.
Result<std::optional<AuditAnswer::Best>> best_of(const Judged& judged, const PlanOptions& options,
                                                 Plan& plan, std::optional<std::string>& why) {
  const ReplanOptions replan{options, 0, std::nullopt};
  Result<EmbeddingPlanResult> planned =
      replan_embedding(judged.problem, judged.entries, replan, judged.space);
  if (!planned.ok()) return planned.error();
  if (!planned->plan) {
    if (!why)
      why = planned->failure ? planned->failure->message : "stopped before a plan was found";
    return std::optional<AuditAnswer::Best>();
  }
  AuditAnswer::Best best;
  best.rating = *planned->best_rating;
  best.precision = precision_of(*planned->plan, judged.problem->topology().world_size());
  best.lower_bound = planned->lower_bound;
  if (best.lower_bound) {
    best.certain_lower_bound =
        std::max(0.0, *best.lower_bound -
                          kPrintedHalfUnit * static_cast<double>(judged.problem->tables().size()));
  }
  best.num_moved_tables = planned->migration->moves.size();
  best.num_moved_shards = moved_shards(planned->migration->moves);
  best.moved_bytes = planned->migration->moved_bytes;
  best.perf_by_rank = planned->evaluation.perf_ms_by_rank;
  best.stopped_by = planned->stopped_by;
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      plan, plan_of_entries(judged.space, entries_of(*judged.problem, *planned->plan)));
  return std::optional(std::move(best));
}

std::string place_text(const Assignment& assignment) {
  std::vector<Rank> ranks(assignment.option->num_shards());
  for (std::uint32_t shard = 0; shard < ranks.size(); ++shard)
    ranks[shard] = assignment.rank(shard);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return std::string(to_name(assignment.option->sharding_type)) + " on " +
         (ranks.size() == 1 ? "rank " : "ranks ") + format_ranges(ranks, kRankColumns);
}

Status find_changes(const Judged& judged, const AuditOptions& options, const Plan& plan,
                    const Plan& best, double best_rating, AuditAnswer& answer) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const embedding::Reservation reservation,
                               reserve_embedding(*judged.problem));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const OldPlan old, OldPlan::make(judged.space, judged.entries));
  Budget budget(options.plan.work_limit.value_or(kDefaultBestWork), options.plan.time_limit_s,
                options.plan.stop);
  const embedding::PlanChanges found =
      find_fewest_changes(*judged.space, reservation.topology, old, plan, best,
                          best_rating * (1 + options.within), budget);
  answer.within = options.within;
  answer.reaches = found.reaches;
  for (const embedding::PlanChange& change : found.changes) {
    const embedding::Table& table = judged.problem->table(change.table);
    answer.changes.push_back({table.name, table.module, place_text(change.from),
                              place_text(change.to), change.gain, change.moved_bytes,
                              change.rating_after});
  }
  return {};
}

AuditAnswer::Constants constants_of(const PlannerLog& log, const LogFit& fit) {
  const LogConstants& c = fit.constants;
  AuditAnswer::Constants constants;
  constants.release = {std::string(to_name(c.release)), InferredFrom::kLog};
  constants.weights = {c.weights, fit.from.weights};
  constants.communication = {c.forward.value_or(c.weights), fit.from.communication};
  constants.backward_communication = {c.backward.value_or(c.weights), fit.from.communication};
  constants.reduction = {c.reduction.value_or(c.weights), fit.from.reduction};
  constants.inter_host_bw = {c.inter_host_bw, fit.from.inter_host_bw};
  constants.intra_host_bw = {c.intra_host_bw, fit.from.intra_host_bw};
  (has_hbm(log) ? constants.hbm_mem_bw : constants.ddr_mem_bw) = {c.memory_bw, fit.from.memory_bw};
  constants.ranks_per_host = {c.ranks_per_host, fit.from.ranks_per_host};
  constants.batch_size = {*log.batch_size, InferredFrom::kLog};
  constants.optimizer = {c.optimizer, InferredFrom::kLog};
  constants.pipeline_type = {c.pipeline_type, InferredFrom::kLog};
  return constants;
}

AuditAnswer::Column column_of(const FitOfColumn& column, const Problem& problem) {
  AuditAnswer::Column shown{column.median, column.worst, {}};
  for (const std::size_t i : column.not_followed)
    shown.not_followed.push_back(problem.tables()[i].fqn());
  return shown;
}

std::vector<std::string> unknown_of(const PlannerLog& log, const AuditAnswer& answer) {
  const AuditAnswer::Constants& c = answer.inferred;
  std::vector<std::string> unknown;
  const auto add = [&](bool is_unknown, std::string sentence) {
    if (is_unknown) unknown.push_back(std::move(sentence));
  };
  add(c.ranks_per_host.from == InferredFrom::kDefault && log.ranks.size() > 1,
      "how many ranks a host has: " + std::to_string(c.ranks_per_host.value) + " are assumed");
  add(c.intra_host_bw.from == InferredFrom::kDefault,
      "how fast ranks of one host exchange: TorchRec's default is assumed");
  add(c.inter_host_bw.from == InferredFrom::kDefault,
      "how fast hosts exchange: TorchRec's default is assumed");
  add(c.reduction.from == InferredFrom::kDefault,
      "the data type in which row-wise and host-wise tables are reduced, since the plan has none "
      "that are pooled: " +
          std::string(to_name(c.reduction.value)) + " is assumed");
  add(!answer.fit.total.not_followed.empty(),
      "why " + format_plural(answer.fit.total.not_followed.size(), "table") +
          " cost other than the rest: they keep the option and the costs that the log has");
  add(true,
      "the constraints of the job: kernels and widths of column shards stay, all sharding "
      "types count as allowed");
  add(true, "digits that are not printed: the slowest rank may be off by " +
                format_ms(answer.as_run.precision) + " ms");
  return unknown;
}

}  // namespace

Result<Audit> audit_log(const PlannerLog& log, const AuditOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.plan.threads, options.plan.time_limit_s));
  const Stopwatch clock;
  // The options with a share of the time that is left.
  const auto rest = [&](int questions) {
    AuditOptions left = options;
    if (left.plan.time_limit_s)
      left.plan.time_limit_s = std::max(0.0, *left.plan.time_limit_s - clock.seconds()) / questions;
    return left;
  };
  const Budget budget(std::nullopt, options.plan.time_limit_s, options.plan.stop);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LogFit fit, fit_log(log, options.known, budget));
  SHARDWRIGHT_ASSIGN_OR_RETURN(Judged judged, with_same_options(log, fit.constants));
  Audit audit;
  AuditAnswer& answer = audit.answer;
  SHARDWRIGHT_ASSIGN_OR_RETURN(Plan plan, plan_of_entries(judged.space, judged.entries));
  answer.tables = log.tables;
  answer.ranks = log.ranks;
  answer.as_run = as_run(log, *judged.problem, plan);
  answer.inferred = constants_of(log, fit);
  answer.fit = {column_of(fit.compute, *judged.problem),
                column_of(fit.communication, *judged.problem),
                column_of(fit.total, *judged.problem), column_of(fit.memory, *judged.problem)};
  answer.unknown = unknown_of(log, answer);
  LogFit costs = fit;
  costs.constants.machine = options.machine;
  if (options.machine) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(judged, with_same_options(log, costs.constants));
    SHARDWRIGHT_ASSIGN_OR_RETURN(plan, plan_of_entries(judged.space, judged.entries));
    answer.measured = {options.machine->spec().name,
                       evaluate(*judged.problem, judged.problem->topology(), plan).rating,
                       embedding::unmeasured(*judged.problem)};
  }
  Plan best_plan;
  SHARDWRIGHT_ASSIGN_OR_RETURN(answer.same_options,
                               best_of(judged, rest(3).plan, best_plan, answer.why));
  Result<Judged> all = with_all_options(log, costs);
  if (fit.explains() && all.ok()) {
    judged = std::move(all).value();
    SHARDWRIGHT_ASSIGN_OR_RETURN(plan, plan_of_entries(judged.space, judged.entries));
    SHARDWRIGHT_ASSIGN_OR_RETURN(answer.all_options,
                                 best_of(judged, rest(2).plan, best_plan, answer.why));
  } else if (fit.explains()) {
    answer.why = all.error().to_string();
  } else {
    const auto follow = std::count(fit.follows.begin(), fit.follows.end(), true);
    answer.why = "TorchRec's formulas explain time and memory of " + std::to_string(follow) +
                 " of " + format_plural(log.tables.size(), "table") +
                 " only, so options that the log does not have cannot be costed";
  }
  const std::optional<AuditAnswer::Best>& best =
      answer.all_options ? answer.all_options : answer.same_options;
  if (best)
    SHARDWRIGHT_RETURN_IF_ERROR(
        find_changes(judged, rest(1), plan, best_plan, best->rating, answer));
  audit.problem = judged.problem;
  audit.plan = std::move(judged.entries);
  return audit;
}

Result<EmbeddingPlanResult> plan_of_audit(const Audit& audit) {
  EmbeddingPlanResult result;
  result.problem = audit.problem;
  SHARDWRIGHT_ASSIGN_OR_RETURN(result.search_space, enumerate_embedding(audit.problem));
  SHARDWRIGHT_ASSIGN_OR_RETURN(result.reservation, reserve_embedding(*audit.problem));
  SHARDWRIGHT_ASSIGN_OR_RETURN(result.plan, plan_of_entries(result.search_space, audit.plan));
  result.evaluation = evaluate(*audit.problem, result.reservation->topology, *result.plan);
  result.best_rating = result.evaluation.rating;
  result.reused = true;
  return result;
}

namespace {

// Adds the number of ranks that have enough of both tiers, if it is a number that a machine has.
void add_more_ranks(const FailedPlanning& failed, std::vector<std::string>& remedies) {
  double times = 1;
  for (const embedding::MemoryTier tier :
       {embedding::MemoryTier::kHbm, embedding::MemoryTier::kDdr}) {
    if (failed.needed[tier] > failed.available[tier])
      times = std::max(times, failed.needed[tier] / failed.available[tier]);
  }
  const double more = std::ceil(times * static_cast<double>(failed.ranks));
  if (!(more < 1e9)) return;
  remedies.push_back("use " + std::to_string(static_cast<std::int64_t>(more)) +
                     " ranks instead of " + std::to_string(failed.ranks));
}

}  // namespace

FailedAnswer explain_failed(const FailedPlanning& failed) {
  const auto ranks = static_cast<double>(failed.ranks);
  FailedAnswer answer{failed, std::nullopt, 0, "", {}};
  const auto size = [](double gib) { return format_bytes(Bytes(printed_bytes(gib))); };
  const double hbm = failed.needed.hbm - failed.available.hbm;
  const double ddr = failed.needed.ddr - failed.available.ddr;
  if (hbm <= 0 && ddr <= 0) {
    answer.reason =
        "the tables need " + size(failed.needed.hbm) + " HBM and " + size(failed.needed.ddr) +
        " DDR, which all ranks together have, but TorchRec's search found no ranks for the shards";
    answer.remedies = {
        "plan with `shardwright plan` in best mode, which packs shards that TorchRec "
        "does not",
        "allow more sharding types and kernels for the largest tables"};
    return answer;
  }
  answer.tier = hbm > 0 ? embedding::MemoryTier::kHbm : embedding::MemoryTier::kDdr;
  const double missing = hbm > 0 ? hbm : ddr;
  const double needed = failed.needed[*answer.tier];
  const double available = failed.available[*answer.tier];
  const std::string tier(label_of(*answer.tier));
  answer.missing_bytes = printed_bytes(missing);
  answer.reason = "the tables need at least " + size(needed) + " " + tier + ", and " +
                  format_plural(static_cast<std::uint64_t>(failed.ranks), "rank") + " have " +
                  size(available) + " for them: " + size(missing) + " are missing";
  add_more_ranks(failed, answer.remedies);
  if (hbm > 0 && ddr > 0) {
    answer.reason += "; they also need " + size(failed.needed.ddr) + " DDR and have " +
                     size(failed.available.ddr);
    return answer;
  }
  const double share = hbm > 0 ? failed.reserved_share.value_or(0) : 0;
  const double rank = failed.rank[*answer.tier];
  if (share < 1) {
    answer.remedies.push_back("use ranks with " + size(rank + missing / ranks / (1 - share)) + " " +
                              tier + " instead of " + size(rank));
  }
  if (hbm > 0 && share * rank * ranks >= missing) {
    const double lower = std::floor(1000 * (share - missing / ranks / rank)) / 1000;
    answer.remedies.push_back("reserve a share of " + format_ms(lower) + " of the HBM instead of " +
                              format_ms(share));
  }
  const double inputs = hbm > 0 ? failed.input_hbm.value_or(0) * ranks : 0;
  const auto smaller = static_cast<std::int64_t>(static_cast<double>(failed.batch_size) *
                                                 (1 - missing / std::max(inputs, missing)));
  if (inputs > missing && smaller > 0) {
    answer.remedies.push_back("use a batch of " + std::to_string(smaller) + " samples instead of " +
                              std::to_string(failed.batch_size));
  }
  if (hbm > 0 && failed.available.ddr - failed.needed.ddr >= missing) {
    answer.remedies.push_back("allow kernel fused_uvm_caching for tables of " +
                              size(missing / (1 - embedding::kDefaultCachingRatio)) +
                              ", which then lie in DDR with a cache of a fifth in HBM");
  }
  return answer;
}

}  // namespace shardwright
