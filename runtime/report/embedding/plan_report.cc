#include "runtime/report/embedding/plan_report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "core/embedding/ranks_sha1.h"
#include "runtime/embedding/identity.h"
#include "runtime/embedding/verdict.h"
#include "runtime/report/embedding/plan_text.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::label_of;
using embedding::MemoryLimits;
using embedding::MemoryMargin;
using embedding::MemoryTier;
using embedding::ParameterConstraints;
using embedding::Problem;
using embedding::Table;
using embedding::TableId;
using embedding::TablePlacement;
using embedding::to_name;

constexpr std::size_t kListWidth = 60;

template <class Enum>
std::string names_text(const std::vector<Enum>& values) {
  std::string text;
  for (const Enum value : values)
    text += (text.empty() ? "" : ", ") + std::string(to_name(value));
  return text;
}

std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  std::vector<std::uint32_t> sorted;
  sorted.reserve(numbers.size());
  for (const std::int64_t number : numbers)
    sorted.push_back(static_cast<std::uint32_t>(number));
  std::sort(sorted.begin(), sorted.end());
  return format_ranges(sorted, kListWidth);
}

using Texts = std::vector<std::string>;

void add_sharding(const ParameterConstraints& c, Texts& texts) {
  if (!c.sharding_types.empty()) texts.push_back("sharding types " + names_text(c.sharding_types));
  if (!c.compute_kernels.empty()) texts.push_back("kernels " + names_text(c.compute_kernels));
  if (c.min_partition) {
    texts.push_back("shards of at least " +
                    format_plural(static_cast<std::uint64_t>(*c.min_partition), "column"));
  }
  if (c.enforce_hbm && *c.enforce_hbm) texts.push_back("kept in HBM");
  if (c.cache_params && c.cache_params->load_factor) {
    texts.push_back("cache of " + format_share(*c.cache_params->load_factor, 1) + " of the rows");
  }
  if (c.device_group && !c.device_group->empty()) {
    texts.push_back("only on " + *c.device_group);
  }
}

void add_placement(const TablePlacement& placement, Texts& texts) {
  if (placement.ranks) texts.push_back("on ranks " + ranges_text(*placement.ranks));
  if (placement.hosts) texts.push_back("on hosts " + ranges_text(*placement.hosts));
  for (const embedding::ShardRanks& shard : placement.shard_ranks) {
    texts.push_back("shard " + std::to_string(shard.shard) + " on ranks " +
                    ranges_text(shard.ranks));
  }
  if (placement.max_shards) {
    texts.push_back("at most " +
                    format_plural(static_cast<std::uint64_t>(*placement.max_shards), "shard"));
  }
  if (placement.distinct_ranks) texts.push_back("no two shards on one rank");
}

Texts demands_of(const Table& table) {
  Texts texts;
  if (table.constraints) add_sharding(*table.constraints, texts);
  add_placement(table.placement, texts);
  if (!table.dependency.empty()) texts.push_back("on one host with dependency " + table.dependency);
  return texts;
}

void add_tables(const Problem& problem, std::vector<Constraint>& list) {
  std::map<std::string, std::size_t> by_text;
  for (std::uint32_t i = 0; i < problem.tables().size(); ++i) {
    for (std::string& text : demands_of(problem.tables()[i])) {
      const auto [at, added] = by_text.emplace(std::move(text), list.size());
      if (added) list.push_back({at->first, {}});
      list[at->second].tables.emplace_back(i);
    }
  }
}

void add_groups(const Problem& problem, std::vector<Constraint>& list) {
  for (const embedding::PlacementRules::Group& group : problem.rules().groups()) {
    const std::string on = group.on == embedding::GroupScope::kRank ? "rank" : "host";
    list.push_back(
        {group.together ? "together on one " + on : "no two on one " + on, group.tables});
  }
}

// Returns a size such as "1.00 GiB", or "1.00 GiB to 2.00 GiB" if ranks differ.
std::string sizes_text(std::span<const std::int64_t> sizes) {
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const std::string low = format_bytes(Bytes(*least));
  return *least == *most ? low : low + " to " + format_bytes(Bytes(*most));
}

std::string margin_text(const MemoryMargin& margin) {
  return margin.bytes != 0 ? format_bytes(Bytes(margin.bytes))
                           : format_share(margin.fraction, 1) + " of what is left";
}

void add_memory(const MemoryLimits& limits, std::span<const MemoryTier> tiers,
                std::vector<Constraint>& list) {
  for (const MemoryTier tier : tiers) {
    const std::string name(label_of(tier));
    const std::vector<std::int64_t>& reserved = limits.reserved_bytes[tier];
    if (!reserved.empty()) {
      list.push_back({sizes_text(reserved) + " of the " + name + " of a rank reserved", {}});
    }
    const MemoryMargin& margin = limits.margins[tier];
    if (margin.bytes != 0 || margin.fraction != 0) {
      list.push_back({margin_text(margin) + " of the " + name + " of a rank kept free", {}});
    }
  }
}

void add_calibration(const embedding::Calibration& calibration, std::vector<Constraint>& list) {
  for (const embedding::KernelCalibration& kernel : calibration.kernels) {
    list.push_back(
        {"measured times and memory of kernel " + std::string(to_name(kernel.kernel)), {}});
  }
  if (!calibration.rank_time.empty()) list.push_back({"measured times of ranks", {}});
}

}  // namespace

std::vector<Constraint> constraint_list(const Problem& problem) {
  std::vector<Constraint> list;
  add_tables(problem, list);
  add_groups(problem, list);
  add_memory(problem.spec().memory, problem.topology().tiers(), list);
  add_calibration(problem.spec().calibration, list);
  return list;
}

namespace {

using embedding::Assignment;
using embedding::ImprovementStep;
using embedding::Problem;
using embedding::Rank;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::Table;

// Numbers distinct costs in the order of first appearance.
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

// Adds the memory of ranks for a result without a plan: the memory after the reservation, or the
// capacity if the reservation failed.
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

// Returns the improvements of the best rating by number of proposals, and the last proposal.
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
  report.front = result.front;
  for (const embedding::Violation& violation : result.evaluation.violations)
    report.violations.push_back(violation.message);
  if (!result.plan) {
    const embedding::Reservation* left = result.reservation ? &*result.reservation : nullptr;
    report.needs = memory_needs(problem, result.search_space.get(), left);
    return report;
  }
  report.rating = result.evaluation.rating;
  report.estimate = estimate_text(problem.spec());
  report.verdict = verdict_sentences(problem, result);
  report.plan_hash = plan_hash(problem, *result.plan);
  report.ranks_sha1 = embedding::ranks_sha1(*result.plan);
  if (result.lower_bound && result.certificate) {
    report.lower_bound = result.lower_bound;
    report.proof = proof_text(*result.certificate);
  }
  return report;
}

}  // namespace shardwright
