#include "runtime/report/embedding/plan/plan_report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "core/embedding/ranks_sha1.h"
#include "runtime/embedding/identity/identity.h"
#include "runtime/report/embedding/plan/best_text.h"

namespace shardwright {
namespace {

using embedding::Assignment;
using embedding::ImprovementStep;
using embedding::Problem;
using embedding::Rank;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::Table;

// Numbers distinct costs by first appearance.
// Thread safety: one thread at a time.
class CostNumbers {
 public:
  explicit CostNumbers(std::vector<ShardCost>& costs) : costs_(costs) {}

  std::uint32_t of(const ShardCost& cost) {
    const embedding::Perf& p = cost.perf;
    const Key key{cost.storage,
                  {p.fwd_compute.value(), p.fwd_comms.value(), p.bwd_compute.value(),
                   p.bwd_comms.value(), p.prefetch_compute.value()}};
    const auto [at, added] = numbers_.emplace(key, static_cast<std::uint32_t>(costs_.size()));
    if (added) costs_.push_back(cost);
    return at->second;
  }

 private:
  using Key = std::pair<embedding::Storage, std::array<double, 5>>;
  std::vector<ShardCost>& costs_;
  std::map<Key, std::uint32_t> numbers_;
};

std::vector<ReportedShards> shards_of(const Assignment& assignment, CostNumbers& numbers) {
  const ShardingOption& option = *assignment.option;
  std::vector<ReportedShards> runs;
  std::uint32_t shard = 0;
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    const std::uint32_t cost = numbers.of(option.costs[run]);
    const std::uint32_t end = shard + option.layout->extents[run].count;
    for (; shard < end; ++shard) {
      const Rank rank = assignment.rank(shard);
      if (!runs.empty() && runs.back().cost == cost &&
          runs.back().first_rank + runs.back().count == rank) {
        ++runs.back().count;
      } else {
        runs.push_back({rank, 1, cost});
      }
    }
  }
  return runs;
}

ReportedPlace place_of(const Assignment& assignment, CostNumbers& numbers) {
  const ShardingOption& option = *assignment.option;
  ReportedPlace place;
  place.sharding_type = option.sharding_type;
  place.compute_kernel = option.compute_kernel;
  place.load_factor = option.load_factor;
  place.num_shards = option.num_shards();
  if (!option.layout->extents.empty()) {
    const ShardExtent& first = option.layout->extents.front();
    place.shard_rows = first.rows;
    place.shard_columns = first.columns;
    place.even = std::all_of(option.layout->extents.begin(), option.layout->extents.end(),
                             [&](const ShardExtent& extent) {
                               return extent.rows == first.rows && extent.columns == first.columns;
                             });
  }
  place.storage = option.total_storage();
  place.perf_ms = option.total_perf().value();
  place.shards = shards_of(assignment, numbers);
  return place;
}

void add_tables(const Problem& problem, const EmbeddingPlanResult& result, PlanReport& report) {
  for (const Table& table : problem.tables()) {
    report.tables.push_back({table.name, table.module, table.num_embeddings, table.embedding_dim,
                             table.data_type, std::nullopt});
  }
  if (!result.plan) return;
  CostNumbers numbers(report.costs);
  for (std::size_t i = 0; i < result.plan->size(); ++i) {
    const Assignment& assignment = (*result.plan)[i];
    report.tables[assignment.option->table.index()].place = place_of(assignment, numbers);
  }
}

// Memory of a rank without a plan: what the reservation left, if there is one.
void add_ranks(const Problem& problem, const EmbeddingPlanResult& result, PlanReport& report) {
  const std::size_t world = problem.topology().world_size();
  report.ranks.resize(world);
  if (!result.reservation) {
    for (std::size_t rank = 0; rank < world; ++rank) {
      MemoryParts& memory = report.ranks[rank].memory;
      memory.capacity = memory.free = problem.topology().storage()[rank];
    }
    return;
  }
  embedding::Evaluation evaluation = result.evaluation;
  if (!result.plan) evaluation.storage_by_rank.assign(world, {});
  const std::vector<MemoryParts> parts = memory_parts(problem, *result.reservation, evaluation);
  for (std::size_t rank = 0; rank < world; ++rank) {
    report.ranks[rank].memory = parts[rank];
    if (!result.plan) continue;
    report.ranks[rank].parts = evaluation.perf_parts_by_rank[rank];
    report.ranks[rank].perf_ms = evaluation.perf_ms_by_rank[rank];
  }
}

// The best rating so far, by the number of the proposal, up to the last proposal.
std::vector<ImprovementStep> best_so_far(const ProposalTrace& trace) {
  std::vector<ImprovementStep> steps;
  std::uint64_t number = 0;
  for (const embedding::ProposalRecord& record : trace.proposals) {
    ++number;
    if (!record.rating || (!steps.empty() && *record.rating >= steps.back().rating)) continue;
    steps.push_back({number, *record.rating, 0});
  }
  if (!steps.empty() && steps.back().work < number) {
    steps.push_back({number, steps.back().rating, 0});
  }
  return steps;
}

void add_search(const EmbeddingPlanResult& result, double read_s, ReportedSearch& search) {
  search.mode = result.mode;
  search.num_options = result.search_space ? result.search_space->size() : 0;
  search.num_proposals = result.num_proposals;
  search.num_plans = result.num_plans;
  search.work = result.work.work_steps;
  search.threads = std::max(result.threads, 1);
  search.total_s = read_s + result.timing.total_s;
  search.stopped_by = result.stopped_by;
  search.steps = result.improvements;
  if (search.steps.empty() && result.trace) {
    search.steps_are_proposals = true;
    search.steps = best_so_far(*result.trace);
  }
}

ReportedProblem describe(const Problem& problem) {
  const embedding::Topology& topology = problem.topology();
  return {problem.name(),       topology.compute_device(),
          topology.num_hosts(), topology.local_world_size(),
          problem.batch_size(), problem.spec().perf_model,
          topology.counts_ssd()};
}

}  // namespace

PlanReport make_plan_report(const Problem& problem, const EmbeddingPlanResult& result,
                            double read_s) {
  PlanReport report;
  report.problem = describe(problem);
  report.reservation.type = problem.spec().reservation.type;
  report.reservation.percentage = problem.spec().reservation.percentage;
  if (result.reservation) {
    report.reservation.dense = result.reservation->dense_storage;
    report.reservation.inputs = result.reservation->kjt_storage;
  }
  report.problem_hash =
      identify(problem, result.given_search_space ? result.search_space.get() : nullptr).hash;
  report.constraints = constraint_list(problem);
  add_tables(problem, result, report);
  add_ranks(problem, result, report);
  add_search(result, read_s, report.search);
  report.failure = result.failure;
  report.migration = result.migration;
  for (const embedding::Violation& violation : result.evaluation.violations)
    report.violations.push_back(violation.message);
  if (!result.plan) {
    const embedding::Reservation* left = result.reservation ? &*result.reservation : nullptr;
    report.needs = memory_needs(problem, result.search_space.get(), left);
    return report;
  }
  report.rating = result.evaluation.rating;
  report.plan_hash = plan_hash(problem, *result.plan);
  report.ranks_sha1 = embedding::ranks_sha1(*result.plan);
  if (result.lower_bound && result.certificate) {
    report.lower_bound = result.lower_bound;
    report.proof = proof_text(*result.certificate);
  }
  return report;
}

}  // namespace shardwright
