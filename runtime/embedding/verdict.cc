#include "runtime/embedding/verdict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "core/embedding/problem/gpus.h"
#include "core/embedding/problem/machine_model.h"
#include "core/text/printable.h"
#include "runtime/embedding/plan_result.h"
#include "runtime/embedding/plan_stats.h"
#include "runtime/embedding/replan.h"
#include "runtime/report/text/format.h"
#include "search/embedding/questions/old_plan.h"

namespace shardwright {
namespace {

using embedding::MachineModel;
using embedding::MemoryTier;
using embedding::Problem;
using embedding::ProblemSpec;
using embedding::TopologySpec;

constexpr std::uint64_t kWorkOfWhatIf = kDefaultBestWork / 20;

struct OtherMachine {
  std::string name;
  std::function<void(TopologySpec&)> apply;
  bool is_smaller = false;  // every plan for it is a plan for the present machine
};

void scale_memory(TopologySpec& spec, MemoryTier tier, std::int64_t times, std::int64_t parts,
                  std::int64_t bytes) {
  spec.set_cap_bytes(tier, bytes * times / parts);
  for (std::int64_t& cap : spec.custom_cap_bytes(tier))
    cap = cap * times / parts;
}

std::vector<OtherMachine> changes_of(const embedding::Topology& topology) {
  std::vector<OtherMachine> changes;
  const MachineModel* const machine = topology.spec().machine.get();
  if (machine != nullptr && !machine->spec().collectives.empty()) {
    // The links are those that were measured.
  } else if (!topology.is_one_host()) {
    changes.push_back(
        {"twice the bandwidth between hosts", [](TopologySpec& spec) { spec.inter_host_bw *= 2; }});
  } else if (topology.world_size() > 1) {
    changes.push_back({"twice the bandwidth inside the host",
                       [](TopologySpec& spec) { spec.intra_host_bw *= 2; }});
  }
  const MemoryTier tier = topology.has_hbm() ? MemoryTier::kHbm : MemoryTier::kDdr;
  const std::string memory(embedding::label_of(tier));
  const std::int64_t bytes = topology.storage().front()[tier].value();
  changes.push_back({"half the " + memory,
                     [=](TopologySpec& spec) { scale_memory(spec, tier, 1, 2, bytes); }, true});
  changes.push_back(
      {"twice the " + memory, [=](TopologySpec& spec) { scale_memory(spec, tier, 2, 1, bytes); }});
  if (topology.uniform() && topology.num_replicas() == 1) {
    changes.push_back(
        {"one host more", [](TopologySpec& spec) { spec.world_size += spec.local_world_size; }});
  }
  return changes;
}

bool is_comparable(const EmbeddingPlanResult& result, const PlanOptions& options) {
  return result.plan && !result.plan->empty() && result.mode == PlanMode::kBest &&
         !result.given_search_space && !result.reused && result.other_layouts.empty() &&
         result.stopped_by != StopReason::kCancelled && !options.work_limit &&
         !options.time_limit_s && options.parts == nullptr && options.exchange == nullptr &&
         result.problem->spec().perf_model == embedding::PerfModel::kPerf;
}

}  // namespace

SlowestRank slowest_rank(const Problem& problem, const EmbeddingPlanResult& result) {
  const embedding::Evaluation& evaluation = result.evaluation;
  const auto slowest =
      std::max_element(evaluation.perf_ms_by_rank.begin(), evaluation.perf_ms_by_rank.end());
  SlowestRank found;
  found.rank = static_cast<std::uint32_t>(slowest - evaluation.perf_ms_by_rank.begin());
  found.parts = evaluation.perf_parts_by_rank[found.rank];
  double most = 0;
  for (std::size_t i = 0; i < result.plan->size(); ++i) {
    double ms = 0;
    for_each_shard((*result.plan)[i], [&](embedding::Rank rank, const auto&, const auto& cost) {
      if (rank == found.rank) ms += cost.perf.total().value();
    });
    if (ms <= most) continue;
    most = ms;
    found.table = problem.table((*result.plan)[i].option->table).name;
  }
  found.table_share = *slowest > 0 ? most / *slowest : 0;
  return found;
}

std::vector<WhatIf> plan_what_ifs(const EmbeddingPlanResult& result, const PlanOptions& options) {
  std::vector<WhatIf> what_ifs;
  if (!is_comparable(result, options)) return what_ifs;
  const std::vector<PlanEntry> entries = embedding::entries_of(*result.problem, *result.plan);
  ReplanOptions replan;
  replan.plan = further_search(options, kWorkOfWhatIf);
  for (const OtherMachine& change : changes_of(result.problem->topology())) {
    if (options.stop.stop_requested()) break;
    ProblemSpec spec = result.problem->spec();
    change.apply(spec.topology);
    const std::int64_t ranks = spec.topology.world_size;
    Result<Problem> made = Problem::make(std::move(spec));
    if (!made.ok()) continue;  // beyond what a machine may have
    const auto planned =
        replan_embedding(std::make_shared<const Problem>(std::move(made).value()), entries, replan);
    if (!planned.ok()) continue;
    what_ifs.push_back({change.name, ranks, planned->best_rating, planned->lower_bound,
                        planned->failure && planned->failure->proof});
    // Plans that fit half of the memory fit all of it.
    std::optional<double>& bound = what_ifs.back().lower_bound;
    if (change.is_smaller && result.lower_bound)
      bound = std::max(bound.value_or(0), *result.lower_bound);
  }
  return what_ifs;
}

std::string estimate_text(const ProblemSpec& problem, bool with_ranks) {
  if (problem.perf_model != embedding::PerfModel::kPerf) return "";
  const TopologySpec& spec = problem.topology;
  const std::string machine = embedding::machine_text(spec, with_ranks);
  const bool has_links = spec.machine && !spec.machine->spec().collectives.empty();
  const std::string torchrec = "TorchRec " + std::string(embedding::to_name(problem.torchrec));
  std::string text =
      spec.machine ? "estimate by measured costs, " : "estimate by " + torchrec + "'s cost model, ";
  text += "embedding tables alone, " + machine;
  if (spec.machine && !has_links) text += "; communication by " + torchrec;
  if (spec.gpu || has_links) return text;
  const auto per_second = [](double bytes_per_ms) {
    return format_bytes(Bytes(std::llround(bytes_per_ms * 1000))) + "/s";
  };
  text += ": ";
  if (spec.compute_device != embedding::ComputeDevice::kCpu && !spec.machine)
    text += "HBM " + per_second(spec.hbm_mem_bw) + ", ";
  return text + "inside a host " + per_second(spec.intra_host_bw) + ", between hosts " +
         per_second(spec.inter_host_bw);
}

namespace {

std::string percent(double share) { return format_ms(100 * share) + " %"; }

std::string compat_sentence(const EmbeddingPlanResult& result) {
  if (result.mode != PlanMode::kBest || !result.compat_rating) return "";
  const double ours = *result.best_rating, theirs = *result.compat_rating;
  const std::string whose = result.compat_is_complete
                                ? "TorchRec's own plan: "
                                : "TorchRec's plan after the proposals that were tried: ";
  const std::string rating = format_ms(theirs) + " ms";
  if (theirs <= ours) return whose + "as fast, " + rating;
  return whose + rating + ", " + percent(theirs / ours - 1) + " slower";
}

std::string slowest_sentence(const Problem& problem, const EmbeddingPlanResult& result) {
  const SlowestRank slowest = slowest_rank(problem, result);
  const double total = slowest.parts.total().value();
  if (!(total > 0)) return "";
  const double comms = (slowest.parts.fwd_comms + slowest.parts.bwd_comms).value() / total;
  return "rank " + std::to_string(slowest.rank) + ", the slowest, spends " + percent(comms) +
         " of its time on communication; " + percent(slowest.table_share) +
         " of its time is table " + printable(slowest.table);
}

// Says what `memory_slack` has changed.
std::string balance_sentence(const EmbeddingPlanResult& result) {
  if (!result.before_balance) return "";
  const auto peak = [](const std::vector<embedding::Storage>& ranks, embedding::MemoryTier tier) {
    std::int64_t most = 0;
    for (const embedding::Storage& rank : ranks)
      most = std::max(most, rank[tier].value());
    return most;
  };
  std::string text = "memory slack: ";
  bool changes = false;
  for (const embedding::MemoryTier tier : embedding::kMemoryTiers) {
    const std::int64_t before = peak(result.before_balance->storage_by_rank, tier);
    const std::int64_t now = peak(result.evaluation.storage_by_rank, tier);
    if (before == now) continue;
    text += (changes ? ", " : "the fullest rank holds ") + format_bytes(Bytes(now)) + " of " +
            std::string(embedding::label_of(tier)) + " instead of " + format_bytes(Bytes(before));
    changes = true;
  }
  if (!changes) return text + "no plan with a lower peak was found for this share of the rating";
  const double slower = *result.best_rating / result.before_balance->rating - 1;
  return text + (slower > kProvenGap ? ", " + percent(slower) + " slower" : ", as fast");
}

std::string sentence(const WhatIf& what_if, std::int64_t ranks, double now) {
  const std::string change =
      what_if.change +
      (what_if.ranks == ranks ? "" : " (" + std::to_string(what_if.ranks) + " ranks)") + ": ";
  if (what_if.is_impossible) return change + "no plan fits";
  if (!what_if.rating) return change + "no plan was found";
  const double gain = 1 - *what_if.rating / now;
  const std::string rating = format_ms(*what_if.rating) + " ms";
  // The batch of a rank stays, so more ranks process more samples.
  const double samples =
      static_cast<double>(what_if.ranks) / static_cast<double>(ranks) * now / *what_if.rating;
  const std::string more =
      what_if.ranks == ranks
          ? ""
          : ", " + format_ms(samples) + " times the samples per second of all ranks";
  if (gain < -kProvenGap) return change + rating + ", " + percent(-gain) + " slower" + more;
  if (gain > kProvenGap) return change + rating + ", " + percent(gain) + " faster" + more;
  const double most = what_if.lower_bound ? 1 - *what_if.lower_bound / now : 1;
  return change + "no effect" +
         (most > kProvenGap && what_if.lower_bound ? " found (at most " + percent(most) + ")" : "");
}

}  // namespace

std::vector<std::string> verdict_sentences(const Problem& problem,
                                           const EmbeddingPlanResult& result) {
  std::vector<std::string> sentences;
  const bool has_times = !result.evaluation.perf_ms_by_rank.empty();
  if (!result.plan || result.plan->empty() || !result.best_rating || !has_times) return sentences;
  if (problem.spec().perf_model != embedding::PerfModel::kPerf) return sentences;
  for (std::string text :
       {compat_sentence(result), slowest_sentence(problem, result), balance_sentence(result)}) {
    if (!text.empty()) sentences.push_back(std::move(text));
  }
  for (const WhatIf& what_if : result.what_ifs)
    sentences.push_back(
        sentence(what_if, problem.topology().spec().world_size, *result.best_rating));
  return sentences;
}

}  // namespace shardwright
